// Package rollout has the commands about roll-outs: runs of jobs with a plan, in waves.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// NewCommand returns `jobagent rollout`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("rollout", "Look at roll-outs, approve their waves, and control them",
		command.StandsFor("jobs.rollouts", newListCommand(a)),
		command.StandsFor("jobs.rollout_waves", a.Prints(output.RolloutDetail{}, newShowCommand(a))),
		a.Prints(output.Executions{}, newWatchCommand(a)),
		command.StandsFor("jobs.rollout_targets", newTargetsCommand(a)),
		a.Prints(output.RolloutPreview{}, newPreviewCommand(a)),
		newApproveCommand(a), newRejectCommand(a), newPauseCommand(a), newResumeCommand(a), newAbortCommand(a), newRetryCommand(a), newSkipCommand(a),
		newMoveCommand(a), newExtendCommand(a), newExtendDeadlineCommand(a),
		command.StandsFor("jobs.sp_undo_rollout", a.PrintsWith("--wait", output.Executions{}, a.Prints(output.StartedUndo{}, newUndoCommand(a)))),
	)
}

// parseID parses the ID of a roll-out.
func parseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id == uuid.Nil {
		return id, exit.Usagef("invalid ID %q of a roll-out: not a GUID; jobagent rollout list shows the latest roll-outs", s)
	}
	return id, nil
}

// columns are those of rollout list.
var columns = output.Columns([]output.Column[output.Rollout]{
	{Name: "job_execution_id", Header: "ROLLOUT ID", ID: true, GUID: true, Keep: true},
	{Name: "job_name", Header: "JOB", Min: 12, Keep: true},
	{Name: "job_version", Header: "VERSION", Drop: 14},
	{Name: "state", State: true, Keep: true},
	{Name: "wave", Drop: 5, Value: func(r output.Rollout) any { return r.Wave }, Text: func(r output.Rollout) string { return fmt.Sprintf("%d of %d", r.Wave, r.Waves) }},
	{Name: "wave_name", Min: 8, Drop: 6},
	{Name: "targets", Right: true, Drop: 7},
	{Name: "succeeded", Header: "OK", Right: true, Drop: 4},
	{Name: "failed", Right: true, Drop: 3},
	{Name: "unreached", Right: true, Wide: true},
	{Name: "created_at", Header: "CREATED", Drop: 8},
	{Name: "started_by", Wide: true},
	{Name: "ended_at", Header: "ENDED", Wide: true},
	{Name: "next_event", Header: "NEXT", Min: 16, Rest: true, Drop: 2, Text: func(r output.Rollout) string {
		if next := runs.NextEvent(r); next != "" {
			return next
		}
		return output.OneLine(r.Reason)
	}},
})

func newListCommand(a *connect.App) *cobra.Command {
	var f rollouts.Filter
	var states []string
	limit := 0
	cmd := &cobra.Command{
		Use: "list", Short: "List roll-outs, latest first", Args: cobra.NoArgs,
		Long: "List roll-outs, latest first: how far they are, and what happens next.",
		Example: `  jobagent rollout list --active
  jobagent rollout list --state WaitingForApproval,Stopped -o name`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", limit)
			}
			for _, s := range states {
				i := slices.IndexFunc(rollouts.States(), func(known rollouts.State) bool { return strings.EqualFold(string(known), s) })
				if i < 0 {
					return exit.Usagef("invalid --state %q: no roll-out has it", s)
				}
				f.States = append(f.States, rollouts.States()[i])
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, next, err := controldb.ReadPage(nil, limit, func(p controldb.Page[executions.Key]) ([]rollouts.Rollout, error) {
					return rollouts.On(store).Rollouts(cmd.Context(), f, p)
				}, rollouts.Rollout.Key)
				if err != nil {
					return err
				}
				if len(list) == 0 && f.JobName != "" { // does the job exist?
					if _, err := lookup.Job(cmd.Context(), store, f.JobName); err != nil {
						return err
					}
				}
				rows := output.Each(list, output.NewRollout)
				if err := output.List(&a.Printer, rows, columns); err != nil {
					return err
				}
				if next != nil && (a.Text() || !cmd.Flags().Changed("limit")) {
					fmt.Fprintf(a.Stderr, "There are more roll-outs: --limit shows more than %d, --job and --active choose.\n", len(rows))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&f.JobName, "job", "", "only roll-outs of this job")
	cmd.Flags().BoolVar(&f.Active, "active", false, "only roll-outs that have not ended")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only roll-outs in these `states`, separated by commas")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of roll-outs")
	return command.List(&a.Printer, columns, cmd)
}

func newShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show ROLLOUT_ID", Short: "Show a roll-out with its waves, their gates, and what happens next", Args: cobra.ExactArgs(1),
		RunE: connect.One(a.ReadStore, parseID, func(cmd *cobra.Command, id uuid.UUID, store *controldb.Store) error {
			d, err := runs.ReadRollout(cmd.Context(), rollouts.On(store), id)
			if err != nil {
				return err
			}
			if d.Rollout.EndedAt == nil {
				if err := a.WarnPause(cmd.Context(), store); err != nil {
					return err
				}
			}
			return a.Emit(d, func(w io.Writer) error { return runs.PrintRollout(&a.Printer, w, d) })
		}),
	}
}

func newWatchCommand(a *connect.App) *cobra.Command {
	var wait runs.Wait
	cmd := &cobra.Command{
		Use: "watch ROLLOUT_ID", Short: fmt.Sprintf("Wait for the end of a roll-out; exit with %d if it does not succeed", exit.CodeRunFailed),
		Args: cobra.ExactArgs(1),
		Long: `Wait for the end of a roll-out, which may have ended already. While it waits, it shows the current wave on
stderr (--progress), and says when the roll-out waits for a person; it prints the waves at the end. It exits with
  0    if the roll-out succeeded
  7    if it was aborted, or failed, or has no targets; --allow-skipped accepts that
  124  if --wait-timeout has passed; the roll-out goes on
  130  after Ctrl-C; the roll-out goes on`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.Check(cmd); err != nil {
				return err
			}
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				return runs.Watch(cmd.Context(), &a.Printer, store, id, wait)
			})
		},
	}
	wait.AddFlags(cmd, false)
	return cmd
}

// targetColumns are those of rollout targets.
var targetColumns = output.Columns([]output.Column[output.RolloutTarget]{
	{Name: "wave", Right: true, Keep: true},
	{Name: "wave_name", Min: 8, Drop: 3, Text: func(t output.RolloutTarget) string {
		if t.Wave == 0 {
			return "(left out)"
		}
		return t.WaveName
	}},
	{Name: "place", Right: true, Drop: 4},
	{Name: "server_name", Header: "SERVER", Min: 10, Drop: 2},
	{Name: "database_name", Header: "DATABASE", Min: 12, Keep: true, ID: true},
	{Name: "state", State: true, Keep: true},
	{Name: "run_id", Header: "RUN", GUID: true, Drop: 5},
	{Name: "preflight", Min: 16, Rest: true, Drop: 1},
	{Name: "probe_before", Header: "BEFORE", Right: true, Drop: 7},
	{Name: "probe_value", Header: "PROBE", Right: true, Drop: 6},
	{Name: "probe_rows", Header: "PROBE ROWS", Right: true, Wide: true},
	{Name: "target_id", Header: "TARGET ID", Wide: true},
})

// pageOfTargets is the number of targets that one call reads.
const pageOfTargets = 5000

func newTargetsCommand(a *connect.App) *cobra.Command {
	var wave string
	var leftOut bool
	var states []string
	cmd := &cobra.Command{
		Use: "targets ROLLOUT_ID", Short: "List the targets of a roll-out by wave, with what became of them", Args: cobra.ExactArgs(1),
		Example: `  jobagent rollout targets 6f1d2c0e --wave canary
  jobagent rollout targets 6f1d2c0e --state Failed,Unknown -o csv > failed.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			if leftOut && wave != "" {
				return exit.Usagef("--left-out does not go with --wave: no wave has what is left out")
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				f := rollouts.TargetFilter{States: states}
				d, err := runs.ReadRollout(cmd.Context(), rollouts.On(store), id)
				if err != nil {
					return err
				}
				if leftOut {
					f.Wave = new(int)
				}
				if wave != "" {
					i := slices.IndexFunc(d.Waves, func(w output.RolloutWave) bool { return strings.EqualFold(w.Name, wave) })
					if i < 0 {
						return exit.With(exit.CodeNotFound, fmt.Errorf("the roll-out has no wave %q; jobagent rollout show %s lists its waves", wave, id))
					}
					f.Wave = &d.Waves[i].Wave
				}
				rows := []output.RolloutTarget{}
				err = eachTarget(cmd.Context(), store, id, f, func(t rollouts.Target) { rows = append(rows, output.RolloutTarget{Target: t}) })
				if err != nil {
					return err
				}
				return output.List(&a.Printer, rows, targetColumns)
			})
		},
	}
	cmd.Flags().StringVar(&wave, "wave", "", "only the targets of the wave with this `name`")
	cmd.Flags().BoolVar(&leftOut, "left-out", false, "only the targets that no wave selects")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only targets in these `states`, separated by commas")
	return command.List(&a.Printer, targetColumns, cmd)
}

// eachTarget reads the targets of a roll-out, page by page.
func eachTarget(
	ctx context.Context, store *controldb.Store, id uuid.UUID, f rollouts.TargetFilter, do func(rollouts.Target),
) error {
	var after *rollouts.TargetKey
	for {
		list, next, err := controldb.ReadPage(after, pageOfTargets, func(p controldb.Page[rollouts.TargetKey]) ([]rollouts.Target, error) {
			return rollouts.On(store).Targets(ctx, id, f, p)
		}, rollouts.Target.Key)
		if err != nil {
			return err
		}
		for _, t := range list {
			do(t)
		}
		if next == nil {
			return nil
		}
		after = next
	}
}

// change is a command that changes a roll-out: its usage, and its call.
type change struct {
	command   cobra.Command
	procedure string
	// ask is the question before it; empty: none.
	ask  string
	call func(ctx context.Context, store *controldb.Store, id uuid.UUID, args []string) error
	// done says what was done.
	done func(args []string) string
	// later means that an agent does it: the state of the roll-out is that from before, and says
	// nothing about what comes next.
	later bool
	// again is what a second call would do, if that differs from no effect or an error; empty: it
	// does not.
	again string
}

// newChange returns a command that changes a roll-out, and then says what happens next.
func newChange(a *connect.App, c change) *cobra.Command {
	cmd := &c.command
	if cmd.Args == nil {
		cmd.Args = cobra.ExactArgs(1)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID(args[0])
		if err != nil {
			return err
		}
		return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
			if c.ask != "" {
				if err := command.Confirm(cmd, command.Fixed(c.ask, id)); err != nil {
					return err
				}
			}
			if err := c.call(cmd.Context(), store, id, args); err != nil {
				if c.again != "" {
					err = runs.Unrepeatable(err, "jobagent rollout show "+id.String(), c.again)
				}
				return err
			}
			return c.print(cmd.Context(), a, store, id, c.done(args))
		})
	}
	if c.ask != "" {
		command.AddYes(cmd)
	}
	return command.StandsFor(c.procedure, a.Prints(output.ChangedRollout{}, cmd))
}

// print says what was done to a roll-out, and what happens next.
func (c *change) print(ctx context.Context, a *connect.App, store *controldb.Store, id uuid.UUID, done string) error {
	r, err := rollouts.On(store).Get(ctx, id)
	if errors.Is(err, rollouts.ErrNotFound) { // it has ended and was deleted
		return a.Done(output.ChangedRollout{ID: id}, "%s", done)
	}
	if err != nil {
		return err
	}
	v := output.NewRollout(r)
	changed := output.ChangedRollout{ID: id, State: v.State, NextEvent: v.NextEvent, NextEventAt: v.NextEventAt}
	if c.later {
		changed.NextEvent, changed.NextEventAt = "", nil
		return a.Done(changed, "%s; to see its end: jobagent rollout watch %s", done, id)
	}
	next := ""
	if text := runs.NextEvent(v); text != "" {
		next = "\nnext: " + text
	}
	return a.Done(changed, "%s; it is %s%s", done, v.State, next)
}

// said returns a function for change.done.
func said(text string) func(args []string) string {
	return func(args []string) string { return fmt.Sprintf(text, args[0]) }
}

func newApproveCommand(a *connect.App) *cobra.Command {
	var wave, note string
	cmd := newChange(a, change{
		command: cobra.Command{
			Use: "approve ROLLOUT_ID", Short: "Approve the wave of a roll-out that waits for it",
			Long: `Approve the wave that waits for an approval. With --wave, this is refused if another one waits by now. If the plan
asks for another person, who started the roll-out cannot approve. It is recorded who has approved.`,
		},
		procedure: "jobs.sp_approve_rollout",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ []string) error {
			return rollouts.On(store).Approve(ctx, id, wave, note)
		},
		done:  said("approved the roll-out %s"),
		again: "approve another wave if one waits by then, unless --wave names this one",
	})
	cmd.Flags().StringVar(&wave, "wave", "", "`name` of the wave that is meant; absent: the one that waits")
	cmd.Flags().StringVar(&note, "note", "", "`text` that is kept with the approval")
	return cmd
}

func newRejectCommand(a *connect.App) *cobra.Command {
	var reason string
	cmd := newChange(a, change{
		command: cobra.Command{
			Use: "reject ROLLOUT_ID", Short: "Refuse the approval of a roll-out: it pauses",
			Long: `Refuse the approval of a roll-out. It pauses with the reason; jobagent rollout resume lets it go on, and jobagent
rollout abort ends it.`,
		},
		procedure: "jobs.sp_reject_rollout",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ []string) error {
			return rollouts.On(store).Reject(ctx, id, reason)
		},
		done: said("rejected the roll-out %s"),
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that says why")
	cobra.CheckErr(cmd.MarkFlagRequired("reason"))
	return cmd
}

func newPauseCommand(a *connect.App) *cobra.Command {
	var reason string
	cmd := newChange(a, change{
		command: cobra.Command{
			Use: "pause ROLLOUT_ID", Short: "Pause a roll-out: no target and no wave starts",
			Long: "Pause a roll-out: no target and no wave starts until it is resumed. What runs goes on to its end.",
		},
		procedure: "jobs.sp_pause_rollout",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ []string) error {
			return rollouts.On(store).Pause(ctx, id, reason)
		},
		done: said("paused the roll-out %s"),
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that says why")
	return cmd
}

func newResumeCommand(a *connect.App) *cobra.Command {
	return newChange(a, change{
		command:   cobra.Command{Use: "resume ROLLOUT_ID", Short: "Let a paused roll-out go on"},
		procedure: "jobs.sp_resume_rollout",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ []string) error {
			return rollouts.On(store).Resume(ctx, id)
		},
		done: said("resumed the roll-out %s"),
	})
}

func newAbortCommand(a *connect.App) *cobra.Command {
	var reason string
	cmd := newChange(a, change{
		command: cobra.Command{
			Use: "abort ROLLOUT_ID", Short: "End a roll-out: nothing more starts",
			Long: `End a roll-out: nothing more starts, and it cannot be resumed. The plan says whether targets that run go on to
their end or are canceled. What has succeeded stays; jobagent rollout undo runs the compensating job there.`,
		},
		procedure: "jobs.sp_abort_rollout",
		ask:       "This ends the roll-out %s for good",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ []string) error {
			return rollouts.On(store).Abort(ctx, id, reason)
		},
		done:  said("asked the roll-out %s to end: nothing more starts"),
		later: true,
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that says why")
	return cmd
}

func newRetryCommand(a *connect.App) *cobra.Command {
	return newChange(a, change{
		command: cobra.Command{
			Use: "retry ROLLOUT_ID", Short: "Run again what did not succeed in the wave whose gate has failed",
			Long: `Run again what did not succeed in the wave whose gate has failed, such as after the cause was mended. Then its
gates are evaluated again.`,
		},
		procedure: "jobs.sp_retry_rollout_wave",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ []string) error {
			return rollouts.On(store).RetryWave(ctx, id)
		},
		done: said("retries the wave of the roll-out %s"),
	})
}

// skipWave skips a wave; without a name, the control database chooses it. It returns what to call
// the wave. An error means that nothing was skipped: a repetition may skip another wave.
func skipWave(ctx context.Context, store rollouts.Store, id uuid.UUID, name string) (called string, err error) {
	if name != "" {
		return fmt.Sprintf("the wave '%s'", name), store.SkipWave(ctx, id, name)
	}
	before, err := store.Waves(ctx, id)
	if err != nil {
		return "", err
	}
	if err := store.SkipWave(ctx, id, ""); err != nil {
		return "", err
	}
	after, _ := store.Waves(ctx, id) // without them, the message does not name the wave
	for i, w := range after {
		if i < len(before) && w.State == rollouts.WaveSkipped && before[i].State != w.State {
			return fmt.Sprintf("the wave '%s'", w.Name), nil
		}
	}
	return "a wave", nil
}

func newSkipCommand(a *connect.App) *cobra.Command {
	var wave, skipped string
	cmd := newChange(a, change{
		command: cobra.Command{
			Use: "skip ROLLOUT_ID", Short: "Skip a wave: go on behind it",
			Long: `Skip a wave. Without --wave, this is the current wave if a gate of it has failed: the roll-out goes on as if it had
passed; else it is the next one, whose targets do not run.`,
		},
		procedure: "jobs.sp_skip_rollout_wave",
		ask:       "This skips a wave of the roll-out %s",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ []string) (err error) {
			skipped, err = skipWave(ctx, rollouts.On(store), id, wave)
			return err
		},
		done:  func(args []string) string { return fmt.Sprintf("skipped %s of the roll-out %s", skipped, args[0]) },
		again: "skip another wave, unless --wave names this one",
	})
	cmd.Flags().StringVar(&wave, "wave", "", "`name` of the wave")
	return cmd
}

// targetOf returns a target that is named by server and database, or by its ID.
func targetOf(text string) (targets.Target, error) {
	if id, err := uuid.Parse(text); err == nil {
		return targets.Target{ID: id}, nil
	}
	server, database, ok := strings.Cut(text, "/")
	if !ok || server == "" || database == "" {
		return targets.Target{}, exit.Usagef("invalid target %q: want SERVER/DATABASE, or a GUID", text)
	}
	return targets.NewTarget(server, database, ""), nil
}

func newMoveCommand(a *connect.App) *cobra.Command {
	var wave string
	cmd := newChange(a, change{
		command: cobra.Command{
			Use: "move ROLLOUT_ID SERVER/DATABASE", Short: "Move a target that is to come to the last wave, or to another one", Args: cobra.ExactArgs(2),
			Example: "  jobagent rollout move 6f1d2c0e sql-1/tenant_0042\n  jobagent rollout move 6f1d2c0e sql-1/tenant_0042 --wave canary",
		},
		procedure: "jobs.sp_move_rollout_target",
		call: func(ctx context.Context, store *controldb.Store, id uuid.UUID, args []string) error {
			target, err := targetOf(args[1])
			if err != nil {
				return err
			}
			if err = rollouts.On(store).MoveTarget(ctx, id, target, wave); err != nil {
				err = fmt.Errorf("%s: %w", args[1], err) // the control database knows its ID only
			}
			return err
		},
		done: func(args []string) string { return fmt.Sprintf("moved %s in the roll-out %s", args[1], args[0]) },
	})
	cmd.Flags().StringVar(&wave, "wave", "", "`name` of the wave that gets it; absent: the last one")
	return cmd
}

func newExtendCommand(a *connect.App) *cobra.Command {
	return newChange(a, change{
		command: cobra.Command{
			Use: "extend ROLLOUT_ID DURATION", Short: "Make the bake of the current wave longer", Args: cobra.ExactArgs(2),
			Example: "  jobagent rollout extend 6f1d2c0e 2h",
		},
		procedure: "jobs.sp_extend_rollout_bake",
		call:      longer(rollouts.Store.ExtendBake),
		done: func(args []string) string {
			return fmt.Sprintf("extended the bake of the roll-out %s by %s", args[0], args[1])
		},
		again: "extend it once more",
	})
}

func newExtendDeadlineCommand(a *connect.App) *cobra.Command {
	return newChange(a, change{
		command: cobra.Command{
			Use: "extend-deadline ROLLOUT_ID DURATION", Short: "Give a roll-out more time until its deadline", Args: cobra.ExactArgs(2),
			Long: `Give a roll-out more time until its deadline: from the deadline on, or from now on if it has passed. A roll-out that
has paused at its deadline stays paused until it is resumed.`,
			Example: "  jobagent rollout extend-deadline 6f1d2c0e 1d",
		},
		procedure: "jobs.sp_extend_rollout_deadline",
		call:      longer(rollouts.Store.ExtendDeadline),
		done: func(args []string) string {
			return fmt.Sprintf("extended the deadline of the roll-out %s by %s", args[0], args[1])
		},
		again: "extend it once more",
	})
}

// longer returns the call of a command whose second argument is a duration.
func longer(
	extend func(rollouts.Store, context.Context, uuid.UUID, time.Duration) error,
) func(ctx context.Context, store *controldb.Store, id uuid.UUID, args []string) error {
	return func(ctx context.Context, store *controldb.Store, id uuid.UUID, args []string) error {
		by, err := command.ParsePeriod(args[1])
		if err != nil {
			return exit.Usagef("invalid duration %q: %w", args[1], err)
		}
		if by < time.Second {
			return exit.Usagef("invalid duration %q: want at least a second", args[1])
		}
		return extend(rollouts.On(store), ctx, id, by)
	}
}

func newUndoCommand(a *connect.App) *cobra.Command {
	var wait runs.Wait
	req := rollouts.UndoRequest{}
	cmd := &cobra.Command{
		Use: "undo ROLLOUT_ID", Short: "Run the compensating job where a roll-out has changed something", Args: cobra.ExactArgs(1),
		Long: `Run the compensating job of the plan on the targets that a roll-out has changed, as a roll-out of its own, in the
reverse order of the waves. The roll-out must have ended. A target that a later roll-out has touched is refused,
unless --force is given.`,
		Example: "  jobagent rollout undo 6f1d2c0e --hold\n  jobagent rollout undo 6f1d2c0e --only Succeeded,Unknown,Failed --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.Check(cmd); err != nil {
				return err
			}
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			req.Rollout, req.ID = id, uuid.New()
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				err := command.Confirm(cmd, func() (string, int, error) {
					d, err := runs.ReadRollout(cmd.Context(), rollouts.On(store), id)
					return fmt.Sprintf("This undoes the roll-out %s of the job %s, where %s", id, d.Rollout.JobName,
						wording.Count(d.Rollout.Succeeded, "target")+" succeeded"), d.Rollout.Succeeded + d.Rollout.Unknown, err
				})
				if err != nil {
					return err
				}
				undo, err := rollouts.On(store).Undo(cmd.Context(), req)
				if err != nil {
					return runs.Unanswered(cmd.Context(), &a.Printer, req.ID, false, err)
				}
				if !wait.Wanted {
					return a.Done(output.StartedUndo{ID: undo, UndoOf: id}, "started %s, which undoes %s\nto follow it: jobagent rollout watch %s", undo, id, undo)
				}
				fmt.Fprintf(a.Stderr, "roll-out %s started, which undoes %s\n", undo, id)
				return runs.Watch(cmd.Context(), &a.Printer, store, undo, wait)
			})
		},
	}
	cmd.Flags().StringVar(&req.Only, "only", "", "`states` of the targets that are undone, separated by commas (default Succeeded,Unknown)")
	cmd.Flags().BoolVar(&req.Force, "force", false, "undo also targets that a later roll-out has touched")
	cmd.Flags().BoolVar(&req.Hold, "hold", false, "pause when the targets are assigned, so that one can look at them first")
	wait.AddFlags(cmd, true)
	command.AddYes(cmd)
	return cmd
}
