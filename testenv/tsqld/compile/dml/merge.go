package dml

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// branch is a bound WHEN of MERGE.
type branch struct {
	action syntax.MergeAction
	cond   *tree.Node
	sets   map[*catalog.Column]*tree.Node // MergeUpdate
	row    map[*catalog.Column]*tree.Node // MergeInsert
}

// mergeBuilder is a MERGE during compilation.
type mergeBuilder struct {
	*modification
	branches []*branch
	ins      *insertion
	sp       *spool
	triggers map[string]*plan.Instead // INSTEAD OF triggers by event; nil without
	rid      *tree.Node               // column of the spool: the rowid of the target's row
	action   *tree.Node               // column of the spool: the number of the row's branch
}

// Merge compiles a MERGE. The joined rows of source and target are stored in the spool with
// the number of the branch that applies to each. Up to three statements then apply the branches.
func Merge(binder *bind.Binder, s *syntax.MergeStmt) (d *plan.DML, err error) {
	b := &builder{Binder: binder}
	if err := b.With(s.With); err != nil {
		return d, err
	}
	m, err := b.mergeSources(s)
	if err != nil {
		return d, err
	}
	d = newDML("MERGE", m.target)
	setActions(d, m.target, m.actions()...)
	d.NeedsPastRows = rewrite.JoinNeedsPastRows(m.from)
	err = m.compile(d, s)
	d.Needs = b.Needs
	return d, err
}

// mergeSources binds the target and the source. The source gets a column that is NULL where the
// join has no source row.
func (b *builder) mergeSources(s *syntax.MergeStmt) (*mergeBuilder, error) {
	m := &modification{b: b, l: &names.Level{Agg: &names.Aggregation{Refusal: mserr.AggregateInOn()}}}
	var err error
	if m.src, err = b.targetSource(s.Target); err != nil {
		return nil, err
	}
	if err := m.l.Expose(m.src, true); err != nil {
		return nil, err
	}
	instead, err := b.mergeInstead(m.src, s.Whens)
	if err != nil {
		return nil, err
	}
	if err := transitionTarget(m.src); err != nil {
		return nil, err
	}
	if err := m.mergeTarget(instead); err != nil {
		return nil, err
	}
	in := &names.Level{}
	f, err := b.TableSource(s.Using, in, nil)
	if err != nil {
		return nil, err
	}
	mark, err := b.addMatchColumn(f, in, m.l)
	if err != nil {
		return nil, err
	}
	on, err := b.Cond(s.On, m.l)
	if err != nil {
		return nil, err
	}
	j := &tree.Join{Kind: "JOIN", Left: m.l.Sources[1], Right: m.src, On: on}
	byTarget, bySource := false, false
	for _, w := range s.Whens {
		byTarget = byTarget || w.Match == syntax.NotMatchedByTarget
		bySource = bySource || w.Match == syntax.NotMatchedBySource
	}
	switch {
	case byTarget && bySource:
		j.Kind = "FULL JOIN"
	case byTarget:
		j.Kind = "LEFT JOIN"
	case bySource:
		j.Kind = "RIGHT JOIN"
	}
	if src := m.l.Sources[1]; byTarget || bySource {
		if byTarget {
			m.src.AllowNull()
		}
		if bySource {
			src.AllowNull()
		}
	}
	m.from = j
	if err := m.useMerge(s.Whens); err != nil {
		return nil, err
	}
	mg := &mergeBuilder{modification: m, triggers: instead}
	return mg, mg.bindBranches(s.Whens, mark)
}

// mergeTarget sets the table that a MERGE changes, and the column that tells whether a row of the
// join has a row of the target. instead are the INSTEAD OF triggers, if any.
func (m *modification) mergeTarget(instead map[string]*plan.Instead) error {
	b := m.b
	var shape *catalog.Table
	for _, in := range instead { // all have the same shape
		shape = in.Shape
	}
	b.instead = instead["INSERT"]
	if shape != nil && m.src.View != nil {
		return m.mergeView(shape)
	}
	if hasCheckOption(m.src) {
		return mserr.NotSupported("MERGE into a view under WITH CHECK OPTION")
	}
	base, rid, err := b.rowID(m.src, nil)
	if err != nil {
		return err
	}
	m.rid, m.table = rid, base.Base
	if shape != nil {
		m.table = shape
	}
	m.db, err = b.databaseOf(base)
	return err
}

// useMerge records the permissions on the target that the branches of MERGE need.
func (m *modification) useMerge(whens []*syntax.MergeWhen) error {
	for _, w := range whens {
		if m.src.View != nil {
			if err := m.b.permitThrough(m.src, m.db, m.table, mergeActions[w.Action]); err != nil {
				return err
			}
		} else if m.db != nil {
			m.b.NeedPermission(m.db, m.table, mergeActions[w.Action])
		}
	}
	return nil
}

// actions returns the actions of the branches, each once.
func (m *mergeBuilder) actions() []string {
	var out []string
	for _, br := range m.branches {
		if name := mergeActions[br.action]; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// addMatchColumn wraps the source of MERGE in a derived table with an additional column, which is
// NULL where an outer join has no source row. It adds the derived table to l and returns the
// column.
func (b *builder) addMatchColumn(f tree.From, in, l *names.Level) (*tree.Node, error) {
	if len(in.Sources) != 1 {
		return nil, mserr.NotSupported("MERGE whose source is a join; use a derived table")
	}
	of := in.Sources[0]
	q := &tree.Query{Core: &tree.Core{From: f}}
	for i := range of.Columns {
		if of.Columns[i].Hidden {
			continue
		}
		n, err := of.Resolve(i)
		if err != nil {
			return nil, err
		}
		q.Add(n, tree.ResultColumn{Name: of.Columns[i].Name, Type: n.Type, Null: n.Null, Label: n.Label})
	}
	q.Add(tree.Constant(int64(1), types.BitType), tree.ResultColumn{Type: types.BitType, Null: true})
	src := q.Source(b.Alias("q"), of.Name)
	src.Schema, src.DB, src.Names = of.Schema, of.DB, of.Names
	src.Columns[len(src.Columns)-1].Hidden = true
	if err := l.Expose(src, true); err != nil {
		return nil, err
	}
	return tree.ColumnNode(src, len(src.Columns)-1), nil
}

// branchLevel returns the level of a WHEN clause. If only the source or only the target has a row,
// the columns of the other are not visible, so that a column name of both is not ambiguous.
func (m *mergeBuilder) branchLevel(match syntax.MergeMatch) *names.Level {
	l := *m.l
	switch match {
	case syntax.NotMatchedByTarget:
		l.Sources = m.l.Sources[1:2]
	case syntax.NotMatchedBySource:
		l.Sources = m.l.Sources[:1]
	}
	return &l
}

// Words of messages about MERGE.
var (
	mergeMatches = map[syntax.MergeMatch]string{
		syntax.Matched:            "WHEN MATCHED",
		syntax.NotMatchedByTarget: "WHEN NOT MATCHED",
		syntax.NotMatchedBySource: "WHEN NOT MATCHED BY SOURCE",
	}
	mergeActions = map[syntax.MergeAction]string{
		syntax.MergeUpdate: "UPDATE", syntax.MergeDelete: "DELETE", syntax.MergeInsert: "INSERT",
	}
)

// bindBranches binds the WHEN clauses. Error 10714 for an action that is repeated, 5324 for a
// clause with a condition after one of the same kind without.
func (m *mergeBuilder) bindBranches(whens []*syntax.MergeWhen, mark *tree.Node) error {
	type kind struct {
		match  syntax.MergeMatch
		action syntax.MergeAction
	}
	seen := map[kind]bool{}
	last := map[syntax.MergeMatch]bool{} // a clause without a condition
	for _, w := range whens {
		if last[w.Match] && w.And != nil {
			return mserr.ConditionAfterMergeClause(mergeMatches[w.Match])
		}
		last[w.Match] = w.And == nil
		k := kind{w.Match, w.Action}
		if seen[k] {
			return mserr.RepeatedMergeAction(mergeMatches[w.Match], mergeActions[w.Action])
		}
		seen[k] = true
		br := &branch{action: w.Action}
		noTarget, noSource := tree.IsNull(m.modification.rid), tree.IsNull(mark)
		var state *tree.Node
		switch w.Match {
		case syntax.Matched:
			state = tree.And(tree.Not(noTarget), tree.Not(noSource))
		case syntax.NotMatchedByTarget:
			state = noTarget
		default:
			state = noSource
		}
		br.cond = state
		l := m.branchLevel(w.Match)
		if w.And != nil {
			m.l.Agg.Refusal = mserr.AggregateInWhere()
			n, err := m.b.Cond(w.And, l)
			if err != nil {
				return err
			}
			br.cond = tree.Build(tree.OpAnd, types.BitType, state, n)
		}
		var err error
		switch w.Action {
		case syntax.MergeUpdate:
			err = m.bindUpdate(br, w, l)
		case syntax.MergeInsert:
			err = m.bindInsert(br, w, l)
		}
		if err != nil {
			return err
		}
		m.branches = append(m.branches, br)
	}
	return nil
}

// bindUpdate binds the UPDATE SET of a branch.
func (m *mergeBuilder) bindUpdate(br *branch, w *syntax.MergeWhen, l *names.Level) error {
	values, assigned, err := m.sets(w.Sets, l)
	if err != nil {
		return err
	}
	if len(assigned) > 0 {
		return mserr.NotSupported("an assignment to a variable in MERGE")
	}
	br.sets = map[*catalog.Column]*tree.Node{}
	for _, v := range values {
		br.sets[v.c] = v.n
	}
	return nil
}

// bindInsert binds the INSERT of a branch. Errors: 109, 110, 213 and those of INSERT.
func (m *mergeBuilder) bindInsert(br *branch, w *syntax.MergeWhen, l *names.Level) error {
	names := w.Columns
	if m.src.View != nil {
		var err error
		if names, err = baseColumns(m.src, names); err != nil {
			return err
		}
	}
	if w.Values == nil {
		names = []syntax.Ident{}
	}
	ins, err := m.b.insertColumns(m.target, names, len(w.Values))
	if err != nil {
		return err
	}
	switch {
	case len(w.Values) == len(ins.listed):
	case names == nil:
		return mserr.ColumnCount()
	case len(w.Values) > len(ins.listed):
		return mserr.FewerInsertColumns()
	default:
		return mserr.MoreInsertColumns()
	}
	given := make([]*tree.Node, len(w.Values))
	for i, e := range w.Values {
		if _, ok := e.(*syntax.Default); ok {
			continue
		}
		if given[i], err = m.b.Expr(e, l); err != nil {
			return err
		}
	}
	row, err := ins.row(m.b, "MERGE", given, nil)
	if err != nil {
		return err
	}
	br.row = map[*catalog.Column]*tree.Node{}
	for i, c := range ins.columns {
		if row[i] != nil {
			br.row[c] = row[i]
		}
	}
	m.ins = ins
	return nil
}

// branchValue returns the value of a column as a CASE over the branches that set it; otherwise is
// the value for the other branches.
func (m *mergeBuilder) branchValue(t types.Type, value func(*branch) *tree.Node, otherwise *tree.Node) *tree.Node {
	var conds, results []*tree.Node
	for i, br := range m.branches {
		v := value(br)
		if v == nil {
			continue
		}
		conds = append(conds, m.branchApplies(i))
		results = append(results, v)
	}
	if len(conds) == 0 {
		return otherwise
	}
	return expr.CaseOf(t, conds, append(results, otherwise))
}

// number returns the CASE that computes the branch number of a row. The branches that insert have
// the lowest numbers, so their rows come first in the spool.
func (m *mergeBuilder) number() *tree.Node {
	var conds, results []*tree.Node
	for i, br := range m.branches {
		conds = append(conds, br.cond)
		results = append(results, tree.Constant(int64(m.rank(i)), types.IntType))
	}
	return expr.CaseOf(types.IntType, conds, append(results, tree.NullOf(types.IntType)))
}

// rank returns the number of the i-th branch in the spool.
func (m *mergeBuilder) rank(i int) int {
	if m.branches[i].action == syntax.MergeInsert {
		return i
	}
	return i + len(m.branches)
}

// branchApplies returns the condition, over the spool, that the i-th branch applies to a row.
func (m *mergeBuilder) branchApplies(i int) *tree.Node {
	n, _ := expr.Compare("=", m.action, tree.Constant(int64(m.rank(i)), types.IntType))
	return n
}

// actionIs returns the condition, over the spool, that the branch of a row has an action, or nil if
// no branch has it.
func (m *mergeBuilder) actionIs(action syntax.MergeAction) *tree.Node {
	list := []*tree.Node{m.action}
	for i, br := range m.branches {
		if br.action == action {
			list = append(list, tree.Constant(int64(m.rank(i)), types.IntType))
		}
	}
	if len(list) == 1 {
		return nil
	}
	return tree.Build(tree.OpIn, types.BitType, list...)
}

// compile writes the plan. The spool captures the values of all branches; the statements that read
// the spool select those of the branch that applies.
func (m *mergeBuilder) compile(d *plan.DML, s *syntax.MergeStmt) error {
	m.sp = m.b.newSpool()
	m.rid = m.sp.capture(m.modification.rid)
	number := m.number()
	m.action = m.sp.capture(number)
	var values []setting
	newValues := map[*catalog.Column]*tree.Node{}
	inserted := map[*catalog.Column]*tree.Node{}
	for _, c := range m.table.Columns {
		if !isStored(c) {
			continue
		}
		isSet := false
		for _, br := range m.branches {
			isSet = isSet || br.sets[c] != nil
		}
		if isSet {
			old, err := m.captured(m.sp, c)
			if err != nil {
				return err
			}
			newValues[c] = m.branchValue(c.Type, func(br *branch) *tree.Node { return m.captureGuarded(br, br.sets[c]) }, old)
			values = append(values, setting{c, newValues[c]})
		}
		if m.ins == nil {
			continue
		}
		if c == m.ins.identity && m.ins.generates() {
			identity, err := m.ins.spoolIdentity(m.sp)
			if err != nil {
				return err
			}
			inserted[c] = identity
			continue
		}
		inserted[c] = m.branchValue(
			c.Type,
			func(br *branch) *tree.Node { return m.captureGuarded(br, br.row[c]) },
			tree.NullOf(c.Type),
		)
	}
	noteUpdates(d, values)
	out, err := m.output(s, newValues, inserted)
	if err != nil {
		return err
	}
	var rows transitionRows
	if m.triggers != nil {
		if s.Output != nil {
			return mserr.OutputTargetTriggers(m.table.Name)
		}
		if rows, err = m.transitionRows(m.sp, newValues); err != nil {
			return err
		}
	}
	m.sp.finish(m.b, d)
	q, err := m.rows(tree.Not(tree.IsNull(number)), s.Top)
	if err != nil {
		return err
	}
	q.Order = []tree.OrderTerm{{Node: number}}
	st, err := m.sp.fill(q, m.deletes()) // a row may be deleted twice, and counts once (SQL Server 2022, recorded)
	if err != nil {
		return err
	}
	d.Prepare = append(d.Prepare, st)
	if m.triggers != nil {
		return m.fireInstead(d, rows, inserted, out)
	}
	return m.apply(d, values, newValues, inserted, out)
}

// captureGuarded captures a value of a branch, computed only where the branch applies. It returns
// nil for nil.
func (m *mergeBuilder) captureGuarded(br *branch, n *tree.Node) *tree.Node {
	if n == nil {
		return nil
	}
	if n.Traits == 0 {
		return n
	}
	return m.sp.capture(expr.CaseOf(n.Type, []*tree.Node{br.cond}, []*tree.Node{n, tree.NullOf(n.Type)}))
}

// output binds the OUTPUT clauses, including $action.
func (m *mergeBuilder) output(s *syntax.MergeStmt, newValues, inserted map[*catalog.Column]*tree.Node) (*outputs, error) {
	isInsert, isDelete := m.actionIs(syntax.MergeInsert), m.actionIs(syntax.MergeDelete)
	pick := func(t types.Type, cond, yes, no *tree.Node) *tree.Node {
		if cond == nil {
			return no
		}
		return expr.CaseOf(t, []*tree.Node{cond}, []*tree.Node{yes, no})
	}
	after := m.b.pseudo("inserted", m.target, func(c *catalog.Column) (*tree.Node, error) {
		n := newValues[c]
		if n == nil {
			var err error
			if n, err = m.captured(m.sp, c); err != nil {
				return nil, err
			}
		}
		n = pick(c.Type, isDelete, tree.NullOf(c.Type), n)
		if x := inserted[c]; x != nil {
			n = pick(c.Type, isInsert, x, n)
		}
		return n, nil
	})
	before := m.b.pseudo("deleted", m.target, func(c *catalog.Column) (*tree.Node, error) {
		n, err := m.captured(m.sp, c)
		if err != nil {
			return nil, err
		}
		return pick(c.Type, isInsert, tree.NullOf(c.Type), n), nil
	})
	for _, src := range []*tree.Source{after, before} {
		src.AllowNull()
	}
	t := types.NVarCharOf(10)
	word := func(s string) *tree.Node { return tree.Constant(s, t) }
	action := &tree.Source{
		Name: "$action",
		Columns: []tree.SourceColumn{{Name: "$ACTION", Type: t, Hidden: true, Expand: func() (*tree.Node, error) {
			return pick(t, isInsert, word("INSERT"), pick(t, isDelete, word("DELETE"), word("UPDATE"))), nil
		}}},
	}
	return m.b.output(s.OutputInto, s.Output, m.outputLevel(after, before, action), m.sp)
}

// fireInstead makes the plan fire the INSTEAD OF triggers of the actions.
func (m *mergeBuilder) fireInstead(
	d *plan.DML, rows transitionRows, inserted map[*catalog.Column]*tree.Node, out *outputs,
) error {
	for _, action := range []syntax.MergeAction{syntax.MergeInsert, syntax.MergeUpdate, syntax.MergeDelete} {
		in := m.triggers[mergeActions[action]]
		if in == nil {
			continue
		}
		t := rows
		switch action {
		case syntax.MergeInsert:
			t = transitionRows{}
			for _, c := range m.ins.columns {
				t.inserted = append(t.inserted, inserted[c])
			}
		case syntax.MergeDelete:
			t.inserted = nil
		}
		if err := m.sp.emitInstead(d, in, t, m.actionIs(action)); err != nil {
			return err
		}
	}
	return out.emit(m.b, d)
}

// deletes reports whether DELETE is the only action.
func (m *mergeBuilder) deletes() bool {
	return !slices.ContainsFunc(m.branches, func(br *branch) bool { return br.action != syntax.MergeDelete })
}

// apply adds the statements that change the target. Error 8672 if one of its rows would be changed
// twice, unless DELETE is the only action.
func (m *mergeBuilder) apply(
	d *plan.DML, values []setting, newValues, inserted map[*catalog.Column]*tree.Node, out *outputs,
) error {
	isUpdate, isDelete, isInsert := m.actionIs(
		syntax.MergeUpdate,
	), m.actionIs(
		syntax.MergeDelete,
	), m.actionIs(
		syntax.MergeInsert,
	)
	if (isUpdate != nil || isDelete != nil) && !m.deletes() {
		d.Apply = append(d.Apply, plan.Statement{SQL: "SELECT " + lower.Raise(mserr.MergeTwice()) + " FROM " + m.sp.src.Table +
			" WHERE s1 IS NOT NULL GROUP BY s1 HAVING count(*) > 1"})
	}
	if isDelete != nil {
		if err := m.applyDelete(d, m.sp, m.rid, isDelete); err != nil {
			return err
		}
	}
	if isUpdate != nil {
		if err := m.applyUpdate(d, m.sp, m.rid, values, newValues, isUpdate); err != nil {
			return err
		}
	}
	if isInsert == nil {
		return out.emit(m.b, d)
	}
	q := &tree.Query{Core: &tree.Core{From: m.sp.src, Where: isInsert}, Order: []tree.OrderTerm{{Node: m.sp.number()}}}
	for _, c := range m.ins.columns {
		q.Core.Items = append(q.Core.Items, inserted[c])
	}
	r := &lower.Renderer{}
	m.ins.head(r)
	r.Query(q)
	st, err := r.Statement()
	if err != nil {
		return err
	}
	d.Apply = append(d.Apply, st)
	m.ins.noteIdentity(d, -1)
	if d.Identity != nil {
		d.Identity.Step = len(d.Apply)
	}
	return out.emit(m.b, d)
}
