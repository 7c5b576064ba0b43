package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/jsontree"
)

// Names returns the sorted names of the variables that the definition contains.
func (d *Definition) Names() []string {
	var names []string
	for _, s := range d.slots() {
		parts, err := split(s.text)
		if err != nil {
			continue // Decode reports it
		}
		for _, p := range parts {
			if p.name != "" {
				names = append(names, p.name)
			}
		}
	}
	if d.HTTP != nil && d.HTTP.Payload != "" {
		names = append(names, NamePayload)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Expand returns a copy of the definition in which every template is replaced by the value of its
// variable, escaped for its place, so that no value ends the string, segment, header or element
// that contains it. The error is *Faults if a value is invalid at its place, a variable is unknown,
// or the expanded definition exceeds a limit; then nothing may be sent. If the variables cannot be
// read, it is the error of the variables. Secrets of the copy has the values of secrets and the
// callback URL; Bound has the secrets that only some hosts may receive, and the caller must check
// these hosts.
func (d *Definition) Expand(variables Variables) (*Definition, error) {
	c := d.clone()
	faults := &Faults{}
	x := expander{variables: variables, values: map[string]Value{}}
	for _, s := range c.slots() {
		text, err := x.text(s)
		var fatal *lookupError
		switch {
		case errors.As(err, &fatal):
			return nil, fatal.err
		case err != nil:
			faults.add(s.path, "%s", err)
		default:
			s.set(text)
		}
	}
	if c.HTTP != nil && c.HTTP.Payload != "" {
		v, err := x.value(NamePayload)
		if err != nil {
			var fatal *lookupError
			if errors.As(err, &fatal) {
				return nil, fatal.err
			}
			faults.add("$.payload", "%s", err)
		} else {
			c.HTTP.insertPayload(faults, v.String())
		}
	}
	c.Secrets, c.Bound = x.secrets, x.bound
	c.check(faults, true)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// insertPayload puts the run's parameters into the URLs or the body.
func (h *HTTP) insertPayload(faults *Faults, payload string) {
	payload = Body(payload)
	if h.Payload == PayloadBody {
		h.Body, h.BodyJSON, h.Payload = []byte(payload), true, ""
		return
	}
	h.Payload = ""
	query, err := Query(payload)
	if err != nil {
		faults.add("$.payload", "%s", err)
		return
	}
	if h.URL != "" {
		h.URL = withQuery(h.URL, query)
	}
	for i := range h.Endpoints {
		h.Endpoints[i] = withQuery(h.Endpoints[i], query)
	}
}

// withQuery appends a query to the query of a URL.
func withQuery(address, query string) string {
	switch {
	case query == "":
		return address
	case !strings.Contains(address, "?"):
		return address + "?" + query
	case strings.HasSuffix(address, "?"), strings.HasSuffix(address, "&"):
		return address + query
	}
	return address + "&" + query
}

// clone returns a copy that shares nothing that Expand changes.
func (d *Definition) clone() *Definition {
	c := *d
	if content := d.content(); content != nil {
		content.copyTo(&c)
	}
	return &c
}

// lookupError is an error of the variables, which ends the expansion.
type lookupError struct{ err error }

func (e *lookupError) Error() string { return e.err.Error() }

// maxGrowth bounds the values that Expand inserts, in bytes. Each mention of a variable is a copy
// of its value. The bound is above all limits of a message or request, which are checked on the
// expanded definition.
const maxGrowth = 4 << 20

// expander expands the texts of one definition.
type expander struct {
	variables Variables
	values    map[string]Value // values that were read
	inserted  int              // bytes of values
	secrets   []string
	bound     []BoundSecret
}

// value returns the value of a variable, for one insertion.
func (x *expander) value(name string) (Value, error) {
	v, err := x.lookup(name)
	if x.inserted += len(v.text); err == nil && x.inserted > maxGrowth {
		return Value{}, fmt.Errorf("the values of the variables have more than %d MB together", maxGrowth>>20)
	}
	return v, err
}

// lookup returns the value of a variable, which it reads once.
func (x *expander) lookup(name string) (Value, error) {
	if v, ok := x.values[name]; ok {
		return v, nil
	}
	v, ok, err := x.variables(name)
	if err != nil {
		return Value{}, &lookupError{err}
	}
	if !ok {
		return Value{}, fmt.Errorf("the variable %q has no value here", clip(name))
	}
	x.values[name] = v
	if strings.HasPrefix(name, PrefixSecret) || name == NameCallbackURL {
		x.addSecret(v.String())
	}
	if len(v.hosts) > 0 {
		x.bound = append(x.bound, BoundSecret{Name: strings.TrimPrefix(name, PrefixSecret), Hosts: v.hosts})
	}
	return v, nil
}

// addSecret adds a secret in the forms in which an answer may contain it.
func (x *expander) addSecret(text string) {
	for _, form := range []string{text, url.QueryEscape(text), url.PathEscape(text), jsonEscape(text), xmlEscape(text)} {
		if form != "" && !slices.Contains(x.secrets, form) {
			x.secrets = append(x.secrets, form)
		}
	}
}

// text expands one text.
func (x *expander) text(s slot) (string, error) {
	parts, err := split(s.text)
	if err != nil {
		return "", err
	}
	switch s.place {
	case placeURL:
		return x.address(parts)
	case placeJSON:
		return x.jsonText(parts)
	case placeXML:
		return x.xmlText(parts)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.name == "" {
			b.WriteString(p.literal)
			continue
		}
		text, err := x.part(p)
		if err != nil {
			return "", err
		}
		if !p.raw {
			if text, err = escape(s.place, text); err != nil {
				return "", fmt.Errorf("the value of %q %w", p.name, err)
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// part returns the text of a variable before it is escaped.
func (x *expander) part(p part) (string, error) {
	v, err := x.value(p.name)
	if err != nil {
		return "", err
	}
	if p.json {
		return v.JSON(), nil
	}
	return v.String(), nil
}

// escape escapes a value for a place that does not depend on the text around it.
func escape(at place, text string) (string, error) {
	switch at {
	case placeForm:
		return url.QueryEscape(text), nil
	case placeHeader:
		if i := strings.IndexFunc(text, isControl); i >= 0 {
			return "", errors.New("contains a control character such as a line break")
		}
	case placeArg:
		if strings.ContainsRune(text, 0) {
			return "", errors.New("contains the character NUL")
		}
	case placeHost:
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !isHostRune(r) }) {
			return "", errors.New("does not fit into a host: want letters, digits, dots and hyphens")
		}
	case placeName:
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !isHostRune(r) && r != '_' }) {
			return "", errors.New("does not fit into a name: want letters, digits, dots, hyphens and underscores")
		}
	}
	return text, nil
}

// isControl reports whether r may not stand in a header. A tab may.
func isControl(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }

// isHostRune reports whether r may stand in a host.
func isHostRune(r rune) bool {
	return r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// address expands a URL. The literal text decides the place of a template, because no escaped value
// contains a delimiter.
func (x *expander) address(parts []part) (string, error) {
	var b strings.Builder
	literal := "" // the literal text so far
	for _, p := range parts {
		if p.name == "" {
			b.WriteString(p.literal)
			literal += p.literal
			continue
		}
		text, err := x.part(p)
		if err != nil {
			return "", err
		}
		at := urlPart(literal)
		switch {
		case at == urlScheme:
			return "", errors.New("invalid URL: want the scheme without a template")
		case at == urlHost: // also with raw, because no value may choose another host
			if text, err = escape(placeHost, text); err != nil {
				return "", fmt.Errorf("the value of %q %w", p.name, err)
			}
		case p.raw:
			if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' || r == '\\' }) {
				return "", fmt.Errorf("the value of %q contains a character that may not stand in a URL", p.name)
			}
		case at == urlPath && text == "":
			return "", fmt.Errorf("the value of %q is empty, which would leave out a segment of the path", p.name)
		case at == urlPath:
			text = url.PathEscape(text)
		default:
			text = url.QueryEscape(text)
		}
		b.WriteString(text)
		literal += "x"
	}
	if !sameDots(b.String(), literal) {
		return "", errors.New("a value makes a segment of the path . or .., which would lead to another path")
	}
	return b.String(), nil
}

// Parts of a URL.
const (
	urlScheme = iota
	urlHost
	urlPath
	urlQuery
)

// urlPart returns the part of a URL that continues after the text.
func urlPart(text string) int {
	_, rest, found := strings.Cut(text, "://")
	switch {
	case !found:
		return urlScheme
	case strings.Contains(rest, "?"):
		return urlQuery
	case strings.Contains(rest, "/"):
		return urlPath
	}
	return urlHost
}

// sameDots reports whether the path of an expanded URL has as many segments . and .. as the text
// that the author wrote.
func sameDots(expanded, written string) bool { return dotSegments(expanded) == dotSegments(written) }

// dotSegments counts the segments of a path that are . or .., escaped or not.
func dotSegments(address string) int {
	_, rest, _ := strings.Cut(address, "://")
	path, _, _ := strings.Cut(rest, "?")
	n := 0
	for i, segment := range strings.Split(path, "/") {
		if dots := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); i > 0 && (dots == "." || dots == "..") {
			n++
		}
	}
	return n
}

// jsonText expands a JSON text: in a string by the escaped text, elsewhere by a JSON value.
// "$(json:name)" as a whole string becomes the JSON value.
func (x *expander) jsonText(parts []part) (string, error) {
	var b bytes.Buffer
	inString, escaped := false, false
	opened := false // the last character opened a string
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if p.name == "" {
			for _, c := range []byte(p.literal) {
				opened = false
				switch {
				case escaped:
					escaped = false
				case inString && c == '\\':
					escaped = true
				case c == '"':
					inString = !inString
					opened = inString
				}
			}
			b.WriteString(p.literal)
			continue
		}
		v, err := x.value(p.name)
		if err != nil {
			return "", err
		}
		whole := p.json && opened && i+1 < len(parts) && strings.HasPrefix(parts[i+1].literal, `"`)
		switch {
		case whole:
			b.Truncate(b.Len() - 1)
			b.WriteString(v.JSON())
			parts[i+1].literal = parts[i+1].literal[1:]
			inString = false
		case p.raw:
			b.WriteString(v.String())
		case inString && p.json:
			b.WriteString(jsonEscape(v.JSON()))
		case inString:
			b.WriteString(jsonEscape(v.String()))
		default:
			b.WriteString(v.JSON())
		}
		opened = false
	}
	if !json.Valid(b.Bytes()) {
		return "", errors.New("the expanded text is not JSON")
	}
	return b.String(), nil
}

// jsonEscape returns a text escaped for a JSON string.
func jsonEscape(text string) string {
	quoted := jsontree.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// xmlText expands an XML text. Templates stand in text and in quoted values of attributes.
func (x *expander) xmlText(parts []part) (string, error) {
	var b strings.Builder
	var scan xmlScanner
	for _, p := range parts {
		if p.name == "" {
			scan.read(p.literal)
			b.WriteString(p.literal)
			continue
		}
		text, err := x.part(p)
		if err != nil {
			return "", err
		}
		if !p.raw {
			if !scan.inContent() {
				return "", errXMLPlace
			}
			if strings.ContainsFunc(text, func(r rune) bool {
				return isControl(r) && r != '\n' && r != '\r' || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF
			}) {
				return "", fmt.Errorf("the value of %q contains a character that XML cannot hold", p.name)
			}
			text = xmlEscape(text)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

var errXMLPlace = errors.New("a template stands inside a tag, comment or instruction: want it in text or in a quoted value")

// xmlEscape escapes a text for XML. The characters are those of encoding/xml.
func xmlEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;").Replace(text)
}

// xmlScanner follows the syntax of an XML text, as far as it decides the place of a template.
type xmlScanner struct {
	text  strings.Builder // of the markup that is open
	open  bool            // in < … >
	quote byte            // quote that ends the attribute's value; 0 outside
}

// read reads a literal text.
func (s *xmlScanner) read(text string) {
	for _, c := range []byte(text) {
		if !s.open {
			if c == '<' {
				s.open, s.quote = true, 0
				s.text.Reset()
			}
			continue
		}
		s.text.WriteByte(c)
		markup := s.text.String()
		special := markup[0] == '!' || markup[0] == '?'
		switch {
		case special && strings.HasPrefix(markup, "!--"):
			s.open = !(len(markup) >= 6 && strings.HasSuffix(markup, "-->"))
		case special && strings.HasPrefix(markup, "![CDATA["):
			s.open = !strings.HasSuffix(markup, "]]>")
		case special && markup[0] == '?':
			s.open = !strings.HasSuffix(markup, "?>")
		case s.quote != 0:
			if c == s.quote {
				s.quote = 0
			}
		case c == '"' || c == '\'':
			s.quote = c
		case c == '>':
			s.open = false
		}
	}
}

// inContent reports whether a value may follow: in text, or in the value of an attribute.
func (s *xmlScanner) inContent() bool {
	if !s.open {
		return true
	}
	markup := s.text.String()
	return s.quote != 0 && markup != "" && markup[0] != '!' && markup[0] != '?'
}
