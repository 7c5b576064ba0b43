package dml

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/from"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// modification is an UPDATE, DELETE or MERGE during compilation.
type modification struct {
	target
	b    *builder
	l    *names.Level
	src  *tree.Source // the target's rows: its table, or a derived table through which the table is changed
	rid  *tree.Node   // the rowid of a row of src
	from tree.From
	// repeated is set if from may return a row of the target several times.
	repeated bool
	// direct is set if src is the table itself and the only source in from, so that a plain UPDATE
	// or DELETE of SQLite is sufficient.
	direct bool
	// instead is the INSTEAD OF trigger that runs in place of an UPDATE or DELETE, or nil.
	instead *plan.Instead
}

// modify binds the target and FROM of UPDATE or DELETE. columns are the names of the columns to
// set; in a view or CTE over several tables, they determine the table to change. reads tells
// whether the statement reads the target: see needsSelect.
func (b *builder) modify(
	ts syntax.TableSource,
	sources []syntax.TableSource,
	permission string,
	columns []string,
	reads bool,
) (*modification, error) {
	m := &modification{b: b, l: &names.Level{Agg: &names.Aggregation{Refusal: mserr.AggregateInSet()}}, repeated: len(sources) > 0}
	var err error
	if m.from, err = b.From(sources, m.l); err != nil {
		return nil, err
	}
	if m.src, err = b.targetInFrom(ts, m.l); err != nil {
		return nil, err
	}
	if m.src == nil {
		needed := len(b.Needs.Uses)
		if m.src, err = b.targetSource(ts); err != nil {
			return nil, err
		}
		if !reads && m.src.Table != "" { // a table itself: the only use that is new is its own
			b.Needs.Uses = b.Needs.Uses[:needed]
		}
		if err := m.l.Expose(m.src, false); err != nil {
			return nil, err
		}
		m.direct = m.from == nil && m.src.Table != "" && (!m.src.ReadPast || m.src.Empty)
		m.from = from.Cross(m.src, m.from)
	}
	if v := m.src.View; v != nil {
		if in := b.insteadOf(v, permission); in != nil {
			return m, m.modifyInstead(in)
		}
	}
	if err := transitionTarget(m.src); err != nil {
		return nil, err
	}
	base, rid, err := b.rowID(m.src, columns)
	if err != nil {
		return nil, err
	}
	m.rid = rid
	m.table = base.Base
	if m.src == base && base.DatabaseID != 0 {
		if in := b.insteadOf(m.table, permission); in != nil {
			return m, m.modifyInstead(in)
		}
	}
	if m.db, err = b.databaseOf(base); err != nil {
		return nil, err
	}
	if m.src.View != nil {
		return m, b.permitThrough(m.src, m.db, m.table, permission)
	}
	if m.db != nil {
		b.NeedPermission(m.db, m.table, permission)
	}
	return m, nil
}

// needsSelect reports whether an UPDATE with these assignments, or a DELETE, needs the permission
// SELECT for its target: "SELECT permissions are also required for the table being updated if the
// UPDATE statement contains a WHERE clause, or if expression in the SET clause uses a column in the
// table" (documentation of UPDATE; that of DELETE names WHERE, that of OUTPUT its columns). Every
// column in SET counts, also those of subqueries.
func needsSelect(where syntax.Cond, of *syntax.CursorRef, output, into *syntax.Output, sets []*syntax.SetClause) bool {
	reads := where != nil || of != nil || output != nil || into != nil
	for _, c := range sets {
		reads = reads || c.Op != syntax.OpNone || c.Write != nil || c.Value == nil
		if c.Value != nil {
			syntax.Inspect(c.Value, func(n syntax.Node) bool {
				switch n.(type) {
				case *syntax.ColumnRef, *syntax.MethodCall:
					reads = true
				}
				return !reads
			})
		}
	}
	return reads
}

// ordered reports whether the rows have an order (TOP ... ORDER BY in a CTE), in which OUTPUT then
// returns them.
func (m *modification) ordered() bool { return m.src.Query != nil && len(m.src.Query.Order) > 0 }

// newValue binds the value of an assignment; c is the column, or nil. column.modify(...) changes
// the target's column, whatever FROM has.
func (m *modification) newValue(e syntax.Expr, c *catalog.Column, l *names.Level) (*tree.Node, error) {
	call, ok := e.(*syntax.MethodCall)
	if !ok || !call.Mutator {
		return m.b.Expr(e, l)
	}
	left, err := m.old(c)
	if err != nil {
		return nil, err
	}
	return m.b.Modified(left, c.Name, call, l)
}

// setting is the new value of a column.
type setting struct {
	c *catalog.Column
	n *tree.Node
}

// sets binds SET: the values of columns, and assignments to variables. Errors: 207, 264, 271, 272,
// 8102.
func (m *modification) sets(
	clauses []*syntax.SetClause,
	l *names.Level,
) (values []setting, assigned []scalar.Assignment, err error) {
	if err := names.CheckElements(len(clauses)); err != nil {
		return nil, nil, err
	}
	for _, s := range clauses {
		if s.Write != nil {
			return nil, nil, mserr.NotSupported("column.WRITE")
		}
		var n *tree.Node
		var c *catalog.Column
		if s.Column != nil {
			if c, err = m.setColumn(s.Column, values); err != nil {
				return nil, nil, err
			}
		}
		if _, ok := s.Value.(*syntax.Default); ok {
			if c == nil {
				return nil, nil, mserr.SyntaxKeyword("DEFAULT")
			}
			n, err = m.b.defaultValue(m.target, "UPDATE", c)
		} else {
			n, err = m.newValue(s.Value, c, l)
		}
		if err == nil && s.Op != syntax.OpNone {
			var left *tree.Node
			if c != nil {
				left, err = m.old(c)
			} else {
				left, err = m.b.Variable(s.Var)
			}
			if err == nil {
				n, err = expr.Arith(expr.ArithOps[s.Op], left, n)
			}
		}
		if err != nil {
			return nil, nil, err
		}
		if c != nil {
			if n, err = m.b.storeValue(m.target, "UPDATE", c, n); err != nil {
				return nil, nil, err
			}
			values = append(values, setting{c, n})
		}
		if s.Var != "" {
			v, err := m.b.Variable(s.Var)
			if err != nil {
				return nil, nil, err
			}
			x, err := expr.AssignedTo(v, n)
			if err != nil {
				return nil, nil, err
			}
			assigned = append(assigned, scalar.Assignment{Variable: s.Var, Value: x})
		}
	}
	shareSettingValues(values, assigned)
	if c := m.table.RowVersionColumn(); c != nil && len(values) > 0 {
		values = append(values, setting{c, newRowVersion(m.target)})
	}
	return values, assigned, nil
}

// shareSettingValues applies expr.ShareSequenceValues to the values and assignments of a SET
// clause.
func shareSettingValues(values []setting, assigned []scalar.Assignment) {
	row := make([]*tree.Node, 0, len(values)+len(assigned))
	for _, v := range values {
		row = append(row, v.n)
	}
	for _, a := range assigned {
		row = append(row, a.Value)
	}
	row = expr.ShareSequenceValues(row)
	for i := range values {
		values[i].n = row[i]
	}
	for i := range assigned {
		assigned[i].Value = row[len(values)+i]
	}
}

// setColumn resolves the column of a SET clause.
func (m *modification) setColumn(ref *syntax.ColumnRef, before []setting) (*catalog.Column, error) {
	if len(ref.Parts) > 1 && !names.Matches(m.src, ref.Parts[:len(ref.Parts)-1]) &&
		!m.table.Names().Equal(ref.Parts[len(ref.Parts)-2].Name, m.table.Name) {
		return nil, mserr.Unbound(names.Dotted(ref.Parts))
	}
	c := m.baseOf(ref.Column())
	switch {
	case c == nil && m.src.ColumnByName(ref.Column()) < 0:
		return nil, mserr.InvalidColumn(ref.Column())
	case c == nil:
		return nil, mserr.ViewDerivedField(m.src.Name)
	case c.Formula != nil:
		return nil, mserr.NotModifiable(c.Name)
	case c.Type.ID == types.RowVersion:
		return nil, mserr.UpdateRowVersion()
	case c.Auto != nil:
		return nil, mserr.UpdateIdentity(c.Name)
	}
	for _, s := range before {
		if s.c == c {
			return nil, mserr.DuplicateSetColumn(c.Name)
		}
	}
	return c, nil
}

// setNames returns the names of the columns that SET clauses assign.
func setNames(clauses []*syntax.SetClause) []string {
	var out []string
	for _, s := range clauses {
		if s.Column != nil {
			out = append(out, s.Column.Column())
		}
	}
	return out
}

// where binds WHERE.
func (m *modification) where(c syntax.Cond) (*tree.Node, error) {
	if c == nil {
		return nil, nil
	}
	m.l.Agg.Refusal = mserr.AggregateInWhere()
	return m.b.Cond(c, m.l)
}

// rows returns the query for the rows to change, without a select list.
func (m *modification) rows(where *tree.Node, top *syntax.Top) (*tree.Query, error) {
	q := &tree.Query{Core: &tree.Core{From: m.from, Where: where}}
	if top == nil {
		return q, nil
	}
	if top.WithTies {
		return nil, mserr.Syntax("WITH TIES")
	}
	if top.Percent {
		return nil, mserr.NotSupported("TOP ... PERCENT in a statement that changes data")
	}
	var err error
	q.Limit, err = m.b.TopCount(top, &names.Level{})
	return q, err
}

// Update compiles an UPDATE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func Update(binder *bind.Binder, s *syntax.UpdateStmt, checked bool) (d *plan.DML, err error) {
	b := &builder{Binder: binder}
	if err := b.With(s.With); err != nil {
		return d, err
	}
	m, err := b.modify(s.Target, s.From, "UPDATE", setNames(s.Sets), needsSelect(s.Where, s.CurrentOf, s.Output, s.OutputInto, s.Sets))
	if err != nil {
		return d, err
	}
	if m.instead != nil && s.Output != nil {
		return d, mserr.OutputTargetTriggers(m.table.Name)
	}
	d = newDML("UPDATE", m.target)
	values, assigned, err := m.sets(s.Sets, m.l)
	if err != nil {
		return d, err
	}
	noteUpdates(d, values)
	where, err := m.whereOf(d, s.Where, s.CurrentOf, checked)
	if err != nil {
		return d, err
	}
	if err := m.noteRowID(d, values, where); err != nil {
		return d, err
	}
	d.NeedsPastRows = rewrite.JoinNeedsPastRows(m.src) || rewrite.FromNeedsPastRows(m.from, where)
	var returned *tree.Query
	if s.Output != nil && s.OutputInto == nil && !m.ordered() {
		isSet := func(c *catalog.Column) bool {
			return slices.ContainsFunc(values, func(v setting) bool { return v.c == c })
		}
		returned = b.returning(m.target, s.Output, map[string]func(*catalog.Column) bool{
			"inserted": always, "deleted": func(c *catalog.Column) bool { return !isSet(c) }})
	}
	spooled := s.Output != nil && returned == nil || s.OutputInto != nil || len(assigned) > 0 ||
		len(m.rekeyed(values)) > 0 || m.instead != nil || hasCheckOption(m.src)
	if s.OutputInto != nil && s.Output == nil && s.Top == nil && len(assigned) == 0 &&
		len(m.rekeyed(values)) == 0 && m.instead == nil && !hasCheckOption(m.src) {
		spooled = !m.updateInto(d, s.OutputInto, values, where)
	}
	switch {
	case spooled:
		err = m.updateSpooled(d, s, values, assigned, where)
	case m.direct && s.Top == nil && !readsTarget(values):
		err = m.updateDirect(d, values, where, returned)
	default:
		err = m.updateFrom(d, s, values, where, returned)
	}
	d.Needs = b.Needs
	return d, err
}

// updateDirect compiles a plain UPDATE of SQLite.
func (m *modification) updateDirect(d *plan.DML, values []setting, where *tree.Node, returned *tree.Query) error {
	r := &lower.Renderer{}
	m.renderSet(r, values)
	if where != nil {
		r.WriteString(" WHERE ")
		r.Node(where)
	}
	return emitChange(d, r, returned)
}

// renderSet writes UPDATE and SET with the values as expressions.
func (m *modification) renderSet(r *lower.Renderer, values []setting) {
	r.WriteString("UPDATE " + m.sql() + " AS " + m.src.Alias + " SET ")
	for i, v := range values {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(v.c.SQLName + " = ")
		r.Lazily(v.n)
	}
}

// updateJoined compiles an UPDATE ... FROM of SQLite, which finds each row of the target once.
// SQLite's FROM does not name the target itself. updateJoined reports whether it could: it requires
// inner joins with the table itself.
func (m *modification) updateJoined(d *plan.DML, values []setting, where *tree.Node, returned *tree.Query) (bool, error) {
	if m.src.Table == "" || m.src.ReadPast && !m.src.Empty {
		return false, nil
	}
	c := rewrite.WithDrivingTables(&tree.Core{From: m.from, Where: where})
	rest, conds, found := m.splitTarget(c.From)
	if !found || isDependent(rest) || rest == nil && readsTarget(values) {
		return false, nil
	}
	r := &lower.Renderer{}
	m.renderSet(r, values)
	if rest != nil {
		r.WriteString(" FROM ")
		r.From(rest, false)
	}
	if cond := tree.And(append(conds, c.Where)...); cond != nil {
		r.WriteString(" WHERE ")
		r.Node(cond)
	}
	return true, emitChange(d, r, returned)
}

// readsTarget reports whether a value comes from a query. SQLite's plain UPDATE would let the query
// see rows that it has changed already; UPDATE with FROM computes all values first.
func readsTarget(values []setting) bool {
	return slices.ContainsFunc(values, func(v setting) bool { return v.n.Traits&(tree.HasSubquery|tree.HasLocal) != 0 })
}

// splitTarget removes the target from inner joins. It returns the remaining joins and the
// conditions that must hold.
func (m *modification) splitTarget(f tree.From) (rest tree.From, conds []*tree.Node, found bool) {
	j, ok := f.(*tree.Join)
	switch {
	case !ok && f == tree.From(m.src):
		return nil, nil, true
	case !ok || j.Kind != "JOIN":
		return f, nil, false
	}
	left, conds, inLeft := m.splitTarget(j.Left)
	right, more, inRight := m.splitTarget(j.Right)
	switch {
	case !inLeft && !inRight:
		return f, nil, false
	case left == nil:
		rest = right
	case right == nil:
		rest = left
	default:
		rest = &tree.Join{Kind: j.Kind, Left: left, Right: right}
	}
	return rest, append(append(conds, more...), j.On), true
}

// isDependent reports whether the rows of a source depend on other sources.
func isDependent(f tree.From) bool {
	switch f := f.(type) {
	case *tree.Join:
		return isDependent(f.Left) || isDependent(f.Right)
	case *tree.Source:
		return f.Rowset != nil && f.Rowset.Traits&tree.RowBound != 0
	}
	return false
}

// updateFrom compiles an UPDATE from a subquery of rowids and new values.
func (m *modification) updateFrom(d *plan.DML, s *syntax.UpdateStmt, values []setting, where *tree.Node, returned *tree.Query) error {
	if s.Top == nil {
		if done, err := m.updateJoined(d, values, where, returned); done || err != nil {
			return err
		}
	}
	q, err := m.rows(where, s.Top)
	if err != nil {
		return err
	}
	q.Core.Items = []*tree.Node{m.rid}
	for _, v := range values {
		q.Core.Items = append(q.Core.Items, v.n)
	}
	r := &lower.Renderer{}
	r.WriteString("UPDATE " + m.sql() + " AS u SET ")
	for i, v := range values {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(v.c.SQLName + " = q." + tree.ColumnName(i+1))
	}
	r.WriteString(" FROM (")
	r.Query(q)
	r.WriteString(") AS q WHERE u.rowid = q.c1")
	return emitChange(d, r, returned)
}

// updateInto is outputInto for an UPDATE.
func (m *modification) updateInto(d *plan.DML, clause *syntax.Output, values []setting, where *tree.Node) bool {
	inserted := m.b.pseudo("inserted", m.target, func(c *catalog.Column) (*tree.Node, error) {
		for _, v := range values {
			if v.c == c {
				return v.n, nil
			}
		}
		return m.old(c)
	})
	return m.outputInto(d, clause, values, where, inserted, m.b.pseudo("deleted", m.target, m.old))
}

// updateSpooled compiles an UPDATE with OUTPUT or assignments through a spool.
func (m *modification) updateSpooled(
	d *plan.DML,
	s *syntax.UpdateStmt,
	values []setting,
	assigned []scalar.Assignment,
	where *tree.Node,
) error {
	sp := m.b.newSpool()
	rid := sp.capture(m.rid)
	newValues := map[*catalog.Column]*tree.Node{}
	for _, v := range values {
		newValues[v.c] = sp.capture(v.n)
	}
	inserted := m.b.pseudo("inserted", m.target, func(c *catalog.Column) (*tree.Node, error) {
		if n := newValues[c]; n != nil {
			return n, nil
		}
		return m.captured(sp, c)
	})
	deleted := m.b.pseudo("deleted", m.target, func(c *catalog.Column) (*tree.Node, error) { return m.captured(sp, c) })
	out, err := m.b.output(s.OutputInto, s.Output, m.outputLevel(inserted, deleted), sp)
	if err != nil {
		return err
	}
	assign, yield := sp.assign(values, assigned)
	var check *tree.Node
	if m.instead == nil && hasCheckOption(m.src) {
		if check, err = viewCheck(m.src, inserted); err != nil {
			return err
		}
	}
	var rows transitionRows
	if m.instead != nil {
		if rows, err = m.transitionRows(sp, newValues); err != nil {
			return err
		}
	}
	if err := m.fillSpool(d, sp, where, s.Top); err != nil {
		return err
	}
	if err := sp.emitCheck(d, check); err != nil {
		return err
	}
	if m.instead != nil {
		err = sp.emitInstead(d, m.instead, rows, nil)
	} else {
		err = m.applyUpdate(d, sp, rid, values, newValues, nil)
	}
	if err != nil {
		return err
	}
	if assign != nil {
		d.Assign = assign
		r := &lower.Renderer{}
		r.Query(&tree.Query{Core: &tree.Core{From: sp.src, Items: yield}, Order: []tree.OrderTerm{{Node: sp.number()}}})
		if d.AssignFrom, err = r.Statement(); err != nil {
			return err
		}
	}
	return out.emit(m.b, d)
}

// fillSpool finishes the spool and adds the statement that fills it with the rows to change.
func (m *modification) fillSpool(d *plan.DML, sp *spool, where *tree.Node, top *syntax.Top) error {
	sp.finish(m.b, d)
	q, err := m.rows(where, top)
	if err != nil {
		return err
	}
	st, err := sp.fill(q, m.repeated)
	if err != nil {
		return err
	}
	d.Prepare = append(d.Prepare, st)
	return nil
}

// captured returns the spool's column for the old value of a column.
func (m *modification) captured(sp *spool, c *catalog.Column) (*tree.Node, error) {
	n, err := m.old(c)
	if err != nil {
		return nil, err
	}
	return sp.capture(n), nil
}

// outputLevel returns the level of OUTPUT: inserted, deleted, and the other sources of FROM.
func (m *modification) outputLevel(pseudo ...*tree.Source) *names.Level {
	l := &names.Level{Sources: pseudo}
	for _, src := range m.l.Sources {
		if src != m.src {
			l.Sources = append(l.Sources, src)
		}
	}
	return l
}

// assign prepares the assignments of UPDATE ... SET @v = x: the expressions to evaluate for each
// row, and the columns that the row must have.
func (s *spool) assign(values []setting, assigned []scalar.Assignment) (assign []plan.Assign, yield []*tree.Node) {
	names := map[string]bool{}
	for _, a := range assigned {
		names[catalog.Fold(a.Variable)] = true
	}
	for _, a := range assigned {
		n := a.Value.Replace(func(x *tree.Node) *tree.Node {
			if x.ReadsAny(names) && x.Query == nil || x.Op == tree.OpConst || x.Op == tree.OpVar {
				if x.Op == tree.OpVar || x.Op == tree.OpConst {
					return x
				}
				return nil
			}
			c := s.capture(x)
			if c.Op != tree.OpCol {
				return c
			}
			for i, y := range yield {
				if tree.SameNode(y, c) {
					return &tree.Node{Op: tree.OpField, Type: x.Type, Column: i}
				}
			}
			yield = append(yield, c)
			return &tree.Node{Op: tree.OpField, Type: x.Type, Column: len(yield) - 1}
		})
		assign = append(assign, plan.Assign{Variable: a.Variable, Type: a.Value.Type, Node: n})
	}
	if assign != nil && len(yield) == 0 {
		yield = []*tree.Node{tree.NullOf(types.IntType)}
	}
	return assign, yield
}
