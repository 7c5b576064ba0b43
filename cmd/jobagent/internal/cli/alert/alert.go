// Package alert has the commands for alerts: rules, channels and the history.
package alert

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/values"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
)

// NewCommand returns `jobagent alert`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("alert", "Tell people when something goes wrong, or does not happen",
		newRuleCommand(a),
		command.StandsFor("jobs.sp_mute_alert", a.Prints(output.AlertName{}, newMuteCommand(a))),
		newListCommand(a, "list", "List the alerts that are not resolved", false),
		command.StandsFor("jobs.alerts", newListCommand(a, "history", "List all alerts, latest first", true)),
		a.Prints(output.AlertDetail{}, newShowCommand(a)),
		command.StandsFor("jobs.sp_acknowledge_alert", a.Prints(output.AcknowledgedAlert{}, newAckCommand(a))),
		command.StandsFor("jobs.sp_test_alert", newTestCommand(a)),
		newChannelCommand(a),
	)
	cmd.AddCommand(values.Formerly(newAddCommand(a), "alert rule add"), values.Formerly(newUpdateCommand(a), "alert rule update"),
		values.Formerly(newDeleteCommand(a), "alert rule delete"), values.Formerly(newRulesCommand(a, "rules [RULE]"), "alert rule list"))
	cmd.Long = `Tell people when something goes wrong, or does not happen.

A rule (jobagent alert rule) raises alerts, and sends them to channels (jobagent alert channel). Every agent and every front (jobagent serve)
evaluates the rules and delivers, also while no agent works. A channel whose definition names secrets
is served by agents and by fronts whose configuration has secrets or secret_keys.

Conditions: RunEnded, TargetsFailed, RunTooLong, RunNotStarted (the watchdog: a run was due, and
nothing has begun, or passes of agents have set a run aside, whether it has begun or not), NoRun, ScheduleFaulted,
SchedulePaused, AgentSilent, NoAgent; and of roll-outs
RolloutStopped (a gate failed, or the deadline passed), RolloutApprovalWaits, RolloutBakeEnds and
RolloutDeadlineNear (--seconds before). Their alerts say what happens next, and how to act.
TargetsChanged is about target groups: a run found one empty, or without at least --percent-changed of
the databases that it had, or with as many new ones.`
	return cmd
}

// newListCommand returns `jobagent alert list` and `jobagent alert history`.
func newListCommand(a *connect.App, use, short string, all bool) *cobra.Command {
	var f alerting.Filter
	var since string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := command.ParseSince(since)
			if err != nil {
				return err
			}
			if f.Limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", f.Limit)
			}
			if !all {
				f.States = []alerting.State{alerting.AlertOpen, alerting.AlertAcknowledged}
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				if f.Since, err = from.Time(cmd.Context(), store.Now); err != nil {
					return err
				}
				list, err := alerting.On(store).Alerts(cmd.Context(), f)
				if err != nil {
					return err
				}
				return output.List(&a.Printer, list, columns)
			})
		},
	}
	cmd.Flags().StringVar(&f.Rule, "alert", "", "`name` of the rule")
	cmd.Flags().IntVar(&f.Limit, "limit", 100, "maximum number of alerts")
	cmd.Flags().StringVar(&since, "since", "", "only alerts that were raised since then: "+command.SinceForms)
	return command.List(&a.Printer, columns, cmd)
}

func newShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show ALERT_ID", Short: "Show an alert with its deliveries", Args: cobra.ExactArgs(1),
		RunE: connect.One(a.ReadStore, alertID, func(cmd *cobra.Command, id int64, store *controldb.Store) error {
			list, err := alerting.On(store).Alerts(cmd.Context(), alerting.Filter{ID: id})
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return exit.With(exit.CodeNotFound, fmt.Errorf("the alert %d does not exist; jobagent alert history lists all alerts", id))
			}
			deliveries, err := alerting.On(store).Deliveries(cmd.Context(), alerting.DeliveryFilter{AlertID: id})
			if err != nil {
				return err
			}
			v := output.AlertDetail{Alert: list[0], Deliveries: output.Each(deliveries, viewDelivery)}
			return a.Emit(v, func(w io.Writer) error { return writeAlert(w, v) })
		}),
	}
}

// writeAlert writes an alert for people.
func writeAlert(w io.Writer, detail output.AlertDetail) error {
	v := detail.Alert
	state := string(v.State)
	if v.AcknowledgedBy != "" {
		state += ", acknowledged by " + v.AcknowledgedBy
		if v.AcknowledgeNote != "" {
			state += ": " + v.AcknowledgeNote
		}
	}
	if v.ResolveReason != "" {
		state += ", resolved: " + v.ResolveReason
	}
	t := output.NewTable("ALERT", strconv.FormatInt(v.ID, 10))
	t.Add("Title", v.Title)
	t.Add("Rule", v.Rule+" ("+string(v.Condition)+")")
	t.Add("Severity", v.Severity)
	t.Add("State", state)
	t.Add("About", v.Subject)
	t.Add("Since", v.FirstAt)
	t.Add("Latest event", v.LastAt)
	t.Add("Events", v.Occurrences)
	if v.JobExecutionID != uuid.Nil {
		t.Add("Run", v.JobExecutionID.String())
	}
	t.Add("Message", strings.ReplaceAll(v.Message, "\n", " "))
	if err := t.Write(w); err != nil || len(detail.Deliveries) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return writeDeliveries(w, detail.Deliveries)
}

// columns are those of alert list and alert history.
var columns = output.Columns([]output.Column[alerting.Alert]{
	{Name: "alert_id", Header: "ID", ID: true, Keep: true},
	{Name: "severity", State: true, Keep: true},
	{Name: "state", State: true, Keep: true},
	{Name: "occurrences", Header: "EVENTS"},
	{Name: "first_time", Header: "SINCE"},
	{Name: "last_time", Header: "LATEST", Wide: true},
	{Name: "alert_name", Header: "ALERT", Min: 10, Drop: 3},
	{Name: "job_name", Header: "JOB", Wide: true},
	{Name: "job_execution_id", Header: "RUN", Wide: true},
	{Name: "title", Min: 20, Rest: true, Keep: true},
})

// deliveryColumns are those of alert test.
var deliveryColumns = output.Columns([]output.Column[output.AlertDelivery]{
	{Name: "delivery_id", Header: "ID", ID: true, Wide: true},
	{Name: "channel_name", Header: "CHANNEL", Min: 10, Keep: true},
	{Name: "kind"},
	{Name: "state", State: true, Keep: true},
	{Name: "attempts"},
	{Name: "delivered_time", Header: "DELIVERED"},
	{Name: "delivered_by", Header: "BY", Min: 8},
	{Name: "last_error", Min: 16, Rest: true, Wrap: true, Drop: 1},
})

// writeDeliveries writes deliveries as a table.
func writeDeliveries(w io.Writer, list []output.AlertDelivery) error {
	t := output.NewTable("CHANNEL", "KIND", "STATE", "ATTEMPTS", "DELIVERED", "BY", "LAST ERROR")
	for _, d := range list {
		t.Add(d.Channel, d.Kind, d.State, d.Attempts, d.DeliveredAt, d.DeliveredBy, d.LastError)
	}
	return t.Write(w)
}

func newAckCommand(a *connect.App) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "ack ALERT_ID", Short: "Acknowledge an alert: nothing more is sent about it", Args: cobra.ExactArgs(1),
		RunE: connect.One(a.WithStore, alertID, func(cmd *cobra.Command, id int64, store *controldb.Store) error {
			if err := alerting.On(store).Acknowledge(cmd.Context(), id, note); err != nil {
				return err
			}
			return a.Done(output.AcknowledgedAlert{ID: id}, "acknowledged the alert %d", id)
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "what is done about it")
	return cmd
}

// alertID reads the ID of an alert.
func alertID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, exit.Usagef("invalid alert %q: want its number, as jobagent alert list shows it", text)
	}
	return id, nil
}

func newMuteCommand(a *connect.App) *cobra.Command {
	var d time.Duration
	var note string
	var off bool
	cmd := &cobra.Command{
		Use: "mute RULE", Short: "Send nothing about a rule's alerts for some time", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case off:
				d = 0
			case d < time.Minute:
				return exit.Usagef("invalid --for %s: want at least 1m, or --off", d)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := alerting.On(store).Mute(cmd.Context(), args[0], d, note); err != nil {
					return err
				}
				if off {
					return a.Done(output.AlertName{Name: args[0]}, "the alert %s is not muted any more", args[0])
				}
				return a.Done(output.AlertName{Name: args[0]}, "muted the alert %s for %s", args[0], d)
			})
		},
	}
	command.AddPeriod(cmd.Flags(), &d, "for", time.Hour, "how long")
	cmd.Flags().StringVar(&note, "note", "", "the reason")
	cmd.Flags().BoolVar(&off, "off", false, "end it")
	return cmd
}

// testWait bounds how long jobagent alert test waits for its result.
const testWait = 60 * time.Second

func newTestCommand(a *connect.App) *cobra.Command {
	var rule string
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "test [CHANNEL]", Short: "Send a test notification, and wait for its result", Args: cobra.MaximumNArgs(1),
		Long: `Send a test notification to a channel, or to all channels of a rule (--alert), and wait for its result.
An agent or a front that works for the control database delivers it. The exit code is not 0 unless
all of them were delivered.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			channel := ""
			if len(args) > 0 {
				channel = args[0]
			}
			if (channel == "") == (rule == "") {
				return exit.Usagef("want a channel, or --alert NAME")
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				tests, err := alerting.On(store).Test(cmd.Context(), channel, rule)
				if err != nil {
					return err
				}
				deadline := time.Now().Add(wait)
				var views []output.AlertDelivery
				var failed []string
				for _, test := range tests {
					d, err := await(cmd.Context(), store, test.NotificationID, deadline)
					if err != nil {
						return err
					}
					views = append(views, viewDelivery(d))
					if d.State != "Delivered" {
						failed = append(failed, describe(d))
					}
				}
				if err := output.List(&a.Printer, views, deliveryColumns); err != nil {
					return err
				}
				if len(failed) > 0 {
					return fmt.Errorf("not delivered: %s", strings.Join(failed, "; "))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&rule, "alert", "", "`name` of a rule, in place of a channel")
	command.AddDuration(cmd.Flags(), &wait, "wait", testWait, "how long to wait for the result")
	return command.List(&a.Printer, deliveryColumns, cmd)
}

// describe says why a test was not delivered.
func describe(d alerting.Delivery) string {
	switch {
	case d.LastError != "":
		return d.Channel + ": " + d.LastError
	case d.Attempts == 0:
		return d.Channel + ": no agent or REST server has taken it; a channel with secrets needs one that can read them"
	}
	return d.Channel + ": no result yet"
}

// await waits until a delivery has ended or failed once, or the deadline has passed.
func await(ctx context.Context, store *controldb.Store, id uuid.UUID, deadline time.Time) (d alerting.Delivery, err error) {
	err = command.Poll(ctx, 250*time.Millisecond, func() (bool, error) {
		list, err := alerting.On(store).Deliveries(ctx, alerting.DeliveryFilter{NotificationID: id})
		if err != nil {
			return false, err
		}
		if len(list) == 0 {
			return false, fmt.Errorf("the delivery %s does not exist any more", id)
		}
		d = list[0]
		return d.State != "Pending" || d.LastError != "" || time.Now().After(deadline), nil
	})
	return d, err
}

func viewDelivery(d alerting.Delivery) output.AlertDelivery { return output.AlertDelivery{Delivery: d} }
