package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// SAP converts jobs of SAP Job Scheduling Service. The text holds one job, a list of jobs, or the
// response of a list operation ("results"). The error contains no part of the text.
func SAP(text []byte, o Options) (*Result, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	r := &Result{source: "SAP Job Scheduling Service", opts: o, limited: true}
	jobs := r.sapJobs(v, "")
	if len(jobs) == 0 {
		return nil, errors.New("it holds no job of SAP Job Scheduling Service: no object with a name and an action or schedules")
	}
	if len(jobs) > maxListed {
		return nil, fmt.Errorf("it holds %d jobs: at most %d are imported at once", len(jobs), maxListed)
	}
	for _, j := range jobs {
		if r.full() {
			break
		}
		r.sapJob(j)
	}
	return r.bounded()
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
	data := r.sapData(o)
	r.sapAction(&job, o, data)
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
			if r.full() {
				break
			}
			path := fmt.Sprintf("%s[%d]", o.at("schedules"), i)
			if s, ok := asObject(item, path); ok {
				r.sapSchedule(&job, s, bounds, active, created, data)
			} else {
				r.lost(job.Name, path, "invalid value: want an object")
			}
		}
	case nil:
		r.lost(job.Name, o.at("schedules"), "the job has no schedules in the text: fetch the job with displaySchedules=true")
	default:
		r.lost(job.Name, o.at("schedules"), "invalid value: want a list")
	}
	o.ignore("jobId", "_id", "id", "signatureVersion", "ACTIVECOUNT", "INACTIVECOUNT", "createdAt", "modifiedAt", "subDomain", "tenantId")
	r.restOf(job.Name, o)
	r.Jobs = append(r.Jobs, job)
}

// sapStep is the name of the step of a job.
const sapStep = "action"

// sapTimeout is the time that a report has (D-S12), in seconds. The limit of the step is later, so
// that the report's deadline ends the run first.
const sapTimeout = 604800

// sapAction adds the step that makes the job's HTTP call or runs its task.
func (r *Result) sapAction(job *Job, o *object, data sapData) {
	// SAP does not retry.
	step := Step{Name: sapStep, TargetGroup: TargetGroup{Name: r.opts.TargetGroup}, Interval: 1, Timeout: sapTimeout + 60}
	if strings.EqualFold(o.text("jobType"), "CF_TASK") {
		r.sapTask(job, o, &step, data)
	} else {
		r.sapCall(job, o, &step, data)
	}
	job.Steps = append(job.Steps, step)
	if ans := o.object("ansConfig"); ans != nil {
		for _, name := range slices.Sorted(maps.Keys(ans.members)) {
			if a, known := sapAlerts[name]; known && ans.text(name) == "true" {
				r.toSet(job.Name, ans.at(name), "SAP Alert Notification sent an event: the script proposes the step %q, to which you give the address of your alert service", a.name)
				job.Steps = append(job.Steps, r.sapAlert(ans.at(name), a))
			}
		}
		r.restOf(job.Name, ans)
	}
	if calm := o.object("calmConfig"); calm != nil {
		r.note(job.Name, calm.path, "Cloud ALM reads no runs of jobagent")
		calm.ignore("enabled")
		r.restOf(job.Name, calm)
	}
}

// sapAlerts are the steps in the place of alert notifications.
var sapAlerts = map[string]sapAlert{
	"onError":   {"AlertOnError", "Failed"},
	"onSuccess": {"AlertOnSuccess", "Succeeded"},
	"onDelay":   {"AlertOnDelay", "Finished"},
}

// sapAlert is the name of a step in the place of an alert, and when the step runs.
type sapAlert struct{ name, runWhen string }

// sapAlert returns the proposal of a step that sends an alert.
func (r *Result) sapAlert(element string, a sapAlert) Step {
	return Step{
		Name: a.name, TargetGroup: TargetGroup{Name: r.opts.TargetGroup}, Type: action.TypeHTTP, Attempts: 4, Interval: 30, Timeout: 3600,
		After: []string{sapStep}, RunWhen: a.runWhen, Action: "an alert by SAP Alert Notification (" + element + ")",
		Proposal: `{"method":"POST","url":"https://alerts.example.com/","body":{"eventType":"JobSchedulerJobExecution","job":"$(job_name)","run":"$(run_id)"}}`,
	}
}

// sapCall converts a call of an endpoint.
func (r *Result) sapCall(job *Job, o *object, step *Step, data sapData) {
	method := strings.ToUpper(o.text("httpMethod"))
	if method == "" {
		method = "POST"
	}
	uri := o.text("action")
	what := fmt.Sprintf("HTTP %s %s", method, address(uri))
	step.OnUnknownOutcome = "Await"
	text, user := r.requestURL(job.Name, o.at("action"), "action.", uri)
	h := &action.HTTP{
		Method: method, URL: text, AllowHTTP: strings.HasPrefix(strings.ToLower(text), "http://"),
		Headers: []action.Field{{Name: "Accept", Value: "application/json"}},
		Payload: action.PayloadBody, Success: action.Success{Preset: action.PresetSAP}, ResponseTimeout: 15 * time.Second,
	}
	switch {
	case method == "GET" || method == "HEAD" || method == "DELETE":
		h.Payload = action.PayloadQuery // S-49
	case data.body != nil:
		h.Payload, h.BodyJSON = "", true
		masked, _ := r.templates(job.Name, data.element, "data.", data.body)
		h.Body = []byte(compact(masked))
	}
	name := o.text("user")
	if name == "" && user != nil {
		name = user.Username()
		r.changed(job.Name, o.at("action"), "user and password of the URL become basic authentication")
	}
	if name != "" {
		h.Auth = &action.Auth{Kind: "basic", Username: literal(name), Password: r.secret(job.Name, o.at("password"), "password", "the password")}
	} else {
		r.note(job.Name, o.at("action"), "SAP sent a token of the application's token service: if the application needs one, give the step a credential of the agent's configuration")
	}
	o.ignore("password")
	d := &action.Definition{Type: action.TypeHTTP, HTTP: h, Callback: &action.Callback{StatusAccepted: true}}
	r.setAction(job.Name, o.at("action"), what, step, d)
}

// sapTask converts a task of Cloud Foundry to a process.
func (r *Result) sapTask(job *Job, o *object, step *Step, data sapData) {
	o.ignore("action", "httpMethod", "user", "password", "application", "appGuid", "command")
	entry := nameOf(job.Name, "task")
	r.toSet(job.Name, pathOr(o.at("action")), "the task becomes the process %q: list it in the agent's configuration, with the command of the task", entry)
	p := &action.Process{Entry: entry, MaxMemory: data.memory << 20}
	if data.memory == 0 {
		p.MaxMemory = 1 << 30 // the default of Cloud Foundry
	}
	r.setAction(job.Name, o.at("action"), "a task of Cloud Foundry", step, &action.Definition{Type: action.TypeProcess, Process: p})
}

// sapData is what the data of all schedules of a job say about the action.
type sapData struct {
	// body is the data if it contains a secret, and all schedules have the same; its values then
	// become part of the action.
	body    any
	element string // the path of body
	memory  int64  // memory_in_mb of a task; 0 if there is none
}

// sapData reads the data of all schedules.
func (r *Result) sapData(o *object) sapData {
	var d sapData
	list, _ := o.members["schedules"].([]any)
	texts := map[string]bool{}
	for i, item := range list {
		s, ok := asObject(item, fmt.Sprintf("%s[%d]", o.at("schedules"), i))
		if !ok {
			continue
		}
		v := dataOf(s.members["data"])
		texts[compact(v)] = true
		if hasSecrets(v) {
			d.body, d.element = v, s.at("data")
		}
		if m, ok := v.(map[string]any); ok {
			memory, _ := (&object{members: m, taken: map[string]bool{}}).integer("memory_in_mb")
			d.memory = max(d.memory, memory)
		}
	}
	if len(texts) > 1 {
		d.body = nil
	}
	return d
}

// dataOf returns the data of a schedule, which some answers have as a text of JSON.
func dataOf(v any) any {
	if text, ok := v.(string); ok {
		if parsed, err := decode([]byte(text)); err == nil {
			return parsed
		}
	}
	return v
}

// sapParameters returns the data of a schedule as the parameters of its runs.
func (r *Result) sapParameters(job *Job, o *object, data sapData) string {
	switch v := dataOf(o.take("data")).(type) {
	case nil:
	case string:
		if v != "" {
			r.lost(job.Name, o.at("data"), "data of %s that is not a JSON object", size(v))
		}
	case map[string]any:
		if len(v) == 0 || data.body != nil {
			return ""
		}
		if hasSecrets(v) {
			r.lost(job.Name, o.at("data"), "values of members whose names are those of secrets: the schedules have different data, so that they cannot become part of the action")
			return compact(withoutSecrets(v))
		}
		return compact(v)
	default:
		r.lost(job.Name, o.at("data"), "data of %s that is not a JSON object", size(v))
	}
	return ""
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
func (r *Result) sapSchedule(job *Job, o *object, bounds map[string]any, jobActive bool, jobCreated time.Time, data sapData) {
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
	name := o.text("description")
	if strings.TrimSpace(name) == "" {
		if name = o.text("scheduleId"); name == "" {
			name = fmt.Sprintf("schedule %d", len(job.Schedules)+1)
		}
	}
	s := Schedule{
		Name: r.scheduleName(job, o.at("description"), name), Kind: schedule.KindSAP, CatchUp: "sap-20min", Overlap: "AllowAll",
		Enabled: r.sapActive(job.Name, o, jobActive) && jobActive, Parameters: r.sapParameters(job, o, data),
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
