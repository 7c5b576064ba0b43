package actions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/schedule/firing"
)

// find returns the schedule that an action is about. Actions of /jobs/{job} are about the schedule
// of the job's own definition, whose name is empty.
func find(ctx context.Context, r *page.Request) (timetable.Schedule, error) {
	name := r.Value("schedule")
	list, err := timetable.On(r.Store).List(ctx, timetable.Filter{JobName: r.Value("job"), Name: &name, Limit: 1})
	if err != nil {
		return timetable.Schedule{}, err
	}
	if len(list) > 0 {
		return list[0], nil
	}
	if _, err := catalog.On(r.Store).JobDetail(ctx, r.Value("job")); err != nil {
		return timetable.Schedule{}, err
	}
	return timetable.Schedule{}, dberror.ErrScheduleNotFound
}

// described names a schedule inside a sentence.
func described(s timetable.Schedule) string {
	if s.Name == "" {
		return "the schedule of the job " + quoted(s.JobName)
	}
	return "the schedule " + quoted(s.Name) + " of the job " + quoted(s.JobName)
}

// words says when a schedule is due.
func words(s timetable.Schedule) string {
	if text := s.Words(); text != "" {
		return "It is due: " + text + "."
	}
	return ""
}

// back returns the page from which people come.
func back(r *page.Request) string {
	if r.HTTP.PathValue("schedule") == "" {
		return r.Path("jobs", r.Value("job"))
	}
	return r.Path("schedules", r.Value("job"), r.Value("schedule"))
}

// names returns the arguments that name a schedule: of the command line, and of procedures.
func names(s timetable.Schedule) (cli []string, tsql []page.Arg) {
	cli = []string{s.JobName}
	if s.Name != "" {
		cli = append(cli, s.Name)
	}
	return cli, []page.Arg{{Name: "job_name", Value: s.JobName}, {Name: "schedule_name", Value: s.Name}}
}

// sentences returns those that are not empty.
func sentences(all ...string) (list []string) {
	for _, one := range all {
		if one != "" {
			list = append(list, one)
		}
	}
	return list
}

// confirmEnable says what enabling or disabling a schedule does.
func confirmEnable(on bool) confirmFunc {
	return func(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
		s, err := find(ctx, r)
		if err != nil {
			return nil, err
		}
		verb, button, effect, state := "enable", "Enable the schedule", "Enables "+described(s)+". Instants that were due before are dropped.", ""
		if on && s.StartsAtOnce() {
			state = "A run of the job starts at once, on all its databases."
		}
		if !on {
			verb, button = "disable", "Disable the schedule"
			effect = "Disables " + described(s) + ": it starts no further runs. Runs that have started continue."
			if !s.NextDue.IsZero() {
				state = "The run that is due on " + instant(s.NextDue) + " will not start."
			}
		}
		if s.Enabled == on {
			state = "It is " + verb + "d already: nothing will change."
		}
		cli, tsql := names(s)
		return &page.Confirmation{
			Title: button, Nav: "schedules", Effects: sentences(effect, words(s), state), Button: button, Danger: !on, Back: back(r),
			Equivalents: commands(page.CLI(append([]string{"schedule", verb}, cli...)...),
				page.TSQL("jobs.sp_enable_schedule", append(tsql, page.Arg{Name: "enabled", Value: on})...)),
		}, nil
	}
}

// enable enables or disables a schedule.
func enable(on bool) doFunc {
	return func(ctx context.Context, r *page.Request) (*page.Done, error) {
		if err := timetable.On(r.Store).Enable(ctx, r.Value("job"), r.Value("schedule"), on); err != nil {
			return nil, err
		}
		notice := "The schedule is enabled."
		if !on {
			notice = "The schedule is disabled."
		}
		return &page.Done{Location: back(r), Notice: notice}, nil
	}
}

// maxNote bounds the note of a pause and of an alert, in UTF-16 code units.
const maxNote = model.MaxNote

// confirmPause says what pausing or resuming a schedule does.
func confirmPause(on bool) confirmFunc {
	return func(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
		s, err := find(ctx, r)
		if err != nil {
			return nil, err
		}
		verb, button, effect, state := "resume", "Resume the schedule", "Resumes "+described(s)+". Instants that were due meanwhile are dropped.", ""
		fields := []page.Field{{Name: "note", Label: "Note", Help: "Why it is resumed. The history shows it.", MaxLength: maxNote}}
		if on {
			verb, button = "pause", "Pause the schedule"
			effect = "Pauses " + described(s) + ": it starts no runs until somebody resumes it. Runs that have started continue."
			fields[0].Help = "Why it is paused. Everybody who looks at the schedule sees it."
			if !s.NextDue.IsZero() {
				state = "The next run would be due on " + instant(s.NextDue) + "."
			}
		}
		if s.Paused == on {
			state = "It is not paused."
			if on {
				state = fmt.Sprintf("It is paused already, by %s on %s. The note is replaced.", s.PausedBy, instant(s.PausedAt))
			}
		} else if !on && s.PauseNote != "" {
			state = fmt.Sprintf("%s paused it on %s: %s", s.PausedBy, instant(s.PausedAt), s.PauseNote)
		}
		cli, tsql := names(s)
		cli, tsql = append([]string{"schedule", verb}, cli...), append(tsql, page.Arg{Name: "paused", Value: on})
		if note := value(r, "note"); note != "" {
			cli, tsql = append(cli, "--note", note), append(tsql, page.Arg{Name: "note", Value: note})
		}
		return &page.Confirmation{
			Title: button, Nav: "schedules", Effects: sentences(effect, words(s), state), Fields: fields, Button: button, Back: back(r),
			Equivalents: commands(page.CLI(cli...), page.TSQL("jobs.sp_pause_schedule", tsql...)),
		}, nil
	}
}

// pause pauses or resumes a schedule.
func pause(on bool) doFunc {
	return func(ctx context.Context, r *page.Request) (*page.Done, error) {
		if err := timetable.On(r.Store).Pause(ctx, r.Value("job"), r.Value("schedule"), on, value(r, "note")); err != nil {
			return nil, err
		}
		notice := "The schedule is paused."
		if !on {
			notice = "The schedule is resumed."
		}
		return &page.Done{Location: back(r), Notice: notice}, nil
	}
}

// maxInstants bounds the instants of a backfill that the form counts.
const maxInstants = 10_000

// shownInstants is the number of instants of a backfill that the form lists.
const shownInstants = 5

// overlaps are the policies of a backfill's runs.
func overlaps() []page.Option {
	var list []page.Option
	for _, o := range model.Overlaps {
		list = append(list, page.Option{Value: o.Name, Text: o.Choice + " (" + o.Name + ")"})
	}
	return list
}

// interval is the range of a backfill as it was typed.
type interval struct {
	from, to time.Time
	counted  string // identifies what the form has counted
}

// typed reads the range of a backfill. ok is false if nothing was typed.
func typed(r *page.Request) (i interval, ok bool, err error) {
	from, to := value(r, "from"), value(r, "to")
	if from == "" && to == "" {
		return i, false, nil
	}
	if i.from, err = page.ParseInstant(from); err != nil {
		return i, false, &page.InputError{Field: "from", Problem: "Invalid instant: " + err.Error() + "."}
	}
	if i.to, err = page.ParseInstant(to); err != nil {
		return i, false, &page.InputError{Field: "to", Problem: "Invalid instant: " + err.Error() + "."}
	}
	if i.to.Before(i.from) {
		return i, false, &page.InputError{Field: "to", Problem: "The range ends before it begins."}
	}
	i.counted = i.from.Format(time.RFC3339) + "/" + i.to.Format(time.RFC3339) + "/" + value(r, "overlap")
	return i, true, nil
}

// confirmBackfill says how many instants a range has. The first time, the form asks for the range;
// it is sent again to confirm the number.
func confirmBackfill(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	s, err := find(ctx, r)
	if err != nil {
		return nil, err
	}
	c := &page.Confirmation{
		Title: "Backfill", Nav: "schedules", Button: "Count the instants", Back: back(r),
		Effects: sentences("Starts the runs that "+described(s)+" missed in a past range, both ends included. Instants that have a run already are left out.", words(s)),
		Fields: []page.Field{
			{Name: "from", Label: "First instant", Kind: "datetime", Required: true, Help: "YYYY-MM-DD HH:MM in UTC, or RFC 3339.", Value: s.CreatedTime.UTC().Format("2006-01-02 15:04")},
			{Name: "to", Label: "Last instant", Kind: "datetime", Required: true, Help: "Not in the future.", Value: r.Now.UTC().Format("2006-01-02 15:04")},
			{Name: "overlap", Label: "If runs overlap", Kind: "select", Required: true, Options: overlaps(), Value: model.OverlapBufferAll},
		},
	}
	cli, tsql := names(s)
	from, to, overlap := "FROM", "TO", ""
	i, ok, err := typed(r)
	if err == nil && ok {
		from, to, overlap = i.from.Format(time.RFC3339), i.to.Format(time.RFC3339), value(r, "overlap")
		effects, n, err := countInstants(ctx, r, s, i)
		if err != nil {
			return nil, err
		}
		c.Effects = append(c.Effects, effects...)
		if n > 0 {
			c.Button = "Run " + page.Counted(n, "instant", "instants")
			c.Fields = append(c.Fields, page.Field{Name: "counted", Kind: "hidden", Value: i.counted})
		}
		tsql = append(tsql, page.Arg{Name: "from", Value: i.from}, page.Arg{Name: "to", Value: i.to})
	}
	cli = append(append([]string{"schedule", "backfill"}, cli...), "--from", from, "--to", to)
	if overlap != "" {
		cli, tsql = append(cli, "--overlap", overlap), append(tsql, page.Arg{Name: "overlap", Value: overlap})
	}
	if ok {
		c.Equivalents = commands(page.CLI(cli...), page.TSQL("jobs.sp_backfill_schedule", tsql...))
	}
	return c, nil
}

// countInstants says how many instants a range has, and names the first and the last ones.
func countInstants(ctx context.Context, r *page.Request, s timetable.Schedule, i interval) (effects []string, n int, err error) {
	calendars, err := timetable.On(r.Store).Calendars(ctx, "")
	if err != nil {
		return nil, 0, err
	}
	texts := make(map[string]string, len(calendars))
	for _, c := range calendars {
		texts[c.Name] = c.Spec
	}
	d := firing.Definition{
		ID: int64(s.ID), Kind: s.Kind, Spec: s.Spec, Zone: s.TimeZone, CatchUp: s.CatchUp, Defined: s.DefinedTime, Executions: s.Executions,
	}
	if s.Spec == "" {
		own := s.Elastic()
		d.Job = &own
	}
	named := firing.ReadCalendars(texts)
	var first []time.Time
	var last time.Time
	for from := i.from; !from.IsZero() && n <= maxInstants; {
		var list []time.Time
		if list, from, err = firing.Backfill(d, named, from, i.to); err != nil {
			var faults *schedule.Error
			if errors.As(err, &faults) || errors.Is(err, firing.ErrUnknownKind) {
				return []string{"The instants cannot be counted: " + err.Error()}, 0, nil
			}
			return nil, 0, err
		}
		if n += len(list); len(list) > 0 {
			last = list[len(list)-1]
		}
		first = append(first, list[:min(len(list), shownInstants-min(len(first), shownInstants))]...)
	}
	switch {
	case n == 0:
		return []string{"The range has no due instant: there is nothing to run."}, 0, nil
	case n > maxInstants:
		return []string{"The range has more than " + page.Counted(maxInstants, "instant", "instants") + ". Choose a shorter one."}, 0, nil
	}
	text := fmt.Sprintf("The range has %s: ", page.Counted(n, "instant", "instants"))
	for k, one := range first {
		if k > 0 {
			text += ", "
		}
		text += instant(one)
	}
	if n > len(first) {
		text += " to " + instant(last)
	}
	return []string{text + "."}, n, nil
}

// backfill requests the runs of a range, if the form has said how many there are.
func backfill(ctx context.Context, r *page.Request) (*page.Done, error) {
	i, ok, err := typed(r)
	if err != nil {
		return nil, err
	}
	if !ok || r.Form.Get("counted") != i.counted {
		return nil, &page.InputError{Problem: "Check the number of runs, and send the form again to start them."}
	}
	n, err := timetable.On(r.Store).Backfill(ctx, timetable.BackfillRequest{
		JobName: r.Value("job"), Name: r.Value("schedule"), From: i.from, To: i.to, Overlap: value(r, "overlap"),
	})
	if err != nil {
		return nil, refuse(refuse(err, "overlap", 50050), "to", 50051, 50052)
	}
	return &page.Done{Location: back(r), Notice: fmt.Sprintf("Backfill %d was requested. An agent starts its runs within a second.", n)}, nil
}
