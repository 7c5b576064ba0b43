package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Agent is a row of the view jobs_internal.agent_status: an agent and its latest term.
type Agent struct {
	AgentID              uuid.UUID `db:"agent_id"`
	Host                 string    `db:"host_name"`
	Version              string    `db:"version"`
	MaxConcurrentTargets int       `db:"max_concurrent_targets"`
	Term                 int64     `db:"term_id"`
	StartedAt            time.Time `db:"started_at"`
	ExpiresAt            time.Time `db:"expires_at"`
	// EndedAt is zero while the term lasts; EndReason is the reason of its end.
	EndedAt   time.Time `db:"ended_at"`
	EndReason string    `db:"end_reason"`
	// Live is true if the term had neither ended nor expired when the view was read.
	Live bool `db:"is_live"`
	// Tasks is the number of tasks that the term holds. It may be higher than
	// MaxConcurrentTargets, the number of workers: the agent runs the others next.
	Tasks int `db:"held_tasks"`
	// Engine identifies what computes the agent's schedules, and ZoneData the source of its zone
	// rules. They are empty for an agent of an earlier release.
	Engine   string `db:"engine"`
	ZoneData string `db:"zone_data"`
	// Protocol is that of the latest term. The rest is set by [Store.Recent] only, as is
	// Protocol.
	Protocol int `db:"protocol"`
	// CommandTypes are the types of commands that the agent runs, separated by commas.
	CommandTypes string    `db:"command_types"`
	FirstSeenAt  time.Time `db:"first_seen_at"`
	// RecentTerms is the number of terms that began within 24 hours, of the latest 100.
	RecentTerms int `db:"recent_terms"`
}

// BusyWorkers returns how many workers of the agent have a task.
func (a Agent) BusyWorkers() int { return min(a.Tasks, a.MaxConcurrentTargets) }

// List lists all agents that are recorded in the control database, latest term first.
func (s Store) List(ctx context.Context) ([]Agent, error) {
	return call.SelectAll[Agent](ctx, s.conn, "list agents", `SELECT agent_id, host_name, version, max_concurrent_targets,
    term_id, started_at, expires_at, ended_at, end_reason, is_live, held_tasks, engine, zone_data
FROM jobs_internal.agent_status
ORDER BY started_at DESC, term_id DESC;`)
}

// Recent lists live agents, and then those whose latest terms began last, with all that is
// known of them.
func (s Store) Recent(ctx context.Context, top int) ([]Agent, error) {
	return call.SelectAll[Agent](ctx, s.conn, "list recent agents", `SELECT TOP (@p1) agent_id, host_name, version, max_concurrent_targets,
    term_id, started_at, expires_at, ended_at, end_reason, is_live, held_tasks, engine, zone_data, protocol, command_types, first_seen_at, recent_terms
FROM jobs_internal.agent_status
ORDER BY is_live DESC, started_at DESC, term_id DESC;`, top)
}

// Task is a row of the view jobs_internal.agent_tasks: a task that an agent holds.
type Task struct {
	ID      int64     `db:"task_id"`
	AgentID uuid.UUID `db:"agent_id"`
	Host    string    `db:"host_name"`
	Term    int64     `db:"term_id"`
	// Kind is Run or Resolve. Server, Database and TargetID are empty for Resolve.
	Kind      string    `db:"kind"`
	RunID     uuid.UUID `db:"job_execution_id"`
	JobName   string    `db:"job_name"`
	StepID    int       `db:"step_id"`
	StepName  string    `db:"step_name"`
	Server    string    `db:"server_name"`
	Database  string    `db:"database_name"`
	TargetID  uuid.UUID `db:"target_id"`
	Attempt   int       `db:"attempt"`
	ClaimedAt time.Time `db:"claimed_at"`
}

// Tasks lists what agents hold, the longest first.
func (s Store) Tasks(ctx context.Context, top int) ([]Task, error) {
	return call.SelectAll[Task](ctx, s.conn, "list tasks of agents", `SELECT TOP (@p1) task_id, agent_id, host_name, term_id, kind, job_execution_id, job_name,
    step_id, step_name, server_name, database_name, target_id, attempt, claimed_at
FROM jobs_internal.agent_tasks
ORDER BY claimed_at, task_id;`, top)
}

// Live returns the number of live agents. Unlike [Store.List], it needs only the role jobs_reader.
func (s Store) Live(ctx context.Context) (int, error) {
	list, err := call.SelectAll[int](ctx, s.conn, "count live agents", "SELECT live_agents FROM jobs.live_agents;")
	if err != nil {
		return 0, err
	}
	if len(list) != 1 {
		return 0, fmt.Errorf("count live agents: got %d rows, want 1", len(list))
	}
	return list[0], nil
}
