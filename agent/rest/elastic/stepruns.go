package elastic

import (
	"context"
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
)

const (
	runStepPath   = executionPath + "/{execution}/steps"
	runTargetPath = runStepPath + "/{step}/targets"
)

// stepExecutionOperations are A32 to A36.
func (s *Surface) stepExecutionOperations() []rest.Operation {
	one, many := reflect.TypeFor[executionView](), reflect.TypeFor[list[executionView]]()
	return []rest.Operation{
		s.get("JobStepExecutions_ListByJobExecution", runStepPath, (*place).listStepRuns, "Lists the steps of a run.", many, runParameters...),
		s.get("JobStepExecutions_Get", runStepPath+"/{step}", (*place).getStepRun, "Gets a step of a run.", one),
		s.get("JobTargetExecutions_ListByJobExecution", executionPath+"/{execution}/targets", (*place).listTargetRuns,
			"Lists the targets of a run.", many, runParameters...),
		s.get("JobTargetExecutions_ListByStep", runTargetPath, (*place).listTargetRuns, "Lists the targets of a step of a run.", many, runParameters...),
		s.get("JobTargetExecutions_Get", runTargetPath+"/{target}", (*place).getTargetRun, "Gets a target of a step of a run.", one),
	}
}

// stepRunView describes a step of a run.
func (at *place) stepRunView(e executions.StepRun) executionView {
	v := executionView{
		envelope:   envelope{ID: at.id("jobs", e.JobName, "executions", e.ID.String(), "steps", e.StepName), Name: e.StepName, Type: typeStepRun},
		Properties: at.properties(e.Execution),
	}
	v.Properties.StepName = e.StepName
	return v
}

// targetRunView describes a step on one target.
func (at *place) targetRunView(e executions.StepRun) executionView {
	target := e.TargetID.String()
	v := executionView{
		envelope: envelope{
			ID: at.id("jobs", e.JobName, "executions", e.ID.String(), "steps", e.StepName, "targets", target), Name: target, Type: typeTargetRun,
		},
		Properties: at.properties(e.Execution),
	}
	v.Properties.StepName = e.StepName
	v.Properties.Target = &targetView{Type: e.TargetType, ServerName: at.shortServer(e.Server), DatabaseName: e.Database}
	return v
}

// filteredRun returns the run that a path names, and the filter of a list below it.
func (at *place) filteredRun(ctx context.Context, r *rest.Request) (executions.Execution, executions.Filter, error) {
	filter, err := readRunFilter(r)
	if err != nil {
		return executions.Execution{}, filter, err
	}
	e, err := at.run(ctx, r)
	return e, filter, err
}

func (at *place) listStepRuns(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerPage(at, r, func(page controldb.Page[int]) (string, []executions.StepRun, error) {
		run, filter, err := at.filteredRun(ctx, r)
		if err != nil {
			return "", nil, err
		}
		rows, err := executions.On(at.store).Steps(ctx, run.ID, "", filter, page)
		return at.runID(run) + "/steps", rows, err
	}, func(e executions.StepRun) int { return *e.StepID }, at.stepRunView)
}

// stepRun returns the step of a run that a path names.
func (at *place) stepRun(ctx context.Context, r *rest.Request, run executions.Execution) (executions.StepRun, error) {
	rows, err := executions.On(at.store).Steps(ctx, run.ID, r.Path["step"], executions.Filter{}, controldb.Page[int]{Top: 1})
	switch {
	case err != nil:
		return executions.StepRun{}, err
	case len(rows) == 0:
		return executions.StepRun{}, notFound(typeStepRun, r.Path["step"])
	}
	return rows[0], nil
}

func (at *place) getStepRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
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

func (at *place) listTargetRuns(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerPage(at, r, func(page controldb.Page[executions.StepRunKey]) (string, []executions.StepRun, error) {
		run, filter, err := at.filteredRun(ctx, r)
		if err != nil {
			return "", nil, err
		}
		step, id := "", at.runID(run)+"/targets"
		if r.Path["step"] != "" {
			found, err := at.stepRun(ctx, r, run)
			if err != nil {
				return "", nil, err
			}
			step, id = found.StepName, at.runID(run)+"/steps/"+escapeName(found.StepName)+"/targets"
		}
		rows, err := executions.On(at.store).TargetRuns(ctx, run.ID, step, uuid.Nil, filter, page)
		return id, rows, err
	}, func(e executions.StepRun) executions.StepRunKey {
		return executions.StepRunKey{StepID: *e.StepID, Server: e.Server, Database: e.Database, TargetID: e.TargetID}
	}, at.targetRunView)
}

func (at *place) getTargetRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	run, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	text := r.Path["target"]
	target, err := uuid.Parse(text)
	if err != nil || target == uuid.Nil || len(text) != 36 {
		return nil, notFound(typeTargetRun, text)
	}
	rows, err := executions.On(at.store).TargetRuns(ctx, run.ID, r.Path["step"], target, executions.Filter{}, controldb.Page[executions.StepRunKey]{Top: 1})
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, notFound(typeTargetRun, text)
	}
	return &rest.Response{Status: http.StatusOK, Body: at.targetRunView(rows[0])}, nil
}
