package sqlfs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// lockingScan is rule "seek": a read that keeps its locks, and finds its row by a filtered index,
// must name it with FORCESEEK. SQL Server does not take a filtered unique index for a proof that
// there is one row, so it weighs costs: of a table of a few pages it rather scans the clustered
// index than seek the other one and look the row up, and locks every row of the table (with
// HOLDLOCK, every gap, too). An unfiltered unique index, or the clustered one, is sought anyway. An
// INSERT may not name indexes of its own table
// (https://sqlperformance.com/2013/04/t-sql-queries/optimizer-limitations-with-filtered-indexes,
// https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table).
func lockingScan(r *tree, _ string, s statement) []string {
	var found []string
	var filled *schemaTable
	if i, ok := s.Stmt.(*syntax.InsertStmt); ok {
		if n, ok := i.Target.(*syntax.TableName); ok {
			filled = r.table(n.Name)
		}
	}
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			for _, src := range sources(sc.from) {
				name, ok := src.(*syntax.TableName)
				if !ok || r.table(name.Name) == nil {
					continue
				}
				t := r.table(name.Name)
				if t == filled {
					continue
				}
				equal := sc.equals(aliasOf(src))
				for _, h := range name.Hints {
					if h.Name == "FORCESEEK" && !seekable(t, h, equal) {
						found = append(found, fmt.Sprintf("FORCESEEK names no index of %s with columns that are compared", t.name))
					}
				}
				if !hint(name, lockHints...) || hint(name, "FORCESEEK", "READPAST") || aliasOf(src) == sc.target {
					continue
				}
				compared := func(i *schemaIndex) bool {
					return !slices.ContainsFunc(i.keys, func(c string) bool { return equal[c] == nil })
				}
				sought := func(i *schemaIndex) bool { return i.unique && len(i.filter) == 0 && compared(i) }
				if equal[t.clustered()[0]] != nil || slices.ContainsFunc(t.indexes, sought) {
					continue
				}
				for _, i := range t.indexes {
					if len(i.filter) > 0 && compared(i) {
						found = append(found, fmt.Sprintf("%s is locked by the filtered index %s: add FORCESEEK", t.name, i.name))
						break
					}
				}
			}
		}
	}
	return found
}

// seekable reports whether FORCESEEK (INDEX (COLUMNS)) names the first columns of an index, and
// each of them is compared with a value.
func seekable(t *schemaTable, h *syntax.TableHint, equal map[string]syntax.Expr) bool {
	if len(h.Args) != 1 {
		return false
	}
	call, ok := h.Args[0].(*syntax.FuncCall)
	if !ok {
		return false
	}
	var columns []string
	for _, x := range call.Args {
		c, ok := x.(*syntax.ColumnRef)
		if !ok || equal[c.Column()] == nil {
			return false
		}
		columns = append(columns, c.Column())
	}
	return slices.ContainsFunc(t.indexes, func(i *schemaIndex) bool {
		return i.name == call.Name.Last() && strings.HasPrefix(strings.Join(i.keys, ",")+",", strings.Join(columns, ",")+",")
	})
}

func TestLocksByFilteredIndexesSeek(t *testing.T) {
	require.Empty(t, readTree(t).finds(lockingScan))
	const read = "SELECT @p = x.id FROM jobs_internal.things AS x WITH (UPDLOCK, HOLDLOCK%s) WHERE x.%s;"
	bad := func(hints, where string, want ...string) {
		t.Helper()
		requireFindings(t, lockingScan, fmt.Sprintf(read, hints, where), want...)
	}
	bad("", "origin = @p", "things is locked by the filtered index IX_things_origin: add FORCESEEK")
	bad("", "origin = @p AND x.id = 1")
	bad("", "parent = @p AND x.name = N'a' AND x.origin = 1")
	bad(", READPAST", "origin = @p")
	bad(", FORCESEEK (IX_things_origin (origin))", "origin = @p")
	const names = "FORCESEEK names no index of things with columns that are compared"
	bad(", FORCESEEK", "origin = @p", names)
	bad(", FORCESEEK (IX_origin (origin))", "origin = @p", names)
	bad(", FORCESEEK (IX_things_origin (origin))", "origin > @p", names)
	bad(", FORCESEEK (UQ_things_name (name))", "name = N'a'", names)
}
