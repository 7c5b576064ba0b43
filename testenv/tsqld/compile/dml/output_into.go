package dml

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// notRepeatable are the traits of nodes that must not be computed twice, because the second result
// might differ.
const notRepeatable = tree.HasSubquery | tree.HasAgg | tree.HasWindow | tree.HasPerRow | tree.HasLocal | tree.HasEnv

// outputInto compiles OUTPUT ... INTO without a spool, and reports whether it could. The rows of
// OUTPUT are inserted before the change, by the same join that then changes the target. This
// requires that the join returns each row of the target once, that the first statement changes no
// table which the second one reads, and that every value may be computed twice. For all other
// statements, including those with errors, the caller uses the spool. pseudo are the sources
// inserted and deleted.
func (m *modification) outputInto(
	d *plan.DML,
	clause *syntax.Output,
	values []setting,
	where *tree.Node,
	pseudo ...*tree.Source,
) bool {
	repeatable := []*tree.Node{where}
	for _, v := range values {
		repeatable = append(repeatable, v.n)
	}
	sources, on := rewrite.Preserved(m.from)
	if len(sources) != len(m.l.Sources) || !m.matchesOnce(where) {
		return false
	}
	t, err := m.b.tableTarget(clause.Into)
	if err != nil || t.db != nil || t.table.IdentityColumn() != nil || t.checkOutputInto() != nil {
		return false
	}
	for _, src := range sources {
		if src.Table == "" || src.Base == nil || src.Base == t.table {
			return false
		}
	}
	q, err := m.b.outputQuery(clause, m.outputLevel(pseudo...))
	if err != nil {
		return false
	}
	for _, n := range slices.Concat(repeatable, on, q.Core.Items) {
		if n != nil && n.Traits&notRepeatable != 0 {
			return false
		}
	}
	q.Core.From, q.Core.Where = m.from, where
	insert, _, err := (&outputs{into: q, clause: clause}).insert(m.b, t)
	if err != nil {
		return false
	}
	d.Into, d.Prepare, d.IntoFirst = t.table, []plan.Statement{insert}, true
	return true
}

// matchesOnce reports whether FROM and WHERE return each row of the target at most once: starting
// from the target, each other table is joined by all columns of a unique key.
func (m *modification) matchesOnce(where *tree.Node) bool {
	sources, on := rewrite.Preserved(m.from)
	conds := append(tree.Conjuncts(where), on...)
	found := []*tree.Source{m.src}
	for again := true; again; {
		again = false
		for _, src := range sources {
			if !slices.Contains(found, src) && isUniqueFor(src, found, conds) {
				found, again = append(found, src), true
			}
		}
	}
	return len(found) == len(m.l.Sources)
}

// isUniqueFor reports whether conditions select at most one row of the source for each row of
// others.
func isUniqueFor(s *tree.Source, others []*tree.Source, conds []*tree.Node) bool {
	return s.Base != nil && slices.ContainsFunc(s.Base.Indexes, func(ix *catalog.Index) bool {
		return ix.Unique && !ix.Disabled && ix.Filter == "" &&
			!slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool {
				return !slices.ContainsFunc(conds, func(n *tree.Node) bool { return determines(n, s, k.ColumnID, others) })
			})
	})
}

// determines reports whether a condition fixes the value of a source's column by rows of others.
// Texts do not count, because the comparison may use another collation than the index.
func determines(n *tree.Node, s *tree.Source, column int, others []*tree.Source) bool {
	if n.Op != tree.OpCompare || n.Name != "=" {
		return false
	}
	for i, x := range n.Args {
		y := n.Args[1-i]
		if x.Op != tree.OpCol || x.Source != s || x.Column < 0 || s.Columns[x.Column].Base == nil || s.Columns[x.Column].Base.ID != column ||
			y.Traits&notRepeatable != 0 {
			continue
		}
		if x.Type.Storage() != "INTEGER" && x.Type.ID != types.UniqueIdentifier {
			continue
		}
		known := true
		y.Walk(func(y *tree.Node) bool {
			known = known && (y.Op != tree.OpCol || slices.Contains(others, y.Source)) && y.Op != tree.OpSQL && y.Op != tree.OpField
			return known
		})
		if known {
			return true
		}
	}
	return false
}
