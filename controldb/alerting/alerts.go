package alerting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/model"
)

// State is the state of an alert.
type State string

// The states of alerts.
const (
	AlertOpen         State = "Open"
	AlertAcknowledged State = "Acknowledged"
	AlertResolved     State = "Resolved"
)

// Alert is an alert: something that a rule has found. Its fields are those of the view jobs.alerts.
type Alert struct {
	ID          int64                `db:"alert_id" json:"alert_id"`
	Rule        string               `db:"alert_name" json:"alert_name"`
	Condition   model.AlertCondition `db:"condition" json:"condition"`
	Severity    string               `db:"severity" json:"severity"`
	State       State                `db:"state" json:"state"` // Open, Acknowledged or Resolved
	SubjectKind string               `db:"subject_kind" json:"subject_kind"`
	Subject     string               `db:"subject" json:"subject"`
	JobID       uuid.UUID            `db:"job_id" json:"job_id,omitzero"`
	// JobName is the job's name now; empty if there is no job, or it was deleted.
	JobName string `db:"job_name" json:"job_name,omitempty"`
	// Schedule is nil unless the alert is about a schedule.
	Schedule       *string   `db:"schedule_name" json:"schedule_name,omitempty"` // "": the schedule of the job's definition
	AgentID        uuid.UUID `db:"agent_id" json:"agent_id,omitzero"`
	JobExecutionID uuid.UUID `db:"job_execution_id" json:"job_execution_id,omitzero"`
	Occurrences    int64     `db:"occurrences" json:"occurrences"`
	FirstAt        time.Time `db:"first_time" json:"first_time"`
	LastAt         time.Time `db:"last_time" json:"last_time"`
	RaisedAt       time.Time `db:"raised_time" json:"raised_time"`
	Title          string    `db:"title" json:"title"`
	Message        string    `db:"message" json:"message"`

	AcknowledgedAt  time.Time `db:"acknowledged_time" json:"acknowledged_time,omitzero"`
	AcknowledgedBy  string    `db:"acknowledged_by" json:"acknowledged_by,omitempty"`
	AcknowledgeNote string    `db:"acknowledge_note" json:"acknowledge_note,omitempty"`
	ResolvedAt      time.Time `db:"resolved_time" json:"resolved_time,omitzero"`
	ResolveReason   string    `db:"resolve_reason" json:"resolve_reason,omitempty"`

	NextNotificationAt time.Time `db:"next_notification_time" json:"next_notification_time,omitzero"`
	NotifiedAt         time.Time `db:"notified_time" json:"notified_time,omitzero"`
	Notifications      int       `db:"notifications" json:"notifications"`
	DeliveredAt        time.Time `db:"delivered_time" json:"delivered_time,omitzero"`
	PendingDeliveries  int       `db:"pending_deliveries" json:"pending_deliveries"`
	DeliveryAttempts   int       `db:"delivery_attempts" json:"delivery_attempts"`
	LastDeliveryError  string    `db:"last_delivery_error" json:"last_delivery_error,omitempty"`
}

// Filter selects alerts. Zero values select all.
type Filter struct {
	// States are those of the alerts.
	States []State
	// Rule is the name of the rule when the alert was raised.
	Rule  string
	JobID uuid.UUID
	// Since is the earliest time at which an alert was raised.
	Since time.Time
	// ID is the one alert to read.
	ID int64
	// Behind is the ID of the last alert of the page before this one.
	Behind int64
	// Limit is the maximum number of alerts; 0 means 1000000.
	Limit int
}

// Alerts lists alerts, latest first.
func (s Store) Alerts(ctx context.Context, f Filter) ([]Alert, error) {
	w := call.NewFilter(f.Limit)
	if f.ID > 0 {
		w.Add("alert_id = %s", f.ID)
	}
	if f.Behind > 0 {
		w.Add("alert_id < %s", f.Behind)
	}
	if len(f.States) > 0 {
		names, err := json.Marshal(f.States)
		if err != nil {
			return nil, fmt.Errorf("write the states of alerts: %w", err)
		}
		w.Add("state IN (SELECT x.value FROM OPENJSON(%s) AS x)", string(names))
	}
	if f.Rule != "" {
		w.Add("alert_name = %s", f.Rule)
	}
	if f.JobID != uuid.Nil {
		w.Add("job_id = %s", mssqldb.UniqueIdentifier(f.JobID))
	}
	if !f.Since.IsZero() {
		w.Add("raised_time >= %s", call.Datetime2(f.Since))
	}
	return call.SelectAll[Alert](ctx, s.conn, "list alerts", `SELECT TOP (@p1) alert_id, alert_name, condition, severity, state, subject_kind, subject,
    job_id, job_name, schedule_name, agent_id, job_execution_id, occurrences, first_time, last_time, raised_time, title, message,
    acknowledged_time, acknowledged_by, acknowledge_note, resolved_time, resolve_reason, next_notification_time, notified_time,
    notifications, delivered_time, pending_deliveries, delivery_attempts, last_delivery_error
FROM jobs.alerts`+w.Text()+"\nORDER BY alert_id DESC;", w.Args...)
}

// Acknowledge acknowledges an alert: nothing is sent about it from then on. The note may be
// empty. It returns [dberror.ErrAlertNotFound] if there is no such alert.
func (s Store) Acknowledge(ctx context.Context, id int64, note string) error {
	return s.conn.Exec(ctx, "acknowledge the alert", call.New("jobs.sp_acknowledge_alert").In("alert_id", id).OptText("note", note))
}

// Rule is a row of the view jobs.alert_rules: when an alert is raised, and who is told.
type Rule struct {
	Name        string               `db:"alert_name" json:"alert_name"`
	Description string               `db:"description" json:"description,omitempty"`
	Condition   model.AlertCondition `db:"condition" json:"condition"`
	// JobName and JobID are of the one job that the rule watches. JobPattern, with * and ?, selects
	// several jobs. With none of them, the rule watches all jobs.
	JobName    string    `db:"job_name" json:"job_name,omitempty"`
	JobID      uuid.UUID `db:"job_id" json:"-"`
	JobPattern string    `db:"job_pattern" json:"job_pattern,omitempty"`
	// Lifecycles are separated by commas.
	Lifecycles string `db:"lifecycles" json:"lifecycles,omitempty"`
	// PercentFailed, Factor and Runs are 0 where the condition has none.
	PercentFailed float64 `db:"percent_failed" json:"percent_failed,omitempty"`
	Factor        float64 `db:"factor" json:"factor,omitempty"`
	Runs          int     `db:"runs" json:"runs,omitempty"`
	// Seconds is the grace period or the age of the condition.
	Seconds         int    `db:"seconds" json:"seconds"`
	Severity        string `db:"severity" json:"severity"`
	ThrottleSeconds int    `db:"throttle_seconds" json:"throttle_seconds"`
	// RepeatSeconds is nil if an open alert is not notified again without a new event.
	RepeatSeconds  *int `db:"repeat_seconds" json:"repeat_seconds,omitempty"`
	NotifyResolved bool `db:"notify_resolved" json:"notify_resolved"`
	Enabled        bool `db:"enabled" json:"enabled"`
	// MutedUntil is zero unless the rule was muted.
	MutedUntil time.Time `db:"muted_until" json:"muted_until,omitzero"`
	MutedBy    string    `db:"muted_by" json:"muted_by,omitempty"`
	MuteNote   string    `db:"mute_note" json:"mute_note,omitempty"`
	// Channels are the names of the channels.
	Channels   []string  `db:"channels" json:"channels"`
	OpenAlerts int       `db:"open_alerts" json:"open_alerts"`
	CreatedAt  time.Time `db:"created_time" json:"-"`
	UpdatedAt  time.Time `db:"updated_time" json:"updated_time"`
	// PercentChanged and GroupPattern are of TargetsChanged. GroupPattern, with * and ?, selects
	// target groups; without it, the rule watches all.
	PercentChanged float64 `db:"percent_changed" json:"percent_changed,omitempty"`
	GroupPattern   string  `db:"target_group_pattern" json:"target_group_pattern,omitempty"`
}

// Rules lists rules by name; with a name, only this one.
func (s Store) Rules(ctx context.Context, name string) ([]Rule, error) {
	w := call.NewFilter(0)
	if name != "" {
		w.Add("alert_name = %s", name)
	}
	return call.SelectAll[Rule](ctx, s.conn, "list alert rules", `SELECT TOP (@p1) alert_name, description, condition, job_name, job_id, job_pattern,
    lifecycles, CAST(percent_failed AS FLOAT) AS percent_failed, CAST(factor AS FLOAT) AS factor, runs, seconds, severity,
    throttle_seconds, repeat_seconds, notify_resolved, enabled, muted_until, muted_by, mute_note, channels, open_alerts,
    created_time, updated_time, CAST(percent_changed AS FLOAT) AS percent_changed, target_group_pattern
FROM jobs.alert_rules`+w.Text()+"\nORDER BY alert_name;", w.Args...)
}

// Channel is a row of the view jobs.alert_channels: where notifications are sent.
type Channel struct {
	Name string `db:"channel_name" json:"channel_name"`
	// Type is one of action.ChannelTypes.
	Type         string          `db:"channel_type" json:"channel_type"`
	Definition   json.RawMessage `db:"definition" json:"definition" doc:"JSON object; secrets are templates"`
	NeedsSecrets bool            `db:"needs_secrets" json:"needs_secrets" doc:"only a process that can read them delivers"`
	Enabled      bool            `db:"enabled" json:"enabled"`
	CreatedAt    time.Time       `db:"created_time" json:"-"`
	UpdatedAt    time.Time       `db:"updated_time" json:"updated_time"`
}

// Channels lists channels by name; with a name, only this one.
func (s Store) Channels(ctx context.Context, name string) ([]Channel, error) {
	w := call.NewFilter(0)
	if name != "" {
		w.Add("channel_name = %s", name)
	}
	return call.SelectAll[Channel](ctx, s.conn, "list alert channels", `SELECT TOP (@p1) channel_name, channel_type, definition, needs_secrets, enabled,
    created_time, updated_time
FROM jobs.alert_channels`+w.Text()+"\nORDER BY channel_name;", w.Args...)
}

// Delivery is a row of the view jobs.alert_deliveries: a notification on its way to a channel.
type Delivery struct {
	ID             int64     `db:"delivery_id" json:"delivery_id"`
	NotificationID uuid.UUID `db:"notification_id" json:"notification_id" doc:"webhook-id"`
	AlertID        int64     `db:"alert_id" json:"-"` // 0: a test or an event
	Channel        string    `db:"channel_name" json:"channel_name"`
	// Kind can also be Event.
	Kind          string    `db:"kind" json:"kind" doc:"Raised, Again, Resolved or Test"`
	Title         string    `db:"title" json:"-"`
	State         string    `db:"state" json:"state" doc:"Pending, Delivered, Failed or Canceled"`
	CreatedAt     time.Time `db:"created_time" json:"created_time"`
	NextAttemptAt time.Time `db:"next_attempt_time" json:"next_attempt_time,omitzero"`
	ExpiresAt     time.Time `db:"expires_time" json:"-"`
	Attempts      int       `db:"attempts" json:"attempts"`
	DeliveredAt   time.Time `db:"delivered_time" json:"delivered_time,omitzero"`
	DeliveredBy   string    `db:"delivered_by" json:"delivered_by,omitempty"`
	LastError     string    `db:"last_error" json:"last_error,omitempty"`
}

// DeliveryFilter selects deliveries. Zero values select all.
type DeliveryFilter struct {
	AlertID        int64
	NotificationID uuid.UUID
	// Limit is the maximum number of deliveries; 0 means 1000000.
	Limit int
}

// Deliveries lists deliveries, latest first.
func (s Store) Deliveries(ctx context.Context, f DeliveryFilter) ([]Delivery, error) {
	w := call.NewFilter(f.Limit)
	if f.AlertID > 0 {
		w.Add("alert_id = %s", f.AlertID)
	}
	if f.NotificationID != uuid.Nil {
		w.Add("notification_id = %s", mssqldb.UniqueIdentifier(f.NotificationID))
	}
	return call.SelectAll[Delivery](ctx, s.conn, "list alert deliveries", `SELECT TOP (@p1) delivery_id, notification_id, alert_id, channel_name, kind, title, state,
    created_time, next_attempt_time, expires_time, attempts, delivered_time, delivered_by, last_error
FROM jobs.alert_deliveries`+w.Text()+"\nORDER BY delivery_id DESC;", w.Args...)
}
