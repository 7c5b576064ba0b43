package executions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/targets"
)

// StartJob starts a run of a job's current version and returns its id. A non-nil id becomes the
// run's id; if a run of this job has that id already, nothing new starts (decision 21). A caller
// that lost the answer can therefore repeat the call.
func (s Store) StartJob(ctx context.Context, name string, id uuid.UUID) (uuid.UUID, error) {
	return s.Start(ctx, StartRequest{Job: name, ID: id})
}

// StartRequest is the argument of Start.
type StartRequest struct {
	Job string
	// ID becomes the id of the run, as in StartJob. If it is nil, an id is made.
	ID uuid.UUID
	// Parameters are a JSON object of at most 102,400 UTF-16 code units, to which the run's steps
	// refer as $(param.NAME). Empty means none. A call that is repeated with the same id must have
	// the same ones.
	Parameters string
	// OnlyTargets are the databases to which the run is limited: at most [MaxOnlyTargets]. None
	// means all databases of the target groups. Those that no run has had need names.
	OnlyTargets []targets.Target
	// Mode says what becomes of the scripts; empty means that they run. A trial needs OnlyTargets,
	// at most [MaxTrialTargets].
	Mode controldb.RunMode
	// ModeOptions are the options of the trial or preflight, a JSON object; empty means the
	// defaults.
	ModeOptions string
	// Plain makes a plain run of a job with a plan: all targets at once. Hold pauses its roll-out
	// when the targets are assigned to waves.
	Plain, Hold bool
	// IgnoreWindows starts a run that does not wait for the windows of its databases. Only authors
	// may say so.
	IgnoreWindows bool
}

// MaxTrialTargets is the largest number of databases of a trial.
const MaxTrialTargets = 100

// MaxOnlyTargets is the largest number of databases to which a run is limited.
const MaxOnlyTargets = 5000

// onlyTargets is the argument only_targets of starts and reruns; empty means that there is none.
func onlyTargets(list []targets.Target) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	type chosen struct {
		ID       uuid.UUID `json:"target_id"`
		Server   string    `json:"server_name,omitempty"`
		Database string    `json:"database_name,omitempty"`
	}
	rows := make([]chosen, 0, len(list))
	for _, t := range list {
		rows = append(rows, chosen{ID: t.ID, Server: t.Server, Database: t.Database})
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// Start is StartJob with all that a start may say.
func (s Store) Start(ctx context.Context, req StartRequest) (uuid.UUID, error) {
	id := req.ID
	if id == uuid.Nil {
		// The id is generated here because go-mssqldb 1.11 cannot send a NULL UNIQUEIDENTIFIER: it
		// writes a length of 0, followed by 16 bytes.
		var err error
		if id, err = uuid.NewRandom(); err != nil {
			return uuid.Nil, fmt.Errorf("start job: make an id: %w", err)
		}
	}
	only, err := onlyTargets(req.OnlyTargets)
	if err != nil {
		return uuid.Nil, fmt.Errorf("start job: %w", err)
	}
	c := call.New("jobs.sp_start_job").In("job_name", req.Job).In("job_execution_id", id).OptText("parameters", req.Parameters).
		OptText("only_targets", only).OptText("mode", string(req.Mode)).OptText("mode_options", req.ModeOptions)
	if req.Plain {
		c.In("rollout", false)
	}
	if req.Hold {
		c.In("hold", true)
	}
	if req.IgnoreWindows {
		c.In("ignore_windows", true)
	}
	if err := s.conn.Exec(ctx, "start job", c); err != nil {
		return uuid.Nil, err
	}
	return id, nil
}

// Stop requests the end of a run and does not wait for it. Stopping a finished run has no
// effect. It returns [dberror.ErrExecutionNotFound] when no run has this id.
func (s Store) Stop(ctx context.Context, id uuid.UUID) error {
	return s.conn.Exec(ctx, "stop job", call.New("jobs.sp_stop_job").In("job_execution_id", id))
}

// Retries names what waits for another attempt in a run: all, or only that of a step or of a
// target.
type Retries struct {
	Run    uuid.UUID
	StepID *int
	Target *uuid.UUID
}

// RetryNow makes the next attempts of what waits for a retry due, and returns how many targets and
// resolutions of target groups these are.
func (s Store) RetryNow(ctx context.Context, r Retries) (int, error) {
	return s.changeRetries(ctx, "retry now", call.New("jobs.sp_retry_job_execution_now"), r)
}

// GiveUp ends what waits for a retry as Failed, with its last error, and returns its number.
func (s Store) GiveUp(ctx context.Context, r Retries) (int, error) {
	return s.changeRetries(ctx, "give up", call.New("jobs.sp_give_up_job_execution"), r)
}

func (s Store) changeRetries(ctx context.Context, op string, c *call.Call, r Retries) (int, error) {
	var changed int64
	c.In("job_execution_id", r.Run)
	call.Opt(c, "step_id", r.StepID)
	call.Opt(c, "target_id", r.Target)
	c.Out("changed", &changed)
	err := s.conn.Exec(ctx, op, c)
	return int(changed), err
}

// RerunRequest is the argument of [Store.Rerun].
type RerunRequest struct {
	// Origin is the run whose targets are run again. It must have ended.
	Origin uuid.UUID
	// Only restricts the rerun to targets in these final states: Failed, TimedOut, Canceled,
	// Skipped, Unknown, Succeeded, separated by commas, in any case. Empty: all but the last.
	Only string
	// Version is the version of the job that runs: Current, or a number. Empty: that of Origin.
	Version string
	// OnlyTargets are the databases to which the rerun is limited, by their IDs. They must be
	// targets of Origin. None: those of Origin.
	OnlyTargets []targets.Target
	// IgnoreWindows is that of a [StartRequest], whatever Origin did.
	IgnoreWindows bool
	// ID becomes the id of the new run. If a rerun of Origin has it already, nothing new starts,
	// and the other fields must be the same. If nil, an id is generated.
	ID uuid.UUID
}

// Rerun starts a run on the targets of a finished run that did not
// succeed, and returns its id.
func (s Store) Rerun(ctx context.Context, req RerunRequest) (uuid.UUID, error) {
	if req.ID == uuid.Nil {
		var err error
		if req.ID, err = uuid.NewRandom(); err != nil { // generated here for the reason given in StartJob
			return uuid.Nil, fmt.Errorf("rerun execution: make an id: %w", err)
		}
	}
	c := call.New(
		"jobs.sp_rerun_job_execution",
	).In("job_execution_id", req.Origin).
		OptText("only", req.Only).
		In("new_job_execution_id", req.ID).
		OptText("job_version", req.Version)
	only, err := onlyTargets(req.OnlyTargets)
	if err != nil {
		return uuid.Nil, fmt.Errorf("rerun execution: %w", err)
	}
	c.OptText("only_targets", only)
	if req.IgnoreWindows {
		c.In("ignore_windows", true)
	}
	if err := s.conn.Exec(ctx, "rerun execution", c); err != nil {
		return uuid.Nil, err
	}
	return req.ID, nil
}

// PurgeRequest is the argument of [Store.Purge]. Exactly one of JobName and JobID must be set.
type PurgeRequest struct {
	JobName string
	JobID   uuid.UUID
	// Oldest is the end time of the oldest run to keep. Zero deletes all runs that are not active.
	Oldest time.Time
}

// Purge deletes the history of a job.
func (s Store) Purge(ctx context.Context, req PurgeRequest) error {
	c := call.New("jobs.sp_purge_jobhistory").OptText("job_name", req.JobName)
	if req.JobID != uuid.Nil {
		c.In("job_id", req.JobID)
	}
	return s.conn.Exec(ctx, "purge history", c.OptTime("oldest_date", req.Oldest))
}
