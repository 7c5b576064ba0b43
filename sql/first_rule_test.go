package sqlfs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// wholeRange is rule "first": MIN or MAX of a column over the rows in which this column is beyond a
// variable. SQL Server stops at the first key of an index only where it expects many rows, and with
// a parameter such as @now, which is NULL when the plan is made, it expects none. TOP (1) with ORDER
// BY stops in each plan. A GROUP BY, or a comment "-- first: reason", answers the finding
// (https://learn.microsoft.com/sql/relational-databases/query-processing-architecture-guide#parameter-sensitivity).
func wholeRange(r *tree, _ string, s statement) []string {
	if s.answer("first") != "" {
		return nil
	}
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			q, ok := sc.node.(*syntax.Select)
			if !ok || q.GroupBy != nil || len(sources(sc.from)) != 1 {
				continue
			}
			source := sources(sc.from)[0]
			table, ok := source.(*syntax.TableName)
			if !ok || r.table(table.Name) == nil {
				continue
			}
			beyond := rangesOf(sc.conditions(), aliasOf(source))
			for _, item := range q.Items {
				inScope(item, aliasOf(source), func(x syntax.Node) {
					f, ok := x.(*syntax.FuncCall)
					if !ok || len(f.Args) != 1 || f.Over != nil || !slices.Contains([]string{"MIN", "MAX"}, strings.ToUpper(f.Name.Last())) {
						return
					}
					c, ok := f.Args[0].(*syntax.ColumnRef)
					if ok && slices.Contains(beyond, c.Column()) {
						found = append(found, fmt.Sprintf("%s of %s may read all rows beyond a variable: use TOP (1)", strings.ToUpper(f.Name.Last()), c.Column()))
					}
				})
			}
		}
	}
	return found
}

// rangesOf returns the columns of alias that conditions compare with a variable, but not for
// equality.
func rangesOf(conditions []syntax.Cond, alias string) []string {
	var found []string
	for _, c := range conditions {
		c, ok := c.(*syntax.CompareCond)
		if !ok || c.Op == syntax.OpEQ || c.Op == syntax.OpNE {
			continue
		}
		for _, sides := range [][2]syntax.Expr{{c.X, c.Y}, {c.Y, c.X}} {
			if _, ok := sides[1].(*syntax.VarRef); ok {
				found = append(found, columnsOf(sides[0], alias)...)
			}
		}
	}
	return found
}

func TestFirstRowsOfRangesStopThere(t *testing.T) {
	requireKnown(t, nil, readTree(t).finds(wholeRange))
	const finding = "MIN of id may read all rows beyond a variable: use TOP (1)"
	requireFindings(t, wholeRange, "SELECT @p = MIN(x.id) FROM jobs_internal.things AS x WHERE x.id > @p;", finding)
	requireFindings(t, wholeRange, "SELECT @p = COALESCE((SELECT MIN(x.id) FROM jobs_internal.things AS x WHERE x.parent = 1 AND @p < x.id), 0);", finding)
	requireFindings(t, wholeRange, "SELECT @p = MIN(x.parent) FROM jobs_internal.things AS x WHERE x.id > @p;")
	requireFindings(t, wholeRange, "SELECT @p = MIN(x.id) FROM jobs_internal.things AS x WHERE x.id = @p;")
	requireFindings(t, wholeRange, "SELECT @p = MIN(x.id) FROM jobs_internal.things AS x WHERE x.id > @p GROUP BY x.parent;")
	requireFindings(t, wholeRange, "SELECT TOP (1) @p = x.id FROM jobs_internal.things AS x WHERE x.id > @p ORDER BY x.id;")
	requireFindings(t, wholeRange, "-- first: at most ten rows\nSELECT @p = MIN(x.id) FROM jobs_internal.things AS x WHERE x.id > @p;")
}
