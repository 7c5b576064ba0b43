package controldb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
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
func (a AlertChange) arguments(c *call) (*call, error) {
	opt(c, "job_name", a.JobName)
	opt(c, "job_pattern", a.JobPattern)
	opt(c, "lifecycles", a.Lifecycles)
	opt(c, "percent_failed", a.PercentFailed)
	opt(c, "factor", a.Factor)
	for name, n := range map[string]*int{"runs": a.Runs, "seconds": a.Seconds, "throttle_seconds": a.Throttle, "repeat_seconds": a.Repeat} {
		if n != nil {
			c.in(name, int64(*n))
		}
	}
	opt(c, "severity", a.Severity)
	opt(c, "notify_resolved", a.NotifyResolved)
	opt(c, "description", a.Description)
	opt(c, "enabled", a.Enabled)
	opt(c, "percent_changed", a.PercentChanged)
	opt(c, "target_group_pattern", a.GroupPattern)
	if a.Channels != nil {
		names := *a.Channels
		if names == nil {
			names = []string{}
		}
		text, err := json.Marshal(names)
		if err != nil {
			return nil, fmt.Errorf("write the channels of an alert: %w", err)
		}
		c.in("channels", string(text))
	}
	return c, nil
}

// AddAlert adds a rule.
func (s *Store) AddAlert(ctx context.Context, name string, condition AlertCondition, a AlertChange) error {
	c, err := a.arguments(newCall("jobs.sp_add_alert").in("alert_name", name).in("condition", string(condition)))
	if err != nil {
		return err
	}
	return s.exec(ctx, "add the alert", c)
}

// UpdateAlert changes a rule. It returns [ErrAlertNotFound] if there is no such rule.
func (s *Store) UpdateAlert(ctx context.Context, name string, a AlertChange) error {
	c, err := a.arguments(newCall("jobs.sp_update_alert").in("alert_name", name))
	if err != nil {
		return err
	}
	return s.exec(ctx, "update the alert", c)
}

// DeleteAlert deletes a rule; its history stays.
func (s *Store) DeleteAlert(ctx context.Context, name string) error {
	return s.exec(ctx, "delete the alert", newCall("jobs.sp_delete_alert").in("alert_name", name))
}

// MuteAlert mutes a rule for some time, at least a minute; 0 ends that. The note may be empty.
func (s *Store) MuteAlert(ctx context.Context, name string, d time.Duration, note string) error {
	c := newCall("jobs.sp_mute_alert").in("alert_name", name)
	if d > 0 {
		c.in("minutes", max(1, int64((d+time.Minute-1)/time.Minute)))
	}
	return s.exec(ctx, "mute the alert", c.optText("note", note))
}

// AddAlertChannel adds a channel.
func (s *Store) AddAlertChannel(ctx context.Context, name, kind, definition string, enabled bool) error {
	return s.exec(ctx, "add the alert channel", newCall("jobs.sp_add_alert_channel").
		in("channel_name", name).in("channel_type", kind).in("definition", definition).in("enabled", enabled))
}

// UpdateAlertChannel changes a channel; nil keeps a value.
func (s *Store) UpdateAlertChannel(ctx context.Context, name string, definition *string, enabled *bool) error {
	c := newCall("jobs.sp_update_alert_channel").in("channel_name", name)
	opt(c, "definition", definition)
	opt(c, "enabled", enabled)
	return s.exec(ctx, "update the alert channel", c)
}

// DeleteAlertChannel deletes a channel that no rule uses.
func (s *Store) DeleteAlertChannel(ctx context.Context, name string) error {
	return s.exec(ctx, "delete the alert channel", newCall("jobs.sp_delete_alert_channel").in("channel_name", name))
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
	err := s.query(ctx, "test the alert",
		newCall("jobs.sp_test_alert").optText("channel_name", channel).optText("alert_name", rule), into(&tests))
	return tests, err
}

// EvaluateAlerts evaluates the rules of alerts, unless an evaluation has begun less than interval
// ago. more means that more runs have ended than one evaluation takes.
func (s *Store) EvaluateAlerts(ctx context.Context, interval time.Duration) (more bool, err error) {
	err = s.query(ctx, "evaluate alerts",
		newCall("jobs_internal.evaluate_alerts").in("min_seconds", int64(interval/time.Second)), scanOne(&more))
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
	err := s.query(ctx, "claim deliveries of alerts", newCall("jobs_internal.claim_alert_deliveries").
		in("holder", mssqldb.UniqueIdentifier(c.Holder)).in("channel_types", c.Types).in("with_secrets", c.Secrets).
		in("max", int64(c.Max)).in("lease_seconds", seconds(c.Lease)), into(&work))
	return work, err
}

// BeginAlertDelivery reports whether the holder of a delivery may send now: its lease lasts, and
// the alert was not acknowledged.
func (s *Store) BeginAlertDelivery(ctx context.Context, id int64, holder uuid.UUID) (permitted bool, err error) {
	err = s.exec(ctx, "begin the delivery of an alert", newCall("jobs_internal.begin_alert_delivery").
		in("delivery_id", id).in("holder", mssqldb.UniqueIdentifier(holder)).out("permitted", &permitted))
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
	c := newCall("jobs_internal.end_alert_delivery").in("delivery_id", r.ID).in("holder", mssqldb.UniqueIdentifier(r.Holder)).
		in("outcome", string(r.Outcome)).optText("error", r.Error).optText("delivered_by", r.By)
	if r.RetryAfter > 0 {
		c.in("retry_after_ms", min(r.RetryAfter, time.Hour).Milliseconds())
	}
	return s.exec(ctx, "end the delivery of an alert", c)
}

// AlertSecret returns a sealed secret that the definition of an alert channel names. It returns
// [ErrSecretNotFound] if there is no such secret, or no channel names it.
func (s *Store) AlertSecret(ctx context.Context, name string) (SealedSecret, error) {
	var res SealedSecret
	err := s.readSealed(ctx, "read secret", newCall("jobs_internal.get_alert_secret").in("name", name), &res)
	return res, err
}
