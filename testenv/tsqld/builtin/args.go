package builtin

import (
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Limits of types other than (max): 8000 bytes.
const (
	maxBytes = 8000
	maxUnits = 4000
)

// textArg is [convert.TextType] with error 8116; n is the number of the argument, from 1.
func textArg(t types.Type, n int, function string) (types.Type, error) {
	r, ok := convert.TextType(t)
	if !ok {
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), n, function)
	}
	return r, nil
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
		s, err := convert.Text(args[0], ts[0])
		if err != nil {
			return nil, err
		}
		return fit(f(s), result), nil
	}
}
