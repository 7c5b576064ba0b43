package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// State is the state of a control database's job agent (account).
type State string

// The states. In the states None and Deleted there is no job agent.
const (
	AgentNone     State = "None" // there has never been one: agents work without
	AgentCreating State = "Creating"
	AgentReady    State = "Ready"
	AgentUpdating State = "Updating"
	AgentDisabled State = "Disabled"
	AgentFaulted  State = "Faulted"
	AgentDeleting State = "Deleting"
	AgentDeleted  State = "Deleted" // there is none any more: agents do not work
)

// Exists reports whether there is a job agent.
func (s State) Exists() bool { return s != AgentNone && s != AgentDeleted }

// Served reports whether agents have something to do in this state. They work in None, Ready and
// Updating. In Deleting they claim nothing, but cancel what they hold.
func (s State) Served() bool {
	return s == AgentNone || s == AgentReady || s == AgentUpdating || s == AgentDeleting
}

// JobAgent is the job agent of a control database. It has nothing but a state if there is none.
type JobAgent struct {
	State     State     `db:"job_agent_state"`
	Name      string    `db:"agent_name"`
	Location  string    `db:"location"`
	SKU       string    `db:"sku"`
	Capacity  int       `db:"capacity"`
	Identity  string    `db:"identity_id"` // resource id; empty: none
	TagsJSON  string    `db:"tags"`        // JSON object of texts; empty: none
	Reason    string    `db:"reason"`      // of Disabled and Faulted
	Disabler  string    `db:"disabled_by"`
	Operation uuid.UUID `db:"operation_id"` // in progress; zero: none
	CreatedAt time.Time `db:"created_time"`
	ChangedAt time.Time `db:"changed_time"`
}

// Tags returns the tags.
func (a JobAgent) Tags() (map[string]string, error) {
	if a.TagsJSON == "" {
		return nil, nil
	}
	var tags map[string]string
	if err := json.Unmarshal([]byte(a.TagsJSON), &tags); err != nil {
		return nil, fmt.Errorf("read the tags of the job agent: %w", err)
	}
	return tags, nil
}

// Read reads the job agent. A control schema that is older than job agents has none; its state
// is [AgentNone].
func (s Store) Read(ctx context.Context) (JobAgent, error) {
	list, err := call.SelectAll[JobAgent](ctx, s.conn, "read the job agent", `SELECT c.job_agent_state, a.agent_name, a.location, a.sku, a.capacity, a.identity_id, a.tags,
    a.reason, a.disabled_by, a.operation_id, a.created_time, a.changed_time
FROM jobs.control_database AS c
LEFT JOIN jobs.agent AS a ON a.agent_name IS NOT NULL;`)
	if dberror.NumberOf(err) != 0 {
		// Without a schema there is no user of the caller's role either.
		version, versionErr := s.installed.Version(ctx)
		switch {
		case errors.Is(versionErr, dberror.ErrNotInstalled):
			return JobAgent{}, versionErr
		case versionErr == nil && version < jobAgentsVersion:
			return JobAgent{State: AgentNone}, nil
		}
	}
	if err != nil {
		return JobAgent{}, err
	}
	if len(list) != 1 {
		return JobAgent{}, fmt.Errorf("read the job agent: got %d rows, want 1", len(list))
	}
	return list[0], nil
}

// jobAgentsVersion is the version of the schema that has job agents first.
const jobAgentsVersion = 10

// Change creates or changes a job agent. Nil fields keep their values.
type Change struct {
	Name     string
	Location *string
	SKU      *string
	Capacity *int
	Identity *string            // "": none
	Tags     *map[string]string // replaces all tags
	// MustExist makes the change fail with [dberror.ErrAgentNotFound] if there is no job agent.
	MustExist bool
	// Operation is the id of the operation, if one is needed; zero: a new one.
	Operation uuid.UUID
}

// Set begins to create or change a job agent. operation is zero if the change is done, or
// else the operation in progress, which [Store.Advance] carries out.
func (s Store) Set(ctx context.Context, change Change) (created bool, operation uuid.UUID, err error) {
	c := call.New("jobs.sp_set_job_agent").In("agent_name", change.Name)
	call.Opt(c, "location", change.Location)
	call.Opt(c, "sku", change.SKU)
	if change.Capacity != nil {
		c.In("capacity", int64(*change.Capacity))
	}
	call.Opt(c, "identity", change.Identity)
	if change.Tags != nil {
		tags := *change.Tags
		if tags == nil {
			tags = map[string]string{}
		}
		text, err := json.Marshal(tags)
		if err != nil {
			return false, uuid.Nil, fmt.Errorf("write the tags of the job agent: %w", err)
		}
		c.In("tags", string(text))
	}
	if change.MustExist {
		c.In("create", false)
	}
	c.Out("created", &created)
	op, err := operationID(change.Operation)
	if err != nil {
		return false, uuid.Nil, err
	}
	c.Out("operation_id", &op)
	err = s.conn.Exec(ctx, "set the job agent", c)
	return created, operationOf(op), err
}

// operationID returns the argument for the id of an operation, which is made here if it is zero:
// the driver cannot send a NULL of this type as an OUTPUT parameter.
func operationID(id uuid.UUID) (mssqldb.NullUniqueIdentifier, error) {
	if id == uuid.Nil {
		var err error
		if id, err = uuid.NewRandom(); err != nil {
			return mssqldb.NullUniqueIdentifier{}, fmt.Errorf("make the id of an operation: %w", err)
		}
	}
	return mssqldb.NullUniqueIdentifier{UUID: mssqldb.UniqueIdentifier(id), Valid: true}, nil
}

// operationOf returns the id of an operation that a procedure returned; zero without one.
func operationOf(op mssqldb.NullUniqueIdentifier) uuid.UUID {
	if !op.Valid {
		return uuid.Nil
	}
	return uuid.UUID(op.UUID)
}

// Delete begins to delete the job agent, or joins the deletion in progress, and returns the
// operation. It returns [dberror.ErrAgentNotFound] when there is no job agent of this name.
func (s Store) Delete(ctx context.Context, name string, operation uuid.UUID) (uuid.UUID, error) {
	c := call.New("jobs.sp_delete_job_agent").In("agent_name", name)
	op, err := operationID(operation)
	if err != nil {
		return uuid.Nil, err
	}
	c.Out("operation_id", &op)
	err = s.conn.Exec(ctx, "delete the job agent", c)
	return operationOf(op), err
}

// Disable disables the job agent. A second call changes the reason.
func (s Store) Disable(ctx context.Context, reason string) error {
	return s.conn.Exec(ctx, "disable the job agent", call.New("jobs.sp_disable_job_agent").OptText("reason", reason))
}

// Enable enables a job agent that is Disabled or Faulted.
func (s Store) Enable(ctx context.Context) error {
	return s.conn.Exec(ctx, "enable the job agent", call.New("jobs.sp_enable_job_agent"))
}

// Advance carries out the operation in progress as far as possible without waiting, unless
// another holder is about it. Without an operation it has no effect. If the caller ends within the
// call, others continue after lease.
func (s Store) Advance(ctx context.Context, holder uuid.UUID, lease time.Duration) error {
	return s.conn.Exec(ctx, "carry out the operation on the job agent",
		call.New("jobs_internal.advance_job_agent").In("holder", holder).In("lease_seconds", call.Seconds(lease)))
}

// Operation is an operation on a job agent.
type Operation struct {
	ID           uuid.UUID `db:"operation_id"`
	Kind         string    `db:"kind"` // UpsertJobAccount or DropJobAccount
	Agent        string    `db:"agent_name"`
	Status       string    `db:"status"` // InProgress, Succeeded or Failed
	ErrorCode    string    `db:"error_code"`
	ErrorMessage string    `db:"error_message"`
	ActiveRuns   int       `db:"active_runs"` // for which a deletion waits
	StartTime    time.Time `db:"start_time"`
	StartedBy    string    `db:"started_by"`
	EndTime      time.Time `db:"end_time"` // zero while it is in progress
}

// The values of [Operation].
const (
	OperationUpsert = "UpsertJobAccount"
	OperationDrop   = "DropJobAccount"

	OperationInProgress = "InProgress"
	OperationSucceeded  = "Succeeded"
	OperationFailed     = "Failed"
)

// Operation reads an operation. ok is false if there is none of this id; operations are
// kept for a day.
func (s Store) Operation(ctx context.Context, id uuid.UUID) (operation Operation, ok bool, err error) {
	w := call.NewFilter(0)
	w.Add("operation_id = %s", mssqldb.UniqueIdentifier(id))
	list, err := call.SelectAll[Operation](ctx, s.conn, "read the operation on the job agent", `SELECT TOP (@p1) operation_id, kind, agent_name, status,
    error_code, error_message, active_runs, start_time, started_by, end_time
FROM jobs.agent_operations`+w.Text()+`
ORDER BY start_time DESC;`, w.Args...)
	if err != nil || len(list) == 0 {
		return Operation{}, false, err
	}
	return list[0], true, nil
}

// Operations lists the operations of the last day, latest first.
func (s Store) Operations(ctx context.Context) ([]Operation, error) {
	return call.SelectAll[Operation](ctx, s.conn, "list operations on the job agent", `SELECT TOP (100) operation_id, kind, agent_name, status,
    error_code, error_message, active_runs, start_time, started_by, end_time
FROM jobs.agent_operations
ORDER BY start_time DESC;`)
}
