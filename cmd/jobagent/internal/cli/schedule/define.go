package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// validationTimeout is the time limit of --wait. A live agent validates new schedules within a
// second.
const validationTimeout = 5 * time.Second

// definitionFlags are the flags of schedule add and schedule update.
type definitionFlags struct {
	kind, file, zone, catchUp, overlap string
	lines                              map[schedule.Kind]*string // the definitions of lineKinds
	pauseOnFailure, enabled, wait      bool
	params                             command.ParameterFlags
}

// lineKinds are the kinds whose definition is one line. Each has a flag for it; the kind is never
// guessed from the text (D-E3).
var lineKinds = []struct {
	kind    schedule.Kind
	example string
}{
	{schedule.KindCron5, "'0 2 * * *'"}, {schedule.KindCron6, "'0 0 2 * * *'"},
	{schedule.KindQuartz, "'0 0 2 ? * MON-FRI'"}, {schedule.KindRRule, "'FREQ=DAILY;BYHOUR=2;BYMINUTE=0;BYSECOND=0'"},
}

// overlaps are the policies of the parameter @overlap.
var overlaps = []string{"Skip", "BufferOne", "BufferAll", "CancelOther", "TerminateOther", "AllowAll", "Elastic"}

func (f *definitionFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addDefinition(cmd)
	flags.StringVar(&f.zone, "zone", "", "time zone (IANA or Windows name), if the definition has none (default UTC)")
	flags.StringVar(&f.catchUp, "catch-up", "", "policy for missed runs: last, none, all, window:DURATION or sap-20min")
	flags.StringVar(&f.overlap, "overlap", "", "policy while an earlier run is active: "+strings.Join(overlaps, ", "))
	flags.BoolVar(&f.pauseOnFailure, "pause-on-failure", false, "pause the schedule after a failed run")
	flags.BoolVar(&f.enabled, "enabled", true, "enable the schedule")
	f.params.Add(cmd, "the schedule's runs")
	flags.BoolVar(&f.wait, "wait", false, fmt.Sprintf("wait at most %s until an agent has validated the schedule",
		validationTimeout))
}

// addDefinition declares the flags of a definition alone.
func (f *definitionFlags) addDefinition(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", fmt.Sprintf("kind of the definition: %s; or a language that is translated: %s", kindList(), formList()))
	flags.StringVar(&f.file, "file", "", "`file` that holds the definition; - for standard input")
	f.lines = map[schedule.Kind]*string{}
	for _, l := range lineKinds {
		f.lines[l.kind] = flags.String(string(l.kind), "",
			fmt.Sprintf("definition of the kind %s, such as %s, instead of --kind and --file", l.kind, l.example))
	}
	for _, form := range schedule.Forms() {
		f.lines[schedule.Kind(form)] = flags.String(string(form), "",
			fmt.Sprintf("definition in the language %s, such as '%s'; it is translated", form, form.Example()))
	}
}

// errNoDefinition means that no flag gives a definition.
var errNoDefinition = exit.Usagef("the definition is missing: give --kind with --file, or one of --%s", strings.Join(lineFlags(), ", --"))

func kindList() string {
	var names []string
	for _, k := range schedule.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// definition reads the kind and the text of a definition; given is false if the flags give none.
func (f *definitionFlags) definition(cmd *cobra.Command, stdin io.Reader) (kind schedule.Kind, spec string,
	given bool, err error) {
	var named []string
	for _, name := range lineFlags() {
		if cmd.Flags().Changed(name) {
			kind, spec = schedule.Kind(name), *f.lines[schedule.Kind(name)]
			named = append(named, "--"+name)
		}
	}
	if cmd.Flags().Changed("kind") || f.file != "" {
		named = append(named, "--kind with --file")
	}
	switch {
	case len(named) == 0:
		return "", "", false, nil
	case len(named) > 1:
		return "", "", false, exit.Usagef("%s cannot be combined", strings.Join(named, " and "))
	case f.kind == "" && f.file == "":
		return kind, spec, true, nil
	case f.file == "":
		return "", "", false, exit.Usagef("--kind and --file must be given together")
	}
	text, err := command.ReadFile(f.file, stdin)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(f.file, "{;*:\n") { // a definition, not a name
		err = exit.Usagef("--file: want the name of a file, or - for standard input, not the definition itself; --%s take it as text",
			strings.Join(lineFlags(), ", --"))
	}
	if err == nil && f.kind == "" {
		return "", "", false, errNoKind(string(text))
	}
	return schedule.Kind(f.kind), string(text), true, err
}

// errNoKind returns the error for a text without a kind. It names the language of the text if there
// is only one; the kind is never guessed (D-E3).
func errNoKind(text string) error {
	const together = "--kind and --file must be given together"
	what, form, kind, ok := schedule.Recognize(text)
	switch {
	case ok && form != "":
		return exit.Usagef("%s: the text is %s; give --kind %s", together, what, form)
	case ok && kind != "":
		return exit.Usagef("%s: the text is valid in the kind %s only; give --kind %s", together, kind, kind)
	case ok:
		return exit.Usagef("%s: the text is %s", together, what)
	}
	return exit.Usagef("%s", together)
}

// parsedDefinition is a definition that was parsed before it is stored.
type parsedDefinition struct {
	zone *time.Location
	due  []time.Time
	more bool
	plan *schedule.Plan
	// warnings are those of the plan, and those about the next changes of clocks.
	warnings []string
}

// parseDefinition parses a definition as an agent does; created is when the definition was given.
// The error is a *schedule.Error with all errors of the definition.
func parseDefinition(ctx context.Context, a *connect.App, store *controldb.Store, kind schedule.Kind, spec, zone,
	catchUp, overlap string, created, now time.Time) (parsedDefinition, error) {
	var faults []schedule.Fault
	merge := func(err error) {
		var all *schedule.Error
		if errors.As(err, &all) {
			faults = append(faults, all.Faults...)
		}
	}
	o := schedule.Options{Zone: zone, Created: created}
	if created.Before(now) {
		o.Activated = now
	}
	if strings.Contains(spec, "blackouts") {
		list, err := store.Calendars(ctx, "")
		if err != nil {
			return parsedDefinition{}, err
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
		faults = append(faults, schedule.Fault{Path: "overlap", Value: strconv.Quote(overlap),
			Allowed: "one of " + strings.Join(overlaps, ", "), Nearest: suggest.Nearest(overlap, overlaps)})
	}
	if len(faults) > 0 {
		return parsedDefinition{}, &schedule.Error{Faults: faults}
	}
	c := parsedDefinition{zone: plan.Zone, plan: plan}
	c.warnings, _ = plan.WarningsAt(now)
	// An instant equal to now is included. The sixth instant tells only whether there are more than
	// five.
	c.due = schedule.Preview(plan, now.Truncate(time.Second).Add(-time.Nanosecond), 6)
	if c.more = len(c.due) > 5; c.more {
		c.due = c.due[:5]
	}
	return c, nil
}

// rejectDefinition prints all errors of a definition: as JSON on stdout, or one per line on stderr.
func rejectDefinition(a *connect.App, err error) error {
	var all *schedule.Error
	if !errors.As(err, &all) {
		return err
	}
	if a.Structured() {
		if err := a.Emit(schedule.ErrorJSON(err), nil); err != nil {
			return err
		}
		return exit.With(exit.CodeUsage, nil)
	}
	for _, f := range all.Faults {
		fmt.Fprintf(a.Stderr, "error: %s\n", output.OneLine(f.String()))
	}
	return exit.With(exit.CodeUsage, nil)
}

// printDefined prints the next instants of a definition that was stored (D-E4). If the schedule is
// disabled or paused, it prints them only for a new definition, as a condition.
func printDefined(ctx context.Context, a *connect.App, store *controldb.Store, v output.DefinedSchedule,
	translation *schedule.Translation, c *parsedDefinition, verb string, isNew, wait bool) error {
	row, waitResult, err := awaitValidation(ctx, a, store, v.Job, v.Name, wait)
	if err != nil {
		return err
	}
	v.State, v.Reason = row.State, row.Reason
	idle := ""
	switch {
	case !row.Enabled:
		idle = "The schedule is disabled: nothing is due until jobagent schedule enable"
	case row.Paused:
		idle = "The schedule is paused: nothing is due until jobagent schedule resume"
	}
	v.Due = []string{}
	sentence, notes := "", []string(nil)
	if c != nil {
		d := c.plan.Describe()
		sentence, notes = d.Text, slices.Concat(beside(d), c.plan.Assumptions)
		v.Assumptions = c.plan.Assumptions
		v.Zone, v.Warnings, v.Description = c.zone.String(), c.warnings, d.Text
		switch {
		case idle != "" && isNew:
			idle += ". It would then be due as follows"
		case idle != "":
			c = nil
		case row.State == "Faulted":
			c = nil
		case !row.ValidatedTime.IsZero(): // the agent's instants take precedence
			c.due, c.more = row.Upcoming[:min(len(row.Upcoming), 5)], len(row.Upcoming) > 5
		}
		if idle == "" && c != nil {
			next := time.Time{}
			if len(c.due) > 0 {
				next = c.due[0]
			}
			sentence = d.WithNext(next, c.zone, time.Now())
		}
	}
	if c != nil {
		for _, at := range c.due {
			v.Due = append(v.Due, at.Format(time.RFC3339))
			v.DueLocal = append(v.DueLocal, at.In(c.zone).Format(time.RFC3339))
		}
	}
	err = a.Emit(v, func(w io.Writer) error {
		fmt.Fprintf(w, "%s schedule %s of job %s\n", verb, v.Name, v.Job)
		if translation != nil {
			printTranslation(w, translation)
		}
		if sentence != "" {
			fmt.Fprintf(w, "%s.\n", output.OneLine(sentence))
			for _, note := range notes {
				fmt.Fprintln(w, note)
			}
		}
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
				fmt.Fprintln(w, "Nothing is due after these.")
			}
		}
		if err := a.Warn(v.Warnings); err != nil {
			return err
		}
		if waitResult != "" {
			fmt.Fprintln(w, waitResult)
		}
		return nil
	})
	if err == nil && row.State == "Faulted" {
		err = exit.With(exit.CodeFailure, fmt.Errorf("the agent rejected the schedule, which will not run: %s; jobagent schedule show %s %s lists all errors", row.Reason, v.Job, v.Name))
	}
	return err
}

// printDue prints instants in UTC and in a time zone.
func printDue(w io.Writer, due []time.Time, zone *time.Location) error {
	name := zone.String()
	if name == "" { // a fixed offset
		name = time.Unix(0, 0).In(zone).Format("-07:00")
	}
	titles := []string{"DUE (UTC)", "IN " + name}
	if isUTC(due, zone) { // the same twice says nothing
		titles = titles[:1]
	}
	t := output.NewTable(titles...)
	for _, at := range due {
		cells := []any{at.UTC().Format(time.RFC3339), at.In(zone).Format(time.RFC3339)}
		t.Add(cells[:len(titles)]...)
	}
	return t.Write(w)
}

// isUTC reports whether instants have the same text in a zone as in UTC.
func isUTC(due []time.Time, zone *time.Location) bool {
	return !slices.ContainsFunc(due, func(at time.Time) bool {
		_, offset := at.In(zone).Zone()
		return offset != 0
	})
}

// awaitValidation reads a schedule's row. If wait is true and there is a live agent, it first
// waits until an agent has validated the schedule; result is a sentence about this.
func awaitValidation(ctx context.Context, a *connect.App, store *controldb.Store, job, name string,
	wait bool) (row controldb.Schedule, result string, err error) {
	if row, err = lookup.Schedule(ctx, store, job, name); err != nil || !wait {
		return row, "", err
	}
	if alive, known := lookup.AgentAlive(ctx, store); known && !alive {
		return row, "No live agent: the schedule is not validated until an agent starts (jobagent run).", nil
	}
	interrupted := ctx
	ctx, cancel := context.WithTimeout(ctx, validationTimeout)
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
			return row, fmt.Sprintf("No agent has validated the schedule within %s; jobagent schedule explain shows why.",
				validationTimeout), nil
		}
		next, err := lookup.Schedule(ctx, store, job, name)
		switch {
		case err == nil:
			row = next
		case ctx.Err() == nil:
			return row, "", err
		}
	}
	return row, fmt.Sprintf("An agent has validated the schedule; its state is %s.", row.State), nil
}

func newAddCommand(a *connect.App) *cobra.Command {
	var f definitionFlags
	cmd := &cobra.Command{
		Use: "add JOB SCHEDULE", Short: "Add a schedule to a job, and show when it is due",
		Long: fmt.Sprintf(`Add a schedule to a job, and show the next five instants at which it is due, in UTC and in its zone.

  jobagent schedule add 'nightly index' weekdays --cron5 '0 2 * * 1-5' --zone Europe/Berlin
  jobagent schedule add 'nightly index' month-end --kind azure-scheduler --file month-end.json
  jobagent schedule add 'nightly index' office-hours --systemd 'Mon..Fri 09..17:00' --zone Europe/Berlin

A definition in the language of another system (%s) is translated;
the translation is shown and stored. A definition with errors is not stored: the command lists all errors and exits with %d.`, formList(), exit.CodeUsage),
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, spec, ok, err := f.definition(cmd, a.Stdin)
			if err != nil {
				return err
			}
			if !ok {
				return errNoDefinition
			}
			params, err := f.params.Read(a.Stdin)
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				now := time.Now().UTC()
				kind, spec, translation, err := translated(kind, spec, f.zone)
				if err != nil {
					return rejectDefinition(a, err)
				}
				overlap := overlapOf(cmd, f.overlap, translation)
				c, err := parseDefinition(cmd.Context(), a, store, kind, spec, f.zone, f.catchUp, f.overlap, now, now)
				if err != nil {
					return rejectDefinition(a, err)
				}
				id, err := store.AddSchedule(cmd.Context(), controldb.ScheduleSpec{
					JobName: args[0], Name: args[1], Kind: string(kind), Spec: spec,
					TimeZone: command.Given(cmd, "zone", f.zone), CatchUp: command.Given(cmd, "catch-up", f.catchUp),
					Overlap: overlap, PauseOnFailure: command.Given(cmd, "pause-on-failure",
						f.pauseOnFailure), Enabled: command.Given(cmd, "enabled", f.enabled), Parameters: &params,
				})
				if err != nil {
					return err
				}
				return printDefined(cmd.Context(), a, store, defined(args[0], args[1], int64(id), translation), translation, &c,
					"added", true, f.wait)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func newUpdateCommand(a *connect.App) *cobra.Command {
	var f definitionFlags
	var newName string
	var noParams bool
	cmd := &cobra.Command{
		Use: "update JOB [SCHEDULE]", Short: "Change a schedule; properties without a flag stay unchanged",
		Long: `Change a schedule; properties without a flag stay unchanged. Earlier due instants without a run are
dropped. --zone '', --catch-up '' and --overlap '' restore the default. --param, --param-json and
--params-file replace all parameters. For the schedule of the job's own definition, use jobagent job update;
only its parameters are changed here, without SCHEDULE.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, spec, ok, err := f.definition(cmd, a.Stdin)
			if err != nil {
				return err
			}
			params, err := f.params.Read(a.Stdin)
			if err != nil {
				return err
			}
			if params != "" && noParams {
				return exit.Usagef("--no-params cannot be combined with parameters")
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				old, err := lookup.Schedule(cmd.Context(), store, args[0], optionalName(args))
				if err != nil {
					return err
				}
				u := controldb.ScheduleUpdate{
					JobName: args[0], Name: optionalName(args), NewName: command.Given(cmd, "new-name", newName),
					TimeZone: command.Given(cmd, "zone", f.zone),
					CatchUp:  command.Given(cmd, "catch-up", f.catchUp), Overlap: command.Given(cmd, "overlap", f.overlap),
					PauseOnFailure: command.Given(cmd, "pause-on-failure", f.pauseOnFailure),
					Enabled:        command.Given(cmd, "enabled", f.enabled),
				}
				if params != "" || noParams {
					u.Parameters = &params
				}
				now := time.Now().UTC()
				created := now
				zone := f.zone
				if u.TimeZone == nil {
					zone = lookup.GivenZone(old)
				}
				kind, spec, translation, err := translated(kind, spec, zone)
				if err != nil {
					return rejectDefinition(a, err)
				}
				u.Overlap = overlapOf(cmd, f.overlap, translation)
				if ok {
					k := string(kind)
					u.Kind, u.Spec = &k, &spec
				}
				if !ok || string(kind) == old.Kind && spec == old.Spec {
					kind, spec, created = schedule.Kind(old.Kind), old.Spec, old.DefinedTime
				}
				var c *parsedDefinition
				result, err := parseDefinition(cmd.Context(), a, store, kind, spec, zone, f.catchUp, f.overlap, created, now)
				switch {
				case err == nil:
					c = &result
				case ok || u.TimeZone != nil || u.CatchUp != nil || u.Overlap != nil:
					return rejectDefinition(a, err)
				}
				if err := store.UpdateSchedule(cmd.Context(), u); err != nil {
					return err
				}
				name := cmp.Or(newName, optionalName(args))
				return printDefined(cmd.Context(), a, store, defined(args[0], name, int64(old.ID), translation), translation, c,
					"updated", ok || u.TimeZone != nil, f.wait)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&newName, "new-name", "", "rename the schedule")
	cmd.Flags().BoolVar(&noParams, "no-params", false, "remove the parameters")
	return cmd
}
