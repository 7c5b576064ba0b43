package exec

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/change"
	"github.com/jobagent/jobagent/testenv/tsqld/sysfunc"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// env is the view of a run for built-in functions.
type env struct {
	sysfunc.Functions
	r *run
}

var _ builtin.Env = (*env)(nil)

// newRun returns the execution of a request.
func newRun(ctx context.Context, s *Session, out answer.Sink) *run {
	r := &run{s: s, ctx: ctx, out: answer.New(out)}
	r.env = env{sysfunc.New(s.Session, current{r}), r}
	r.changes = change.New(ctx, s.Session, &r.out, r, changeHost{r})
	return r
}

// current is the current activation of a run.
type current struct{ r *run }

// Context implements [sysfunc.Caller].
func (c current) Context() context.Context { return c.r.ctx }

// DefaultSchema implements [sysfunc.Caller].
func (c current) DefaultSchema() string { return c.r.f.schema }

// Owner implements [sysfunc.Caller].
func (c current) Owner() int { return c.r.f.owner }

// SystemColumns implements [sysfunc.Caller].
func (c current) SystemColumns(d *catalog.Database, v *sysviews.SystemView) ([]types.Column, error) {
	return c.r.compiler().SystemColumns(d, v)
}

// Caught implements [builtin.State].
func (e *env) Caught() *builtin.Caught {
	c := e.r.s.caught
	if c == nil {
		return nil
	}
	return &builtin.Caught{
		Number: c.Number, Severity: c.Class, State: c.State, Line: c.Line, Procedure: c.Proc, Message: c.Message,
	}
}

// Identity implements [builtin.State].
func (e *env) Identity(scope bool) types.Value {
	if scope {
		return e.r.f.identity
	}
	return e.r.s.LastIdentity
}

// NestLevel implements [builtin.State].
func (e *env) NestLevel() int { return calls{e.r}.nesting() }

// ProcID implements [builtin.State].
func (e *env) ProcID() int32 { return e.r.f.procID }

// TriggerNestLevel implements [builtin.State].
func (e *env) TriggerNestLevel(object int32, instead, after bool) int {
	n := 0
	for f := e.r.f; f != nil; f = f.parent {
		if f.fired != nil && (object == 0 || f.procID == object) && (!instead || f.fired.Trigger.InsteadOf) &&
			(!after || !f.fired.Trigger.InsteadOf) {
			n++
		}
	}
	return n
}

// ColumnsUpdated implements [builtin.State].
func (e *env) ColumnsUpdated() ([]byte, bool) {
	if e.r.f.fired == nil {
		return nil, false
	}
	return e.r.f.fired.Updated, true
}

// LastRowVersion implements [builtin.State].
func (e *env) LastRowVersion() ([]byte, error) {
	return e.r.s.Counters.LastRowVersion(e.r.ctx, e.r.s.DatabaseID)
}

// CursorStatus implements [builtin.State].
func (e *env) CursorStatus(scope, name string) int { return cursors{e.r}.cursorStatus(scope, name) }
