package mssql

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Once identifies a script that runs at most once over all its attempts. The script runs in one
// transaction with a row of the target's table jobagent.executed_scripts. DESIGN.md, "At most
// once", lists the requirements on scripts.
type Once struct {
	// ExecutionID is the key of the row. It is the same in all attempts, and in reruns.
	ExecutionID uuid.UUID
	// JobExecutionID and StepID are stored for readers of the table.
	JobExecutionID uuid.UUID
	StepID         int
}

// The batches around the script. Once.variables has their variables.
var (
	//go:embed once_begin.sql
	onceBegin string
	//go:embed once_commit.sql
	onceCommit string
)

// ledgerDays is how long the table keeps a row. It is longer than any step's time limit (2147483 s
// are 25 days), after which there are no more attempts, and as long as the default retention of
// history, which reruns need.
const ledgerDays = 45

// The states that the batches return.
const (
	onceBegun     = "Begun"     // the transaction is open
	onceDone      = "Done"      // an earlier attempt has committed
	oncePartly    = "Partly"    // an earlier attempt ended the transaction itself and may have committed a part
	onceCommitted = "Committed" // the script's work and the row are committed
	onceLeftOpen  = "LeftOpen"  // the script left a transaction of its own open; nothing was committed
	onceGone      = "Gone"      // the script ended the transaction; the row records that
)

// The errors of a script that cannot run at most once.
var (
	errOncePartly = errors.New("an earlier attempt ended the transaction that at_most_once had begun, " +
		"and its work is committed in part; it is not run again. " +
		"Look at the target, then repair it or delete the row of jobagent.executed_scripts")
	errOnceLeftOpen = errors.New("the script left a transaction open, which at_most_once does not allow: " +
		"everything was rolled back. Add COMMIT TRANSACTION, or set at_most_once to 0")
	errOnceGone = errors.New("the script ended the transaction that at_most_once had begun " +
		"(COMMIT without BEGIN TRANSACTION, or ROLLBACK): its later work is committed, and it is not run again. " +
		"Remove that statement from the script, or set at_most_once to 0")
)

// onceError means that jobagent.executed_scripts could not be read or written.
type onceError struct{ err error }

// Error implements error.
func (e *onceError) Error() string {
	return "the table jobagent.executed_scripts, which at_most_once needs: " + e.err.Error()
}

// Unwrap returns the reason.
func (e *onceError) Unwrap() error { return e.err }

// firstServerError returns the first error that the server reported. The driver returns the last
// one, which often only refers to an earlier error, for example when CREATE SCHEMA is denied.
func firstServerError(err error) error {
	if e, ok := asServerError(err); ok && len(e.All) > 1 {
		return e.All[0]
	}
	return err
}

// variables returns the variables of the batches.
func (o *Once) variables(database string) Variables {
	return Variables{
		"database":            StringValue(database),
		"target_execution_id": GUIDValue(o.ExecutionID),
		"job_execution_id":    GUIDValue(o.JobExecutionID),
		"step_id":             IntValue(o.StepID),
		"ledger_days":         IntValue(ledgerDays),
	}
}

// beginOnce begins the transaction, or reports that the script has run. If the session of an
// earlier attempt still has its transaction open, beginOnce waits for the end of that transaction.
func (t *attempt) beginOnce(ctx context.Context, s *session) (done bool, err error) {
	stop := cutAfter(ctx, s.wire, ackWait)
	defer stop()
	state, err := s.answer(ctx, Expand(onceBegin, t.Once.variables(t.Target.Database)))
	_, broken := s.wire.state()
	switch {
	case err != nil && (broken != nil || !isServerError(err)):
		// Nothing of the script was sent, and the row is rolled back.
		return false, causeOr(ctx, fmt.Errorf("%w before the script was sent: %w", errConnectionLost, cmp.Or(broken, err)))
	case err != nil:
		return false, causeOr(ctx, &onceError{firstServerError(err)})
	case state == onceBegun:
		return false, nil
	case state == onceDone:
		return true, nil
	case state == oncePartly:
		return false, errOncePartly
	default:
		return false, fmt.Errorf("jobagent.executed_scripts returned %q", state)
	}
}

// commitOnce ends the transaction. The script is complete, so the end of ctx does not cancel the
// commit; it only bounds the wait for the answer.
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
		return fmt.Errorf("jobagent.executed_scripts returned %q: the script's transaction was not committed", state)
	}
}

// isServerError reports whether the server reported an error.
func isServerError(err error) bool {
	_, ok := asServerError(err)
	return ok
}

// answer sends a batch that returns one text, and reads the answer to its end.
func (s *session) answer(ctx context.Context, text string) (string, error) {
	a, err := s.ask(ctx, text)
	switch {
	case err != nil:
		return "", err
	case a.columns != 1:
		return "", nil // for example, after SET NOEXEC ON
	case len(a.rows) != 1:
		return "", fmt.Errorf("the answer to a query of the agent has %d rows, want 1", len(a.rows))
	}
	state, _ := a.rows[0][0].(string)
	return state, nil
}
