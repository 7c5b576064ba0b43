package convert

import (
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// TextType returns the character type to which a function converts an argument: the varying type of
// the same kind for character types, for others the varchar that CAST needs. ok is false for types
// that string functions do not accept.
func TextType(t types.Type) (types.Type, bool) {
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

// Text returns a value as a Go string; char and nchar keep their padding. The only errors are those
// of the conversion.
func Text(v types.Value, t types.Type) (string, error) {
	if s, ok := v.(string); ok && (t.IsCharacter() || t.ID == types.XML) {
		return s, nil
	}
	to, ok := TextType(t)
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

// Bigint returns a value as an int64.
func Bigint(v types.Value, t types.Type) (int64, error) {
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

// Integer returns a value as an int; error 8115 if it does not fit T-SQL's int.
func Integer(v types.Value, t types.Type) (int, error) {
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

// Float returns a value as a float64.
func Float(v types.Value, t types.Type) (float64, error) {
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

// Finite turns NaN and infinity into errors.
func Finite(f float64) (types.Value, error) {
	switch {
	case math.IsNaN(f), math.IsInf(f, -1):
		return nil, mserr.InvalidFloatOperation()
	case math.IsInf(f, 1):
		return nil, mserr.ArithmeticOverflow("expression", "float")
	}
	return f, nil
}
