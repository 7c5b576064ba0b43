package mssql

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Once identifies a script that runs at most once over all its attempts: it runs in one transaction with a row of the target's
// table jobagent.executed_scripts. DESIGN.md, "At most once", says what that asks of scripts.
type Once struct {
	// ExecutionID is the row's key: the same in all attempts, and in reruns.
	ExecutionID uuid.UUID
	// JobExecutionID and StepID are for those who read the table.
	JobExecutionID uuid.UUID
	StepID         int
}

// The batches around the script. Their variables are those of Once.variables.
var (
	//go:embed once_begin.sql
	onceBegin string
	//go:embed once_commit.sql
	onceCommit string
)

// ledgerDays is how long the table keeps a row: longer than any step's time limit (2147483 s are 25 days), after which there are no
// attempts any more, and as long as history is kept by default, which reruns need.
const ledgerDays = 45

// The states that the batches answer with.
const (
	onceBegun     = "Begun"     // the transaction is open
	onceDone      = "Done"      // an earlier attempt has committed
	oncePartly    = "Partly"    // an earlier attempt ended the transaction itself, and left something behind
	onceCommitted = "Committed" // the script's work and the row are durable
	onceLeftOpen  = "LeftOpen"  // the script has begun a transaction that it did not end; nothing was committed
	onceGone      = "Gone"      // the script has ended the transaction; that is recorded
)

// The errors of a script that is to run at most once and cannot.
var (
	errOncePartly = errors.New("an earlier attempt ended the transaction that at_most_once had begun, and what it did is committed in part; it is not run again. " +
		"Look at the target, then repair it or delete the row of jobagent.executed_scripts")
	errOnceLeftOpen = errors.New("the script left a transaction open, which at_most_once does not allow: everything was rolled back. Add COMMIT TRANSACTION, or set at_most_once to 0")
	errOnceGone     = errors.New("the script ended the transaction that at_most_once had begun (COMMIT without BEGIN TRANSACTION, or ROLLBACK): " +
		"what it did since is committed, and it is not run again. Take that out of the script, or set at_most_once to 0")
)

// onceError says that the ledger's table could not be read or written.
type onceError struct{ err error }

func (e *onceError) Error() string {
	return "the table jobagent.executed_scripts, which at_most_once needs: " + e.err.Error()
}

// Unwrap gives the reason.
func (e *onceError) Unwrap() error { return e.err }

// firstServerError is the first of the errors that the server answered with: the driver's own choice is the last, and where CREATE SCHEMA
// is denied, say, that tells only that there was another before it.
func firstServerError(err error) error {
	if e, ok := asServerError(err); ok && len(e.All) > 1 {
		return e.All[0]
	}
	return err
}

// variables are those of the batches.
func (o *Once) variables(database string) Variables {
	return Variables{
		"database":            StringValue(database),
		"target_execution_id": GUIDValue(o.ExecutionID),
		"job_execution_id":    GUIDValue(o.JobExecutionID),
		"step_id":             IntValue(o.StepID),
		"ledger_days":         IntValue(ledgerDays),
	}
}

// beginOnce begins the transaction, or finds that the script has run. While the session of an earlier attempt still has its
// transaction open, it waits for the end of that.
func (t *attempt) beginOnce(ctx context.Context, s *session) (done bool, err error) {
	stop := cutAfter(ctx, s.wire, ackWait)
	defer stop()
	state, err := s.answer(ctx, Expand(onceBegin, t.Once.variables(t.Target.Database)))
	switch {
	case err != nil:
		return false, causeOr(ctx, &onceError{firstServerError(err)})
	case state == onceBegun:
		return false, nil
	case state == onceDone:
		return true, nil
	case state == oncePartly:
		return false, errOncePartly
	default:
		return false, fmt.Errorf("jobagent.executed_scripts answers with %q", state)
	}
}

// commitOnce ends the transaction. What the script did is complete, so that the end of ctx comes too late for it: only the wait for
// the answer is bounded then.
func (t *attempt) commitOnce(ctx context.Context, s *session) error {
	stop := cutAfter(ctx, s.wire, ackWait)
	defer stop()
	state, err := s.answer(context.WithoutCancel(ctx), Expand(onceCommit, t.Once.variables(t.Target.Database)))
	if _, broken := s.wire.state(); err != nil && (broken != nil || !isServerError(err)) {
		return fmt.Errorf("%w while the script's transaction was being committed: %w", errConnectionLost, cmp.Or(broken, err))
	}
	switch {
	case err != nil:
		return &onceError{firstServerError(err)}
	case state == onceCommitted:
		return nil
	case state == onceLeftOpen:
		return errOnceLeftOpen
	case state == onceGone:
		return errOnceGone
	default:
		return fmt.Errorf("jobagent.executed_scripts answers with %q: the script's transaction was not committed", state)
	}
}

// isServerError says whether the server answered with an error.
func isServerError(err error) bool {
	_, ok := asServerError(err)
	return ok
}

// answer sends a batch whose answer is one text, and reads the answer to its end.
func (s *session) answer(ctx context.Context, text string) (string, error) {
	a, err := s.ask(ctx, text)
	switch {
	case err != nil:
		return "", err
	case a.columns != 1:
		return "", nil // as after SET NOEXEC ON
	case len(a.rows) != 1:
		return "", fmt.Errorf("a question of the agent was answered with %d rows, where one is needed", len(a.rows))
	}
	state, _ := a.rows[0][0].(string)
	return state, nil
}
