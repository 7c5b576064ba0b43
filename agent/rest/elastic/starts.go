package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// startInput is the body of POST start and PUT execution, which clients of Azure leave out: an
// extension by the parameters of the run, and the databases to which it is limited. A property that
// is misspelled, or in a wrong place, is refused: without it, the run would be on all databases.
type startInput struct {
	_          struct{}         `body:"closed"`
	Properties *startProperties `json:"properties"`
}

type startProperties struct {
	_ struct{} `body:"closed"`
	// Parameters is a JSON object.
	Parameters json.RawMessage `json:"parameters"`
	// OnlyTargets is nil if it is absent: then the run is on all databases of the target groups.
	OnlyTargets *[]startTarget `json:"onlyTargets"`
	// Rollout is false for a plain run of a job with a plan, and Hold pauses its roll-out when the
	// targets are assigned to waves. A repetition does not compare them.
	Rollout *bool `json:"rollout"`
	Hold    bool  `json:"hold"`
	// IgnoreWindows is true for a run that does not wait for the windows of its databases. Only
	// authors may say so.
	IgnoreWindows bool `json:"ignoreWindows"`
}

// OpenAPIMembers returns the type of the member that is read by the control database, for the
// OpenAPI document.
func (startProperties) OpenAPIMembers() map[string]reflect.Type {
	return map[string]reflect.Type{"parameters": reflect.TypeFor[map[string]any]()}
}

// startTarget names a database by the id that targets of runs have as their names, or by its
// server and its own name.
type startTarget struct {
	_            struct{} `body:"closed"`
	TargetID     string   `json:"targetId" format:"uuid"`
	ServerName   string   `json:"serverName"`
	DatabaseName string   `json:"databaseName"`
}

// readStart reads the body of a start, which may be empty.
func (at *place) readStart(r *rest.Request, id uuid.UUID) (executions.StartRequest, error) {
	req := executions.StartRequest{Job: r.Path["job"], ID: id}
	var in startInput
	if err := body.Decode(r.Body, &in, body.Options{AllowEmpty: true}); err != nil || in.Properties == nil {
		return req, err
	}
	if raw := in.Properties.Parameters; !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		req.Parameters = string(raw)
	}
	req.Plain, req.Hold = in.Properties.Rollout != nil && !*in.Properties.Rollout, in.Properties.Hold
	req.IgnoreWindows = in.Properties.IgnoreWindows
	if in.Properties.OnlyTargets == nil {
		return req, nil
	}
	const path = "$.properties.onlyTargets"
	list := *in.Properties.OnlyTargets
	if n := len(list); n == 0 || n > executions.MaxOnlyTargets {
		return req, badRequest(codeInvalidBody, path,
			"The list has %d databases: want 1 to %d. Without the property, the run is on all databases of the target groups.", n, executions.MaxOnlyTargets)
	}
	var f faults
	for i, one := range list {
		req.OnlyTargets = append(req.OnlyTargets, at.startTarget(&f, fmt.Sprintf("%s[%d]", path, i), one))
	}
	return req, f.err()
}

// startTarget returns the database of an element of onlyTargets.
func (at *place) startTarget(f *faults, path string, in startTarget) targets.Target {
	server := at.serverOf(in.ServerName)
	f.short(path+".serverName", server, maxName)
	f.short(path+".databaseName", in.DatabaseName, maxName)
	named := targets.NewTarget(server, in.DatabaseName, "")
	switch {
	case (in.ServerName == "") != (in.DatabaseName == ""), in.TargetID == "" && in.ServerName == "":
		f.add(path, "The database is not named: want targetId, or serverName and databaseName.")
		return named
	case in.TargetID == "":
		return named
	}
	id, err := uuid.Parse(in.TargetID)
	switch {
	case err != nil || len(in.TargetID) != 36:
		f.add(path+".targetId", "The id of the database is invalid: want a GUID.")
	case in.ServerName == "":
		return targets.Target{ID: id}
	case id != named.ID:
		f.add(path+".targetId", "The id is not that of the database '%s' of the server '%s'. Leave one of the two out.", in.DatabaseName, in.ServerName)
	}
	return named
}

// start starts a run with an id, unless there is one already. The status of the answer is 201 for a
// new run. A new run is shown as it was created: an agent may have taken it up meanwhile.
func (at *place) start(ctx context.Context, req executions.StartRequest) (*rest.Response, executions.Execution, error) {
	e, err := at.runOf(ctx, req.Job, req.ID)
	exists := err == nil
	if exists && req.Parameters == "" && req.OnlyTargets == nil {
		return at.answerRun(http.StatusOK, e), e, nil
	}
	if !exists && !errors.Is(err, dberror.ErrExecutionNotFound) {
		return nil, e, err
	}
	// The control database refuses other parameters and databases than those of a run that exists.
	if _, startErr := executions.On(at.store).Start(ctx, req); startErr != nil {
		if dberror.KindOf(startErr) != dberror.KindNone {
			return nil, e, orNotFound(startErr, dberror.ErrJobNotFound, typeJob, req.Job)
		}
		// The answer may be lost, and the run started: then it must not be refused.
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), recheckTime)
		defer cancel()
		if e, err = at.runOf(again, req.Job, req.ID); err != nil {
			return nil, e, startErr
		}
	} else if e, err = at.runOf(ctx, req.Job, req.ID); err != nil {
		return nil, e, err
	}
	if exists {
		return at.answerRun(http.StatusOK, e), e, nil
	}
	e.Active, e.Lifecycle, e.StartTime, e.EndTime, e.LastMessage = true, jobs.Created, time.Time{}, time.Time{}, "Job execution created."
	return at.answerRun(http.StatusCreated, e), e, nil
}
