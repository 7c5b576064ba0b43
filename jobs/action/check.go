package action

import (
	"encoding/base64"
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

// check reports what is wrong in the values of the definition. Of a definition that is not
// expanded, it checks the templates too, and leaves texts with templates to the check after Expand.
func (d *Definition) check(faults *Faults, expanded bool) {
	c := checker{faults: faults, expanded: expanded}
	if !expanded {
		d.checkTemplates(c)
	}
	if d.HTTP != nil {
		c.http(d.HTTP)
	}
	if d.StorageQueue != nil {
		c.storageQueue(d.StorageQueue)
	}
	if d.ServiceBus != nil {
		c.serviceBus(d)
	}
	if d.Process != nil {
		c.process(d.Process)
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

// sample returns a text with its templates replaced by a text that is valid in most places.
func (c checker) sample(text string) string {
	if c.expanded {
		return text
	}
	return sample(text, "1")
}

// limit reports a text that is too long. The length of a template is not known.
func (c checker) limit(path, text, unit string, high int) {
	length := len(text)
	if !c.expanded {
		length = len(sample(text, ""))
	}
	if length > high {
		c.fault(path, "invalid text of %d %s: want at most %d", length, unit, high)
	}
}

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (c checker) http(h *HTTP) {
	if !token.MatchString(h.Method) || len(h.Method) > 32 || h.Method == "CONNECT" {
		c.fault("$.method", "invalid method %q: want GET, HEAD, POST, PUT, PATCH, DELETE or another method of HTTP", clip(h.Method))
	}
	if h.URL != "" {
		c.address("$.url", h.URL, h.AllowHTTP)
	}
	for i, e := range h.Endpoints {
		c.address(fmt.Sprintf("$.endpoints[%d]", i), e, h.AllowHTTP)
	}
	c.headers(h)
	noBody := h.Method == "GET" || h.Method == "HEAD"
	if noBody && len(h.Body) > 0 && !c.expanded {
		c.fault("$.body", "a request with the method %s has no body: want another method, or \"payload\": \"query\"", h.Method)
	}
	if noBody && h.Payload == PayloadBody {
		c.fault("$.payload", "a request with the method %s has no body: want \"query\"", h.Method)
	}
	if h.Payload == PayloadBody && len(h.Body) > 0 {
		c.fault("$.payload", "the request has a body already: want \"query\", or no member body")
	}
	c.limit("$.body", string(h.Body), "bytes", maxBody)
	c.success(h.Success)
	for i, name := range h.CaptureHeaders {
		path := fmt.Sprintf("$.capture_headers[%d]", i)
		switch lower := strings.ToLower(name); {
		case !token.MatchString(name):
			c.fault(path, "invalid header name %q: want letters, digits and hyphens", clip(name))
		case lower == "set-cookie", lower == "authorization", lower == "www-authenticate":
			c.fault(path, "invalid header name %q: its values are never stored", name)
		}
	}
	if h.Auth != nil {
		c.auth(h)
	}
}

// address checks a URL. The messages do not quote it, because it may contain a secret.
func (c checker) address(path, text string, allowHTTP bool) {
	c.limit(path, text, "bytes", maxURL)
	if !c.expanded {
		c.signature(path, text)
	}
	text = c.sample(text)
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

// hostMessage says what is wrong with a host and its port; it is empty if nothing is.
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

// forbiddenHeaders are set by the agent, or by the protocol. An entry that ends in a hyphen is a
// prefix.
var forbiddenHeaders = []string{
	"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "proxy-", "webhook-", "x-sap-", "traceparent",
	"tracestate", "idempotency-key",
}

// secretHeaders have secret values.
var secretHeaders = []string{"authorization", "cookie", "x-functions-key", "x-api-key"}

func (c checker) headers(h *HTTP) {
	if len(h.Headers) > maxHeaders {
		c.fault("$.headers", "invalid list of %d headers: want at most %d", len(h.Headers), maxHeaders)
	}
	size := 0
	for i, f := range h.Headers {
		name := strings.ToLower(f.Name)
		at := h.headerPath(i, "name")
		value := c.sample(f.Value)
		size += len(f.Name) + len(value)
		switch {
		case !token.MatchString(f.Name):
			c.fault(at, "invalid header name %q: want letters, digits and hyphens", clip(f.Name))
		case slices.ContainsFunc(forbiddenHeaders, func(f string) bool { return name == f || strings.HasSuffix(f, "-") && strings.HasPrefix(name, f) }):
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

// String returns the range as it stands in a definition.
func (r StatusRange) String() string {
	if r.From == r.To {
		return strconv.Itoa(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

func (c checker) auth(h *HTTP) {
	a := h.Auth
	if a.Kind == "api-key" && (!token.MatchString(a.Header) || slices.ContainsFunc(forbiddenHeaders, func(f string) bool {
		return strings.EqualFold(a.Header, f) || strings.HasSuffix(f, "-") && strings.HasPrefix(strings.ToLower(a.Header), f)
	})) {
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

var (
	storageAccount = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	storageQueue   = regexp.MustCompile(`^[a-z0-9](?:-?[a-z0-9])*$`)
	busNamespace   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{4,48}[A-Za-z0-9]$`)
	busEntity      = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9._/~-]*[A-Za-z0-9_])?$`)
)

func (c checker) storageQueue(q *StorageQueue) {
	switch {
	case q.Account == "" || c.open(q.Account):
	case strings.Contains(q.Account, "://"):
		c.address("$.account", q.Account, q.AllowHTTP)
		if strings.Contains(q.Account, "?") {
			c.fault("$.account", "invalid account: want a URL without a query; the token belongs in sas_token")
		}
	case strings.ContainsAny(q.Account, ".:"):
		if message := hostMessage(q.Account); message != "" {
			c.fault("$.account", "invalid account %q: %s", clip(q.Account), message)
		}
	case !storageAccount.MatchString(q.Account):
		c.fault("$.account", "invalid account %q: want 3 to 24 lower-case letters and digits, a host, or a URL", clip(q.Account))
	}
	least := 3
	if strings.ContainsAny(q.Account, ".:") {
		least = 1 // a host may be an emulator with rules of its own
	}
	if q.Queue != "" && !c.open(q.Queue) && (!storageQueue.MatchString(q.Queue) || len(q.Queue) < least || len(q.Queue) > 63) {
		c.fault("$.queue", "invalid queue name %q: want 3 to 63 lower-case letters, digits and single hyphens", clip(q.Queue))
	}
	if q.SASToken != "" && c.expanded && !validSAS(q.SASToken) {
		c.fault("$.sas_token", "invalid token: want a query string with the parameter sig")
	}
	encoded := q.Message
	if q.Base64 {
		encoded = base64.StdEncoding.EncodeToString([]byte(c.withoutTemplates(q.Message)))
	} else if !utf8.ValidString(q.Message) || strings.ContainsFunc(q.Message, notXML) {
		c.fault("$.message", "invalid text: a message cannot contain control characters; want \"encoding\": \"base64\"")
	}
	c.limit("$.message", encoded, "encoded bytes", maxStorageText)
	if q.VisibilityTimeout > maxVisibility {
		c.fault("$.visibility_timeout_seconds", "invalid number: want at most %d", int(maxVisibility.Seconds()))
	}
	if q.TimeToLive > 0 && q.VisibilityTimeout >= q.TimeToLive {
		c.fault("$.visibility_timeout_seconds", "invalid number: want less than time_to_live_seconds")
	}
	if q.EnvelopeCollection != "" && q.Envelope == "" {
		c.fault("$.envelope_collection", "invalid member: it belongs to an envelope")
	}
	if q.EnvelopeRegion != "" && q.Envelope == "" {
		c.fault("$.envelope_region", "invalid member: it belongs to an envelope")
	}
	if q.KeyProperty != "" && !isJSONObject(c.sampleJSON(q.Message)) {
		c.fault("$.key_property", "the message is not a JSON object, so that it has no member for the key")
	}
}

// withoutTemplates returns a text without its templates, whose length is not known.
func (c checker) withoutTemplates(text string) string {
	if c.expanded {
		return text
	}
	return sample(text, "")
}

func (c checker) sampleJSON(text string) string {
	if c.expanded {
		return text
	}
	return sample(text, "0")
}

func isJSONObject(text string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &members) == nil && members != nil
}

// validSAS reports whether a shared access signature has a signature.
func validSAS(text string) bool {
	values, err := url.ParseQuery(strings.TrimPrefix(strings.TrimSpace(text), "?"))
	return err == nil && values.Get("sig") != "" && !strings.ContainsFunc(strings.TrimSpace(text), func(r rune) bool { return r <= ' ' || r == '#' })
}

// notXML reports whether XML cannot hold r.
func notXML(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

func (c checker) serviceBus(d *Definition) {
	b := d.ServiceBus
	switch {
	case b.Namespace == "" || c.open(b.Namespace):
	case strings.ContainsAny(b.Namespace, ".:"):
		if message := hostMessage(b.Namespace); message != "" {
			c.fault("$.namespace", "invalid namespace %q: %s", clip(b.Namespace), message)
		}
	case !busNamespace.MatchString(b.Namespace):
		c.fault("$.namespace", "invalid namespace %q: want 6 to 50 letters, digits and hyphens that begin with a letter, or a host", clip(b.Namespace))
	}
	if b.Entity != "" && !c.open(b.Entity) && (!busEntity.MatchString(b.Entity) || len(b.Entity) > 260 || strings.Contains(b.Entity, "//")) {
		c.fault(d.entityPath(), "invalid name %q: want 1 to 260 letters, digits, dots, hyphens, underscores and slashes", clip(b.Entity))
	}
	c.limit("$.message", b.Message, "bytes", maxServiceBusText)
	if strings.ContainsFunc(b.ContentType, isControl) {
		c.fault("$.content_type", "invalid value: want no line breaks and other control characters")
	}
	if (b.KeyName == "") != (b.Key == "") {
		c.fault("$.key", "a shared access key has a name and a value: want both key_name and key, or a credential of the step")
	}
	names := map[string]bool{}
	for _, p := range b.Properties {
		path := memberPath("$.properties", p.Name)
		text, _ := p.Value.(string)
		folded := strings.ToLower(p.Name)
		twice := names[folded]
		names[folded] = true
		if c.open(text) {
			p.Value = "" // checked when the text is known
		}
		switch {
		case p.Name == "" || utf8.RuneCountInString(p.Name) > 128 || strings.ContainsFunc(p.Name, isControl):
			c.fault(path, "invalid property name %q: want 1 to 128 characters", clip(p.Name))
		case !b.AMQP && !token.MatchString(p.Name):
			c.fault(path, "invalid property name %q: want letters, digits and hyphens, or \"transport\": \"amqp\"", clip(p.Name))
		case strings.ContainsFunc(text, isControl):
			c.fault(path, "invalid value: want no line breaks and other control characters")
		case !b.AMQP && twice:
			c.fault(path, "invalid property name %q: it differs only in case from another one; want \"transport\": \"amqp\"", clip(p.Name))
		case !b.AMQP && p.HeaderFault() != "":
			c.fault(path, "HTTPS cannot send the property: %s; want \"transport\": \"amqp\"", p.HeaderFault())
		}
	}
	for _, p := range b.Broker.texts() {
		path := memberPath("$.broker_properties", p.name)
		text := c.withoutTemplates(*p.text)
		switch {
		case strings.ContainsFunc(text, isControl):
			c.fault(path, "invalid value: want no line breaks and other control characters")
		case slices.Contains([]string{"message_id", "session_id", "partition_key", "reply_to_session_id", "via_partition_key"}, p.name):
			if n := utf8.RuneCountInString(text); n > 128 {
				c.fault(path, "invalid text of %d characters: want at most 128", n)
			}
		}
	}
	if p := b.Broker; p.SessionID != "" && p.PartitionKey != "" && p.SessionID != p.PartitionKey {
		c.fault("$.broker_properties.partition_key", "invalid value: want the value of session_id")
	}
}

var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (c checker) process(p *Process) {
	if p.Entry != "" && !entryName.MatchString(p.Entry) {
		c.fault("$.entry", "invalid entry %q: want the name of an entry of the agent's configuration, of letters, digits, dots, hyphens and underscores", clip(p.Entry))
	}
	size := 0
	for i, a := range p.Args {
		size += len(c.withoutTemplates(a))
		if strings.ContainsRune(a, 0) {
			c.fault(fmt.Sprintf("$.args[%d]", i), "invalid argument: want no NUL")
		}
	}
	if size > maxArgBytes {
		c.fault("$.args", "invalid list of %d bytes: want at most %d together", size, maxArgBytes)
	}
	c.limit("$.input", p.Input, "bytes", maxInput)
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
			return placeText // sent as it is
		}
		return placeJSON
	case strings.Contains(lower, "xml"), strings.Contains(lower, "html"):
		return placeXML
	case strings.Contains(lower, "x-www-form-urlencoded"):
		return placeForm
	}
	return placeText
}

// textPlace returns the place of values in a text without a content type: the text tells by itself.
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
