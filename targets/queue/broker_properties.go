package queue

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/jobagent/jobagent/jobs/action"
)

// brokerProperties returns the value of the header BrokerProperties: a JSON object in ASCII. The
// message's ID is the idempotency key unless the definition gives one, so that a queue that detects
// duplicates drops those of later attempts.
func brokerProperties(p action.BrokerProperties) string {
	var b strings.Builder
	member := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":` + value)
	}
	text := func(name, value string) {
		if value != "" {
			member(name, asciiJSON(value))
		}
	}
	text("CorrelationId", p.CorrelationID)
	if p.ForcePersistence {
		member("ForcePersistence", "true")
	}
	text("Label", p.Label)
	text("MessageId", p.MessageID)
	text("PartitionKey", p.PartitionKey)
	text("ReplyTo", p.ReplyTo)
	text("ReplyToSessionId", p.ReplyToSessionID)
	if !p.ScheduledEnqueueTime.IsZero() {
		member("ScheduledEnqueueTimeUtc", asciiJSON(p.ScheduledEnqueueTime.UTC().Format(http.TimeFormat)))
	}
	text("SessionId", p.SessionID)
	if p.TimeToLive > 0 {
		member("TimeToLive", strconv.FormatFloat(p.TimeToLive.Seconds(), 'f', -1, 64))
	}
	text("To", p.To)
	text("ViaPartitionKey", p.ViaPartitionKey)
	return "{" + b.String() + "}"
}

// asciiJSON returns text as a JSON string in printable ASCII, as a header's value has to be. Bytes
// that are not UTF-8 become U+FFFD.
func asciiJSON(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r < 0x7F:
			b.WriteRune(r)
		default:
			units := []rune{r}
			if high, low := utf16.EncodeRune(r); r > 0xFFFF {
				units = []rune{high, low}
			}
			for _, unit := range units {
				digits := strconv.FormatInt(int64(unit), 16)
				b.WriteString(`\u` + strings.Repeat("0", 4-len(digits)) + digits)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// checkBroker reports broker properties that contradict each other.
func checkBroker(p action.BrokerProperties) error {
	if p.SessionID != "" && p.PartitionKey != "" && p.SessionID != p.PartitionKey {
		return faultf("the broker properties SessionId and PartitionKey differ: want equal values")
	}
	if p.TimeToLive < 0 {
		return faultf("invalid TimeToLive %v: want a positive duration", p.TimeToLive)
	}
	return nil
}

// customHeaders returns the custom properties as HTTP headers: strings in double quotes, numbers
// and booleans bare. A property that a header cannot carry is a fault; AMQP carries every property.
func customHeaders(properties []action.Property) ([]action.Field, error) {
	fields := make([]action.Field, 0, len(properties))
	seen := map[string]bool{}
	for _, p := range properties {
		name := strings.ToLower(p.Name)
		if reason := p.HeaderFault(); reason != "" {
			return nil, needsAMQP(p.Name, reason)
		}
		if seen[name] {
			return nil, needsAMQP(p.Name, "it differs only in case from another one, and HTTP headers ignore case")
		}
		seen[name] = true
		var value string
		switch v := p.Value.(type) {
		case string:
			value = `"` + v + `"`
		case bool:
			value = strconv.FormatBool(v)
		case int64:
			value = strconv.FormatInt(v, 10)
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, faultf("invalid value %v of property %q: want a finite number", v, p.Name)
			}
			value = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			return nil, faultf("invalid type %T of property %q: want string, bool, int64 or float64", p.Value, p.Name)
		}
		fields = append(fields, action.Field{Name: p.Name, Value: value})
	}
	return fields, nil
}

// needsAMQP returns the fault of a property that HTTPS cannot carry.
func needsAMQP(name, reason string) error {
	return faultf("the property %q cannot be sent by HTTPS: %s; set transport to amqp", name, reason)
}

// serviceBusHost returns the host of a namespace, with a port if the definition names one.
func serviceBusHost(q *action.ServiceBus) (string, error) {
	host := q.Host()
	for _, c := range []byte(host) {
		alnum := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alnum && strings.IndexByte("-.:[]", c) < 0 {
			return "", faultf("invalid namespace %q: want a name or a host", q.Namespace)
		}
	}
	if q.Namespace == "" {
		return "", faultf("the namespace is missing")
	}
	return host, nil
}

// checkEntity reports a path of a queue or topic that cannot stand in a URL as it is.
func checkEntity(entity string) error {
	valid := entity != "" && len(entity) <= 260
	for part := range strings.SplitSeq(entity, "/") {
		valid = valid && part != "" && part != "." && part != ".."
	}
	for _, c := range []byte(entity) {
		alnum := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		valid = valid && (alnum || strings.IndexByte("-._/~", c) >= 0)
	}
	if !valid {
		return faultf("invalid queue or topic %q: want at most 260 letters, digits and - . _ ~ in parts separated by /",
			entity)
	}
	return nil
}

// serverTimeout returns the value of Service Bus's parameter timeout, in seconds.
func serverTimeout(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(d/time.Second)), 10)
}
