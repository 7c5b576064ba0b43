package builtin

import (
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Limits of types other than (max): 8000 bytes.
const (
	maxBytes = 8000
	maxUnits = 4000
)

// textType returns the character type to which a function converts an argument: the varying type of
// the same kind for character types, for others the varchar that CAST needs. ok is false for types
// that string functions do not accept.
func textType(t types.Type) (types.Type, bool) {
	switch t.ID {
	case types.Char, types.VarChar:
		return types.Type{ID: types.VarChar, Length: t.Length, Collation: t.Collation}, true
	case types.NChar, types.NVarChar:
		return types.Type{ID: types.NVarChar, Length: t.Length, Collation: t.Collation}, true
	case types.Text:
		return types.VarCharMax, true
	case types.NText:
		return types.NVarCharMax, true
	case types.Image, types.XML, types.Variant:
		return types.Type{}, false
	case types.Binary, types.VarBinary:
		return types.Type{ID: types.VarChar, Length: t.Length}, true
	}
	return types.VarCharOf(t.DisplayLength()), true
}

// textArg is textType with error 8116; n is the number of the argument, from 1.
func textArg(t types.Type, n int, function string) (types.Type, error) {
	r, ok := textType(t)
	if !ok {
		return types.Type{}, mserr.InvalidArgumentType(t.Name(), n, function)
	}
	return r, nil
}

// text returns a value as a Go string; char and nchar keep their padding. The only errors are those
// of the conversion.
func text(v types.Value, t types.Type) (string, error) {
	if s, ok := v.(string); ok && (t.IsCharacter() || t.ID == types.XML) {
		return s, nil
	}
	to, ok := textType(t)
	if !ok {
		to = types.NVarCharMax
	}
	r, err := types.Convert(v, t, to, types.NoStyle)
	if err != nil {
		return "", err
	}
	s, _ := r.(string)
	return s, nil
}

// bigint returns a value as an int64.
func bigint(v types.Value, t types.Type) (int64, error) {
	if n, ok := v.(int64); ok && t.IsInteger() {
		return n, nil
	}
	r, err := types.Convert(v, t, types.BigIntType, types.NoStyle)
	if err != nil {
		return 0, err
	}
	n, _ := r.(int64)
	return n, nil
}

// integer returns a value as an int; error 8115 if it does not fit T-SQL's int.
func integer(v types.Value, t types.Type) (int, error) {
	if n, ok := v.(int64); ok && t.IsInteger() && n >= math.MinInt32 && n <= math.MaxInt32 {
		return int(n), nil
	}
	r, err := types.Convert(v, t, types.IntType, types.NoStyle)
	if err != nil {
		return 0, err
	}
	n, _ := r.(int64)
	return int(n), nil
}

// float returns a value as a float64.
func float(v types.Value, t types.Type) (float64, error) {
	if f, ok := v.(float64); ok {
		return f, nil
	}
	r, err := types.Convert(v, t, types.FloatType, types.NoStyle)
	if err != nil {
		return 0, err
	}
	f, _ := r.(float64)
	return f, nil
}

// constInt returns a literal integer argument; ok is false for other arguments.
func constInt(consts []types.Value, i int) (int, bool) {
	if i >= len(consts) {
		return 0, false
	}
	n, ok := consts[i].(int64)
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

// constText returns a literal text argument; ok is false for other arguments.
func constText(consts []types.Value, i int) (string, bool) {
	if i >= len(consts) {
		return "", false
	}
	s, ok := consts[i].(string)
	return s, ok
}

// limitOf returns the greatest length of t's kind without (max).
func limitOf(t types.Type) int {
	if t.IsUnicode() {
		return maxUnits
	}
	return maxBytes
}

// withLength returns t with a length: at least 1, at most the limit of its kind. Max stays.
func withLength(t types.Type, n int) types.Type {
	if n == types.Max {
		t.Length = types.Max
		return t
	}
	t.Length = min(max(n, 1), limitOf(t))
	return t
}

// wideType returns the type of a result that may grow up to the limit: (max) if t is (max).
func wideType(t types.Type) types.Type {
	if t.Length != types.Max {
		t.Length = limitOf(t)
	}
	return t
}

// sameText is the result rule of a function that changes the characters of its first argument but
// not their number.
func sameText(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) { return textArg(args[0], 1, name) }
}

// fit truncates a text to the result's length.
func fit(s string, result types.Type) string {
	if result.Length == types.Max || len(s) <= result.Length {
		return s
	}
	return result.Cut(s, result.Length)
}

// anyUnicode reports whether an argument is of a Unicode type.
func anyUnicode(args ...types.Type) bool {
	for _, t := range args {
		if t.IsUnicode() {
			return true
		}
	}
	return false
}

// inCase applies f to the first argument's text, in the collation of the result.
func inCase(f func(types.Collation, string) string) evalFunc {
	return func(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		return eachText(func(s string) string { return f(result.Collation, s) })(env, ts, result, args)
	}
}

// eachText applies f to the first argument's text.
func eachText(f func(string) string) evalFunc {
	return func(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		s, err := text(args[0], ts[0])
		if err != nil {
			return nil, err
		}
		return fit(f(s), result), nil
	}
}
