// Package accounts creates, changes and deletes job agents (accounts), for REST, the command line
// and agents.
//
// A job agent is a row of its control database, and the database makes all decisions about it. A
// change begins an operation, and every process that sees an operation in progress carries it out.
// So an operation ends even if the process that began it is killed, as long as any front or agent
// of this control database works.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/installed"
)

const (
	// lease is how long a call may hold an operation. Others continue the operation of a process
	// that was killed within the call after this time.
	lease = 10 * time.Second
	// activePoll and idlePoll are the times between looks at a control database with and without
	// an operation in progress.
	activePoll = 300 * time.Millisecond
	idlePoll   = 5 * time.Second
	// longestWait is the longest time between looks at a control database that fails.
	longestWait = 30 * time.Second
)

// Prepare makes a control database ready for a job agent: its schema must be installed and support
// this program. With install, a missing schema is installed and an older one is migrated; without,
// these are errors.
func Prepare(ctx context.Context, store *controldb.Store, install bool) error {
	ctx = asLogin(ctx)
	_, err := installed.On(store).CheckAgent(ctx)
	var version *dberror.SchemaVersionError
	switch {
	case errors.Is(err, dberror.ErrVersionHidden):
		return nil // the login may use public procedures only; they will tell
	case errors.Is(err, dberror.ErrNotInstalled) && install:
		err = deploy.On(store).Install(ctx)
	case install && errors.As(err, &version) && older(version):
		err = deploy.On(store).Migrate(ctx)
	}
	return err
}

// older reports whether a schema is older than that of this program.
func older(e *dberror.SchemaVersionError) bool { return e.Have < e.Want || len(e.Missing) > 0 }

// asLogin returns ctx without its caller: operations are carried out by the login of the store.
func asLogin(ctx context.Context) context.Context {
	return caller.With(ctx, caller.Caller{})
}

// Wait carries out an operation and waits until it has ended, whichever process ends it. progress,
// unless it is nil, is called with each state of the operation that has not ended. When ctx is
// done, Wait returns the last state of the operation without an error, and the operation continues
// without the caller.
func Wait(
	ctx context.Context, store *controldb.Store, id uuid.UUID, progress func(account.Operation),
) (account.Operation, error) {
	holder, err := uuid.NewRandom()
	if err != nil {
		return account.Operation{}, fmt.Errorf("make the mark of a holder: %w", err)
	}
	// A call that is abandoned has done a step or nothing; others continue after the lease.
	ctx = asLogin(ctx)
	operation := account.Operation{ID: id, Status: account.OperationInProgress}
	for delay := 20 * time.Millisecond; ; delay = min(2*delay, activePoll) {
		err := account.On(store).Advance(ctx, holder, lease)
		if err == nil {
			var known bool
			var last account.Operation
			if last, known, err = account.On(store).Operation(ctx, id); err == nil && !known {
				err = fmt.Errorf("the operation %s does not exist any more", id)
			} else if err == nil {
				operation = last
			}
		}
		switch {
		case operation.Status != account.OperationInProgress:
			return operation, nil
		case ctx.Err() != nil:
			return operation, nil
		case err != nil:
			return operation, err
		}
		if progress != nil {
			progress(operation)
		}
		if !sleep(ctx, delay) {
			return operation, nil
		}
	}
}

// sleep waits for d. It returns false if ctx is done before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Reconciler carries out the operations on the job agent of one control database.
type Reconciler struct {
	store  *controldb.Store
	log    *zap.Logger
	holder uuid.UUID
}

// NewReconciler returns a reconciler.
func NewReconciler(store *controldb.Store, log *zap.Logger) (*Reconciler, error) {
	holder, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("make the mark of a holder: %w", err)
	}
	return &Reconciler{store: store, log: log, holder: holder}, nil
}

// Step reads the job agent, after carrying out its operation in progress, if any, as far as
// possible.
func (r *Reconciler) Step(ctx context.Context) (account.JobAgent, error) {
	a, err := account.On(r.store).Read(ctx)
	if err != nil || a.Operation == uuid.Nil {
		return a, err
	}
	if err := account.On(r.store).Advance(ctx, r.holder, lease); err != nil {
		return a, err
	}
	after, err := account.On(r.store).Read(ctx)
	if err == nil && after.State != a.State {
		r.log.Info("the state of the job agent has changed", zap.String("from", string(a.State)), zap.String("to", string(after.State)))
	}
	return after, err
}

// Pause returns how long to wait before the next step: less while an operation is in progress, and
// with some jitter, so that several processes do not look at the same time.
func Pause(a account.JobAgent) time.Duration {
	d := idlePoll
	if a.Operation != uuid.Nil {
		d = activePoll
	}
	return d - d/10 + rand.N(d/5)
}

// Run makes steps until ctx is done. A failing control database is asked less often.
func (r *Reconciler) Run(ctx context.Context) {
	failures := 0
	for {
		a, err := r.Step(ctx)
		pause := Pause(a)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures = 0
		case errors.Is(err, dberror.ErrNotInstalled):
			pause = idlePoll
		default:
			if failures++; failures == 1 {
				r.log.Warn("could not look after the job agent", zap.Error(err))
			}
			pause = min(idlePoll<<min(failures, 10), longestWait)
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}
