package store

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// collations are those that SQL texts may name; SQLite's own RTRIM is the binary one.
var collations = map[string]func(a, b string) int{
	types.CollationCI:      func(a, b string) int { return types.Collate(a, b, types.CI) },
	types.CollationCS:      func(a, b string) int { return types.Collate(a, b, types.CS) },
	types.CollationDecimal: types.CompareDecimalText,
}
