package jsontext

import (
	"encoding/base64"
	"iter"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Columns are the columns of OPENJSON without WITH.
var Columns = []types.Column{
	{Name: "key", Type: types.Type{ID: types.NVarChar, Length: 4000, Collation: types.Bin}},
	{Name: "value", Type: types.NVarCharMax, Nullable: true},
	{Name: "type", Type: types.TinyIntType},
}

// Column is a column of OPENJSON ... WITH.
type Column struct {
	Name   string
	Type   types.Type
	Path   string // "" for the member with the column's name
	AsJSON bool   // the column is an object or array as text
}

// Open yields the rows of OPENJSON(text, path) without WITH: key, value and type of every member or
// element. The path "" is "$". A lax path without a value yields no rows. An error (13607, 13608,
// 13609, 13611) comes last.
func Open(m *meter.Meter, s, path string) iter.Seq2[[]types.Value, error] {
	return func(yield func([]types.Value, error) bool) {
		v, ok, err := openSpan(m, s, path)
		if err != nil {
			yield(nil, err)
			return
		}
		if !ok {
			return
		}
		row := func(key string, e span) bool {
			var value types.Value = e.of(s)
			if e.kind != Array && e.kind != Object {
				value = scalar(s, e)
			}
			return yield([]types.Value{key, value, int64(e.kind)}, nil)
		}
		sc := newScanner(m, s, v.start)
		if v.kind == Object {
			err = sc.members(row)
		} else {
			err = sc.elements(func(i int, e span) bool { return row(strconv.Itoa(i), e) })
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// OpenWith yields the rows of OPENJSON(text, path) WITH (columns): one for every element of an
// array, one for an object. Its errors are those of [Open], of the columns' paths and of their
// conversions.
func OpenWith(m *meter.Meter, s, path string, columns []Column) iter.Seq2[[]types.Value, error] {
	return func(yield func([]types.Value, error) bool) {
		paths := make([]jsonPath, len(columns))
		for i, c := range columns {
			if c.AsJSON && (c.Type.ID != types.NVarChar || c.Type.Length != types.Max) {
				yield(nil, mserr.JSONAsJSON())
				return
			}
			if c.Path == "" {
				paths[i] = jsonPath{steps: []pathStep{{key: c.Name}}}
				continue
			}
			p, err := parsePath(c.Path)
			if err != nil {
				yield(nil, err)
				return
			}
			paths[i] = p
		}
		v, ok, err := openSpan(m, s, path)
		if err != nil {
			yield(nil, err)
			return
		}
		if !ok {
			return
		}
		members := newMemberIndex(paths)
		row := func(e span) bool {
			out := make([]types.Value, len(columns))
			for i, c := range columns {
				var v span
				var ok bool
				if members != nil {
					v, ok = members.spans[i], members.found[i]
				} else {
					var err error
					if v, ok, err = find(m, s, e, paths[i].steps); err != nil {
						yield(nil, err)
						return false
					}
				}
				x, err := columnValue(s, v, ok, c, paths[i])
				if err != nil {
					yield(nil, err)
					return false
				}
				out[i] = x
			}
			return yield(out, nil)
		}
		sc := newScanner(m, s, v.start)
		next := func(int) (bool, error) {
			e, err := members.read(&sc)
			return err == nil && row(e), err
		}
		if v.kind == Object {
			_, err = next(0)
		} else {
			err = sc.each(next)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// openSpan finds the value at OPENJSON's path; ok is false if there is none.
func openSpan(m *meter.Meter, s, path string) (v span, ok bool, err error) {
	if path == "" {
		path = "$"
	}
	p, err := parsePath(path)
	if err != nil {
		return v, false, err
	}
	root, err := scan(m, s)
	if err != nil {
		return v, false, err
	}
	v, ok, err = find(m, s, root, p.steps)
	switch {
	case err != nil:
		return v, false, err
	case !ok && p.isStrict:
		return v, false, mserr.JSONProperty()
	case ok && v.kind != Array && v.kind != Object:
		if p.isStrict {
			return v, false, mserr.Of(13611)
		}
		return v, false, nil
	}
	return v, ok, nil
}

// memberIndex reads all columns of an object at once. It serves the usual paths, which have one
// member.
type memberIndex struct {
	byKey map[string][]int
	spans []span
	found []bool
}

// newMemberIndex returns nil if a path is not of one member.
func newMemberIndex(paths []jsonPath) *memberIndex {
	m := &memberIndex{byKey: map[string][]int{}, spans: make([]span, len(paths)), found: make([]bool, len(paths))}
	for i, p := range paths {
		if len(p.steps) != 1 || p.steps[0].isIndex {
			return nil
		}
		m.byKey[p.steps[0].key] = append(m.byKey[p.steps[0].key], i)
	}
	return m
}

// read reads a value and finds the members of an object; other values have none. If several members
// have one name, the first one counts.
func (m *memberIndex) read(sc *scanner) (span, error) {
	if m == nil {
		return sc.value()
	}
	clear(m.found)
	sc.blanks()
	if !sc.at('{', '{') {
		return sc.value()
	}
	e := span{start: sc.pos, kind: Object}
	err := sc.members(func(key string, v span) bool {
		for _, i := range m.byKey[key] {
			if !m.found[i] {
				m.found[i], m.spans[i] = true, v
			}
		}
		return true
	})
	e.end = sc.pos
	return e, err
}

// columnValue computes a column of a row from the value at its path; ok is false if there is none.
func columnValue(s string, v span, ok bool, c Column, path jsonPath) (types.Value, error) {
	if !ok {
		if path.isStrict {
			return nil, mserr.JSONProperty()
		}
		return nil, nil
	}
	isTree := v.kind == Array || v.kind == Object
	switch {
	case c.AsJSON && isTree:
		return v.of(s), nil
	case c.AsJSON && path.isStrict:
		return nil, mserr.JSONObject()
	case c.AsJSON:
		return nil, nil
	case isTree && path.isStrict:
		return nil, mserr.JSONScalar()
	case isTree:
		return nil, nil
	}
	text, ok := scalarText(s, v)
	if !ok {
		return nil, nil
	}
	if c.Type.IsBinary() || c.Type.ID == types.Image {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, mserr.Of(13612)
		}
		return types.Convert(b, types.VarBinaryMax, c.Type, types.NoStyle)
	}
	if types.Truncates(text, types.NVarCharMax, c.Type) {
		if path.isStrict {
			return nil, mserr.JSONTruncated()
		}
		return nil, nil
	}
	if v.kind == Number && c.Type.IsExact() {
		// Numbers with an exponent are read as floats first.
		for i := range len(text) {
			if text[i]|0x20 == 'e' {
				f, err := types.Convert(text, types.NVarCharMax, types.FloatType, types.NoStyle)
				if err != nil {
					return nil, err
				}
				return types.Convert(f, types.FloatType, c.Type, types.NoStyle)
			}
		}
	}
	return types.Convert(text, types.NVarCharOf(maxValue), c.Type, types.NoStyle)
}
