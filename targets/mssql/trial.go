package mssql

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/targets"
)

// Trial makes a script run in one transaction that is rolled back. DESIGN.md, "Trials", lists the
// effects that remain.
type Trial struct {
	// SkipUnsupported omits batches with statements that cannot be tried; otherwise a script that
	// has such a batch is refused, and nothing is sent.
	SkipUnsupported bool `json:"skip_unsupported,omitempty"`
	// Plan reports the estimated plan of each batch, read before it runs. PlanXML reports the
	// document as well, if it is small enough; it implies Plan.
	Plan    bool `json:"plan,omitempty"`
	PlanXML bool `json:"plan_xml,omitempty"`
}

// Options returns the mode_options of the trial; empty means the defaults.
func (t Trial) Options() string {
	if t == (Trial{}) {
		return ""
	}
	text, err := json.Marshal(t)
	if err != nil { // every value can be encoded
		return err.Error()
	}
	return string(text)
}

// ParseTrial reads mode_options of a trial; empty means the defaults.
func ParseTrial(text string) (*Trial, error) {
	t := &Trial{}
	if text == "" {
		return t, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("the options of the trial: %w", err)
	}
	t.Plan = t.Plan || t.PlanXML
	return t, nil
}

// trialBegin begins the transaction. In implicit mode, statements after a ROLLBACK of the script
// begin another transaction, which is never committed, instead of committing by themselves. The
// mode is set after BEGIN, so it does not change how the first transaction begins
// (https://learn.microsoft.com/sql/t-sql/statements/set-implicit-transactions-transact-sql).
const trialBegin = "BEGIN TRANSACTION; SET IMPLICIT_TRANSACTIONS ON;"

// trialState returns the number of open transactions, the id of the outermost one, and -1 if it can
// only be rolled back.
const trialState = "SELECT @@TRANCOUNT AS open_transactions, CURRENT_TRANSACTION_ID() AS transaction_id, XACT_STATE() AS state;"

const trialEnd = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;"

// trialLocks reads the log and the locks of the transaction.
//
//go:embed trial_locks.sql
var trialLocks string

// TrialError means that a script cannot be tried, or that it ended the transaction of the trial.
type TrialError struct{ Reason string }

// Error implements error.
func (e *TrialError) Error() string { return e.Reason }

// judged is a batch with the statements that were recognised in it.
type judged struct {
	Batch
	doubts []doubt
}

// stops reports whether the batch cannot be sent.
func (b judged) stops() bool {
	return slices.ContainsFunc(b.doubts, func(d doubt) bool { return !d.warns })
}

// judge recognises statements that cannot be tried, before anything is sent. Without
// SkipUnsupported, they are an error.
func (t *Trial) judge(batches []Batch) ([]judged, error) {
	list := make([]judged, len(batches))
	var refused []string
	for i, b := range batches {
		found, err := doubts(b.Text, b.Line)
		if err != nil {
			return nil, &TrialError{err.Error()}
		}
		list[i] = judged{b, found}
		for _, d := range found {
			if !d.warns {
				refused = append(refused, d.String())
			}
		}
	}
	if len(refused) > 0 && !t.SkipUnsupported {
		return nil, &TrialError{"The script cannot be tried, and nothing was sent: " + strings.Join(shortened(refused), "; ") +
			". A trial with --skip-unsupported (\"skip_unsupported\" in @mode_options) leaves out the batches with these."}
	}
	return list, nil
}

// tryOut runs the batches in a transaction, reports on each, and rolls back the transaction.
func (t *attempt) tryOut(ctx context.Context, s *session, batches []judged) error {
	err := t.inTrial(ctx, s, func() error { return s.exec(ctx, trialBegin) })
	if err != nil {
		return err
	}
	var begun int64
	if _, begun, err = t.trialState(ctx, s); err != nil {
		return err
	}
	ran, skipped := 0, 0
	var logBytes int64
	for i, b := range batches {
		report := targets.TrialBatch{Batch: i + 1, Line: b.Line, Verdict: targets.VerdictRan}
		for _, d := range b.doubts {
			if d.warns {
				report.Warnings = append(report.Warnings, d.String())
			} else {
				report.Verdict = targets.VerdictSkipped
				report.Reason = strings.TrimPrefix(report.Reason+"; "+d.String(), "; ")
			}
		}
		if b.stops() {
			skipped++
			t.messages.add(targets.Report{Trial: &report})
			continue
		}
		if t.Trial.Plan {
			if err = t.plan(ctx, s, b, begun, &report); err != nil {
				report.Verdict, report.Reason = targets.VerdictFailed, err.Error()
			}
		}
		if err == nil {
			ran++
			err = t.tryBatch(ctx, s, b, begun, &report)
		}
		if err == nil || report.Verdict == targets.VerdictFailed {
			t.measure(ctx, s, &report, &logBytes)
		}
		t.messages.add(targets.Report{Trial: &report})
		if err != nil {
			_ = t.rollBack(ctx, s) // the error of the batch is reported, and the end of the session also rolls back
			return err
		}
	}
	if err := t.rollBack(ctx, s); err != nil {
		return err
	}
	t.tried = "Trial: " + batchCount(ran) + " ran, and everything was rolled back."
	if skipped > 0 {
		t.tried += " " + batchCount(skipped) + " that cannot be tried did not run."
	}
	return nil
}

// tryBatch runs a batch as often as the script requires, and checks that the transaction is the
// same afterwards.
func (t *attempt) tryBatch(ctx context.Context, s *session, b judged, begun int64, report *targets.TrialBatch) error {
	before, started := t.messages.affectedRows(), time.Now()
	defer func() {
		report.DurationMS, report.Rows = time.Since(started).Milliseconds(), t.messages.affectedRows()-before
	}()
	var args []driver.NamedValue
	if t.Options.BindParameters {
		args = bound(b.Text, t.Parameters)
	}
	for range b.Count {
		report.Runs++
		if err := t.batch(ctx, s, b.Text, b.Line, args); err != nil {
			report.Verdict, report.Reason = targets.VerdictFailed, describe(err).String()
			return err
		}
		open, id, err := t.trialState(ctx, s)
		switch {
		case err != nil:
			report.Verdict, report.Reason = targets.VerdictFailed, err.Error()
			return err
		case open == 1 && id == begun:
			continue
		case open > 1 && id == begun:
			report.Reason = fmt.Sprintf("The batch left a transaction open (@@TRANCOUNT was 1 before it and %d after it): everything was rolled back.", open)
		default:
			report.Reason = "The batch ended the transaction of the trial. If that was a COMMIT in a procedure or in dynamic T-SQL, what came before it is left; " +
				"everything else was rolled back."
		}
		report.Verdict = targets.VerdictEnded
		return &TrialError{fmt.Sprintf("Batch %d, line %d: %s", report.Batch, report.Line, report.Reason)}
	}
	return nil
}

// inTrial runs a query of the agent, and cuts the connection when ctx ends.
func (t *attempt) inTrial(ctx context.Context, s *session, ask func() error) error {
	defer cutAfter(ctx, s.wire, ackWait)()
	if err := ask(); err != nil {
		return causeOr(ctx, fmt.Errorf("the transaction of the trial: %w", err))
	}
	return nil
}

func (t *attempt) trialState(ctx context.Context, s *session) (open, id int64, err error) {
	var row [3]driver.Value
	err = t.inTrial(ctx, s, func() error { return s.row(ctx, trialState, row[:]) })
	if err != nil {
		return 0, 0, err
	}
	open, _ = row[0].(int64)
	id, _ = row[1].(int64)
	return open, id, nil
}

// rollBack rolls back the transaction, also after ctx has ended. If the server does not answer, it
// rolls back when the session ends.
func (t *attempt) rollBack(ctx context.Context, s *session) error {
	if _, broken := s.wire.state(); broken != nil {
		return broken
	}
	return t.inTrial(ctx, s, func() error { return s.exec(context.WithoutCancel(ctx), trialEnd) })
}

// measure adds the log and the locks of the transaction to a report. A value that cannot be read is
// not an error.
func (t *attempt) measure(ctx context.Context, s *session, report *targets.TrialBatch, logBytes *int64) {
	if _, broken := s.wire.state(); broken != nil || ctx.Err() != nil {
		return
	}
	var row [4]driver.Value
	text := Expand(trialLocks, Variables{"locks": IntValue(targets.MaxTrialLocks + 1)})
	if err := t.inTrial(ctx, s, func() error { return s.row(ctx, text, row[:]) }); err != nil {
		report.Unread = append(report.Unread, "log and locks: "+err.Error())
		return
	}
	if problem, ok := row[1].(string); ok {
		report.Unread = append(report.Unread, "log: "+problem)
	} else {
		used, _ := row[0].(int64)
		grown := used - *logBytes
		report.LogBytes, *logBytes = &grown, used
	}
	if problem, ok := row[3].(string); ok {
		report.Unread = append(report.Unread, "locks: "+problem)
		return
	}
	locks, _ := row[2].(string)
	if locks == "" {
		return
	}
	if err := json.Unmarshal([]byte(locks), &report.Locks); err != nil {
		report.Locks, report.Unread = nil, append(report.Unread, "locks: there are too many")
		return
	}
	if len(report.Locks) > targets.MaxTrialLocks {
		report.Locks, report.Unread = report.Locks[:targets.MaxTrialLocks], append(report.Unread, "locks: there are more")
	}
	for _, l := range report.Locks {
		if l.Object != "" && !slices.Contains(report.Objects, l.Object) {
			report.Objects = append(report.Objects, l.Object)
		}
	}
}

func batchCount(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return strconv.Itoa(n) + " batches"
}

// isTrialError reports whether err is the verdict of a trial or preflight.
func isTrialError(err error) bool {
	var tried *TrialError
	var found *PreflightError
	return errors.As(err, &tried) || errors.As(err, &found)
}
