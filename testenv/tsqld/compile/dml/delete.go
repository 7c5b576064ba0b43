package dml

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Delete compiles a DELETE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func Delete(binder *bind.Binder, s *syntax.DeleteStmt, checked bool) (d *plan.DML, err error) {
	b := &builder{Binder: binder}
	if err := b.With(s.With); err != nil {
		return d, err
	}
	m, err := b.modify(s.Target, s.From, "DELETE", nil, needsSelect(s.Where, s.CurrentOf, s.Output, s.OutputInto, nil))
	if err != nil {
		return d, err
	}
	if m.instead != nil && s.Output != nil {
		return d, mserr.OutputTargetTriggers(m.table.Name)
	}
	d = newDML("DELETE", m.target)
	where, err := m.whereOf(d, s.Where, s.CurrentOf, checked)
	if err != nil {
		return d, err
	}
	d.NeedsPastRows = rewrite.JoinNeedsPastRows(m.src) || rewrite.FromNeedsPastRows(m.from, where)
	var returned *tree.Query
	if s.Output != nil && s.OutputInto == nil && !m.ordered() {
		returned = b.returning(m.target, s.Output, map[string]func(*catalog.Column) bool{"deleted": always})
	}
	spooled := s.Output != nil && returned == nil || s.OutputInto != nil || m.instead != nil
	if s.OutputInto != nil && s.Output == nil && s.Top == nil && m.instead == nil {
		spooled = !m.outputInto(d, s.OutputInto, nil, where, b.pseudo("deleted", m.target, m.old))
	}
	switch {
	case spooled:
		err = m.deleteSpooled(d, s, where)
	case m.direct && s.Top == nil:
		r := &lower.Renderer{}
		r.WriteString("DELETE FROM " + m.sql() + " AS " + m.src.Alias)
		if where != nil {
			r.WriteString(" WHERE ")
			r.Node(where)
		}
		err = emitChange(d, r, returned)
	default:
		var q *tree.Query
		if q, err = m.rows(where, s.Top); err != nil {
			return d, err
		}
		q.Core.Items = []*tree.Node{m.rid}
		r := &lower.Renderer{}
		r.WriteString("DELETE FROM " + m.sql() + " WHERE rowid IN (")
		r.Query(q)
		r.WriteByte(')')
		err = emitChange(d, r, returned)
	}
	d.Needs = b.Needs
	return d, err
}

// deleteSpooled compiles a DELETE with OUTPUT through a spool.
func (m *modification) deleteSpooled(d *plan.DML, s *syntax.DeleteStmt, where *tree.Node) error {
	sp := m.b.newSpool()
	rid := sp.capture(m.rid)
	deleted := m.b.pseudo("deleted", m.target, func(c *catalog.Column) (*tree.Node, error) { return m.captured(sp, c) })
	out, err := m.b.output(s.OutputInto, s.Output, m.outputLevel(deleted), sp)
	if err != nil {
		return err
	}
	var rows transitionRows
	if m.instead != nil {
		if rows, err = m.transitionRows(sp, nil); err != nil {
			return err
		}
	}
	if err := m.fillSpool(d, sp, where, s.Top); err != nil {
		return err
	}
	if m.instead != nil {
		err = sp.emitInstead(d, m.instead, rows, nil)
	} else {
		err = m.applyDelete(d, sp, rid, nil)
	}
	if err != nil {
		return err
	}
	return out.emit(m.b, d)
}

// applyDelete adds the statement that deletes the rows listed in the spool. only, if not nil,
// restricts it to some of these rows.
func (m *modification) applyDelete(d *plan.DML, sp *spool, rid *tree.Node, only *tree.Node) error {
	r := &lower.Renderer{}
	r.WriteString("DELETE FROM " + m.sql() + " WHERE rowid IN (")
	r.Query(&tree.Query{Core: &tree.Core{From: sp.src, Items: []*tree.Node{rid}, Where: only}})
	r.WriteByte(')')
	st, err := r.Statement()
	d.Apply = append(d.Apply, st)
	return err
}
