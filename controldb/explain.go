package controldb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs"
)

// Explanation is what jobs.sp_explain_execution says of a run.
type Explanation struct {
	ID         uuid.UUID
	JobName    string
	JobVersion int
	Lifecycle  jobs.Lifecycle
	Active     bool
	// Times are zero where there is none. Now is the database's, when it answered.
	CreateTime, StartTime, EndTime, StopRequestedAt, Now time.Time
	StopRequestedBy                                      string
	// Agents are those that are alive; Workers are theirs, and Busy those tasks that they hold.
	Agents, Workers, Busy int
	// AdvanceSkippedSince is since when no pass has moved executions on although an agent is alive; zero: all is well.
	AdvanceSkippedSince time.Time
	// Text is the explanation in a sentence.
	Text string
	// Waits are rows that are not final; at most 25 targets that wait for the same. Totals counts all of them.
	Waits  []Wait
	Totals []WaitTotal
	// Ends are the targets that are final, by how they ended.
	Ends []End
}

// Wait is a row of a run that is not final, and what it waits for.
type Wait struct {
	// StepID is nil for the run; Server and Database are empty for a step.
	StepID           *int
	Server, Database string
	Lifecycle        jobs.Lifecycle
	// For is a keyword: Agent, Advance, Resolution, Targets, Step, Outcome, Stop, Retry, Limit, Worker or Turn. Text says it in words.
	For, Text string
	Attempts  int
	// Position is the place among the targets that wait for the same, from 1; 0: they have no order.
	Position int64
	// Since is when it began to wait; Until is when the next attempt begins, or when the time limit ends the one that runs.
	Since, Until time.Time
	// LimitScope, LimitRunning and LimitMax tell the limit that keeps it waiting; empty: none.
	LimitScope             string
	LimitRunning, LimitMax int
	// AgentID, Host, Term and SessionID tell who runs it; Host is empty when nobody does.
	AgentID   uuid.UUID
	Host      string
	Term      TermID
	SessionID int
}

// WaitTotal counts the targets of a step that wait for the same.
type WaitTotal struct {
	StepID int
	For    string
	Total  int
}

// End is how targets of a step ended, or a step that has none (Total 0).
type End struct {
	StepID      int
	Lifecycle   jobs.Lifecycle
	ErrorNumber *int32
	Total       int
	// OutcomeUnknown says that nobody can say whether the script ran on these.
	OutcomeUnknown bool
	// Decides says that the run ended as it did because of these.
	Decides bool
	// Server, Database and Message are those of the first of them.
	Server, Database, Message string
}

// ExplainExecution says what each row of a run waits for, and why those ended that are final. It returns
// [ErrExecutionNotFound] when no run has this id.
func (s *Store) ExplainExecution(ctx context.Context, id uuid.UUID) (Explanation, error) {
	var heads []struct {
		ID         nullGUID `db:"job_execution_id"`
		JobName    string   `db:"job_name"`
		JobVersion int      `db:"job_version"`
		Lifecycle  string   `db:"lifecycle"`
		Active     bool     `db:"is_active"`
		CreateTime nullTime `db:"create_time"`
		StartTime  nullTime `db:"start_time"`
		EndTime    nullTime `db:"end_time"`
		StopAt     nullTime `db:"stop_requested_at"`
		StopBy     nullText `db:"stop_requested_by"`
		Agents     int      `db:"live_agents"`
		Workers    int      `db:"workers"`
		Busy       int      `db:"busy_workers"`
		Text       nullText `db:"explanation"`
		Now        nullTime `db:"now"`
		Skipped    nullTime `db:"advance_skipped_since"`
	}
	var waits []struct {
		StepID     *int     `db:"step_id"`
		Server     nullText `db:"server_name"`
		Database   nullText `db:"database_name"`
		Lifecycle  string   `db:"lifecycle"`
		For        string   `db:"waits_for"`
		Text       nullText `db:"explanation"`
		Attempts   *int     `db:"attempts"`
		Position   *int64   `db:"position"`
		Since      nullTime `db:"since"`
		Until      nullTime `db:"until_time"`
		LimitScope nullText `db:"limit_scope"`
		LimitRuns  *int     `db:"limit_running"`
		LimitMax   *int     `db:"max_concurrent_targets"`
		AgentID    nullGUID `db:"agent_id"`
		Host       nullText `db:"host_name"`
		Term       *int64   `db:"term_id"`
		SessionID  *int     `db:"session_id"`
	}
	var totals []struct {
		StepID int    `db:"step_id"`
		For    string `db:"waits_for"`
		Total  int    `db:"total"`
	}
	var ends []struct {
		StepID      int      `db:"step_id"`
		Lifecycle   string   `db:"lifecycle"`
		ErrorNumber *int32   `db:"error_number"`
		Total       int      `db:"total"`
		Decides     bool     `db:"decides"`
		Server      nullText `db:"server_name"`
		Database    nullText `db:"database_name"`
		Message     nullText `db:"last_message"`
		Unknown     bool     `db:"outcome_unknown"`
	}
	c := newCall("jobs.sp_explain_execution").in("job_execution_id", id)
	if err := s.query(ctx, "explain the execution", c, into(&heads), into(&waits), into(&totals), into(&ends)); err != nil {
		return Explanation{}, err
	}
	if len(heads) != 1 {
		return Explanation{}, fmt.Errorf("explain the execution: %d rows came back instead of 1", len(heads))
	}
	h := heads[0]
	e := Explanation{
		ID: h.ID.UUID, JobName: h.JobName, JobVersion: h.JobVersion, Lifecycle: jobs.Lifecycle(h.Lifecycle), Active: h.Active,
		CreateTime: h.CreateTime.Time, StartTime: h.StartTime.Time, EndTime: h.EndTime.Time, StopRequestedAt: h.StopAt.Time, Now: h.Now.Time,
		StopRequestedBy: string(h.StopBy), Agents: h.Agents, Workers: h.Workers, Busy: h.Busy, Text: string(h.Text),
		AdvanceSkippedSince: h.Skipped.Time,
	}
	for _, w := range waits {
		e.Waits = append(e.Waits, Wait{
			StepID: w.StepID, Server: string(w.Server), Database: string(w.Database), Lifecycle: jobs.Lifecycle(w.Lifecycle),
			For: w.For, Text: string(w.Text), Attempts: orZero(w.Attempts), Position: orZero(w.Position),
			Since: w.Since.Time, Until: w.Until.Time, LimitScope: string(w.LimitScope), LimitRunning: orZero(w.LimitRuns), LimitMax: orZero(w.LimitMax),
			AgentID: w.AgentID.UUID, Host: string(w.Host), Term: TermID(orZero(w.Term)), SessionID: orZero(w.SessionID),
		})
	}
	for _, t := range totals {
		e.Totals = append(e.Totals, WaitTotal(t))
	}
	for _, x := range ends {
		e.Ends = append(e.Ends, End{
			StepID: x.StepID, Lifecycle: jobs.Lifecycle(x.Lifecycle), ErrorNumber: x.ErrorNumber, Total: x.Total, Decides: x.Decides, OutcomeUnknown: x.Unknown,
			Server: string(x.Server), Database: string(x.Database), Message: string(x.Message),
		})
	}
	return e, nil
}

// orZero is what p points to; the zero value for nil.
func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
