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
	waveRow

	// While its preflight runs: its checks, one of each target for each step, and those that have
	// ended.
	PreflightChecks  *int `json:"preflight_checks,omitempty"`
	PreflightChecked *int `json:"preflight_checked,omitempty"`
}

// waveRow lets the field Wave of the row be one of RolloutWave.
type waveRow = rollouts.Wave

// RolloutDetail is a roll-out with its waves; none before its targets are assigned.
type RolloutDetail struct {
	Rollout Rollout       `json:"rollout"`
	Waves   []RolloutWave `json:"waves"`
}

// NewRolloutDetail converts a roll-out with its waves.
func NewRolloutDetail(r rollouts.Rollout, waves []rollouts.Wave) RolloutDetail {
	return RolloutDetail{Rollout: NewRollout(r), Waves: Each(waves, func(w rollouts.Wave) RolloutWave { return RolloutWave{waveRow: w} })}
}

// RolloutTarget is a target of a roll-out. Its fields are those of the view jobs.rollout_targets.
type RolloutTarget struct{ rollouts.Target }

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
