package action

import (
	"slices"
	"strings"
)

// standardHeaders are names of headers to which Service Bus, HTTP or a proxy gives a meaning. A
// property with such a name would be lost, or would change the request.
var standardHeaders = []string{
	"accept", "age", "allow", "authorization", "brokerproperties", "cache-control", "connection", "cookie", "date", "dnt", "etag",
	"expect", "expires", "forwarded", "from", "host", "keep-alive", "last-modified", "link", "location", "max-forwards", "origin",
	"pragma", "range", "referer", "retry-after", "server", "set-cookie", "strict-transport-security", "te", "traceparent",
	"tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via", "warning", "www-authenticate",
}

// standardPrefixes begin the names of families of such headers.
var standardPrefixes = []string{"accept-", "access-control-", "content-", "if-", "proxy-", "sec-", "x-forwarded-", "x-ms-"}

// HeaderFault returns the reason why a message that is sent by HTTPS cannot carry the property in a
// header; empty if it can. AMQP carries every property.
func (p Property) HeaderFault() string {
	name := strings.ToLower(p.Name)
	if !token.MatchString(p.Name) {
		return "its name is not a valid name of an HTTP header"
	}
	if slices.Contains(standardHeaders, name) ||
		slices.ContainsFunc(standardPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return "its name is that of a standard header"
	}
	text, _ := p.Value.(string)
	for _, c := range []byte(text) {
		if c < ' ' || c >= 0x7F || c == '"' || c == '\\' {
			return "its value contains a quotation mark, a backslash, or a character that is not printable ASCII"
		}
	}
	return ""
}
