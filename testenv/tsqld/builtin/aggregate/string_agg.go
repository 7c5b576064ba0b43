package aggregate

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// stringAgg joins texts in the order of the rows.
type stringAgg struct {
	ts     []types.Type
	result types.Type
	b      strings.Builder
	units  int
	isAny  bool
}

// NewStringAgg makes the state of STRING_AGG.
func NewStringAgg(ts []types.Type, result types.Type) Accumulator {
	return &stringAgg{ts: ts, result: result}
}

// Add appends a text; a NULL separator is empty. Error 9829 above 8000 bytes, unless the type is
// (max).
func (s *stringAgg) Add(args []types.Value) error {
	if args[0] == nil { // STRING_AGG ignores NULL without a warning
		return nil
	}
	v, err := convert.Text(args[0], s.ts[0])
	if err != nil {
		return err
	}
	if s.isAny && args[1] != nil {
		sep, err := convert.Text(args[1], s.ts[1])
		if err != nil {
			return err
		}
		v = sep + v
	}
	s.isAny = true
	s.b.WriteString(v)
	if s.units += s.result.Size(v); s.result.Length != types.Max && s.units > s.result.Length {
		state := uint8(0) // recorded: 1 for nvarchar
		if s.result.IsUnicode() {
			state = 1
		}
		return mserr.AggregateStrings("STRING_AGG").WithState(state)
	}
	return nil
}

// Result returns NULL if there was no text.
func (s *stringAgg) Result() (types.Value, error) {
	if !s.isAny {
		return nil, nil
	}
	return s.b.String(), nil
}
