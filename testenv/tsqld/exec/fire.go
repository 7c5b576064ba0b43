package exec

import (
	"errors"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// triggers fires triggers, and values of sequences for the rows of a statement.
type triggers struct{ *run }

// activation is what the body of a running trigger knows of the statement that has fired it.
type activation struct {
	insteadOf bool
	updated   []byte // COLUMNS_UPDATED()
}

// firing is one execution of a trigger.
type firing struct {
	database  *catalog.Database
	parent    catalog.Object // table or view
	table     *catalog.Table // the shape of inserted and deleted
	trigger   *catalog.Trigger
	updated   []byte
	deleted   [][]types.Value
	inserted  [][]types.Value
	statement int64 // @@ROWCOUNT at the begin of the trigger
}

// inTrigger reports whether a trigger is running.
func (r triggers) inTrigger() bool { return r.innermostTrigger() != nil }

// innermostTrigger returns the activation of the innermost running trigger, or nil.
func (r triggers) innermostTrigger() *frame {
	f := r.f
	for f != nil && f.fired == nil {
		f = f.parent
	}
	return f
}

// firingInstead returns the object ID of the innermost running trigger if it is an INSTEAD OF
// trigger, else 0. Statements in such a trigger do not fire it again, so their plans are special.
func (r triggers) firingInstead() int32 {
	if f := r.innermostTrigger(); f != nil && f.fired.insteadOf {
		return f.procID
	}
	return 0
}

// withTriggers returns a function that calls do, which changes the rows of dml and returns their
// number, and then fires the AFTER triggers.
func (r triggers) withTriggers(dml *compile.DML, do func() (int64, error)) func() error {
	return func() error {
		outer := r.capture
		c := &capture{}
		r.capture = c
		n, err := do()
		r.capture = outer
		if err != nil {
			return err
		}
		return r.fireAfter(dml, c, n)
	}
}

// inTransaction calls fn, which executes a statement with triggers, inside a transaction: "a
// trigger operates as if there were an outstanding transaction in effect when the trigger is fired"
// (documentation of ROLLBACK TRANSACTION).
func (r triggers) inTransaction(fn func() error) error {
	s := r.s
	if s.Tran.Level > 0 || s.Tran.Begun {
		return fn()
	}
	s.StartTransaction("")
	s.Tran.Unseen = true
	id := s.Tran.ID
	err := fn()
	switch {
	case s.Tran.ID != id:
		return err
	case err != nil:
		return errors.Join(err, s.RollbackWork())
	case s.Tran.Level > 1: // the trigger has begun a transaction
		s.Tran.Level--
		s.Tran.Unseen = false
		return transactions(r).notifyTransaction(answer.EnvBeginTran)
	}
	return s.CommitWork()
}

// fireAfter fires the AFTER triggers of a statement that has changed n rows. "All of the cascading
// referential actions [...] are performed first. If there are any AFTER triggers defined on the
// affected tables, these triggers fire after all cascading actions are performed. These triggers
// fire in opposite order of the cascading action." Triggers of the target fire also if no row was
// changed, those of other tables do not
// (https://learn.microsoft.com/previous-versions/sql/sql-server-2008-r2/ms186973(v=sql.105)).
func (r triggers) fireAfter(dml *compile.DML, c *capture, n int64) error {
	if len(dml.Instead) > 0 {
		return r.fireInstead(dml, c, n)
	}
	var own []*changes
	for _, action := range dml.Actions {
		own = append(own, c.take(dml.Target.ObjectID, action))
	}
	for _, x := range slices.Concat(c.changes, own) {
		d := r.s.DatabaseByID(dml.Database)
		if d == nil {
			return nil
		}
		t := d.TableByID(x.table)
		if t == nil {
			continue
		}
		updated := dml.Updates
		if x.table != dml.Target.ObjectID {
			updated = cascadedColumns(t)
		}
		for _, tr := range t.After(x.event) {
			if err := r.runTrigger(&firing{
				database: d, parent: t, table: t, trigger: tr, updated: updatedBits(t.NextColumnID, x.event, updated),
				deleted: x.deleted, inserted: x.inserted, statement: n,
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// fireInstead fires the INSTEAD OF triggers of a statement that would have changed n rows.
func (r triggers) fireInstead(dml *compile.DML, c *capture, n int64) error {
	for _, in := range dml.Instead {
		d := r.s.DatabaseByID(dml.Database)
		if d == nil {
			return nil
		}
		x := c.take(in.Object.Head().ObjectID, in.Event)
		if err := r.runTrigger(&firing{
			database: d, parent: in.Object, table: in.Shape, trigger: in.Trigger,
			updated: updatedBits(in.Shape.NextColumnID, in.Event, dml.Updates),
			deleted: x.deleted, inserted: x.inserted, statement: n,
		}); err != nil {
			return err
		}
	}
	return nil
}

// transitionRows reads the rows of inserted and deleted for an INSTEAD OF trigger, and returns
// their number.
func (r triggers) transitionRows(in *compile.Instead, rt *compile.Run) (n int64, err error) {
	x := r.capture.of(in.Object.Head().ObjectID, in.Event)
	width := len(in.Shape.Captured())
	for _, side := range []struct {
		query *compile.Statement
		rows  *[][]types.Value
	}{{&in.Deleted, &x.deleted}, {&in.Inserted, &x.inserted}} {
		if side.query.SQL == "" {
			continue
		}
		rows, err := r.collectRows(side.query, rt)
		if err != nil {
			return 0, err
		}
		for i := range rows {
			rows[i] = rows[i][:width] // a table of computed columns only has a column for the syntax
		}
		*side.rows = append(*side.rows, rows...)
		n = int64(len(rows))
	}
	return n, nil
}

// collectRows returns copies of the rows of a statement.
func (r triggers) collectRows(st *compile.Statement, rt *compile.Run) ([][]types.Value, error) {
	args, err := st.Args(r.run, rt)
	if err != nil {
		return nil, err
	}
	rows, err := r.s.Conn.Query(r.ctx, st.SQL, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]types.Value
	for rows.Next() {
		row, err := session.CopyRow(r.s.Meter(), rows.Row())
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// cascadedColumns returns the columns that referenced tables can change.
func cascadedColumns(t *catalog.Table) []int {
	var out []int
	for _, f := range t.ForeignKeys {
		if f.OnDelete != catalog.NoAction || f.OnUpdate != catalog.NoAction {
			out = append(out, f.Columns...)
		}
	}
	return out
}

// updatedBits returns COLUMNS_UPDATED() for a table whose column IDs go up to last.
func updatedBits(last int, event string, columns []int) []byte {
	bits := make([]byte, (last+7)/8)
	set := func(id int) {
		if id <= last {
			bits[(id-1)/8] |= 1 << ((id - 1) % 8)
		}
	}
	switch event {
	case "INSERT":
		for id := 1; id <= last; id++ {
			set(id)
		}
	case "UPDATE":
		for _, id := range columns {
			set(id)
		}
	}
	return bits
}

// runTrigger executes a trigger, unless it would fire itself: direct recursion requires
// RECURSIVE_TRIGGERS, and an INSTEAD OF trigger never fires itself (documentation of CREATE
// TRIGGER, "Recursive triggers").
func (r triggers) runTrigger(x *firing) error {
	tr, d := x.trigger, x.database
	if f := r.innermostTrigger(); f != nil && f.procID == tr.ObjectID && (tr.InsteadOf || !d.Options.RecursiveTriggers) {
		return nil
	}
	if calls(r).nesting() >= maxNesting {
		return mserr.NestingLevel(maxNesting)
	}
	u, st, err := triggerUnit(tr)
	if err != nil {
		return err
	}
	s := r.s
	h := x.parent.Head()
	f := &frame{
		kind: procFrame, fired: &activation{insteadOf: tr.InsteadOf, updated: x.updated}, unit: u, name: tr.Name,
		procID: tr.ObjectID, schema: d.SchemaByID(h.SchemaID).Name, owner: d.Owner(x.parent), nestLevel: calls(r).nesting() + 1,
	}
	err = calls(r).inFrame(f, func() error {
		s.DatabaseID = d.ID
		module := tr.Module()
		s.EnterModule(module)
		s.Options.XactAbort = true // the default in triggers (documentation of SET XACT_ABORT)
		if err := s.ModuleIdentity(d, module, f.owner, f.level); err != nil {
			return err
		}
		if err := r.declareTransitions(st, x); err != nil {
			return err
		}
		s.RowCount = x.statement
		return calls(r).callBody(f, nil)
	})
	if err = calls(r).endScope(f, err); err != nil {
		return err
	}
	switch {
	case s.Tran.Level > 0 && s.Tran.Doomed:
		return errors.Join(mserr.RaisedInTrigger(), s.rollback(r.run))
	case s.Tran.Level == 0:
		return mserr.EndedInTrigger()
	}
	return nil
}

// triggerUnit returns the unit of a trigger and its definition. The trigger caches both.
func triggerUnit(tr *catalog.Trigger) (*unit.Unit, *syntax.CreateTriggerStmt, error) {
	type parsed struct {
		u  *unit.Unit
		st *syntax.CreateTriggerStmt
	}
	v, err := tr.Memo.Get(func() (any, error) {
		st, err := module.Parse(tr.Module())
		if err != nil {
			return nil, err
		}
		def, ok := st.(*syntax.CreateTriggerStmt)
		if !ok {
			return nil, mserr.NotSupported("the stored text of trigger %s", tr.Name)
		}
		u := &unit.Unit{Body: def.Body}
		return parsed{u, def}, u.Check(nil)
	})
	if err != nil {
		return nil, nil, err
	}
	p := v.(parsed)
	return p.u, p.st, nil
}

// declareTransitions creates the tables inserted and deleted in the frame of a trigger.
func (r triggers) declareTransitions(st *syntax.CreateTriggerStmt, x *firing) error {
	f := r.f
	f.tables = map[string]*tableVar{}
	for _, t := range []struct {
		name string
		node syntax.Node
		rows [][]types.Value
	}{{"inserted", st.Name, x.inserted}, {"deleted", st.Table, x.deleted}} {
		shape, err := declarations(r).shape(t.node, func() (*catalog.Table, error) {
			return transitionShape(x.table, t.name, f.level, x.trigger.InsteadOf), nil
		})
		if err != nil {
			return err
		}
		if err := r.s.CreateVariable(r.ctx, shape); err != nil {
			return err
		}
		f.tables[t.name] = &tableVar{name: t.name, table: shape, created: true}
		if err := r.s.Fill(r.ctx, shape, t.rows); err != nil {
			return err
		}
	}
	return nil
}

// transitionShape returns the definition of inserted or deleted: the columns of a table without
// its constraints. In an INSTEAD OF trigger the rows were not checked, so each column may be NULL.
func transitionShape(t *catalog.Table, name string, level int, insteadOf bool) *catalog.Table {
	c := t.Clone()
	c.Name, c.SQLName, c.Temporary, c.ObjectID = name, session.LocalName(name, level), true, session.NewLocalID()
	c.Indexes, c.ForeignKeys, c.Checks, c.Triggers = nil, nil, nil, nil
	if insteadOf {
		for _, col := range c.Columns {
			col.Nullable = true
		}
	}
	c.SQLName = session.VariableName(c, level)
	return c
}
