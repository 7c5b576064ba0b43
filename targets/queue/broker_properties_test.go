package queue

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
)

func TestBrokerProperties(t *testing.T) {
	require.Equal(t, "{}", brokerProperties(action.BrokerProperties{}))
	require.Equal(t, `{"CorrelationId":"c","ForcePersistence":true,"Label":"l","MessageId":"m","PartitionKey":"p","ReplyTo":"r",`+
		`"ReplyToSessionId":"rs","ScheduledEnqueueTimeUtc":"Sun, 06 Nov 1994 08:49:37 GMT","SessionId":"s","TimeToLive":90.5,`+
		`"To":"t","ViaPartitionKey":"v"}`,
		brokerProperties(action.BrokerProperties{
			CorrelationID: "c", ForcePersistence: true, Label: "l", MessageID: "m", PartitionKey: "p", ReplyTo: "r", ReplyToSessionID: "rs",
			ScheduledEnqueueTime: time.Date(1994, 11, 6, 9, 49, 37, 0, time.FixedZone("", 3600)), SessionID: "s",
			TimeToLive: 90*time.Second + 500*time.Millisecond, To: "t", ViaPartitionKey: "v",
		}))
	require.Contains(t, brokerProperties(action.BrokerProperties{TimeToLive: 1000 * 24 * time.Hour}), `"TimeToLive":86400000}`,
		"a number without an exponent")
}

// A header's value is printable ASCII, whatever the properties contain, and decodes to them.
func TestBrokerPropertiesAreASCII(t *testing.T) {
	const label = "Grüße \"\\ \r\nX-Evil: 1\x00 😀"
	header := brokerProperties(action.BrokerProperties{Label: label})
	require.Equal(t, header, strings.Map(printable, header))
	var decoded map[string]any
	require.NoError(t, json.Unmarshal([]byte(header), &decoded))
	require.Equal(t, map[string]any{"Label": label}, decoded)
}

// printable drops what a header's value cannot contain.
func printable(r rune) rune {
	if r < ' ' || r >= 0x7F {
		return -1
	}
	return r
}

func TestCheckBroker(t *testing.T) {
	require.NoError(t, checkBroker(action.BrokerProperties{SessionID: "a", PartitionKey: "a"}))
	require.NoError(t, checkBroker(action.BrokerProperties{PartitionKey: "a"}))
	requireFault(t, checkBroker(action.BrokerProperties{SessionID: "a", PartitionKey: "b"}), "differ")
	requireFault(t, checkBroker(action.BrokerProperties{TimeToLive: -1}), "TimeToLive")
}

func TestCustomHeaders(t *testing.T) {
	fields, err := customHeaders([]action.Property{
		{Name: "Priority", Value: "High, very; 'so'"}, {Name: "Empty", Value: ""}, {Name: "Done", Value: true},
		{Name: "Count", Value: int64(-5)}, {Name: "Ratio", Value: 0.5}, {Name: "ServerName", Value: "sql1"}, {Name: "TenantId", Value: "t"},
	})
	require.NoError(t, err)
	require.Equal(t, []action.Field{
		{Name: "Priority", Value: `"High, very; 'so'"`}, {Name: "Empty", Value: `""`}, {Name: "Done", Value: "true"},
		{Name: "Count", Value: "-5"}, {Name: "Ratio", Value: "0.5"}, {Name: "ServerName", Value: `"sql1"`}, {Name: "TenantId", Value: `"t"`},
	}, fields)
}

// What a header cannot carry, or would change the request, is a fault that names AMQP.
func TestCustomHeadersThatNeedAMQP(t *testing.T) {
	for _, p := range []action.Property{
		{Name: "", Value: "v"}, {Name: "a b", Value: "v"}, {Name: "a:b", Value: "v"}, {Name: "ä", Value: "v"}, {Name: "a\r\nb", Value: "v"},
		{Name: "Host", Value: "v"}, {Name: "AUTHORIZATION", Value: "v"}, {Name: "content-type", Value: "v"}, {Name: "x-ms-version", Value: "v"},
		{Name: "BrokerProperties", Value: "{}"}, {Name: "Transfer-Encoding", Value: "chunked"}, {Name: "Proxy-Authorization", Value: "v"},
		{Name: "p", Value: "a\r\nb"}, {Name: "p", Value: `a"b`}, {Name: "p", Value: `a\b`}, {Name: "p", Value: "ü"}, {Name: "p", Value: "\x7F"},
	} {
		_, err := customHeaders([]action.Property{p})
		requireFault(t, err, "set transport to amqp")
	}
	_, err := customHeaders([]action.Property{{Name: "a", Value: "1"}, {Name: "A", Value: "2"}})
	requireFault(t, err, "differs only in case")
	for _, value := range []any{math.NaN(), math.Inf(1), nil, 5, []byte("x")} {
		_, err := customHeaders([]action.Property{{Name: "p", Value: value}})
		requireFault(t, err, `property "p"`)
	}
}

func TestServiceBusHost(t *testing.T) {
	for namespace, want := range map[string]string{
		"contoso":                        "contoso.servicebus.windows.net",
		"contoso.servicebus.windows.net": "contoso.servicebus.windows.net",
		"127.0.0.1:5671":                 "127.0.0.1:5671",
		"[::1]:5671":                     "[::1]:5671",
	} {
		got, err := serviceBusHost(&action.ServiceBus{Namespace: namespace})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, namespace := range []string{"", "a b", "a/b", "user@host.example", "https://a.b", "a.b?x", "a.b#x", "ü"} {
		_, err := serviceBusHost(&action.ServiceBus{Namespace: namespace})
		requireFault(t, err, "namespace")
	}
}

func TestCheckEntity(t *testing.T) {
	for _, entity := range []string{"q", "orders/high", "A-b_c.d~e", strings.Repeat("q", 260)} {
		require.NoError(t, checkEntity(entity))
	}
	for _, entity := range []string{"", "/q", "q/", "a//b", "..", "a/../b", "a b", "a?b", "a%2Fb", "ü", strings.Repeat("q", 261)} {
		requireFault(t, checkEntity(entity), "queue or topic")
	}
}
