package definitions

import (
	"context"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs/action"
	declared "github.com/jobagent/jobagent/jobs/parameters"
)

const (
	// listSize is the number of rows of a page of a list.
	listSize = 50
	// stripCells is the number of runs in a strip of the list.
	stripCells = 20
	// chartRuns is the number of runs in the strip and chart of a job.
	chartRuns = 60
)

// jobRow is a row of the list of jobs.
type jobRow struct {
	catalog.JobDetail
	Href      string
	Strip     template.HTML
	Last      *run
	LastHref  string
	Schedules timetable.JobSchedules
}

// jobsData is the data of the list of jobs.
type jobsData struct {
	Search, Show string
	Shows        []page.Option
	Rows         []jobRow
	Next, First  string
	clock
}

// jobShows are the filters of the list.
var jobShows = []page.Option{{Value: "", Text: "all"}, {Value: "scheduled", Text: "with an active schedule"}, {Value: "unscheduled", Text: "without an active schedule"}, {Value: "failed", Text: "last run failed"}}

// listJobs shows the jobs by name.
func listJobs(ctx context.Context, r *page.Request) (*page.View, error) {
	data, err := readJobs(ctx, r)
	if err != nil {
		return nil, err
	}
	return &page.View{
		Title: "Jobs", Nav: "jobs", Template: "jobs", Data: data, Topic: topic("jobs", r),
		Actions:     []page.Link{{Text: "New job", Href: r.Path("new", "job"), Role: rest.RoleAuthor}},
		Equivalents: append(page.CLI("job", "list"), page.Query("SELECT job_name, job_version, enabled, description FROM jobs.job_details WHERE is_system = 0 ORDER BY job_name;")),
	}, nil
}

// readJobs reads a page of the list.
func readJobs(ctx context.Context, r *page.Request) (jobsData, error) {
	data := jobsData{Search: r.Query("search"), Show: r.Query("show"), Shows: jobShows, clock: at(r)}
	f := catalog.JobFilter{Search: data.Search, Failed: data.Show == "failed"}
	if data.Show == "scheduled" || data.Show == "unscheduled" {
		scheduled := data.Show == "scheduled"
		f.Scheduled = &scheduled
	}
	after := page.After[string](r.Query("after"))
	list, next, err := controldb.ReadPage(after, listSize, func(p controldb.Page[string]) ([]catalog.JobDetail, error) {
		return catalog.On(r.Store).FindJobs(ctx, f, p)
	}, func(j catalog.JobDetail) string { return j.Name })
	if err != nil {
		return data, err
	}
	if data.Rows, err = jobRows(ctx, r, list); err != nil {
		return data, err
	}
	if next != nil {
		data.Next = page.With(r.Path("jobs"), "search", data.Search, "show", data.Show, "after", controldb.Token(*next))
	}
	if after != nil {
		data.First = page.With(r.Path("jobs"), "search", data.Search, "show", data.Show)
	}
	return data, nil
}

// jobRows adds the latest runs and the schedules to jobs.
func jobRows(ctx context.Context, r *page.Request, list []catalog.JobDetail) ([]jobRow, error) {
	names := make([]string, 0, len(list))
	for _, j := range list {
		names = append(names, j.Name)
	}
	latest, err := executions.On(r.Store).Latest(ctx, names, stripCells)
	if err != nil {
		return nil, err
	}
	sums, err := timetable.On(r.Store).OfJobs(ctx, names)
	if err != nil {
		return nil, err
	}
	runs, schedules := map[string][]run{}, map[string]timetable.JobSchedules{}
	for _, l := range latest {
		runs[l.JobName] = append(runs[l.JobName], run{ID: l.ID.String(), Lifecycle: l.Lifecycle, Active: l.Active, Created: l.CreateTime, Started: l.StartTime, Ended: l.EndTime})
	}
	for _, s := range sums {
		schedules[s.JobName] = s
	}
	rows := make([]jobRow, 0, len(list))
	for _, j := range list {
		row := jobRow{JobDetail: j, Href: r.Path("jobs", j.Name), Strip: strip(runs[j.Name]), Schedules: schedules[j.Name]}
		if n := len(runs[j.Name]); n > 0 {
			row.Last = &runs[j.Name][n-1]
			row.LastHref = r.Path("runs", row.Last.ID)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// jobData is the data of the page of a job.
type jobData struct {
	Job catalog.JobDetail
	// Parameters are those that the job declares.
	Parameters []declared.Declaration
	Last       *run
	LastHref   string
	Durations  durations
	Schedules  []scheduleRow
	NextDue    time.Time
	// After are the triggers that start the job, and Starts those of other jobs that watch it.
	After, Starts []triggerRow
	// Changeable are the triggers that start the job, if the viewer may change them. They are not
	// in a block that is updated live.
	Changeable []page.Link
	Steps      []stepView
	Versions   []versionRow
	// MoreVersions is the path of the older versions.
	MoreVersions string
	Changes      []auditlog.Entry
	ChangesHref  string
	RunsHref     string
	clock
}

// Phase is the phase on which the actions depend.
func (d jobData) Phase() string {
	if d.Job.Enabled {
		return "enabled"
	}
	return "disabled"
}

// triggerRow is a trigger with the jobs that it names: those that it watches, or the one that it
// starts.
type triggerRow struct {
	triggers.Trigger
	Jobs []page.Link
}

// When says what the runs of the upstream jobs end with.
func (t triggerRow) When() string {
	return map[string]string{"Succeeded": "succeeded", "Failed": "failed", "Finished": "ended"}[t.RunWhen]
}

// addTriggers reads the triggers that start the job, and those that watch it.
func (d *jobData) addTriggers(ctx context.Context, r *page.Request) error {
	list, err := triggers.On(r.Store).Around(ctx, d.Job.Name)
	for _, t := range list {
		row := triggerRow{Trigger: t}
		if t.JobID == d.Job.ID {
			for _, name := range t.Upstreams {
				row.Jobs = append(row.Jobs, page.Link{Text: name, Href: r.Path("jobs", name)})
			}
			d.After = append(d.After, row)
			continue
		}
		row.Jobs = []page.Link{{Text: t.JobName, Href: r.Path("jobs", t.JobName)}}
		d.Starts = append(d.Starts, row)
	}
	return err
}

// versionRow is a version of a job.
type versionRow struct {
	catalog.JobVersion
	Current    bool
	Href, Diff string
	// Change is the entry of the audit log that made it; nil if it is not among those that were
	// read.
	Change *auditlog.Entry
}

// showJob shows a job: its runs, schedules, steps and versions.
func showJob(ctx context.Context, r *page.Request) (*page.View, error) {
	data, err := readJob(ctx, r)
	if err != nil {
		return nil, err
	}
	job := data.Job
	steps, err := catalog.On(r.Store).JobSteps(ctx, job.Name, &job.Version)
	if err != nil {
		return nil, err
	}
	data.Steps = stepViews(r, steps, "")
	for i, s := range data.Steps {
		if !job.System && r.May(rest.RoleAuthor) {
			data.Steps[i].EditHref = r.Path("jobs", job.Name, "steps", s.StepName, "edit")
		}
	}
	for _, t := range data.After {
		if !job.System && r.May(rest.RoleAuthor) {
			data.Changeable = append(data.Changeable, page.Link{Text: t.Name, Href: r.Path("jobs", job.Name, "triggers", t.Name)})
		}
	}
	if err := data.addVersions(ctx, r); err != nil {
		return nil, err
	}
	actions := jobActions(r, job)
	if slices.ContainsFunc(steps, func(s catalog.JobStep) bool { return strings.EqualFold(s.CommandType, string(action.TypeDrift)) }) {
		actions = append(actions, page.Link{Text: "Schemas", Href: r.Path("jobs", job.Name, "drift")})
	}
	return &page.View{
		Title: job.Name, Nav: "jobs", Crumbs: []page.Link{{Text: "Jobs", Href: r.Path("jobs")}}, Template: "job", Data: data,
		Styles: []string{"code/code.css"}, Actions: actions, Phase: data.Phase(), Topic: topic("job", r),
		Equivalents: append(page.CLI("job", "show", job.Name), page.Query(`DECLARE @job NVARCHAR(128) = N'?';
SELECT step_id, step_name, command_type, target_group_name, command
FROM jobs.jobsteps
WHERE job_name = @job
ORDER BY step_id;`, job.Name)),
	}, nil
}

// readJob reads what changes while a job's page is viewed: its state, runs and schedules.
func readJob(ctx context.Context, r *page.Request) (jobData, error) {
	job, err := catalog.On(r.Store).JobDetail(ctx, r.Value("job"))
	if err != nil {
		return jobData{}, err
	}
	data := jobData{Job: job, RunsHref: page.With(r.Path("runs"), "job", job.Name), ChangesHref: page.With(r.Path("audit"), "job", job.Name), clock: at(r)}
	if data.Parameters, err = declared.ParseDeclarations(job.Parameters); err != nil {
		return data, err
	}
	latest, err := executions.On(r.Store).Latest(ctx, []string{job.Name}, chartRuns)
	if err != nil {
		return data, err
	}
	var runs []run
	for _, l := range latest {
		runs = append(runs, run{ID: l.ID.String(), Lifecycle: l.Lifecycle, Active: l.Active, Created: l.CreateTime, Started: l.StartTime, Ended: l.EndTime})
	}
	if n := len(runs); n > 0 {
		data.Last, data.LastHref = &runs[n-1], r.Path("runs", runs[n-1].ID)
		data.Durations = chart(runs, r.Now, func(id string) string { return r.Path("runs", id) })
	}
	if data.Schedules, err = schedulesOf(ctx, r, job.Name); err != nil {
		return data, err
	}
	if err := data.addTriggers(ctx, r); err != nil {
		return data, err
	}
	for _, s := range data.Schedules {
		if s.Runs() && (data.NextDue.IsZero() || s.NextDue.Before(data.NextDue)) {
			data.NextDue = s.NextDue
		}
	}
	return data, nil
}

// jobActions are what people do with a job.
func jobActions(r *page.Request, job catalog.JobDetail) []page.Link {
	list := []page.Link{{Text: "Start", Href: r.Path("jobs", job.Name, "start"), Role: rest.RoleOperator}}
	if job.System {
		return list
	}
	list = append(list, page.Link{Text: "Edit", Href: r.Path("jobs", job.Name, "edit"), Role: rest.RoleAuthor},
		page.Link{Text: "Add a step", Href: r.Path("jobs", job.Name, "add-step"), Role: rest.RoleAuthor},
		page.Link{Text: "Add a schedule", Href: r.Path("jobs", job.Name, "add-schedule"), Role: rest.RoleAuthor},
		page.Link{Text: "Add a trigger", Href: r.Path("jobs", job.Name, "add-trigger"), Role: rest.RoleAuthor})
	if !job.HasOwnSchedule() { // enabling would start a run
		return list
	}
	return append(list, page.Link{Text: "Disable the schedule", Href: r.Path("jobs", job.Name, "disable"), Role: rest.RoleOperator, When: "enabled"},
		page.Link{Text: "Enable the schedule", Href: r.Path("jobs", job.Name, "enable"), Role: rest.RoleOperator, When: "disabled"})
}

// shownVersions is the number of versions on the page of a job, and shownChanges that of entries of
// the audit log.
const shownVersions, shownChanges = 12, 40

// addVersions reads the versions, and who made them.
func (d *jobData) addVersions(ctx context.Context, r *page.Request) error {
	before := page.After[int](r.Query("versions"))
	versions, next, err := controldb.ReadPage(before, shownVersions, func(p controldb.Page[int]) ([]catalog.JobVersion, error) {
		return catalog.On(r.Store).LatestJobVersions(ctx, d.Job.Name, p)
	}, func(v catalog.JobVersion) int { return v.Version })
	if err != nil {
		return err
	}
	if next != nil {
		d.MoreVersions = page.With(r.Path("jobs", d.Job.Name), "versions", controldb.Token(*next)) + "#versions"
	}
	if d.Changes, err = auditlog.On(r.Store).Read(ctx, auditlog.Filter{JobName: d.Job.Name, Limit: shownChanges}); err != nil {
		return err
	}
	made := map[int]*auditlog.Entry{}
	for i := range d.Changes {
		if c := d.Changes[i]; c.VersionAfter != nil && c.JobID == d.Job.ID && (c.VersionBefore == nil || *c.VersionBefore != *c.VersionAfter) {
			made[*c.VersionAfter] = &c
		}
	}
	for _, v := range versions {
		row := versionRow{JobVersion: v, Current: v.Version == d.Job.Version, Href: r.Path("jobs", d.Job.Name, "versions", strconv.Itoa(v.Version)), Change: made[v.Version]}
		if v.Version > 0 {
			row.Diff = page.With(r.Path("jobs", d.Job.Name, "diff"), "from", strconv.Itoa(v.Version-1), "to", strconv.Itoa(v.Version))
		}
		d.Versions = append(d.Versions, row)
	}
	d.Changes = slices.DeleteFunc(d.Changes, func(c auditlog.Entry) bool { return c.ObjectKind == "JobExecution" })
	d.Changes = d.Changes[:min(len(d.Changes), 5)]
	return nil
}

// schedulesOf returns the schedules of a job that somebody has defined.
func schedulesOf(ctx context.Context, r *page.Request, job string) ([]scheduleRow, error) {
	list, err := timetable.On(r.Store).List(ctx, timetable.Filter{JobName: job, DefinedOnly: true, Limit: 200})
	if err != nil {
		return nil, err
	}
	rows := make([]scheduleRow, 0, len(list))
	for _, s := range list {
		rows = append(rows, newScheduleRow(r, s))
	}
	return rows, nil
}
