package sqlfs

import (
	"fmt"
	"testing"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// scannedChange is rule "loop": a change of a table that takes its rows from other sources reaches
// the table by LOOP JOIN. Without the hint, SQL Server may choose a merge or hash join where the
// list is long and the table is small, and from compatibility level 150 on it knows how long a
// table variable is. Such a plan reads the whole table, with an update lock on each row: it waits
// for rows that other sessions hold, although it does not change them, and two sessions whose lists
// have no row in common deadlock. A comment "-- loop: reason" answers the finding
// (https://learn.microsoft.com/sql/relational-databases/performance/joins,
// https://learn.microsoft.com/sql/relational-databases/performance/intelligent-query-processing-details#table-variable-deferred-compilation).
func scannedChange(r *tree, _ string, s statement) []string {
	if s.answer("loop") != "" {
		return nil
	}
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			if sc.target == "" || len(sources(sc.from)) < 2 {
				continue
			}
			for _, src := range sources(sc.from) {
				table, ok := src.(*syntax.TableName)
				if !ok || aliasOf(src) != sc.target || r.table(table.Name) == nil {
					continue
				}
				if joinHint(sc, table) != "LOOP" && !oneRow(r.table(table.Name), sc, sc.target) {
					found = append(found, fmt.Sprintf("rows of %s are changed without LOOP JOIN", table.Name.Last()))
				}
			}
		}
	}
	return found
}

// joinHint returns the hint of the join whose right side is a table; "": none.
func joinHint(sc scope, table *syntax.TableName) string {
	hint := ""
	for _, src := range sc.from {
		syntax.Inspect(src, func(n syntax.Node) bool {
			if j, ok := n.(*syntax.Join); ok && j.Right == syntax.TableSource(table) {
				hint = j.Hint
			}
			return true
		})
	}
	return hint
}

func TestChangesSeekTheirRows(t *testing.T) {
	found := readTree(t).finds(scannedChange)
	requireKnown(t, nil, found)
	check := func(body string, want ...string) {
		t.Helper()
		requireFindings(t, scannedChange, "DECLARE @ids TABLE (id BIGINT NOT NULL PRIMARY KEY);\n"+body, want...)
	}
	const finding = "rows of things are changed without LOOP JOIN"
	check("UPDATE x SET x.note = N'' FROM @ids AS i INNER JOIN jobs_internal.things AS x ON x.id = i.id;", finding)
	check("UPDATE x SET x.note = N'' FROM jobs_internal.things AS x INNER JOIN @ids AS i ON i.id = x.id;", finding)
	check("DELETE x FROM (SELECT i.id FROM @ids AS i GROUP BY i.id) AS g INNER JOIN jobs_internal.things AS x ON x.id = g.id;", finding)
	check("UPDATE x SET x.note = N'' FROM @ids AS i INNER LOOP JOIN jobs_internal.things AS x ON x.id = i.id;")
	check("UPDATE x SET x.note = N'' FROM @ids AS i CROSS JOIN jobs_internal.things AS x WHERE x.id = @p;")
	check("UPDATE i SET i.id = x.id FROM @ids AS i INNER JOIN jobs_internal.things AS x ON x.id = i.id;")
}
