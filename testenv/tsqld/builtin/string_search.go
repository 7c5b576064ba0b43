package builtin

import (
	"math"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/search"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// stringSearchFuncs search in texts.
var stringSearchFuncs = []*Func{
	collating(longLenient("CHARINDEX", 2, 3, charIndexResult, evalCharIndex)),
	collating(long("PATINDEX", 2, 2, patIndexResult, evalPatIndex)),
}

// charIndexResult is int, or bigint for a (max) text. Which types the arguments may have, and the
// errors for others, are those of a recorded SQL Server 2025.
func charIndexResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if a := args[0]; !a.IsCharacter() && !a.IsBinary() && a.ID != types.Null {
		return types.Type{}, mserr.InvalidArgumentType(a.MessageName(), 1, "charindex")
	}
	if args[1].ID == types.XML {
		return types.Type{}, mserr.ImplicitConversion(args[1].MessageName(), targetName(args[0]))
	}
	if _, err := textArg(args[1], 2, "charindex"); err != nil {
		return types.Type{}, err
	}
	if len(args) > 2 && (!args[2].IsInteger() || args[2].ID == types.Bit) && args[2].ID != types.Decimal && args[2].ID != types.Null {
		return types.Type{}, mserr.InvalidArgumentType(args[2].MessageName(), 3, "charindex")
	}
	if args[1].IsMax() {
		return types.BigIntType, nil
	}
	return types.IntType, nil
}

// patIndexResult is charIndexResult for PATINDEX.
func patIndexResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if _, err := textArg(args[0], 1, "patindex"); err != nil {
		return types.Type{}, err
	}
	if !args[1].IsCharacter() {
		return types.Type{}, mserr.InvalidArgumentType(args[1].MessageName(), 2, "patindex")
	}
	if args[1].IsMax() {
		return types.BigIntType, nil
	}
	return types.IntType, nil
}

// evalCharIndex returns 0 if there is no match.
func evalCharIndex(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil || len(args) > 2 && args[2] == nil {
		return nil, nil
	}
	what, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	s, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	start := 0
	if len(args) > 2 {
		n, err := convert.Bigint(args[2], ts[2])
		if err != nil {
			return nil, err
		}
		if !ts[1].IsMax() && (n < math.MinInt32 || n > math.MaxInt32) {
			return nil, mserr.ArithmeticOverflow("expression", "int")
		}
		start = int(max(min(n-1, int64(len(s))), 0))
	}
	if what == "" {
		return int64(0), nil
	}
	counted := ts[1].Collation
	head := counted.Left(s, start)
	rest := counted.Slice(s, start, len(s))
	at := 0
	if c := searchCollation(ts[0], ts[1]); c.IsBinary() {
		at = strings.Index(rest, what)
	} else if at, _, err = search.First(m, search.Text{Runes: []rune(what), Collation: c}, rest); err != nil {
		return nil, err
	}
	if at < 0 {
		return int64(0), nil
	}
	return int64(counted.Chars(head) + counted.Chars(rest[:at]) + 1), nil
}

// searchCollation returns the collation of a search for a in b.
func searchCollation(a, b types.Type) types.Collation {
	if b.IsCharacter() && b.Collation != types.CI {
		return b.Collation
	}
	if a.IsCharacter() {
		return a.Collation
	}
	return types.CI
}

// evalPatIndex returns the position of the first match of a LIKE pattern; after a leading % it may
// be anywhere.
func evalPatIndex(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	pattern, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	s, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	p, err := search.Compile(m, pattern, "", searchCollation(ts[0], ts[1]))
	if err != nil {
		return nil, err
	}
	at, err := p.Index(m, s, !anyUnicode(ts...))
	if at < 0 || err != nil {
		return int64(0), err
	}
	return int64(ts[1].Collation.Chars(s[:at]) + 1), nil
}
