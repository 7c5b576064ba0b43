package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/trigger"
)

// triggers runs the bodies of triggers, which package trigger fires.
type triggers struct{ *run }

// innermostTrigger returns the activation of the innermost running trigger, or nil.
func (r triggers) innermostTrigger() *frame {
	f := r.f
	for f != nil && f.fired == nil {
		f = f.parent
	}
	return f
}

// inTrigger reports whether a trigger is running.
func (r triggers) inTrigger() bool { return r.innermostTrigger() != nil }

// firingInstead returns the object ID of the innermost running trigger if it is an INSTEAD OF
// trigger, else 0. Statements in such a trigger do not fire it again, so their plans are special.
func (r triggers) firingInstead() int32 {
	if f := r.innermostTrigger(); f != nil && f.fired.Trigger.InsteadOf {
		return f.procID
	}
	return 0
}

// Innermost implements [trigger.Interpreter].
func (r triggers) Innermost() int32 {
	if f := r.innermostTrigger(); f != nil {
		return f.procID
	}
	return 0
}

// CheckNesting implements [trigger.Interpreter].
func (r triggers) CheckNesting() error {
	if calls(r).nesting() >= maxNesting {
		return mserr.NestingLevel(maxNesting)
	}
	return nil
}

// Activate implements [trigger.Interpreter].
func (r triggers) Activate(b *trigger.Body, enter func(level int) error) error {
	f := &frame{
		kind: procFrame, fired: b, unit: b.Unit, name: b.Trigger.Name, procID: b.Trigger.ObjectID, schema: b.Schema,
		owner: b.Owner, nestLevel: calls(r).nesting() + 1,
	}
	err := calls(r).inFrame(f, func() error {
		if err := enter(f.level); err != nil {
			return err
		}
		return calls(r).callBody(f, nil)
	})
	return endScope(f, err)
}

// Shape implements [trigger.Interpreter].
func (r triggers) Shape(node syntax.Node, build func() (*catalog.Table, error)) (*catalog.Table, error) {
	return declarations(r).shape(node, build)
}

// Declare implements [trigger.Interpreter].
func (r triggers) Declare(name string, t *catalog.Table) {
	if r.f.tables == nil {
		r.f.tables = map[string]*tableVar{}
	}
	r.f.tables[name] = &tableVar{name: name, table: t, created: true}
}

// forgetRows empties inserted and deleted of all running triggers, after ROLLBACK in a trigger (SQL
// Server 2025, recorded).
func (r triggers) forgetRows() error {
	for f := r.f; f != nil; f = f.parent {
		if f.fired == nil {
			continue
		}
		for _, name := range []string{"inserted", "deleted"} {
			if _, err := r.s.Conn.Exec(r.ctx, "DELETE FROM "+session.SQLTable(nil, f.tableVar(name).table), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rollback implements [trigger.Interpreter].
func (r triggers) Rollback() error { return r.s.rollback(r.run) }
