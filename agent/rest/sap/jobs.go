package sap

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/jobs/wording"
)

// createJob is E1.
func (c *call) createJob(ctx context.Context) (*rest.Response, error) {
	dry, err := c.flag("dryRun", false, creatingJob)
	if err != nil {
		return nil, err
	}
	d, err := c.jobDefinition(ctx)
	if err != nil {
		return nil, err
	}
	if dry {
		return c.dryRun(ctx, d)
	}
	return c.setJob(ctx, d, true)
}

// jobDefinition reads the body of E1 and E6.
func (c *call) jobDefinition(ctx context.Context) (*jobDefinition, error) {
	v, faults := readObject(c.Body)
	if len(faults) > 0 {
		return nil, invalid(creatingJob, faults...)
	}
	r, err := c.reader(ctx, v.Get("schedules") != nil)
	if err != nil {
		return nil, err
	}
	d := r.job(v, true)
	c.requireHTTPS(r, d)
	if d.Type == sap.TaskJob {
		for i := range d.Schedules {
			r.faults = append(r.faults, optionFaults(d.Schedules[i].Data, fmt.Sprintf("schedules[%d].", i))...)
		}
	}
	if len(r.faults) > 0 {
		return nil, invalid(creatingJob, r.faults...)
	}
	return d, nil
}

// requireHTTPS reports an action with plain http if the instance refuses it.
func (c *call) requireHTTPS(r *definitionReader, d *jobDefinition) {
	if d.Action == nil || !c.service.RequireHTTPS {
		return
	}
	if text := strings.ToLower(*d.Action); !strings.HasPrefix(text, "https:") && !strings.HasPrefix(text, sap.TaskPrefix) {
		r.faults = append(r.faults, fault{text: "Invalid action URL", detail: "the scheme must be https"})
	}
}

// optionFaults returns the faults of the options of a task, in the data of a schedule.
func optionFaults(data, path string) []fault {
	options, err := parameters.Parse(data)
	if err != nil {
		return []fault{{text: fmt.Sprintf("Invalid '%sdata'", path), detail: err.Error()}}
	}
	if err := new(action.Process).ApplyTaskOptions(options); err != nil {
		return []fault{{text: fmt.Sprintf("Invalid '%sdata.%s'", path, action.OptionMemory), detail: err.Error()}}
	}
	return nil
}

// putJob is E5 if the path ends with digits, else E6 (S-7).
func (c *call) putJob(ctx context.Context) (*rest.Response, error) {
	name := c.Path["jobId"]
	if isDigits(name) {
		return c.updateJob(ctx)
	}
	if text := nameFault(name); text != "" {
		return nil, invalid(creatingJob, fault{text: text})
	}
	d, err := c.jobDefinition(ctx)
	if err != nil {
		return nil, err
	}
	if d.Name != name {
		return nil, invalid(creatingJob, fault{text: "Job name in the URL and in the body differ"})
	}
	return c.setJob(ctx, d, false)
}

// spec returns the job for the control database.
func (c *call) spec(ctx context.Context, d *jobDefinition) (sap.JobSpec, error) {
	job := sap.JobSpec{
		Name: d.Name, JobType: cmp.Or(d.Type, sap.EndpointJob), Description: valueOf(d.Description), Action: valueOf(d.Action),
		Method: http.MethodPost, Active: valueOf(d.Active), Ans: d.ANS, Calm: d.CALM, User: valueOf(d.User),
		Credential: c.service.Credential, AllowHTTP: !c.service.RequireHTTPS, Schedules: []sap.ScheduleSpec{},
	}
	if d.Method != nil {
		job.Method = *d.Method
	}
	job.Start, job.StartText = d.Start.parts()
	job.End, job.EndText = d.End.parts()
	for i := range d.Schedules {
		job.Schedules = append(job.Schedules, d.Schedules[i].spec())
	}
	var err error
	job.Password, err = c.password(ctx, d, job.Action)
	return job, err
}

// parts returns the instant of a bound, and its text; both are zero for none.
func (b *bound) parts() (time.Time, string) {
	if b == nil || b.At.IsZero() {
		return time.Time{}, ""
	}
	return b.At, b.Raw
}

// valueOf returns the value of a pointer; nil: the zero value.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// spec returns the schedule for the control database.
func (d *scheduleDefinition) spec() sap.ScheduleSpec {
	s := sap.ScheduleSpec{
		Mode: sap.Mode(d.Mode), Spec: d.Spec(), Description: valueOf(d.Description), Active: valueOf(d.Active), Data: d.Data,
	}
	s.Start, _ = d.Start.parts()
	s.End, _ = d.End.parts()
	return s
}

// stored returns the schedule as it is after it was stored, for the answer.
func stored(id uuid.UUID, job int64, s *sap.ScheduleSpec) *sap.Schedule {
	return &sap.Schedule{
		ID: id, JobID: job, Mode: s.Mode, Spec: s.Spec, Start: s.Start, End: s.End, Description: s.Description, Active: s.Active, Data: s.Data,
	}
}

// password seals the password of a job for the host of its action (S-53).
func (c *call) password(ctx context.Context, d *jobDefinition, action string) (*sap.Password, error) {
	if valueOf(d.Password) == "" {
		return nil, nil
	}
	u, err := url.Parse(action)
	if err != nil {
		return nil, fmt.Errorf("parse the URL of an action: %w", err)
	}
	name, err := secret.RESTName(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("name a secret: %w", err)
	}
	p := &sap.Password{Name: name}
	place := secret.Place{Owner: secret.OwnerREST, Name: name, Version: 1, Hosts: []string{strings.ToLower(u.Hostname())}}
	p.Sealed, err = secrets.On(c.service.Store).Seal(ctx, place, *d.Password)
	if errors.Is(err, dberror.ErrSecretKeysChanged) {
		return nil, invalid(creatingJob, fault{text: "Passwords are not supported: the instance has no key for secrets"})
	}
	return p, err
}

// jobWriteError returns the answer to an error of a change of a job.
func jobWriteError(err error, name string) error {
	if errors.Is(err, dberror.ErrSAPExists) {
		return invalid(creatingJob, fault{text: fmt.Sprintf("Job with name '%s' already exists", name)})
	}
	if dberror.KindOf(err) == dberror.KindInvalid { // the rules of names and URLs
		return invalid(creatingJob, fault{text: dberror.MessageOf(err)})
	}
	return err
}

// setJob stores a job (E1, E6), and answers it.
func (c *call) setJob(ctx context.Context, d *jobDefinition, create bool) (*rest.Response, error) {
	job, err := c.spec(ctx, d)
	if err != nil {
		return nil, err
	}
	set := sap.On(c.service.Store).PutJob
	if create {
		set = sap.On(c.service.Store).CreateJob
	}
	write := c.write
	if create {
		write = c.writeOnce
	}
	return write(ctx, func(w sap.Write) (sap.Result, error) {
		w.Note = note(d.ignored())
		res, err := set(ctx, c.scope, w, job)
		return res, jobWriteError(err, d.Name)
	}, func(res sap.Result) (storedAnswer, error) {
		if len(res.Schedules) != len(job.Schedules) {
			return storedAnswer{}, fmt.Errorf("set job: got %d ids of schedules, want %d", len(res.Schedules), len(job.Schedules))
		}
		a := storedAnswer{Status: http.StatusOK}
		if create || res.Created {
			a.Status, a.Location = http.StatusCreated, jobPath(res.Job)
		}
		var err error
		a.Body, err = encode(createdJob(&job, res, create))
		return a, err
	})
}

// createdJob returns the answer of E1 and E6. E6 shows the times of the job as they were sent.
func createdJob(job *sap.JobSpec, res sap.Result, create bool) jobBody {
	b := jobBody{
		Name: job.Name, Description: job.Description, Action: job.Action, Active: job.Active, Method: job.Method,
		Start: textOf(job.Start), End: textOf(job.End), ANS: or(job.Ans, noANS), CALM: or(job.Calm, noCALM), JobType: job.JobType,
		Schedules: []briefScheduleBody{},
	}
	if res.Job != 0 {
		b.ID = &res.Job
	}
	if !create {
		b.Start, b.End = orNull(job.StartText), orNull(job.EndText)
	}
	active, inactive := 0, 0
	for i := range job.Schedules {
		one := &job.Schedules[i]
		if one.Active {
			active++
		} else {
			inactive++
		}
		s := stored(uuid.Nil, res.Job, one)
		if i < len(res.Schedules) {
			s.ID = res.Schedules[i]
		}
		b.Schedules = append(b.Schedules, created(s))
	}
	b.Active2, b.Inactive = &active, &inactive
	return b
}

// dryRun checks a job as E1, and stores nothing (S-28).
func (c *call) dryRun(ctx context.Context, d *jobDefinition) (*rest.Response, error) {
	job, err := c.spec(ctx, d)
	if err != nil {
		return nil, err
	}
	_, err = sap.On(c.service.Store).Job(ctx, c.scope, sap.JobRef{Name: d.Name, Tenant: c.tenant})
	switch {
	case err == nil:
		return nil, jobWriteError(dberror.ErrSAPExists, d.Name)
	case !errors.Is(err, dberror.ErrSAPNotFound):
		return nil, err
	}
	return ok(createdJob(&job, sap.Result{}, true))
}

// updateJob is E5.
func (c *call) updateJob(ctx context.Context) (*rest.Response, error) {
	id, err := c.job()
	if err != nil {
		return nil, err
	}
	v, faults := readObject(c.Body)
	if len(faults) > 0 {
		return nil, invalid(creatingJob, faults...)
	}
	r, err := c.reader(ctx, false)
	if err != nil {
		return nil, err
	}
	d := r.job(v, false)
	c.requireHTTPS(r, d)
	if len(r.faults) > 0 {
		return nil, invalid(creatingJob, r.faults...)
	}
	change := sap.JobChange{
		Description: d.Description, Action: d.Action, Method: d.Method, Active: d.Active, User: d.User, AllowHTTP: !c.service.RequireHTTPS,
		Ans: given(v, "ansConfig", d.ANS), Calm: given(v, "calmConfig", d.CALM),
	}
	if d.Start != nil {
		at, text := d.Start.parts()
		change.Start, change.StartText = &at, text
	}
	if d.End != nil {
		at, text := d.End.parts()
		change.End, change.EndText = &at, text
	}
	if d.Name != "" || d.Type != "" || valueOf(d.Password) != "" {
		job, err := sap.On(c.service.Store).Job(ctx, c.scope, sap.JobRef{ID: id})
		if err != nil {
			return nil, err
		}
		if d.Name != "" && d.Name != job.Name {
			return nil, invalid(creatingJob, fault{text: "The name of a job cannot be changed"})
		}
		if d.Type != "" && d.Type != job.JobType {
			return nil, invalid(creatingJob, fault{text: "The type of a job cannot be changed"})
		}
		if job.JobType == sap.TaskJob && valueOf(d.Password) != "" {
			return nil, invalid(creatingJob, fault{text: "A task sends no request: leave 'httpMethod', 'user' and 'password' out"})
		}
		if valueOf(d.Password) != "" && (d.User != nil && *d.User == "" || d.User == nil && job.User == "") {
			return nil, invalid(creatingJob, fault{text: "'password' needs 'user'"})
		}
		action := job.Action
		if d.Action != nil {
			action = *d.Action
		}
		if change.Password, err = c.password(ctx, d, action); err != nil {
			return nil, err
		}
	}
	return c.write(ctx, func(w sap.Write) (sap.Result, error) {
		w.Note = note(d.ignored())
		res, err := sap.On(c.service.Store).UpdateJob(ctx, c.scope, w, id, change)
		return res, jobWriteError(err, d.Name)
	}, success)
}

// given returns the text of a member if the body has it; the text is empty for null.
func given(v *value, name, text string) *string {
	if !v.Has(name) {
		return nil
	}
	return &text
}

// deleteJob is E7.
func (c *call) deleteJob(ctx context.Context) (*rest.Response, error) {
	id, err := c.job()
	if err != nil {
		return nil, err
	}
	return c.writeOnce(ctx, func(w sap.Write) (sap.Result, error) {
		return sap.On(c.service.Store).DeleteJob(ctx, c.scope, w, id)
	}, success)
}

// getJobs is E3 if the query names a job, else E2.
func (c *call) getJobs(ctx context.Context) (*rest.Response, error) {
	_, byID := c.Query.Get("jobId")
	_, byName := c.Query.Get("name")
	if byID || byName {
		return c.findJob(ctx)
	}
	return c.listJobs(ctx)
}

// findJob is E3.
func (c *call) findJob(ctx context.Context) (*rest.Response, error) {
	for _, name := range []string{"page_size", "offset"} {
		if _, given := c.Query.Get(name); given {
			return nil, invalid(fetchingJob, fault{text: "Invalid query"})
		}
	}
	var ref sap.JobRef
	ref.Tenant, _ = c.Query.Get("tenantId")
	if wording.Length(ref.Tenant, wording.UTF16) > maxTenant {
		return nil, errNotFound // no tenant can have this id
	}
	if ref.Tenant != "" && !c.provider && ref.Tenant != c.tenant {
		return nil, invalid(fetchingJob, fault{text: "Invalid query", detail: "tenantId is not the caller's tenant"})
	}
	schedules, err := c.flag("displaySchedules", false, fetchingJob)
	if err != nil {
		return nil, err
	}
	if text, given := c.Query.Get("jobId"); given {
		if ref.ID, err = jobID(text); err != nil {
			return nil, err
		}
	}
	if name, given := c.Query.Get("name"); given {
		if nameFault(name) != "" {
			return nil, errNotFound // no job can have this name
		}
		ref.Name = name
	}
	return c.answerJob(ctx, ref, schedules)
}

// getJob is E4.
func (c *call) getJob(ctx context.Context) (*rest.Response, error) {
	id, err := c.job()
	if err != nil {
		return nil, err
	}
	schedules, err := c.flag("displaySchedules", false, fetchingJob)
	if err != nil {
		return nil, err
	}
	return c.answerJob(ctx, sap.JobRef{ID: id}, schedules)
}

func (c *call) answerJob(ctx context.Context, ref sap.JobRef, schedules bool) (*rest.Response, error) {
	job, err := sap.On(c.service.Store).Job(ctx, c.scope, ref)
	if errors.Is(err, dberror.ErrSAPAmbiguous) {
		return nil, invalid(fetchingJob, fault{text: "Several tenants have a job of this name: specify tenantId"})
	}
	if err != nil {
		return nil, err
	}
	return ok(oneJob(&job, schedules))
}

// sorts are the members by which jobs can be sorted.
var sorts = []string{"name", "_id", "createdAt", "active"}

// listJobs is E2.
func (c *call) listJobs(ctx context.Context) (*rest.Response, error) {
	p, faults := parsePage(c.Query, maxJobs)
	legacy := c.service.LegacyUnpaged && !p.given
	if !p.given && !legacy {
		p.size = defaultPage
	}
	q := sap.JobQuery{Page: sap.Page{Offset: p.offset, Size: p.size}}
	var given bool
	if q.JobType, given = c.Query.Get("jobType"); given && q.JobType != sap.EndpointJob && q.JobType != sap.TaskJob {
		faults = append(faults, fault{text: "Invalid jobType: want HTTP_ENDPOINT or CF_TASK"})
	}
	q.Tenant, given = c.Query.Get("tenantId")
	switch {
	case given && !c.provider:
		faults = append(faults, fault{text: "tenantId is not allowed for a subscriber"})
	case wording.Length(q.Tenant, wording.UTF16) > maxTenant:
		faults = append(faults, fault{text: fmt.Sprintf("Invalid tenantId: want at most %d characters", maxTenant)})
	}
	if text, given := c.Query.Get("filter"); given {
		list, err := parseFilter(text)
		if err != nil {
			faults = append(faults, fault{text: err.Error()})
		}
		q.Filter = filterOf(list)
	}
	if q.Sort, given = c.Query.Get("sort_by"); given && !slices.Contains(sorts, q.Sort) {
		faults = append(faults, fault{text: "Invalid sort_by: want one of " + strings.Join(sorts, ", ")})
	}
	if order, given := c.Query.Get("sort_order"); given {
		q.Descending = strings.EqualFold(order, "DESC")
		if !q.Descending && !strings.EqualFold(order, "ASC") {
			faults = append(faults, fault{text: "Invalid sort_order: want ASC or DESC"})
		}
	}
	if len(faults) > 0 {
		return nil, invalid(listingJobs, faults...)
	}
	list, total, err := sap.On(c.service.Store).Jobs(ctx, c.scope, q)
	if err != nil {
		return nil, err
	}
	results := make([]listedJobBody, len(list))
	for i := range list {
		results[i] = listedJob(&list[i])
	}
	b := listBody[listedJobBody]{Total: total, Results: results}
	b.Prev, b.Next = p.urls(root+"/jobs", "", total)
	response, err := ok(b)
	if legacy {
		response.Header = legacyHeader
	}
	return response, err
}

// legacyHeader announces that lists without a page end (S-20).
var legacyHeader = http.Header{
	"X-Deprecation-Warning":  {"GET /scheduler/jobs without page_size returns 10 jobs in the future"},
	"X-Breaking-Change-Type": {"pagination"},
	"Deprecation":            {"true"},
}

// filterOf returns a filter for the control database.
func filterOf(list [][]condition) sap.Filter {
	filter := make(sap.Filter, len(list))
	for i, all := range list {
		for _, c := range all {
			filter[i] = append(filter[i], sap.Condition{Property: c.property, Contains: c.contains, Value: c.value})
		}
	}
	return filter
}
