package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Delete compiles a DELETE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func (c *Compiler) Delete(s *syntax.DeleteStmt, checked bool) (d *DML, err error) {
	err = c.bind(s.Hints, func(b *binder) error {
		d, err = compileDelete(b, s, checked)
		return err
	})
	if err == nil {
		err = c.addPastPlan(d, func(c *Compiler) (*DML, error) { return c.Delete(s, checked) })
	}
	return d, err
}

// compileDelete compiles a DELETE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func compileDelete(in *binder, s *syntax.DeleteStmt, checked bool) (d *DML, err error) {
	b := &builder{binder: in}
	if err := b.with(s.With); err != nil {
		return d, err
	}
	m, err := b.modify(s.Target, s.From, "DELETE", nil)
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
	d.NeedsPastRows = joinNeedsPastRows(m.src) || fromNeedsPastRows(m.from, where)
	var returned *query
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
		r := &renderer{}
		r.WriteString("DELETE FROM " + m.sql() + " AS " + m.src.alias)
		if where != nil {
			r.WriteString(" WHERE ")
			r.node(where)
		}
		err = d.emitChange(r, returned)
	default:
		var q *query
		if q, err = m.rows(where, s.Top); err != nil {
			return d, err
		}
		q.core.items = []*node{m.rid}
		r := &renderer{}
		r.WriteString("DELETE FROM " + m.sql() + " WHERE rowid IN (")
		r.query(q)
		r.WriteByte(')')
		err = d.emitChange(r, returned)
	}
	d.Needs = b.needs
	return d, err
}

// deleteSpooled compiles a DELETE with OUTPUT through a spool.
func (m *modification) deleteSpooled(d *DML, s *syntax.DeleteStmt, where *node) error {
	sp := m.b.newSpool()
	rid := sp.capture(m.rid)
	deleted := m.b.pseudo("deleted", m.target, func(c *catalog.Column) (*node, error) { return m.captured(sp, c) })
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
func (m *modification) applyDelete(d *DML, sp *spool, rid *node, only *node) error {
	r := &renderer{}
	r.WriteString("DELETE FROM " + m.sql() + " WHERE rowid IN (")
	r.query(&query{core: &core{from: sp.src, items: []*node{rid}, where: only}})
	r.WriteByte(')')
	st, err := r.statement()
	d.Apply = append(d.Apply, st)
	return err
}
