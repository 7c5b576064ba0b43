package parser

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// nests are constructs with a placeholder '?' for a value that is one level deeper.
var nests = []string{
	"(?)",
	"- ?",
	"~?",
	"f(?)",
	"a.f(?)",
	"CASE WHEN 1=1 THEN ? END",
	"CASE WHEN 1=1 THEN 1 ELSE ? END",
	"CASE ? WHEN 1 THEN 1 END",
	"CASE WHEN ? = 1 THEN 1 END",
	"CASE WHEN (? = 1) THEN 1 END",
	"CASE WHEN NOT ? = 1 THEN 1 END",
	"CASE WHEN 1 IN (?, 2) THEN 1 END",
	"CASE WHEN ? LIKE 'a' THEN 1 END",
	"CASE WHEN 1 BETWEEN ? AND 2 THEN 1 END",
	"CASE WHEN EXISTS (SELECT ?) THEN 1 END",
	"CASE WHEN 1 = ANY (SELECT ?) THEN 1 END",
	"CAST(? AS int)",
	"CONVERT(int, ?)",
	"TRY_PARSE(? AS int)",
	"IIF(1=1, ?, 1)",
	"IIF(?=1, 1, 1)",
	"(SELECT ?)",
	"(SELECT 1 FROM (SELECT ? AS a) AS t)",
	"(SELECT 1 FROM (VALUES (?)) AS t (a))",
	"(SELECT 1 WHERE ? = 1)",
	"(SELECT 1 ORDER BY ?)",
	"(SELECT 1 FROM t GROUP BY ROLLUP (1+?))",
	"(SELECT TOP (?) 1)",
	"(SELECT 1 FROM OPENJSON(?) AS j)",
	"(SELECT 1 FROM t JOIN u ON ? = 1)",
	"(SELECT 1 FROM (t JOIN u ON ? = 1))",
	"((SELECT ?) UNION SELECT 1)",
	"COALESCE(?, 1)",
	"NULLIF(?, 1)",
	"TRIM(?)",
	"TRIM('a' FROM ?)",
	"JSON_OBJECT('a': ?)",
	"JSON_ARRAY(?)",
	"{fn ABS(?)}",
	"{fn POSITION(? IN 'a')}",
	"SUM(?) OVER (PARTITION BY a)",
	"SUM(1) OVER (ORDER BY ?)",
	"x.value(?)",
	"(SELECT x.a FROM t CROSS APPLY (SELECT ? AS a) AS x)",
}

// chains are constructs with a placeholder '?' for the first operand, which is below all operators
// of the chain.
var chains = []struct{ head, link, tail string }{
	{"?", "+1", ""},
	{"?", "*1", ""},
	{"?", "<<1", ""},
	{"?", "&1", ""},
	{"?", " COLLATE x", ""},
	{"?", " AT TIME ZONE 'UTC'", ""},
	{"(?)", ".value('a')", ""},
	{"CASE WHEN ?=1", " OR 1=1", " THEN 1 END"},
	{"CASE WHEN ?=1", " AND 1=1", " THEN 1 END"},
	{"(SELECT ?", " UNION SELECT 1", ")"},
	{"(SELECT ?", " UNION ALL SELECT 1", ")"},
	{"(SELECT ?", " EXCEPT SELECT 1", ")"},
	{"(SELECT ?", " INTERSECT SELECT 1", ")"},
	{"((SELECT ?)", " UNION SELECT 1", ")"},
	{"(SELECT 1 FROM (SELECT ? AS a) AS t", " CROSS JOIN u", ")"},
	{"(SELECT 1 FROM (SELECT ? AS a) AS t", " JOIN u ON 1=1", ")"},
	{"(SELECT 1 FROM (SELECT ? AS a) AS t", " CROSS APPLY f(1)", ")"},
	{"(SELECT 1 FROM f(?)", " PIVOT (SUM(a) FOR b IN (c)) AS p", ")"},
}

// chainOf returns the i-th chain with n operators.
func chainOf(i, n int) string { c := chains[i]; return c.head + strings.Repeat(c.link, n) + c.tail }

// nest nests constructs in each other; the first one is the outermost.
func nest(constructs []string) string {
	var head, tail []string
	for _, c := range constructs {
		h, t, _ := strings.Cut(c, "?")
		head, tail = append(head, h), append(tail, t)
	}
	var b strings.Builder
	b.WriteString("SELECT " + strings.Join(head, "") + "1")
	for i := len(tail) - 1; i >= 0; i-- {
		b.WriteString(tail[i])
	}
	return b.String()
}

// nodesPerLevel is the maximum number of tree levels per level of nesting.
const nodesPerLevel = 12

// depthOf returns the depth of a batch's tree.
func depthOf(b *syntax.Batch) (deepest int) {
	depth := 0
	for _, s := range b.Stmts {
		syntax.Walk(s, func(syntax.Node) bool { depth++; deepest = max(deepest, depth); return true }, func(syntax.Node) { depth-- })
	}
	return deepest
}

// requireBounded checks that a text is refused or has a tree of limited depth.
func requireBounded(t *testing.T, src string) {
	t.Helper()
	b, err := Parse(src, DefaultOptions)
	if err != nil {
		require.ErrorIs(t, err, mserr.NestedTooDeeply())
		return
	}
	require.LessOrEqual(t, depthOf(b), tokens.MaxTree+nodesPerLevel*tokens.MaxDepth)
}

// TestNestsAndChainsAreBoundedTogether expects that chains in the first operands of chains do not
// build a tree whose depth is the product of both. It tries every construct alone, pairs of nests
// and chains, and random towers.
func TestNestsAndChainsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	repeat := func(n int, c ...string) []string {
		var all []string
		for range n {
			all = append(all, c...)
		}
		return all
	}
	for _, n := range nests {
		_, err := Parse(nest(repeat(30, n)), DefaultOptions)
		require.NoError(t, err, n)
		requireBounded(t, nest(repeat(tokens.MaxDepth, n)))
	}
	for i := range chains {
		_, err := Parse(nest([]string{chainOf(i, 1000)}), DefaultOptions)
		require.NoError(t, err, chains[i].link)
		_, err = Parse(nest(repeat(60, chainOf(i, 200))), DefaultOptions)
		require.ErrorIs(t, err, mserr.NestedTooDeeply(), chains[i].link)
		for k := i % 6; k < len(nests); k += 6 {
			n := nests[k]
			_, err = Parse(nest(repeat(12, n, chainOf(i, 500))), DefaultOptions)
			require.ErrorIs(t, err, mserr.NestedTooDeeply(), "%s in %s", n, chains[i].link)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var tower []string
		for range r.IntN(60) + 1 {
			if r.IntN(2) == 0 {
				tower = append(tower, nests[r.IntN(len(nests))])
			} else {
				tower = append(tower, chainOf(r.IntN(len(chains)), r.IntN(400)))
			}
		}
		requireBounded(t, nest(tower))
	}
}

// TestRightOperandsAreNotBelowTheChain expects that the operands of a long chain may be long
// themselves if neither is below the other.
func TestRightOperandsAreNotBelowTheChain(t *testing.T) {
	t.Parallel()
	long := "(1" + strings.Repeat("+1", 2000) + ")"
	for name, src := range map[string]string{
		"Sums":   "SELECT 1" + strings.Repeat("+"+long, 20),
		"Values": "SELECT " + strings.Repeat(long+",", 20) + long,
		"Ors":    "SELECT 1 WHERE 1=1" + strings.Repeat(" OR "+long+"=1", 20),
		"Unions": "SELECT 1" + strings.Repeat(" UNION SELECT "+long, 20),
		"Stmts":  strings.Repeat("SELECT "+long+"\n", 20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(src, DefaultOptions)
			require.NoError(t, err)
		})
	}
}

// FuzzDepth builds towers of constructs. Two bytes describe each one: the construct and the length
// of a chain.
func FuzzDepth(f *testing.F) {
	f.Add([]byte{0, 0, 60, 255, 0, 0, 61, 255})
	f.Add([]byte{31, 0, 45, 255, 31, 0, 53, 255, 5, 1})
	f.Fuzz(func(t *testing.T, program []byte) {
		var tower []string
		for i := 0; i+1 < len(program) && i < 2*tokens.MaxDepth; i += 2 {
			if k := int(program[i]) % (len(nests) + len(chains)); k < len(nests) {
				tower = append(tower, nests[k])
			} else {
				tower = append(tower, chainOf(k-len(nests), 2*int(program[i+1])))
			}
		}
		b, err := Parse(nest(tower), DefaultOptions)
		if err != nil {
			return // some towers are not valid T-SQL
		}
		if d := depthOf(b); d > tokens.MaxTree+nodesPerLevel*tokens.MaxDepth {
			t.Fatalf("a tree of depth %d", d)
		}
	})
}
