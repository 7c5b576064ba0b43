package keys

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/jsontext"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// rowsFunc returns the function of a key of TableFunction.
func rowsFunc(r *reader) store.RowsFunc {
	switch name := r.next(); name {
	case "OPENJSON":
		return func(m *meter.Meter, args []types.Value) (store.RowSource, error) {
			s, path, ok := jsonArguments(args)
			if !ok {
				return store.ListedRows(nil), nil
			}
			return rowsOf(m, jsontext.Open(m, s, path))
		}
	case "OPENJSONWITH":
		var columns []jsontext.Column
		for len(r.part) > 0 {
			columns = append(
				columns,
				jsontext.Column{Name: r.text(), Type: r.typ(), Path: r.text(), AsJSON: r.next() == "1"},
			)
		}
		return func(m *meter.Meter, args []types.Value) (store.RowSource, error) {
			s, path, ok := jsonArguments(args)
			if !ok {
				return store.ListedRows(nil), nil
			}
			return rowsOf(m, jsontext.OpenWith(m, s, path, columns))
		}
	case RowsXMLNodes:
		return xmlNodesFunc(r)
	case "STRING_SPLIT":
		return stringSplit
	case "GENERATE_SERIES":
		t := r.typ()
		return func(m *meter.Meter, args []types.Value) (store.RowSource, error) { return series(args, t) }
	}
	r.fail()
	return nil
}

// jsonArguments returns the text and path of OPENJSON; ok is false if one is NULL.
func jsonArguments(args []types.Value) (s, path string, ok bool) {
	s, ok = args[0].(string)
	if ok && len(args) > 1 {
		path, ok = args[1].(string)
	}
	return s, path, ok
}

// stringSplit implements STRING_SPLIT: it returns the parts and their ordinals.
func stringSplit(m *meter.Meter, args []types.Value) (store.RowSource, error) {
	s, ok := args[0].(string)
	if !ok {
		return store.ListedRows(nil), nil
	}
	sep, _ := args[1].(string)
	if types.Units(sep) != 1 {
		return nil, mserr.ParameterType("separator", "nchar(1)/nvarchar(1)").WithState(11)
	}
	r := &splitRows{m: m, text: s, sep: sep}
	r.Rewind()
	return r, nil
}

// splitRows splits a text while its rows are read.
type splitRows struct {
	m         *meter.Meter
	text, sep string
	rest      string
	n         int64 // number of parts returned; -1 after the last one
	row       [2]types.Value
}

// Rewind implements [store.RowSource].
func (r *splitRows) Rewind() { r.rest, r.n = r.text, 0 }

// Next implements [store.RowSource].
func (r *splitRows) Next() ([]types.Value, error) {
	if r.n < 0 {
		return nil, nil
	}
	part, rest, more := strings.Cut(r.rest, r.sep)
	if err := r.m.Work(len(part) + 1); err != nil {
		return nil, err
	}
	r.row[0], r.row[1] = part, r.n+1
	r.rest, r.n = rest, r.n+1
	if !more {
		r.n = -1
	}
	return r.row[:], nil
}

// series implements GENERATE_SERIES(start, stop, step). Error 4199 for a step of zero.
func series(args []types.Value, t types.Type) (store.RowSource, error) {
	for _, a := range args {
		if a == nil {
			return store.ListedRows(nil), nil
		}
	}
	zero, err := types.Convert(int64(0), types.IntType, t, types.NoStyle)
	if err != nil {
		return nil, err
	}
	sign := types.Compare(args[2], zero, t)
	if sign == 0 {
		return nil, mserr.Of(4199, 0, 3, "generate_series")
	}
	sum, err := types.ArithType(types.Add, t, t)
	if err != nil {
		return nil, err
	}
	return &seriesRows{start: args[0], stop: args[1], step: args[2], typ: t, sum: sum, sign: sign, next: args[0]}, nil
}

// seriesRows computes the rows of GENERATE_SERIES while they are read, so a long series needs no
// memory.
type seriesRows struct {
	start, stop, step types.Value
	typ, sum          types.Type  // type of the values, and of the sum of two values
	sign              int         // sign of step
	next              types.Value // nil after the last value of the type
	row               [1]types.Value
}

// Rewind implements [store.RowSource].
func (s *seriesRows) Rewind() { s.next = s.start }

// Next implements [store.RowSource].
func (s *seriesRows) Next() ([]types.Value, error) {
	if s.next == nil || types.Compare(s.next, s.stop, s.typ)*s.sign > 0 {
		return nil, nil
	}
	s.row[0] = s.next
	s.next = s.after(s.next)
	return s.row[:], nil
}

// after returns the value that follows v, or nil if the type has none.
func (s *seriesRows) after(v types.Value) types.Value {
	next, err := types.Arith(types.Add, v, s.typ, s.step, s.typ, s.sum)
	if err != nil {
		return nil
	}
	if next, err = types.Convert(next, s.sum, s.typ, types.NoStyle); err != nil {
		return nil
	}
	return next
}
