package keys

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/jsontext"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// RawMark before a type in a key marks a text that is JSON and must not be quoted.
const RawMark = "!"

// JSONSpec is the specification of a FOR JSON clause; its JSON is part of the aggregate's key.
type JSONSpec struct {
	Columns   []DocumentColumn
	Root      string `json:",omitempty"`
	HasRoot   bool   `json:",omitempty"`
	Nulls     bool   `json:",omitempty"` // INCLUDE_NULL_VALUES
	NoWrapper bool   `json:",omitempty"`
	// Tables are the nested arrays of FOR JSON AUTO; empty if the objects are flat.
	Tables AutoTables
}

// DocumentColumn is a column of FOR JSON or FOR XML.
type DocumentColumn struct {
	Name string
	Type string // types.Type.Key
	Raw  bool   `json:",omitempty"` // the text is JSON or XML already
	Expr bool   `json:",omitempty"` // an expression, which FOR JSON AUTO does not compare
}

// jsonNode is a member of the objects to write; members are in the order of the columns.
type jsonNode struct {
	name    string
	column  int // -1 for an object
	members []*jsonNode
}

// CheckJSONNames returns error 13601 if the names of the columns of FOR JSON conflict.
func CheckJSONNames(spec *JSONSpec) error {
	_, err := jsonTrees(spec)
	return err
}

// jsonTrees returns the structures of the objects of each level.
func jsonTrees(spec *JSONSpec) ([]*jsonNode, error) {
	trees := make([]*jsonNode, max(len(spec.Tables.Names), 1))
	for level := range trees {
		var err error
		if trees[level], err = jsonTree(spec, level); err != nil {
			return nil, err
		}
	}
	return trees, nil
}

// jsonTree builds the structure of the objects of a level from the dotted column names. Error 13601
// for conflicting names.
func jsonTree(spec *JSONSpec, level int) (*jsonNode, error) {
	root := &jsonNode{column: -1}
	for i, c := range spec.Columns {
		if len(spec.Tables.Names) > 0 && spec.Tables.Levels[i] != level {
			continue
		}
		at := root
		path := strings.Split(c.Name, ".")
		for k, name := range path {
			name = strings.ReplaceAll(name, "\x00", ".")
			last := k == len(path)-1
			var next *jsonNode
			for _, m := range at.members {
				if m.name == name {
					next = m
				}
			}
			switch {
			case next != nil && (last || next.column >= 0 || next != at.members[len(at.members)-1]):
				return nil, mserr.JSONConflict(strings.ReplaceAll(c.Name, "\x00", "."))
			case next == nil:
				next = &jsonNode{name: name, column: -1}
				if last {
					next.column = i
				}
				at.members = append(at.members, next)
			}
			at = next
		}
	}
	return root, nil
}

// jsonDocument is the accumulator of FOR JSON.
type jsonDocument struct {
	spec  *JSONSpec
	trees []*jsonNode // by level
	ts    []types.Type
	b     strings.Builder
	last  []types.Value // the row before
}

// newJSONDocument returns the constructor of the accumulators for a FOR JSON key.
func newJSONDocument(key string) (func() store.Accumulator, error) {
	spec := &JSONSpec{}
	if err := json.Unmarshal([]byte(key), spec); err != nil {
		return nil, mserr.NotSupported("the key of FOR JSON")
	}
	trees, err := jsonTrees(spec)
	if err != nil {
		return nil, err
	}
	ts, err := columnTypes(spec.Columns)
	if err != nil {
		return nil, err
	}
	return func() store.Accumulator { return &jsonDocument{spec: spec, trees: trees, ts: ts} }, nil
}

// columnTypes parses the types of the columns.
func columnTypes(columns []DocumentColumn) ([]types.Type, error) {
	ts := make([]types.Type, len(columns))
	for i, c := range columns {
		if c.Type == "" {
			ts[i] = types.NullType
			continue
		}
		t, err := types.ParseType(c.Type)
		if err != nil {
			return nil, err
		}
		ts[i] = t
	}
	return ts, nil
}

// Step implements [store.Accumulator]. Objects whose columns have the values of the row before stay
// open, except the innermost one.
func (d *jsonDocument) Step(args []types.Value) error {
	level, last := 0, len(d.trees)-1
	if d.last != nil {
		for level < last && d.same(level, args) {
			level++
		}
		d.closeTo(level)
		d.b.WriteByte(',')
	}
	d.last = slices.Clone(args)
	for ; level <= last; level++ {
		text, some, err := d.object(d.trees[level], args)
		if err != nil {
			return err
		}
		d.b.WriteString(strings.TrimSuffix(text, "}"))
		if level == last {
			break
		}
		if some {
			d.b.WriteByte(',')
		}
		d.b.WriteString(jsontext.Quote(d.spec.Tables.Names[level+1]) + ":[")
	}
	return nil
}

// same reports whether the columns of a level have the values of the row before.
func (d *jsonDocument) same(level int, row []types.Value) bool {
	for i, at := range d.spec.Tables.Levels {
		if at == level && !d.spec.Columns[i].Expr && !sameInAuto(d.last[i], row[i], d.ts[i]) {
			return false
		}
	}
	return true
}

// closeTo closes the objects of a level and below it.
func (d *jsonDocument) closeTo(level int) {
	d.b.WriteString("}" + strings.Repeat("]}", len(d.trees)-1-level))
}

// object returns the text of an object; some is false if the object has no members.
func (d *jsonDocument) object(at *jsonNode, row []types.Value) (text string, some bool, err error) {
	var b strings.Builder
	b.WriteByte('{')
	for _, m := range at.members {
		var value string
		if m.column < 0 {
			v, some, err := d.object(m, row)
			if err != nil {
				return "", false, err
			}
			if !some && !d.spec.Nulls {
				continue
			}
			value = v
		} else {
			if row[m.column] == nil && !d.spec.Nulls {
				continue
			}
			v, err := jsontext.Text(row[m.column], d.ts[m.column], d.spec.Columns[m.column].Raw)
			if err != nil {
				return "", false, err
			}
			value = v
		}
		if some {
			b.WriteByte(',')
		}
		some = true
		b.WriteString(jsontext.Quote(m.name) + ":" + value)
	}
	b.WriteByte('}')
	return b.String(), some, nil
}

// Held implements [store.Holder].
func (d *jsonDocument) Held() int { return builderBytes(&d.b) + rowBytes(d.last) }

// Value implements [store.Accumulator].
func (d *jsonDocument) Value() (types.Value, error) {
	if d.last != nil {
		d.closeTo(0)
		d.last = nil
	}
	s := d.b.String()
	if !d.spec.NoWrapper {
		s = "[" + s + "]"
	}
	if d.spec.HasRoot {
		s = "{" + jsontext.Quote(d.spec.Root) + ":" + s + "}"
	}
	return s, nil
}

// jsonFunc returns the function of a JSON_OBJECT or JSON_ARRAY key.
func jsonFunc(isObject bool, r *reader) store.Func {
	absent := r.next() == "1"
	var ts []types.Type
	var raw []bool
	for len(r.part) > 0 {
		isRaw := strings.HasPrefix(r.part[0], RawMark)
		r.part[0] = strings.TrimPrefix(r.part[0], RawMark)
		raw = append(raw, isRaw)
		ts = append(ts, r.typ())
	}
	return func(_ *meter.Meter, args []types.Value) (types.Value, error) {
		var members []string
		for i := 0; i < len(args); i++ {
			prefix := ""
			if isObject {
				key, ok := args[i].(string)
				if !ok {
					return nil, mserr.Of(13641)
				}
				prefix = jsontext.Quote(key) + ":"
				i++
			}
			if args[i] == nil && absent {
				continue
			}
			v, err := jsontext.Text(args[i], ts[i], raw[i])
			if err != nil {
				return nil, err
			}
			members = append(members, prefix+v)
		}
		if isObject {
			return "{" + strings.Join(members, ",") + "}", nil
		}
		return "[" + strings.Join(members, ",") + "]", nil
	}
}
