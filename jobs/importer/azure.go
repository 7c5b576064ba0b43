package importer

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/isoduration"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// AzureScheduler converts jobs of Azure Scheduler in the form of Azure Resource Manager or of the
// classic API. The text holds one job, a list of jobs, the response of a list operation ("value"),
// job collections that contain jobs, or a template ("resources"). The error contains no part of the
// text.
func AzureScheduler(text []byte, o Options) (*Result, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	r := &Result{source: "Azure Scheduler", opts: o, limited: true}
	c := azureCollector{result: r, states: map[string]string{}}
	c.collect(v, "", "")
	if len(c.jobs) == 0 {
		return nil, errors.New("it holds no job of Azure Scheduler: no object with an action, a recurrence or a start time")
	}
	if len(c.jobs) > maxListed {
		return nil, fmt.Errorf("it holds %d jobs: at most %d are imported at once", len(c.jobs), maxListed)
	}
	for _, j := range c.jobs {
		r.azureJob(j, c.states[j.collection])
	}
	return r.bounded()
}

// azureCollector finds the jobs in a JSON text and the states of their job collections.
type azureCollector struct {
	result *Result
	jobs   []azureItem
	states map[string]string // states of job collections, by name
}

// azureItem holds a job and the name of the job collection that contains it.
type azureItem struct {
	*object
	collection string
}

// collect finds the jobs in a value. collection is the name of the job collection that contains the
// value, or empty.
func (c *azureCollector) collect(v any, path, collection string) {
	if list, ok := v.([]any); ok {
		for i, item := range list {
			c.collect(item, fmt.Sprintf("%s[%d]", path, i), collection)
		}
		return
	}
	o, ok := asObject(v, path)
	if !ok {
		c.result.lost("", pathOr(path), "it is neither a job nor a list of jobs")
		return
	}
	body := o
	if p, isObject := o.members["properties"].(map[string]any); isObject {
		body = &object{path: o.at("properties"), members: p, taken: map[string]bool{}}
	}
	inside := collection
	isJob := body.has("action") || body.has("recurrence") || body.has("startTime")
	if !isJob && (body.has("sku") || body.has("quota")) {
		inside = o.text("name")
		c.states[inside] = body.text("state")
		if body.has("quota") {
			c.result.lost("", body.at("quota"), "limits of the job collection %q are not carried over", inside)
		}
	}
	found := isJob
	for _, name := range []string{"value", "resources", "jobs"} {
		if list, ok := o.members[name].([]any); ok {
			found = true
			c.collect(list, o.at(name), inside)
		}
	}
	if o.has("nextLink") {
		c.result.lost("", o.at("nextLink"), "the list goes on: fetch and import the next page too")
	}
	switch {
	case isJob:
		o.ignore("id", "type", "tags", "location", "apiVersion", "dependsOn", "resources", "etag")
		c.jobs = append(c.jobs, azureItem{o, collection})
	case !found && inside == collection:
		c.result.lost("", pathOr(path), "it is neither a job nor a list of jobs")
	}
}

// pathOr returns path, or "the text" if path is empty.
func pathOr(path string) string {
	if path == "" {
		return "the text"
	}
	return path
}

// azureJob converts one job of Azure Scheduler and adds it to the result.
func (r *Result) azureJob(o azureItem, collectionState string) {
	id, _ := o.members["id"].(string)
	full := o.text("name")
	if full == "" {
		full = id
	}
	collection, name, nested := strings.Cut(full, "/")
	if !nested || strings.Count(full, "/") > 1 {
		collection, name = o.collection, full[strings.LastIndexByte(full, '/')+1:]
	}
	collection, _ = cut(collection, maxDescription) // it is copied for each job
	job := Job{Description: "Imported from Azure Scheduler"}
	if collection != "" {
		job.Description += ", job collection " + collection
	}
	job.Description, _ = cut(job.Description, maxDescription)
	job.Name = r.jobName(name, "azure-scheduler")
	if strings.HasPrefix(full, "[") {
		r.note(job.Name, "name", "the name is an expression of a template, which is not evaluated")
	}
	body := o.object
	if p := o.object.object("properties"); p != nil {
		body = p
	}
	r.azureAction(&job, collection, name, body)
	r.azureSchedule(&job, body, collectionState)
	for _, path := range append(body.rest(), o.rest()...) {
		if path != o.at("properties") {
			r.lost(job.Name, path, "this element has no counterpart")
		}
	}
	r.Jobs = append(r.Jobs, job)
}

// restOf adds a finding Lost for each member of o that was not taken.
func (r *Result) restOf(job string, o *object) {
	for _, path := range o.rest() {
		r.lost(job, path, "this element has no counterpart")
	}
}

// These are the limits of a retry policy in Azure Scheduler; azureMinRetry is in seconds.
const (
	azureMaxRetries = 20
	azureMinRetry   = 15
)

// azureRetry copies a retry policy into step (D-A12).
func (r *Result) azureRetry(job string, p *object, step *Step) {
	kind, interval, count := p.text("retryType"), p.text("retryInterval"), p.take("retryCount")
	switch strings.ToLower(kind) {
	case "none":
		step.Attempts, step.Interval = 0, 1
	case "fixed", "":
		if interval != "" {
			seconds, ok := isoduration.ParseSeconds(interval)
			switch {
			case !ok:
				near := ""
				if days := strings.Replace(strings.ToUpper(interval), "PT", "P", 1); days != interval {
					if _, ok := isoduration.ParseSeconds(days); ok {
						near = "; " + days + " may be meant"
					}
				}
				r.changed(job, p.at("retryInterval"), "invalid duration %q: want ISO 8601 such as PT30S or P1D; the default of 30 s is taken%s", interval, near)
			case seconds < azureMinRetry || seconds > maxRetry:
				step.Interval = int(min(max(seconds, azureMinRetry), maxRetry))
				r.changed(job, p.at("retryInterval"), "Azure Scheduler waits for 15 s to 18 months, and a step here for at most %d s: %s becomes %d s", maxRetry, interval, step.Interval)
			default:
				step.Interval = int(seconds)
			}
		}
		if count != nil {
			n, ok := p.integer("retryCount")
			switch {
			case !ok || n < 0:
				r.changed(job, p.at("retryCount"), "invalid number: want 0 to %d; the default of 4 is taken", azureMaxRetries)
			case n > azureMaxRetries:
				step.Attempts = azureMaxRetries
				r.changed(job, p.at("retryCount"), "Azure Scheduler retries at most %d times: %d becomes %d", azureMaxRetries, n, azureMaxRetries)
			default:
				step.Attempts = int(n)
			}
		}
	default:
		r.changed(job, p.at("retryType"), "%q is neither Fixed nor None: 4 retries after 30 s each are taken", kind)
	}
	r.restOf(job, p)
}

// azureTiming holds the elements of a job that determine when the job runs.
type azureTiming struct {
	base       string // path of the object that holds these elements
	start      string // as written in the input
	recurrence map[string]any
	zone       string
	state      string
	last, next time.Time
	executions int64
}

// azureSchedule converts the start, recurrence and state of a job to a schedule.
func (r *Result) azureSchedule(job *Job, body *object, collectionState string) {
	t := azureTiming{start: body.text("startTime"), state: body.text("state")}
	element := body.at("recurrence")
	switch v := body.take("recurrence").(type) {
	case nil:
	case map[string]any:
		t.recurrence = maps.Clone(v)
		t.ownNames(r, job.Name, element)
	default:
		r.lost(job.Name, element, "invalid value: want an object")
		return
	}
	if s := body.object("status"); s != nil {
		t.last, t.next = s.time("lastExecutionTime"), s.time("nextExecutionTime")
		t.executions, _ = s.integer("executionCount")
		r.note(job.Name, s.path, "history and counters (executionCount %d) stay behind", t.executions)
	}
	s := Schedule{Name: "recurrence", Kind: schedule.KindAzureScheduler, Zone: t.zone, Enabled: true}
	if t.recurrence == nil {
		s.Name, element = "once", body.at("startTime")
	}
	switch strings.ToLower(t.state) {
	case "", "enabled":
	case "completed":
		s.finished = true
	case "disabled":
		s.Enabled = false
	case "faulted":
		s.Enabled = false
		r.changed(job.Name, body.at("state"), "the job is Faulted: its schedule is created disabled")
	default:
		s.Enabled = false
		r.changed(job.Name, body.at("state"), "invalid state %q: the schedule is created disabled", t.state)
	}
	if c := strings.ToLower(collectionState); c != "" && c != "enabled" && s.Enabled {
		s.Enabled = false
		r.changed(job.Name, "job collection", "it is %s: the schedule is created disabled", collectionState)
	}
	t.base = body.path
	r.azureTiming(job, element, &s, t)
}

// ownNames moves two elements of Logic Apps from the recurrence to t: the start, and the time zone
// with its Windows name. A start that the job already has takes precedence.
func (t *azureTiming) ownNames(r *Result, job, element string) {
	if start, ok := t.recurrence["startTime"].(string); ok && t.start == "" {
		t.start = start
		delete(t.recurrence, "startTime")
	}
	name, ok := t.recurrence["timeZone"].(string)
	if !ok {
		return
	}
	delete(t.recurrence, "timeZone")
	zone, err := Zone(name)
	if err != nil {
		r.lost(job, element+".timeZone", "%s: UTC is taken", err)
		return
	}
	t.zone = zone
	if zone != name {
		r.changed(job, element+".timeZone", "%q becomes %s", name, zone)
	}
}

// azureTiming writes the specification of s and adds s to the job. A finished schedule stays
// finished: the count is reduced by the runs that were made, and a schedule that has ended gets
// bounds in the past (D-A7).
func (r *Result) azureTiming(job *Job, element string, s *Schedule, t azureTiming) {
	now := r.opts.Now
	spec := map[string]any{}
	start := parseTime(t.start)
	end := time.Time{}
	if t.recurrence != nil {
		if text, ok := t.recurrence["endTime"].(string); ok {
			end = parseTime(text)
		}
		over := !end.IsZero() && end.Before(now)
		if n, ok := (&object{members: t.recurrence, taken: map[string]bool{}}).integer("count"); ok && n > 0 && t.executions > 0 {
			if left := n - t.executions; left > 0 && !s.finished {
				t.recurrence["count"] = left
				r.changed(job.Name, element+".count", "%d of %d runs were made: %d left", t.executions, n, left)
			} else {
				over = true
			}
		}
		s.finished = s.finished || over
	} else if !t.last.IsZero() && !start.After(now) {
		s.finished = true
	}
	switch {
	case s.finished:
		r.azureFinished(job, element, spec, t, start, end)
	case t.start == "" && t.recurrence != nil && t.next.After(now):
		t.start = t.next.Format(time.RFC3339)
		r.changed(job.Name, "startTime", "the job has no start time: the next execution, %s, is taken, and the recurrence counts from it", t.start)
	case t.start == "":
		r.note(job.Name, "startTime", "the job has no start time: a run starts as soon as the schedule is created")
	case t.recurrence == nil && start.Before(now):
		r.note(job.Name, "startTime", "it has passed, and no run is known: one starts as soon as the schedule is created")
	}
	if t.start != "" {
		spec["startTime"] = t.start
	}
	if t.recurrence != nil {
		spec["recurrence"] = t.recurrence
	}
	s.Spec = compact(withoutSecrets(spec))
	r.addSchedule(job, element, t.base, *s)
}

// azureFinished sets bounds in the past, so that a finished schedule becomes Completed.
func (r *Result) azureFinished(job *Job, element string, spec map[string]any, t azureTiming, start, end time.Time) {
	now := r.opts.Now.Truncate(time.Second)
	if t.recurrence != nil && (end.IsZero() || !end.Before(now)) {
		if end = t.last; !end.Before(now) || end.IsZero() {
			end = now.Add(-time.Second)
		}
		if end.Before(start) {
			end = start
		}
		t.recurrence["endTime"] = end.Format(time.RFC3339)
		delete(t.recurrence, "count")
	}
	created := now.Add(-time.Second)
	for _, at := range []time.Time{start, end, t.last} {
		if !at.IsZero() && at.Before(created) {
			created = at
		}
	}
	spec["createdAt"], spec["activatedAt"] = created.Format(time.RFC3339), now.Format(time.RFC3339)
	r.note(job.Name, element, "it is over: its schedule becomes Completed")
}
