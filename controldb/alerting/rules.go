package alerting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/model"
)

// Change adds or changes a rule of alerts. Nil fields have the defaults of
// jobs.sp_add_alert, or stay as they are.
type Change struct {
	// JobName is the one job to watch, and JobPattern selects jobs with * and ?; "" removes the
	// scope.
	JobName, JobPattern *string
	// Lifecycles are separated by commas.
	Lifecycles     *string
	PercentFailed  *float64
	Factor         *float64
	Runs           *int
	Seconds        *int
	Severity       *string
	Channels       *[]string // replaces the list
	Throttle       *int      // in seconds
	Repeat         *int      // in seconds; 0: never
	NotifyResolved *bool
	Description    *string
	Enabled        *bool
	// PercentChanged and GroupPattern are of TargetsChanged; "" removes the pattern.
	PercentChanged *float64
	GroupPattern   *string
}

// arguments adds the change to a call.
func (a Change) arguments(c *call.Call) (*call.Call, error) {
	call.Opt(c, "job_name", a.JobName)
	call.Opt(c, "job_pattern", a.JobPattern)
	call.Opt(c, "lifecycles", a.Lifecycles)
	call.Opt(c, "percent_failed", a.PercentFailed)
	call.Opt(c, "factor", a.Factor)
	for name, n := range map[string]*int{"runs": a.Runs, "seconds": a.Seconds, "throttle_seconds": a.Throttle, "repeat_seconds": a.Repeat} {
		if n != nil {
			c.In(name, int64(*n))
		}
	}
	call.Opt(c, "severity", a.Severity)
	call.Opt(c, "notify_resolved", a.NotifyResolved)
	call.Opt(c, "description", a.Description)
	call.Opt(c, "enabled", a.Enabled)
	call.Opt(c, "percent_changed", a.PercentChanged)
	call.Opt(c, "target_group_pattern", a.GroupPattern)
	if a.Channels != nil {
		names := *a.Channels
		if names == nil {
			names = []string{}
		}
		text, err := json.Marshal(names)
		if err != nil {
			return nil, fmt.Errorf("write the channels of an alert: %w", err)
		}
		c.In("channels", string(text))
	}
	return c, nil
}

// AddRule adds a rule.
func (s Store) AddRule(ctx context.Context, name string, condition model.AlertCondition, a Change) error {
	c, err := a.arguments(call.New("jobs.sp_add_alert").In("alert_name", name).In("condition", string(condition)))
	if err != nil {
		return err
	}
	return s.conn.Exec(ctx, "add the alert", c)
}

// UpdateRule changes a rule. It returns [dberror.ErrAlertNotFound] if there is no such rule.
func (s Store) UpdateRule(ctx context.Context, name string, a Change) error {
	c, err := a.arguments(call.New("jobs.sp_update_alert").In("alert_name", name))
	if err != nil {
		return err
	}
	return s.conn.Exec(ctx, "update the alert", c)
}

// DeleteRule deletes a rule; its history stays.
func (s Store) DeleteRule(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete the alert", call.New("jobs.sp_delete_alert").In("alert_name", name))
}

// Mute mutes a rule for some time, at least a minute; 0 ends that. The note may be empty.
func (s Store) Mute(ctx context.Context, name string, d time.Duration, note string) error {
	c := call.New("jobs.sp_mute_alert").In("alert_name", name)
	if d > 0 {
		c.In("minutes", max(1, int64((d+time.Minute-1)/time.Minute)))
	}
	return s.conn.Exec(ctx, "mute the alert", c.OptText("note", note))
}

// AddChannel adds a channel.
func (s Store) AddChannel(ctx context.Context, name, kind, definition string, enabled bool) error {
	return s.conn.Exec(ctx, "add the alert channel", call.New("jobs.sp_add_alert_channel").
		In("channel_name", name).In("channel_type", kind).In("definition", definition).In("enabled", enabled))
}

// UpdateChannel changes a channel; nil keeps a value.
func (s Store) UpdateChannel(ctx context.Context, name string, definition *string, enabled *bool) error {
	c := call.New("jobs.sp_update_alert_channel").In("channel_name", name)
	call.Opt(c, "definition", definition)
	call.Opt(c, "enabled", enabled)
	return s.conn.Exec(ctx, "update the alert channel", c)
}

// DeleteChannel deletes a channel that no rule uses.
func (s Store) DeleteChannel(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete the alert channel", call.New("jobs.sp_delete_alert_channel").In("channel_name", name))
}

// Trial is a test notification on its way to a channel.
type Trial struct {
	Channel        string    `db:"channel_name"`
	NotificationID uuid.UUID `db:"notification_id"`
}

// Test sends a test notification to a channel or, if channel is empty, to all channels of a
// rule.
func (s Store) Test(ctx context.Context, channel, rule string) ([]Trial, error) {
	var tests []Trial
	err := s.conn.Query(ctx, "test the alert",
		call.New("jobs.sp_test_alert").OptText("channel_name", channel).OptText("alert_name", rule), call.Into(&tests))
	return tests, err
}

// Evaluate evaluates the rules of alerts, unless an evaluation has begun less than interval
// ago. more means that more runs have ended than one evaluation takes.
func (s Store) Evaluate(ctx context.Context, interval time.Duration) (more bool, err error) {
	err = s.conn.Query(ctx, "evaluate alerts",
		call.New("jobs_internal.evaluate_alerts").In("min_seconds", int64(interval/time.Second)), call.ScanOne(&more))
	return more, err
}

// Work is a delivery that a process has claimed. Zero values mean that there is none.
type Work struct {
	ID             int64     `db:"delivery_id"`
	NotificationID uuid.UUID `db:"notification_id"`
	Attempt        int       `db:"attempts"` // counts from 1
	Kind           string    `db:"kind"`     // Raised, Again, Resolved, Test or Event
	Title          string    `db:"title"`
	Message        string    `db:"message"`
	Occurrences    int64     `db:"occurrences"`
	LastAt         time.Time `db:"last_time"`
	CreatedAt      time.Time `db:"created_time"`
	Channel        string    `db:"channel_name"`
	ChannelType    string    `db:"channel_type"`
	Definition     string    `db:"definition"`
	// Event is a JSON object, which receivers get in place of the notification; empty unless the
	// kind is Event.
	Event string `db:"event"`

	// The alert; of a test, all of these are zero, and of an event all but JobExecutionID.
	AlertID        int64     `db:"alert_id"`
	Rule           string    `db:"alert_name"`
	Condition      string    `db:"condition"` // an AlertCondition
	Severity       string    `db:"severity"`
	SubjectKind    string    `db:"subject_kind"`
	Subject        string    `db:"subject"`
	JobID          uuid.UUID `db:"job_id"`
	JobName        string    `db:"job_name"`
	Schedule       *string   `db:"schedule_name"`
	AgentID        uuid.UUID `db:"agent_id"`
	JobExecutionID uuid.UUID `db:"job_execution_id"`
	FirstAt        time.Time `db:"first_time"`

	// The first target of an ended run that failed; FailedServer is empty if there is none.
	FailedServer   string `db:"failed_server_name"`
	FailedDatabase string `db:"failed_database_name"` // empty: an endpoint
	FailedError    int    `db:"failed_error_number"`  // 0: not an error of the server
	FailedMessage  string `db:"failed_message"`
}

// Claim is what a process can deliver.
type Claim struct {
	// Holder identifies the process.
	Holder uuid.UUID
	// Types are the types of channels, separated by commas.
	Types string
	// Secrets says that the process can read secrets.
	Secrets bool
	Max     int
	Lease   time.Duration
}

// ClaimDeliveries leases deliveries that are due.
func (s Store) ClaimDeliveries(ctx context.Context, c Claim) ([]Work, error) {
	var work []Work
	err := s.conn.Query(ctx, "claim deliveries of alerts", call.New("jobs_internal.claim_alert_deliveries").
		In("holder", mssqldb.UniqueIdentifier(c.Holder)).In("channel_types", c.Types).In("with_secrets", c.Secrets).
		In("max", int64(c.Max)).In("lease_seconds", call.Seconds(c.Lease)), call.Into(&work))
	return work, err
}

// BeginDelivery reports whether the holder of a delivery may send now: its lease lasts, and
// the alert was not acknowledged.
func (s Store) BeginDelivery(ctx context.Context, id int64, holder uuid.UUID) (permitted bool, err error) {
	err = s.conn.Exec(ctx, "begin the delivery of an alert", call.New("jobs_internal.begin_alert_delivery").
		In("delivery_id", id).In("holder", mssqldb.UniqueIdentifier(holder)).Out("permitted", &permitted))
	return permitted, err
}

// Outcome is how an attempt to deliver ended.
type Outcome string

// The outcomes.
const (
	AlertDelivered Outcome = "Delivered"
	AlertFailed    Outcome = "Failed"   // it is tried again
	AlertGivenUp   Outcome = "GivenUp"  // it is not
	AlertReturned  Outcome = "Returned" // nothing was sent, for reasons of the process
)

// Result is the result of an attempt to deliver.
type Result struct {
	ID      int64
	Holder  uuid.UUID
	Outcome Outcome
	Error   string
	// RetryAfter is the least wait that the receiver asked for.
	RetryAfter time.Duration
	// By is the name of the process, for display.
	By string
}

// EndDelivery records the result of an attempt to deliver.
func (s Store) EndDelivery(ctx context.Context, r Result) error {
	c := call.New("jobs_internal.end_alert_delivery").In("delivery_id", r.ID).In("holder", mssqldb.UniqueIdentifier(r.Holder)).
		In("outcome", string(r.Outcome)).OptText("error", r.Error).OptText("delivered_by", r.By)
	if r.RetryAfter > 0 {
		c.In("retry_after_ms", min(r.RetryAfter, time.Hour).Milliseconds())
	}
	return s.conn.Exec(ctx, "end the delivery of an alert", c)
}

// Secret returns a sealed secret that the definition of an alert channel names. It returns
// [dberror.ErrSecretNotFound] if there is no such secret, or no channel names it.
func (s Store) Secret(ctx context.Context, name string) (secrets.Sealed, error) {
	var res secrets.Sealed
	err := secrets.ReadSealed(ctx, s.conn, "read secret", call.New("jobs_internal.get_alert_secret").In("name", name), &res)
	return res, err
}
