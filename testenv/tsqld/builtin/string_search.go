package builtin

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/search"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// stringSearchFuncs search in texts.
var stringSearchFuncs = []*Func{
	collating(longLenient("CHARINDEX", 2, 3, charIndexResult, evalCharIndex)),
	collating(long("PATINDEX", 2, 2, patIndexResult, evalPatIndex)),
}

// charIndexResult is int, or bigint for a (max) text.
func charIndexResult(args []types.Type, _ []types.Value) (types.Type, error) {
	for i, a := range args[:2] {
		if _, err := textArg(a, i+1, "charindex"); err != nil {
			return types.Type{}, err
		}
	}
	if args[1].IsMax() {
		return types.BigIntType, nil
	}
	return types.IntType, nil
}

func patIndexResult(args []types.Type, _ []types.Value) (types.Type, error) {
	for i, a := range args {
		if _, err := textArg(a, i+1, "patindex"); err != nil {
			return types.Type{}, err
		}
	}
	if args[1].IsMax() {
		return types.BigIntType, nil
	}
	return types.IntType, nil
}

// evalCharIndex returns 0 if there is no match. A NULL start means the beginning.
func evalCharIndex(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
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
	if len(args) > 2 && args[2] != nil {
		n, err := convert.Bigint(args[2], ts[2])
		if err != nil {
			return nil, err
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
	if pattern == "" || s == "" && pattern == "%" {
		return int64(0), nil
	}
	p, err := search.Compile(m, pattern, "", searchCollation(ts[0], ts[1]))
	if err != nil {
		return nil, err
	}
	at, err := p.Index(m, s)
	if at < 0 || err != nil {
		return int64(0), err
	}
	return int64(ts[1].Collation.Chars(s[:at]) + 1), nil
}
