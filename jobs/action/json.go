package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/suggest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// maxText bounds the text of a definition, in bytes.
const maxText = 4 << 20

// limits bound the values of a definition, those of a body in JSON included.
var limits = bounded.JSON{Depth: 200, Values: 250_000}

// maxMembers bounds the members of an object whose names are free. Headers and properties have
// lower limits.
const maxMembers = 1000

// object is a JSON object of a definition with the faults that were found in it.
type object struct {
	faults  *Faults
	value   *member
	members []*member
	index   map[string]*member
}

// member is a member of an object or an element of an array. A null counts as absent.
type member = jsontree.Value

// parse returns the object that the text consists of, or nil after a fault.
func parse(faults *Faults, text string, known []string) *object {
	text = strings.TrimPrefix(text, "\ufeff")
	switch {
	case len(text) > maxText:
		faults.add("$", "invalid text of %d bytes: want at most %d", len(text), maxText)
		return nil
	case !utf8.ValidString(text):
		faults.add("$", "invalid text: want UTF-8")
		return nil
	case strings.TrimSpace(text) == "":
		faults.add("$", "the definition is empty: want a JSON object")
		return nil
	}
	if err := limits.Check(text); err != nil {
		faults.add("$", "invalid text: %v", err)
		return nil
	}
	v, err := jsontree.Parse(text)
	if err != nil {
		faults.add("$", "%s", syntaxMessage(text, err))
		return nil
	}
	return newObject(faults, v, known)
}

// syntaxMessage describes where a text is not JSON. It quotes at most one character of the text.
func syntaxMessage(text string, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "invalid JSON"
	}
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		return "invalid JSON: the text ends too early"
	}
	line, column := jsontree.Place(text, int(syntax.Offset)-1)
	return fmt.Sprintf("invalid JSON at line %d, column %d: %s", line, column, syntax.Error())
}

// newObject reads an object, and reports unknown and repeated members. It returns nil if v is not
// an object. known is nil if every name is allowed.
func newObject(faults *Faults, v *member, known []string) *object {
	if v.Kind != '{' {
		faults.add(pathOf(v), "invalid value: want an object, not %s", kind(v))
		return nil
	}
	o := &object{faults: faults, value: v, index: map[string]*member{}}
	for _, m := range v.Members {
		switch {
		case faults.full():
			return o
		case known == nil && len(o.members) == maxMembers:
			faults.add(pathOf(v), "invalid object: want at most %d members", maxMembers)
			return o
		case known != nil && !slices.Contains(known, m.Name):
			faults.add(pathOf(m), "unknown member%s", suggest.DidYouMean(m.Name, known))
		case o.index[m.Name] != nil:
			faults.add(pathOf(m), "the member occurs twice")
		default:
			o.index[m.Name] = m
			o.members = append(o.members, m)
		}
	}
	return o
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// memberPath returns the path of a member of the object at path.
func memberPath(path, name string) string {
	if plainName.MatchString(name) {
		return path + "." + name
	}
	return path + "." + strconv.Quote(name)
}

// pathOf returns the path of a value in faults.
func pathOf(v *member) string { return v.PathFrom("$", memberPath) }

// kind names the JSON type of a value.
func kind(v *member) string {
	switch v.Kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// get returns a member, or nil if it is absent or null.
func (o *object) get(name string) *member {
	if m := o.index[name]; m != nil && m.Kind != 'n' {
		return m
	}
	return nil
}

// at returns the path of a member.
func (o *object) at(name string) string { return memberPath(pathOf(o.value), name) }

// ofKind returns a member if it has a JSON type, and reports it otherwise.
func (o *object) ofKind(name, want string) *member {
	m := o.get(name)
	if m == nil {
		return nil
	}
	if k := kind(m); k != want {
		o.faults.add(pathOf(m), "invalid value: want %s, not %s", want, k)
		return nil
	}
	return m
}

// text returns a string, or "" if the member is absent.
func (o *object) text(name string) string {
	if m := o.ofKind(name, "a string"); m != nil {
		return m.Text
	}
	return ""
}

// required returns a string that may not be absent or empty.
func (o *object) required(name string) string {
	text := o.text(name)
	if text == "" {
		o.faults.add(o.at(name), "missing: want a text")
	}
	return text
}

// boolean returns a truth value, or false if the member is absent.
func (o *object) boolean(name string) bool {
	m := o.ofKind(name, "true or false")
	return m != nil && m.Raw == "true"
}

// integer returns a whole number from low to high, or absent if the member is absent.
func (o *object) integer(name string, low, high, absent int64) int64 {
	m := o.ofKind(name, "a number")
	if m == nil {
		return absent
	}
	n, ok := wholeNumber(m.Raw)
	if !ok || n < low || n > high {
		o.faults.add(pathOf(m), "invalid number %s: want a whole number from %d to %d", clip(m.Raw), low, high)
		return absent
	}
	return n
}

// wholeNumber returns the value of a JSON number without a fraction, such as 15 or 1.5e1.
func wholeNumber(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// list returns the elements of an array of at most high elements.
func (o *object) list(name string, high int) []*member {
	m := o.ofKind(name, "an array")
	if m == nil {
		return nil
	}
	return elements(o.faults, m, high)
}

// elements returns the elements of the array m.
func elements(faults *Faults, m *member, high int) []*member {
	if len(m.Items) > high {
		faults.add(pathOf(m), "invalid list of %d elements: want at most %d", len(m.Items), high)
		return m.Items[:high]
	}
	return m.Items
}

// texts returns an array of strings. An element of another type is empty, so that the positions of
// the others stay.
func (o *object) texts(name string, high int) []string {
	var all []string
	for _, m := range o.list(name, high) {
		if k := kind(m); k != "a string" {
			o.faults.add(pathOf(m), "invalid value: want a string, not %s", k)
			all = append(all, "")
			continue
		}
		all = append(all, m.Text)
	}
	return all
}

// textOrJSON returns the text of a string, or another JSON value as compact JSON.
func (o *object) textOrJSON(name string) (text string, isJSON bool) {
	m := o.get(name)
	switch {
	case m == nil:
		return "", false
	case m.Kind == '"':
		return m.Text, false
	}
	return m.Compact(), true
}

// choice returns one of the values, spelled in any case, or absent.
func (o *object) choice(name, absent string, values ...string) string {
	text := o.text(name)
	if text == "" {
		return absent
	}
	for _, v := range values {
		if strings.EqualFold(text, v) {
			return v
		}
	}
	o.faults.add(o.at(name), "invalid value %q: want %s%s", clip(text), strings.Join(values, ", "), suggest.DidYouMean(text, values))
	return absent
}

// clip shortens a text for a message.
func clip(text string) string { return wording.Clip(text, 64, wording.Characters) }
