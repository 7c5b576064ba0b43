package importer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// SAP converts jobs of SAP Job Scheduling Service. The text holds one job, a list of jobs, or the
// response of a list operation ("results"). The error contains no part of the text.
func SAP(text []byte, o Options) (*Result, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	r := &Result{source: "SAP Job Scheduling Service", opts: o}
	jobs := r.sapJobs(v, "")
	if len(jobs) == 0 {
		return nil, errors.New("it holds no job of SAP Job Scheduling Service: no object with a name and an action or schedules")
	}
	for _, j := range jobs {
		r.sapJob(j)
	}
	return r, nil
}

// sapJobs returns the jobs in a value and reports other values.
func (r *Result) sapJobs(v any, path string) (jobs []*object) {
	if list, ok := v.([]any); ok {
		for i, item := range list {
			jobs = append(jobs, r.sapJobs(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
		return jobs
	}
	o, ok := asObject(v, path)
	if !ok {
		r.lost("", pathOr(path), "it is neither a job nor a list of jobs")
		return nil
	}
	list := o.members["results"]
	if list == nil && !o.has("action") && !o.has("schedules") {
		list = o.members["jobs"]
	}
	if list, ok := list.([]any); ok {
		if next, _ := o.members["next_url"].(string); next != "" {
			r.lost("", o.at("next_url"), "the list goes on: fetch and import the next page too")
		}
		return r.sapJobs(list, o.at("results"))
	}
	if !o.has("name") || !o.has("action") && !o.has("schedules") && !o.has("jobType") {
		r.lost("", pathOr(path), "it is neither a job nor a list of jobs")
		return nil
	}
	return []*object{o}
}

// sapJob converts one job of SAP and adds it to the result.
func (r *Result) sapJob(o *object) {
	job := Job{Name: r.jobName(o.text("name"), "sap-job")}
	description := strings.TrimSpace(o.text("description"))
	if description == "" {
		description = "Imported from SAP Job Scheduling Service"
	}
	short, was := cut(description, maxDescription)
	if was {
		r.changed(job.Name, o.at("description"), "it is longer than %d characters and was cut", maxDescription)
	}
	job.Description = short
	r.sapAction(&job, o)
	active := r.sapActive(job.Name, o, false)
	if !active {
		r.note(job.Name, o.at("active"), "the job is inactive: its schedules are created disabled")
	}
	bounds := map[string]any{}
	for _, name := range []string{"startTime", "endTime"} {
		if v := o.take(name); v != nil && v != "" {
			bounds[name] = v
		}
	}
	created := o.time("createdAt")
	switch list := o.take("schedules").(type) {
	case []any:
		for i, item := range list {
			path := fmt.Sprintf("%s[%d]", o.at("schedules"), i)
			if s, ok := asObject(item, path); ok {
				r.sapSchedule(&job, s, bounds, active, created)
			} else {
				r.lost(job.Name, path, "invalid value: want an object")
			}
		}
	case nil:
		r.lost(job.Name, o.at("schedules"), "there are none in the text: fetch the job with displaySchedules=true")
	default:
		r.lost(job.Name, o.at("schedules"), "invalid value: want a list")
	}
	o.ignore("jobId", "_id", "id", "signatureVersion", "ACTIVECOUNT", "INACTIVECOUNT", "createdAt", "modifiedAt", "subDomain", "tenantId")
	r.restOf(job.Name, o)
	r.Jobs = append(r.Jobs, job)
}

// sapAction adds the step that describes the job's HTTP call or task.
func (r *Result) sapAction(job *Job, o *object) {
	what := "a task of Cloud Foundry"
	if kind := o.text("jobType"); !strings.EqualFold(kind, "CF_TASK") {
		method := strings.ToUpper(o.text("httpMethod"))
		if method == "" {
			method = "POST"
		}
		what = fmt.Sprintf("HTTP %s %s", method, address(o.text("action")))
	} else {
		o.ignore("action", "httpMethod")
	}
	r.lost(job.Name, o.at("action"), "%s is not T-SQL: write the step that the script proposes", what)
	for _, name := range []string{"user", "password"} {
		if o.has(name) {
			r.lost(job.Name, o.at(name), "agents log in with a credential of their configuration")
		}
		o.ignore(name)
	}
	for _, name := range []string{"ansConfig", "calmConfig"} {
		if o.has(name) {
			r.lost(job.Name, o.at(name), "notifications have no counterpart: watch jobs.job_executions instead")
		}
		o.ignore(name)
	}
	// SAP does not retry, and an asynchronous run may take a week (D-S12).
	job.Steps = append(job.Steps, Step{Name: "JobStep", TargetGroup: r.placeholder(), Action: what, Interval: 1, Timeout: 604800})
}

// sapActive returns the member active, a Boolean or a string that spells one (D-S19). The result is
// absent if the member is missing. Any other value is reported and counts as false.
func (r *Result) sapActive(job string, o *object, absent bool) bool {
	switch v := o.take("active").(type) {
	case nil:
		return absent
	case bool:
		return v
	case string:
		if v == "true" || v == "false" {
			r.note(job, o.at("active"), "it is a text, and is read as the truth value %s (D-S19)", v)
			return v == "true"
		}
	}
	r.changed(job, o.at("active"), "it is neither true nor false: false is taken")
	return false
}

// sapModes are the elements that define when a schedule runs. A schedule has one of them.
var sapModes = []string{"cron", "repeatInterval", "repeatAt", "time"}

// sapSchedule converts one schedule. The overlap is AllowAll, and the catch-up is the 20-minute
// rule of SAP (D-P2, D-S7).
func (r *Result) sapSchedule(job *Job, o *object, bounds map[string]any, jobActive bool, jobCreated time.Time) {
	spec := map[string]any{}
	mode := ""
	for _, name := range sapModes {
		if v := o.take(name); v != nil && v != "" {
			spec[name], mode = v, name
		}
	}
	for _, name := range []string{"startTime", "endTime"} {
		if v := o.take(name); v != nil && v != "" {
			spec[name] = v
		}
	}
	if len(bounds) > 0 {
		spec["job"] = bounds
	}
	if d := o.take("data"); d != nil && d != "" {
		if m, isObject := d.(map[string]any); !isObject || len(m) > 0 {
			r.lost(job.Name, o.at("data"), "data of %s for the call", size(d))
		}
	}
	name := o.text("description")
	if strings.TrimSpace(name) == "" {
		if name = o.text("scheduleId"); name == "" {
			name = fmt.Sprintf("schedule %d", len(job.Schedules)+1)
		}
	}
	s := Schedule{
		Name: r.scheduleName(job, o.at("description"), name), Kind: schedule.KindSAP, CatchUp: "sap-20min", Overlap: "AllowAll",
		Enabled: r.sapActive(job.Name, o, jobActive) && jobActive,
	}
	created := o.time("createdAt")
	if created.IsZero() {
		created = jobCreated
	}
	r.sapGoesOn(job, o, spec, mode, s.Enabled, created)
	s.Spec = compact(withoutSecrets(spec))
	o.ignore("scheduleId", "_id", "id", "jobId", "type", "nextRunAt", "createdAt", "modifiedAt", "lastRunAt", "status")
	if o.has("logs") {
		r.lost(job.Name, o.at("logs"), "the history stays behind")
	}
	o.ignore("logs")
	r.restOf(job.Name, o)
	r.addSchedule(job, o.path, o.path, s)
}

// sapGoesOn sets the start of a schedule so that the schedule continues instead of starting again.
// SAP counts intervals from the last run and relative times from the creation of the schedule
// (D-S14).
func (r *Result) sapGoesOn(job *Job, o *object, spec map[string]any, mode string, enabled bool, created time.Time) {
	next := o.time("nextRunAt")
	switch {
	case mode == "repeatInterval" && next.After(r.opts.Now):
		spec["startTime"] = next.Format(time.RFC3339)
		r.changed(job.Name, o.at("startTime"), "the interval goes on from the next run, %s", spec["startTime"])
	case mode == "repeatInterval" && enabled:
		r.note(job.Name, o.at("repeatInterval"), "no next run is known: a run starts as soon as the schedule is created, unless its start lies ahead")
	case mode == "time" && !next.IsZero():
		spec["time"] = next.Format(time.RFC3339)
		r.changed(job.Name, o.at("time"), "the run at %s is meant", spec["time"])
	case mode == "time" && !created.IsZero():
		spec["createdAt"] = created.Format(time.RFC3339)
	case mode == "time":
		if text, ok := spec["time"].(string); ok && parseTime(text).IsZero() {
			r.changed(job.Name, o.at("time"), "%q is counted from when the script is run: when it was made is not known", text)
		}
	}
}
