package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// maxVerified is the largest size, in bytes, of a text whose proposals are tested. Each test parses
// the whole text. A longer text has no proposals.
const maxVerified = 4 << 10

// otherKinds returns the names of the kinds but one in which a bare line is valid.
func otherKinds(kind Kind, opts Options) func(line string) []string {
	return func(line string) []string {
		var names []string
		for _, k := range []Kind{KindCron5, KindCron6, KindQuartz, KindSAP} {
			spec := []byte(line)
			if k == KindSAP {
				spec = []byte(`{"cron":` + syntax.Quote(line) + `}`)
			}
			if _, err := Parse(k, spec, Options{Start: opts.Start, probing: true}); k != kind && err == nil {
				names = append(names, string(k))
			}
		}
		return names
	}
}

// verified returns the error of a text without the proposals that are wrong when they are put in
// place: alone, and all together (D-E5).
func verified(kind Kind, spec []byte, opts Options, err error) error {
	var all *Error
	if !errors.As(err, &all) {
		return err
	}
	faults := slices.Clone(all.Faults)
	opts.probing = true
	drop := func(f *Fault) { f.Nearest = "" }
	text, placed := string(spec), 0
	for i := range faults {
		f := &faults[i]
		if f.Nearest == "" {
			continue
		}
		if len(spec) > maxVerified || !improves(kind, spec, opts, all.Faults, i) {
			drop(f)
		} else if next, ok := place(kind, text, *f); ok {
			text, placed = next, placed+1
		}
	}
	if placed < 2 {
		return &Error{Faults: faults}
	}
	for _, added := range newFaults(kind, text, opts, all.Faults) {
		for i := range faults {
			if related(added.Path, faults[i].Path) {
				drop(&faults[i])
			}
		}
	}
	return &Error{Faults: faults}
}

// improves reports whether the proposal of a fault, put in place, removes the fault and causes no
// other one.
func improves(kind Kind, spec []byte, opts Options, faults []Fault, i int) bool {
	f := faults[i]
	if !f.OfName && !inText(kind, spec, f.Path) {
		return true // a value of the options
	}
	text, ok := place(kind, string(spec), f)
	if !ok {
		return false
	}
	added := newFaults(kind, text, opts, slices.Delete(slices.Clone(faults), i, i+1))
	if f.OfName {
		// A value may be wrong under the right name, too.
		name := f.Path[:strings.LastIndexByte(f.Path, '.')+1] + f.Nearest
		added = slices.DeleteFunc(added, func(g Fault) bool { return strings.HasPrefix(g.Path, name) && g.Allowed != f.Allowed })
	}
	return !slices.ContainsFunc(added, func(g Fault) bool { return related(g.Path, f.Path) })
}

// related reports whether one of two paths is the other one or a part of it. A fault elsewhere was
// there before, and could not be found.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || a == "" || b[len(a)] == '.' || b[len(a)] == '[')
}

// inText reports whether the value at a path stands in the text.
func inText(kind Kind, spec []byte, path string) bool {
	value, err := dialects[kind].Open(spec)
	if err != nil {
		return false
	}
	m := pathStep.FindStringSubmatch(path)
	return m != nil && (syntax.Reader{Object: value}).Has(m[1])
}

// newFaults returns the faults of a text that are not in a list.
func newFaults(kind Kind, text string, opts Options, known []Fault) []Fault {
	_, err := Parse(kind, []byte(text), opts)
	var all *Error
	if !errors.As(err, &all) {
		return nil
	}
	known = slices.Clone(known)
	var added []Fault
	for _, f := range all.Faults {
		if f.Value == "null" {
			continue // something is missing, whatever the proposal
		}
		i := slices.IndexFunc(known, func(k Fault) bool { return k.Path == f.Path && (k.Value == f.Value || f.More > 0) })
		if i < 0 {
			if f.More == 0 && !contains(known, f) {
				added = append(added, f)
			}
			continue
		}
		known = slices.Delete(known, i, i+1)
	}
	return added
}

// contains reports whether a list has a fault of the whole value of which f is a part. Its value
// changes with each part.
func contains(known []Fault, f Fault) bool {
	return slices.ContainsFunc(known, func(k Fault) bool { return k.Path == f.Path && k.Allowed == f.Allowed })
}

// place puts the proposal of a fault in the place of its value. It returns false if there is no
// such place in the text, as for a value of the options.
func place(kind Kind, spec string, f Fault) (string, bool) {
	d := dialects[kind]
	text := strings.TrimSpace(strings.TrimPrefix(spec, "\ufeff"))
	value, _ := d.Open([]byte(spec))
	if value == nil || f.Path == "" {
		return "", false
	}
	if len(value.Members) == 1 && value.Members[0].Name == d.Line && !isObject(text) {
		line := value.Members[0].Text
		line, ok := placeInLine(kind, line, strings.TrimPrefix(f.Path, d.Line), f)
		return syntax.Quote(line), ok
	}
	var tree any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil {
		return "", false
	}
	tree, ok := placeInTree(kind, tree, f.Path, f)
	if !ok {
		return "", false
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(tree) != nil {
		return "", false
	}
	return out.String(), true
}

// isObject reports whether a text is a JSON object.
func isObject(text string) bool { return strings.HasPrefix(text, "{") && json.Valid([]byte(text)) }

// pathStep matches the first name or index of a path.
var pathStep = regexp.MustCompile(`^\.?([^.\[]+)|^\[([0-9]+)\]`)

// placeInTree puts a proposal in the place of the value at the rest of a path.
func placeInTree(kind Kind, tree any, path string, f Fault) (any, bool) {
	m := pathStep.FindStringSubmatch(path)
	switch node := tree.(type) {
	case map[string]any:
		if m == nil || m[1] == "" {
			return nil, false
		}
		child, present := node[m[1]]
		rest := path[len(m[0]):]
		if !present {
			return nil, false
		}
		if _, taken := node[f.Nearest]; rest == "" && f.OfName {
			if taken || f.Nearest == "" {
				return nil, false
			}
			delete(node, m[1])
			node[f.Nearest] = child
			return node, true
		}
		placed, ok := placeInTree(kind, child, rest, f)
		node[m[1]] = placed
		return node, ok
	case []any:
		if m == nil || m[2] == "" {
			return nil, false
		}
		i, err := strconv.Atoi(m[2])
		if err != nil || i >= len(node) {
			return nil, false
		}
		placed, ok := placeInTree(kind, node[i], path[len(m[0]):], f)
		node[i] = placed
		return node, ok
	case string:
		line, ok := placeInLine(kind, node, path, f)
		if path == "" && ok && f.OfNumber {
			return json.Number(f.Nearest), true
		}
		return line, ok
	}
	return json.Number(f.Nearest), path == "" && f.OfNumber
}

// placeInLine puts a proposal in the place of the part of a line at the rest of a path.
func placeInLine(kind Kind, line, rest string, f Fault) (string, bool) {
	nearest := f.Nearest
	if strings.HasPrefix(nearest, `"`) && json.Unmarshal([]byte(nearest), &nearest) != nil {
		return "", false
	}
	var value string
	if json.Unmarshal([]byte(f.Value), &value) != nil {
		value = f.Value
	}
	if rest == "" {
		if value != "" && value != line && strings.Count(line, value) == 1 {
			nearest = strings.Replace(line, value, nearest, 1) // one of several lines
		}
		return nearest, true
	}
	name := strings.TrimPrefix(rest, ".")
	if kind == KindRRule {
		return placeInRule(line, name, value, nearest)
	}
	fields := strings.Fields(line)
	if name == "CRON_TZ" && len(fields) > 0 {
		key, _, _ := strings.Cut(fields[0], "=")
		fields[0] = key + "=" + nearest
		return strings.Join(fields, " "), true
	}
	i := slices.Index(lineFields[kind], name)
	if len(fields) > 0 && strings.Contains(fields[0], "TZ=") {
		i++
	}
	if i < 0 || i >= len(fields) {
		return "", false
	}
	var ok bool
	fields[i], ok = replaceItem(fields[i], value, nearest)
	return strings.Join(fields, " "), ok
}

// replaceItem replaces a whole list, or its items that equal value.
func replaceItem(list, value, nearest string) (string, bool) {
	if list == value {
		return nearest, true
	}
	items := strings.Split(list, ",")
	found := false
	for i, item := range items {
		if item == value {
			items[i], found = nearest, true
		}
	}
	return strings.Join(items, ","), found
}

// placeInRule replaces the value of a part of a recurrence rule, or an item of it.
func placeInRule(line, name, value, nearest string) (string, bool) {
	part := regexp.MustCompile(`(?i)(^|[;:\s])(` + regexp.QuoteMeta(name) + `)(=|:|;TZID=)([^;\n:]*)`)
	for _, m := range part.FindAllStringSubmatchIndex(line, -1) {
		if list, ok := replaceItem(line[m[8]:m[9]], value, nearest); ok {
			return line[:m[8]] + list + line[m[9]:], true
		}
	}
	if at := strings.Index(line, value); at >= 0 && strings.Count(line, value) == 1 && value != "" {
		// The name itself, or a value with separators in it.
		return line[:at] + nearest + line[at+len(value):], true
	}
	return "", false
}

// lineFields are the names of the fields of a line of cron, as in the paths of faults.
var lineFields = map[Kind][]string{
	KindCron5:  {"minute", "hour", "dayOfMonth", "month", "dayOfWeek"},
	KindCron6:  {"second", "minute", "hour", "dayOfMonth", "month", "dayOfWeek"},
	KindQuartz: {"second", "minute", "hour", "dayOfMonth", "month", "dayOfWeek", "year"},
	KindSAP:    {"year", "month", "day", "dayOfWeek", "hour", "minute", "second"},
}
