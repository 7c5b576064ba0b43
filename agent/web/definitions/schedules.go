package definitions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/code"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// scheduleRow is a schedule in a list.
type scheduleRow struct {
	timetable.Schedule
	Title       string
	Href        string
	JobHref     string
	LastHref    string
	Words       schedule.Description
	Shown       string // the state with Paused
	NextInZone  string
	NextLocal   string // as the words say it
	ZoneDiffers bool   // the zone is not UTC
}

// Runs reports whether the next instant becomes a run.
func (s scheduleRow) Runs() bool { return s.Enabled && !s.Paused && !s.NextDue.IsZero() }

// ownTitle is the title of the schedule of a job's own definition, which has no name.
const ownTitle = "(the job's own)"

// newScheduleRow returns a schedule for a list.
func newScheduleRow(r *page.Request, s timetable.Schedule) scheduleRow {
	row := scheduleRow{
		Schedule: s, Title: cmp.Or(s.Name, ownTitle), Href: r.Path("schedules", s.JobName, s.Name), JobHref: r.Path("jobs", s.JobName),
		Words: s.Describe(), Shown: s.State,
	}
	if s.Paused {
		row.Shown = "Paused"
	}
	if s.Description != "" {
		row.Words.Text = s.Description // as stored; the rest is as this program reads the text
	}
	if row.Words.Text == "" {
		row.Words.Text = "Not valid: " + s.Spec
	}
	if s.LastLifecycle != "" || s.LastExecution != [16]byte{} {
		row.LastHref = r.Path("runs", s.LastExecution.String())
	}
	zone := schedule.ZoneShown(s.TimeZone)
	row.ZoneDiffers = zone != time.UTC && s.TimeZone != "UTC"
	if !s.NextDue.IsZero() {
		row.NextLocal = schedule.LocalTime(s.NextDue, zone)
	}
	if !s.NextDue.IsZero() && row.ZoneDiffers {
		row.NextInZone = inZone(s.NextDue, zone)
	}
	return row
}

// inZone shows an instant on the wall clock of a zone.
func inZone(at time.Time, zone *time.Location) string {
	layout := "Mon 2 Jan 2006 15:04 MST"
	if at.Second() != 0 {
		layout = "Mon 2 Jan 2006 15:04:05 MST"
	}
	return at.In(zone).Format(layout)
}

// schedulesData is the data of the list of schedules.
type schedulesData struct {
	Search, State, Job string
	States             []page.Option
	Rows               []scheduleRow
	Next, First        string
	clock
	// Calendars are all of them; nil on live updates, which do not show them.
	Calendars []timetable.Calendar
}

// scheduleStates are the filters of the list.
var scheduleStates = []page.Option{
	{Value: "", Text: "all"}, {Value: string(timetable.Due), Text: "due next"}, {Value: "soon", Text: "due in 24 hours"},
	{Value: string(timetable.Active), Text: "enabled"}, {Value: string(timetable.Paused), Text: "paused"},
	{Value: string(timetable.Faulted), Text: "Faulted"}, {Value: string(timetable.Disabled), Text: "disabled"},
	{Value: string(timetable.Completed), Text: "completed"},
}

// scheduleSearch returns the search that a query asks for.
func scheduleSearch(r *page.Request, d schedulesData) timetable.Search {
	f := timetable.Search{State: timetable.State(d.State), Search: d.Search, JobName: d.Job}
	if d.State == "soon" {
		f.State, f.DueBefore = timetable.Due, r.Now.Add(24*time.Hour)
	}
	return f
}

// listSchedules shows schedules.
func listSchedules(ctx context.Context, r *page.Request) (*page.View, error) {
	d, err := readSchedules(ctx, r)
	if err != nil {
		return nil, err
	}
	if d.Calendars, err = timetable.On(r.Store).Calendars(ctx, ""); err != nil {
		return nil, err
	}
	return &page.View{
		Title: "Schedules", Nav: "schedules", Template: "schedules", Data: d, Topic: topic("schedules", r),
		Actions:     []page.Link{{Text: "New calendar", Href: r.Path("new", "calendar"), Role: rest.RoleAuthor}},
		Equivalents: append(page.CLI("schedule", "list"), page.Query("SELECT job_name, schedule_name, kind, spec, state, paused, next_due_time FROM jobs.schedules ORDER BY job_name, schedule_name;")),
	}, nil
}

// readSchedules reads a page of the list.
func readSchedules(ctx context.Context, r *page.Request) (schedulesData, error) {
	d := schedulesData{Search: r.Query("search"), State: r.Query("state"), Job: r.Query("job"), States: scheduleStates, clock: at(r)}
	if !slices.ContainsFunc(scheduleStates, func(o page.Option) bool { return o.Value == d.State }) {
		d.State = ""
	}
	f := scheduleSearch(r, d)
	after := page.After[timetable.Key](r.Query("after"))
	list, next, err := controldb.ReadPage(after, listSize, func(p controldb.Page[timetable.Key]) ([]timetable.Schedule, error) {
		return timetable.On(r.Store).Find(ctx, f, p)
	}, timetable.Schedule.Key)
	if err != nil {
		return d, err
	}
	for _, s := range list {
		d.Rows = append(d.Rows, newScheduleRow(r, s))
	}
	self := r.Path("schedules")
	if next != nil {
		d.Next = page.With(self, "search", d.Search, "state", d.State, "job", d.Job, "after", controldb.Token(*next))
	}
	if after != nil {
		d.First = page.With(self, "search", d.Search, "state", d.State, "job", d.Job)
	}
	return d, nil
}

// scheduleData is the data of the page of a schedule.
type scheduleData struct {
	scheduleRow
	Zone     string
	Text     script
	Errors   []string
	Policies []string
	Parsed   bool
	Next     []instantRow
	// Would means that Next are not runs: the schedule is disabled or paused.
	Would      bool
	Calendar   calendar
	Skips      []timetable.Skip
	Backfills  []timetable.Backfill
	Parameters script
	Changes    []auditlog.Entry
	RunsHref   string
	clock
	zone *time.Location
	rule schedule.Schedule // nil: the definition is invalid
	plan *schedule.Plan
}

// Phase is the phase on which the actions depend.
func (d scheduleData) Phase() string {
	words := []string{"resumed", "disabled"}
	if d.Paused {
		words[0] = "paused"
	}
	if d.Enabled {
		words[1] = "enabled"
	}
	return strings.Join(words, " ")
}

// Notes are what may be misread in the words, without what the warnings say.
func (d scheduleData) Notes() []string {
	return slices.DeleteFunc(slices.Clone(d.Words.Notes), func(note string) bool {
		return len(d.Warnings) > 0 && (strings.HasPrefix(note, "Either ") || strings.HasPrefix(note, "Both "))
	})
}

// NotRun is the number of instants that did not become runs.
func (d scheduleData) NotRun() int64 {
	return d.SkippedByOverlap + d.SkippedByCatchUp + d.SkippedOtherwise
}

// instantRow is a due instant in a list.
type instantRow struct {
	At     time.Time
	InZone string
	// Change says that clocks change between the instant before and this one.
	Change string
}

const (
	// nextInstants is the number of due instants in the list.
	nextInstants = 20
	// pastRows is the most runs or skips of a month that a page reads.
	pastRows = 5000
)

// showSchedule shows a schedule: its rule in words, its instants, policies, and what it did.
func showSchedule(ctx context.Context, r *page.Request) (*page.View, error) {
	d, err := readSchedule(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := d.addPast(ctx, r); err != nil {
		return nil, err
	}
	if err := d.addChanges(ctx, r); err != nil {
		return nil, err
	}
	s := d.Schedule
	if s.Spec != "" {
		in := code.Plain
		if strings.HasPrefix(strings.TrimSpace(s.Spec), "{") {
			in = code.JSON
		}
		d.Text = newScript(prettyJSON(s.Spec), in, "text", "Text of the schedule")
	}
	if s.Parameters != "" {
		d.Parameters = newScript(prettyJSON(s.Parameters), code.JSON, "parameters", "Parameters of the runs")
	}
	d.Policies = policies(s, d.plan)
	return &page.View{
		Title: d.Title, Nav: "schedules", Template: "schedule", Data: d, Styles: []string{"code/code.css"},
		Crumbs:  []page.Link{{Text: "Schedules", Href: r.Path("schedules")}, {Text: s.JobName, Href: r.Path("jobs", s.JobName)}},
		Actions: scheduleActions(r, s), Phase: d.Phase(), Topic: topic("schedule", r),
		Equivalents: append(page.CLI(append([]string{"schedule", "show", s.JobName}, optional(s.Name)...)...), page.Query(`DECLARE @job NVARCHAR(128) = N'?', @schedule NVARCHAR(128) = N'?';
SELECT kind, spec, time_zone, state, reason, next_due_time, upcoming
FROM jobs.schedules
WHERE job_name = @job AND schedule_name = @schedule;`, s.JobName, s.Name)),
	}, nil
}

// readSchedule reads a schedule and its instants: what changes while its page is viewed, without
// the past.
func readSchedule(ctx context.Context, r *page.Request) (*scheduleData, error) {
	job, name := r.Value("job"), r.Value("schedule")
	list, err := timetable.On(r.Store).List(ctx, timetable.Filter{JobName: job, Name: &name, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("schedule %q of job %q: %w", name, job, dberror.ErrScheduleNotFound)
	}
	s := list[0]
	d := &scheduleData{
		scheduleRow: newScheduleRow(r, s), Zone: cmp.Or(s.TimeZone, "UTC"), Errors: schedule.ErrorTexts(s.ValidationErrors), RunsHref: page.With(r.Path("runs"), "job", s.JobName),
		clock: at(r), zone: schedule.ZoneShown(s.TimeZone),
	}
	if d.rule, d.plan, err = readRule(ctx, r.Store, s); err != nil {
		return nil, err
	}
	if d.Parsed = d.rule != nil; d.Parsed {
		d.Next = nextRows(s, d.rule, d.zone, r.Now)
		d.Would = !s.Enabled || s.Paused
	}
	return d, nil
}

// scheduleReader reads a schedule for live updates.
type scheduleReader struct {
	last   *scheduleData
	readAt time.Time
}

// pastTime bounds the age of the past of a schedule that has not changed.
const pastTime = time.Minute

// read implements reading. The past of a month may be long: it is read when the schedule has
// changed.
func (s *scheduleReader) read(ctx context.Context, r *page.Request) (any, error) {
	d, err := readSchedule(ctx, r)
	if err != nil {
		return nil, err
	}
	if s.last != nil && reflect.DeepEqual(s.last.Schedule, d.Schedule) && r.Now.Sub(s.readAt) < pastTime {
		return s.last, nil
	}
	if err := d.addPast(ctx, r); err != nil {
		return nil, err
	}
	s.last, s.readAt = d, r.Now
	return d, nil
}

// optional returns a list of one text, or of none if it is empty.
func optional(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// scheduleActions are what people do with a schedule.
func scheduleActions(r *page.Request, s timetable.Schedule) []page.Link {
	path := func(action string) string { return r.Path("schedules", s.JobName, s.Name, action) }
	list := []page.Link{
		{Text: "Pause", Href: path("pause"), Role: rest.RoleOperator, When: "resumed"},
		{Text: "Resume", Href: path("resume"), Role: rest.RoleOperator, When: "paused"},
		{Text: "Enable", Href: path("enable"), Role: rest.RoleOperator, When: "disabled"},
		{Text: "Disable", Href: path("disable"), Role: rest.RoleOperator, When: "enabled"},
		{Text: "Backfill", Href: path("backfill"), Role: rest.RoleOperator},
	}
	if s.Name == "" { // it is a part of the job's own definition
		return append(list, page.Link{Text: "Edit the job", Href: r.Path("jobs", s.JobName, "edit"), Role: rest.RoleAuthor})
	}
	return append(list, page.Link{Text: "Edit", Href: path("edit"), Role: rest.RoleAuthor})
}

// prettyJSON indents a text that is JSON.
func prettyJSON(text string) string {
	if !json.Valid([]byte(text)) {
		return text
	}
	return pretty(catalog.JobStep{CommandType: "JSON", Command: text})
}

// readRule parses a stored schedule as agents do. The rule is nil if the definition is invalid, and
// the plan also for the schedule of a job's own definition.
func readRule(ctx context.Context, store *controldb.Store, s timetable.Schedule) (schedule.Schedule, *schedule.Plan, error) {
	if s.Spec == "" {
		e := s.Elastic()
		if e.Start.Year() <= 1 || e.Validate() != nil {
			return nil, nil, nil
		}
		return e, nil, nil
	}
	opts := schedule.Options{Zone: s.TimeZone, Created: s.DefinedTime, LastStarted: s.NextDue, Uncounted: true}
	if len(schedule.CalendarNames(s.Spec)) > 0 {
		list, err := timetable.On(store).Calendars(ctx, "")
		if err != nil {
			return nil, nil, err
		}
		texts := map[string]string{}
		for _, c := range list {
			texts[c.Name] = c.Spec
		}
		opts.Calendars, opts.BrokenCalendars = schedule.ReadCalendars(texts)
	}
	plan, err := schedule.Parse(schedule.Kind(s.Kind), []byte(s.Spec), opts)
	var faults *schedule.Error
	if errors.As(err, &faults) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	return plan, plan, nil
}

// nextRows returns the next due instants. The first one is the database's: it may be later than the
// rule's, because earlier instants were handled.
func nextRows(s timetable.Schedule, rule schedule.Schedule, zone *time.Location, now time.Time) []instantRow {
	var instants []time.Time
	switch {
	case s.State == "Completed" || s.State == "Faulted":
		return nil
	case !s.NextDue.IsZero():
		instants = append([]time.Time{s.NextDue}, schedule.Preview(rule, s.NextDue, nextInstants-1)...)
	default:
		instants = schedule.Preview(rule, now, nextInstants)
	}
	rows := make([]instantRow, 0, len(instants))
	for i, at := range instants {
		row := instantRow{At: at, InZone: inZone(at, zone)}
		if i > 0 {
			row.Change = clockChange(instants[i-1], at, zone)
		}
		rows = append(rows, row)
	}
	return rows
}

// clockChange says by how much clocks change between two instants; empty if they do not.
func clockChange(from, to time.Time, zone *time.Location) string {
	_, before := from.In(zone).Zone()
	_, after := to.In(zone).Zone()
	switch d := time.Duration(after-before) * time.Second; {
	case d > 0:
		return "clocks have gone forward by " + page.LengthText(d)
	case d < 0:
		return "clocks have gone back by " + page.LengthText(-d)
	}
	return ""
}

// policies returns the policies of a schedule in sentences. plan may be nil.
func policies(s timetable.Schedule, plan *schedule.Plan) []string {
	catchUp := schedule.CatchUp{}
	if plan != nil {
		catchUp = plan.CatchUp
	}
	if s.CatchUp != "" {
		if c, err := schedule.ParseCatchUp(s.CatchUp); err == nil {
			catchUp = c
		}
	}
	list := []string{catchUpSentence(catchUp, s.Spec == ""), "Overlap: " + s.Overlap + "."}
	for _, o := range model.Overlaps {
		if o.Name == s.Overlap {
			list[1] = o.Sentence
		}
	}
	if s.PauseOnFailure {
		list = append(list, "A run that ends Failed or TimedOut pauses the schedule.")
	}
	if plan != nil && plan.Jitter > 0 {
		list = append(list, fmt.Sprintf("Each run begins up to %s after its instant. The delay of an instant is always the same.", plan.Jitter))
	}
	if plan != nil && plan.Count > 0 {
		list = append(list, fmt.Sprintf("The schedule ends after %s.", page.Counted(int(plan.Count), "run", "runs")))
	}
	if names := schedule.CalendarNames(s.Spec); len(names) > 0 {
		list = append(list, "Instants in windows of these calendars do not run: "+strings.Join(names, ", ")+".")
	}
	return list
}

// catchUpSentence says what happens to instants that were missed because no agent worked.
func catchUpSentence(c schedule.CatchUp, own bool) string {
	if own {
		return "If no agent worked, the first missed run is made up, and replaces those after it."
	}
	switch c.Mode {
	case schedule.CatchUpNone:
		return "If no agent worked, missed runs are not made up."
	case schedule.CatchUpAll:
		return "If no agent worked, all missed runs are made up."
	case schedule.CatchUpWindow:
		return fmt.Sprintf("If no agent worked, missed runs are made up if they are not older than %s.", c.Window)
	case schedule.CatchUpSAP:
		return "If no agent worked for less than 20 minutes, all missed runs are made up; otherwise the last one only."
	}
	return "If no agent worked, the last missed run is made up."
}
