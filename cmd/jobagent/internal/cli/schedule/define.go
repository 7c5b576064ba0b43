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
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// definitionFlags are the flags of schedule add and schedule update.
type definitionFlags struct {
	kind, file string
	settings   model.ScheduleSettings
	lines      map[schedule.Kind]*string // the definitions of lineKinds
	wait       bool
	params     command.ParameterFlags
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

func (f *definitionFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addDefinition(cmd)
	f.settings.Enabled = true
	for i := range model.ScheduleFields {
		command.AddField(flags, &model.ScheduleFields[i], &f.settings)
	}
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

// definition is the text of a schedule, with what else decides when it is due.
type definition struct {
	kind                         schedule.Kind
	spec, zone, catchUp, overlap string
	created                      time.Time // when the text was given
	translation                  *schedule.Translation
}

// parsedDefinition is a definition that was parsed before it is stored.
type parsedDefinition struct {
	zone *time.Location
	now  time.Time // of the control database, when it was parsed
	due  []time.Time
	more bool
	plan *schedule.Plan
	// warnings are those of the plan, and those about the next changes of clocks.
	warnings []string
}

// parse parses a definition as an agent does. The error is a *schedule.Error with all errors of the
// definition.
func (d definition) parse(ctx context.Context, store *controldb.Store, now time.Time) (*parsedDefinition, error) {
	o, err := d.options(ctx, store, now)
	if err != nil {
		return nil, err
	}
	plan, err := schedule.Parse(d.kind, []byte(d.spec), o)
	_, badCatchUp := schedule.ParseCatchUp(d.catchUp)
	var faults []schedule.Fault
	for _, err := range []error{err, badCatchUp} {
		if all, ok := errors.AsType[*schedule.Error](err); ok {
			faults = append(faults, all.Faults...)
		}
	}
	overlaps := model.OverlapNames()
	if known := func(o string) bool { return strings.EqualFold(o, d.overlap) }; d.overlap != "" && !slices.ContainsFunc(overlaps, known) {
		faults = append(faults, schedule.Fault{Path: "overlap", Value: strconv.Quote(d.overlap),
			Allowed: "one of " + strings.Join(overlaps, ", "), Nearest: suggest.Nearest(d.overlap, overlaps)})
	}
	if len(faults) > 0 {
		return nil, &schedule.Error{Faults: faults}
	}
	p := &parsedDefinition{zone: plan.Zone, now: now, plan: plan}
	p.warnings, _ = plan.WarningsAt(now)
	// An instant equal to now is included. The sixth instant tells only whether there are more than
	// five.
	p.keep(schedule.Preview(plan, now.Truncate(time.Second).Add(-time.Nanosecond), 6))
	return p, nil
}

// options are those of the parser: the calendars are read only if the text may name some.
func (d definition) options(ctx context.Context, store *controldb.Store, now time.Time) (schedule.Options, error) {
	o := schedule.Options{Zone: d.zone, Created: d.created}
	if d.created.Before(now) {
		o.Activated = now
	}
	if !strings.Contains(d.spec, "blackouts") {
		return o, nil
	}
	list, err := timetable.On(store).Calendars(ctx, "")
	if err != nil {
		return o, err
	}
	texts := map[string]string{}
	for _, c := range list {
		texts[c.Name] = c.Spec
	}
	o.Calendars, o.BrokenCalendars = schedule.ReadCalendars(texts)
	return o, nil
}

// keep keeps the first five instants, and whether there are more.
func (p *parsedDefinition) keep(due []time.Time) {
	p.due, p.more = due[:min(len(due), 5)], len(due) > 5
}

// rejectDefinition prints all errors of a definition: as JSON on stdout, or one per line on stderr.
func rejectDefinition(p *output.Printer, err error) error {
	var all *schedule.Error
	if !errors.As(err, &all) {
		return err
	}
	if p.Structured() {
		if err := p.Emit(schedule.ErrorJSON(err), nil); err != nil {
			return err
		}
		return exit.With(exit.CodeUsage, nil)
	}
	for _, f := range all.Faults {
		fmt.Fprintf(p.Stderr, "error: %s\n", output.OneLine(f.String()))
	}
	return exit.With(exit.CodeUsage, nil)
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
			s := timetable.Spec{JobName: args[0], Name: args[1], Kind: new(string(kind)), Spec: &spec, Parameters: &params}
			command.TakeFields(cmd.Flags(), model.ScheduleFields, &s, &f.settings)
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error { return f.addSchedule(cmd, &a.Printer, store, s) })
		},
	}
	f.add(cmd)
	return cmd
}

// addSchedule adds a schedule with a definition, and shows when it is due.
func (f *definitionFlags) addSchedule(cmd *cobra.Command, p *output.Printer, store *controldb.Store, s timetable.Spec) error {
	ctx := cmd.Context()
	now, err := store.Now(ctx)
	if err != nil {
		return err
	}
	d := definition{zone: f.settings.Zone, catchUp: f.settings.CatchUp, overlap: f.settings.Overlap, created: now}
	if err := d.translate(schedule.Kind(*s.Kind), *s.Spec); err != nil {
		return rejectDefinition(p, err)
	}
	parsed, err := d.parse(ctx, store, now)
	if err != nil {
		return rejectDefinition(p, err)
	}
	s.Kind, s.Spec, s.Overlap = new(string(d.kind)), &d.spec, overlapOf(s.Overlap, d.translation)
	id, err := timetable.On(store).Add(ctx, s)
	if err != nil {
		return err
	}
	r := result{verb: "added", job: s.JobName, name: s.Name, id: int64(id), translation: d.translation, parsed: parsed, isNew: true}
	return r.show(ctx, p, store, f.wait)
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
			u := timetable.Spec{JobName: args[0], Name: optionalName(args), NewName: command.Given(cmd, "new-name", newName)}
			command.TakeFields(cmd.Flags(), model.ScheduleFields, &u, &f.settings)
			if params != "" || noParams {
				u.Parameters = &params
			}
			if ok {
				u.Kind, u.Spec = new(string(kind)), &spec
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error { return f.updateSchedule(cmd, &a.Printer, store, u) })
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&newName, "new-name", "", "rename the schedule")
	cmd.Flags().BoolVar(&noParams, "no-params", false, "remove the parameters")
	return cmd
}

// updateSchedule changes a schedule, and shows when it is due. The definition, new or stored, is
// parsed with the properties that change; a stored one that is wrong itself does not keep others
// from being changed.
func (f *definitionFlags) updateSchedule(cmd *cobra.Command, p *output.Printer, store *controldb.Store, u timetable.Spec) error {
	ctx := cmd.Context()
	now, err := store.Now(ctx)
	if err != nil {
		return err
	}
	old, err := lookup.Schedule(ctx, store, u.JobName, u.Name)
	if err != nil {
		return err
	}
	d := definition{zone: f.settings.Zone, catchUp: f.settings.CatchUp, overlap: f.settings.Overlap, created: now}
	if u.TimeZone == nil {
		d.zone = lookup.GivenZone(old)
	}
	isNew := u.Spec != nil
	if isNew {
		if err := d.translate(schedule.Kind(*u.Kind), *u.Spec); err != nil {
			return rejectDefinition(p, err)
		}
		u.Kind, u.Spec = new(string(d.kind)), new(d.spec)
	}
	u.Overlap = overlapOf(u.Overlap, d.translation)
	if !isNew || string(d.kind) == old.Kind && d.spec == old.Spec {
		d.kind, d.spec, d.created = schedule.Kind(old.Kind), old.Spec, old.DefinedTime
	}
	parsed, err := d.parse(ctx, store, now)
	if err != nil && (isNew || u.TimeZone != nil || u.CatchUp != nil || u.Overlap != nil) {
		return rejectDefinition(p, err)
	}
	if err := timetable.On(store).Update(ctx, u); err != nil {
		return err
	}
	name := u.Name
	if u.NewName != nil {
		name = cmp.Or(*u.NewName, u.Name)
	}
	r := result{
		verb: "updated", job: u.JobName, name: name, id: int64(old.ID), translation: d.translation, parsed: parsed, isNew: isNew || u.TimeZone != nil,
	}
	return r.show(ctx, p, store, f.wait)
}
