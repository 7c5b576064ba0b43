package controldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/targets"
)

// TaskID identifies a task; numbers grow with time.
type TaskID int64

// TaskKind says what is to be done.
type TaskKind string

const (
	// TaskResolve turns the members of a step's target group into databases.
	TaskResolve TaskKind = "Resolve"
	// TaskRun runs a step's command on one database.
	TaskRun TaskKind = "Run"
)

// commandTypeUpkeep is how controller_pass spells that a step's command is an upkeep.
const commandTypeUpkeep = "Upkeep"

// UpkeepPurgeHistory is the upkeep that deletes history older than the retention time: [Store.PurgeBatch] until nothing is left.
const UpkeepPurgeHistory = "PurgeHistory"

// Output is where the first result set of a step's command goes.
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

// Task is one claimed attempt or resolution, with everything that is needed to carry it out but the
// command's text (Store.Command).
type Task struct {
	ID   TaskID
	Kind TaskKind
	// Attempt is 1 for the first one.
	Attempt int

	JobID               uuid.UUID
	JobName             string
	JobVersion          int
	JobExecutionID      uuid.UUID
	ExecutionCreateTime time.Time
	StepID              int
	StepName            string
	TargetGroupName     string
	// CommandID is the argument of Store.Command; the same id has the same text for ever.
	CommandID int64
	// Upkeep says that the command's text is the name of work that the agent does by calls of its own on the control database, such as
	// [UpkeepPurgeHistory], and no script. Then Members is the control database alone, by the name that its server gives itself.
	Upkeep bool
	// CredentialName is empty when the step names none.
	CredentialName string

	// Target is where to run; zero for a TaskResolve.
	Target targets.Target
	// TargetExecutionID is the target execution's own id, the same for all attempts, and in reruns: what
	// internal_execution_id is in output tables. Nil for a TaskResolve.
	TargetExecutionID uuid.UUID
	// Timeout is what is left of the step's time limit on this target at the time of the claim; 0: none.
	Timeout time.Duration
	// Output is nil when the step writes none, and for a TaskResolve.
	Output *Output
	// AtMostOnce asks for a ledger row in the target, in the script's own transaction; false for a TaskResolve.
	AtMostOnce bool
	// Members are the target group's; only for a TaskResolve.
	Members []targets.Member
}

// Digest is a fingerprint of the tasks that a term holds: their number, and a sum over their ids and attempts. Two
// digests may be compared with ==.
type Digest struct {
	Count int
	Sum   int64
}

// digestFactor weighs the attempts before a task's own; controller_pass has the same number.
const digestFactor = 65537

// Add counts a task in.
func (d *Digest) Add(id TaskID, attempt int) {
	d.Count++
	d.Sum += int64(id) + digestFactor*int64(attempt-1)
}

// String is for logs.
func (d Digest) String() string { return fmt.Sprintf("%d tasks, sum %d", d.Count, d.Sum) }

// CancelSignal asks for the end of a task that the caller's term holds.
type CancelSignal struct {
	Task TaskID `db:"task_id"`
	// Reason names the login that requested the stop, as a sentence for logs and messages.
	Reason string `db:"reason"`
}

// PassRequest is one pass of a controller.
type PassRequest struct {
	Term TermID
	// MaxTasks is how many tasks may be claimed; 0 claims none.
	MaxTasks int
	// MaxConcurrentTargets is the agent's limit; a term never holds more than twice as many tasks (a
	// full prefetch), whatever MaxTasks says.
	MaxConcurrentTargets int
	// LastTask is the highest id that a pass has handed to this term's holder, 0 before the first: tasks above it whose
	// answer was lost are handed out again. nil: only what this pass claims is handed out.
	LastTask *TaskID
}

// PassResult is the answer.
type PassResult struct {
	// Now is the database's time.
	Now time.Time
	// NextWake is when the next waiting attempt or time limit comes, in the database's time; zero: none
	// is known.
	NextWake time.Time
	// Held is what the term holds after the pass, the claimed tasks included.
	Held Digest
	// CleanupDue says that rows of purged executions or deleted jobs wait for [Store.DeleteLeftovers].
	CleanupDue bool
	// AdvanceSkipped says that somebody else held the lock of passes, so that this pass moved nothing on. AdvancedAgo is how long ago
	// any pass did then, give or take a second; 0: just now.
	AdvanceSkipped bool
	AdvancedAgo    time.Duration
	// Tasks were claimed by this pass, or by one whose answer was lost (PassRequest.LastTask); resolutions first.
	Tasks []Task
	// Cancels are signals for tasks that the term holds; a signal is repeated until the task ends.
	Cancels []CancelSignal
}

// Pass advances every execution that can move, claims tasks and tells which ones must end: one round trip.
// It returns [ErrTermEnded] when the term has ended.
func (s *Store) Pass(ctx context.Context, req PassRequest) (PassResult, error) {
	var (
		res     PassResult
		agoMS   int64
		steps   []taskStepRow
		tasks   []taskRow
		members []memberRow
	)
	c := newCall("jobs_internal.controller_pass").in("term_id", int64(req.Term)).
		in("max_tasks", int64(req.MaxTasks)).in("max_concurrent_targets", int64(req.MaxConcurrentTargets))
	if req.LastTask != nil {
		c.in("last_task_id", int64(*req.LastTask))
	}
	err := s.query(ctx, "make a pass", c,
		scanOne(&res.Now, &res.NextWake, &res.Held.Count, &res.Held.Sum, &res.CleanupDue, &res.AdvanceSkipped, &agoMS),
		into(&steps), into(&tasks), into(&members), into(&res.Cancels))
	if err != nil {
		return PassResult{}, err
	}
	res.AdvancedAgo = time.Duration(agoMS) * time.Millisecond
	byTask := map[TaskID][]targets.Member{}
	for _, m := range members {
		byTask[m.Task] = append(byTask[m.Task], m.member())
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
	CredentialName      string    `db:"credential_name"`
	AtMostOnce          bool      `db:"at_most_once"`
	OutputType          string    `db:"output_type"`
	Output
}

// taskRow is a row of controller_pass's third result set: a claimed task.
type taskRow struct {
	TaskID            TaskID    `db:"task_id"`
	Kind              TaskKind  `db:"kind"`
	Attempt           int       `db:"attempt"`
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
		ID: r.TaskID, Kind: r.Kind, Attempt: r.Attempt,
		JobID: s.JobID, JobName: s.JobName, JobVersion: s.JobVersion,
		JobExecutionID: s.JobExecutionID, ExecutionCreateTime: s.ExecutionCreateTime,
		StepID: s.StepID, StepName: s.StepName, TargetGroupName: s.TargetGroupName,
		CommandID: s.CommandID, Upkeep: s.CommandType == commandTypeUpkeep, CredentialName: s.CredentialName,
		Target: targets.Target{
			ID: r.TargetID, Server: r.ServerName, Database: r.DatabaseName, ElasticPool: r.ElasticPoolName,
		},
		TargetExecutionID: r.TargetExecutionID,
		Timeout:           time.Duration(r.TimeoutMS) * time.Millisecond,
		AtMostOnce:        s.AtMostOnce && r.Kind == TaskRun,
	}
	if s.OutputType != "" && r.Kind == TaskRun {
		t.Output = &s.Output
	}
	return t
}

// memberRow is a row of controller_pass's fourth result set, a member of the target group of a
// claimed resolution, or a row of the view jobs.target_group_member_details.
type memberRow struct {
	Task              TaskID    `db:"task_id"` // 0 for the view
	TargetID          uuid.UUID `db:"target_id"`
	MembershipType    string    `db:"membership_type"`
	TargetType        string    `db:"target_type"`
	RefreshCredential string    `db:"refresh_credential_name"`
	ServerName        string    `db:"server_name"`
	DatabaseName      string    `db:"database_name"`
	ElasticPoolName   string    `db:"elastic_pool_name"`
	ShardMapName      string    `db:"shard_map_name"`
}

func (r memberRow) member() targets.Member {
	return targets.Member{
		ID: r.TargetID, Membership: targets.MembershipType(r.MembershipType), Kind: targets.MemberKind(r.TargetType),
		Server: r.ServerName, Database: r.DatabaseName, ElasticPool: r.ElasticPoolName,
		ShardMap: r.ShardMapName, RefreshCredential: r.RefreshCredential,
	}
}

// Command reads the text of a step's command. The same id has the same text for ever, so it may be cached.
func (s *Store) Command(ctx context.Context, id int64) (string, error) {
	var text string
	err := s.query(ctx, "read a command", newCall("jobs_internal.get_command").in("command_id", id), scanOne(&text))
	return text, err
}

// Outcome is what became of a task.
type Outcome struct {
	Task TaskID
	// Attempt must be the task's; an outcome for another attempt is refused.
	Attempt int
	// Outcome decides: NotSent hands the task back uncounted; Failed and Unknown are retried by the
	// step's policy; the others are final.
	Outcome targets.Outcome
	// Message is for the column last_message. For Succeeded it may be empty: the procedure writes the
	// documented text, and adds Message when there is one.
	Message string
	// Error is the error that decided; zero: none.
	Error targets.ErrorDetail
	// Unreached says that nothing was sent, because there was no connection, or because the login was refused.
	Unreached bool
	// Unsent says that nothing of the script was sent, for whatever reason: if the outcome of the attempt before is unknown, it still is.
	Unsent bool
	// Messages are everything that was said, in order.
	Messages []targets.Message
	// RowsAffected, Elapsed and SPID are for people.
	RowsAffected int64
	Elapsed      time.Duration
	SPID         int
}

// Refusal is an outcome that was not accepted (I4).
type Refusal struct {
	Task   TaskID `db:"task_id"`
	Reason string `db:"reason"`
}

// outcomeJSON is the form of an outcome in complete_tasks' argument.
type outcomeJSON struct {
	TaskID         TaskID        `json:"task_id"`
	Attempt        int           `json:"attempt"`
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
	Messages       []messageJSON `json:"messages,omitempty"`
}

// messageJSON is the form of a message in it.
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

// returned is how complete_tasks spells targets.NotSent.
const returned = "Returned"

func (o Outcome) json() outcomeJSON {
	j := outcomeJSON{
		TaskID: o.Task, Attempt: o.Attempt, Outcome: string(o.Outcome), Message: o.Message,
		RowsAffected: o.RowsAffected, ElapsedMS: o.Elapsed.Milliseconds(), SessionID: o.SPID, Unreached: o.Unreached, Unsent: o.Unsent && o.Outcome != targets.Succeeded && o.Outcome != targets.NotSent,
	}
	if o.Outcome == targets.NotSent {
		j.Outcome = returned
	}
	if e := o.Error; e.Number != 0 {
		j.ErrorNumber, j.ErrorSeverity, j.ErrorState, j.ErrorLine, j.ErrorProcedure = &e.Number, &e.Severity, &e.State, &e.Line, e.Procedure
	}
	for i, m := range o.Messages {
		mj := messageJSON{
			Ordinal: i + 1, Kind: m.Kind, Number: m.Number, Severity: m.Severity, State: m.State, Line: m.Line, Procedure: m.Procedure, Text: m.Text,
		}
		if m.Kind == targets.KindRows {
			mj.Rows = &m.Rows
		}
		j.Messages = append(j.Messages, mj)
	}
	return j
}

// CompleteTasks hands outcomes over, in one transaction. It returns those that were refused because the
// term does not hold the task any more; they must be forgotten. The error is [ErrTermEnded] when the term
// has ended: then nothing was accepted.
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
	err = s.query(ctx, "complete tasks",
		newCall("jobs_internal.complete_tasks").in("term_id", int64(term)).in("outcomes", string(text)),
		into(&refusals))
	return refusals, err
}

// Resolution answers a TaskResolve.
type Resolution struct {
	// Attempt must be the task's.
	Attempt int
	// Targets are the databases, in order, each once; empty: the group resolved to none, which is
	// success (decision 5).
	Targets []targets.Target
	// Failure says why the group could not be resolved; when not empty, Targets are ignored, and the
	// step's retry policy decides (decision 6).
	Failure string
	// Error is the server's error, if one was the reason.
	Error targets.ErrorDetail
	// Unreached says that Failure is that a server could not be reached, or refused the login.
	Unreached bool
	// Elapsed is for people.
	Elapsed time.Duration
}

// targetJSON is the form of a target in complete_resolution's argument.
type targetJSON struct {
	Ordinal         int       `json:"ordinal"`
	TargetID        uuid.UUID `json:"target_id"`
	ServerName      string    `json:"server_name"`
	DatabaseName    string    `json:"database_name"`
	ElasticPoolName string    `json:"elastic_pool_name,omitempty"`
}

// CompleteResolution freezes a step's target list (I3), or reports that it could not be made. The task
// not being held by the term any more is no error: what was handed in is forgotten, as a refused outcome
// is. The error is [ErrTermEnded] when the term has ended.
func (s *Store) CompleteResolution(ctx context.Context, term TermID, task TaskID, r Resolution) error {
	c := newCall("jobs_internal.complete_resolution").in("term_id", int64(term)).in("task_id", int64(task)).
		in("attempt", int64(r.Attempt))
	if r.Failure != "" {
		c.in("error", r.Failure)
		if r.Error.Number != 0 {
			c.in("error_number", int64(r.Error.Number))
		}
		if r.Unreached {
			c.in("unreached", true)
		}
	} else {
		list := make([]targetJSON, 0, len(r.Targets))
		for i, t := range r.Targets {
			list = append(list, targetJSON{Ordinal: i + 1, TargetID: t.ID, ServerName: t.Server, DatabaseName: t.Database, ElasticPoolName: t.ElasticPool})
		}
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("complete a resolution: write targets as JSON: %w", err)
		}
		c.in("targets", string(text))
	}
	c.in("elapsed_ms", r.Elapsed.Milliseconds())
	err := s.exec(ctx, "complete a resolution", c)
	if errors.Is(err, ErrTaskNotHeld) {
		return nil
	}
	return err
}
