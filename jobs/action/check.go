package action

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of definitions.
const (
	maxURL             = 2048
	maxEndpoints       = 16
	maxHeaders         = 50
	maxHeaderBytes     = 8 << 10
	maxBody            = 256 << 10
	maxRedirects       = 5
	maxResponseSeconds = 3600
	maxCallbackSeconds = 2147483
	maxPattern         = 1000
	maxStorageText     = 64 << 10
	maxServiceBusText  = 1 << 20
	maxInput           = 1 << 20
	maxProperties      = 100
	maxArgs            = 256
	maxArgBytes        = 128 << 10
	maxVisibility      = 7 * 24 * time.Hour
)

// check reports faults in the values of the definition. In a definition that is not expanded, it
// checks the templates, too; texts with templates are checked after Expand.
func (d *Definition) check(faults *Faults, expanded bool) {
	c := checker{faults: faults, expanded: expanded}
	if !expanded {
		d.checkTemplates(c)
	}
	if content := d.content(); content != nil {
		content.check(c)
	}
}

// checkTemplates checks the templates, and that secrets are given by templates.
func (d *Definition) checkTemplates(c checker) {
	for _, s := range d.slots() {
		parts, err := split(s.text)
		if err != nil {
			c.fault(s.path, "%s", err)
			continue
		}
		for _, p := range parts {
			switch {
			case p.name == NameCallbackURL && d.Callback == nil:
				c.fault(s.path, "the variable callback_url has no value without the member callback: want \"callback\": true")
			case s.place == placeArg && strings.HasPrefix(p.name, PrefixSecret):
				c.fault(s.path, "a secret in an argument is visible to other processes: want it in the member input")
			case s.place == placeHost && p.raw, s.place == placeName && p.raw:
				c.fault(s.path, "invalid template: want no $(raw:name) in a name or host")
			}
		}
		switch {
		case s.secret && !onlySecrets(s.text):
			c.fault(s.path, "%s", wantSecret)
		case s.place == placeXML && !xmlPlaces(parts):
			c.fault(s.path, "%s", errXMLPlace)
		case s.place == placeJSON && !json.Valid([]byte(sample(s.text, "0"))):
			c.fault(s.path, "invalid text: want JSON, as the content type says")
		}
	}
}

// wantSecret is the message for a secret in clear text.
const wantSecret = "a secret in clear text: want $(secret.NAME), with the value stored by \"jobagent secret set NAME\" " +
	"or in the agent's configuration, or a credential of the step"

// xmlPlaces reports whether every template stands where a value may stand.
func xmlPlaces(parts []part) bool {
	var scan xmlScanner
	for _, p := range parts {
		if p.name == "" {
			scan.read(p.literal)
		} else if !p.raw && !scan.inContent() {
			return false
		}
	}
	return true
}

// checker checks the values of one definition.
type checker struct {
	faults   *Faults
	expanded bool
}

func (c checker) fault(path, format string, args ...any) { c.faults.add(path, format, args...) }

// open reports whether a text contains templates that are not yet expanded.
func (c checker) open(text string) bool { return !c.expanded && hasTemplate(text) }

// sample returns a text with its templates replaced: by 1, which is valid in most places, by 0,
// which is JSON, or by nothing, because their length is not known.
func (c checker) sample(text, by string) string {
	if c.expanded {
		return text
	}
	return sample(text, by)
}

// limit reports a text that is too long. The length of a template counts as 0, because it is not
// known.
func (c checker) limit(path, text, unit string, high int) {
	if length := len(c.sample(text, "")); length > high {
		c.fault(path, "invalid text of %d %s: want at most %d", length, unit, high)
	}
}

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// address checks a URL. The messages do not quote it, because it may contain a secret.
func (c checker) address(path, text string, allowHTTP bool) {
	c.limit(path, text, "bytes", maxURL)
	if !c.expanded {
		c.signature(path, text)
	}
	text = c.sample(text, "1")
	scheme, rest, found := strings.Cut(text, "://")
	authority, _, _ := strings.Cut(rest, "/")
	authority, _, _ = strings.Cut(authority, "?")
	scheme = strings.ToLower(scheme)
	switch {
	case !found || scheme != "https" && scheme != "http":
		c.fault(path, "invalid URL: want https://host/path, or http with allow_http")
		return
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		c.fault(path, "invalid URL: want no blanks, backslashes and control characters")
		return
	case strings.Contains(text, "#"):
		c.fault(path, "invalid URL: want no fragment (#)")
		return
	case strings.Contains(authority, "@"):
		c.fault(path, "invalid URL: want no user and password before the host, but the member auth or a credential of the step")
		return
	case scheme == "http" && !allowHTTP:
		c.fault(path, "invalid URL: want https, or the member \"allow_http\": true")
		return
	}
	u, err := url.Parse(text)
	if err != nil {
		c.fault(path, "invalid URL: want https://host/path")
		return
	}
	if message := hostMessage(u.Host); message != "" {
		c.fault(path, "invalid URL: %s", message)
		return
	}
}

// signature checks that the parameter sig of a URL is not in clear text.
func (c checker) signature(path, text string) {
	_, query, _ := strings.Cut(text, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); strings.EqualFold(name, "sig") && value != "" && !containsSecret(value) {
			c.fault(path, "the parameter sig is %s", wantSecret)
		}
	}
}

var hostName = regexp.MustCompile(`^(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\.)*[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\.?$`)

// hostMessage describes the fault in a host with its port; it is empty if there is none.
func hostMessage(host string) string {
	name, port := host, ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		a, err := netip.ParseAddr(host[1:max(end, 1)])
		if err != nil || !a.Is6() || a.Zone() != "" {
			return "want an IPv6 address in the brackets"
		}
		name, port = "", host[end+1:]
	} else if at := strings.IndexByte(host, ':'); at >= 0 {
		name, port = host[:at], host[at:]
	}
	if port != "" {
		if n, err := strconv.ParseUint(port[1:], 10, 16); err != nil || n == 0 || port[0] != ':' {
			return "want a port from 1 to 65535"
		}
	}
	switch {
	case strings.HasPrefix(host, "["):
		return ""
	case name == "":
		return "want a host"
	case strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }):
		return "want the host in ASCII: its form that begins with xn--"
	case len(name) > 253 || !hostName.MatchString(name):
		return "want a host of letters, digits, dots and hyphens"
	}
	return ""
}

// forbiddenHeaders are the headers that the agent or the protocol sets. An entry that ends in a
// hyphen is a prefix.
var forbiddenHeaders = []string{
	"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "proxy-", "webhook-", "x-sap-", "traceparent",
	"tracestate", "idempotency-key",
}

// secretHeaders have secret values.
var secretHeaders = []string{"authorization", "cookie", "x-functions-key", "x-api-key"}

// isForbidden reports whether the agent or the protocol sets a header.
func isForbidden(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(forbiddenHeaders, func(f string) bool { return name == f || strings.HasSuffix(f, "-") && strings.HasPrefix(name, f) })
}

func (c checker) headers(h *HTTP) {
	if len(h.Headers) > maxHeaders {
		c.fault("$.headers", "invalid list of %d headers: want at most %d", len(h.Headers), maxHeaders)
	}
	size := 0
	for i, f := range h.Headers {
		name := strings.ToLower(f.Name)
		at := h.headerPath(i, "name")
		value := c.sample(f.Value, "1")
		size += len(f.Name) + len(value)
		switch {
		case !token.MatchString(f.Name):
			c.fault(at, "invalid header name %q: want letters, digits and hyphens", clip(f.Name))
		case isForbidden(name):
			c.fault(at, "invalid header name %q: the agent sets this header", clip(f.Name))
		case !c.expanded && slices.Contains(secretHeaders, name) && !containsSecret(f.Value):
			c.fault(h.headerPath(i, "value"), "%s", wantSecret)
		}
		if strings.ContainsFunc(value, isControl) {
			c.fault(h.headerPath(i, "value"), "invalid value: want no line breaks and other control characters")
		}
		if h.Auth != nil && name == strings.ToLower(h.Auth.sends()) {
			c.fault(at, "the member auth sets this header: want one of the two")
		}
	}
	if size > maxHeaderBytes {
		c.fault("$.headers", "invalid headers of %d bytes: want at most %d together", size, maxHeaderBytes)
	}
}

// sends returns the name of the header that the authentication sets.
func (a *Auth) sends() string {
	switch a.Kind {
	case "api-key":
		return a.Header
	case "basic", "bearer", "oauth2-client-credentials":
		return "Authorization"
	}
	return ""
}

func (c checker) success(s Success) {
	for i, r := range s.Ranges {
		if r.From < 200 || r.To > 599 || r.From > r.To {
			c.fault(fmt.Sprintf("$.success.status[%d]", i), "invalid status %s: want a status from 200 to 599, or a range such as \"200-299\"", r)
		}
	}
	for path, pattern := range map[string]string{"$.success.body_matches": s.BodyMatches, "$.success.body_fails_on": s.BodyFailsOn} {
		if len(pattern) > maxPattern {
			c.fault(path, "invalid pattern of %d bytes: want at most %d", len(pattern), maxPattern)
		} else if _, err := regexp.Compile(pattern); err != nil {
			c.fault(path, "invalid pattern: want a regular expression of RE2")
		}
	}
}

// String returns the range in the form of a definition.
func (r StatusRange) String() string {
	if r.From == r.To {
		return strconv.Itoa(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

func (c checker) auth(h *HTTP) {
	a := h.Auth
	if a.Kind == "api-key" && (!token.MatchString(a.Header) || isForbidden(a.Header)) {
		c.fault("$.auth.header", "invalid header name %q: want letters, digits and hyphens, and no header that the agent sets", clip(a.Header))
	}
	for path, text := range map[string]string{"$.auth.username": a.Username, "$.auth.password": a.Password, "$.auth." + a.valueMember(): a.Value} {
		if strings.ContainsFunc(text, isControl) {
			c.fault(path, "invalid value: want no line breaks and other control characters")
		}
	}
	if a.Kind == "basic" && strings.Contains(a.Username, ":") {
		c.fault("$.auth.username", "invalid user name: want no colon")
	}
	if a.TokenURL != "" {
		c.address("$.auth.token_url", a.TokenURL, h.AllowHTTP)
	}
}

func isJSONObject(text string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &members) == nil && members != nil
}

// bodyPlace returns how values in the body are escaped.
func (h *HTTP) bodyPlace() place {
	if h.BodyJSON {
		return placeJSON
	}
	return contentPlace(h.header("Content-Type"), string(h.Body))
}

// header returns the value of the first header with a name.
func (h *HTTP) header(name string) string {
	for _, f := range h.Headers {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// contentPlace returns the place of values in a text with a content type.
func contentPlace(contentType, text string) place {
	switch lower := strings.ToLower(contentType); {
	case lower == "":
		return textPlace(text)
	case strings.Contains(lower, "json"):
		if !hasTemplate(text) && !json.Valid([]byte(text)) {
			return placeText // sent unchanged
		}
		return placeJSON
	case strings.Contains(lower, "xml"), strings.Contains(lower, "html"):
		return placeXML
	case strings.Contains(lower, "x-www-form-urlencoded"):
		return placeForm
	}
	return placeText
}

// textPlace returns the place of values in a text without a content type, from the text itself.
func textPlace(text string) place {
	example := strings.TrimSpace(sample(text, "0"))
	switch {
	case (strings.HasPrefix(example, "{") || strings.HasPrefix(example, "[")) && json.Valid([]byte(example)):
		return placeJSON
	case strings.HasPrefix(example, "<"):
		return placeXML
	}
	return placeText
}
