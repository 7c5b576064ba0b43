package rollouts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// ErrNotFound means that the run is not a roll-out, or that its roll-out has not begun.
var ErrNotFound = errors.New("roll-out not found")

// State is the state of a roll-out.
type State string

// The states of roll-outs. The last three are final.
const (
	Planning  State = "Planning"           // its run resolves the targets
	Assigning State = "Assigning"          // the targets are assigned to waves
	Waiting   State = "WaitingForApproval" // of the next wave
	Closed    State = "WaitingForWindow"   // of the next wave
	Paused    State = "Paused"
	Starting  State = "Starting"  // the next wave starts
	Preflight State = "Preflight" // what its scripts need is checked before
	Running   State = "Running"   // a wave runs
	Recording State = "Recording" // what became of the wave's targets is recorded
	Baking    State = "Baking"
	Probing   State = "Probing" // a probe runs
	Stopped   State = "Stopped" // a gate has failed
	Aborting  State = "Aborting"
	Succeeded State = "Succeeded"
	Aborted   State = "Aborted"
	Failed    State = "Failed"
)

// States are all states of roll-outs.
func States() []State {
	return []State{
		Planning, Assigning, Waiting, Closed, Paused, Starting, Preflight, Running,
		Recording, Baking, Probing, Stopped, Aborting, Succeeded, Aborted, Failed,
	}
}

// Ended reports whether the state is final.
func (s State) Ended() bool {
	return s == Succeeded || s == Aborted || s == Failed
}

// Assigned reports whether the targets are assigned to waves.
func (s State) Assigned() bool { return s != Planning && s != Assigning }

// Rollout is a row of the view jobs.rollouts: a run of a version with a plan, in waves. Zero times
// mean that there is none.
type Rollout struct {
	ID         uuid.UUID `db:"job_execution_id"` // of the roll-out's own run
	JobName    string    `db:"job_name"`
	JobID      uuid.UUID `db:"job_id"`
	JobVersion int       `db:"job_version"`
	State      State     `db:"state"`
	Wave       int       `db:"wave"` // number of the current wave; 0 before the first
	Waves      int       `db:"waves"`
	WaveName   string    `db:"wave_name"`
	// Targets are all of them, and LeftOut those that no wave selects, or that failed a preflight.
	// The others count the outcomes of waves that have run; Failed counts the Unknown ones, too.
	Targets   int `db:"targets"`
	Succeeded int `db:"succeeded"`
	Failed    int `db:"failed"`
	Unknown   int `db:"unknown"`
	Unreached int `db:"unreached"`
	LeftOut   int `db:"left_out"`

	CreatedAt   time.Time `db:"created_at"`
	StartedBy   string    `db:"started_by"`
	PausedAt    time.Time `db:"paused_at"`
	PausedBy    string    `db:"paused_by"`
	PauseReason string    `db:"pause_reason"`
	Reason      string    `db:"reason"` // why it is Stopped, Aborting, Aborted or Failed
	DeadlineAt  time.Time `db:"deadline_at"`
	// NextEvent says what happens next, and NextEventAt when, if that is known.
	NextEvent   string    `db:"next_event"`
	NextEventAt time.Time `db:"next_event_at"`
	UndoOf      uuid.UUID `db:"undo_of"` // the roll-out that this one undoes
	// UndoJobName is the job that undoes it; empty: none.
	UndoJobName string    `db:"undo_job_name"`
	EndedAt     time.Time `db:"ended_at"`
}

// Key is the place of the roll-out in the list of [Store.Rollouts].
func (r Rollout) Key() executions.Key { return executions.Key{Created: r.CreatedAt, ID: r.ID} }

// Counts returns the numbers of the targets of all waves; those that were not reached are Skipped.
func (r Rollout) Counts() jobs.Counts {
	return jobs.Counts{Succeeded: r.Succeeded, Failed: r.Failed, Skipped: r.Unreached, Waiting: r.Pending()}
}

// Pending is the number of targets of waves that have no outcome yet.
func (r Rollout) Pending() int {
	return max(0, r.Targets-r.LeftOut-r.Succeeded-r.Failed-r.Unreached)
}

// NeedsPerson reports whether nothing happens until a person decides.
func (r Rollout) NeedsPerson() bool {
	return r.State == Waiting || r.State == Paused || r.State == Stopped
}

// WaveState is the state of a wave of a roll-out.
type WaveState string

// The states of waves.
const (
	WavePending   WaveState = "Pending"
	WaveWaiting   WaveState = "WaitingForApproval"
	WavePreflight WaveState = "Preflight" // what its scripts need is checked
	WaveRunning   WaveState = "Running"
	WaveBaking    WaveState = "Baking" // its gates have passed, and its bake time or its last probe lasts
	WavePassed    WaveState = "Passed"
	WaveStopped   WaveState = "Stopped" // a gate has failed
	WaveSkipped   WaveState = "Skipped" // by a person
)

// Wave is a row of the view jobs.rollout_waves. Nil and zero mean that the plan has no such
// setting, or that there is no such time or run.
type Wave struct {
	Rollout     uuid.UUID `db:"job_execution_id" json:"-"`
	Wave        int       `db:"wave" json:"wave" doc:"from 1"`
	Name        string    `db:"name" json:"name"`
	State       WaveState `db:"state" json:"state"`
	Targets     int       `db:"targets" json:"targets"`
	Parallelism *int      `db:"max_parallelism" json:"max_parallelism,omitempty"`
	Pace        *int      `db:"pace" json:"pace,omitempty" doc:"targets that start in any minute"`
	BakeSeconds int       `db:"bake_seconds" json:"bake_seconds"`
	Approval    string    `db:"approval" json:"approval" doc:"none, any or other: who did not start the roll-out"`
	// Window is empty if the wave starts and goes on at any time.
	Window string `db:"window_name" json:"window_name,omitempty" doc:"calendar in whose windows alone it starts and goes on"`

	MaxFailed          int    `db:"max_failed" json:"max_failed"`
	MaxUnknown         int    `db:"max_unknown" json:"max_unknown"`
	MaxUnreached       int    `db:"max_unreached" json:"max_unreached"`
	MaxDurationPercent *int   `db:"max_duration_percent" json:"max_duration_percent,omitempty" doc:"of the median of earlier runs"`
	ProbeJob           string `db:"probe_job_name" json:"probe_job_name,omitempty"`
	ProbeEvery         *int   `db:"probe_every_seconds" json:"probe_every_seconds,omitempty"`
	// ProbeCheck is empty if the probe may return anything.
	ProbeCheck string `db:"probe_check" json:"probe_check,omitempty" doc:"what the probe must return, in words"`

	Run             uuid.UUID `db:"run_id" json:"run_id,omitzero" doc:"its latest run"`
	ProbeRun        uuid.UUID `db:"probe_run_id" json:"probe_run_id,omitzero"`
	BeforeRun       uuid.UUID `db:"before_run_id" json:"before_run_id,omitzero" doc:"of its probe before it"`
	StartedAt       time.Time `db:"started_at" json:"started_at,omitzero"`
	EndedAt         time.Time `db:"ended_at" json:"ended_at,omitzero"`
	BakeUntil       time.Time `db:"bake_until" json:"bake_until,omitzero"`
	ApprovedAt      time.Time `db:"approved_at" json:"approved_at,omitzero"`
	ApprovedBy      string    `db:"approved_by" json:"approved_by,omitempty"`
	ApprovalComment string    `db:"approval_comment" json:"approval_comment,omitempty"`

	Succeeded int    `db:"succeeded" json:"succeeded"`
	Failed    int    `db:"failed" json:"failed" doc:"with those whose outcome is unknown"`
	Unknown   int    `db:"unknown" json:"unknown"`
	Unreached int    `db:"unreached" json:"unreached"`
	MedianMS  *int64 `db:"median_ms" json:"median_ms,omitempty" doc:"duration of its targets"`
	UsualMS   *int64 `db:"usual_ms" json:"usual_ms,omitempty" doc:"duration of the targets of earlier runs"`
	Gate      string `db:"gate" json:"gate,omitempty" doc:"what the gates found"`

	PreflightRun uuid.UUID `db:"preflight_run_id" json:"preflight_run_id,omitzero" doc:"the latest one"`
	// PreflightFailed is nil if there was no preflight.
	PreflightFailed *int `db:"preflight_failed" json:"preflight_failed,omitempty" doc:"targets that failed it"`
	LeftOut         int  `db:"left_out" json:"left_out,omitempty" doc:"because they failed it"`
}

// Ended is the number of targets that are not pending any more.
func (w Wave) Ended() int { return w.Succeeded + w.Failed + w.Unreached + w.LeftOut }

// Counts returns the numbers of its targets; those that were not reached, or are left out, are
// Skipped.
func (w Wave) Counts() jobs.Counts {
	return jobs.Counts{Succeeded: w.Succeeded, Failed: w.Failed, Skipped: w.Unreached + w.LeftOut, Waiting: max(0, w.Targets-w.Ended())}
}

// Needs reports whether a person has to approve the wave, and nobody has yet.
func (w Wave) Needs() bool {
	return w.Approval != "none" && w.ApprovedAt.IsZero() && (w.State == WavePending || w.State == WaveWaiting)
}

// Target is a row of the view jobs.rollout_targets.
type Target struct {
	Rollout   uuid.UUID `db:"job_execution_id" json:"-"`
	Wave      int       `db:"wave" json:"wave" doc:"0: no wave has it"`
	WaveName  string    `db:"wave_name" json:"wave_name,omitempty"`
	Place     int       `db:"place" json:"place" doc:"within its wave, from 1"`
	TargetID  uuid.UUID `db:"target_id" json:"target_id"`
	Server    string    `db:"server_name" json:"server_name"`
	Database  string    `db:"database_name" json:"database_name"`
	State     string    `db:"state" json:"state" doc:"Pending, Succeeded, Failed, Unknown, Unreached or LeftOut"`
	Run       uuid.UUID `db:"run_id" json:"run_id,omitzero" doc:"the last run of the wave that had it"`
	Preflight string    `db:"preflight" json:"preflight,omitempty" doc:"what its preflight found, if it failed it"`

	ProbeRows   *int64   `db:"probe_rows" json:"probe_rows,omitempty" doc:"that the latest probe after the wave returned there"`
	ProbeValue  *float64 `db:"probe_value" json:"probe_value,omitempty" doc:"the number that it returned"`
	ProbeBefore *float64 `db:"probe_before" json:"probe_before,omitempty" doc:"the number that the probe before the wave returned"`
}

// Name names the target: server/database.
func (t Target) Name() string {
	return executions.Execution{Server: t.Server, Database: t.Database}.Place()
}

// TargetKey is the place of a target in the list of [Store.Targets].
type TargetKey struct {
	Wave, Place int
	TargetID    uuid.UUID
}

// Key is the place of the target in the list of a roll-out's targets.
func (t Target) Key() TargetKey {
	return TargetKey{Wave: t.Wave, Place: t.Place, TargetID: t.TargetID}
}

// Filter chooses roll-outs. The zero value means all.
type Filter struct {
	ID      uuid.UUID
	JobName string
	// Active restricts to roll-outs that have not ended.
	Active bool
	// States restricts to these; empty means all.
	States []State
	// UndoOf restricts to roll-outs that undo this one.
	UndoOf uuid.UUID
}

// Rollouts lists roll-outs, the latest first.
func (s Store) Rollouts(ctx context.Context, f Filter, p controldb.Page[executions.Key]) ([]Rollout, error) {
	w := call.NewFilter(p.Top)
	for _, one := range []struct {
		column string
		id     uuid.UUID
	}{{"v.job_execution_id", f.ID}, {"v.undo_of", f.UndoOf}} {
		if one.id != uuid.Nil {
			w.Add(one.column+" = %s", mssqldb.UniqueIdentifier(one.id))
		}
	}
	if f.JobName != "" {
		w.Add("v.job_name = %s", f.JobName)
	}
	if f.Active {
		w.Add("v.ended_at IS NULL")
	}
	if len(f.States) > 0 {
		call.In(w, "v.state", f.States)
	}
	if p.After != nil {
		at := call.Datetime2(p.After.Created)
		w.Add("v.created_at <= %s AND (v.created_at < %s OR v.job_execution_id > %s)", at, at, mssqldb.UniqueIdentifier(p.After.ID))
	}
	return call.SelectAll[Rollout](ctx, s.conn, "list roll-outs", `SELECT v.job_execution_id, v.job_name, v.job_id, v.job_version, v.state,
    v.wave, v.waves, v.wave_name, v.targets, v.succeeded, v.failed, v.unknown, v.unreached, v.left_out, v.created_at, v.started_by, v.paused_at, v.paused_by,
    v.pause_reason, v.reason, v.deadline_at, v.next_event, v.next_event_at, v.undo_of, v.undo_job_name, v.ended_at
FROM jobs.rollouts AS v`+w.Text()+"\nORDER BY v.created_at DESC, v.job_execution_id"+p.Text(w)+"\nOPTION (RECOMPILE, "+call.SmallGrant+");", w.Args...)
}

// Get reads a roll-out by the ID of its run. The error is [ErrNotFound] if the run is no
// roll-out, or does not exist.
func (s Store) Get(ctx context.Context, id uuid.UUID) (Rollout, error) {
	list, err := s.Rollouts(ctx, Filter{ID: id}, controldb.Page[executions.Key]{Top: 1})
	return call.OnlyRow(list, err, "read the roll-out", ErrNotFound)
}

const waveColumns = `SELECT v.job_execution_id, v.wave, v.name, v.state, v.targets, v.max_parallelism, v.pace, v.bake_seconds, v.approval,
    v.window_name, v.max_failed, v.max_unknown, v.max_unreached, v.max_duration_percent, v.probe_job_name, v.probe_every_seconds, v.probe_check, v.run_id, v.probe_run_id,
    v.before_run_id,
    v.started_at, v.ended_at, v.bake_until, v.approved_at, v.approved_by, v.approval_comment, v.succeeded, v.failed, v.unknown, v.unreached,
    v.median_ms, v.usual_ms, v.gate, v.preflight_run_id, v.preflight_failed, v.left_out
FROM jobs.rollout_waves AS v`

// Waves lists the waves of a roll-out in their order; none before its targets are assigned.
func (s Store) Waves(ctx context.Context, rollout uuid.UUID) ([]Wave, error) {
	return call.SelectAll[Wave](ctx, s.conn, "list the waves of a roll-out", waveColumns+`
WHERE v.job_execution_id = @p1
ORDER BY v.wave;`, mssqldb.UniqueIdentifier(rollout))
}

// TargetFilter chooses targets of a roll-out. The zero value means all.
type TargetFilter struct {
	// Wave is the number of a wave; nil means all, and 0 those that no wave selects.
	Wave *int
	// States restricts to these; empty means all.
	States []string
	// Probed restricts to those for which a probe has returned something.
	Probed bool
}

// Targets lists the targets of a roll-out in the order of the waves, and within a wave in
// their order.
//
// Plan: a range of IX_rollout_targets_wave.
func (s Store) Targets(
	ctx context.Context, rollout uuid.UUID, f TargetFilter, p controldb.Page[TargetKey],
) ([]Target, error) {
	w := call.NewFilter(p.Top)
	w.Add("v.job_execution_id = %s", mssqldb.UniqueIdentifier(rollout))
	if f.Wave != nil {
		w.Add("v.wave = %s", *f.Wave)
	}
	if len(f.States) > 0 {
		call.In(w, "v.state", f.States)
	}
	if f.Probed {
		w.Add("(v.probe_rows IS NOT NULL OR v.probe_before IS NOT NULL)")
	}
	if k := p.After; k != nil {
		w.Add("v.wave >= %s AND (v.wave > %s OR v.place > %s OR (v.place = %s AND v.target_id > %s))",
			k.Wave, k.Wave, k.Place, k.Place, mssqldb.UniqueIdentifier(k.TargetID))
	}
	return call.SelectAll[Target](ctx, s.conn, "list the targets of a roll-out", `SELECT v.job_execution_id, v.wave, v.wave_name,
    v.place, v.target_id, v.server_name, v.database_name, v.state, v.run_id, v.preflight, v.probe_rows, CAST(v.probe_value AS FLOAT) AS probe_value,
    CAST(v.probe_before AS FLOAT) AS probe_before
FROM jobs.rollout_targets AS v`+w.Text()+"\nORDER BY v.wave, v.place, v.target_id"+p.Text(w)+";", w.Args...)
}

// PreflightProgress counts the checks of a wave's preflight, one of each target for each step, and
// those that have ended. all is 0 if the wave is in no preflight. It may grow, because a step gets
// its targets when the steps before it have ended.
func (s Store) PreflightProgress(ctx context.Context, w Wave) (ended, all int, err error) {
	if w.State != WavePreflight || w.PreflightRun == uuid.Nil {
		return 0, 0, nil
	}
	counts, err := executions.On(s.store).CountTargets(ctx, []uuid.UUID{w.PreflightRun})
	if err != nil {
		return 0, 0, err
	}
	c := counts[w.PreflightRun]
	return c.Ended(), max(c.Total(), w.Targets), nil
}

// earlierRuns are the latest 20 ended runs of the job before the roll-out @p1.
const earlierRuns = `WITH earlier AS (
    SELECT TOP (20) o.job_execution_id, o.create_time
    FROM jobs.rollouts AS r
    INNER JOIN jobs.job_executions AS o ON o.job_id = r.job_id
    WHERE r.job_execution_id = @p1
        AND o.step_id IS NULL
        AND o.is_active = 0
        AND o.create_time < r.created_at
        AND NOT EXISTS (SELECT 1 FROM jobs.job_execution_origins AS m WHERE m.job_execution_id = o.job_execution_id AND m.mode IS NOT NULL)
    ORDER BY o.create_time DESC
)`

// FailedBefore lists the targets of a roll-out on which the job did not succeed in the last
// ended run that had them, in the order of the waves; at most top. Only the latest 20 ended runs
// before the roll-out are examined.
func (s Store) FailedBefore(ctx context.Context, rollout uuid.UUID, top int) ([]Target, error) {
	return call.SelectAll[Target](ctx, s.conn, "list targets that failed before", earlierRuns+`,
placed AS (
    SELECT t.target_id, t.lifecycle,
        ROW_NUMBER() OVER (PARTITION BY t.target_id ORDER BY e.create_time DESC, t.step_id DESC) AS turn
    FROM earlier AS e
    INNER JOIN jobs.job_execution_targets AS t ON t.job_execution_id = e.job_execution_id
    WHERE t.lifecycle <> N'Skipped'
)
SELECT TOP (@p2) v.job_execution_id, v.wave, v.wave_name, v.place, v.target_id, v.server_name, v.database_name, v.state, v.run_id,
    v.preflight
FROM jobs.rollout_targets AS v
INNER JOIN placed AS p ON p.target_id = v.target_id
    AND p.turn = 1
WHERE v.job_execution_id = @p1
    AND p.lifecycle IN (N'Failed', N'TimedOut', N'Canceled')
ORDER BY v.wave, v.place, v.target_id
OPTION (RECOMPILE, `+call.SmallGrant+`);`, mssqldb.UniqueIdentifier(rollout), top)
}

// Usual returns the median duration of the targets of earlier runs of a roll-out's job: of
// at most 1,000 that succeeded in the latest 20 ended runs. It is negative if there are none.
func (s Store) Usual(ctx context.Context, rollout uuid.UUID) (time.Duration, error) {
	list, err := call.SelectAll[int64](ctx, s.conn, "read usual durations", earlierRuns+`,
spans AS (
    SELECT TOP (1000) t.duration_ms
    FROM earlier AS e
    INNER JOIN jobs.job_execution_targets AS t ON t.job_execution_id = e.job_execution_id
    WHERE t.lifecycle = N'Succeeded'
        AND t.duration_ms IS NOT NULL
    ORDER BY e.create_time DESC, t.step_id, t.target_id
),
placed AS (
    SELECT s.duration_ms, ROW_NUMBER() OVER (ORDER BY s.duration_ms) AS place, COUNT(*) OVER () AS n
    FROM spans AS s
)
SELECT COALESCE(MAX(CASE WHEN p.place = (p.n + 1) / 2 THEN p.duration_ms END), -1) AS usual_ms
FROM placed AS p
OPTION (RECOMPILE, `+call.SmallGrant+`);`, mssqldb.UniqueIdentifier(rollout))
	ms, err := call.OnlyRow(list, err, "read usual durations", ErrNotFound)
	return time.Duration(ms) * time.Millisecond, err
}

// Approve approves a wave of a roll-out, by name; the empty name is the wave that waits.
func (s Store) Approve(ctx context.Context, rollout uuid.UUID, wave, comment string) error {
	return s.conn.Exec(ctx, "approve the roll-out", call.New("jobs.sp_approve_rollout").In("job_execution_id", rollout).OptText("wave", wave).OptText("comment", comment))
}

// Reject refuses the approval of a roll-out: it pauses with the reason.
func (s Store) Reject(ctx context.Context, rollout uuid.UUID, reason string) error {
	return s.conn.Exec(ctx, "reject the roll-out", call.New("jobs.sp_reject_rollout").In("job_execution_id", rollout).In("reason", reason))
}

// Pause pauses a roll-out: no target and no wave starts until it is resumed.
func (s Store) Pause(ctx context.Context, rollout uuid.UUID, reason string) error {
	return s.conn.Exec(ctx, "pause the roll-out", call.New("jobs.sp_pause_rollout").In("job_execution_id", rollout).OptText("reason", reason))
}

// Resume ends the pause of a roll-out.
func (s Store) Resume(ctx context.Context, rollout uuid.UUID) error {
	return s.conn.Exec(ctx, "resume the roll-out", call.New("jobs.sp_resume_rollout").In("job_execution_id", rollout))
}

// Abort ends a roll-out: it starts nothing more.
func (s Store) Abort(ctx context.Context, rollout uuid.UUID, reason string) error {
	return s.conn.Exec(ctx, "abort the roll-out", call.New("jobs.sp_abort_rollout").In("job_execution_id", rollout).OptText("reason", reason))
}

// RetryWave runs again what did not succeed in the wave whose gate has failed, and then its
// gates again.
func (s Store) RetryWave(ctx context.Context, rollout uuid.UUID) error {
	return s.conn.Exec(ctx, "retry the wave", call.New("jobs.sp_retry_rollout_wave").In("job_execution_id", rollout))
}

// SkipWave skips a wave, by name. The empty name is the current wave if its gate has failed,
// else the next one.
func (s Store) SkipWave(ctx context.Context, rollout uuid.UUID, wave string) error {
	return s.conn.Exec(ctx, "skip the wave", call.New("jobs.sp_skip_rollout_wave").In("job_execution_id", rollout).OptText("wave", wave))
}

// MoveTarget moves a pending target to a pending wave, by name; the empty name is the last
// wave.
func (s Store) MoveTarget(ctx context.Context, rollout uuid.UUID, target targets.Target, wave string) error {
	return s.conn.Exec(ctx, "move the target", call.New("jobs.sp_move_rollout_target").In("job_execution_id", rollout).In("target_id", target.ID).OptText("wave", wave))
}

// ExtendBake makes the bake of the current wave longer.
func (s Store) ExtendBake(ctx context.Context, rollout uuid.UUID, by time.Duration) error {
	return s.conn.Exec(ctx, "extend the bake", call.New("jobs.sp_extend_rollout_bake").In("job_execution_id", rollout).In("seconds", call.Seconds(by)))
}

// HasDeadline reports whether the roll-out has a deadline, or has paused at the one that it had.
func (r Rollout) HasDeadline() bool { return !r.DeadlineAt.IsZero() || r.PausedBy == "(deadline)" }

// ExtendDeadline gives a roll-out more time until its deadline. One that has paused there
// stays paused.
func (s Store) ExtendDeadline(ctx context.Context, rollout uuid.UUID, by time.Duration) error {
	return s.conn.Exec(ctx, "extend the deadline",
		call.New("jobs.sp_extend_rollout_deadline").In("job_execution_id", rollout).In("seconds", call.Seconds(by)))
}

// UndoRequest is the argument of Undo.
type UndoRequest struct {
	Rollout uuid.UUID
	// Only are the states of the targets that are undone, separated by commas; empty: Succeeded and
	// Unknown.
	Only string
	// Force undoes also targets that a later roll-out has touched. Hold pauses the undo when its
	// targets are assigned.
	Force, Hold bool
	// ID becomes the ID of the new roll-out. If nil, an ID is generated.
	ID uuid.UUID
}

// Undo starts the roll-out that undoes another one, and returns its ID.
func (s Store) Undo(ctx context.Context, req UndoRequest) (uuid.UUID, error) {
	if req.ID == uuid.Nil {
		req.ID = uuid.New() // generated here for the reason given in StartJob
	}
	c := call.New("jobs.sp_undo_rollout").In("job_execution_id", req.Rollout).OptText("only", req.Only).In("force", req.Force).In("hold", req.Hold).
		In("new_job_execution_id", req.ID)
	if err := s.conn.Exec(ctx, "undo the roll-out", c); err != nil {
		return uuid.Nil, err
	}
	return req.ID, nil
}
