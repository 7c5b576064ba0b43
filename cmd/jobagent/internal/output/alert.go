package output

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/alerting"
)

// Alert is an alert: something that a rule has found. Its fields are those of the view jobs.alerts.
type Alert struct {
	ID              int64      `json:"alert_id"`
	Rule            string     `json:"alert_name"`
	Condition       string     `json:"condition"`
	Severity        string     `json:"severity"`
	State           string     `json:"state"` // Open, Acknowledged or Resolved
	SubjectKind     string     `json:"subject_kind"`
	Subject         string     `json:"subject"`
	JobID           *uuid.UUID `json:"job_id,omitempty"`
	JobName         string     `json:"job_name,omitempty"`
	Schedule        *string    `json:"schedule_name,omitempty"` // "": the schedule of the job's definition
	AgentID         *uuid.UUID `json:"agent_id,omitempty"`
	ExecutionID     *uuid.UUID `json:"job_execution_id,omitempty"`
	Occurrences     int64      `json:"occurrences"`
	FirstAt         time.Time  `json:"first_time"`
	LastAt          time.Time  `json:"last_time"`
	RaisedAt        time.Time  `json:"raised_time"`
	Title           string     `json:"title"`
	Message         string     `json:"message"`
	AcknowledgedAt  *time.Time `json:"acknowledged_time,omitempty"`
	AcknowledgedBy  string     `json:"acknowledged_by,omitempty"`
	AcknowledgeNote string     `json:"acknowledge_note,omitempty"`
	ResolvedAt      *time.Time `json:"resolved_time,omitempty"`
	ResolveReason   string     `json:"resolve_reason,omitempty"`
	NextAt          *time.Time `json:"next_notification_time,omitempty"`
	NotifiedAt      *time.Time `json:"notified_time,omitempty"`
	Notifications   int        `json:"notifications"`
	DeliveredAt     *time.Time `json:"delivered_time,omitempty"`
	Pending         int        `json:"pending_deliveries"`
	Attempts        int        `json:"delivery_attempts"`
	LastError       string     `json:"last_delivery_error,omitempty"`
}

// AlertDetail is an alert with its deliveries.
type AlertDetail struct {
	Alert      Alert           `json:"alert"`
	Deliveries []AlertDelivery `json:"deliveries"`
}

// AlertDelivery is a notification on its way to a channel.
type AlertDelivery struct{ alerting.Delivery }

// AlertRule is a rule: when an alert is raised, and who is told.
type AlertRule struct {
	Name            string     `json:"alert_name"`
	Description     string     `json:"description,omitempty"`
	Condition       string     `json:"condition"`
	JobName         string     `json:"job_name,omitempty"`
	JobPattern      string     `json:"job_pattern,omitempty"`
	Lifecycles      string     `json:"lifecycles,omitempty"`
	PercentFailed   float64    `json:"percent_failed,omitempty"`
	Factor          float64    `json:"factor,omitempty"`
	Runs            int        `json:"runs,omitempty"`
	Seconds         int        `json:"seconds"`
	Severity        string     `json:"severity"`
	ThrottleSeconds int        `json:"throttle_seconds"`
	RepeatSeconds   *int       `json:"repeat_seconds,omitempty"`
	NotifyResolved  bool       `json:"notify_resolved"`
	Enabled         bool       `json:"enabled"`
	MutedUntil      *time.Time `json:"muted_until,omitempty"`
	MutedBy         string     `json:"muted_by,omitempty"`
	MuteNote        string     `json:"mute_note,omitempty"`
	Channels        []string   `json:"channels"`
	OpenAlerts      int        `json:"open_alerts"`
	UpdatedAt       time.Time  `json:"updated_time"`
	PercentChanged  float64    `json:"percent_changed,omitempty"`
	GroupPattern    string     `json:"target_group_pattern,omitempty"`
}

// AlertName names a rule of alerts that was changed.
type AlertName struct {
	Name string `json:"alert_name"`
}

// AcknowledgedAlert names an alert that was acknowledged.
type AcknowledgedAlert struct {
	ID int64 `json:"alert_id"`
}

// AlertChannel is where notifications are sent.
type AlertChannel struct {
	Name         string          `json:"channel_name"`
	Type         string          `json:"channel_type"`
	Definition   json.RawMessage `json:"definition"`    // JSON object; secrets are templates
	NeedsSecrets bool            `json:"needs_secrets"` // only a process that can read them delivers
	Enabled      bool            `json:"enabled"`
	UpdatedAt    time.Time       `json:"updated_time"`
}

// AlertChannelName names a channel that was changed.
type AlertChannelName struct {
	Name string `json:"channel_name"`
}
