package elastic

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
)

// Roll-outs are an extension: Elastic Jobs has none. A roll-out has the name of its own run.

const (
	typeRollout = "Microsoft.Sql/servers/jobAgents/jobs/rollouts"
	rolloutPath = jobPath + "/rollouts"

	typeRolloutTarget = typeRollout + "/targets"
)

// rolloutView is a roll-out.
type rolloutView struct {
	envelope
	Properties rolloutProperties `json:"properties"`
}

type rolloutProperties struct {
	JobVersion     int        `json:"jobVersion"`
	JobExecutionID uuid.UUID  `json:"jobExecutionId"`
	State          string     `json:"state" enum:"Planning Assigning WaitingForApproval WaitingForWindow Paused Starting Preflight Running Recording Baking Probing Stopped Aborting Succeeded Aborted Failed"`
	Wave           int        `json:"wave"`
	WaveCount      int        `json:"waveCount"`
	WaveName       string     `json:"waveName,omitempty"`
	Targets        int        `json:"targets"`
	Succeeded      int        `json:"succeeded"`
	Failed         int        `json:"failed"`
	Unknown        int        `json:"unknown"`
	Unreached      int        `json:"unreached"`
	Pending        int        `json:"pending"`
	LeftOut        int        `json:"leftOut"`
	CreateTime     *timestamp `json:"createTime,omitempty"`
	StartedBy      string     `json:"startedBy,omitempty"`
	PauseTime      *timestamp `json:"pauseTime,omitempty"`
	PausedBy       string     `json:"pausedBy,omitempty"`
	PauseReason    string     `json:"pauseReason,omitempty"`
	Reason         string     `json:"reason,omitempty"`
	DeadlineTime   *timestamp `json:"deadlineTime,omitempty"`
	NextEvent      string     `json:"nextEvent,omitempty"`
	NextEventTime  *timestamp `json:"nextEventTime,omitempty"`
	UndoOf         *uuid.UUID `json:"undoOf,omitempty"`
	UndoJobName    string     `json:"undoJobName,omitempty"`
	EndTime        *timestamp `json:"endTime,omitempty"`
	// Waves are left out of lists.
	Waves []waveView `json:"waves,omitempty"`
}

// waveView is a wave of a roll-out.
type waveView struct {
	Wave               int        `json:"wave"`
	Name               string     `json:"name"`
	State              string     `json:"state" enum:"Pending WaitingForApproval Preflight Running Baking Passed Stopped Skipped"`
	Targets            int        `json:"targets"`
	MaxParallelism     *int       `json:"maxParallelism,omitempty"`
	Pace               *int       `json:"pace,omitempty"`
	BakeSeconds        int        `json:"bakeSeconds"`
	Approval           string     `json:"approval" enum:"none any other"`
	WindowName         string     `json:"windowName,omitempty"`
	MaxFailed          int        `json:"maxFailed"`
	MaxUnknown         int        `json:"maxUnknown"`
	MaxUnreached       int        `json:"maxUnreached"`
	MaxDurationPercent *int       `json:"maxDurationPercent,omitempty"`
	ProbeJobName       string     `json:"probeJobName,omitempty"`
	ProbeEverySeconds  *int       `json:"probeEverySeconds,omitempty"`
	ProbeCheck         string     `json:"probeCheck,omitempty"`
	RunID              *uuid.UUID `json:"runId,omitempty"`
	ProbeRunID         *uuid.UUID `json:"probeRunId,omitempty"`
	BeforeRunID        *uuid.UUID `json:"beforeRunId,omitempty"`
	StartTime          *timestamp `json:"startTime,omitempty"`
	EndTime            *timestamp `json:"endTime,omitempty"`
	BakeUntil          *timestamp `json:"bakeUntil,omitempty"`
	ApprovalTime       *timestamp `json:"approvalTime,omitempty"`
	ApprovedBy         string     `json:"approvedBy,omitempty"`
	ApprovalComment    string     `json:"approvalComment,omitempty"`
	Succeeded          int        `json:"succeeded"`
	Failed             int        `json:"failed"`
	Unknown            int        `json:"unknown"`
	Unreached          int        `json:"unreached"`
	MedianMS           *int64     `json:"medianMs,omitempty"`
	UsualMS            *int64     `json:"usualMs,omitempty"`
	Gate               string     `json:"gate,omitempty"`
	PreflightRunID     *uuid.UUID `json:"preflightRunId,omitempty"`
	PreflightFailed    *int       `json:"preflightFailed,omitempty"`
	LeftOut            int        `json:"leftOut,omitempty"`
	// PreflightChecks are those of the preflight while it runs, one of each target for each step,
	// and PreflightChecked those that have ended.
	PreflightChecks  *int `json:"preflightChecks,omitempty"`
	PreflightChecked *int `json:"preflightChecked,omitempty"`
}

// rolloutTargetView is a target of a roll-out. It has the name of its database's ID.
type rolloutTargetView struct {
	envelope
	Properties rolloutTargetProperties `json:"properties"`
}

type rolloutTargetProperties struct {
	TargetID     uuid.UUID  `json:"targetId"`
	ServerName   string     `json:"serverName"`
	DatabaseName string     `json:"databaseName"`
	Wave         int        `json:"wave"`
	WaveName     string     `json:"waveName,omitempty"`
	Place        int        `json:"place"`
	State        string     `json:"state" enum:"Pending Succeeded Failed Unknown Unreached LeftOut"`
	RunID        *uuid.UUID `json:"runId,omitempty"`
	Preflight    string     `json:"preflight,omitempty"`
	ProbeRows    *int64     `json:"probeRows,omitempty"`
	ProbeValue   *float64   `json:"probeValue,omitempty"`
	ProbeBefore  *float64   `json:"probeBefore,omitempty"`
}

// given returns nil for the nil ID.
func given(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// rolloutID returns the id of a roll-out.
func (at *place) rolloutID(r rollouts.Rollout) string {
	return at.id("jobs", r.JobName, "rollouts", r.ID.String())
}

// rolloutView describes a roll-out.
func (at *place) rolloutView(r rollouts.Rollout, waves []rollouts.Wave) rolloutView {
	v := rolloutView{envelope: envelope{ID: at.rolloutID(r), Name: r.ID.String(), Type: typeRollout}, Properties: rolloutProperties{
		JobVersion: r.JobVersion, JobExecutionID: r.ID, State: string(r.State), Wave: r.Wave, WaveCount: r.Waves, WaveName: r.WaveName, Targets: r.Targets,
		Succeeded: r.Succeeded, Failed: r.Failed, Unknown: r.Unknown, Unreached: r.Unreached, Pending: r.Pending(), LeftOut: r.LeftOut,
		CreateTime: instant(r.CreatedAt), StartedBy: r.StartedBy, PauseTime: instant(r.PausedAt), PausedBy: r.PausedBy, PauseReason: r.PauseReason,
		Reason: r.Reason, DeadlineTime: instant(r.DeadlineAt), NextEvent: r.NextEvent, NextEventTime: instant(r.NextEventAt), UndoOf: given(r.UndoOf), UndoJobName: r.UndoJobName,
		EndTime: instant(r.EndedAt),
	}}
	for _, w := range waves {
		v.Properties.Waves = append(v.Properties.Waves, waveView{
			Wave: w.Wave, Name: w.Name, State: string(w.State), Targets: w.Targets, MaxParallelism: w.Parallelism, Pace: w.Pace, BakeSeconds: w.BakeSeconds,
			Approval: w.Approval, WindowName: w.Window, MaxFailed: w.MaxFailed, MaxUnknown: w.MaxUnknown, MaxUnreached: w.MaxUnreached, MaxDurationPercent: w.MaxDurationPercent,
			ProbeJobName: w.ProbeJob, ProbeEverySeconds: w.ProbeEvery, ProbeCheck: w.ProbeCheck, RunID: given(w.Run), ProbeRunID: given(w.ProbeRun),
			BeforeRunID: given(w.BeforeRun), StartTime: instant(w.StartedAt),
			EndTime: instant(w.EndedAt), BakeUntil: instant(w.BakeUntil), ApprovalTime: instant(w.ApprovedAt), ApprovedBy: w.ApprovedBy,
			ApprovalComment: w.ApprovalComment, Succeeded: w.Succeeded, Failed: w.Failed, Unknown: w.Unknown, Unreached: w.Unreached, MedianMS: w.MedianMS,
			UsualMS: w.UsualMS, Gate: w.Gate, PreflightRunID: given(w.PreflightRun), PreflightFailed: w.PreflightFailed, LeftOut: w.LeftOut,
		})
	}
	return v
}

// The bodies of what changes a roll-out. Another property is refused.
type (
	approveInput struct {
		_       struct{} `body:"closed"`
		Wave    string   `json:"wave"` // that is meant; absent: the one that waits
		Comment string   `json:"comment"`
	}
	rejectInput struct {
		_      struct{} `body:"closed"`
		Reason string   `json:"reason" body:"required"`
	}
	reasonInput struct {
		_      struct{} `body:"closed"`
		Reason string   `json:"reason"`
	}
	skipInput struct {
		_    struct{} `body:"closed"`
		Wave string   `json:"wave"`
	}
	extendInput struct {
		_       struct{} `body:"closed"`
		Seconds int      `json:"seconds" body:"required"`
	}
	undoInput struct {
		_     struct{} `body:"closed"`
		Only  []string `json:"only"` // states of targets; absent: Succeeded and Unknown
		Force bool     `json:"force"`
		Hold  bool     `json:"hold"`
	}
	noInput struct {
		_ struct{} `body:"closed"`
	}
)

// rolloutOperations are those of roll-outs.
func (s *Surface) rolloutOperations() []rest.Operation {
	undo := withHeaders(s.change(http.MethodPost, "JobRollouts_Undo", rolloutPath+"/{rollout}/undo", rest.RoleOperator, (*place).undoRollout,
		"Starts the roll-out that undoes another one. A body is optional.", reflect.TypeFor[undoInput](), reflect.TypeFor[undoView]()), "Location")
	undo.RequestHeaders = []string{"Idempotency-Key"}
	return []rest.Operation{
		s.get("JobRollouts_ListByJob", rolloutPath, (*place).listRollouts,
			"Lists the roll-outs of a job, the latest first.", reflect.TypeFor[list[rolloutView]](), pageParameters...),
		s.get("JobRollouts_Get", rolloutPath+"/{rollout}", (*place).getRollout, "Gets a roll-out with its waves.", reflect.TypeFor[rolloutView]()),
		s.get("JobRollouts_ListTargets", rolloutPath+"/{rollout}/targets", (*place).listRolloutTargets,
			"Lists the targets of a roll-out in the order of its waves, with what its probes returned there.", reflect.TypeFor[list[rolloutTargetView]](), pageParameters...),
		changeRollout(s, "Approve", "Approves the wave that waits for an approval.", true, func(ctx context.Context, st *controldb.Store, id uuid.UUID, in approveInput) error {
			return rollouts.On(st).Approve(ctx, id, in.Wave, in.Comment)
		}),
		changeRollout(s, "Reject", "Refuses the approval: the roll-out pauses with the reason.", false, func(ctx context.Context, st *controldb.Store, id uuid.UUID, in rejectInput) error {
			return rollouts.On(st).Reject(ctx, id, in.Reason)
		}),
		changeRollout(s, "Pause", "Pauses a roll-out: no target and no wave starts.", true, func(ctx context.Context, st *controldb.Store, id uuid.UUID, in reasonInput) error {
			return rollouts.On(st).Pause(ctx, id, in.Reason)
		}),
		changeRollout(s, "Resume", "Lets a paused roll-out go on.", true, func(ctx context.Context, st *controldb.Store, id uuid.UUID, _ noInput) error {
			return rollouts.On(st).Resume(ctx, id)
		}),
		changeRollout(s, "Abort", "Ends a roll-out: nothing more starts.", true, func(ctx context.Context, st *controldb.Store, id uuid.UUID, in reasonInput) error {
			return rollouts.On(st).Abort(ctx, id, in.Reason)
		}),
		changeRollout(s, "Retry", "Runs again what did not succeed in the wave whose gate has failed.", true, func(ctx context.Context, st *controldb.Store, id uuid.UUID, _ noInput) error {
			return rollouts.On(st).RetryWave(ctx, id)
		}),
		changeRollout(s, "Skip", "Skips a wave: the current one if its gate has failed, else the next one.", true, func(ctx context.Context, st *controldb.Store, id uuid.UUID, in skipInput) error {
			return rollouts.On(st).SkipWave(ctx, id, in.Wave)
		}),
		changeRollout(s, "Extend", "Makes the bake of the current wave longer.", false, func(ctx context.Context, st *controldb.Store, id uuid.UUID, in extendInput) error {
			by, err := in.duration(30 * 24 * time.Hour)
			if err != nil {
				return err
			}
			return rollouts.On(st).ExtendBake(ctx, id, by)
		}),
		changeRollout(s, "ExtendDeadline", "Gives a roll-out more time until its deadline.", false, func(ctx context.Context, st *controldb.Store, id uuid.UUID, in extendInput) error {
			by, err := in.duration(365 * 24 * time.Hour)
			if err != nil {
				return err
			}
			return rollouts.On(st).ExtendDeadline(ctx, id, by)
		}),
		undo,
	}
}

// duration returns the time by which something is extended, which is at most so long.
func (in extendInput) duration(most time.Duration) (time.Duration, error) {
	if n := int(most / time.Second); in.Seconds < 1 || in.Seconds > n {
		return 0, badRequest(codeInvalidBody, "$.seconds", "The number of seconds is %d: want 1 to %d.", in.Seconds, n)
	}
	return time.Duration(in.Seconds) * time.Second, nil
}

// undoView names a roll-out that undoes another one. The job is the compensating one of the plan.
type undoView struct {
	Name   uuid.UUID `json:"name"`
	UndoOf uuid.UUID `json:"undoOf"`
}

// changeRollout is an operation that changes a roll-out, and answers with it. empty allows a
// request without a body.
func changeRollout[In any](
	s *Surface, verb, summary string, empty bool, do func(ctx context.Context, store *controldb.Store, id uuid.UUID, in In) error,
) rest.Operation {
	path := rolloutPath + "/{rollout}/" + strings.ToLower(verb[:1]) + verb[1:]
	return s.change(http.MethodPost, "JobRollouts_"+verb, path, rest.RoleOperator, func(at *place, ctx context.Context, r *rest.Request) (*rest.Response, error) {
		one, err := at.rollout(ctx, r)
		if err != nil {
			return nil, err
		}
		var in In
		if err := body.Decode(r.Body, &in, body.Options{AllowEmpty: empty}); err != nil {
			return nil, err
		}
		if err := do(ctx, at.store, one.ID, in); err != nil {
			return nil, err
		}
		return at.getRollout(ctx, r)
	}, summary, reflect.TypeFor[In](), reflect.TypeFor[rolloutView]())
}

// rollout returns the roll-out that a path names.
func (at *place) rollout(ctx context.Context, r *rest.Request) (none rollouts.Rollout, err error) {
	if err := hidden(r.Path["job"]); err != nil {
		return none, err
	}
	text := r.Path["rollout"]
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil {
		return none, notFound(typeRollout, text)
	}
	found, err := rollouts.On(at.store).Rollouts(ctx, rollouts.Filter{ID: id, JobName: r.Path["job"]}, controldb.Page[executions.Key]{Top: 1})
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, notFound(typeRollout, text)
	}
	return found[0], nil
}

func (at *place) listRollouts(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerPage(at, r, func(page controldb.Page[executions.Key]) (string, []rollouts.Rollout, error) {
		job, err := at.job(ctx, r.Path["job"])
		if err != nil {
			return "", nil, err
		}
		rows, err := rollouts.On(at.store).Rollouts(ctx, rollouts.Filter{JobName: job.Name}, page)
		return at.id("jobs", job.Name, "rollouts"), rows, err
	}, rollouts.Rollout.Key, func(one rollouts.Rollout) rolloutView { return at.rolloutView(one, nil) })
}

func (at *place) getRollout(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	one, err := at.rollout(ctx, r)
	if err != nil {
		return nil, err
	}
	waves, err := rollouts.On(at.store).Waves(ctx, one.ID)
	if err != nil {
		return nil, err
	}
	v := at.rolloutView(one, waves)
	for i, w := range waves {
		ended, all, err := rollouts.On(at.store).PreflightProgress(ctx, w)
		if err != nil {
			return nil, err
		}
		if all > 0 {
			v.Properties.Waves[i].PreflightChecked, v.Properties.Waves[i].PreflightChecks = &ended, &all
		}
	}
	return &rest.Response{Status: http.StatusOK, Body: v}, nil
}

func (at *place) listRolloutTargets(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	one, err := at.rollout(ctx, r)
	if err != nil {
		return nil, err
	}
	self := at.rolloutID(one) + "/targets"
	return answerPage(at, r, func(page controldb.Page[rollouts.TargetKey]) (string, []rollouts.Target, error) {
		rows, err := rollouts.On(at.store).Targets(ctx, one.ID, rollouts.TargetFilter{}, page)
		return self, rows, err
	}, rollouts.Target.Key, func(t rollouts.Target) rolloutTargetView {
		return rolloutTargetView{
			envelope: envelope{ID: self + "/" + t.TargetID.String(), Name: t.TargetID.String(), Type: typeRolloutTarget},
			Properties: rolloutTargetProperties{
				TargetID: t.TargetID, ServerName: t.Server, DatabaseName: t.Database, Wave: t.Wave, WaveName: t.WaveName, Place: t.Place, State: t.State,
				RunID: given(t.Run), Preflight: t.Preflight, ProbeRows: t.ProbeRows, ProbeValue: t.ProbeValue, ProbeBefore: t.ProbeBefore,
			},
		}
	})
}

// undoRollout starts a roll-out that undoes another one. A request that is repeated with the same
// key starts it once.
func (at *place) undoRollout(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	one, err := at.rollout(ctx, r)
	if err != nil {
		return nil, err
	}
	var in undoInput
	if err := body.Decode(r.Body, &in, body.Options{AllowEmpty: true}); err != nil {
		return nil, err
	}
	id := repeatable(r, at.rolloutID(one))
	_, err = rollouts.On(at.store).Get(ctx, id)
	switch {
	case errors.Is(err, rollouts.ErrNotFound):
		id, err = rollouts.On(at.store).Undo(ctx, rollouts.UndoRequest{Rollout: one.ID, Only: strings.Join(in.Only, ","), Force: in.Force, Hold: in.Hold, ID: id})
		if err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	h := http.Header{}
	if undo, err := rollouts.On(at.store).Get(ctx, id); err == nil {
		h.Set("Location", at.self(r, at.rolloutID(undo)))
	}
	return &rest.Response{Status: http.StatusOK, Header: h, Body: undoView{Name: id, UndoOf: one.ID}}, nil
}
