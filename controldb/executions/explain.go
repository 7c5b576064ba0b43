package executions

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
)

// Explanation is the answer of jobs.sp_explain_execution about a run.
type Explanation struct {
	ID         uuid.UUID      `db:"job_execution_id"`
	JobName    string         `db:"job_name"`
	JobVersion int            `db:"job_version"`
	Lifecycle  jobs.Lifecycle `db:"lifecycle"`
	Active     bool           `db:"is_active"`
	// Times are zero where the procedure returns NULL. Now is the database's time of the answer.
	CreateTime      time.Time `db:"create_time"`
	StartTime       time.Time `db:"start_time"`
	EndTime         time.Time `db:"end_time"`
	StopRequestedAt time.Time `db:"stop_requested_at"`
	Now             time.Time `db:"now"`
	StopRequestedBy string    `db:"stop_requested_by"`
	// Agents is the number of live agents, Workers the number of their workers, and Busy the number
	// of tasks that they hold.
	Agents  int `db:"live_agents"`
	Workers int `db:"workers"`
	Busy    int `db:"busy_workers"`
	// AdvanceSkippedSince is AdvanceStatus.SkippedSince.
	AdvanceSkippedSince time.Time `db:"advance_skipped_since"`
	// Text is the explanation as a sentence.
	Text string `db:"explanation"`
	// Waits are the rows that are not final; of targets that wait for the same, at most 25. Totals
	// counts all of them.
	Waits  []Wait      `db:"-"`
	Totals []WaitTotal `db:"-"`
	// Ends are the final targets, grouped by how they ended.
	Ends []End `db:"-"`
}

// Wait is a row of a run that is not final, with what the row waits for.
type Wait struct {
	// StepID is nil for the run; Server and Database are empty for a step.
	StepID    *int           `db:"step_id"`
	Server    string         `db:"server_name"`
	Database  string         `db:"database_name"`
	Lifecycle jobs.Lifecycle `db:"lifecycle"`
	// For is a keyword: Agent, Advance, Resolution, Targets, Step, Outcome, Stop, Retry, Limit,
	// Worker, Turn, Callback or Wave. Text is the same in words.
	For      string `db:"waits_for"`
	Text     string `db:"explanation"`
	Attempts int    `db:"attempts"`
	// Position is the place among the targets that wait for the same, from 1; 0 means that they
	// have no order.
	Position int64 `db:"position"`
	// Since is when the wait began. Until is when the next attempt begins, or when the time limit
	// ends the running one.
	Since time.Time `db:"since"`
	Until time.Time `db:"until_time"`
	// LimitScope, LimitRunning and LimitMax describe the limit that the row waits for; LimitScope
	// is empty without one.
	LimitScope   string `db:"limit_scope"`
	LimitRunning int    `db:"limit_running"`
	LimitMax     int    `db:"max_concurrent_targets"`
	// AgentID, Host, Term and SessionID identify the agent that runs the row; Host is empty when no
	// agent does.
	AgentID   uuid.UUID `db:"agent_id"`
	Host      string    `db:"host_name"`
	Term      int64     `db:"term_id"`
	SessionID int       `db:"session_id"`
}

// WaitTotal counts the targets of a step that wait for the same reason.
type WaitTotal struct {
	StepID int    `db:"step_id" json:"step_id"`
	For    string `db:"waits_for" json:"waits_for"`
	Total  int    `db:"total" json:"total"`
}

// End counts the targets of a step that ended in the same way. A step without targets has one End
// with Total 0.
type End struct {
	StepID         int            `db:"step_id" json:"step_id"`
	Lifecycle      jobs.Lifecycle `db:"lifecycle" json:"lifecycle"`
	ErrorNumber    *int32         `db:"error_number" json:"error_number,omitempty"`
	Total          int            `db:"total" json:"total"`
	OutcomeUnknown bool           `db:"outcome_unknown" json:"outcome_unknown" doc:"whether the script ran is not known"`
	Decides        bool           `db:"decides" json:"decides" doc:"the run ended as it did because of these"`
	// Server, Database and Message are those of the first of these targets.
	Server   string `db:"server_name" json:"server_name,omitempty"`
	Database string `db:"database_name" json:"database_name,omitempty" doc:"of the first of these targets"`
	Message  string `db:"last_message" json:"last_message,omitempty"`
}

// Explain explains what each unfinished row of a run waits for, and how the finished ones
// ended. It returns [dberror.ErrExecutionNotFound] when no run has this id.
func (s Store) Explain(ctx context.Context, id uuid.UUID) (Explanation, error) {
	return s.explain(ctx, call.New("jobs.sp_explain_execution").In("job_execution_id", id))
}

// ExplainTarget is Explain, and the Waits include the target of a step in any case.
func (s Store) ExplainTarget(ctx context.Context, id uuid.UUID, step int, target uuid.UUID) (Explanation, error) {
	return s.explain(ctx, call.New("jobs.sp_explain_execution").In("job_execution_id", id).In("step_id", step).In("target_id", target))
}

func (s Store) explain(ctx context.Context, c *call.Call) (Explanation, error) {
	const op = "explain the execution"
	var (
		heads  []Explanation
		waits  []Wait
		totals []WaitTotal
		ends   []End
	)
	if err := s.conn.Query(ctx, op, c, call.Into(&heads), call.Into(&waits), call.Into(&totals), call.Into(&ends)); err != nil {
		return Explanation{}, err
	}
	if len(heads) != 1 {
		return Explanation{}, fmt.Errorf("%s: got %d rows, want 1", op, len(heads))
	}
	e := heads[0]
	e.Waits, e.Totals, e.Ends = waits, totals, ends
	return e, nil
}
