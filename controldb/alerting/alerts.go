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

// Condition is what a rule watches.
type Condition = model.AlertCondition

// The conditions.
const (
	AlertRunEnded             = model.AlertRunEnded
	AlertTargetsFailed        = model.AlertTargetsFailed
	AlertRunTooLong           = model.AlertRunTooLong
	AlertRunNotStarted        = model.AlertRunNotStarted
	AlertNoRun                = model.AlertNoRun
	AlertScheduleFaulted      = model.AlertScheduleFaulted
	AlertSchedulePaused       = model.AlertSchedulePaused
	AlertAgentSilent          = model.AlertAgentSilent
	AlertNoAgent              = model.AlertNoAgent
	AlertRolloutStopped       = model.AlertRolloutStopped
	AlertRolloutApprovalWaits = model.AlertRolloutApprovalWaits
	AlertRolloutBakeEnds      = model.AlertRolloutBakeEnds
	AlertRolloutDeadlineNear  = model.AlertRolloutDeadlineNear
	AlertTargetsChanged       = model.AlertTargetsChanged
)

// Alert is a row of the view jobs.alerts. Zero times and ids mean that there is none.
type Alert struct {
	ID          int64     `db:"alert_id"`
	Rule        string    `db:"alert_name"`
	Condition   Condition `db:"condition"`
	Severity    string    `db:"severity"` // Info, Warning or Critical
	State       State     `db:"state"`
	SubjectKind string    `db:"subject_kind"` // Job, Schedule, Agent, TargetGroup or ControlDatabase
	Subject     string    `db:"subject"`
	JobID       uuid.UUID `db:"job_id"`
	// JobName is the job's name now; empty if there is no job, or it was deleted.
	JobName string `db:"job_name"`
	// Schedule is nil unless the alert is about a schedule; "" is the schedule of jobs.sp_add_job.
	Schedule       *string   `db:"schedule_name"`
	AgentID        uuid.UUID `db:"agent_id"`
	JobExecutionID uuid.UUID `db:"job_execution_id"` // the latest run that raised it
	Occurrences    int64     `db:"occurrences"`
	FirstAt        time.Time `db:"first_time"`
	LastAt         time.Time `db:"last_time"`
	RaisedAt       time.Time `db:"raised_time"`
	Title          string    `db:"title"`
	Message        string    `db:"message"`

	AcknowledgedAt  time.Time `db:"acknowledged_time"`
	AcknowledgedBy  string    `db:"acknowledged_by"`
	AcknowledgeNote string    `db:"acknowledge_note"`
	ResolvedAt      time.Time `db:"resolved_time"`
	ResolveReason   string    `db:"resolve_reason"`

	NextNotificationAt time.Time `db:"next_notification_time"`
	NotifiedAt         time.Time `db:"notified_time"`
	Notifications      int       `db:"notifications"`
	DeliveredAt        time.Time `db:"delivered_time"`
	PendingDeliveries  int       `db:"pending_deliveries"`
	DeliveryAttempts   int       `db:"delivery_attempts"`
	LastDeliveryError  string    `db:"last_delivery_error"`
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
	Name        string    `db:"alert_name"`
	Description string    `db:"description"`
	Condition   Condition `db:"condition"`
	// JobName and JobID are of the one job that the rule watches. JobPattern, with * and ?, selects
	// several jobs. With none of them, the rule watches all jobs.
	JobName    string    `db:"job_name"`
	JobID      uuid.UUID `db:"job_id"`
	JobPattern string    `db:"job_pattern"`
	// Lifecycles are separated by commas.
	Lifecycles string `db:"lifecycles"`
	// PercentFailed, Factor and Runs are 0 where the condition has none.
	PercentFailed float64 `db:"percent_failed"`
	Factor        float64 `db:"factor"`
	Runs          int     `db:"runs"`
	// Seconds is the grace period or the age of the condition.
	Seconds         int    `db:"seconds"`
	Severity        string `db:"severity"`
	ThrottleSeconds int    `db:"throttle_seconds"`
	// RepeatSeconds is nil if an open alert is not notified again without a new event.
	RepeatSeconds  *int `db:"repeat_seconds"`
	NotifyResolved bool `db:"notify_resolved"`
	Enabled        bool `db:"enabled"`
	// MutedUntil is zero unless the rule was muted.
	MutedUntil time.Time `db:"muted_until"`
	MutedBy    string    `db:"muted_by"`
	MuteNote   string    `db:"mute_note"`
	// ChannelNames is a JSON array of the names of the channels.
	ChannelNames json.RawMessage `db:"channels"`
	OpenAlerts   int             `db:"open_alerts"`
	CreatedAt    time.Time       `db:"created_time"`
	UpdatedAt    time.Time       `db:"updated_time"`
	// PercentChanged and GroupPattern are of TargetsChanged. GroupPattern, with * and ?, selects
	// target groups; without it, the rule watches all.
	PercentChanged float64 `db:"percent_changed"`
	GroupPattern   string  `db:"target_group_pattern"`
}

// Channels returns the names of the channels.
func (r Rule) Channels() ([]string, error) {
	if len(r.ChannelNames) == 0 {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal(r.ChannelNames, &names); err != nil {
		return nil, fmt.Errorf("read the channels of the alert %q: %w", r.Name, err)
	}
	return names, nil
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
	Name string `db:"channel_name"`
	// Type is one of action.ChannelTypes.
	Type string `db:"channel_type"`
	// Definition is a JSON object in which secrets are templates $(secret.NAME).
	Definition string `db:"definition"`
	// NeedsSecrets says that only a process that can read the secrets delivers here.
	NeedsSecrets bool      `db:"needs_secrets"`
	Enabled      bool      `db:"enabled"`
	CreatedAt    time.Time `db:"created_time"`
	UpdatedAt    time.Time `db:"updated_time"`
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
	Leased        bool      `db:"is_leased" json:"-"`
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
    created_time, next_attempt_time, expires_time, attempts, is_leased, delivered_time, delivered_by, last_error
FROM jobs.alert_deliveries`+w.Text()+"\nORDER BY delivery_id DESC;", w.Args...)
}
