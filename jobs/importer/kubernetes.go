package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/internal/yamltext"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// Limits of what is imported from Kubernetes, far above what people write.
const (
	maxCronJobs   = 5_000
	maxContainers = 100
	maxKinds      = 20 // of other documents that a message names
	maxDeadline   = 10 * 366 * daySeconds
)

// Kubernetes converts the CronJobs of a YAML or JSON text: documents, and lists of them
// (https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/). The error contains no
// part of the text.
func Kubernetes(text []byte, o Options) (*Result, error) {
	docs, err := kubernetesDocuments(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return nil, err
	}
	r := &Result{source: "Kubernetes", opts: o, limited: true}
	if o.Zone == "" {
		r.opts.Zone = "UTC"
	}
	k := kubernetes{Result: r}
	for i, doc := range docs {
		if err := k.document(doc, fmt.Sprintf("document %d", i+1), 0); err != nil {
			return nil, err
		}
	}
	if len(r.Jobs) == 0 {
		if len(k.kinds) > 0 {
			return nil, fmt.Errorf("it holds no CronJob, but: %s", strings.Join(k.kinds, ", "))
		}
		return nil, errors.New("it holds no CronJob of Kubernetes: no document with the kind CronJob")
	}
	if k.zoneless && o.Zone == "" {
		r.note("", "timeZone", "a CronJob without a timeZone follows the clock of the controller, which is mostly UTC: UTC is taken; say --zone if it is another")
	}
	return r.bounded()
}

// kubernetesDocuments returns the documents of a text. JSON is read as such: it may be longer than
// YAML, and lists of a whole cluster are (kubectl get -o json).
func kubernetesDocuments(text []byte) (values []any, err error) {
	if json.Valid(text) {
		v, err := decode(text)
		return []any{v}, err
	}
	docs, err := yamltext.Decode(string(text))
	var at *yamltext.Error
	switch {
	case errors.As(err, &at) && at.Limit:
		return nil, fmt.Errorf("line %d, column %d: %s", at.Line, at.Col, at.Message)
	case errors.As(err, &at):
		hint := ""
		if bytes.Contains(text, []byte("{{")) {
			hint = "; it has {{ }}: render the template first, for example with helm template"
		}
		return nil, fmt.Errorf("invalid YAML at line %d, column %d%s", at.Line, at.Col, hint)
	case err != nil:
		return nil, err
	}
	for _, doc := range docs {
		values = append(values, doc.Value)
	}
	return values, nil
}

// kubernetes imports the documents of one text.
type kubernetes struct {
	*Result
	// kinds are those of other documents. zoneless means that a CronJob has no timeZone.
	kinds    []string
	zoneless bool
}

// kindName matches the names of kinds, and cronJobVersion the versions in which there are
// CronJobs.
var (
	kindName       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
	cronJobVersion = regexp.MustCompile(`^batch/v(?:1|1beta1|2alpha1)$`)
)

// document imports a document, or each item of a list.
func (k *kubernetes) document(v any, place string, depth int) error {
	o, ok := asObject(v, "")
	if !ok {
		k.lost("", place, "it is not an object of Kubernetes")
		return nil
	}
	kind := o.text("kind")
	if items, isList := o.take("items").([]any); isList && strings.HasSuffix(kind, "List") && depth == 0 {
		for i, item := range items {
			if err := k.document(item, fmt.Sprintf("%s, item %d", place, i+1), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case kind == "CronJob" && cronJobVersion.MatchString(o.text("apiVersion")):
		if len(k.Jobs) == maxCronJobs || k.full() {
			return fmt.Errorf("too many CronJobs: at most %d, with %d steps", maxCronJobs, maxSteps)
		}
		k.cronJob(o, place)
	case !kindName.MatchString(kind):
		k.lost("", place, "it has no kind")
	default:
		if len(k.kinds) < maxKinds && !slices.Contains(k.kinds, kind) {
			k.kinds = append(k.kinds, kind)
		}
		why := "only CronJobs are imported"
		if kind == "CronJob" {
			why = "want the apiVersion batch/v1 or batch/v1beta1"
		}
		k.lost("", place, "a %s: %s", kind, why)
	}
	return nil
}

// cronJob imports one CronJob.
func (k *kubernetes) cronJob(o *object, place string) {
	meta, spec := o.object("metadata"), o.object("spec")
	if meta == nil {
		meta, _ = asObject(map[string]any{}, "metadata")
	}
	status := o.object("status")
	o.ignore("kind", "apiVersion")
	name, namespace := meta.text("name"), meta.text("namespace")
	if name == "" {
		name = meta.text("generateName")
	}
	job := Job{Name: k.jobName(name, "cronjob"), Description: "From the CronJob " + name}
	if namespace != "" {
		job.Description += " in the namespace " + namespace
	}
	job.Description, _ = cut(job.Description, maxDescription)
	k.metadata(&job, meta)
	if spec == nil {
		k.lost(job.Name, place, "the CronJob has no spec")
		k.Jobs = append(k.Jobs, job)
		return
	}
	k.jobTemplate(&job, spec.object("jobTemplate"))
	k.schedule(&job, spec, meta, status)
	for _, limit := range []string{"successfulJobsHistoryLimit", "failedJobsHistoryLimit"} {
		if spec.has(limit) {
			k.note(job.Name, spec.at(limit), "the history of runs is kept for the time that jobagent's settings say")
			spec.ignore(limit)
		}
	}
	k.restOf(job.Name, spec)
	k.restOf(job.Name, o)
	k.Jobs = append(k.Jobs, job)
}

// metadata reports labels and annotations, of which only the names are shown.
func (k *kubernetes) metadata(job *Job, meta *object) {
	meta.ignore("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
	for _, element := range []string{"labels", "annotations"} {
		o := meta.object(element)
		if o == nil {
			continue
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(o.members)), func(n string) bool { return n == "kubectl.kubernetes.io/last-applied-configuration" })
		if len(names) > 0 {
			k.note(job.Name, o.path, "jobs have none: %s", shortList(names))
		}
	}
	k.restOf(job.Name, meta)
}

// shortList returns at most eight names, each at most 80 characters long.
func shortList(names []string) string {
	shown := slices.Clone(names[:min(len(names), 8)])
	for i, n := range shown {
		shown[i], _ = cut(n, 80)
	}
	text := strings.Join(shown, ", ")
	if len(names) > len(shown) {
		text += fmt.Sprintf(" and %d more", len(names)-len(shown))
	}
	return text
}

// overlaps are the overlaps in the place of concurrency policies.
var overlaps = map[string]string{"": "AllowAll", "Allow": "AllowAll", "Forbid": "Skip", "Replace": "CancelOther"}

// schedule adds the schedule of a CronJob.
func (k *kubernetes) schedule(job *Job, spec, meta, status *object) {
	s := Schedule{Name: "schedule", Kind: schedule.KindCron5, CatchUp: string(schedule.CatchUpLast), Enabled: spec.text("suspend") != "true"}
	if !s.Enabled {
		k.note(job.Name, spec.at("suspend"), "it is suspended: the schedule is created disabled")
	}
	element := spec.at("schedule")
	text := spec.text("schedule")
	policy := spec.text("concurrencyPolicy")
	overlap, known := overlaps[policy]
	if !known {
		overlap = "Skip"
		k.changed(job.Name, spec.at("concurrencyPolicy"), "it is not Allow, Forbid or Replace: the overlap Skip is taken")
	}
	s.Overlap = overlap
	if overlap == "Skip" && known {
		k.note(job.Name, spec.at("concurrencyPolicy"), "Forbid becomes Skip; Kubernetes may start the run that it left out when the last one ends: say BufferOne for that")
	}
	given := spec.text("timeZone")
	line, err := readRobfig(text)
	if err != nil {
		spec.ignore("startingDeadlineSeconds")
		k.lost(job.Name, element, "the schedule is not created: want %s", err)
		return
	}
	if line.zone != "" {
		if given != "" {
			k.lost(job.Name, element, "the zone in the schedule is left out: Kubernetes refuses it beside a timeZone")
		} else {
			given = line.zone
			k.changed(job.Name, element, "the zone in the schedule, which new versions of Kubernetes refuse, becomes the zone of the schedule")
		}
	}
	if s.Zone = given; given == "" {
		s.Zone, k.zoneless = k.opts.Zone, true
	} else if zone, err := Zone(given); err == nil {
		s.Zone = zone
	}
	if line.every > 0 {
		k.interval(job, element, &s, line.every, meta, status)
	} else {
		k.cron(job, element, &s, &line)
	}
	k.deadline(job, spec, &s, &line)
	k.addSchedule(job, element, element, s)
}

// cron sets the specification of a schedule with five fields.
func (k *kubernetes) cron(job *Job, element string, s *Schedule, line *robfigLine) {
	text, changed := line.cron5()
	s.Spec = text
	if changed {
		k.note(job.Name, element, "in the dialect of Kubernetes; with the same days and times it is %s here", text)
	}
	if location, err := schedule.LoadZone(s.Zone); err == nil && location.String() != "UTC" && location.String() != "Etc/UTC" {
		// robfig/cron leaves out what is in a gap, and runs twice what is there twice.
		s.Spec = fmt.Sprintf(`{"cron":%q,"gap":"skip","overlap":"both"}`, text)
		k.note(job.Name, element, "as in Kubernetes, a time that clocks skip is left out, and one that they repeat runs twice; without gap and overlap in the specification it would run once, as in cron")
	}
}

// interval sets the specification of @every. Kubernetes counts from the last run, or from the
// creation.
func (k *kubernetes) interval(job *Job, element string, s *Schedule, every time.Duration, meta, status *object) {
	base := k.opts.Now
	if t := meta.time("creationTimestamp"); !t.IsZero() {
		base = t
	}
	if status != nil {
		if t := status.time("lastScheduleTime"); !t.IsZero() {
			base = t
		}
	}
	next := base.Truncate(time.Second).Add(every)
	if next.Before(k.opts.Now) {
		// In seconds, because a Duration ends after 292 years.
		step := int64(every / time.Second)
		steps := (k.opts.Now.Unix() - next.Unix() + step - 1) / step
		next = time.Unix(next.Unix()+steps*step, 0).UTC()
	}
	k.changed(job.Name, element, "@every counts from the last run or from the creation of the CronJob: here the runs are at fixed distances from %s", next.Format(time.RFC3339))
	s.Zone = ""
	if every%time.Minute == 0 {
		s.Kind = schedule.KindElastic
		s.Spec = fmt.Sprintf(`{"schedule_interval_type":"Minutes","schedule_interval_count":%d,"schedule_start_time":%q}`, int64(every/time.Minute), next.Format(time.RFC3339))
		return
	}
	s.Kind = schedule.KindRRule
	s.Spec = fmt.Sprintf("DTSTART:%s\nRRULE:FREQ=SECONDLY;INTERVAL=%d", next.Format("20060102T150405Z"), int64(every/time.Second))
}

// deadline sets the catch-up. Kubernetes starts only the last missed run, and only if it is not
// older than startingDeadlineSeconds (pkg/controller/cronjob/utils.go, mostRecentScheduleTime).
func (k *kubernetes) deadline(job *Job, spec *object, s *Schedule, line *robfigLine) {
	const name = "startingDeadlineSeconds"
	if !spec.has(name) {
		return
	}
	element := spec.at(name)
	seconds, ok := spec.integer(name)
	if !ok || seconds < 0 || seconds > maxDeadline {
		k.lost(job.Name, element, "want seconds: the last missed run is made up, however old it is")
		return
	}
	if seconds < 10 {
		k.note(job.Name, element, "Kubernetes looks every 10 seconds, and may start nothing with a shorter deadline; here runs start in time")
	}
	if seconds == 0 {
		s.CatchUp = string(schedule.CatchUpNone)
		return
	}
	window := time.Duration(seconds) * time.Second
	shortest, longest, known := line.gaps()
	switch {
	case known && longest <= window:
		k.note(job.Name, element, "no two runs are further apart, so the last missed run is always made up: the catch-up is last")
		return
	case known && shortest <= window:
		k.changed(job.Name, element, "Kubernetes makes up only the last missed run within this time; the catch-up window makes up each")
	}
	s.CatchUp = fmt.Sprintf("%s:%ds", schedule.CatchUpWindow, seconds)
}

// seconds reads a number of seconds of an element. ok is false if it is missing or no time limit.
func (k *kubernetes) seconds(job *Job, o *object, name string) (n int, ok bool) {
	if !o.has(name) {
		return 0, false
	}
	seconds, valid := o.integer(name)
	if !valid || seconds < 1 {
		k.lost(job.Name, o.at(name), "want a number of seconds")
		return 0, false
	}
	return int(min(seconds, maxTimeout)), true
}

// textOf returns a scalar as text.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}
