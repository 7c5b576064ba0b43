package controldb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// AlertChange adds or changes a rule of alerts. Nil fields have the defaults of
// jobs.sp_add_alert, or stay as they are.
type AlertChange struct {
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
func (a AlertChange) arguments(c *call.Call) (*call.Call, error) {
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

// AddAlert adds a rule.
func (s *Store) AddAlert(ctx context.Context, name string, condition AlertCondition, a AlertChange) error {
	c, err := a.arguments(call.New("jobs.sp_add_alert").In("alert_name", name).In("condition", string(condition)))
	if err != nil {
		return err
	}
	return s.conn.Exec(ctx, "add the alert", c)
}

// UpdateAlert changes a rule. It returns [dberror.ErrAlertNotFound] if there is no such rule.
func (s *Store) UpdateAlert(ctx context.Context, name string, a AlertChange) error {
	c, err := a.arguments(call.New("jobs.sp_update_alert").In("alert_name", name))
	if err != nil {
		return err
	}
	return s.conn.Exec(ctx, "update the alert", c)
}

// DeleteAlert deletes a rule; its history stays.
func (s *Store) DeleteAlert(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete the alert", call.New("jobs.sp_delete_alert").In("alert_name", name))
}

// MuteAlert mutes a rule for some time, at least a minute; 0 ends that. The note may be empty.
func (s *Store) MuteAlert(ctx context.Context, name string, d time.Duration, note string) error {
	c := call.New("jobs.sp_mute_alert").In("alert_name", name)
	if d > 0 {
		c.In("minutes", max(1, int64((d+time.Minute-1)/time.Minute)))
	}
	return s.conn.Exec(ctx, "mute the alert", c.OptText("note", note))
}

// AddAlertChannel adds a channel.
func (s *Store) AddAlertChannel(ctx context.Context, name, kind, definition string, enabled bool) error {
	return s.conn.Exec(ctx, "add the alert channel", call.New("jobs.sp_add_alert_channel").
		In("channel_name", name).In("channel_type", kind).In("definition", definition).In("enabled", enabled))
}

// UpdateAlertChannel changes a channel; nil keeps a value.
func (s *Store) UpdateAlertChannel(ctx context.Context, name string, definition *string, enabled *bool) error {
	c := call.New("jobs.sp_update_alert_channel").In("channel_name", name)
	call.Opt(c, "definition", definition)
	call.Opt(c, "enabled", enabled)
	return s.conn.Exec(ctx, "update the alert channel", c)
}

// DeleteAlertChannel deletes a channel that no rule uses.
func (s *Store) DeleteAlertChannel(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete the alert channel", call.New("jobs.sp_delete_alert_channel").In("channel_name", name))
}

// AlertTest is a test notification on its way to a channel.
type AlertTest struct {
	Channel        string    `db:"channel_name"`
	NotificationID uuid.UUID `db:"notification_id"`
}

// TestAlert sends a test notification to a channel or, if channel is empty, to all channels of a
// rule.
func (s *Store) TestAlert(ctx context.Context, channel, rule string) ([]AlertTest, error) {
	var tests []AlertTest
	err := s.conn.Query(ctx, "test the alert",
		call.New("jobs.sp_test_alert").OptText("channel_name", channel).OptText("alert_name", rule), call.Into(&tests))
	return tests, err
}

// EvaluateAlerts evaluates the rules of alerts, unless an evaluation has begun less than interval
// ago. more means that more runs have ended than one evaluation takes.
func (s *Store) EvaluateAlerts(ctx context.Context, interval time.Duration) (more bool, err error) {
	err = s.conn.Query(ctx, "evaluate alerts",
		call.New("jobs_internal.evaluate_alerts").In("min_seconds", int64(interval/time.Second)), call.ScanOne(&more))
	return more, err
}

// AlertWork is a delivery that a process has claimed. Zero values mean that there is none.
type AlertWork struct {
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

// AlertClaim is what a process can deliver.
type AlertClaim struct {
	// Holder identifies the process.
	Holder uuid.UUID
	// Types are the types of channels, separated by commas.
	Types string
	// Secrets says that the process can read secrets.
	Secrets bool
	Max     int
	Lease   time.Duration
}

// ClaimAlertDeliveries leases deliveries that are due.
func (s *Store) ClaimAlertDeliveries(ctx context.Context, c AlertClaim) ([]AlertWork, error) {
	var work []AlertWork
	err := s.conn.Query(ctx, "claim deliveries of alerts", call.New("jobs_internal.claim_alert_deliveries").
		In("holder", mssqldb.UniqueIdentifier(c.Holder)).In("channel_types", c.Types).In("with_secrets", c.Secrets).
		In("max", int64(c.Max)).In("lease_seconds", call.Seconds(c.Lease)), call.Into(&work))
	return work, err
}

// BeginAlertDelivery reports whether the holder of a delivery may send now: its lease lasts, and
// the alert was not acknowledged.
func (s *Store) BeginAlertDelivery(ctx context.Context, id int64, holder uuid.UUID) (permitted bool, err error) {
	err = s.conn.Exec(ctx, "begin the delivery of an alert", call.New("jobs_internal.begin_alert_delivery").
		In("delivery_id", id).In("holder", mssqldb.UniqueIdentifier(holder)).Out("permitted", &permitted))
	return permitted, err
}

// AlertOutcome is how an attempt to deliver ended.
type AlertOutcome string

// The outcomes.
const (
	AlertDelivered AlertOutcome = "Delivered"
	AlertFailed    AlertOutcome = "Failed"   // it is tried again
	AlertGivenUp   AlertOutcome = "GivenUp"  // it is not
	AlertReturned  AlertOutcome = "Returned" // nothing was sent, for reasons of the process
)

// AlertResult is the result of an attempt to deliver.
type AlertResult struct {
	ID      int64
	Holder  uuid.UUID
	Outcome AlertOutcome
	Error   string
	// RetryAfter is the least wait that the receiver asked for.
	RetryAfter time.Duration
	// By is the name of the process, for display.
	By string
}

// EndAlertDelivery records the result of an attempt to deliver.
func (s *Store) EndAlertDelivery(ctx context.Context, r AlertResult) error {
	c := call.New("jobs_internal.end_alert_delivery").In("delivery_id", r.ID).In("holder", mssqldb.UniqueIdentifier(r.Holder)).
		In("outcome", string(r.Outcome)).OptText("error", r.Error).OptText("delivered_by", r.By)
	if r.RetryAfter > 0 {
		c.In("retry_after_ms", min(r.RetryAfter, time.Hour).Milliseconds())
	}
	return s.conn.Exec(ctx, "end the delivery of an alert", c)
}

// AlertSecret returns a sealed secret that the definition of an alert channel names. It returns
// [dberror.ErrSecretNotFound] if there is no such secret, or no channel names it.
func (s *Store) AlertSecret(ctx context.Context, name string) (SealedSecret, error) {
	var res SealedSecret
	err := s.readSealed(ctx, "read secret", call.New("jobs_internal.get_alert_secret").In("name", name), &res)
	return res, err
}
