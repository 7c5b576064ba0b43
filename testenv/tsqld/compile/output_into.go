package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// notRepeatable are the traits of nodes that must not be computed twice, because the second result
// might differ.
const notRepeatable = hasSubquery | hasAgg | hasWindow | hasPerRow | hasLocal | hasEnv

// outputInto compiles OUTPUT ... INTO without a spool, and reports whether it could. The rows of
// OUTPUT are inserted before the change, by the same join that then changes the target. This
// requires that the join returns each row of the target once, that the first statement changes no
// table which the second one reads, and that every value may be computed twice. For all other
// statements, including those with errors, the caller uses the spool. pseudo are the sources
// inserted and deleted.
func (m *modification) outputInto(
	d *DML,
	clause *syntax.Output,
	values []setting,
	where *node,
	pseudo ...*source,
) bool {
	repeatable := []*node{where}
	for _, v := range values {
		repeatable = append(repeatable, v.n)
	}
	sources, on := preserved(m.from)
	if len(sources) != len(m.l.sources) || !m.matchesOnce(where) {
		return false
	}
	t, err := m.b.tableTarget(clause.Into, "INSERT")
	if err != nil || t.db != nil || t.table.IdentityColumn() != nil || t.checkOutputInto() != nil {
		return false
	}
	for _, src := range sources {
		if src.table == "" || src.base == nil || src.base == t.table {
			return false
		}
	}
	q, err := m.b.outputQuery(clause, m.outputLevel(pseudo...))
	if err != nil {
		return false
	}
	for _, n := range slices.Concat(repeatable, on, q.core.items) {
		if n != nil && n.traits&notRepeatable != 0 {
			return false
		}
	}
	q.core.from, q.core.where = m.from, where
	insert, _, err := (&outputs{into: q, clause: clause}).insert(m.b, t)
	if err != nil {
		return false
	}
	d.Into, d.Prepare, d.IntoFirst = t.table, []Statement{insert}, true
	return true
}

// matchesOnce reports whether FROM and WHERE return each row of the target at most once: starting
// from the target, each other table is joined by all columns of a unique key.
func (m *modification) matchesOnce(where *node) bool {
	sources, on := preserved(m.from)
	conds := append(conjuncts(where), on...)
	found := []*source{m.src}
	for again := true; again; {
		again = false
		for _, src := range sources {
			if !slices.Contains(found, src) && src.isUniqueFor(found, conds) {
				found, again = append(found, src), true
			}
		}
	}
	return len(found) == len(m.l.sources)
}

// isUniqueFor reports whether conditions select at most one row of the source for each row of
// others.
func (s *source) isUniqueFor(others []*source, conds []*node) bool {
	return s.base != nil && slices.ContainsFunc(s.base.Indexes, func(ix *catalog.Index) bool {
		return ix.Unique && !ix.Disabled && ix.Filter == "" &&
			!slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool {
				return !slices.ContainsFunc(conds, func(n *node) bool { return n.determines(s, k.ColumnID, others) })
			})
	})
}

// determines reports whether a condition fixes the value of a source's column by rows of others.
// Texts do not count, because the comparison may use another collation than the index.
func (n *node) determines(s *source, column int, others []*source) bool {
	if n.op != opCompare || n.name != "=" {
		return false
	}
	for i, x := range n.args {
		y := n.args[1-i]
		if x.op != opCol || x.src != s || x.col < 0 || s.cols[x.col].base == nil || s.cols[x.col].base.ID != column ||
			y.traits&notRepeatable != 0 {
			continue
		}
		if x.typ.Storage() != "INTEGER" && x.typ.ID != types.UniqueIdentifier {
			continue
		}
		known := true
		y.walk(func(y *node) bool {
			known = known && (y.op != opCol || slices.Contains(others, y.src)) && y.op != opSQL && y.op != opField
			return known
		})
		if known {
			return true
		}
	}
	return false
}
