package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/etag"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
)

// jobInput is the body of PUT job.
type jobInput struct {
	envelope
	Properties *struct {
		Description string         `json:"description"`
		Schedule    *scheduleInput `json:"schedule"`
	} `json:"properties"`
}

// scheduleInput is the schedule of a job in a request.
type scheduleInput struct {
	StartTime *timestamp `json:"startTime"`
	EndTime   *timestamp `json:"endTime"`
	Type      string     `json:"type" enum:"Once Recurring"`
	Enabled   bool       `json:"enabled"`
	Interval  *string    `json:"interval"`
}

// jobView is a job in an answer.
type jobView struct {
	envelope
	Properties jobProperties `json:"properties"`
}

type jobProperties struct {
	Description string       `json:"description"`
	Version     int          `json:"version"`
	Schedule    scheduleView `json:"schedule"`
}

type scheduleView struct {
	StartTime timestamp `json:"startTime"`
	EndTime   timestamp `json:"endTime"`
	Type      string    `json:"type" enum:"Once Recurring"`
	Enabled   bool      `json:"enabled"`
	Interval  string    `json:"interval,omitempty"`
}

// versionView is a version of a job.
type versionView struct{ envelope }

const (
	jobPath     = agentPath + "/jobs/{job}"
	versionPath = jobPath + "/versions"
)

// jobOperations are A14 to A19.
func (s *Surface) jobOperations() []rest.Operation {
	one, many := reflect.TypeFor[jobView](), reflect.TypeFor[list[jobView]]()
	remove := rest.Versioned(s.delete("Jobs_Delete", jobPath, rest.RoleAuthor, (*place).deleteJob, "Deletes a job with its history."))
	remove.Query = []rest.Parameter{{Name: "force", Type: "boolean", Description: "Cancels active runs, instead of refusing to delete their job."}}
	return []rest.Operation{
		s.get("Jobs_ListByAgent", agentPath+"/jobs", (*place).listJobs, "Lists the jobs of a job agent.", many, pageParameters...),
		rest.Versioned(s.get("Jobs_Get", jobPath, (*place).getJob, "Gets a job.", one)),
		rest.Versioned(s.change(http.MethodPut, "Jobs_CreateOrUpdate", jobPath, rest.RoleAuthor, (*place).putJob,
			"Creates or replaces a job. What is omitted gets its default.", reflect.TypeFor[jobInput](), one, http.StatusCreated)),
		remove,
		s.get("JobVersions_ListByJob", versionPath, (*place).listVersions, "Lists the versions of a job.", reflect.TypeFor[list[versionView]](), pageParameters...),
		s.get("JobVersions_Get", versionPath+"/{version}", (*place).getVersion, "Gets a version of a job.", reflect.TypeFor[versionView]()),
	}
}

// systemPrefix begins the names of system jobs, which this API does not show.
const systemPrefix = "jobagent$"

// job returns a job that a path names.
func (at *place) job(ctx context.Context, name string) (catalog.JobDetail, error) {
	job, err := catalog.On(at.store).JobDetail(ctx, name)
	if err == nil && job.System {
		err = dberror.ErrJobNotFound
	}
	return job, orNotFound(err, dberror.ErrJobNotFound, typeJob, name)
}

// readOnly refuses to change a job that another API defines. Jobs of collections are refused
// by the control database, too, except that administrators may delete them there.
func readOnly(j catalog.JobDetail) error {
	if j.Origin != "Scheduler" && j.Origin != "SAP" {
		return nil
	}
	const number = 50169 // as the control database answers
	return refusal(http.StatusBadRequest, codeRefused, number, fmt.Sprintf(
		"The job '%s' is read-only here: it is defined by the API of %s. Change or delete it there.", j.Name, j.Origin))
}

// hidden refuses names of system jobs, which look as if they did not exist.
func hidden(name string) error {
	if len(name) >= len(systemPrefix) && strings.EqualFold(name[:len(systemPrefix)], systemPrefix) {
		return notFound(typeJob, name)
	}
	return nil
}

// jobView describes a job.
func (at *place) jobView(j catalog.JobDetail) jobView {
	v := jobView{envelope: envelope{ID: at.id("jobs", j.Name), Name: j.Name, Type: typeJob}}
	v.Properties = jobProperties{Description: j.Description, Version: j.Version, Schedule: scheduleView{
		StartTime: timestamp{j.Start}, EndTime: timestamp{j.End}, Type: "Once", Enabled: j.Enabled,
	}}
	if j.IntervalType != "Once" {
		v.Properties.Schedule.Type = "Recurring"
		v.Properties.Schedule.Interval = formatInterval(j.IntervalType, j.IntervalCount)
	}
	return v
}

// tagged returns an answer with the ETag of a resource.
func tagged(status int, id string, revision int64, view any) *rest.Response {
	return &rest.Response{Status: status, Header: http.Header{"Etag": {etag.New(id, revision)}}, Body: view}
}

// statusOf returns the status of a PUT.
func statusOf(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

func (at *place) listJobs(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerNames(ctx, at, r, "jobs", catalog.On(at.store).JobDetails, nil, func(o catalog.JobDetail) string { return o.Name }, at.jobView)
}

func (at *place) getJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	job, err := at.job(ctx, r.Path["job"])
	if err != nil {
		return nil, err
	}
	return at.answerJob(http.StatusOK, job), nil
}

func (at *place) answerJob(status int, job catalog.JobDetail) *rest.Response {
	v := at.jobView(job)
	return tagged(status, v.ID, job.Revision, v)
}

func (at *place) putJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["job"]
	if err := checkName(typeJob, name); err != nil {
		return nil, err
	}
	spec, err := at.readJob(r, name)
	if err != nil {
		return nil, err
	}
	match, err := at.expectJob(ctx, r, name)
	if err != nil {
		return nil, err
	}
	put, err := catalog.On(at.store).SetJob(ctx, spec, match)
	if err != nil {
		return nil, err
	}
	return at.answerJob(statusOf(put.Created), put.Object), nil
}

// readJob reads the body of PUT job. What is omitted gets its default.
func (at *place) readJob(r *rest.Request, name string) (model.JobSpec, error) {
	var in jobInput
	if err := decode(r, &in); err != nil {
		return model.JobSpec{}, err
	}
	spec := model.JobSpec{Name: name}
	var f faults
	in.check(&f, at.id("jobs", name), name, typeJob)
	if in.Properties == nil {
		return spec, f.err()
	}
	spec.Description = &in.Properties.Description
	f.short("$.properties.description", in.Properties.Description, model.MaxDescription)
	schedule := in.Properties.Schedule
	if schedule == nil {
		return spec, f.err()
	}
	spec.Enabled = &schedule.Enabled
	for _, one := range []struct {
		from *timestamp
		to   **time.Time
	}{{schedule.StartTime, &spec.Start}, {schedule.EndTime, &spec.End}} {
		if one.from != nil {
			*one.to = &one.from.at
		}
	}
	switch strings.ToLower(schedule.Type) {
	case "", "once": // an interval is ignored
		return spec, f.err()
	case "recurring":
	default:
		f.add("$.properties.schedule.type", "The type of a schedule is invalid: want Once or Recurring.")
		return spec, f.err()
	}
	if schedule.Interval == nil || *schedule.Interval == "" {
		f.add("$.properties.schedule.interval", "A recurring schedule needs an interval, such as PT15M.")
		return spec, f.err()
	}
	if err := f.err(); err != nil {
		return spec, err
	}
	i, err := parseInterval(*schedule.Interval)
	if err != nil {
		return spec, badRequest(codeDuration, "$.properties.schedule.interval", "The interval of the schedule is invalid: %v.", err)
	}
	spec.IntervalType, spec.IntervalCount = &i.kind, &i.count
	return spec, nil
}

// expectJob returns the revision of a job that the headers of a request want.
func (at *place) expectJob(ctx context.Context, r *rest.Request, name string) (*int64, error) {
	return expect(r, dberror.ErrJobNotFound, func() (string, int64, error) {
		job, err := catalog.On(at.store).JobDetail(ctx, name)
		return at.id("jobs", job.Name), job.Revision, err
	})
}

// expect returns the revision that the headers of a request want an object to have: the argument
// ifMatch of methods of controldb. read returns the object's id and revision, or an error that
// wraps missing. It is called only if they matter.
func expect(r *rest.Request, missing error, read func() (id string, revision int64, err error)) (*int64, error) {
	c := etag.Parse(r.HTTP.Header)
	if !c.NeedsRevision() {
		return c.Expect("", 0)
	}
	id, revision, err := read()
	switch {
	case errors.Is(err, missing):
		return c.Expect("", 0)
	case err != nil:
		return nil, err
	}
	return c.Expect(id, revision)
}

func (at *place) deleteJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["job"]
	if hidden(name) != nil {
		return &rest.Response{Status: http.StatusNoContent}, nil
	}
	force := false
	if text, ok := r.Query.Get("force"); ok {
		var err error
		if force, err = strconv.ParseBool(text); err != nil {
			return nil, badRequest(codeInvalidBody, "force", "The query parameter 'force' is invalid: want true or false.")
		}
	}
	job, err := catalog.On(at.store).JobDetail(ctx, name)
	if err == nil {
		err = readOnly(job)
	}
	if err != nil && !errors.Is(err, dberror.ErrJobNotFound) {
		return nil, err
	}
	match, err := at.expectJob(ctx, r, name)
	if err != nil {
		return nil, err
	}
	return deleted(catalog.On(at.store).DeleteJobIf(ctx, name, force, match), dberror.ErrJobNotFound)
}

// deleted returns the answer to DELETE: what is absent is 204.
func deleted(err, missing error) (*rest.Response, error) {
	switch {
	case err == nil:
		return &rest.Response{Status: http.StatusOK}, nil
	case errors.Is(err, missing):
		return &rest.Response{Status: http.StatusNoContent}, nil
	}
	return nil, err
}

func (at *place) listVersions(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	var job catalog.JobDetail
	return answerPage(at, r, func(page controldb.Page[int]) (id string, versions []int, err error) {
		if job, err = at.job(ctx, r.Path["job"]); err == nil {
			versions, err = catalog.On(at.store).JobVersions(ctx, job.Name, page)
		}
		return at.id("jobs", job.Name, "versions"), versions, err
	}, func(v int) int { return v }, func(v int) versionView { return at.versionView(job.Name, v) })
}

// versionView describes a version.
func (at *place) versionView(job string, version int) versionView {
	name := strconv.Itoa(version)
	return versionView{envelope{ID: at.id("jobs", job, "versions", name), Name: name, Type: typeVersion}}
}

// version returns the job and the version that a path names.
func (at *place) version(ctx context.Context, r *rest.Request) (catalog.JobDetail, int, error) {
	job, err := at.job(ctx, r.Path["job"])
	if err != nil {
		return job, 0, err
	}
	text := r.Path["version"]
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return job, 0, badRequest(codeInvalidBody, "version", "The version in the URL is invalid: want a number.")
	}
	found, err := catalog.On(at.store).JobVersions(ctx, job.Name, controldb.Page[int]{After: new(int(n) - 1), Top: 1})
	if err == nil && (len(found) == 0 || found[0] != int(n)) {
		err = notFound(typeVersion, text)
	}
	return job, int(n), err
}

func (at *place) getVersion(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	job, n, err := at.version(ctx, r)
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK, Body: at.versionView(job.Name, n)}, nil
}
