package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// verdictWait is how long --wait waits for an agent's verdict: new schedules are judged within a second.
const verdictWait = 5 * time.Second

// definitionFlags are the flags of schedule add and update.
type definitionFlags struct {
	kind, file, zone, catchUp, overlap string
	lines                              map[schedule.Kind]*string // the text of a kind of one line
	pauseOnFailure, enabled, wait      bool
}

// lineKinds are the kinds whose text may be given on the command line, by a flag that names the kind: nothing guesses it (D-E3).
var lineKinds = []struct {
	kind    schedule.Kind
	example string
}{
	{schedule.KindCron5, "'0 2 * * *'"}, {schedule.KindCron6, "'0 0 2 * * *'"}, {schedule.KindQuartz, "'0 0 2 ? * MON-FRI'"}, {schedule.KindRRule, "'FREQ=DAILY;BYHOUR=2'"},
}

// overlaps are the policies of @overlap.
var overlaps = []string{"Skip", "BufferOne", "BufferAll", "CancelOther", "TerminateOther", "AllowAll", "Elastic"}

func (f *definitionFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", fmt.Sprintf("kind of the definition: %s", kindList()))
	flags.StringVar(&f.file, "spec", "", "`file` that holds the definition; - for standard input")
	f.lines = map[schedule.Kind]*string{}
	for _, l := range lineKinds {
		f.lines[l.kind] = flags.String(string(l.kind), "", fmt.Sprintf("definition of the kind %s, such as %s, instead of --kind and --spec", l.kind, l.example))
	}
	flags.StringVar(&f.zone, "time-zone", "", "time zone (IANA name), if the definition does not say it (default UTC)")
	flags.StringVar(&f.catchUp, "catch-up", "", "what happens to missed runs: last, none, all, window:DURATION or sap-20min")
	flags.StringVar(&f.overlap, "overlap", "", "what happens while an earlier run is active: "+strings.Join(overlaps, ", "))
	flags.BoolVar(&f.pauseOnFailure, "pause-on-failure", false, "pause the schedule when a run of it fails")
	flags.BoolVar(&f.enabled, "enabled", true, "let the schedule run the job")
	flags.BoolVar(&f.wait, "wait", false, fmt.Sprintf("wait for the agent's verdict, at most %s", verdictWait))
}

func kindList() string {
	var names []string
	for _, k := range schedule.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// definition reads kind and text; given says whether there are any.
func (f *definitionFlags) definition(cmd *cobra.Command, stdin io.Reader) (kind schedule.Kind, spec string, given bool, err error) {
	var named []string
	for _, l := range lineKinds {
		if cmd.Flags().Changed(string(l.kind)) {
			kind, spec = l.kind, *f.lines[l.kind]
			named = append(named, "--"+string(l.kind))
		}
	}
	if cmd.Flags().Changed("kind") || f.file != "" {
		named = append(named, "--kind with --spec")
	}
	switch {
	case len(named) == 0:
		return "", "", false, nil
	case len(named) > 1:
		return "", "", false, usagef("%s exclude each other", strings.Join(named, " and "))
	case f.kind == "" && f.file == "":
		return kind, spec, true, nil
	case f.kind == "" || f.file == "":
		return "", "", false, usagef("--kind and --spec belong together")
	}
	text, err := readSpec(f.file, stdin)
	return schedule.Kind(f.kind), string(text), true, err
}

// checked is a definition that was read here, before the database has it.
type checked struct {
	zone *time.Location
	due  []time.Time
	more bool
	plan *schedule.Plan
}

// check reads a definition as an agent will, which was made at a moment. The error is a *schedule.Error with every fault.
func (a *app) check(ctx context.Context, store *controldb.Store, kind schedule.Kind, spec, zone, catchUp, overlap string, made, now time.Time) (checked, error) {
	var faults []schedule.Fault
	merge := func(err error) {
		var all *schedule.Error
		if errors.As(err, &all) {
			faults = append(faults, all.Faults...)
		}
	}
	o := schedule.Options{Zone: zone, Created: made}
	if made.Before(now) {
		o.Activated = now
	}
	if strings.Contains(spec, "blackouts") {
		list, err := store.Calendars(ctx, "")
		if err != nil {
			return checked{}, err
		}
		texts := map[string]string{}
		for _, c := range list {
			texts[c.Name] = c.Spec
		}
		o.Calendars, o.BrokenCalendars = schedule.ReadCalendars(texts)
	}
	plan, err := schedule.Parse(kind, []byte(spec), o)
	merge(err)
	_, err = schedule.ParseCatchUp(catchUp)
	merge(err)
	if overlap != "" && !slices.ContainsFunc(overlaps, func(o string) bool { return strings.EqualFold(o, overlap) }) {
		faults = append(faults, schedule.Fault{Path: "overlap", Value: strconv.Quote(overlap), Allowed: "one of " + strings.Join(overlaps, ", "), Nearest: schedule.Nearest(overlap, overlaps)})
	}
	if len(faults) > 0 {
		return checked{}, &schedule.Error{Faults: faults}
	}
	c := checked{zone: plan.Zone, plan: plan}
	// An instant equal to now is still to come. One more than is shown, to see whether there is more.
	c.due = schedule.Preview(plan, now.Truncate(time.Second).Add(-time.Nanosecond), 6)
	if c.more = len(c.due) > 5; c.more {
		c.due = c.due[:5]
	}
	return c, nil
}

// faulty prints every fault of a definition: on stdout as JSON, else a line each on stderr.
func (a *app) faulty(err error) error {
	var all *schedule.Error
	if !errors.As(err, &all) {
		return err
	}
	if a.output == formatJSON {
		if err := writeJSON(a.stdout, schedule.ErrorJSON(err)); err != nil {
			return err
		}
		return exitWith(exitUsage, nil)
	}
	for _, f := range all.Faults {
		fmt.Fprintf(a.stderr, "error: %s\n", oneLine(f.String()))
	}
	return exitWith(exitUsage, nil)
}

// definedView is what schedule add and update print with -o json.
type definedView struct {
	Job      string   `json:"job_name"`
	Name     string   `json:"schedule_name"`
	ID       int64    `json:"schedule_id,omitempty"`
	Zone     string   `json:"time_zone,omitempty"`
	Due      []string `json:"due"`
	DueLocal []string `json:"due_local,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// State and Reason are those that the database has; with --wait after the agent's verdict.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// defined prints what a definition will do (D-E4), after it was stored. Of a schedule that is disabled or paused it says what would be, if
// the definition is new, and else nothing.
func (a *app) defined(ctx context.Context, store *controldb.Store, v definedView, c *checked, verb string, isNew, wait bool) error {
	row, waited, err := a.verdict(ctx, store, v.Job, v.Name, wait)
	if err != nil {
		return err
	}
	v.State, v.Reason = row.State, row.Reason
	idle := ""
	switch {
	case !row.Enabled:
		idle = "It is disabled: nothing is due until jobagent schedule enable"
	case row.Paused:
		idle = "It is paused: nothing is due until jobagent schedule resume"
	}
	v.Due = []string{}
	if c != nil {
		v.Zone, v.Warnings = c.zone.String(), c.plan.Warnings
		switch {
		case idle != "" && isNew:
			idle += ", which would give"
		case idle != "":
			c = nil
		case row.State == "Faulted":
			c = nil
		case !row.ValidatedTime.IsZero(): // what the agent says is what will be
			c.due, c.more = row.Upcoming[:min(len(row.Upcoming), 5)], len(row.Upcoming) > 5
		}
	}
	if c != nil {
		for _, at := range c.due {
			v.Due = append(v.Due, at.Format(time.RFC3339))
			v.DueLocal = append(v.DueLocal, at.In(c.zone).Format(time.RFC3339))
		}
	}
	err = a.emit(v, func(w io.Writer) error {
		fmt.Fprintf(w, "%s schedule %s of job %s\n", verb, v.Name, v.Job)
		switch {
		case idle != "" && c != nil:
			fmt.Fprintln(w, idle+":")
		case idle != "":
			fmt.Fprintln(w, idle+".")
		}
		if c != nil && len(c.due) == 0 {
			fmt.Fprintln(w, "Nothing is due.")
		} else if c != nil {
			if err := printDue(w, c.due, c.zone); err != nil {
				return err
			}
			if !c.more {
				fmt.Fprintln(w, "Nothing is due after that.")
			}
		}
		if err := a.warn(v.Warnings); err != nil {
			return err
		}
		if waited != "" {
			fmt.Fprintln(w, waited)
		}
		return nil
	})
	if err == nil && row.State == "Faulted" {
		err = exitWith(exitFailure, fmt.Errorf("the agent finds the schedule faulty, and it will not run: %s; jobagent schedule show %s %s lists all faults", row.Reason, v.Job, v.Name))
	}
	return err
}

// printDue lists instants in UTC and in a zone.
func printDue(w io.Writer, due []time.Time, zone *time.Location) error {
	name := zone.String()
	if name == "" { // a fixed offset
		name = time.Unix(0, 0).In(zone).Format("-07:00")
	}
	t := newTable("DUE (UTC)", "IN "+name)
	for _, at := range due {
		t.add(at.UTC().Format(time.RFC3339), at.In(zone).Format(time.RFC3339))
	}
	return t.write(w)
}

// verdict reads a schedule's row, after waiting for an agent to judge it if that is wanted and one is alive; said is what came of it.
func (a *app) verdict(ctx context.Context, store *controldb.Store, job, name string, wait bool) (row controldb.Schedule, said string, err error) {
	if row, err = findSchedule(ctx, store, job, name); err != nil || !wait {
		return row, "", err
	}
	if alive, known := agentAlive(ctx, store); known && !alive {
		return row, "No agent is alive: the schedule waits for one to validate it (jobagent run).", nil
	}
	interrupted := ctx
	ctx, cancel := context.WithTimeout(ctx, verdictWait)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for row.ValidatedTime.IsZero() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err := interrupted.Err(); err != nil {
				return row, "", err
			}
			return row, fmt.Sprintf("No agent has judged the schedule within %s; jobagent schedule explain says more.", verdictWait), nil
		}
		next, err := findSchedule(ctx, store, job, name)
		switch {
		case err == nil:
			row = next
		case ctx.Err() == nil:
			return row, "", err
		}
	}
	return row, fmt.Sprintf("An agent has judged it: %s.", row.State), nil
}

// agentAlive says whether any agent is; known is false for a login that may not see that.
func agentAlive(ctx context.Context, store *controldb.Store) (alive, known bool) {
	n, err := store.LiveAgents(ctx)
	return n > 0, err == nil
}

// findSchedule reads one schedule.
func findSchedule(ctx context.Context, store *controldb.Store, job, name string) (controldb.Schedule, error) {
	list, err := store.Schedules(ctx, controldb.ScheduleFilter{JobName: job, Name: &name})
	if err != nil {
		return controldb.Schedule{}, err
	}
	if len(list) == 0 {
		if _, err := findJob(ctx, store, job); err != nil {
			return controldb.Schedule{}, err
		}
		return controldb.Schedule{}, exitWith(exitNotFound, fmt.Errorf("job %q has no schedule %q; jobagent schedule list --job shows what it has", job, name))
	}
	return list[0], nil
}

func newScheduleAddCommand(a *app) *cobra.Command {
	var f definitionFlags
	cmd := &cobra.Command{
		Use: "add JOB NAME", Short: "Add a schedule to a job, and show when it is due",
		Long: fmt.Sprintf(`Add a schedule to a job, and show the next five instants at which it is due, in UTC and in its zone.

  jobagent schedule add 'nightly index' weekdays --cron5 '0 2 * * 1-5' --time-zone Europe/Berlin
  jobagent schedule add 'nightly index' month-end --kind azure-scheduler --spec month-end.json

A faulty definition is not stored: the command exits with %d and lists all of its faults at once.`, exitUsage),
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, spec, ok, err := f.definition(cmd, a.stdin)
			if err != nil {
				return err
			}
			if !ok {
				return usagef("a definition is needed: --kind with --spec, or one of --cron5, --cron6, --quartz, --rrule")
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				now := time.Now().UTC()
				c, err := a.check(cmd.Context(), store, kind, spec, f.zone, f.catchUp, f.overlap, now, now)
				if err != nil {
					return a.faulty(err)
				}
				id, err := store.AddSchedule(cmd.Context(), controldb.ScheduleSpec{
					JobName: args[0], Name: args[1], Kind: string(kind), Spec: spec, TimeZone: given(cmd, "time-zone", f.zone), CatchUp: given(cmd, "catch-up", f.catchUp),
					Overlap: given(cmd, "overlap", f.overlap), PauseOnFailure: given(cmd, "pause-on-failure", f.pauseOnFailure), Enabled: given(cmd, "enabled", f.enabled),
				})
				if err != nil {
					return err
				}
				return a.defined(cmd.Context(), store, definedView{Job: args[0], Name: args[1], ID: int64(id)}, &c, "added", true, f.wait)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func newScheduleUpdateCommand(a *app) *cobra.Command {
	var f definitionFlags
	var newName string
	cmd := &cobra.Command{
		Use: "update JOB NAME", Short: "Change what is given of a schedule; the rest stays as it is",
		Long: `Change what is given of a schedule; the rest stays as it is. What was due before the change and did not run is dropped. --time-zone '',
--catch-up '' and --overlap '' return to the default. The schedule of the job's own definition is changed by jobagent job update.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, spec, ok, err := f.definition(cmd, a.stdin)
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				old, err := findSchedule(cmd.Context(), store, args[0], args[1])
				if err != nil {
					return err
				}
				u := controldb.ScheduleUpdate{
					JobName: args[0], Name: args[1], NewName: given(cmd, "new-name", newName), TimeZone: given(cmd, "time-zone", f.zone),
					CatchUp: given(cmd, "catch-up", f.catchUp), Overlap: given(cmd, "overlap", f.overlap),
					PauseOnFailure: given(cmd, "pause-on-failure", f.pauseOnFailure), Enabled: given(cmd, "enabled", f.enabled),
				}
				now := time.Now().UTC()
				made := now
				if ok {
					k := string(kind)
					u.Kind, u.Spec = &k, &spec
				}
				if !ok || string(kind) == old.Kind && spec == old.Spec {
					kind, spec, made = schedule.Kind(old.Kind), old.Spec, old.DefinedTime
				}
				zone := f.zone
				if u.TimeZone == nil {
					zone = givenZone(old)
				}
				var c *checked
				result, err := a.check(cmd.Context(), store, kind, spec, zone, f.catchUp, f.overlap, made, now)
				switch {
				case err == nil:
					c = &result
				case ok || u.TimeZone != nil || u.CatchUp != nil || u.Overlap != nil:
					return a.faulty(err)
				}
				if err := store.UpdateSchedule(cmd.Context(), u); err != nil {
					return err
				}
				name := cmp.Or(newName, args[1])
				return a.defined(cmd.Context(), store, definedView{Job: args[0], Name: name, ID: int64(old.ID)}, c, "updated", ok || u.TimeZone != nil, f.wait)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&newName, "new-name", "", "rename the schedule")
	return cmd
}

// ownZone matches a definition that names its zone itself.
var ownZone = regexp.MustCompile(`"timeZone"|TZID=`)

// givenZone is the zone that was given beside a schedule's definition. The row shows the one that the agent has found, which may come from the definition.
func givenZone(s controldb.Schedule) string {
	if ownZone.MatchString(s.Spec) || strings.HasPrefix(s.TimeZone, "+") || strings.HasPrefix(s.TimeZone, "-") {
		return ""
	}
	return s.TimeZone
}

func newScheduleDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "delete JOB NAME", Short: "Delete a schedule; what it started goes on", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				if err := store.DeleteSchedule(cmd.Context(), args[0], args[1]); err != nil {
					return err
				}
				return a.done(map[string]any{"job_name": args[0], "schedule_name": args[1]}, "deleted schedule %s of job %s", args[1], args[0])
			})
		},
	}
}

// optionalName is a schedule's name: without one, that of the job's own definition is meant.
func optionalName(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// scheduleWords are a schedule in a sentence.
func scheduleWords(job, name string) string {
	if name == "" {
		return "the schedule of job " + job
	}
	return fmt.Sprintf("schedule %s of job %s", name, job)
}

func newScheduleEnableCommand(a *app, use string, enabled bool) *cobra.Command {
	short := "Let a schedule run its job; what was due before is dropped"
	if !enabled {
		short = "Keep a schedule from running its job"
	}
	return &cobra.Command{
		Use: use + " JOB [NAME]", Short: short, Args: cobra.RangeArgs(1, 2),
		Long: short + ". Without NAME it is the schedule of the job's own definition.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				name := optionalName(args)
				if err := store.EnableSchedule(cmd.Context(), args[0], name, enabled); err != nil {
					return err
				}
				return a.done(map[string]any{"job_name": args[0], "schedule_name": name, "enabled": enabled}, "%sd %s", use, scheduleWords(args[0], name))
			})
		},
	}
}

func newSchedulePauseCommand(a *app, use string, paused bool) *cobra.Command {
	short := "Pause a schedule, with a note for others"
	if !paused {
		short = "Resume a paused schedule; what was due meanwhile is dropped"
	}
	var note string
	cmd := &cobra.Command{
		Use: use + " JOB [NAME]", Short: short, Args: cobra.RangeArgs(1, 2),
		Long: short + ". Without NAME it is the schedule of the job's own definition.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				name := optionalName(args)
				if err := store.PauseSchedule(cmd.Context(), args[0], name, paused, note); err != nil {
					return err
				}
				return a.done(map[string]any{"job_name": args[0], "schedule_name": name, "paused": paused}, "%sd %s", use, scheduleWords(args[0], name))
			})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "why, for others to read")
	return cmd
}

func newScheduleBackfillCommand(a *app) *cobra.Command {
	var from, to, overlap string
	cmd := &cobra.Command{
		Use: "backfill JOB [NAME]", Short: "Run what a schedule would have run in a past range", Args: cobra.RangeArgs(1, 2),
		Long: `Run what a schedule would have run in a past range, both ends included, except where an instant has a run already. Each run
keeps its due instant. Without --overlap the runs take place one after the other, whatever the policy of the schedule is; while they do,
the schedule's own instants meet an earlier run, and its policy says what becomes of them.
Without NAME it is the schedule of the job's own definition.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := controldb.BackfillRequest{JobName: args[0], Name: optionalName(args), Overlap: overlap}
			for _, end := range []struct {
				flag, text string
				dest       *time.Time
			}{{"from", from, &req.From}, {"to", to, &req.To}} {
				t, err := parseTime(end.text)
				if err != nil {
					return usagef("--%s: %w", end.flag, err)
				}
				*end.dest = t
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				id, err := store.BackfillSchedule(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.done(map[string]any{"job_name": req.JobName, "schedule_name": req.Name, "backfill_id": id},
					"an agent will backfill %s from %s to %s (backfill %d); jobagent schedule show tells how far it is, jobagent schedule cancel-backfill %d ends it",
					scheduleWords(req.JobName, req.Name), req.From.Format(time.RFC3339), req.To.Format(time.RFC3339), id, id)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first instant (RFC 3339, or YYYY-MM-DD HH:MM in UTC)")
	cmd.Flags().StringVar(&to, "to", "", "last instant")
	cmd.Flags().StringVar(&overlap, "overlap", "", "policy for these runs (default BufferAll, one after the other): "+strings.Join(overlaps, ", "))
	cobra.CheckErr(cmd.MarkFlagRequired("from"))
	cobra.CheckErr(cmd.MarkFlagRequired("to"))
	return cmd
}

func newScheduleCancelBackfillCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel-backfill ID", Short: "End a backfill; the runs that it has started go on", Args: cobra.ExactArgs(1),
		Long: `End a backfill: no more of its instants become runs, and those that wait for an earlier run are recorded as skipped. The runs that it
has started go on; jobagent job stop ends them. jobagent schedule show lists the backfills of a schedule.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return usagef("backfill %q: a number is needed, as jobagent schedule show lists it", args[0])
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				if err := store.CancelBackfill(cmd.Context(), controldb.BackfillID(id)); err != nil {
					return err
				}
				return a.done(map[string]any{"backfill_id": id}, "canceled backfill %d", id)
			})
		},
	}
}
