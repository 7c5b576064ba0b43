package mssql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobagent/jobagent/targets"
)

// Read makes an attempt that only reads: it opens a session on the target whose batches are rolled
// back, and calls read with it. Its Command is not used. The outcome of an error of the login or of
// read is Failed, never Unknown, because nothing is changed. If ctx interrupts the attempt, the
// cause of ctx decides the outcome, as for Run.
func (r *Runner) Read(ctx context.Context, a targets.Attempt, read func(context.Context, *Session) error) (res targets.Result) {
	start := time.Now()
	defer func() { res.Elapsed = time.Since(start) }()
	s, err := r.servers.OpenSession(ctx, a.Target, Asking{
		Credential: a.Credential, ReadOnly: true, Primary: true, Admit: true, Description: a.Session,
	})
	res.Phases = []targets.Phase{{Name: targets.PhaseConnect, Start: start, End: time.Now(), Failed: err != nil}}
	if err == nil {
		res.Sent, res.SPID = true, s.SPID()
		err = read(ctx, s)
		s.Close()
	}
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		res.Outcome = targets.Succeeded
		return res
	case cause == nil || !errors.Is(err, cause):
		res.Outcome = targets.Failed
		res.Error = describe(err)
		res.Summary = res.Error.String()
	case errors.Is(cause, targets.ErrStopRequested):
		res.Outcome, res.Summary = targets.Canceled, "The run was stopped."
		res.Error.Class = targets.ClassStopped
	case errors.Is(cause, targets.ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		res.Outcome, res.Summary = targets.TimedOut, "The step's time limit passed."
		res.Error = describe(err)
	default:
		res.Outcome, res.Summary = targets.NotSent, fmt.Sprintf("The agent gave the attempt up (%v).", cause)
		res.Error.Class = targets.ClassStopped
	}
	res.Err = err
	return res
}
