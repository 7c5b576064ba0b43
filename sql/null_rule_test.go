package sqlfs

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// unmatchedFilter is rule "null": a read that finds rows of a table by the column of another source
// says IS NOT NULL where the only index that begins with the column has that filter. A comparison
// with a parameter tells SQL Server that the column is not NULL; for a join it may miss this, and
// then it reads the whole table
// (https://sqlperformance.com/2013/04/t-sql-queries/optimizer-limitations-with-filtered-indexes).
func unmatchedFilter(r *tree, _ string, s statement) []string {
	var found []string
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			for _, src := range sources(sc.from) {
				name, ok := src.(*syntax.TableName)
				if !ok || r.table(name.Name) == nil {
					continue
				}
				equal := equalsIn(sc.conditionsOn(aliasOf(src)), aliasOf(src))
				if slices.ContainsFunc(slices.Collect(maps.Keys(equal)), func(c string) bool { return begins(r.table(name.Name), c) }) {
					continue
				}
				for column, value := range equal {
					if onlyFiltered(r.table(name.Name), column) && !sc.notNull(aliasOf(src), column) && !r.foundFirst(sc, name, value) {
						found = append(found, fmt.Sprintf("%s.%s is compared without IS NOT NULL", name.Name.Last(), column))
					}
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// foundFirst reports whether a table may be read before the source of a value: the value is that of
// a parameter, or a column by which an index finds the rows of another table of the same scope.
func (r *tree) foundFirst(sc scope, table *syntax.TableName, value syntax.Expr) bool {
	var columns []*syntax.ColumnRef
	syntax.Inspect(value, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.ColumnRef); ok && len(c.Parts) == 2 {
			columns = append(columns, c)
		}
		return true
	})
	if len(columns) == 0 {
		return true
	}
	if outer(sc, table) {
		return false
	}
	return slices.ContainsFunc(sources(sc.from), func(s syntax.TableSource) bool {
		other, ok := s.(*syntax.TableName)
		return ok && r.table(other.Name) != nil && aliasOf(s) == columns[0].Parts[0].Name && begins(r.table(other.Name), columns[0].Column())
	})
}

// outer reports whether a table is the right side of an outer join.
func outer(sc scope, table *syntax.TableName) bool {
	found := false
	for _, src := range sc.from {
		syntax.Inspect(src, func(n syntax.Node) bool {
			j, ok := n.(*syntax.Join)
			found = found || ok && j.Kind == syntax.LeftJoin && j.Right == syntax.TableSource(table)
			return true
		})
	}
	return found
}

// begins reports whether an index without a filter on NULL begins with a column.
func begins(t *schemaTable, column string) bool {
	return slices.ContainsFunc(t.indexes, func(i *schemaIndex) bool { return i.keys[0] == column && len(i.nulls) == 0 })
}

// onlyFiltered reports whether indexes begin with a column, all of which have the filter IS NOT
// NULL on it.
func onlyFiltered(t *schemaTable, column string) bool {
	found := false
	for _, i := range t.indexes {
		if i.keys[0] != column {
			continue
		}
		if !slices.Contains(i.nulls, column) {
			return false
		}
		found = true
	}
	return found
}

// notNull reports whether a scope has the condition that a column is not NULL.
func (s scope) notNull(alias, column string) bool {
	return slices.ContainsFunc(s.conditions(), func(c syntax.Cond) bool {
		n, ok := c.(*syntax.IsNullCond)
		if !ok || !n.Not {
			return false
		}
		x, ok := n.X.(*syntax.ColumnRef)
		return ok && len(x.Parts) == 2 && x.Parts[0].Name == alias && x.Column() == column
	})
}

func TestJoinsMatchFilteredIndexes(t *testing.T) {
	requireKnown(t, nil, readTree(t).finds(unmatchedFilter))
	check := func(body string, want ...string) {
		t.Helper()
		requireFindings(t, unmatchedFilter, "DECLARE @ids TABLE (id BIGINT NOT NULL PRIMARY KEY);\n"+body, want...)
	}
	const finding = "things.origin is compared without IS NOT NULL"
	check("SELECT @p = COUNT(*) FROM @ids AS i INNER JOIN jobs_internal.things AS x ON x.origin = i.id;", finding)
	check("SELECT @p = COUNT(*) FROM jobs_internal.things AS o WHERE EXISTS (SELECT 1 FROM jobs_internal.things AS x WHERE x.origin = o.id);", finding)
	check("SELECT @p = COUNT(*) FROM jobs_internal.things AS o LEFT JOIN jobs_internal.things AS x ON x.origin = o.id;", finding)
	check("SELECT @p = (SELECT MIN(t.id) FROM jobs_internal.things AS x LEFT JOIN jobs_internal.things AS t ON t.id = x.id WHERE x.origin = o.id)\n"+
		"FROM jobs_internal.things AS o;", finding) // the left join finds nothing of x
	check("SELECT @p = COUNT(*) FROM jobs_internal.things AS o INNER JOIN jobs_internal.things AS x ON x.origin = o.id;")
	check("SELECT @p = COUNT(*) FROM @ids AS i INNER JOIN jobs_internal.things AS x ON x.origin = i.id WHERE x.origin IS NOT NULL;")
	check("SELECT @p = COUNT(*) FROM @ids AS i INNER JOIN jobs_internal.things AS x ON x.id = i.id AND x.origin = i.id;")
	check("SELECT @p = COUNT(*) FROM jobs_internal.things AS x WHERE x.origin = @p;")
}
