package elastic

import (
	"context"
	"math"
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
)

// stepInput is the body of PUT step.
type stepInput struct {
	envelope
	Properties stepInputProperties `json:"properties" body:"required"`
}

type stepInputProperties struct {
	StepID           *int32        `json:"stepId"`
	TargetGroup      string        `json:"targetGroup"`
	Credential       string        `json:"credential"`
	Action           actionInput   `json:"action" body:"required"`
	Output           *outputInput  `json:"output"`
	ExecutionOptions *optionsInput `json:"executionOptions"`
}

type outputInput struct {
	Type              string `json:"type" enum:"SqlDatabase"`
	SubscriptionID    string `json:"subscriptionId" format:"uuid"`
	ResourceGroupName string `json:"resourceGroupName"`
	ServerName        string `json:"serverName" body:"required"`
	DatabaseName      string `json:"databaseName" body:"required"`
	SchemaName        string `json:"schemaName"`
	TableName         string `json:"tableName" body:"required"`
	Credential        string `json:"credential"`
}

type optionsInput struct {
	TimeoutSeconds          *int32   `json:"timeoutSeconds"`
	RetryAttempts           *int32   `json:"retryAttempts"`
	InitialRetrySeconds     *int32   `json:"initialRetryIntervalSeconds"`
	MaximumRetrySeconds     *int32   `json:"maximumRetryIntervalSeconds"`
	RetryIntervalMultiplier *float64 `json:"retryIntervalBackoffMultiplier"`
}

// stepView is a step in an answer.
type stepView struct {
	envelope
	Properties stepProperties `json:"properties"`
}

type stepProperties struct {
	StepID           int         `json:"stepId"`
	TargetGroup      string      `json:"targetGroup,omitempty"`
	Credential       string      `json:"credential,omitempty"`
	Action           actionView  `json:"action"`
	Output           *outputView `json:"output,omitempty"`
	ExecutionOptions optionsView `json:"executionOptions"`
}

type actionInput struct {
	Type   string `json:"type"`
	Source string `json:"source" enum:"Inline"`
	Value  string `json:"value" body:"required"`
}

// OpenAPIMembers returns the type of the member that is read in any case, for the OpenAPI document.
func (actionInput) OpenAPIMembers() map[string]reflect.Type {
	return map[string]reflect.Type{"type": reflect.TypeFor[commandTypes]()}
}

// OpenAPIMembers does the same for an answer.
func (actionView) OpenAPIMembers() map[string]reflect.Type { return actionInput{}.OpenAPIMembers() }

type actionView struct {
	Type   string `json:"type"`
	Source string `json:"source" enum:"Inline"`
	Value  string `json:"value"`
}

type outputView struct {
	Type              string `json:"type" enum:"SqlDatabase"`
	SubscriptionID    string `json:"subscriptionId,omitempty" format:"uuid"`
	ResourceGroupName string `json:"resourceGroupName,omitempty"`
	ServerName        string `json:"serverName"`
	DatabaseName      string `json:"databaseName"`
	SchemaName        string `json:"schemaName"`
	TableName         string `json:"tableName"`
	Credential        string `json:"credential,omitempty"`
}

type optionsView struct {
	TimeoutSeconds          int     `json:"timeoutSeconds"`
	RetryAttempts           int     `json:"retryAttempts"`
	InitialRetrySeconds     int     `json:"initialRetryIntervalSeconds"`
	MaximumRetrySeconds     int     `json:"maximumRetryIntervalSeconds"`
	RetryIntervalMultiplier float32 `json:"retryIntervalBackoffMultiplier"`
}

const (
	stepPath = jobPath + "/steps"
	maxType  = 50 // of the name of a type
)

// stepOperations are A20 to A25.
func (s *Surface) stepOperations() []rest.Operation {
	one, many := reflect.TypeFor[stepView](), reflect.TypeFor[list[stepView]]()
	return []rest.Operation{
		s.get("JobSteps_ListByJob", stepPath, (*place).listSteps, "Lists the steps of the current version of a job.", many, pageParameters...),
		rest.Versioned(s.get("JobSteps_Get", stepPath+"/{step}", (*place).getStep, "Gets a step of the current version of a job.", one)),
		rest.Versioned(s.change(http.MethodPut, "JobSteps_CreateOrUpdate", stepPath+"/{step}", rest.RoleAuthor, (*place).putStep,
			"Creates or replaces a step, which makes a new version of the job. What is omitted gets its default.", reflect.TypeFor[stepInput](), one, http.StatusCreated)),
		rest.Versioned(s.delete("JobSteps_Delete", stepPath+"/{step}", rest.RoleAuthor, (*place).deleteStep, "Deletes a step, which makes a new version of the job.")),
		s.get("JobSteps_ListByVersion", versionPath+"/{version}/steps", (*place).listSteps, "Lists the steps of a version of a job.", many, pageParameters...),
		rest.Versioned(s.get("JobSteps_GetByVersion", versionPath+"/{version}/steps/{step}", (*place).getStep, "Gets a step of a version of a job.", one)),
	}
}

// steps is where the steps of a path are: below a job, or below one of its versions.
type steps struct {
	job     string
	version *int     // nil: the current one
	pairs   []string // of the collection's id, without the last segment
	// readOnly is the error about a change, or nil if the steps may be changed.
	readOnly error
}

// steps returns the steps that a path names.
func (at *place) steps(ctx context.Context, r *rest.Request) (steps, error) {
	if text, ok := r.Path["version"]; ok {
		job, n, err := at.version(ctx, r)
		return steps{job: job.Name, version: &n, pairs: []string{"jobs", job.Name, "versions", text}}, err
	}
	job, err := at.job(ctx, r.Path["job"])
	return steps{job: job.Name, pairs: []string{"jobs", job.Name}, readOnly: readOnly(job)}, err
}

// stepID returns the id of a step, or of the collection for an empty name.
func (at *place) stepID(of steps, name string) string {
	pairs := append(append([]string{}, of.pairs...), "steps")
	if name != "" {
		pairs = append(pairs, name)
	}
	return at.id(pairs...)
}

// stepView describes a step.
func (at *place) stepView(of steps, step catalog.JobStep) stepView {
	v := stepView{envelope: envelope{ID: at.stepID(of, step.StepName), Name: step.StepName, Type: typeStep}}
	v.Properties = stepProperties{
		StepID: step.StepID, TargetGroup: at.refer("targetGroups", step.TargetGroup), Credential: at.refer("credentials", step.Credential),
		Action: actionView{Type: step.CommandType, Source: step.CommandSource, Value: step.Command},
		ExecutionOptions: optionsView{
			TimeoutSeconds: step.Timeout, RetryAttempts: step.RetryAttempts, InitialRetrySeconds: step.InitialRetryInterval,
			MaximumRetrySeconds: step.MaximumRetryInterval, RetryIntervalMultiplier: float32(step.RetryIntervalMultiplier),
		},
	}
	if step.OutputType != "" {
		o := &outputView{
			Type: step.OutputType, ResourceGroupName: step.OutputResourceGroup, ServerName: at.shortServer(step.Server),
			DatabaseName: step.Database, SchemaName: step.Schema, TableName: step.Table,
			Credential: at.refer("credentials", step.Output.Credential),
		}
		if step.OutputSubscriptionID != uuid.Nil {
			o.SubscriptionID = step.OutputSubscriptionID.String()
		}
		v.Properties.Output = o
	}
	return v
}

// refer returns the id of what a step refers to by name; empty for no name.
func (at *place) refer(collection, name string) string {
	if name == "" {
		return ""
	}
	return at.id(collection, name)
}

func (at *place) listSteps(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	p, err := readPage[int](r, at.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	where, err := at.steps(ctx, r)
	if err != nil {
		return nil, err
	}
	rows, err := catalog.On(at.store).PageOfJobSteps(ctx, where.job, where.version, p.rows())
	if err != nil {
		return nil, err
	}
	l := result(p, rows, at, r, at.stepID(where, ""), func(j catalog.JobStep) int { return j.StepID },
		func(j catalog.JobStep) stepView { return at.stepView(where, j) })
	l.Value = reachable(l.Value, rows, func(j catalog.JobStep) string { return j.StepName })
	return &rest.Response{Status: http.StatusOK, Body: l}, nil
}

func (at *place) getStep(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	where, err := at.steps(ctx, r)
	if err != nil {
		return nil, err
	}
	name := r.Path["step"]
	step, err := catalog.On(at.store).JobStep(ctx, where.job, where.version, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrStepNotFound, typeStep, name)
	}
	return at.answerStep(http.StatusOK, where, step), nil
}

func (at *place) answerStep(status int, where steps, step catalog.JobStep) *rest.Response {
	v := at.stepView(where, step)
	return tagged(status, v.ID, step.Revision, v)
}

func (at *place) putStep(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["step"]
	if err := checkName(typeStep, name); err != nil {
		return nil, err
	}
	where, err := at.steps(ctx, r)
	if err == nil {
		err = where.readOnly
	}
	if err != nil {
		return nil, err
	}
	spec, err := at.readStep(r, where, name)
	if err != nil {
		return nil, err
	}
	match, err := at.expectStep(ctx, r, where, name)
	if err != nil {
		return nil, err
	}
	put, err := catalog.On(at.store).SetJobStep(ctx, spec, match)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrJobNotFound, typeJob, where.job)
	}
	return at.answerStep(statusOf(put.Created), where, put.Object), nil
}

// readStep reads the body of PUT step.
func (at *place) readStep(r *rest.Request, where steps, name string) (model.StepSpec, error) {
	var in stepInput
	if err := decode(r, &in); err != nil {
		return model.StepSpec{}, err
	}
	props := in.Properties
	spec := model.StepSpec{JobName: where.job, StepName: &name, Command: &props.Action.Value}
	var f faults
	in.check(&f, at.stepID(where, name), name, typeStep)
	if props.TargetGroup == "" && (props.Action.Type == "" || foldEqual(props.Action.Type, "TSql")) {
		f.add("$.properties.targetGroup", "A step needs the id of a target group.")
	}
	if props.Action.Source != "" && !foldEqual(props.Action.Source, "Inline") {
		f.add("$.properties.action.source", "The source of an action is invalid: want Inline.")
	}
	if props.Action.Type != "" {
		spec.CommandType = &props.Action.Type
	}
	f.short("$.properties.action.type", props.Action.Type, maxType)
	spec.StepID = intOf(props.StepID)
	if o := props.ExecutionOptions; o != nil {
		spec.Timeout, spec.RetryAttempts = intOf(o.TimeoutSeconds), intOf(o.RetryAttempts)
		spec.InitialRetryInterval, spec.MaximumRetryInterval = intOf(o.InitialRetrySeconds), intOf(o.MaximumRetrySeconds)
		if m := o.RetryIntervalMultiplier; m != nil && math.Abs(*m) > math.MaxFloat32 { // the control database takes a REAL
			f.add("$.properties.executionOptions.retryIntervalBackoffMultiplier", "The number is out of range.")
		}
		spec.RetryIntervalMultiplier = o.RetryIntervalMultiplier
	}
	output, err := at.readOutput(&f, props.Output)
	if err == nil {
		err = f.err()
	}
	if err != nil {
		return spec, err
	}
	spec.Output = output
	group, err := at.idOf("targetGroups", props.TargetGroup, "$.properties.targetGroup")
	if err != nil {
		return spec, err
	}
	spec.TargetGroup = &group
	credential, err := at.idOf("credentials", props.Credential, "$.properties.credential")
	spec.Credential = &credential
	return spec, err
}

// readOutput reads the output of a step; nil means none.
func (at *place) readOutput(f *faults, in *outputInput) (*model.OutputSpec, error) {
	if in == nil {
		return nil, nil
	}
	if in.Type == "" {
		in.Type = "SqlDatabase"
	}
	server := at.serverOf(in.ServerName)
	for _, one := range []struct {
		name, text string
		limit      int
	}{
		{"type", in.Type, maxType}, {"resourceGroupName", in.ResourceGroupName, maxName}, {"serverName", server, model.MaxServer},
		{"databaseName", in.DatabaseName, maxName}, {"schemaName", in.SchemaName, maxName}, {"tableName", in.TableName, maxName},
	} {
		f.short("$.properties.output."+one.name, one.text, one.limit)
	}
	o := &model.OutputSpec{
		Type: &in.Type, Server: &server, Database: &in.DatabaseName, Table: &in.TableName, ResourceGroup: &in.ResourceGroupName,
	}
	if in.SchemaName != "" {
		o.Schema = &in.SchemaName
	}
	if in.SubscriptionID != "" {
		id, err := uuid.Parse(in.SubscriptionID)
		if err != nil {
			f.add("$.properties.output.subscriptionId", "The subscription of an output is invalid: want a GUID.")
		}
		o.SubscriptionID = &id
	}
	credential, err := at.idOf("credentials", in.Credential, "$.properties.output.credential")
	o.Credential = &credential
	return o, err
}

// expectStep returns the revision of a step that the headers of a request want.
func (at *place) expectStep(ctx context.Context, r *rest.Request, where steps, name string) (*int64, error) {
	return expect(r, dberror.ErrStepNotFound, func() (string, int64, error) {
		step, err := catalog.On(at.store).JobStep(ctx, where.job, nil, name)
		return at.stepID(where, step.StepName), step.Revision, err
	})
}

func (at *place) deleteStep(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	where, err := at.steps(ctx, r)
	if err == nil {
		err = where.readOnly
	}
	if err != nil {
		return nil, err
	}
	match, err := at.expectStep(ctx, r, where, r.Path["step"])
	if err != nil {
		return nil, err
	}
	_, err = catalog.On(at.store).DeleteJobStepIf(ctx, where.job, r.Path["step"], match)
	return deleted(err, dberror.ErrStepNotFound)
}
