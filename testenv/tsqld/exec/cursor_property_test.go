package exec

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// modelRow is a row of the table of TestRandomCursors.
type modelRow struct {
	id, v int
	n     string // a number, or NULL
}

// place returns the sort key of a row: NULL before all numbers.
func (m modelRow) place() int {
	n := -1
	if m.n != "NULL" {
		_, _ = fmt.Sscan(m.n, &n) // a number
	}
	return n
}

// modelCursor is a cursor as the documentation describes it.
type modelCursor struct {
	name    string
	order   func(a, b modelRow) int
	dynamic bool
	keys    []int // of a keyset cursor
	pos     int   // as in cursor
	at      modelRow
}

// rows returns the rows of the cursor's WHERE in its order.
func (c *modelCursor) rows(table []modelRow) []modelRow {
	out := slices.DeleteFunc(slices.Clone(table), func(m modelRow) bool { return m.id%7 == 0 })
	slices.SortFunc(out, c.order)
	return out
}

// fetch moves the cursor and returns the row and @@FETCH_STATUS.
func (c *modelCursor) fetch(table []modelRow, direction string) (modelRow, int) {
	if !c.dynamic {
		return c.fetchKey(table, direction)
	}
	rows := c.rows(table)
	var i int
	switch {
	case direction == "FIRST", direction == "NEXT" && c.pos == 0:
		i = 0
	case direction == "LAST", direction == "PRIOR" && c.pos == 2:
		i = len(rows) - 1
	case direction == "NEXT" && c.pos == 1:
		i = slices.IndexFunc(rows, func(m modelRow) bool { return c.order(m, c.at) > 0 })
	case direction == "PRIOR" && c.pos == 1:
		i = slices.IndexFunc(rows, func(m modelRow) bool { return c.order(m, c.at) >= 0 }) - 1
		if i == -2 {
			i = len(rows) - 1
		}
	default: // outside, away from the rows
		return modelRow{}, -1
	}
	if i < 0 || i >= len(rows) {
		c.pos = 0
		if direction == "NEXT" || direction == "FIRST" {
			c.pos = 2
		}
		return modelRow{}, -1
	}
	c.pos, c.at = 1, rows[i]
	return rows[i], 0
}

// fetchKey is fetch for a keyset cursor.
func (c *modelCursor) fetchKey(table []modelRow, direction string) (modelRow, int) {
	switch direction {
	case "FIRST":
		c.pos = 1
	case "LAST":
		c.pos = len(c.keys)
	case "NEXT":
		c.pos = min(c.pos+1, len(c.keys)+1)
	case "PRIOR":
		c.pos = max(c.pos-1, 0)
	}
	if c.pos == 0 || c.pos > len(c.keys) {
		return modelRow{}, -1
	}
	i := slices.IndexFunc(table, func(m modelRow) bool { return m.id == c.keys[c.pos-1] })
	if i < 0 {
		return modelRow{}, -2
	}
	c.at = table[i]
	return table[i], 0
}

// TestRandomCursors compares keyset and dynamic cursors with a model while random statements change
// the table.
func TestRandomCursors(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int NOT NULL PRIMARY KEY NONCLUSTERED, n int NULL, v int NOT NULL DEFAULT 0, INDEX ix CLUSTERED (n DESC))
INSERT t (id, n) SELECT value, NULLIF(value % 5, 0) FROM GENERATE_SERIES(1, 20)`)
	read := func() (out []modelRow) {
		for _, line := range lines(must(t, s, "SELECT id, n, v FROM t")) {
			var m modelRow
			_, err := fmt.Sscanf(strings.ReplaceAll(line, " | ", " "), "%d %s %d", &m.id, &m.n, &m.v)
			require.NoError(t, err)
			out = append(out, m)
		}
		return out
	}
	byID := func(a, b modelRow) int { return a.id - b.id }
	byN := func(a, b modelRow) int { return cmp.Or(a.place()-b.place(), a.id-b.id) }
	downN := func(a, b modelRow) int { return cmp.Or(b.place()-a.place(), a.id-b.id) }
	found, missing, outside := 0, 0, 0
	for range 40 {
		cursors := []*modelCursor{
			{name: "k SCROLL CURSOR FOR SELECT id, n, v FROM t WHERE id % 7 <> 0 ORDER BY id", order: byID},
			{name: "m CURSOR KEYSET FOR SELECT id, n, v FROM t WHERE id % 7 <> 0 ORDER BY n, id", order: byN},
			{name: "d CURSOR DYNAMIC FOR SELECT id, n, v FROM t WHERE id % 7 <> 0", order: byID, dynamic: true},
			{name: "e CURSOR DYNAMIC FOR SELECT id, n, v FROM (SELECT * FROM t WHERE id % 7 <> 0) AS t ORDER BY id", order: byID, dynamic: true},
			{name: "f CURSOR DYNAMIC FOR SELECT id, n, v FROM t WHERE id % 7 <> 0 ORDER BY n", order: byN, dynamic: true},
			{name: "g CURSOR DYNAMIC FOR SELECT id, n, v FROM t WHERE id % 7 <> 0 ORDER BY n DESC", order: downN, dynamic: true},
		}
		for _, c := range cursors {
			must(t, s, "DECLARE "+c.name+"; OPEN "+c.name[:1])
			for _, m := range c.rows(read()) {
				c.keys = append(c.keys, m.id)
			}
		}
		for range 30 {
			n := random.IntN(30)
			must(t, s, []string{
				fmt.Sprintf("DELETE t WHERE id = %d", n),
				fmt.Sprintf("IF NOT EXISTS (SELECT * FROM t WHERE id = %[1]d) INSERT t (id, n, v) VALUES (%[1]d, NULLIF(%[2]d, 0), 5)", n, n%6),
				fmt.Sprintf("UPDATE t SET v += 1 WHERE id %% 3 = %d", n%3),
				fmt.Sprintf("UPDATE t SET n = NULLIF(%d, 0) WHERE id = %d", n%6, random.IntN(30)),
				fmt.Sprintf("UPDATE t SET id = %[1]d WHERE id = %[2]d AND NOT EXISTS (SELECT * FROM t WHERE id = %[1]d)", n, random.IntN(30)),
			}[random.IntN(5)])
			c := cursors[random.IntN(len(cursors))]
			direction := []string{"NEXT", "NEXT", "NEXT", "PRIOR", "FIRST", "LAST"}[random.IntN(6)]
			want, status := c.fetch(read(), direction)
			got := lines(must(t, s, "FETCH "+direction+" FROM "+c.name[:1]))
			require.Equal(t, []string{fmt.Sprint(status)}, lines(must(t, s, "SELECT @@FETCH_STATUS AS s")), "%s %s", direction, c.name)
			switch status {
			case 0:
				found++
				require.Equal(t, []string{fmt.Sprintf("%d | %s | %d", want.id, want.n, want.v)}, got, "%s %s", direction, c.name)
				if random.IntN(3) > 0 {
					break
				}
				// The current row is changed through the cursor, and only that row.
				must(t, s, "UPDATE t SET v += 100 WHERE CURRENT OF "+c.name[:1])
				after := lines(must(t, s, fmt.Sprintf("SELECT v FROM t WHERE id = %d", want.id)))
				require.Equal(t, []string{fmt.Sprint(want.v + 100)}, after, c.name)
			case -2:
				missing++
			default:
				outside++
			}
		}
		for _, c := range cursors {
			must(t, s, "DEALLOCATE "+c.name[:1])
		}
	}
	require.Greater(t, found, 100)
	require.Greater(t, missing, 0)
	require.Greater(t, outside, 0)
}

// lines returns the rows of a result without its header and count.
func lines(output string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(output), "\n") {
		if !strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "(") {
			out = append(out, line)
		}
	}
	return out
}

// fetchedSink is a lastResultSink that keeps the rows of all result sets.
type fetchedSink struct {
	lastResultSink
	all [][]string
}

func (f *fetchedSink) Row(vals []types.Value) error {
	err := f.lastResultSink.Row(vals)
	f.all = append(f.all, f.rows[len(f.rows)-1])
	return err
}

// TestRandomQueriesOfCursors reads the rows of random queries by cursors of all kinds. The rows
// must be those of the query.
func TestRandomQueriesOfCursors(t *testing.T) {
	s := propertySession(t)
	kinds := map[string]int{}
	forEachStatement(t, s, func(i int, g *generator) {
		q := g.statement().fill(sources[[]string{"tables", "tables", "views", "temporary tables", "derived tables"}[g.IntN(5)]])
		want := lastResult(t, s, q.with+q.body)
		if want.late || want.err != nil || len(want.rows) > 200 {
			return
		}
		kind := g.pick("DYNAMIC", "DYNAMIC", "KEYSET", "STATIC", "FAST_FORWARD", "SCROLL")
		ctx, cancel := context.WithTimeout(t.Context(), statementLimit)
		defer cancel()
		var got fetchedSink
		batch := "DECLARE c CURSOR LOCAL " + kind + " FOR " + q.with + q.body + `
OPEN c
FETCH c
WHILE @@FETCH_STATUS = 0 FETCH c`
		err := s.Batch(ctx, batch, &got)
		if ctx.Err() != nil {
			return
		}
		require.NoError(t, err)
		require.Nil(t, got.err, "seed %d, query %d: %v\n%s", *propertySeed, i, got.err, batch)
		got.rows = got.all
		require.Equal(t, want.multiset(q.cols), got.multiset(q.cols), "seed %d, query %d\n%s", *propertySeed, i, batch)
		require.Equal(t, want.types, got.types, "%s", batch)
		shown := must(t, s, "DECLARE c CURSOR LOCAL "+kind+" FOR "+q.with+q.body+"; OPEN c; SELECT @@CURSOR_ROWS AS n")
		if strings.Contains(shown, "\n-1\n") {
			kinds["dynamic"]++
		} else {
			kinds["other"]++
		}
	})
	require.Greater(t, kinds["dynamic"], *propertyCount/50)
	require.Greater(t, kinds["other"], *propertyCount/10)
}
