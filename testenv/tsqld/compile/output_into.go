package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// notRepeatable are the traits of what may not be computed a second time: it might come out otherwise.
const notRepeatable = hasSubquery | hasAgg | hasWindow | hasPerRow | hasLocal | hasEnv

// outputInto is OUTPUT ... INTO without a spool: what goes there is known before the change, and inserted first, by the same
// join that then changes the rows. That holds where a row of the target comes once, where all that is read is tables that the
// first statement leaves alone, and where nothing changes by being computed twice. It reports whether it does; the spool is
// for the rest, errors included. pseudo are inserted and deleted.
func (m *modification) outputInto(d *DML, clause *syntax.Output, values []setting, where *node, pseudo ...*source) bool {
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

// matchesOnce reports whether FROM and WHERE have each row of the target once at most: starting there, each table is joined by all
// columns of a unique key.
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

// isUniqueFor reports whether conditions leave a table one row at most for rows of others.
func (s *source) isUniqueFor(others []*source, conds []*node) bool {
	return s.base != nil && slices.ContainsFunc(s.base.Indexes, func(ix *catalog.Index) bool {
		return ix.Unique && !ix.Disabled && ix.Filter == "" && !slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool {
			return !slices.ContainsFunc(conds, func(n *node) bool { return n.determines(s, k.ColumnID, others) })
		})
	})
}

// determines reports whether a condition says what a column of a source is, by rows of others. Texts are left out, which may be compared
// by another collation than that of an index.
func (n *node) determines(s *source, column int, others []*source) bool {
	if n.op != opCompare || n.name != "=" {
		return false
	}
	for i, x := range n.args {
		y := n.args[1-i]
		if x.op != opCol || x.src != s || x.col < 0 || s.cols[x.col].base == nil || s.cols[x.col].base.ID != column || y.traits&notRepeatable != 0 {
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
