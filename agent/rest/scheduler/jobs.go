package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/agent/rest/internal/etag"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/scheduler"
)

// jobPath returns the path of a job: the id of the resource.
func jobPath(p place, name string) string {
	return collectionPath(p.Entry, p.collection.Name) + "/jobs/" + url.PathEscape(name)
}

// jobOf returns a job as it is shown.
func jobOf(p place, j scheduler.Job) job {
	shown := job{
		ID: jobPath(p, j.Name), Type: typeJob, Name: j.FullName,
		Properties: jobProperties{Action: shownAction(j), State: strings.ToLower(j.State)},
	}
	shown.Properties.StartTime, shown.Properties.Recurrence = shownTiming(j.Schedule)
	if j.State != "Disabled" || !j.LastExecutionTime.IsZero() {
		shown.Properties.Status = &status{
			LastExecutionTime: shownTime(j.LastExecutionTime), NextExecutionTime: shownTime(nextExecution(j)),
			ExecutionCount: j.ExecutionCount, FailureCount: j.FailureCount, FaultedCount: j.FaultedCount,
		}
	}
	return shown
}

// shownAction returns the action of a job as it is shown.
func shownAction(j scheduler.Job) *action {
	if j.Properties == "" {
		return derived(j)
	}
	var a action
	if json.Unmarshal([]byte(j.Properties), &a) != nil {
		return derived(j)
	}
	return &a
}

func answerJob(code int, p place, j scheduler.Job) *rest.Response {
	return &rest.Response{Status: code, Header: http.Header{"Etag": {etag.New(j.ID.String(), j.Revision)}}, Body: jobOf(p, j)}
}

// findJob returns the job of a path.
func (s *Surface) findJob(ctx context.Context, r *rest.Request) (place, scheduler.Job, error) {
	p, err := s.find(ctx, r)
	if err != nil {
		return p, scheduler.Job{}, err
	}
	j, err := scheduler.On(p.Store).Job(ctx, p.collection.Name, r.Path["job"])
	if errors.Is(err, dberror.ErrSchedulerJobNotFound) {
		err = notFound(r)
	}
	return p, j, err
}

func (s *Surface) getJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	p, j, err := s.findJob(ctx, r)
	if err != nil {
		return nil, err
	}
	return answerJob(http.StatusOK, p, j), nil
}

// jobToken is the place at which a list of jobs goes on.
type jobToken struct {
	After string `json:"a"`
}

func (s *Surface) listJobs(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	top, skip, err := paging(r)
	if err != nil {
		return nil, err
	}
	state, err := filterOf(r, "state", "Enabled", "Disabled", "Completed", "Faulted")
	if err != nil {
		return nil, err
	}
	var at jobToken
	if err := readToken(r, &at); err != nil {
		return nil, err
	}
	p, err := s.find(ctx, r)
	if err != nil {
		return nil, err
	}
	size := cmp.Or(top, pageSize)
	found, err := scheduler.On(p.Store).Jobs(ctx, p.collection.Name, state, controldb.Page[string]{After: &at.After, Top: size + 1, Skip: int64(skip)})
	if err != nil {
		return nil, err
	}
	list := page[job]{Value: []job{}}
	for i, j := range found {
		if i == size {
			if top == 0 {
				list.NextLink = nextLink(r, jobToken{found[i-1].Name})
			}
			break
		}
		if !rest.HasDotSegment(j.Name) { // its id would be the one of another resource to many clients
			list.Value = append(list.Value, jobOf(p, j))
		}
	}
	return &rest.Response{Status: http.StatusOK, Body: list}, nil
}

// paging reads $top (0: not given) and $skip.
func paging(r *rest.Request) (top, skip int, err error) {
	if text, ok := r.Query.Get("$top"); ok {
		if top, err = strconv.Atoi(text); err != nil || top < 1 || top > 100 {
			return 0, 0, badRequest("$top", "Invalid $top '%.40s': want 1 to 100.", text)
		}
	}
	if text, ok := r.Query.Get("$skip"); ok {
		if skip, err = strconv.Atoi(text); err != nil || skip < 0 || skip > 1<<30 {
			return 0, 0, badRequest("$skip", "Invalid $skip '%.40s': want a number of at least 0.", text)
		}
	}
	return top, skip, nil
}

// filterOf reads $filter: NAME eq VALUE, the value with or without quotes, in any case.
func filterOf(r *rest.Request, name string, values ...string) (string, error) {
	text, ok := r.Query.Get("$filter")
	if !ok || strings.TrimSpace(text) == "" {
		return "", nil
	}
	parts := strings.Fields(text)
	if len(parts) == 3 && strings.EqualFold(parts[0], name) && strings.EqualFold(parts[1], "eq") {
		value := parts[2]
		if len(value) > 1 && value[0] == '\'' && value[len(value)-1] == '\'' {
			value = value[1 : len(value)-1]
		}
		if found, ok := canonical(value, values...); ok {
			return found, nil
		}
	}
	return "", badRequest("$filter", "Invalid $filter: want %s eq %s.", name, strings.Join(values, ", "))
}

func (s *Surface) putJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return s.writeJob(ctx, r, r.Body, false)
}

func (s *Surface) patchJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	if err := checkPatch(r.Body); err != nil {
		return nil, err
	}
	if state, only := onlyState(r.Body); only {
		return s.patchJobState(ctx, r, state)
	}
	if err := r.Require(rest.RoleAuthor); err != nil {
		return nil, err
	}
	return s.writeJob(ctx, r, r.Body, true)
}

// checkPatch checks a patch by itself, because faults have the places of the request.
func checkPatch(patch []byte) error {
	var given struct {
		ID, Type, Name string
		Properties     body.Field[jobProperties] `json:"properties,omitzero"`
	}
	if err := body.Decode(patch, &given, body.Options{FoldCase: true}); err != nil {
		return err
	}
	if given.Properties.Value.Status != nil {
		return badRequest("$.properties.status", "Invalid status: it cannot be changed.")
	}
	return nil
}

// onlyState reports whether a patch changes nothing but properties.state, which operators may.
func onlyState(patch []byte) (state string, only bool) {
	var given map[string]json.RawMessage
	if json.Unmarshal(patch, &given) != nil || len(given) != 1 {
		return "", false
	}
	for name, raw := range given {
		var properties map[string]json.RawMessage
		if !strings.EqualFold(name, "properties") || json.Unmarshal(raw, &properties) != nil || len(properties) != 1 {
			return "", false
		}
		for name, raw := range properties {
			if !strings.EqualFold(name, "state") || json.Unmarshal(raw, &state) != nil {
				return "", false
			}
		}
	}
	return state, state != ""
}

// enabledOf reads the state of a request; empty means Enabled.
func enabledOf(state string) (bool, error) {
	switch strings.ToLower(state) {
	case "", "enabled":
		return true, nil
	case "disabled":
		return false, nil
	}
	return false, badRequest("$.properties.state", "Invalid state '%.40s': want Enabled or Disabled; the others are results.", state)
}

// patchJobState enables or disables a job.
func (s *Surface) patchJobState(ctx context.Context, r *rest.Request, state string) (*rest.Response, error) {
	enabled, err := enabledOf(state)
	if err != nil {
		return nil, err
	}
	p, j, err := s.findJob(ctx, r)
	if err != nil {
		return nil, err
	}
	ifMatch, err := etag.Parse(r.HTTP.Header).Expect(j.ID.String(), j.Revision)
	if err == nil {
		j, err = scheduler.On(p.Store).EnableJob(ctx, p.collection.Name, j.Name, enabled, ifMatch)
	}
	if err != nil {
		return nil, err
	}
	return answerJob(http.StatusOK, p, j), nil
}

// writeJob replaces a job, or merges a patch with it.
func (s *Surface) writeJob(ctx context.Context, r *rest.Request, text []byte, merge bool) (*rest.Response, error) {
	condition := etag.Parse(r.HTTP.Header)
	for repeat := 0; ; repeat++ {
		p, old, err := s.findJob(ctx, r)
		var missing *rest.Error
		if errors.As(err, &missing) && missing.Code == codeNotFound && p.Entry != nil && !merge {
			err = nil
		}
		if err != nil {
			return nil, err
		}
		spec, err := s.specOf(ctx, r, p, old, text, merge)
		if err != nil {
			return nil, err
		}
		if spec.IfMatch, err = condition.Expect(old.ID.String(), old.Revision); err != nil {
			return nil, err
		}
		free := spec.IfMatch == nil // secrets are kept from this revision, and a patch is merged with it
		if free {
			spec.IfMatch = &old.Revision
		}
		put, err := scheduler.On(p.Store).SetJob(ctx, spec)
		again := free && errors.Is(err, dberror.ErrRevision) || errors.Is(err, dberror.ErrSecretKeysChanged)
		if again && repeat < maxRepeats {
			continue
		}
		if err != nil {
			return nil, err
		}
		code := http.StatusOK
		if put.Created {
			code = http.StatusCreated
		}
		return answerJob(code, p, put.Object), nil
	}
}

// specOf translates a request to the arguments of the procedure.
func (s *Surface) specOf(
	ctx context.Context, r *rest.Request, p place, old scheduler.Job, text []byte, merge bool,
) (scheduler.JobSpec, error) {
	none := scheduler.JobSpec{}
	oldAction := &action{}
	if old.Revision > 0 {
		oldAction = shownAction(old)
	}
	if merge {
		current, err := mergeable(old, oldAction)
		if err == nil {
			text, err = merged(current, text)
		}
		if err != nil {
			return none, fmt.Errorf("merge a patch with the job: %w", err)
		}
	}
	var given job
	if err := body.Decode(text, &given, body.Options{FoldCase: true}); err != nil {
		return none, err
	}
	name := cmp.Or(old.Name, r.Path["job"])
	properties := given.Properties
	t := &translator{Surface: s, region: p.collection.Location}
	t.faults = sameResource(jobPath(p, name), typeJob, given.ID, given.Type, given.Name, p.collection.Name+"/"+name, name)
	enabled, err := enabledOf(properties.State)
	var wrong *rest.Error
	if errors.As(err, &wrong) {
		t.faults = append(t.faults, wrong.Details...)
	}
	spec := scheduler.JobSpec{
		Collection: p.collection.Name, Name: name, Enabled: enabled, NoQuotas: s.cfg.Quotas == "off",
	}
	timingText, gap, faults := s.readTiming(properties)
	spec.Schedule, spec.Gap = timingText, gap
	t.faults = append(t.faults, faults...)
	if a := properties.Action; a == nil {
		t.fault("$.properties.action", "Missing action.")
	} else {
		spec.Main = t.action("$.properties.action", a, formerOf(oldAction, old.MainType, old.MainCommand))
		if e := a.ErrorAction; e != nil {
			e.ErrorAction = nil
			if e.RetryPolicy == nil {
				e.RetryPolicy = a.RetryPolicy // it has that of the action
				step := t.action("$.properties.action.errorAction", e, formerOf(oldAction.ErrorAction, old.ErrorType, old.ErrorCommand))
				e.RetryPolicy = nil
				spec.Error = &step
			} else {
				step := t.action("$.properties.action.errorAction", e, formerOf(oldAction.ErrorAction, old.ErrorType, old.ErrorCommand))
				spec.Error = &step
			}
		}
		shown, err := json.Marshal(a)
		if err != nil {
			return none, fmt.Errorf("encode the action: %w", err)
		}
		if len(shown)+len(timingText) > maxJob {
			t.fault("$.properties", "Invalid job of %d bytes: want at most %d.", len(shown)+len(timingText), maxJob)
		}
		spec.Properties = string(shown)
	}
	if err := allFaults(t.faults); err != nil {
		return none, err
	}
	spec.Secrets, err = t.sealed(ctx, p.Store)
	return spec, err
}

// mergeable returns a job in the form with which a patch is merged.
func mergeable(old scheduler.Job, shown *action) ([]byte, error) {
	var t timing
	if err := decodeObject([]byte(old.Schedule), &t); err != nil {
		return nil, err
	}
	properties := map[string]any{"action": shown, "state": map[bool]string{true: "Enabled", false: "Disabled"}[old.Enabled]}
	if t.StartTime != "" {
		properties["startTime"] = t.StartTime
	}
	if t.Recurrence != nil {
		properties["recurrence"] = t.Recurrence
	}
	return json.Marshal(map[string]any{"properties": properties})
}

func (s *Surface) deleteJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	p, j, err := s.findJob(ctx, r)
	if err != nil {
		return nil, err
	}
	ifMatch, err := etag.Parse(r.HTTP.Header).Expect(j.ID.String(), j.Revision)
	if err == nil {
		err = scheduler.On(p.Store).DeleteJob(ctx, p.collection.Name, j.Name, ifMatch)
	}
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK}, nil
}

func (s *Surface) runJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	p, j, err := s.findJob(ctx, r)
	if err != nil {
		return nil, err
	}
	id := runID(r, jobPath(p, j.Name))
	err = scheduler.On(p.Store).RunJob(ctx, p.collection.Name, j.Name, id)
	if err != nil && dberror.KindOf(err) == dberror.KindNone {
		// The answer may have been lost after the commit. The id is known, so nothing starts twice.
		err = scheduler.On(p.Store).RunJob(ctx, p.collection.Name, j.Name, id)
	}
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK}, nil
}

// runID returns the id of a run: the same for repetitions of a request, else a new one.
func runID(r *rest.Request, path string) uuid.UUID {
	key := r.HTTP.Header.Get("Idempotency-Key")
	if r.ClientRequestID != uuid.Nil {
		key = r.ClientRequestID.String()
	}
	if key == "" {
		return uuid.New()
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(strings.ToLower(path)+"\x00"+r.Principal.ID+"\x00"+key))
}
