package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Wait has the flags of the commands that wait for the end of a run.
type Wait struct {
	// Wanted is --wait. It is true for commands that always wait.
	Wanted       bool
	AllowSkipped bool
	Timeout      time.Duration
}

// WaitHelp is the part of help texts that says what a command that waits returns.
const WaitHelp = `While it waits, it shows the progress on stderr (--progress), and prints the run as a tree at the end.
It exits with
  0    if the run succeeded; a warning says how many targets were skipped
  7    if it did not succeed, or if no target ran: all were skipped, or the target groups had none.
       --allow-skipped accepts a run in which no target ran
  124  if --wait-timeout has passed; the run goes on
  130  after Ctrl-C; the run goes on
It waits through short outages of the control database.`

// AddFlags adds the flags. withWait also adds --wait, without which the others have no effect.
func (w *Wait) AddFlags(cmd *cobra.Command, withWait bool) {
	flags := cmd.Flags()
	if withWait {
		flags.BoolVar(&w.Wanted, "wait", false, fmt.Sprintf("wait for the end of the run; exit with %d if it does not succeed, or if no target ran", exit.CodeRunFailed))
	} else {
		w.Wanted = true
	}
	flags.BoolVar(&w.AllowSkipped, "allow-skipped", false, "while waiting: accept a run in which no target ran")
	command.AddDuration(flags, &w.Timeout, "wait-timeout", 0, fmt.Sprintf("wait at most so long, then exit with %d; the run goes on (0: no limit)", exit.CodeWaitTimeout))
}

// Check refuses flags that do not fit together. The command has changed nothing yet.
func (w *Wait) Check(cmd *cobra.Command) error {
	switch {
	case w.Timeout < 0:
		return exit.Usagef("invalid --wait-timeout %s: must not be negative", w.Timeout)
	case w.Wanted:
		return nil
	case w.AllowSkipped:
		return exit.Usagef("--allow-skipped needs --wait; see %s --help", cmd.CommandPath())
	case w.Timeout > 0:
		return exit.Usagef("--wait-timeout needs --wait; see %s --help", cmd.CommandPath())
	}
	return nil
}

// errWaitOver is the cause of the end of a context because of --wait-timeout.
var errWaitOver = errors.New("the time of --wait-timeout has passed")

// limit returns ctx with the time limit.
func (w *Wait) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, w.Timeout, errWaitOver)
}

// Started says which run a command has started, at once: whatever happens to the command, the run
// can be found. on names the databases on which it starts, if that is known. It goes to stderr;
// stdout has the result.
func Started(p *output.Printer, id uuid.UUID, job, on string) {
	fmt.Fprintf(p.Stderr, "run %s of job %s started%s\n", id, output.OneLine(job), on)
}

// Unrepeatable is what to return when a call has failed that changes something again if it is
// repeated. If the connection broke, the error names the command that shows whether the change was
// made, and what a repetition would do. Other errors stay as they are.
func Unrepeatable(err error, show, again string) error {
	if !errors.Is(err, dberror.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w; the change may have been made: see %s before you repeat the command, which would %s", err, show, again)
}

// Unanswered is what to return when the call that starts a run has failed. After Ctrl-C, or if the
// connection broke, it is not known whether the run has started. Other errors stay as they are.
// repeatable means that the command has the flag --execution-id, so that it can be repeated without
// a second run.
func Unanswered(ctx context.Context, p *output.Printer, id uuid.UUID, repeatable bool, err error) error {
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(p.Stderr, "interrupted while run %s was started: it may go on\n  to see it:   jobagent execution show %s\n  to stop it:  jobagent job stop %s\n",
			id, id, id)
		return exit.With(exit.CodeInterrupted, nil)
	case errors.Is(err, dberror.ErrUnreachable) && repeatable:
		return fmt.Errorf("%w; run %s may have started: see jobagent execution show %s; the same command with --execution-id %s does not start it twice",
			err, id, id, id)
	case errors.Is(err, dberror.ErrUnreachable):
		return fmt.Errorf("%w; run %s may have started: see jobagent execution show %s before you repeat the command, which would start another run",
			err, id, id)
	}
	return err
}

// Restarted is [Started] for a rerun.
func Restarted(p *output.Printer, id, origin uuid.UUID) {
	fmt.Fprintf(p.Stderr, "run %s started, a rerun of %s\n", id, origin)
}

// Watch waits for the end of a run and prints its tree, or the waves of a roll-out. It returns an
// error if the run did not succeed.
func Watch(ctx context.Context, p *output.Printer, store *controldb.Store, id uuid.UUID, w Wait) error {
	waiting, cancel := w.limit(ctx)
	defer cancel()
	f := &watched{
		follower: follower{store: executions.On(store), screen: newScreen(ctx, p), news: news{repeated: terminal.Is(p.Stdout) && !p.Structured()}}, rollouts: rollouts.On(store), id: id,
	}
	var rows []executions.Execution
	err := f.wait(waiting, f.read)
	if err == nil && f.rollout == nil {
		rows, err = f.rows(waiting, id)
	}
	switch {
	case err != nil && waiting.Err() != nil && f.rollout != nil:
		return w.goodbye(ctx, p.Stderr, "roll-out "+id.String(), "jobagent rollout watch "+id.String(), "jobagent rollout abort "+id.String())
	case err != nil && waiting.Err() != nil:
		return w.goodbye(ctx, p.Stderr, "run "+id.String(), "jobagent execution watch "+id.String(), "jobagent job stop "+id.String())
	case err != nil:
		return err
	case f.rollout != nil:
		return f.endRollout(ctx, p, store, w)
	}
	views := output.Each(rows, View)
	tree := NewTree(p)
	if terminal.Is(p.Stdout) {
		tree.Targets = shownTargets
	}
	if err := p.Emit(output.Executions{Executions: views}, func(out io.Writer) error { return tree.Print(out, rows, nil) }); err != nil {
		return err
	}
	return w.verdict(p, rows)
}

// goodbye says that what the command waited for goes on, after Ctrl-C or the time limit, and
// returns the exit code. watch and stop are commands.
func (w *Wait) goodbye(ctx context.Context, stderr io.Writer, what, watch, stop string) error {
	why, code := "interrupted", exit.CodeInterrupted
	if ctx.Err() == nil {
		why, code = fmt.Sprintf("waited for %s (--wait-timeout)", w.Timeout), exit.CodeWaitTimeout
	} else {
		// What is left to do, such as to close a connection, may be slow: a second Ctrl-C ends the
		// process at once.
		signal.Reset(os.Interrupt, syscall.SIGTERM)
	}
	fmt.Fprintf(stderr, "%s; %s goes on\n  to watch it: %s\n  to stop it:  %s\n", why, what, watch, stop)
	return exit.With(code, nil)
}

// verdict returns an error if the run did not succeed, or if none of its targets ran. It warns of
// targets that were skipped.
func (w *Wait) verdict(p *output.Printer, rows []executions.Execution) error {
	root := rows[0]
	if !root.Lifecycle.IsSuccess() {
		return exit.With(exit.CodeRunFailed, fmt.Errorf("run %s of job %s ended as %s; see jobagent execution errors %s", root.ID,
			root.JobName, root.Lifecycle, root.ID))
	}
	ran, skipped, failed := 0, 0, 0
	for _, e := range rows {
		switch {
		case !e.IsTarget():
		case e.Lifecycle == jobs.Skipped:
			skipped++
		default:
			ran++
			if e.Lifecycle.IsFailure() {
				failed++
			}
		}
	}
	why := "its target groups have no targets"
	if skipped > 0 {
		why = fmt.Sprintf("%s skipped", were(skipped, "target"))
	}
	switch {
	case ran == 0 && !w.AllowSkipped:
		return exit.With(exit.CodeRunFailed, fmt.Errorf("run %s of job %s ended as %s, but no target ran: %s; see jobagent execution explain %s, or accept it with --allow-skipped",
			root.ID, root.JobName, root.Lifecycle, why, root.ID))
	case ran == 0:
		return p.Warn([]string{fmt.Sprintf("no target ran: %s; see jobagent execution explain %s", why, root.ID)})
	}
	var warnings []string
	if failed > 0 {
		warnings = append(warnings, fmt.Sprintf("%s; see jobagent execution errors %s", jobs.Tolerated(failed, ran+skipped), root.ID))
	}
	if skipped > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d targets skipped; see jobagent execution explain %s", skipped, ran+skipped, root.ID))
	}
	return p.Warn(warnings)
}

// were writes "1 target was" or "3 targets were".
func were(n int, what string) string {
	return wording.Count(n, what) + wording.Plural(n, " was", " were")
}
