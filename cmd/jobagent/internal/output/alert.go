package output

import (
	"github.com/jobagent/jobagent/controldb/alerting"
)

// AlertDetail is an alert with its deliveries.
type AlertDetail struct {
	Alert      alerting.Alert  `json:"alert"`
	Deliveries []AlertDelivery `json:"deliveries"`
}

// AlertDelivery is a notification on its way to a channel.
type AlertDelivery struct{ alerting.Delivery }

// AlertRule is a rule: when an alert is raised, and who is told.
type AlertRule struct{ alerting.Rule }

// AlertName names a rule of alerts that was changed.
type AlertName struct {
	Name string `json:"alert_name"`
}

// AcknowledgedAlert names an alert that was acknowledged.
type AcknowledgedAlert struct {
	ID int64 `json:"alert_id"`
}

// AlertChannel is where notifications are sent.
type AlertChannel struct{ alerting.Channel }

// AlertChannelName names a channel that was changed.
type AlertChannelName struct {
	Name string `json:"channel_name"`
}
