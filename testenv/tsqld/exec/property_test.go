package exec

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

var (
	propertyCount = flag.Int("exec.queries", 300, "random statements of each property test; 10000 for a thorough run")
	propertySeed  = flag.Uint64("exec.seed", 1, "seed of the property tests")
	propertyOnly  = flag.Int("exec.only", -1, "number of the one random statement to run")
)

// queriesPerFixture is the number of random statements between two changes of the rows and indexes.
const queriesPerFixture = 100

// statementLimit is the time limit of a random statement, with or without rewrites. Most statements
// take milliseconds; the few that read too many rows are skipped.
const statementLimit = 3 * time.Second

// lastResultSink is a Sink that records the last result set.
type lastResultSink struct {
	recorder
	rows  [][]string
	types []string
	err   *mserr.Error
	late  bool // the statement took longer than statementLimit
}

func (a *lastResultSink) Columns(cols []types.Column) error {
	a.cols = append([]types.Column(nil), cols...)
	a.rows, a.types = nil, nil
	for _, c := range cols {
		a.types = append(a.types, c.Name+" "+c.Type.String())
	}
	return nil
}

func (a *lastResultSink) Row(vals []types.Value) error {
	row := make([]string, len(vals))
	for i, v := range vals {
		row[i] = show(v, a.cols[i].Type)
	}
	a.rows = append(a.rows, row)
	return nil
}

func (a *lastResultSink) Message(m *mserr.Error) error {
	if m.Class > 10 && a.err == nil {
		a.err = m
	}
	return nil
}

// multiset returns the rows in a canonical order. Fuzzy texts are replaced by a text that is equal
// in their collation.
func (a *lastResultSink) multiset(cols []column) []string {
	out := make([]string, 0, len(a.rows))
	for _, row := range a.rows {
		for i, c := range cols {
			if c.fuzzy && (c.kind == textKind || c.kind == binaryTextKind) {
				row[i] = strings.TrimRight(row[i], " ")
				if c.kind == textKind {
					row[i] = strings.ToUpper(row[i])
				}
			}
		}
		out = append(out, strings.Join(row, " | "))
	}
	slices.Sort(out)
	return out
}

// lastResult executes a batch and returns its last result set.
func lastResult(t *testing.T, s *Session, batch string) *lastResultSink {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementLimit)
	defer cancel()
	var a lastResultSink
	err := s.Batch(ctx, batch, &a)
	if a.late = errors.Is(ctx.Err(), context.DeadlineExceeded); !a.late {
		require.NoError(t, err, "%s", batch)
	}
	return &a
}

// fixture creates the tables of random queries, and copies of them as temporary tables.
func (g *generator) fixture(t *testing.T, s *Session) {
	t.Helper()
	var b strings.Builder
	for _, name := range randomTables {
		fmt.Fprintf(&b, "DROP TABLE IF EXISTS dbo.%s; CREATE TABLE dbo.%s (%s);\n", name, name, columnTypes)
		fmt.Fprintf(&b, "DROP TABLE IF EXISTS #%s; CREATE TABLE #%s (%s);\n", name, name,
			strings.ReplaceAll(columnTypes, "nvarchar(10)", "nvarchar(10) COLLATE DATABASE_DEFAULT"))
		rows := 3 + g.IntN(7)
		if name == "e" {
			rows = 0
		}
		for id := range rows {
			if name == "h" && g.chance(30) {
				id = g.IntN(3)
			}
			vals := []string{fmt.Sprint(id)}
			for _, c := range randomColumns[1:] {
				switch {
				case c.name == "n" || c.name == "f":
					vals = append(vals, g.literal(c.kind))
				default:
					vals = append(vals, g.value(c.kind))
				}
			}
			fmt.Fprintf(&b, "INSERT INTO dbo.%s VALUES (%s);\n", name, strings.Join(vals, ", "))
		}
		fmt.Fprintf(&b, "INSERT INTO #%s SELECT * FROM dbo.%s;\n", name, name)
		if (name == "a" || name == "b") && g.chance(80) {
			fmt.Fprintf(&b, "ALTER TABLE dbo.%s ADD CONSTRAINT pk_%s PRIMARY KEY %s (id);\n", name, name,
				g.pick("CLUSTERED", "NONCLUSTERED"))
		}
		for i := range g.IntN(4) {
			c, d := g.IntN(len(randomColumns)), g.IntN(len(randomColumns))
			if c == d {
				continue
			}
			where := g.pick("", "", " WHERE "+randomColumns[c].name+" IS NOT NULL", " INCLUDE (id)")
			if c == 0 || d == 0 {
				where = strings.ReplaceAll(where, " INCLUDE (id)", "")
			}
			fmt.Fprintf(&b, "CREATE INDEX i%d ON dbo.%s (%s%s, %s)%s;\n", i, name, randomColumns[c].name,
				g.pick("", " DESC"), randomColumns[d].name, where)
		}
	}
	must(t, s, b.String())
}

// sources are equivalent ways to read a table.
var sources = map[string]func(table string) string{
	"tables":             func(t string) string { return "dbo." + t },
	"temporary tables":   func(t string) string { return "#" + t },
	"derived tables":     func(t string) string { return "(SELECT * FROM dbo." + t + ")" },
	"views":              func(t string) string { return "dbo.v_" + t },
	"views in two parts": func(t string) string { return "dbo.u_" + t },
	"inline functions":   func(t string) string { return "dbo.f_" + t + "()" },
	"functions":          func(t string) string { return "dbo.m_" + t + "()" },
	"distinct rows": func(t string) string {
		return "(SELECT TOP (100) PERCENT * FROM dbo." + t + " ORDER BY n)"
	},
	"rows behind a window": func(t string) string { return "dbo.w_" + t },
	"applied tables": func(t string) string {
		return "(SELECT q.* FROM (VALUES (1)) AS one (x) CROSS APPLY (SELECT * FROM dbo." + t + ") AS q)"
	},
}

// wrappers are equivalent ways to execute a query.
var wrappers = map[string]func(q generated) string{
	"as it is":           func(q generated) string { return q.with + q.body },
	"as a derived table": func(q generated) string { return q.with + "SELECT * FROM (" + q.body + ") AS z" },
	"as a table expression": func(q generated) string {
		return withList(q.with) + "z AS (" + q.body + ") SELECT * FROM z"
	},
	"by APPLY": func(q generated) string {
		return q.with + "SELECT z.* FROM (VALUES (1)) AS one (x) CROSS APPLY (" + q.body + ") AS z"
	},
	"as an outer join": func(q generated) string {
		return q.with + "SELECT z.* FROM (VALUES (1)) AS one (x) JOIN (" + q.body + ") AS z ON one.x = 1 LEFT JOIN dbo.e AS y ON y.id = one.x"
	},
	"by INTO": func(q generated) string {
		return "DROP TABLE IF EXISTS #z; " + q.with + "SELECT * INTO #z FROM (" + q.body + ") AS z; SELECT * FROM #z"
	},
	"as part of a UNION ALL": func(q generated) string {
		return q.with + "SELECT * FROM (" + q.body + ") AS z WHERE 1 = 1 UNION ALL SELECT * FROM (" + q.body + ") AS z WHERE 1 = 0"
	},
	"under a constant filter": func(q generated) string {
		return q.with + "SELECT * FROM (" + q.body + ") AS z WHERE c0 IS NULL OR c0 IS NOT NULL"
	},
	"by a cursor of rows": func(q generated) string {
		return q.with + "SELECT TOP (1000000) * FROM (" + q.body + ") AS z ORDER BY c0"
	},
}

// withList begins or continues a list of common table expressions.
func withList(with string) string {
	if with == "" {
		return "WITH "
	}
	return strings.TrimSuffix(with, " ") + ", "
}

// sortedKeys returns the sorted keys of a map.
func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// propertySession opens a session with the views and functions of random queries.
func propertySession(t *testing.T) *Session {
	t.Helper()
	s := workSession(t, newInstance(t))
	for _, name := range randomTables {
		must(t, s, fmt.Sprintf("CREATE TABLE dbo.%s (%s)", name, columnTypes))
		for _, ddl := range []string{
			"CREATE VIEW dbo.v_%[1]s AS SELECT * FROM dbo.%[1]s",
			"CREATE VIEW dbo.u_%[1]s AS SELECT * FROM dbo.%[1]s WHERE id %% 2 = 0 UNION ALL SELECT * FROM dbo.%[1]s WHERE id %% 2 <> 0",
			"CREATE VIEW dbo.w_%[1]s AS SELECT id, k, n, d, s, t, f, w, o, r FROM (SELECT *, COUNT(*) OVER (PARTITION BY id) AS c FROM dbo.%[1]s) AS z WHERE c > 0",
			"CREATE FUNCTION dbo.f_%[1]s () RETURNS TABLE AS RETURN (SELECT * FROM dbo.%[1]s)",
			"CREATE FUNCTION dbo.m_%[1]s () RETURNS @m TABLE (%[2]s) AS BEGIN INSERT @m SELECT * FROM dbo.%[1]s; RETURN END",
		} {
			must(t, s, strings.ReplaceAll(fmt.Sprintf(ddl, name, columnTypes), "%!(EXTRA string="+columnTypes+")", ""))
		}
	}
	return s
}

// forEachStatement calls f with a generator for each random statement. The tables change from time
// to time. Each statement has its own seed, so that a single statement can be repeated.
func forEachStatement(t *testing.T, s *Session, f func(i int, g *generator)) {
	t.Helper()
	generatorFor := func(i int) *generator { return &generator{Rand: rand.New(rand.NewPCG(*propertySeed, uint64(i)))} }
	first, end := 0, *propertyCount
	if *propertyOnly >= 0 {
		first, end = *propertyOnly, *propertyOnly+1
	}
	for i := first; i < end; i++ {
		if i == first || i%queriesPerFixture == 0 {
			generatorFor(-1-i/queriesPerFixture).fixture(t, s)
		}
		f(i, generatorFor(i))
	}
}

// TestRandomQueries executes random queries in equivalent ways: over tables, copies of them, views
// and functions; unchanged and inside of other queries; with and without the rewrites of SQLite's
// optimizer. The rows must be the same.
func TestRandomQueries(t *testing.T) {
	s := propertySession(t)
	tables, late := sources["tables"], 0
	forEachStatement(t, s, func(i int, g *generator) {
		q := g.statement()
		plain := wrappers["as it is"](q.fill(tables))
		want := lastResult(t, s, plain)
		if want.late {
			late++
			return
		}
		if want.err != nil {
			t.Errorf("seed %d, query %d fails: %v\n%s", *propertySeed, i, want.err, plain)
			return
		}
		rows := want.multiset(q.cols)
		same := func(how, batch string) {
			got := lastResult(t, s, batch)
			if got.late {
				late++
				return
			}
			if got.err != nil {
				t.Errorf("seed %d, query %d %s: %v\n%s\nplain: %s", *propertySeed, i, how, got.err, batch, plain)
				return
			}
			if m := got.multiset(q.cols); !slices.Equal(rows, m) || !slices.Equal(want.types, got.types) {
				t.Errorf("seed %d, query %d %s:\n%v\n%s\n\nplain:\n%v\n%s\n%s\n%s", *propertySeed, i, how, got.types,
					strings.Join(m, "\n"), want.types, strings.Join(rows, "\n"), batch, plain)
			}
		}
		require.NoError(t, s.Conn.Without(store.AllRewrites))
		same("without rewrites", plain)
		require.NoError(t, s.Conn.Without(g.Uint32()))
		same("without some rewrites", plain)
		require.NoError(t, s.Conn.Without(0))
		for range 2 {
			from, as := sortedKeys(sources)[g.IntN(len(sources))], sortedKeys(wrappers)[g.IntN(len(wrappers))]
			same("over "+from+" "+as, wrappers[as](q.fill(sources[from])))
		}
	})
	require.LessOrEqual(t, late, 1+*propertyCount/200, "statements that took longer than %s", statementLimit)
}
