package targets

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs/action"
)

// ActionAttempt is one try of an action on one target.
type ActionAttempt struct {
	// Target is the database for which the action runs, or the endpoint.
	Target Target
	// Credential names the credential of the agent's configuration; empty means none.
	Credential string
	// Action is expanded: it contains no templates.
	Action *action.Definition
	// Key is the idempotency key: the same for all attempts of a step on a target.
	Key uuid.UUID
	// Number counts attempts from 1.
	Number int

	// JobName to DueAt describe the run, for headers, envelopes and the environment of a process.
	JobName        string
	JobExecutionID uuid.UUID
	StepID         int
	StepName       string
	// DueAt is the due instant of a scheduled run, or the run's creation.
	DueAt time.Time
	// ScheduleID is the schedule that started the run; empty for none.
	ScheduleID string
	// SAPJobID is the number of the job for clients of the SAP surface; empty for jobs of other
	// surfaces.
	SAPJobID string
	// SchedulerHost is the address of the REST front, without a slash at the end, to which clients
	// of the SAP surface report; empty if the agent has no such address.
	SchedulerHost string
	// CallbackURL is the URL that receives the report; empty for an action without callback.
	CallbackURL string
	// Payload is the run's parameters, a JSON object; empty for none.
	Payload string
	// Tenant is the tenant of the run's job. Credentials authenticate in its name (S-52).
	Tenant Tenant

	// TraceParent is the header traceparent (W3C Trace Context) of the request; empty means that
	// none is sent.
	TraceParent string

	// Begin records in the control database that the attempt is about to send. The runner calls
	// Begin once, right before the first byte of the request (or the start of the process), when
	// the connection is ready. The first byte must leave before the returned instant. An error
	// means that the attempt may not send: the runner returns NotSent.
	Begin func(ctx context.Context) (before time.Time, err error)
}

// Tenant is a tenant of the SAP surface. It is zero for jobs of T-SQL and of other surfaces.
type Tenant struct{ ID, Subdomain string }

// ActionRunner carries out actions of one kind. Run follows the contract of a runner in DESIGN.md.
type ActionRunner interface {
	Run(ctx context.Context, attempt ActionAttempt) Result
}
