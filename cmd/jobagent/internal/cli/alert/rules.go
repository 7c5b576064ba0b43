package alert

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/jobs/model"
)

// ruleFlags are the flags of a rule. A flag that is not given stays nil in the change.
type ruleFlags struct {
	job, jobs, lifecycles, severity, description string
	percent, factor, percentChanged              float64
	groups                                       string
	runs, seconds, throttle, repeat              int
	channels                                     []string
	notifyResolved, enabled                      bool
}

func (f *ruleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.job, "job", "", "the one job to watch")
	flags.StringVar(&f.jobs, "jobs", "", "names of the jobs to watch, with * and ? (default: all jobs)")
	flags.StringVar(&f.lifecycles, "lifecycle", "", "RunEnded, NoRun: lifecycles of runs, separated by commas (default of RunEnded: Failed,TimedOut)")
	flags.Float64Var(&f.percent, "percent", 0, "TargetsFailed: least share of targets that did not succeed")
	flags.Float64Var(&f.percentChanged, "percent-changed", 0, "TargetsChanged: least share of the databases that came or went (default 10)")
	flags.StringVar(&f.groups, "groups", "", "TargetsChanged: names of the target groups to watch, with * and ? (default: all)")
	flags.Float64Var(&f.factor, "factor", 0, "RunTooLong: multiple of the median duration (default 2)")
	flags.IntVar(&f.runs, "runs", 0, "RunTooLong: runs in the median (default 20)")
	command.AddSeconds(flags, &f.seconds, "seconds", 0, "grace period or age, such as 5m (default: depends on the condition)")
	flags.StringVar(&f.severity, "severity", "", "Info, Warning or Critical (default Warning)")
	flags.StringSliceVar(&f.channels, "channel", nil, "`name` of a channel; may be repeated")
	command.AddSeconds(flags, &f.throttle, "throttle", 0, "least time between notifications about the same subject (default 1h)")
	command.AddSeconds(flags, &f.repeat, "repeat", 0, "time after which an open alert is notified again (default 0: never)")
	flags.BoolVar(&f.notifyResolved, "notify-resolved", true, "notify when the alert is resolved")
	flags.StringVar(&f.description, "description", "", "free text")
	flags.BoolVar(&f.enabled, "enabled", true, "whether the rule raises alerts")
	cmd.MarkFlagsMutuallyExclusive("job", "jobs")
}

func (f *ruleFlags) change(cmd *cobra.Command) (c alerting.Change) {
	given := cmd.Flags().Changed
	for name, set := range map[string]func(){
		"job": func() { c.JobName = &f.job }, "jobs": func() { c.JobPattern = &f.jobs }, "lifecycle": func() { c.Lifecycles = &f.lifecycles },
		"percent": func() { c.PercentFailed = &f.percent }, "factor": func() { c.Factor = &f.factor }, "runs": func() { c.Runs = &f.runs },
		"seconds": func() { c.Seconds = &f.seconds }, "severity": func() { c.Severity = &f.severity },
		"channel": func() { c.Channels = &f.channels }, "throttle": func() { c.Throttle = &f.throttle },
		"repeat": func() { c.Repeat = &f.repeat }, "notify-resolved": func() { c.NotifyResolved = &f.notifyResolved },
		"percent-changed": func() { c.PercentChanged = &f.percentChanged }, "groups": func() { c.GroupPattern = &f.groups },
		"description": func() { c.Description = &f.description }, "enabled": func() { c.Enabled = &f.enabled },
	} {
		if given(name) {
			set()
		}
	}
	return c
}

// newRuleCommand returns `jobagent alert rule`.
func newRuleCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("rule", "Manage the rules that raise alerts",
		command.StandsFor("jobs.sp_add_alert", a.Prints(output.AlertName{}, newAddCommand(a))),
		command.StandsFor("jobs.sp_update_alert", a.Prints(output.AlertName{}, newUpdateCommand(a))),
		command.StandsFor("jobs.alert_rules", newRulesCommand(a, "list [RULE]")),
		command.StandsFor("jobs.sp_delete_alert", a.Prints(output.AlertName{}, newDeleteCommand(a))),
	)
	cmd.Long = `Manage the rules that raise alerts: when an alert is raised, and which channels are told. What they
have raised is in jobagent alert list.`
	return cmd
}

func newAddCommand(a *connect.App) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "add RULE CONDITION", Short: "Add a rule", Args: cobra.ExactArgs(2),
		Example: "  jobagent alert rule add failed RunEnded --channel on-call\n" +
			"  jobagent alert rule add nothing-ran RunNotStarted --seconds 1m --severity Critical --channel on-call\n" +
			"  jobagent alert rule add shards TargetsFailed --percent 5 --jobs 'nightly*' --channel on-call\n" +
			"  jobagent alert rule add bake RolloutBakeEnds --seconds 10m --channel on-call\n" +
			"  jobagent alert rule add fleet TargetsChanged --percent-changed 5 --groups 'tenants*' --channel on-call",
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			err := alerting.On(store).AddRule(cmd.Context(), args[0], model.AlertCondition(args[1]), f.change(cmd))
			if err != nil {
				return err
			}
			return a.Done(output.AlertName{Name: args[0]}, "added the rule %s", args[0])
		}),
	}
	f.add(cmd)
	return cmd
}

func newUpdateCommand(a *connect.App) *cobra.Command {
	var f ruleFlags
	cmd := a.Does(&cobra.Command{
		Use: "update RULE", Short: "Change a rule; what is not given stays", Args: cobra.ExactArgs(1),
	}, "changed the rule %s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.AlertName{Name: args[0]}, alerting.On(store).UpdateRule(cmd.Context(), args[0], f.change(cmd))
	})
	f.add(cmd)
	return cmd
}

func newDeleteCommand(a *connect.App) *cobra.Command {
	return a.Deletes(&cobra.Command{
		Use: "delete RULE", Short: "Delete a rule; its history stays", Args: cobra.ExactArgs(1),
	}, "This deletes the rule %s; what it has raised is resolved", "deleted the rule %s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.AlertName{Name: args[0]}, alerting.On(store).DeleteRule(cmd.Context(), args[0])
	})
}

func newRulesCommand(a *connect.App, use string) *cobra.Command {
	return connect.List(a, ruleColumns, &cobra.Command{
		Use: use, Short: "List the rules", Args: cobra.MaximumNArgs(1),
	}, func(cmd *cobra.Command, args []string, store *controldb.Store) ([]output.AlertRule, error) {
		list, err := alerting.On(store).Rules(cmd.Context(), strings.Join(args, ""))
		return output.Each(list, func(r alerting.Rule) output.AlertRule { return output.AlertRule{Rule: r} }), err
	})
}

// scope names the jobs or target groups that a rule watches.
func scope(v output.AlertRule) string {
	switch {
	case v.Condition == model.AlertTargetsChanged && v.GroupPattern != "":
		return v.GroupPattern
	case v.Condition == model.AlertTargetsChanged:
		return "*"
	case !v.Condition.IsAboutJobs():
		return ""
	case v.JobName != "":
		return v.JobName
	case v.JobPattern != "":
		return v.JobPattern
	}
	return "*"
}

// conditionOf shows the values of a rule's condition.
func conditionOf(v output.AlertRule) string {
	var list []string
	if v.Lifecycles != "" {
		list = append(list, v.Lifecycles)
	}
	if v.PercentFailed > 0 {
		list = append(list, strconv.FormatFloat(v.PercentFailed, 'f', -1, 64)+" %")
	}
	if v.PercentChanged > 0 {
		list = append(list, strconv.FormatFloat(v.PercentChanged, 'f', -1, 64)+" %")
	}
	if v.Factor > 0 {
		list = append(list, strconv.FormatFloat(v.Factor, 'f', -1, 64)+" x the median of "+strconv.Itoa(v.Runs)+" runs")
	}
	if v.Seconds > 0 {
		list = append(list, strconv.Itoa(v.Seconds)+" s")
	}
	return strings.Join(list, ", ")
}

// ruleColumns are those of alert rules.
var ruleColumns = output.Columns([]output.Column[output.AlertRule]{
	{Name: "alert_name", Header: "NAME", ID: true, Min: 12, Keep: true},
	{Name: "condition", Keep: true},
	{Name: "job_name", Header: "JOBS", Min: 8, Text: scope},
	{Name: "values", Value: func(v output.AlertRule) any { return conditionOf(v) }, Min: 10, Rest: true},
	{Name: "severity", Drop: 9},
	{Name: "channels", Min: 8},
	{Name: "enabled", Drop: 2},
	{Name: "muted_until", Drop: 10},
	{Name: "open_alerts", Header: "OPEN", Drop: 3},
})
