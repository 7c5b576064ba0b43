package callbacks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Token is the hash of the secret token in a callback's address.
type Token [sha256.Size]byte

// HashToken returns the hash of a token. Only hashes reach the control database (I9).
func HashToken(token string) Token { return sha256.Sum256([]byte(token)) }

// Send is an attempt of an action that is about to send its request.
type Send struct {
	Task controldb.TaskID
	// Attempt must be the task's current attempt.
	Attempt int
	// Claim is that of the task. The zero value is not compared.
	Claim uuid.UUID
	// Callback is nil unless the request tells where a report ends the action.
	Callback *Token
	// CallbackTimeout is the time that a report has; 0 means the setting
	// async_exec_timeout_seconds.
	CallbackTimeout time.Duration
}

// sendJSON is the form of a Send in the argument of begin_send.
type sendJSON struct {
	TaskID    controldb.TaskID `json:"task_id"`
	Attempt   int              `json:"attempt"`
	ClaimID   string           `json:"claim_id,omitempty"`
	TokenHash string           `json:"token_hash,omitempty"`
	Timeout   int64            `json:"callback_timeout_seconds,omitempty"`
}

// BeginSend records that the attempts are about to send their requests, and opens their callbacks.
// It returns the attempts that must not send, because the term no longer holds their tasks. When
// the term has ended, none may send, and the error is [dberror.ErrTermEnded]. After any other
// error, none may send either.
func (s Store) BeginSend(ctx context.Context, term controldb.TermID, sends []Send) ([]controldb.Refusal, error) {
	if len(sends) == 0 {
		return nil, nil
	}
	list := make([]sendJSON, 0, len(sends))
	for _, a := range sends {
		j := sendJSON{TaskID: a.Task, Attempt: a.Attempt, ClaimID: call.ClaimText(a.Claim)}
		if a.Callback != nil {
			j.TokenHash = hex.EncodeToString(a.Callback[:])
		}
		if a.CallbackTimeout > 0 {
			j.Timeout = call.Seconds(a.CallbackTimeout)
		}
		list = append(list, j)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("begin to send: write the attempts as JSON: %w", err)
	}
	var refusals []controldb.Refusal
	err = s.conn.Query(ctx, "begin to send",
		controldb.ForTerm(call.New("jobs_internal.begin_send"), term).In("sends", string(text)),
		call.Into(&refusals))
	return refusals, err
}

// Report says how the work of an action ended.
type Report struct {
	Success bool
	// Message is stored in the column last_message; long messages are cut.
	Message string
	// By names the reporter, for display.
	By string
}

// Report reports on the attempt whose request carried the token. The same report again
// changes nothing. It returns [dberror.ErrCallbackNotFound] for an unknown token, and
// [dberror.ErrCallbackEnded] when another report came first, or the callback ended without one. The
// next pass of an agent ends the wait.
func (s Store) Report(ctx context.Context, token Token, r Report) error {
	c := call.New("jobs_internal.report_callback").In("token_hash", token[:]).In("success", r.Success).In("message", r.Message)
	if r.By != "" {
		c.In("by", r.By)
	}
	return s.conn.Exec(ctx, "report on a callback", c)
}

// Ref names the callback of a target.
type Ref struct {
	Execution uuid.UUID
	// StepID, Target and Attempt are required only if the report might be about several callbacks:
	// several are open, or the same result was reported for another one.
	StepID  *int
	Target  *uuid.UUID
	Attempt *int
}

// Complete reports in the name of the login, instead of the application. It returns
// [dberror.ErrCallbackNotFound] when there is no such callback, and [dberror.ErrCallbackEnded] as
// ReportCallback does.
func (s Store) Complete(ctx context.Context, ref Ref, success bool, message string) error {
	c := call.New("jobs.sp_complete_callback").In("job_execution_id", ref.Execution).In("success", success).In("message", message)
	call.Opt(c, "step_id", ref.StepID)
	call.Opt(c, "target_id", ref.Target)
	call.Opt(c, "attempt", ref.Attempt)
	return s.conn.Exec(ctx, "complete a callback", c)
}

// State is the state of a callback.
type State string

const (
	// CallbackOpen means that the attempt still runs.
	CallbackOpen State = "Open"
	// CallbackWaiting means that the target waits for the report.
	CallbackWaiting State = "Waiting"
	// CallbackReported means that the report decides at the next pass.
	CallbackReported State = "Reported"
	// CallbackClosed means that no report is accepted any more.
	CallbackClosed State = "Closed"
)

// Callback is a row of the view jobs.callbacks.
type Callback struct {
	Execution uuid.UUID `db:"job_execution_id" json:"-"`
	JobName   string    `db:"job_name" json:"-"`
	StepID    int       `db:"step_id" json:"step_id"`
	StepName  string    `db:"step_name" json:"step_name"`
	Target    uuid.UUID `db:"target_id" json:"target_id"`
	Server    string    `db:"target_server_name" json:"target_server_name"`
	Database  string    `db:"target_database_name" json:"target_database_name,omitempty" doc:"absent for an endpoint"`
	Attempt   int       `db:"attempt" json:"attempt"`
	State     State     `db:"state" json:"state" doc:"Open, Waiting, Reported or Closed"`
	// Acknowledged means that the endpoint has accepted the request.
	Acknowledged bool      `db:"acknowledged" json:"acknowledged" doc:"the endpoint has accepted the request"`
	OpenedAt     time.Time `db:"opened_at" json:"opened_at,omitzero"`
	// DeadlineAt is zero before the wait.
	DeadlineAt time.Time `db:"deadline_at" json:"deadline_at,omitzero"`
	// Success is nil without a report; then Message and ReceivedBy have no meaning.
	Success    *bool     `db:"success" json:"success,omitempty" doc:"absent without a report"`
	Message    string    `db:"message" json:"message,omitempty"`
	ReceivedAt time.Time `db:"received_at" json:"received_at,omitzero"`
	ReceivedBy string    `db:"received_by" json:"received_by,omitempty"`
	// ClosedAt and ClosedBy are zero while reports are accepted.
	ClosedAt time.Time `db:"closed_at" json:"closed_at,omitzero"`
	ClosedBy string    `db:"closed_by" json:"closed_by,omitempty" doc:"Report, Deadline, Stop or Attempt"`
	// Late is a JSON object.
	Late string `db:"late" json:"late,omitempty" doc:"the latest refused report"`
}

const callbackColumns = `SELECT job_execution_id, job_name, step_id, step_name, target_id,
    target_server_name, target_database_name, attempt, state, acknowledged, opened_at, deadline_at,
    success, message, received_at, received_by, closed_at, closed_by, late
FROM jobs.callbacks`

// OfTarget lists the callbacks of a target of a step, the oldest first.
func (s Store) OfTarget(ctx context.Context, execution uuid.UUID, step int, target uuid.UUID) ([]Callback, error) {
	return call.SelectAll[Callback](ctx, s.conn, "list callbacks of a target", callbackColumns+`
WHERE job_execution_id = @p1
    AND step_id = @p2
    AND target_id = @p3
ORDER BY attempt;`, mssqldb.UniqueIdentifier(execution), step, mssqldb.UniqueIdentifier(target))
}

// OfRun lists the callbacks of a run, oldest first.
func (s Store) OfRun(ctx context.Context, execution uuid.UUID) ([]Callback, error) {
	return call.SelectAll[Callback](ctx, s.conn, "list callbacks", callbackColumns+`
WHERE job_execution_id = @p1
ORDER BY opened_at, step_id, target_server_name, target_database_name, attempt;`, execution)
}
