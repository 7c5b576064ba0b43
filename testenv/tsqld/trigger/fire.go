package trigger

import (
	"context"
	"errors"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/change"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// Interpreter is what an [Executor] needs of the interpreter that runs the bodies of triggers.
type Interpreter interface {
	// Innermost returns the object ID of the innermost running trigger, 0 without one.
	Innermost() int32
	// CheckNesting returns error 217 if no further activation may begin.
	CheckNesting() error
	// Activate begins an activation for a body, calls enter with its level, and then runs the
	// statements of the body. The errors are those of enter and of statements that end the trigger.
	Activate(b *Body, enter func(level int) error) error
	// Shape returns the definition that build has returned for a node before, or else calls build.
	Shape(node syntax.Node, build func() (*catalog.Table, error)) (*catalog.Table, error)
	// Declare gives a table variable, which has been created, a name in the innermost activation.
	Declare(name string, t *catalog.Table)
	// Rollback rolls the transaction back and notifies the client.
	Rollback() error
}

// Body is the body of a trigger that runs.
type Body struct {
	Trigger *catalog.Trigger
	Unit    *unit.Unit
	Updated []byte // COLUMNS_UPDATED()
	Schema  string // default schema for one-part names
	Owner   int    // owner of the table or view, which starts the ownership chain
}

// Executor fires the triggers of one statement.
type Executor struct {
	ctx  context.Context
	s    *session.Session
	host Interpreter
}

// New returns an executor for a statement of a session.
func New(ctx context.Context, s *session.Session, host Interpreter) Executor {
	return Executor{ctx: ctx, s: s, host: host}
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

// Fire fires the triggers of a statement that has changed n rows, which are in c. "All of the
// cascading referential actions [...] are performed first. If there are any AFTER triggers defined
// on the affected tables, these triggers fire after all cascading actions are performed. These
// triggers fire in opposite order of the cascading action." Triggers of the target fire also if no
// row was changed, those of other tables do not
// (https://learn.microsoft.com/previous-versions/sql/sql-server-2008-r2/ms186973(v=sql.105)).
func (x Executor) Fire(p *plan.DML, c *change.Capture, n int64) error {
	if len(p.Instead) > 0 {
		return x.fireInstead(p, c, n)
	}
	var own []*change.Rows
	for _, action := range p.Actions {
		own = append(own, c.Take(p.Target.ObjectID, action))
	}
	for _, rows := range slices.Concat(c.Rest(), own) {
		d := x.s.DatabaseByID(p.Database)
		if d == nil {
			return nil
		}
		t := d.TableByID(rows.Table)
		if t == nil {
			continue
		}
		updated := p.Updates
		if rows.Table != p.Target.ObjectID {
			updated = cascadedColumns(t)
		}
		for _, tr := range t.After(rows.Event) {
			if err := x.run(&firing{
				database: d, parent: t, table: t, trigger: tr, updated: updatedBits(t.NextColumnID, rows.Event, updated),
				deleted: rows.Deleted, inserted: rows.Inserted, statement: n,
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// fireInstead fires the INSTEAD OF triggers of a statement that would have changed n rows.
func (x Executor) fireInstead(p *plan.DML, c *change.Capture, n int64) error {
	for _, in := range p.Instead {
		d := x.s.DatabaseByID(p.Database)
		if d == nil {
			return nil
		}
		rows := c.Take(in.Object.Head().ObjectID, in.Event)
		if err := x.run(&firing{
			database: d, parent: in.Object, table: in.Shape, trigger: in.Trigger,
			updated: updatedBits(in.Shape.NextColumnID, in.Event, p.Updates),
			deleted: rows.Deleted, inserted: rows.Inserted, statement: n,
		}); err != nil {
			return err
		}
	}
	return nil
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

// updatedBits returns COLUMNS_UPDATED() for a table whose column IDs go up to last; no bytes for
// DELETE.
func updatedBits(last int, event string, columns []int) []byte {
	if event == "DELETE" {
		return []byte{}
	}
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

// run executes a trigger, unless it would fire itself: direct recursion requires
// RECURSIVE_TRIGGERS, and an INSTEAD OF trigger never fires itself (documentation of CREATE
// TRIGGER, "Recursive triggers").
func (x Executor) run(f *firing) error {
	tr, d, s := f.trigger, f.database, x.s
	if x.host.Innermost() == tr.ObjectID && (tr.InsteadOf || !d.Options.RecursiveTriggers) {
		return nil
	}
	if err := x.host.CheckNesting(); err != nil {
		return err
	}
	u, st, err := parsedUnit(tr)
	if err != nil {
		return err
	}
	b := &Body{
		Trigger: tr, Unit: u, Updated: f.updated, Schema: d.SchemaByID(f.parent.Head().SchemaID).Name, Owner: d.Owner(f.parent),
	}
	err = x.host.Activate(b, func(level int) error {
		s.DatabaseID = d.ID
		text := tr.Module()
		s.EnterModule(text)
		s.Options.XactAbort = true // the default in triggers (documentation of SET XACT_ABORT)
		if err := s.ModuleIdentity(d, text, b.Owner, level); err != nil {
			return err
		}
		if err := x.declareTransitions(st, f, level); err != nil {
			return err
		}
		s.RowCount = f.statement
		return nil
	})
	switch {
	case err != nil:
		return err
	case s.Tran.Doomed():
		return errors.Join(mserr.RaisedInTrigger(), x.host.Rollback())
	case !s.Tran.Open():
		return mserr.EndedInTrigger()
	}
	return nil
}

// parsedUnit returns the unit of a trigger and its definition. The trigger caches both.
func parsedUnit(tr *catalog.Trigger) (*unit.Unit, *syntax.CreateTriggerStmt, error) {
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

// declareTransitions creates the tables inserted and deleted in the activation of a trigger.
func (x Executor) declareTransitions(st *syntax.CreateTriggerStmt, f *firing, level int) error {
	for _, t := range []struct {
		name string
		node syntax.Node
		rows [][]types.Value
	}{{"inserted", st.Name, f.inserted}, {"deleted", st.Table, f.deleted}} {
		shape, err := x.host.Shape(t.node, func() (*catalog.Table, error) {
			return transitionShape(f.table, t.name, level, f.trigger.InsteadOf), nil
		})
		if err != nil {
			return err
		}
		if err := x.s.CreateVariable(x.ctx, shape); err != nil {
			return err
		}
		x.host.Declare(t.name, shape)
		if err := x.s.Fill(x.ctx, shape, t.rows); err != nil {
			return err
		}
	}
	return nil
}

// transitionShape returns the definition of inserted or deleted: the columns of a table without
// its constraints. In an INSTEAD OF trigger the rows were not checked, so each column may be NULL.
func transitionShape(t *catalog.Table, name string, level int, insteadOf bool) *catalog.Table {
	c := catalog.Clone(t)
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
