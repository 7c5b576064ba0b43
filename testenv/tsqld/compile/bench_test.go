package compile

import (
	"testing"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// BenchmarkSelect parses and compiles four queries: an index seek, a join of views, an APPLY and a
// recursive common table expression.
func BenchmarkSelect(b *testing.B) {
	f := newFixture(b, shop)
	f.declare("@id", "int", "1")
	texts := []string{
		"SELECT name FROM person WHERE id = @id AND boss IN (1, 2, 3) ORDER BY name",
		"SELECT b.name, COUNT(*) FROM boss b LEFT JOIN young y ON y.id = b.id GROUP BY b.name HAVING COUNT(*) > 0",
		"SELECT p.id, u.name FROM person p " +
			"CROSS APPLY (SELECT TOP 1 name FROM person c WHERE c.boss = p.id ORDER BY c.id) u",
		"WITH c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c WHERE x < 5) SELECT SUM(x) FROM c",
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			batch, err := parser.Parse(text, parser.DefaultOptions)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := New(f).Select(batch.Stmts[0].(*syntax.SelectStmt).Query, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}
