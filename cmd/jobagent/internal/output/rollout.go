package output

import (
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/rollouts"
)

// Rollout is a roll-out: a run of a job with a plan, in waves. Its fields are those of the view
// jobs.rollouts.
type Rollout struct {
	ID          uuid.UUID  `json:"job_execution_id"` // of its own run
	JobName     string     `json:"job_name"`
	JobID       uuid.UUID  `json:"job_id"`
	JobVersion  int        `json:"job_version"`
	State       string     `json:"state"`
	Wave        int        `json:"wave"` // number of the current wave; 0 before the first
	Waves       int        `json:"waves"`
	WaveName    string     `json:"wave_name,omitempty"`
	Targets     int        `json:"targets"` // with those that are left out
	Succeeded   int        `json:"succeeded"`
	Failed      int        `json:"failed"`    // with those whose outcome is unknown
	Unknown     int        `json:"unknown"`   // whether the script ran is not known
	Unreached   int        `json:"unreached"` // skipped or canceled
	Pending     int        `json:"pending"`
	LeftOut     int        `json:"left_out"` // no wave has them, or they failed its preflight
	CreatedAt   *time.Time `json:"created_at,omitempty"`
	StartedBy   string     `json:"started_by,omitempty"`
	PausedAt    *time.Time `json:"paused_at,omitempty"`
	PausedBy    string     `json:"paused_by,omitempty"`
	PauseReason string     `json:"pause_reason,omitempty"`
	Reason      string     `json:"reason,omitempty"` // why it was stopped or aborted, or failed
	DeadlineAt  *time.Time `json:"deadline_at,omitempty"`
	NextEvent   string     `json:"next_event,omitempty"`
	NextEventAt *time.Time `json:"next_event_at,omitempty"`
	UndoOf      *uuid.UUID `json:"undo_of,omitempty"` // the roll-out that this one undoes
	UndoJobName string     `json:"undo_job_name,omitempty"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
}

// NewRollout converts a roll-out.
func NewRollout(r rollouts.Rollout) Rollout {
	return Rollout{
		ID: r.ID, JobName: r.JobName, JobID: r.JobID, JobVersion: r.JobVersion, State: string(r.State), Wave: r.Wave, Waves: r.Waves,
		WaveName: r.WaveName, Targets: r.Targets, Succeeded: r.Succeeded, Failed: r.Failed, Unknown: r.Unknown, Unreached: r.Unreached,
		Pending: r.Pending(), LeftOut: r.LeftOut, CreatedAt: Optional(r.CreatedAt), StartedBy: r.StartedBy, PausedAt: Optional(r.PausedAt),
		PausedBy: r.PausedBy, PauseReason: r.PauseReason, Reason: r.Reason, DeadlineAt: Optional(r.DeadlineAt), NextEvent: r.NextEvent,
		NextEventAt: Optional(r.NextEventAt), UndoOf: OptionalID(r.UndoOf), UndoJobName: r.UndoJobName, EndedAt: Optional(r.EndedAt),
	}
}

// OptionalID returns nil for the nil ID, which is left out of JSON.
func OptionalID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// RolloutWave is a wave of a roll-out. Its fields are those of the view jobs.rollout_waves.
type RolloutWave struct {
	Wave        int    `json:"wave"` // from 1
	Name        string `json:"name"`
	State       string `json:"state"`
	Targets     int    `json:"targets"`
	Parallelism *int   `json:"max_parallelism,omitempty"`
	Pace        *int   `json:"pace,omitempty"` // targets that start in any minute
	BakeSeconds int    `json:"bake_seconds"`
	Approval    string `json:"approval"`              // none, any or other: who did not start the roll-out
	Window      string `json:"window_name,omitempty"` // calendar in whose windows alone it starts and goes on

	MaxFailed          int    `json:"max_failed"`
	MaxUnknown         int    `json:"max_unknown"`
	MaxUnreached       int    `json:"max_unreached"`
	MaxDurationPercent *int   `json:"max_duration_percent,omitempty"` // of the median of earlier runs
	ProbeJob           string `json:"probe_job_name,omitempty"`
	ProbeEvery         *int   `json:"probe_every_seconds,omitempty"`
	ProbeCheck         string `json:"probe_check,omitempty"` // what the probe must return, in words

	Run             *uuid.UUID `json:"run_id,omitempty"` // its latest run
	ProbeRun        *uuid.UUID `json:"probe_run_id,omitempty"`
	BeforeRun       *uuid.UUID `json:"before_run_id,omitempty"` // of its probe before it
	StartedAt       *time.Time `json:"started_at,omitempty"`
	EndedAt         *time.Time `json:"ended_at,omitempty"`
	BakeUntil       *time.Time `json:"bake_until,omitempty"`
	ApprovedAt      *time.Time `json:"approved_at,omitempty"`
	ApprovedBy      string     `json:"approved_by,omitempty"`
	ApprovalComment string     `json:"approval_comment,omitempty"`

	Succeeded int    `json:"succeeded"`
	Failed    int    `json:"failed"` // with those whose outcome is unknown
	Unknown   int    `json:"unknown"`
	Unreached int    `json:"unreached"`
	MedianMS  *int64 `json:"median_ms,omitempty"` // duration of its targets
	UsualMS   *int64 `json:"usual_ms,omitempty"`  // duration of the targets of earlier runs
	Gate      string `json:"gate,omitempty"`      // what the gates found

	PreflightRun    *uuid.UUID `json:"preflight_run_id,omitempty"` // the latest one
	PreflightFailed *int       `json:"preflight_failed,omitempty"` // targets that failed it
	LeftOut         int        `json:"left_out,omitempty"`         // because they failed it

	// While its preflight runs: its checks, one of each target for each step, and those that have
	// ended.
	PreflightChecks  *int `json:"preflight_checks,omitempty"`
	PreflightChecked *int `json:"preflight_checked,omitempty"`
}

// NewRolloutWave converts a wave.
func NewRolloutWave(w rollouts.Wave) RolloutWave {
	return RolloutWave{
		Wave: w.Wave, Name: w.Name, State: string(w.State), Targets: w.Targets, Parallelism: w.Parallelism, Pace: w.Pace,
		BakeSeconds: w.BakeSeconds, Approval: w.Approval, Window: w.Window, MaxFailed: w.MaxFailed, MaxUnknown: w.MaxUnknown, MaxUnreached: w.MaxUnreached,
		MaxDurationPercent: w.MaxDurationPercent, ProbeJob: w.ProbeJob, ProbeEvery: w.ProbeEvery, ProbeCheck: w.ProbeCheck,
		Run: OptionalID(w.Run), ProbeRun: OptionalID(w.ProbeRun), BeforeRun: OptionalID(w.BeforeRun), StartedAt: Optional(w.StartedAt), EndedAt: Optional(w.EndedAt), BakeUntil: Optional(w.BakeUntil),
		ApprovedAt: Optional(w.ApprovedAt), ApprovedBy: w.ApprovedBy, ApprovalComment: w.ApprovalComment, Succeeded: w.Succeeded,
		Failed: w.Failed, Unknown: w.Unknown, Unreached: w.Unreached, MedianMS: w.MedianMS, UsualMS: w.UsualMS, Gate: w.Gate,
		PreflightRun: OptionalID(w.PreflightRun), PreflightFailed: w.PreflightFailed, LeftOut: w.LeftOut,
	}
}

// RolloutDetail is a roll-out with its waves; none before its targets are assigned.
type RolloutDetail struct {
	Rollout Rollout       `json:"rollout"`
	Waves   []RolloutWave `json:"waves"`
}

// NewRolloutDetail converts a roll-out with its waves.
func NewRolloutDetail(r rollouts.Rollout, waves []rollouts.Wave) RolloutDetail {
	d := RolloutDetail{Rollout: NewRollout(r), Waves: []RolloutWave{}}
	for _, w := range waves {
		d.Waves = append(d.Waves, NewRolloutWave(w))
	}
	return d
}

// RolloutTarget is a target of a roll-out. Its fields are those of the view jobs.rollout_targets.
type RolloutTarget struct {
	Wave      int        `json:"wave"` // 0: no wave has it
	WaveName  string     `json:"wave_name,omitempty"`
	Place     int        `json:"place"` // within its wave, from 1
	TargetID  uuid.UUID  `json:"target_id"`
	Server    string     `json:"server_name"`
	Database  string     `json:"database_name"`
	State     string     `json:"state"`               // Pending, Succeeded, Failed, Unknown, Unreached or LeftOut
	Run       *uuid.UUID `json:"run_id,omitempty"`    // the last run of the wave that had it
	Preflight string     `json:"preflight,omitempty"` // what its preflight found, if it failed it

	ProbeRows   *int64   `json:"probe_rows,omitempty"`   // that the latest probe after the wave returned there
	ProbeValue  *float64 `json:"probe_value,omitempty"`  // the number that it returned
	ProbeBefore *float64 `json:"probe_before,omitempty"` // the number that the probe before the wave returned
}

// NewRolloutTarget converts a target.
func NewRolloutTarget(t rollouts.Target) RolloutTarget {
	return RolloutTarget{
		Wave: t.Wave, WaveName: t.WaveName, Place: t.Place, TargetID: t.TargetID, Server: t.Server, Database: t.Database, State: t.State,
		Run: OptionalID(t.Run), Preflight: t.Preflight, ProbeRows: t.ProbeRows, ProbeValue: t.ProbeValue, ProbeBefore: t.ProbeBefore,
	}
}

// ChangedRollout says where a roll-out is after a command, and what happens next.
type ChangedRollout struct {
	ID          uuid.UUID  `json:"job_execution_id"`
	State       string     `json:"state"`
	NextEvent   string     `json:"next_event,omitempty"`
	NextEventAt *time.Time `json:"next_event_at,omitempty"`
}

// StartedUndo is a roll-out that undoes another one.
type StartedUndo struct {
	ID     uuid.UUID `json:"job_execution_id"`
	UndoOf uuid.UUID `json:"undo_of"`
}

// RolloutPreview is a roll-out that is paused before its first wave.
type RolloutPreview struct {
	Rollout Rollout       `json:"rollout"`
	Waves   []PreviewWave `json:"waves"`
	// UsualMS is the median duration of the targets of earlier runs, and ExpectedMS how long the
	// roll-out takes by it, without waits for people; absent without earlier runs.
	UsualMS    *int64   `json:"usual_ms,omitempty"`
	ExpectedMS *int64   `json:"expected_ms,omitempty"`
	Odd        []string `json:"odd"` // what one should look at
}

// PreviewWave is a wave of a roll-out before it starts.
type PreviewWave struct {
	Wave       int      `json:"wave"` // from 1
	Name       string   `json:"name"`
	Targets    int      `json:"targets"`
	First      []string `json:"first_targets"` // the first of them; with --all, all
	Approval   string   `json:"approval"`
	Window     string   `json:"window_name,omitempty"` // calendar of its window
	ExpectedMS *int64   `json:"expected_ms,omitempty"` // with its bake
}
