package controldb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TaskID identifies a task. Ids increase over time.
type TaskID int64

// TaskKind is the kind of a task.
type TaskKind string

const (
	// TaskResolve resolves the members of a step's target group into databases.
	TaskResolve TaskKind = "Resolve"
	// TaskRun runs a step's command on one target.
	TaskRun TaskKind = "Run"
)

// commandTypeUpkeep is controller_pass's command type of an upkeep step.
const commandTypeUpkeep = "Upkeep"

// UpkeepPurgeHistory is the upkeep that deletes history older than the retention: it repeats
// [Store.PurgeBatch] until nothing is left.
const UpkeepPurgeHistory = "PurgeHistory"

// Output is the destination of the first result set of a step's command.
type Output struct {
	// Credential is empty when the step names none.
	Credential string `db:"output_credential_name"`
	// Server, Database, Schema and Table are not empty in a [Task]; a [JobStep] without output has
	// none of them.
	Server   string `db:"output_server_name"`
	Database string `db:"output_database_name"`
	Schema   string `db:"output_schema_name"`
	Table    string `db:"output_table_name"`
}

// Task is one claimed attempt or resolution. It holds everything that an agent needs to run it,
// except the command's text (Store.Command).
type Task struct {
	ID   TaskID
	Kind TaskKind
	// Attempt counts from 1.
	Attempt int
	// Claim identifies the pass that claimed the task. The outcome must name it, because a database
	// that was restored gives the ids of tasks again (I16). It is zero for a task that was claimed
	// before the control database had claims.
	Claim uuid.UUID

	JobID               uuid.UUID
	JobName             string
	JobVersion          int
	JobExecutionID      uuid.UUID
	ExecutionCreateTime time.Time
	// DueAt is the due instant of a scheduled run, or the creation of any other run.
	DueAt           time.Time
	StepID          int
	StepName        string
	TargetGroupName string
	// CommandID is the argument of Store.Command. The same id always has the same text.
	CommandID int64
	// CommandType is the type of the command; empty for upkeep.
	CommandType action.Type
	// Upkeep means that the command is not a script but the name of work that the agent does by its
	// own calls to the control database, such as [UpkeepPurgeHistory]. Then the only member is the
	// control database, by the name that its server reports.
	Upkeep bool
	// CredentialName is empty when the step names none.
	CredentialName string

	// Target is the database to run on, or the endpoint of an action; zero for a TaskResolve.
	Target targets.Target
	// TargetExecutionID is the id of the target execution. It is the same for all attempts and for
	// reruns, and is written to output tables as internal_execution_id. It is nil for a
	// TaskResolve.
	TargetExecutionID uuid.UUID
	// Timeout is the rest of the step's time limit on this target at the time of the claim; 0 means
	// no limit.
	Timeout time.Duration
	// Output is nil when the step writes no output, for a TaskResolve, and in a run with a mode.
	Output *Output
	// AtMostOnce requests a ledger row in the target, in the script's own transaction. It is false
	// for a TaskResolve and in a run with a mode. The procedures enforce it for actions.
	AtMostOnce bool
	// OnUnknownOutcome is the step's reaction to an unknown outcome: Retry, Fail or Await.
	OnUnknownOutcome string
	// PayloadID is the argument of Store.Payload, which returns the run's parameters; 0 means that
	// the run has none. The same id always has the same text.
	PayloadID int64
	// Options are the step's options that only agents read.
	Options model.AgentOptions
	// Mode says what becomes of the script, and ModeOptions how, a JSON object; empty means that it
	// runs.
	Mode        RunMode
	ModeOptions string
	// Probes means that the outcome reports what the script returned: the task is of a run that
	// probes a wave of a roll-out, and of its last T-SQL step.
	Probes bool
	// ScheduleID is the schedule that started the run; 0 means none.
	ScheduleID int64
	// SAPJobID is the _id of a job of the SAP surface, and SAPScheduleID is the public id of the
	// schedule that started the run. They are zero for other jobs.
	SAPJobID      int64
	SAPScheduleID uuid.UUID
	// Tenant is the tenant of a job of the SAP surface; zero for other jobs.
	Tenant targets.Tenant
	// Members are the members of the target group; only for a TaskResolve. The only member of an
	// action without a target group has the kind targets.Endpoint and no names: the caller derives
	// the target from the command.
	Members []targets.Member
}

// Digest is a fingerprint of the tasks that a term holds: their number, and a sum over their ids
// and attempts. Digests are comparable with ==.
type Digest struct {
	Count int
	Sum   int64
}

// digestFactor is the weight of each earlier attempt of a task. controller_pass uses the same
// number.
const digestFactor = 65537

// Add adds a task to the digest.
func (d *Digest) Add(id TaskID, attempt int) {
	d.Count++
	d.Sum += int64(id) + digestFactor*int64(attempt-1)
}

// String formats the digest for logs.
func (d Digest) String() string { return fmt.Sprintf("%d tasks, sum %d", d.Count, d.Sum) }

// CancelSignal requests the end of a task that the caller's term holds.
type CancelSignal struct {
	Task TaskID `db:"task_id"`
	// Reason names the login that requested the stop, as a sentence for logs and messages.
	Reason string `db:"reason"`
}

// PassRequest is the argument of [Store.Pass].
type PassRequest struct {
	Term TermID
	// MaxTasks is the maximum number of tasks to claim; 0 claims none.
	MaxTasks int
	// MaxConcurrentTargets is the agent's limit. Whatever MaxTasks is, a term never holds more than
	// twice this number of tasks (a full prefetch).
	MaxConcurrentTargets int
	// LastTask is the highest task id that this term's agent has received from a pass, or 0 before
	// the first. Claimed tasks above it are returned again, because the answer with them was lost.
	// With nil, the pass returns only the tasks that it claims.
	LastTask *TaskID
}

// PassResult is the result of [Store.Pass].
type PassResult struct {
	// Now is the database's time.
	Now time.Time
	// NextWake is the database's time of the next retry or time limit; zero means that none is
	// known. See [PassResult.More] for a time before Now.
	NextWake time.Time
	// Held is the digest of the tasks that the term holds after the pass, including the claimed
	// ones.
	Held Digest
	// CleanupDue means that rows of purged executions or deleted jobs wait for
	// [Store.DeleteLeftovers].
	CleanupDue bool
	// AdvanceSkipped means that another session held the lock of passes, so this pass advanced
	// nothing. AdvancedAgo is then the time since any pass advanced, to within a second; 0 means
	// just now.
	AdvanceSkipped bool
	AdvancedAgo    time.Duration
	// QuestionsDue means that a question waits for [questions.Store.Claim].
	QuestionsDue bool
	// SetAsidesDue means that [Store.TakeSetAsides] has something to take.
	SetAsidesDue bool
	// Tasks are the tasks claimed by this pass, and those of a pass whose answer was lost
	// (PassRequest.LastTask). Resolutions come first.
	Tasks []Task
	// Cancels are requests for tasks that the term holds. A request is repeated until the task
	// ends.
	Cancels []CancelSignal
}

// More reports that the pass was cut off, because it changes a limited number of rows, so that the
// next pass should follow at once. The answer has no column of its own for this, because agents of
// earlier releases read it: after an instant that has passed, they wait for PollActive.
func (r PassResult) More() bool { return !r.NextWake.IsZero() && r.NextWake.Before(r.Now) }

// Pass advances every execution that can advance, claims tasks, and returns the tasks to cancel, in
// one round trip. It returns [dberror.ErrTermEnded] when the term has ended.
func (s *Store) Pass(ctx context.Context, req PassRequest) (PassResult, error) {
	var (
		res     PassResult
		agoMS   int64
		steps   []taskStepRow
		tasks   []taskRow
		members []memberRow
	)
	c := ForTerm(call.New("jobs_internal.controller_pass"), req.Term).
		In("max_tasks", int64(req.MaxTasks)).In("max_concurrent_targets", int64(req.MaxConcurrentTargets))
	if req.LastTask != nil {
		c.In("last_task_id", int64(*req.LastTask))
	}
	if req.Term.GUID != uuid.Nil {
		c.In("claim_id", uuid.New())
	}
	err := s.conn.Query(ctx, "make a pass", c,
		call.ScanOne(&res.Now, &res.NextWake, &res.Held.Count, &res.Held.Sum, &res.CleanupDue, &res.AdvanceSkipped, &agoMS, &res.QuestionsDue,
			&res.SetAsidesDue),
		call.Into(&steps), call.Into(&tasks), call.Into(&members), call.Into(&res.Cancels))
	if err != nil {
		return PassResult{}, err
	}
	res.AdvancedAgo = time.Duration(agoMS) * time.Millisecond
	byTask := map[TaskID][]targets.Member{}
	for _, m := range members {
		byTask[m.Task] = append(byTask[m.Task], m.Member)
	}
	byID := make(map[int64]taskStepRow, len(steps))
	for _, s := range steps {
		byID[s.StepExecutionID] = s
	}
	res.Tasks = make([]Task, 0, len(tasks))
	for _, t := range tasks {
		task := t.task(byID[t.StepExecutionID])
		task.Members = byTask[task.ID]
		res.Tasks = append(res.Tasks, task)
	}
	return res, nil
}

// taskStepRow is a row of controller_pass's second result set: the columns that all tasks of a step
// have in common.
type taskStepRow struct {
	StepExecutionID     int64     `db:"step_execution_id"`
	JobID               uuid.UUID `db:"job_id"`
	JobName             string    `db:"job_name"`
	JobVersion          int       `db:"job_version"`
	JobExecutionID      uuid.UUID `db:"job_execution_id"`
	ExecutionCreateTime time.Time `db:"job_execution_create_time"`
	StepID              int       `db:"step_id"`
	StepName            string    `db:"step_name"`
	TargetGroupName     string    `db:"target_group_name"`
	CommandID           int64     `db:"command_id"`
	CommandType         string    `db:"command_type"`
	DueAt               time.Time `db:"due_at"`
	OnUnknownOutcome    string    `db:"on_unknown_outcome"`
	CredentialName      string    `db:"credential_name"`
	AtMostOnce          bool      `db:"at_most_once"`
	PayloadID           int64     `db:"payload_id"`
	ScheduleID          int64     `db:"schedule_id"`
	SAPJobID            int64     `db:"rest_job_id"`
	SAPScheduleID       uuid.UUID `db:"rest_schedule_id"`
	TenantID            string    `db:"tenant_id"`
	Subdomain           string    `db:"subdomain"`
	OutputType          string    `db:"output_type"`
	Output
	Options     model.AgentOptions `db:"agent_options"`
	Mode        RunMode            `db:"mode"`
	ModeOptions string             `db:"mode_options"`
	Probes      bool               `db:"probes"`
}

// taskRow is a row of controller_pass's third result set: a claimed task.
type taskRow struct {
	TaskID            TaskID    `db:"task_id"`
	Kind              TaskKind  `db:"kind"`
	Attempt           int       `db:"attempt"`
	Claim             uuid.UUID `db:"claim_id"`
	StepExecutionID   int64     `db:"step_execution_id"`
	TargetID          uuid.UUID `db:"target_id"`
	ServerName        string    `db:"server_name"`
	DatabaseName      string    `db:"database_name"`
	ElasticPoolName   string    `db:"elastic_pool_name"`
	TargetExecutionID uuid.UUID `db:"target_execution_id"`
	TimeoutMS         int64     `db:"timeout_ms"` // 0: no time limit
}

// task returns the task of the step s.
func (r taskRow) task(s taskStepRow) Task {
	t := Task{
		ID: r.TaskID, Kind: r.Kind, Attempt: r.Attempt, Claim: r.Claim,
		JobID: s.JobID, JobName: s.JobName, JobVersion: s.JobVersion,
		JobExecutionID: s.JobExecutionID, ExecutionCreateTime: s.ExecutionCreateTime, DueAt: s.DueAt,
		StepID: s.StepID, StepName: s.StepName, TargetGroupName: s.TargetGroupName,
		CommandID: s.CommandID, Upkeep: s.CommandType == commandTypeUpkeep, CredentialName: s.CredentialName,
		Target: targets.Target{
			ID: r.TargetID, Server: r.ServerName, Database: r.DatabaseName, ElasticPool: r.ElasticPoolName,
		},
		TargetExecutionID: r.TargetExecutionID,
		Timeout:           time.Duration(r.TimeoutMS) * time.Millisecond,
		AtMostOnce:        s.AtMostOnce && r.Kind == TaskRun && s.Mode == "",
		OnUnknownOutcome:  s.OnUnknownOutcome,
		PayloadID:         s.PayloadID,
		Options:           s.Options,
		Mode:              s.Mode,
		ModeOptions:       s.ModeOptions,
		Probes:            s.Probes && r.Kind == TaskRun,
		ScheduleID:        s.ScheduleID,
		SAPJobID:          s.SAPJobID,
		SAPScheduleID:     s.SAPScheduleID,
		Tenant:            targets.Tenant{ID: s.TenantID, Subdomain: s.Subdomain},
	}
	if !t.Upkeep {
		t.CommandType = action.Type(s.CommandType)
	}
	if s.OutputType != "" && r.Kind == TaskRun && s.Mode == "" {
		t.Output = &s.Output
	}
	return t
}

// memberRow is a row of controller_pass's fourth result set: a member of the target group of a
// claimed resolution, without tag_filter, query and member_group_name.
type memberRow struct {
	Task TaskID `db:"task_id"`
	targets.Member
}

// groupMemberOf is a row of jobs_internal.get_members.
type groupMemberOf struct {
	IsRoot    bool   `db:"is_root"`
	Group     string `db:"target_group_name"` // of which it is a member
	Evaluated bool   `db:"is_evaluated"`      // of a Tag
	targets.Member
}

// taggedRow is a database that a Tag stands for.
type taggedRow struct {
	Member   uuid.UUID `db:"target_id"`
	Server   string    `db:"server_name"`
	Database string    `db:"database_name"`
}

// Members reads the members of the target group of a claimed resolution, with what those of the
// kinds Tag and TargetGroup stand for now.
func (s *Store) Members(ctx context.Context, task TaskID) ([]targets.Member, error) {
	return ReadMembers(ctx, s.conn, call.New("jobs_internal.get_members").In("task_id", int64(task)))
}

// ReadMembers makes a call of get_members; it is for the packages below controldb.
func ReadMembers(ctx context.Context, conn *call.Conn, c *call.Call) ([]targets.Member, error) {
	var rows []groupMemberOf
	var tagged []taggedRow
	err := conn.Query(ctx, "read the members of a target group", c, call.Into(&rows), call.Into(&tagged))
	if err != nil {
		return nil, err
	}
	databases := map[uuid.UUID][]targets.Target{}
	for _, t := range tagged {
		databases[t.Member] = append(databases[t.Member], targets.Target{Server: t.Server, Database: t.Database})
	}
	groups := map[string][]targets.Member{} // by name
	root := ""
	for _, r := range rows {
		m := r.Member
		if r.Evaluated {
			m.Stands = &targets.Stands{Databases: databases[m.ID]}
		}
		if r.IsRoot {
			root = r.Group
		}
		groups[r.Group] = append(groups[r.Group], m)
	}
	return NestMembers(root, func(name string) ([]targets.Member, error) { return groups[name], nil })
}

// NestMembers reads the members of a group, and those of the groups that are members, each group
// once. Names are compared as they are stored: case may tell them apart in the control database. It
// is for the packages below controldb. The error is that of read.
func NestMembers(group string, read func(name string) ([]targets.Member, error)) ([]targets.Member, error) {
	stands := map[string]*targets.Stands{} // one for each group, so that it is resolved once
	var members func(name string) ([]targets.Member, error)
	members = func(name string) ([]targets.Member, error) {
		own := &targets.Stands{Loop: true} // until its members are known
		stands[name] = own
		list, err := read(name)
		if err != nil {
			return nil, err
		}
		for i, m := range list {
			if m.Kind != targets.TargetGroup {
				continue
			}
			of := stands[m.Group]
			if of == nil {
				if _, err := members(m.Group); err != nil {
					return nil, err
				}
				of = stands[m.Group]
			}
			if of.Loop {
				of = &targets.Stands{Loop: true} // the other one changes when its members are known
			}
			list[i].Stands = of
		}
		*own = targets.Stands{Members: list}
		return list, nil
	}
	return members(group)
}

// Command reads the text of a step's command. The same id always has the same text, so the text may
// be cached.
func (s *Store) Command(ctx context.Context, id int64) (string, error) {
	var text string
	err := s.conn.Query(ctx, "read a command", call.New("jobs_internal.get_command").In("command_id", id), call.ScanOne(&text))
	return text, err
}

// Payload reads the parameters of a run, a JSON object. The same id always has the same text, so
// the text may be cached.
func (s *Store) Payload(ctx context.Context, id int64) (string, error) {
	var text string
	err := s.conn.Query(ctx, "read parameters", call.New("jobs_internal.get_payload").In("payload_id", id), call.ScanOne(&text))
	return text, err
}

// Failure is how the steps before a step failed. The zero value means that nothing failed.
type Failure struct {
	// Lifecycle is Failed or TimedOut.
	Lifecycle jobs.Lifecycle
	Message   string
	Attempts  int
	// Server and Database are the target; empty if the step failed before it had targets.
	Server, Database string
	// StatusCode is that of the latest response; 0 means that there was none.
	StatusCode int
}

// Target returns the server, and the database after a slash if there is one.
func (f Failure) Target() string {
	if f.Database == "" {
		return f.Server
	}
	return f.Server + "/" + f.Database
}

// Failure reads how the steps before the step of a task failed: on the same target if it failed
// there, otherwise the latest failure.
func (s *Store) Failure(ctx context.Context, task TaskID) (Failure, error) {
	var f Failure
	err := s.conn.Query(ctx, "read a failure", call.New("jobs_internal.get_failure").In("task_id", int64(task)),
		call.ScanOne(&f.Lifecycle, &f.Message, &f.Attempts, &f.Server, &f.Database, &f.StatusCode))
	return f, err
}

// Outcome is the outcome of a task.
type Outcome struct {
	Task TaskID
	// Attempt must be the task's current attempt; an outcome for another attempt is refused.
	Attempt int
	// Claim is that of the task; an outcome for another claim is refused. The zero value is not
	// compared.
	Claim uuid.UUID
	// Outcome determines what follows. NotSent returns the task without counting the attempt.
	// Failed and Unknown are retried by the step's policy, Failed also by the class of Error. After
	// Accepted, and after NoAnswer if the step awaits a report then, the target waits for a
	// callback (I12); any other NoAnswer is Unknown. The others are final.
	Outcome targets.Outcome
	// Message is stored in the column last_message. For Succeeded it is optional: the procedure
	// writes the documented text and appends Message.
	Message string
	// Error is the error that determined the outcome; zero means none.
	Error targets.ErrorDetail
	// Unreached means that nothing was sent, because there was no connection or the login was
	// refused.
	Unreached bool
	// NoRetry means that a failure is not retried, whatever the step's policy. RetryAfter is the
	// least wait before a retry, within the policy's maximum; 0 means none.
	NoRetry    bool
	RetryAfter time.Duration
	// Unsent means that no part of the script was sent, for any reason. If the outcome of the
	// previous attempt is unknown, it stays unknown.
	Unsent bool
	// Unknown means of TimedOut that the script may still run, or the request take effect.
	Unknown bool
	// Endpoint is the server that was called, if the action has several; empty means that of the
	// target.
	Endpoint string
	// Messages are the messages and row counts of the attempt, in order.
	Messages []targets.Message
	// Probed is what the script returned, if it is a probe; else nil.
	Probed *targets.Probed
	// RowsAffected, Elapsed and SPID are stored for diagnosis only.
	RowsAffected int64
	Elapsed      time.Duration
	SPID         int
}

// Refusal is an outcome that was not accepted (I4).
type Refusal struct {
	Task   TaskID `db:"task_id"`
	Reason string `db:"reason"`
}

// outcomeJSON is the form of an outcome in the argument of complete_tasks.
type outcomeJSON struct {
	TaskID         TaskID        `json:"task_id"`
	Attempt        int           `json:"attempt"`
	ClaimID        string        `json:"claim_id,omitempty"`
	Outcome        string        `json:"outcome"`
	Message        string        `json:"message,omitempty"`
	ErrorNumber    *int32        `json:"error_number,omitempty"`
	ErrorSeverity  *uint8        `json:"error_severity,omitempty"`
	ErrorState     *uint8        `json:"error_state,omitempty"`
	ErrorLine      *int32        `json:"error_line,omitempty"`
	ErrorProcedure string        `json:"error_procedure,omitempty"`
	RowsAffected   int64         `json:"rows_affected"`
	ElapsedMS      int64         `json:"elapsed_ms"`
	SessionID      int           `json:"session_id,omitempty"`
	Unreached      bool          `json:"unreached,omitempty"`
	Unsent         bool          `json:"unsent,omitempty"`
	Unknown        bool          `json:"outcome_unknown,omitempty"`
	NoRetry        bool          `json:"no_retry,omitempty"`
	Transient      *bool         `json:"transient,omitempty"`
	RetryAfterMS   int64         `json:"retry_after_ms,omitempty"`
	Endpoint       string        `json:"endpoint,omitempty"`
	ProbeRows      *int64        `json:"probe_rows,omitempty"`
	ProbeValue     string        `json:"probe_value,omitempty"`
	Messages       []messageJSON `json:"messages,omitempty"`
}

// messageJSON is the form of a message in outcomeJSON.
type messageJSON struct {
	Ordinal   int                 `json:"ordinal"` // from 1
	Kind      targets.MessageKind `json:"kind"`
	Number    int32               `json:"number,omitempty"`
	Severity  uint8               `json:"severity,omitempty"`
	State     uint8               `json:"state,omitempty"`
	Line      int32               `json:"line,omitempty"`
	Procedure string              `json:"procedure,omitempty"`
	Text      string              `json:"text,omitempty"`
	Rows      *int64              `json:"rows,omitempty"`
}

// transient reports whether an error may pass by itself; nil if that is not known. Steps whose
// retry_errors is Transient are not retried after one that will not.
func transient(e targets.ErrorDetail) *bool {
	if e.Class == "" {
		return nil
	}
	retryable := e.Class.Retryable()
	return &retryable
}

// returned is complete_tasks' spelling of targets.NotSent.
const returned = "Returned"

func (o Outcome) json() outcomeJSON {
	j := outcomeJSON{
		TaskID: o.Task, Attempt: o.Attempt, ClaimID: call.ClaimText(o.Claim), Outcome: string(o.Outcome), Message: o.Message,
		RowsAffected: o.RowsAffected, ElapsedMS: o.Elapsed.Milliseconds(), SessionID: o.SPID,
		Unreached: o.Unreached, Unsent: o.Unsent && o.Outcome != targets.Succeeded && o.Outcome != targets.NotSent,
		Unknown: o.Unknown && o.Outcome == targets.TimedOut,
		NoRetry: o.NoRetry, RetryAfterMS: o.RetryAfter.Milliseconds(), Endpoint: o.Endpoint,
	}
	if o.Outcome == targets.NotSent {
		j.Outcome = returned
	}
	if o.Outcome == targets.Failed {
		j.Transient = transient(o.Error)
	}
	if p := o.Probed; p != nil {
		j.ProbeRows, j.ProbeValue = &p.Rows, p.Value
	}
	if e := o.Error; e.Number != 0 {
		j.ErrorNumber, j.ErrorSeverity, j.ErrorState = &e.Number, &e.Severity, &e.State
		j.ErrorLine, j.ErrorProcedure = &e.Line, e.Procedure
	}
	for i, m := range o.Messages {
		mj := messageJSON{
			Ordinal: i + 1, Kind: m.Kind, Number: m.Number, Severity: m.Severity, State: m.State,
			Line: m.Line, Procedure: m.Procedure, Text: m.Text,
		}
		if m.Kind == targets.KindRows {
			mj.Rows = &m.Rows
		}
		j.Messages = append(j.Messages, mj)
	}
	return j
}

// CompleteTasks records outcomes in one transaction. It returns the outcomes that were refused
// because the term no longer holds the task; the caller must discard them. When the term has ended,
// nothing is recorded, and the error is [dberror.ErrTermEnded].
func (s *Store) CompleteTasks(ctx context.Context, term TermID, outcomes []Outcome) ([]Refusal, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	list := make([]outcomeJSON, 0, len(outcomes))
	for _, o := range outcomes {
		list = append(list, o.json())
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("complete tasks: write outcomes as JSON: %w", err)
	}
	var refusals []Refusal
	err = s.conn.Query(ctx, "complete tasks",
		ForTerm(call.New("jobs_internal.complete_tasks"), term).In("outcomes", string(text)),
		call.Into(&refusals))
	return refusals, err
}

// Resolution is the result of a TaskResolve.
type Resolution struct {
	// Attempt must be the task's current attempt.
	Attempt int
	// Claim is that of the task. The zero value is not compared.
	Claim uuid.UUID
	// Targets are the targets in order, each once. An empty list means that the group has no
	// databases, which is a success (decision 5).
	Targets []targets.Target
	// LimitServers names, for each of Targets, the server whose limits apply: the host that an
	// action calls. nil, or an empty name, means the target's own server.
	LimitServers []string
	// Failure is the reason why the group could not be resolved. If it is not empty, Targets are
	// ignored and the step's retry policy applies (decision 6).
	Failure string
	// Error is the server's error behind Failure, if any.
	Error targets.ErrorDetail
	// Unreached means that a server could not be reached or refused the login.
	Unreached bool
	// Elapsed is stored for diagnosis only.
	Elapsed time.Duration
	// PerCall is the maximum number of targets in one call; 0 means [TargetsPerCall]. Only tests
	// have fewer.
	PerCall int
}

// TargetsPerCall is the maximum number of targets of a resolution in one call. It bounds the
// memory of the argument, and what one transaction writes (I15).
const TargetsPerCall = 5000

// targetJSON is the form of a target in the argument of complete_resolution.
type targetJSON struct {
	Ordinal         int       `json:"ordinal"`
	TargetID        uuid.UUID `json:"target_id"`
	ServerName      string    `json:"server_name"`
	DatabaseName    string    `json:"database_name"`
	ElasticPoolName string    `json:"elastic_pool_name,omitempty"`
	TargetType      string    `json:"target_type,omitempty"` // Endpoint; empty for a database
	LimitServer     string    `json:"limit_server,omitempty"`
}

// CompleteResolution freezes a step's target list (I3), or records that the resolution failed. A
// list of more than [TargetsPerCall] targets takes several calls; it counts from the last one. If
// one call fails, CompleteResolution can be repeated as a whole, by this term. If
// the term no longer holds the task, the result is discarded without an error, as for a refused
// outcome. When the term has ended, the error is [dberror.ErrTermEnded].
func (s *Store) CompleteResolution(ctx context.Context, term TermID, task TaskID, r Resolution) error {
	begin := func() *call.Call {
		c := ForTerm(call.New("jobs_internal.complete_resolution"), term).In("task_id", int64(task)).
			In("attempt", int64(r.Attempt)).In("elapsed_ms", r.Elapsed.Milliseconds())
		if r.Claim != uuid.Nil {
			c.In("claim_id", r.Claim)
		}
		return c
	}
	if r.Failure != "" {
		c := begin().In("error", r.Failure)
		if r.Error.Number != 0 {
			c.In("error_number", int64(r.Error.Number))
		}
		if r.Unreached {
			c.In("unreached", true)
		}
		call.Opt(c, "transient", transient(r.Error))
		if err := s.conn.Exec(ctx, "complete a resolution", c); !errors.Is(err, dberror.ErrTaskNotHeld) {
			return err
		}
		return nil
	}
	perCall := cmp.Or(r.PerCall, TargetsPerCall)
	for first := 0; ; first += perCall {
		end := min(first+perCall, len(r.Targets))
		text, err := json.Marshal(r.part(first, end))
		if err != nil {
			return fmt.Errorf("complete a resolution: write targets as JSON: %w", err)
		}
		c := begin().In("targets", string(text))
		if len(r.Targets) > perCall {
			c.In("part", int64(first/perCall+1)).In("more", end < len(r.Targets))
		}
		err = s.conn.Exec(ctx, "complete a resolution", c)
		switch {
		case errors.Is(err, dberror.ErrTaskNotHeld):
			return nil
		case err != nil || end == len(r.Targets):
			return err
		}
	}
}

// part returns the targets with the indexes first <= i < end.
func (r Resolution) part(first, end int) []targetJSON {
	list := make([]targetJSON, 0, end-first)
	for i, t := range r.Targets[first:end] {
		j := targetJSON{
			Ordinal: first + i + 1, TargetID: t.ID, ServerName: t.Server, DatabaseName: t.Database, ElasticPoolName: t.ElasticPool,
		}
		if t.Database == "" {
			j.TargetType = string(targets.Endpoint)
		}
		if first+i < len(r.LimitServers) {
			j.LimitServer = r.LimitServers[first+i]
		}
		list = append(list, j)
	}
	return list
}
