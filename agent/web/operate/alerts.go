package operate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
)

const topicAlerts = "alerts"

var alertBlocks = []string{"alerts-open"}

const (
	maxOpenAlerts = 200
	alertRows     = 50
	deliveryRows  = 50
)

// alertsData is what the page of alerts shows.
type alertsData struct {
	clock
	Open []alerting.Alert
	// Resolved are the alerts that are over, latest first, and Older leads to those before.
	Resolved   []alerting.Alert
	Older      string
	Rules      []alerting.Rule
	Channels   []alerting.Channel
	Deliveries []alerting.Delivery // those that wait for another attempt, or failed
}

func alertsPage(ctx context.Context, r *page.Request) (*page.View, error) {
	d, err := readOpenAlerts(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	d.ages, d.Now = true, r.Now
	behind, err := strconv.ParseInt(r.Query("behind"), 10, 64)
	if err != nil || behind < 0 {
		behind = 0 // the first page
	}
	d.Resolved, err = alerting.On(r.Store).Alerts(ctx, alerting.Filter{
		States: []alerting.State{alerting.AlertResolved}, Behind: behind, Limit: alertRows + 1,
	})
	if err != nil {
		return nil, err
	}
	if len(d.Resolved) > alertRows {
		d.Resolved = d.Resolved[:alertRows]
		d.Older = fmt.Sprintf("?behind=%d", d.Resolved[alertRows-1].ID)
	}
	if d.Rules, err = alerting.On(r.Store).Rules(ctx, ""); err != nil {
		return nil, err
	}
	if d.Channels, err = alerting.On(r.Store).Channels(ctx, ""); err != nil {
		return nil, err
	}
	deliveries, err := alerting.On(r.Store).Deliveries(ctx, alerting.DeliveryFilter{Limit: deliveryRows})
	if err != nil {
		return nil, err
	}
	for _, one := range deliveries {
		if one.State == "Failed" || one.State == "Pending" && one.Attempts > 0 {
			d.Deliveries = append(d.Deliveries, one)
		}
	}
	return &page.View{
		Title: "Alerts", Nav: "alerts", Template: "alerts", Data: d, Topic: topicAlerts,
		Actions: []page.Link{
			{Text: "New alert rule", Href: r.Path("new", "alert-rule"), Role: rest.RoleAuthor},
			{Text: "New channel", Href: r.Path("new", "alert-channel"), Role: rest.RoleAuthor},
		},
		Equivalents: append(page.CLI("alert", "list"), page.Equivalent{Door: page.DoorTSQL,
			Text: "SELECT * FROM jobs.alerts WHERE state <> N'Resolved';\nSELECT * FROM jobs.alert_rules;\nSELECT TOP (50) * FROM jobs.alert_deliveries ORDER BY delivery_id DESC;"}),
	}, nil
}

// readOpenAlerts reads the alerts that are not over.
func readOpenAlerts(ctx context.Context, store *controldb.Store) (*alertsData, error) {
	list, err := alerting.On(store).Alerts(ctx, alerting.Filter{
		States: []alerting.State{alerting.AlertOpen, alerting.AlertAcknowledged}, Limit: maxOpenAlerts + 1,
	})
	if err != nil {
		return nil, err
	}
	return &alertsData{Open: list}, nil
}

// ShownOpen are the open alerts that the page lists; More reports whether there are others.
func (d *alertsData) ShownOpen() []alerting.Alert { return d.Open[:min(len(d.Open), maxOpenAlerts)] }

// More is described at ShownOpen.
func (d *alertsData) More() bool { return len(d.Open) > maxOpenAlerts }

// Watches says in words what a rule watches.
func (d *alertsData) Watches(r alerting.Rule) string {
	of := "any job"
	switch {
	case r.JobName != "":
		of = "the job " + r.JobName
	case r.JobPattern != "":
		of = "a job whose name matches " + r.JobPattern
	}
	age := page.LengthText(time.Duration(r.Seconds) * time.Second)
	switch r.Condition {
	case model.AlertRunEnded:
		return fmt.Sprintf("A run of %s ends as %s.", of, strings.ReplaceAll(r.Lifecycles, ",", " or "))
	case model.AlertTargetsFailed:
		return fmt.Sprintf("At least %g %% of the targets of a run of %s do not succeed.", r.PercentFailed, of)
	case model.AlertRunTooLong:
		return fmt.Sprintf("A run of %s takes longer than %g times the median.", of, r.Factor)
	case model.AlertRunNotStarted:
		return fmt.Sprintf("A run of %s that is due has not begun after %s, or is set aside for as long.", of, age)
	case model.AlertNoRun:
		return fmt.Sprintf("There was no run of %s for %s.", of, age)
	case model.AlertScheduleFaulted:
		return fmt.Sprintf("A schedule of %s becomes Faulted.", of)
	case model.AlertSchedulePaused:
		return fmt.Sprintf("A schedule of %s is paused for %s.", of, age)
	case model.AlertAgentSilent:
		return fmt.Sprintf("An agent is silent for %s.", age)
	case model.AlertNoAgent:
		return fmt.Sprintf("No agent is alive for %s.", age)
	case model.AlertRolloutStopped:
		return fmt.Sprintf("A roll-out of %s stops at a gate, at its deadline, or because a wave has no targets.", of)
	case model.AlertRolloutApprovalWaits:
		return fmt.Sprintf("A roll-out of %s waits for an approval.", of)
	case model.AlertRolloutBakeEnds:
		return fmt.Sprintf("A bake of a roll-out of %s ends in %s.", of, age)
	case model.AlertTargetsChanged:
		groups := "A target group"
		if r.GroupPattern != "" {
			groups = "A target group whose name matches " + r.GroupPattern
		}
		return fmt.Sprintf("%s is empty, or at least %g %% of its databases came or went in the last %s.", groups, r.PercentChanged, age)
	case model.AlertRolloutDeadlineNear:
		return fmt.Sprintf("The deadline of a roll-out of %s is in %s.", of, age)
	}
	return string(r.Condition)
}

// alertData is what the page of an alert shows.
type alertData struct {
	clock
	alerting.Alert
	Deliveries []alerting.Delivery
}

func alertPage(ctx context.Context, r *page.Request) (*page.View, error) {
	id, err := strconv.ParseInt(r.Value("alert"), 10, 64)
	if err != nil || id < 1 {
		return nil, dberror.ErrAlertNotFound
	}
	list, err := alerting.On(r.Store).Alerts(ctx, alerting.Filter{ID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, dberror.ErrAlertNotFound
	}
	d := &alertData{clock: clock{Now: r.Now, ages: true}, Alert: list[0]}
	if d.Deliveries, err = alerting.On(r.Store).Deliveries(ctx, alerting.DeliveryFilter{AlertID: id, Limit: deliveryRows}); err != nil {
		return nil, err
	}
	number := strconv.FormatInt(id, 10)
	v := &page.View{
		Title: d.Title, Nav: "alerts", Template: "alert", Data: d, Crumbs: []page.Link{{Text: "Alerts", Href: r.Path("alerts")}},
		Equivalents: append(page.CLI("alert", "show", number),
			page.Query(`DECLARE @alert BIGINT = N'?';
SELECT * FROM jobs.alerts WHERE alert_id = @alert;
SELECT * FROM jobs.alert_deliveries WHERE alert_id = @alert;`, id)),
	}
	if d.State == alerting.AlertOpen {
		v.Actions = []page.Link{{Text: "Acknowledge", Href: r.Path("alerts", number, "acknowledge"), Role: rest.RoleOperator}}
	}
	return v, nil
}
