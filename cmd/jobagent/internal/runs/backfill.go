package runs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// BackfillWaitHelp is [WaitHelp] for a backfill.
const BackfillWaitHelp = `With --wait, the command waits for the end of all runs, and shows their progress on stderr
(--progress). It exits with
  0    if all runs succeeded
  7    if a run did not succeed, if no target ran in a run, or if none was started; --allow-skipped accepts
       the last two
  124  if --wait-timeout has passed; the backfill goes on
  130  after Ctrl-C; the backfill goes on`

// WatchBackfill waits for the end of a backfill and its runs, of which there are at most most (0:
// not known), and prints their numbers. It returns an error if a run did not succeed.
func WatchBackfill(ctx context.Context, p *output.Printer, store *controldb.Store, id controldb.BackfillID, most int, w Wait) error {
	waiting, cancel := w.limit(ctx)
	defer cancel()
	b := &backfill{follower: follower{store: executions.On(store), screen: newScreen(ctx, p)}, store: timetable.On(store), id: id, most: most}
	err := b.wait(waiting, b.read)
	switch {
	case err != nil && waiting.Err() != nil:
		return w.goodbye(ctx, p.Stderr, fmt.Sprintf("backfill %d", id), fmt.Sprintf("jobagent schedule show %s", quoted(b.news.backfill.JobName, b.news.backfill.Name)),
			fmt.Sprintf("jobagent schedule cancel-backfill %d", id))
	case err != nil:
		return err
	}
	result := b.result()
	if err := p.Emit(result, func(out io.Writer) error {
		_, err := fmt.Fprintln(out, describeBackfill(result))
		return err
	}); err != nil {
		return err
	}
	idle := 0
	if !w.AllowSkipped {
		if idle, err = timetable.On(store).BackfillRunsWithoutTarget(ctx, id); err != nil {
			return err
		}
	}
	return b.verdict(p, w, idle)
}

// quoted writes arguments for a shell, those that are not empty.
func quoted(args ...string) string {
	var list []string
	for _, arg := range args {
		if arg != "" {
			list = append(list, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
		}
	}
	return strings.Join(list, " ")
}

// backfillReader reads backfills; a [timetable.Store] is one.
type backfillReader interface {
	BackfillWatch(ctx context.Context, id controldb.BackfillID) (timetable.BackfillWatch, error)
}

// backfill follows a backfill. It shows the numbers of its runs, and the active run of the earliest
// instant.
type backfill struct {
	follower
	store backfillReader
	id    controldb.BackfillID
	most  int
}

// read reads the state of the backfill, and of its active run.
func (b *backfill) read(ctx context.Context, before news) (after news, ended bool, err error) {
	w, err := b.store.BackfillWatch(ctx, b.id)
	if err != nil {
		return before, false, err
	}
	after = before
	run := w.Active
	if last := before.run; run == uuid.Nil && last != nil && last.Run.Active {
		run = last.ID // how it ended
	}
	if run != uuid.Nil {
		after, _, err = readRun(ctx, b.follower.store, run, before)
		if exit.Code(err) == exit.CodeNotFound {
			after.run = nil // it was deleted meanwhile
		} else if err != nil {
			return before, false, err
		}
	}
	after.backfill, after.notes = w, agentNote(w.LiveAgents, !w.Ended())
	after.counts = jobs.Counts{}
	for l, n := range w.Runs {
		if l == jobs.WaitingForChildJobExecutions {
			l = jobs.InProgress
		}
		after.counts.Add(l, n)
	}
	after.counts.Skipped += w.Skipped
	if after.counts.Waiting += w.Buffered; w.State == "Open" {
		after.counts.Waiting += max(0, b.most-after.counts.Total())
	}
	after.title = b.title(after)
	return after, w.Ended(), nil
}

// title says how far the backfill is.
func (b *backfill) title(n news) string {
	w, c := n.backfill, n.counts
	name := w.JobName
	if w.Name != "" {
		name += " / " + w.Name
	}
	text := fmt.Sprintf("backfill %d of %s: %s of %s runs ended", b.id, output.OneLine(name), terminal.Number(c.Ended()-c.Skipped),
		terminal.Number(c.Total()-c.Skipped))
	for _, part := range []struct {
		n    int
		text string
	}{{c.Failed, "failed"}, {c.Canceled, "canceled"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", terminal.Number(part.n), part.text)
		}
	}
	if w.Skipped > 0 {
		text += ", " + wording.Count(w.Skipped, "instant") + " skipped"
	}
	return text
}

// result is what the command prints.
func (b *backfill) result() output.EndedBackfill {
	w := b.news.backfill
	r := output.EndedBackfill{ID: int64(b.id), Job: w.JobName, Name: w.Name, State: w.State, Reason: w.Reason, Skipped: w.Skipped, Runs: []output.RunTotal{}}
	for l, n := range w.Runs {
		r.Runs = append(r.Runs, output.RunTotal{Lifecycle: l, Total: n})
	}
	slices.SortFunc(r.Runs, func(x, y output.RunTotal) int { return strings.Compare(string(x.Lifecycle), string(y.Lifecycle)) })
	return r
}

// describeBackfill is the result as a line.
func describeBackfill(r output.EndedBackfill) string {
	var parts []string
	for _, t := range r.Runs {
		parts = append(parts, fmt.Sprintf("%d %s", t.Total, t.Lifecycle))
	}
	if len(parts) == 0 {
		parts = []string{"no run was started"}
	}
	if r.Skipped > 0 {
		parts = append(parts, wording.Count(r.Skipped, "instant")+" skipped")
	}
	text := fmt.Sprintf("backfill %d ended as %s: %s", r.ID, r.State, strings.Join(parts, ", "))
	if r.Reason != "" {
		text += "; " + output.OneLine(r.Reason)
	}
	return text
}

// verdict returns an error if a run did not succeed, or if there was none. idle is the number of
// runs in which no target ran; the options may accept them.
func (b *backfill) verdict(p *output.Printer, w Wait, idle int) error {
	runs, bad := 0, 0
	for l, n := range b.news.backfill.Runs {
		runs += n
		if !l.IsSuccess() {
			bad += n
		}
	}
	failed := func(format string, args ...any) error {
		return exit.With(exit.CodeRunFailed, fmt.Errorf(format, args...))
	}
	switch {
	case bad > 0:
		return failed("%d of %d runs of backfill %d did not succeed; see jobagent execution list --job %s", bad, runs, b.id, quoted(b.news.backfill.JobName))
	case b.news.backfill.State != "Completed":
		return failed("backfill %d ended as %s: %s", b.id, b.news.backfill.State, output.OneLine(cmp.Or(b.news.backfill.Reason, "see jobagent schedule show")))
	case runs == 0 && !w.AllowSkipped:
		return failed("backfill %d started no run: no instant of the range is without a run; accept it with --allow-skipped", b.id)
	case idle > 0 && !w.AllowSkipped:
		return failed("no target ran in %d of %d runs of backfill %d; see jobagent execution list --job %s, or accept it with --allow-skipped",
			idle, runs, b.id, quoted(b.news.backfill.JobName))
	case b.news.backfill.Skipped > 0:
		return p.Warn([]string{fmt.Sprintf("%s skipped; see jobagent schedule show %s", were(b.news.backfill.Skipped, "instant"), quoted(b.news.backfill.JobName, b.news.backfill.Name))})
	}
	return nil
}
