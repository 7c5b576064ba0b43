package outbound

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// bound returns an HTTP action that holds a secret which is bound to hosts.
func bound(address string, hosts ...string) *action.Definition {
	return &action.Definition{
		HTTP: &action.HTTP{URL: address}, Secrets: []string{"Hunter2"},
		Bound: []action.BoundSecret{{Name: "api", Hosts: hosts}},
	}
}

func TestSecretsAreBoundToHosts(t *testing.T) {
	t.Parallel()
	hosts := []string{"api.example.com", "*.example.org:443", "tls.example.net:8443", "10.1.*", "[2001:db8::1]", "process:export*"}
	for address, covered := range map[string]bool{
		"https://api.example.com/":                     true,
		"https://API.Example.COM/x":                    true,
		"https://api.example.com./":                    true,
		"https://api.example.com:9000/":                true,
		"http://api.example.com":                       true,
		"amqps://api.example.com":                      true,
		"https://a.b.example.org/":                     true,
		"https://a.example.org:443":                    true,
		"https://tls.example.net:8443/":                true,
		"https://10.1.2.3/":                            true,
		"https://[2001:DB8:0::1]:8443/":                true,
		"process:export_1":                             true,
		"https://evil.example/":                        false,
		"https://evil.example/api.example.com":         false,
		"https://evil.example/?api.example.com":        false,
		"https://evil.example/#api.example.com":        false,
		"https://api.example.com@evil.example/":        false,
		"https://user:x@api.example.com/":              false,
		"https://api.example.com.evil.example/":        false,
		"https://api.example.com..":                    false,
		"https://xapi.example.com/":                    false,
		"https://example.com/":                         false,
		"https://example.org/":                         false,
		"https://a.example.org:8443/":                  false,
		"http://a.example.org/":                        false,
		"amqps://a.example.org":                        false,
		"https://tls.example.net/":                     false,
		"https://10.1.2.3.evil.example/":               false,
		"https://10.1.evil.example/":                   false,
		"https://ap\u0131.example.com/":                false, // a letter that becomes another one in upper case
		"https://\uff41pi.example.com/":                false, // which IDNA maps to api
		"https://api\u3002example.com/":                false,
		"https://api.example.com\\@evil.example/":      false,
		"https://api.example.com%2f.evil.example/":     false,
		"https://evil.example%00.api.example.com/":     false,
		"//api.example.com/":                           false,
		"api.example.com":                              false,
		"":                                             false,
		"https:///api.example.com":                     false,
		"process:other":                                false,
		"https://process:8080/":                        false,
		"https://export.example/?process:export":       false,
		"https://api.example.com:0/":                   false,
		"https://api.example.com:99999/":               false,
		"https://evil.example\t.api.example.com/":      false,
		"https://api.example.com:443@evil.example:80/": false,
	} {
		err := CheckSecrets(bound(address, hosts...), 1)
		if strings.HasPrefix(address, action.ProcessPrefix) {
			d := bound("", hosts...)
			d.HTTP, d.Process = nil, &action.Process{Entry: strings.TrimPrefix(address, action.ProcessPrefix)}
			err = CheckSecrets(d, 1)
		}
		if covered {
			require.NoError(t, err, address)
			continue
		}
		var config *targets.ConfigError
		require.True(t, errors.As(err, &config), address)
		require.Equal(t, `secret "api"`, config.Subject)
		require.ErrorContains(t, err, "; its hosts are api.example.com, *.example.org:443, ")
	}
	require.EqualError(t, CheckSecrets(bound("https://evil.example:8080/x?key=Hunter2", "a.example.com", "*.b.example.com"), 1),
		`secret "api": it may not be sent to evil.example:8080; its hosts are a.example.com, *.b.example.com`)

	// A pattern of hosts covers no process, and the other way round.
	d := bound("https://api.example.com", "process:*")
	require.Error(t, CheckSecrets(d, 1))
	d = bound("", "*")
	d.HTTP, d.Process = nil, &action.Process{Entry: "export"}
	require.EqualError(t, CheckSecrets(d, 1), `secret "api": it may not be sent to process:export; its hosts are *`)
	// A pattern that nothing matches covers nothing.
	require.Error(t, CheckSecrets(bound("https://api.example.com", "", "https://api.example.com"), 1))
	// A secret without hosts is not bound.
	d = bound("https://evil.example/")
	d.Bound = nil
	require.NoError(t, CheckSecrets(d, 1))
}

// Everything that an attempt talks to counts, for each of the secrets.
func TestAllAddressesOfAnAttemptAreChecked(t *testing.T) {
	t.Parallel()
	d := bound("", "*.example.com")
	d.HTTP.Endpoints = []string{"https://a.example.com/", "https://evil.example/"}
	require.NoError(t, CheckSecrets(d, 1))
	require.ErrorContains(t, CheckSecrets(d, 2), "sent to evil.example")
	require.NoError(t, CheckSecrets(d, 3))
	d.HTTP.Auth = &action.Auth{TokenURL: "https://login.evil.example/token"}
	require.ErrorContains(t, CheckSecrets(d, 1), "sent to login.evil.example")
	d.HTTP.Auth.TokenURL = "https://login.example.com/token"
	require.NoError(t, CheckSecrets(d, 1))
	d.Bound = append(d.Bound, action.BoundSecret{Name: "other", Hosts: []string{"a.example.com"}})
	require.ErrorContains(t, CheckSecrets(d, 1), `secret "other": it may not be sent to login.example.com`)

	queue := bound("", "store.queue.core.windows.net", "bus.servicebus.windows.net:5671")
	queue.HTTP, queue.StorageQueue = nil, &action.StorageQueue{Account: "store"}
	require.NoError(t, CheckSecrets(queue, 1))
	queue.StorageQueue.Account = "evil"
	require.ErrorContains(t, CheckSecrets(queue, 1), "sent to evil.queue.core.windows.net")
	queue.StorageQueue, queue.ServiceBus = nil, &action.ServiceBus{Namespace: "bus", AMQP: true}
	require.NoError(t, CheckSecrets(queue, 1))
	queue.ServiceBus.AMQP = false
	require.ErrorContains(t, CheckSecrets(queue, 1), "sent to bus.servicebus.windows.net", "port 443")
}

// A secret that a template inserted into a host is not in the message.
func TestSecretInAHostIsNotShown(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://hunter2.evil.example/", "https://xHUNTER2x.example/", "https://evil.example:hunter2/"} {
		err := CheckSecrets(bound(address, "api.example.com"), 1)
		require.Error(t, err)
		require.NotContains(t, strings.ToLower(err.Error()), "hunter", address)
	}
}

func TestCheckSecretHosts(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckSecretHosts([]string{"a.example.com", "*.example.com:443", "[::1]:8443", "10.1.2.3", "process:Export_1", "process:*"}))
	require.EqualError(t, CheckSecretHosts(nil), "the hosts are missing: want patterns of the hosts that may receive the secret")
	for _, text := range []string{"", " ", "https://a.example.com", "a.example.com/x", "a@b", "a b", "a,b", "höst.example", "a:b", "process:", "process:a b", "process:/bin/sh"} {
		require.ErrorContains(t, CheckSecretHosts([]string{"ok.example", text}), "invalid host pattern", text)
	}
}
