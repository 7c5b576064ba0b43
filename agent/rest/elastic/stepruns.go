package elastic

import (
	"context"
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
)

const (
	runStepPath   = executionPath + "/{execution}/steps"
	runTargetPath = runStepPath + "/{step}/targets"
)

// stepExecutionOperations are A32 to A36.
func (s *Surface) stepExecutionOperations() []rest.Operation {
	one, many := reflect.TypeFor[executionView](), reflect.TypeFor[list[executionView]]()
	return []rest.Operation{
		{
			ID: "JobStepExecutions_ListByJobExecution", Method: http.MethodGet, Path: runStepPath, Role: rest.RoleReader,
			Handle: s.listStepRuns, Summary: "Lists the steps of a run.", Query: runParameters, Answers: map[int]reflect.Type{http.StatusOK: many},
		},
		{
			ID: "JobStepExecutions_Get", Method: http.MethodGet, Path: runStepPath + "/{step}", Role: rest.RoleReader,
			Handle: s.getStepRun, Summary: "Gets a step of a run.", Answers: map[int]reflect.Type{http.StatusOK: one},
		},
		{
			ID: "JobTargetExecutions_ListByJobExecution", Method: http.MethodGet, Path: executionPath + "/{execution}/targets",
			Role: rest.RoleReader, Handle: s.listTargetRuns, Summary: "Lists the targets of a run.", Query: runParameters,
			Answers: map[int]reflect.Type{http.StatusOK: many},
		},
		{
			ID: "JobTargetExecutions_ListByStep", Method: http.MethodGet, Path: runTargetPath, Role: rest.RoleReader,
			Handle: s.listTargetRuns, Summary: "Lists the targets of a step of a run.", Query: runParameters,
			Answers: map[int]reflect.Type{http.StatusOK: many},
		},
		{
			ID: "JobTargetExecutions_Get", Method: http.MethodGet, Path: runTargetPath + "/{target}", Role: rest.RoleReader,
			Handle: s.getTargetRun, Summary: "Gets a target of a step of a run.", Answers: map[int]reflect.Type{http.StatusOK: one},
		},
	}
}

// stepRunView describes a step of a run.
func (p *place) stepRunView(e controldb.StepRun) executionView {
	v := executionView{
		envelope:   envelope{ID: p.id("jobs", e.JobName, "executions", e.ID.String(), "steps", e.StepName), Name: e.StepName, Type: typeStepRun},
		Properties: p.properties(e.Execution),
	}
	v.Properties.StepName = e.StepName
	return v
}

// targetRunView describes a step on one target.
func (p *place) targetRunView(e controldb.StepRun) executionView {
	target := e.TargetID.String()
	v := executionView{
		envelope: envelope{
			ID: p.id("jobs", e.JobName, "executions", e.ID.String(), "steps", e.StepName, "targets", target), Name: target, Type: typeTargetRun,
		},
		Properties: p.properties(e.Execution),
	}
	v.Properties.StepName = e.StepName
	v.Properties.Target = &targetView{Type: e.TargetType, ServerName: p.shortServer(e.Server), DatabaseName: e.Database}
	return v
}

// runList reads what the lists below a run have in common.
func runList[K any](ctx context.Context, s *Surface, r *rest.Request) (*place, controldb.Execution, controldb.RunFilter, page[K], error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, controldb.Execution{}, controldb.RunFilter{}, page[K]{}, err
	}
	p, err := readPage[K](r, s.cfg.PageSize)
	if err != nil {
		return nil, controldb.Execution{}, controldb.RunFilter{}, p, err
	}
	filter, err := readRunFilter(r)
	if err != nil {
		return nil, controldb.Execution{}, filter, p, err
	}
	e, err := at.run(ctx, r)
	return at, e, filter, p, err
}

func (s *Surface) listStepRuns(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, run, filter, p, err := runList[int](ctx, s, r)
	if err != nil {
		return nil, err
	}
	rows, err := at.store.StepRuns(ctx, run.ID, "", filter, p.rows())
	if err != nil {
		return nil, err
	}
	l := result(p, rows, at, r, at.runID(run)+"/steps", func(e controldb.StepRun) int { return *e.StepID }, at.stepRunView)
	return &rest.Response{Status: http.StatusOK, Body: l}, nil
}

// stepRun returns the step of a run that a path names.
func (p *place) stepRun(ctx context.Context, r *rest.Request, run controldb.Execution) (controldb.StepRun, error) {
	rows, err := p.store.StepRuns(ctx, run.ID, r.Path["step"], controldb.RunFilter{}, controldb.Page[int]{Top: 1})
	switch {
	case err != nil:
		return controldb.StepRun{}, err
	case len(rows) == 0:
		return controldb.StepRun{}, notFound(typeStepRun, r.Path["step"])
	}
	return rows[0], nil
}

func (s *Surface) getStepRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	run, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	step, err := at.stepRun(ctx, r, run)
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK, Body: at.stepRunView(step)}, nil
}

func (s *Surface) listTargetRuns(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, run, filter, p, err := runList[controldb.StepRunKey](ctx, s, r)
	if err != nil {
		return nil, err
	}
	step, id := "", at.runID(run)+"/targets"
	if r.Path["step"] != "" {
		found, err := at.stepRun(ctx, r, run)
		if err != nil {
			return nil, err
		}
		step, id = found.StepName, at.runID(run)+"/steps/"+escapeName(found.StepName)+"/targets"
	}
	rows, err := at.store.TargetRuns(ctx, run.ID, step, uuid.Nil, filter, p.rows())
	if err != nil {
		return nil, err
	}
	l := result(p, rows, at, r, id, func(e controldb.StepRun) controldb.StepRunKey {
		return controldb.StepRunKey{StepID: *e.StepID, Server: e.Server, Database: e.Database, TargetID: e.TargetID}
	}, at.targetRunView)
	return &rest.Response{Status: http.StatusOK, Body: l}, nil
}

func (s *Surface) getTargetRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	run, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	text := r.Path["target"]
	target, err := uuid.Parse(text)
	if err != nil || target == uuid.Nil || len(text) != 36 {
		return nil, notFound(typeTargetRun, text)
	}
	rows, err := at.store.TargetRuns(ctx, run.ID, r.Path["step"], target, controldb.RunFilter{}, controldb.Page[controldb.StepRunKey]{Top: 1})
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, notFound(typeTargetRun, text)
	}
	return &rest.Response{Status: http.StatusOK, Body: at.targetRunView(rows[0])}, nil
}
