package elastic

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/triggers"
)

// Triggers are an extension: Elastic Jobs has none. They start a job after runs of other jobs.

const (
	typeTrigger      = "Microsoft.Sql/servers/jobAgents/jobs/triggers"
	typeTriggerEvent = "Microsoft.Sql/servers/jobAgents/jobs/triggers/events"
	triggerPath      = jobPath + "/triggers"
)

// triggerInput is the body of PUT trigger.
type triggerInput struct {
	envelope
	Properties triggerInputProperties `json:"properties" body:"required"`
}

type triggerInputProperties struct {
	_                struct{} `body:"closed"`
	UpstreamJobNames []string `json:"upstreamJobNames" body:"required"`
	RunWhen          string   `json:"runWhen" enum:"Succeeded Failed Finished"`
	Targets          string   `json:"targets" enum:"All Succeeded"`
	Enabled          *bool    `json:"enabled"`
	// Those of an answer are ignored, so that a client may send back what it has read.
	Waiting    any `json:"waiting"`
	CreateTime any `json:"createTime"`
	UpdateTime any `json:"updateTime"`
}

// triggerView is a trigger.
type triggerView struct {
	envelope
	Properties triggerProperties `json:"properties"`
}

type triggerProperties struct {
	UpstreamJobNames []string   `json:"upstreamJobNames"`
	RunWhen          string     `json:"runWhen" enum:"Succeeded Failed Finished"`
	Targets          string     `json:"targets" enum:"All Succeeded"`
	Enabled          bool       `json:"enabled"`
	Waiting          int        `json:"waiting"`
	CreateTime       *timestamp `json:"createTime,omitempty"`
	UpdateTime       *timestamp `json:"updateTime,omitempty"`
}

// triggerEventView is a run that ended and that a trigger watched.
type triggerEventView struct {
	envelope
	Properties triggerEventProperties `json:"properties"`
}

type triggerEventProperties struct {
	UpstreamJobName        string     `json:"upstreamJobName,omitempty"`
	UpstreamJobExecutionID uuid.UUID  `json:"upstreamJobExecutionId"`
	UpstreamLifecycle      string     `json:"upstreamLifecycle"`
	CreateTime             *timestamp `json:"createTime,omitempty"`
	State                  string     `json:"state" enum:"Waiting Started Skipped"`
	EndTime                *timestamp `json:"endTime,omitempty"`
	JobExecutionID         *uuid.UUID `json:"jobExecutionId,omitempty"`
	Reason                 string     `json:"reason,omitempty"`
}

func (s *Surface) triggerOperations() []rest.Operation {
	one := reflect.TypeFor[triggerView]()
	return []rest.Operation{
		s.get("JobTriggers_ListByJob", triggerPath, (*place).listTriggers, "Lists the triggers of a job.", reflect.TypeFor[list[triggerView]](), pageParameters...),
		s.get("JobTriggers_Get", triggerPath+"/{trigger}", (*place).getTrigger, "Gets a trigger of a job.", one),
		s.change(http.MethodPut, "JobTriggers_CreateOrUpdate", triggerPath+"/{trigger}", rest.RoleAuthor, (*place).putTrigger,
			"Creates or replaces a trigger: the job starts after runs of other jobs. What is omitted gets its default.", reflect.TypeFor[triggerInput](), one, http.StatusCreated),
		s.delete("JobTriggers_Delete", triggerPath+"/{trigger}", rest.RoleAuthor, (*place).deleteTrigger, "Deletes a trigger of a job."),
		s.get("JobTriggerEvents_ListByTrigger", triggerPath+"/{trigger}/events", (*place).listTriggerEvents,
			"Lists the runs that a trigger has watched, the latest first, and what they started.", reflect.TypeFor[list[triggerEventView]](), pageParameters...),
	}
}

// triggerView describes a trigger.
func (at *place) triggerView(t triggers.Trigger) triggerView {
	return triggerView{envelope: envelope{ID: at.id("jobs", t.JobName, "triggers", t.Name), Name: t.Name, Type: typeTrigger}, Properties: triggerProperties{
		UpstreamJobNames: t.Upstreams, RunWhen: t.RunWhen, Targets: t.Targets, Enabled: t.Enabled, Waiting: t.Waiting, CreateTime: instant(t.Created), UpdateTime: instant(t.Updated),
	}}
}

// trigger returns the trigger that a path names.
func (at *place) trigger(ctx context.Context, r *rest.Request) (triggers.Trigger, error) {
	job, err := at.job(ctx, r.Path["job"])
	if err != nil {
		return triggers.Trigger{}, err
	}
	t, err := triggers.On(at.store).Get(ctx, job.Name, r.Path["trigger"])
	return t, orNotFound(err, dberror.ErrTriggerNotFound, typeTrigger, r.Path["trigger"])
}

func (at *place) listTriggers(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerPage(at, r, func(page controldb.Page[string]) (string, []triggers.Trigger, error) {
		job, err := at.job(ctx, r.Path["job"])
		if err != nil {
			return "", nil, err
		}
		rows, err := triggers.On(at.store).Page(ctx, job.Name, page)
		return at.id("jobs", job.Name, "triggers"), rows, err
	}, func(t triggers.Trigger) string { return t.Name }, at.triggerView)
}

func (at *place) getTrigger(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	t, err := at.trigger(ctx, r)
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK, Body: at.triggerView(t)}, nil
}

func (at *place) putTrigger(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["trigger"]
	if err := checkName(typeTrigger, name); err != nil {
		return nil, err
	}
	job, err := at.job(ctx, r.Path["job"])
	if err == nil {
		err = readOnly(job)
	}
	if err != nil {
		return nil, err
	}
	spec, err := at.readTrigger(r, job.Name, name)
	if err != nil {
		return nil, err
	}
	created := false
	err = triggers.On(at.store).Update(ctx, spec)
	if errors.Is(err, dberror.ErrTriggerNotFound) {
		created = true
		if err = triggers.On(at.store).Add(ctx, spec); errors.Is(err, dberror.ErrTriggerExists) { // another request has added it meanwhile
			created = false
			err = triggers.On(at.store).Update(ctx, spec)
		}
	}
	if err != nil {
		return nil, err
	}
	t, err := at.trigger(ctx, r)
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: statusOf(created), Body: at.triggerView(t)}, nil
}

// readTrigger reads the body of PUT trigger.
func (at *place) readTrigger(r *rest.Request, job, name string) (triggers.Spec, error) {
	var in triggerInput
	if err := decode(r, &in); err != nil {
		return triggers.Spec{}, err
	}
	var f faults
	in.check(&f, at.id("jobs", job, "triggers", name), name, typeTrigger)
	when, targets, enabled := cmp.Or(in.Properties.RunWhen, "Succeeded"), cmp.Or(in.Properties.Targets, "All"), true
	if in.Properties.Enabled != nil {
		enabled = *in.Properties.Enabled
	}
	for _, upstream := range in.Properties.UpstreamJobNames {
		if strings.TrimSpace(upstream) == "" {
			f.add("$.properties.upstreamJobNames", "The name of a job is empty.")
			break
		}
	}
	return triggers.Spec{JobName: job, Name: name, Upstreams: in.Properties.UpstreamJobNames, RunWhen: &when, Targets: &targets, Enabled: &enabled}, f.err()
}

func (at *place) deleteTrigger(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	job, err := at.job(ctx, r.Path["job"])
	if err == nil {
		err = readOnly(job)
	}
	if err != nil {
		return nil, err
	}
	return deleted(triggers.On(at.store).Delete(ctx, job.Name, r.Path["trigger"]), dberror.ErrTriggerNotFound)
}

func (at *place) listTriggerEvents(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	var t triggers.Trigger
	return answerPage(at, r, func(page controldb.Page[int64]) (id string, rows []triggers.Event, err error) {
		if t, err = at.trigger(ctx, r); err == nil {
			rows, err = triggers.On(at.store).Events(ctx, triggers.EventFilter{JobName: t.JobName, Trigger: t.Name}, page)
		}
		return at.id("jobs", t.JobName, "triggers", t.Name, "events"), rows, err
	}, func(e triggers.Event) int64 { return e.ID }, func(e triggers.Event) triggerEventView { return at.triggerEventView(t, e) })
}

// triggerEventView describes an event of a trigger. Its name is the id of the run that ended.
func (at *place) triggerEventView(t triggers.Trigger, e triggers.Event) triggerEventView {
	name := e.UpstreamRun.String()
	return triggerEventView{
		envelope: envelope{ID: at.id("jobs", t.JobName, "triggers", t.Name, "events", name), Name: name, Type: typeTriggerEvent},
		Properties: triggerEventProperties{
			UpstreamJobName: e.Upstream, UpstreamJobExecutionID: e.UpstreamRun, UpstreamLifecycle: e.UpstreamLifecycle, CreateTime: instant(e.Created),
			State: e.State, EndTime: instant(e.Ended), JobExecutionID: given(e.Run), Reason: e.Reason,
		},
	}
}
