// Package script has the command that prints the T-SQL of a job.
package script

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/rollout"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/targets"
)

// NewCommand returns `jobagent script`.
func NewCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "script JOB", Short: "Print the T-SQL that recreates a job with its target groups and schedules",
		Long: "Print the T-SQL that recreates a job with its target groups and schedules, for a repository or another\ncontrol database. The script calls only public procedures, and also runs on Azure Elastic Jobs.",
		Args: cobra.ExactArgs(1),
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			text, err := scriptJob(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			// Unlike a message, the script is printed byte by byte, unless it goes to a
			// terminal: it recreates the texts of steps.
			return a.Emit(output.Script{Job: args[0], Script: text}, func(w io.Writer) error {
				_, err := io.WriteString(w, strings.TrimRight(text, "\n")+"\n")
				return err
			})
		}),
	}
}

// scriptJob returns T-SQL that recreates a job. The script does not change existing target groups.
func scriptJob(ctx context.Context, store *controldb.Store, name string) (string, error) {
	job, err := lookup.Job(ctx, store, name)
	if err != nil {
		return "", err
	}
	steps, err := catalog.On(store).JobSteps(ctx, job.Name, nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var groups []string
	var script func(group string) error
	script = func(group string) error {
		if group == "" || slices.Contains(groups, group) {
			return nil
		}
		groups = append(groups, group)
		list, err := targetgroups.On(store).Members(ctx, group)
		if err != nil {
			return err
		}
		for _, m := range list {
			if err := script(m.Group); err != nil { // it must exist before
				return err
			}
		}
		fmt.Fprintf(&b, "IF NOT EXISTS (SELECT 1 FROM jobs.target_groups WHERE target_group_name = %s)\nBEGIN\n",
			tsql.Literal(group))
		fmt.Fprintf(&b, "    EXEC jobs.sp_add_target_group @target_group_name = %s;\n", tsql.Literal(group))
		for _, m := range list {
			call := tsql.NewCall("jobs.sp_add_target_group_member").Text("target_group_name", group)
			if m.Membership != targets.Include {
				call.Text("membership_type", string(m.Membership))
			}
			call.Text("target_type", string(m.Kind)).Optional("refresh_credential_name", m.RefreshCredential)
			for _, f := range targets.MemberFields() {
				call.Optional(f.Name, f.Value(&m))
			}
			b.WriteString(output.Indent(call.String(), "    ") + "\n")
		}
		b.WriteString("END;\nGO\n\n")
		return nil
	}
	for _, s := range steps {
		if err := script(s.TargetGroup); err != nil {
			return "", err
		}
	}
	call := tsql.NewCall("jobs.sp_add_job").Text("job_name", job.Name).Optional("description", job.Description)
	call.Text("schedule_interval_type", job.IntervalType).Number("schedule_interval_count", job.IntervalCount)
	if job.Start.Year() > 1 {
		call.Text("schedule_start_time", job.Start.UTC().Format("2006-01-02 15:04:05.0000000"))
	}
	if job.End.Year() < 9999 {
		call.Text("schedule_end_time", job.End.UTC().Format("2006-01-02 15:04:05.0000000"))
	}
	b.WriteString(call.String() + "\nGO\n")
	detail, err := catalog.On(store).JobDetail(ctx, job.Name)
	if err != nil {
		return "", err
	}
	if detail.Parameters != "" { // before schedules, whose parameters must fit
		b.WriteString(guarded("jobs.sp_set_job_parameters", "This server has no parameters of jobs: those of the job are not declared.", "\n"+
			one(tsql.NewCall("jobs.sp_set_job_parameters").Text("job_name", job.Name).LongText("parameters", "parameters", detail.Parameters))))
	}
	for _, s := range steps {
		call := tsql.NewCall("jobs.sp_add_jobstep").Text("job_name", job.Name).Text("step_name", s.StepName)
		if s.CommandType != string(action.TypeTSQL) {
			call.Text("command_type", s.CommandType)
		}
		call.LongText("command", "command", s.Command)
		call.Optional("credential_name", s.Credential).Optional("target_group_name", s.TargetGroup)
		for i := range model.StepFields {
			if f := &model.StepFields[i]; !f.Extension {
				addSetting(call, f, &s.StepSettings)
			}
		}
		call.Optional("output_type", s.OutputType).Optional("output_credential_name", s.Output.Credential)
		if s.OutputSubscriptionID != uuid.Nil {
			call.Text("output_subscription_id", s.OutputSubscriptionID.String())
		}
		call.Optional("output_resource_group_name", s.OutputResourceGroup).
			Optional("output_server_name", s.Output.Server).Optional("output_database_name", s.Output.Database).
			Optional("output_schema_name", s.Output.Schema).Optional("output_table_name", s.Output.Table)
		if s.MaxParallelism != nil {
			call.Number("max_parallelism", *s.MaxParallelism)
		}
		b.WriteString("\n" + call.String() + "\nGO\n")
	}
	for _, o := range inOrder(steps) {
		call, isDefault := tsql.NewCall("jobs.sp_update_jobstep").Text("job_name", job.Name).Text("step_name", o.StepName), o.After == nil
		for i := range model.StepFields {
			f := &model.StepFields[i]
			switch {
			case !f.Extension:
			case f.Name == "after" && o.After != nil:
				names, err := json.Marshal([]string(o.After))
				if err != nil {
					return "", err
				}
				call.Text(f.Name, string(names))
			case f.Name != "after" && f.Differs(&o.StepSettings, &model.DefaultStep):
				isDefault = false
				addSetting(call, f, &o.StepSettings)
			}
		}
		if isDefault {
			continue
		}
		b.WriteString(guarded("jobs.sp_set_jobstep_options", "This server has no options of steps: those of the job's steps are not set.", "\n"+one(call)))
	}
	plan, err := rollout.Parse(detail.RolloutPlan)
	if err != nil {
		return "", err
	}
	if plan != nil {
		b.WriteString(guarded("jobs.sp_set_job_rollout", "This server has no roll-outs: the plan of the job is not set.", "\n"+
			one(tsql.NewCall("jobs.sp_set_job_rollout").Text("job_name", job.Name).LongText("plan", "plan", plan.Short()))))
	}
	schedules, err := scriptSchedules(ctx, store, job.Name)
	if err != nil {
		return "", err
	}
	b.WriteString(schedules)
	triggers, err := triggers.On(store).Triggers(ctx, job.Name)
	if err != nil {
		return "", err
	}
	for _, t := range triggers {
		text, err := scriptTrigger(t)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	if job.Enabled { // last, so that a run that is due at once has all steps
		b.WriteString("\n" + tsql.NewCall("jobs.sp_update_job").Text("job_name", job.Name).Number("enabled",
			1).String() + "\nGO\n")
	}
	return b.String(), nil
}

// scriptTrigger returns T-SQL that recreates a trigger. On a server without the jobs that it
// watches, it prints a message and continues.
func scriptTrigger(t triggers.Trigger) (string, error) {
	upstreams, err := json.Marshal([]string(t.Upstreams))
	if err != nil {
		return "", err
	}
	names := output.Each(t.Upstreams, tsql.Literal)
	call := tsql.NewCall("jobs.sp_add_job_trigger").Text("job_name", t.JobName).Text("trigger_name", t.Name).
		LongText("upstream_jobs", "upstream_jobs", string(upstreams)).Text("run_when", t.RunWhen)
	if t.Targets != "All" {
		call.Text("targets", t.Targets)
	}
	if !t.Enabled {
		call.Bit("enabled", false)
	}
	missing := fmt.Sprintf("The trigger %s is not added: this server does not have all jobs that it watches.", t.Name)
	return guarded("jobs.sp_add_job_trigger", "This server has no triggers of jobs: those of the job are not added.", fmt.Sprintf(
		" IF (SELECT COUNT(*) FROM jobs.jobs WHERE job_name IN (%s)) < %d\n    PRINT %s;\nELSE\nBEGIN\n%s\nEND;", strings.Join(names, ", "), len(names),
		tsql.Literal(missing), call)), nil
}

// guarded returns a batch that prints a message on a server without a procedure, and makes calls on
// another one. rest follows ELSE.
func guarded(procedure, message, rest string) string {
	return fmt.Sprintf("\nIF OBJECT_ID(N'%s') IS NULL\n    PRINT %s;\nELSE%s\nGO\n", procedure, tsql.Literal(message), rest)
}

// one returns a call, with its variables, as one statement.
func one(call *tsql.Call) string {
	text := call.String()
	if strings.HasPrefix(text, "DECLARE") {
		return "BEGIN\n" + text + "\nEND;"
	}
	return text
}

// addSetting adds a setting to a call, unless it is an empty text.
func addSetting[S, V any](call *tsql.Call, f *model.Field[S, V], s *V) {
	switch v := f.Value(s).(type) {
	case *string:
		call.Optional(f.Name, *v)
	case *int:
		call.Number(f.Name, *v)
	case *bool:
		call.Bit(f.Name, *v)
	case *float64:
		call.Raw(f.Name, strconv.FormatFloat(*v, 'g', -1, 32))
	}
}

// inOrder sorts steps so that each follows all steps that come before it in a run. In this order,
// no call that sets the options of a step makes a circle with a step that still has the defaults.
func inOrder(options []catalog.JobStep) []catalog.JobStep {
	sorted := make([]catalog.JobStep, 0, len(options))
	done := map[string]bool{}
	for len(sorted) < len(options) {
		before := len(sorted)
		for i, o := range options {
			if done[o.StepName] {
				continue
			}
			after := []string(o.After)
			if o.After == nil && i > 0 {
				after = []string{options[i-1].StepName}
			}
			if !slices.ContainsFunc(after, func(name string) bool { return !done[name] }) {
				sorted = append(sorted, o)
				done[o.StepName] = true
			}
		}
		if len(sorted) == before { // not in a job that was read in one piece
			return options
		}
	}
	return sorted
}
