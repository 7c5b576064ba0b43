package change

import (
	"context"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Interpreter is what an [Executor] needs of the interpreter that runs the statement.
type Interpreter interface {
	// Prepare checks the permissions that a plan needs, makes its databases available, and fills
	// its system row sets. The statement has taken the locks that it needs.
	Prepare(n *plan.Needs) error
	// BeginRead prepares a read of the databases of a plan. skip tells whether there is an
	// alternative plan for session.ErrSkipped, and within whether the read is part of a SQLite
	// transaction.
	BeginRead(n *plan.Needs, skip, within bool) error
	// Assign assigns the values of one row to variables.
	Assign(list []plan.Assign, row []types.Value) error
	// Columns starts a result set.
	Columns(cols []types.Column) error
	// Info sends an informational message to the client.
	Info(m *mserr.Error) error
	// Fire fires the triggers of a statement that has changed n rows, which are in c.
	Fire(p *plan.DML, c *Capture, n int64) error
	// ReadOnly returns the name of the table-valued parameter that a table is, "" for other tables.
	ReadOnly(t *catalog.Table) string
	// Activation returns the innermost activation.
	Activation() Activation
}

// Activation is what a change knows of the activation in which it runs.
type Activation struct {
	Owner    int          // owner of the module, which starts its ownership chain; -1 in batches
	Identity *types.Value // SCOPE_IDENTITY()
}

// Executor executes the changes of one request. It must not be copied after its first use.
type Executor struct {
	ctx   context.Context
	s     *session.Session
	out   *answer.Answer
	frame eval.Frame
	host  Interpreter

	capture  *Capture // rows that the running statement changes; nil if no trigger needs them
	dry      bool     // the statement has no effects outside SQLite: see tryRows
	explicit explicitIdentity

	Sequences Sequences
}

// New returns an executor for a request of a session, whose answer is out. frame has the variables
// of the innermost activation.
func New(ctx context.Context, s *session.Session, out *answer.Answer, frame eval.Frame, host Interpreter) Executor {
	return Executor{
		ctx: ctx, s: s, out: out, frame: frame, host: host, Sequences: Sequences{ctx: ctx, s: s, host: host},
	}
}

// Function returns the function with a key that SQLite calls while a statement changes rows or
// draws values of sequences, or nil for keys of other functions. Error 40517 for a malformed key.
func (x *Executor) Function(key string) (store.Func, error) {
	switch {
	case key == keys.LocalIdentity:
		return func(_ *meter.Meter, args []types.Value) (types.Value, error) { return x.explicit.record(args[0]) }, nil
	case strings.HasPrefix(key, catalog.CapturePrefix):
		return x.captureFunc(key)
	case strings.HasPrefix(key, keys.LocalSequence):
		return x.Sequences.function(key)
	}
	return nil, nil
}

// withTriggers returns a function that calls do, which changes the rows of a plan and returns their
// number, and then fires the triggers.
func (x *Executor) withTriggers(p *plan.DML, do func() (int64, error)) func() error {
	return func() error {
		outer := x.capture
		c := &Capture{}
		x.capture = c
		n, err := do()
		x.capture = outer
		if err != nil {
			return err
		}
		return x.host.Fire(p, c, n)
	}
}

// inTransaction calls fn, which executes a statement with triggers, inside a transaction.
func (x *Executor) inTransaction(fn func() error) error {
	begun, err := x.s.WithOwnTransaction(fn)
	if begun {
		return x.out.EnvChange(answer.EnvChange{Kind: answer.EnvBeginTran, Descriptor: x.s.Tran.ID()})
	}
	return err
}
