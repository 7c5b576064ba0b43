package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/bounded"
)

// maxListed is the largest number of jobs of a JSON text. Each one takes a millisecond: its
// schedules are tried.
const maxListed = 1_000

// decode parses a JSON text. The error contains no part of the text.
func decode(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := bounded.File.CheckBytes(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, extra := d.Token(); !errors.Is(extra, io.EOF) {
			return nil, fmt.Errorf("more text follows the JSON value that ends at byte %d", d.InputOffset())
		}
		return v, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(len(text), int(syntax.Offset))], []byte("\n"))
		return nil, fmt.Errorf("invalid JSON at line %d, byte %d: %w", line, syntax.Offset, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("invalid JSON: the text ends too early")
	}
	return nil, errors.New("invalid JSON")
}

// object is a JSON object that records which of its members were taken. Members that were not taken
// are reported.
type object struct {
	path    string
	members map[string]any
	taken   map[string]bool
}

// asObject returns v as an object, and whether v is one.
func asObject(v any, path string) (*object, bool) {
	m, ok := v.(map[string]any)
	return &object{path: path, members: m, taken: map[string]bool{}}, ok
}

// at returns the path of a member.
func (o *object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// take returns the member with a name and marks it as taken. Names match in any case. The result is
// nil if the member is absent or null.
func (o *object) take(name string) any {
	if v, ok := o.members[name]; ok {
		o.taken[name] = true
		return v
	}
	for n, v := range o.members {
		if strings.EqualFold(n, name) {
			o.taken[n] = true
			return v
		}
	}
	return nil
}

// has reports whether o has a member with a name that is not null. It does not take the member.
func (o *object) has(name string) bool {
	for n, v := range o.members {
		if strings.EqualFold(n, name) && v != nil {
			return true
		}
	}
	return false
}

// object takes a member and returns it as an object, or nil if it is not an object.
func (o *object) object(name string) *object {
	if member, ok := asObject(o.take(name), o.at(name)); ok {
		return member
	}
	return nil
}

// text takes a member that is a string, a number or a Boolean and returns it as text. The result is
// empty for any other value.
func (o *object) text(name string) string {
	switch v := o.take(name).(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// integer takes a member and returns it as an integer. ok is false if it is not an integer.
func (o *object) integer(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(o.text(name), 10, 64)
	return n, err == nil
}

// time takes a member and returns it as a time, parsed by parseTime.
func (o *object) time(name string) time.Time { return parseTime(o.text(name)) }

// ignore takes members that have no meaning outside their system, so that they are not reported.
func (o *object) ignore(names ...string) {
	for _, n := range names {
		o.take(n)
	}
}

// rest returns the sorted paths of the members that were not taken and are not null.
func (o *object) rest() []string {
	var paths []string
	for n, v := range o.members {
		if v != nil && !o.taken[n] {
			paths = append(paths, o.at(n))
		}
	}
	slices.Sort(paths)
	return paths
}

// parseTime parses a date and time. A text without an offset is in UTC. The result is zero if the
// text is invalid.
func parseTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// size describes the size of a value without quoting any part of it.
func size(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%d characters", len([]rune(s)))
	}
	return fmt.Sprintf("%d bytes of JSON", len(compact(v)))
}

// compact returns a value as JSON text.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // cannot fail: v was parsed from JSON
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// secretName matches the names of elements whose values are never shown.
var secretName = regexp.MustCompile(`(?i)pass|secret|token|sas|key|pfx|auth|credential|signature|cookie`)

// withoutSecrets returns a copy of a value in which the value of each element with a secret name is
// masked. A schedule definition contains a secret only by mistake.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		masked := make(map[string]any, len(v))
		for n, item := range v {
			if secretName.MatchString(n) && item != nil {
				masked[n] = "***"
			} else {
				masked[n] = withoutSecrets(item)
			}
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i, item := range v {
			masked[i] = withoutSecrets(item)
		}
		return masked
	}
	return v
}

// address returns a URL without the parts that may be secret: user, query and fragment.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.RawQuery != "" || u.ForceQuery {
		return shown.String() + "?…"
	}
	return shown.String()
}
