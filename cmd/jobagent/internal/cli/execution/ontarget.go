package execution

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
)

// onTargetColumns are those of execution list --target: a row is a step of a run on the database.
var onTargetColumns = output.Columns([]output.Column[output.Execution]{
	{Name: "job_execution_id", Header: "EXECUTION ID", ID: true, GUID: true, Keep: true},
	{Name: "job_name", Header: "JOB", Min: 12, Keep: true},
	{Name: "job_version", Header: "VERSION", Drop: 9},
	{Name: "step_id", Header: "STEP", Right: true, Drop: 8},
	{Name: "lifecycle", State: true, Keep: true},
	{Name: "create_time", Header: "CREATED", Drop: 4},
	{Name: "trigger", Min: 12, Drop: 5, Text: describeTrigger},
	{Name: "target_server_name", Header: "SERVER", Wide: true},
	{Name: "target_database_name", Header: "DATABASE", Wide: true},
	{Name: "start_time", Header: "STARTED", Wide: true},
	{Name: "end_time", Header: "ENDED", Wide: true},
	{Name: "last_message", Header: "MESSAGE", Min: 16, Rest: true, Drop: 2},
}).Without("current_attempts", "current_attempt_start_time", "next_attempt_start_time", "target_type", "target_group_name", "outcome_unknown", "targets")

// alone are the flags of execution list that --target does not permit.
var alone = []string{"active", "lifecycle", "trigger", "since"}

// maxOnTarget is the largest limit of jobs.sp_get_target_runs.
const maxOnTarget = 500

// listOnTarget lists the newest runs that had a database among their targets.
func listOnTarget(cmd *cobra.Command, a *connect.App, name string, f listFlags) error {
	for _, flag := range alone {
		if cmd.Flags().Changed(flag) {
			return exit.Usagef("--target lists the newest runs on a database: --%s cannot be combined with it; --job and --limit can", flag)
		}
	}
	if f.limit < 1 || f.limit > maxOnTarget {
		return exit.Usagef("--limit %d: with --target, it must be from 1 to %d", f.limit, maxOnTarget)
	}
	return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
		ctx := cmd.Context()
		if f.job != "" {
			if _, err := lookup.Job(ctx, store, f.job); err != nil {
				return err
			}
		}
		target, err := findTarget(ctx, store, name)
		if err != nil {
			return err
		}
		list, err := executions.On(store).OnTarget(ctx, target, f.job, uuid.Nil, f.limit)
		if err != nil {
			return err
		}
		return output.List(&a.Printer, output.Each(list, viewOnTarget), onTargetColumns)
	})
}

// findTarget finds a database on which jobs ran by its name, or by SERVER/DATABASE.
func findTarget(ctx context.Context, store *controldb.Store, name string) (uuid.UUID, error) {
	server, database, both := strings.Cut(name, "/")
	if !both {
		server, database = "", name
	}
	f := executions.TargetFilter{Search: database, Top: 1000}
	var found []executions.FoundTarget
	for {
		o, err := executions.On(store).TargetOutcomes(ctx, f)
		if err != nil {
			return uuid.Nil, err
		}
		for _, t := range o.Targets {
			if strings.EqualFold(t.Database, database) && (server == "" || strings.EqualFold(t.Server, server)) {
				found = append(found, t)
			}
		}
		if o.NextServer == "" {
			break
		}
		f.After = executions.FoundTarget{Database: o.NextDatabase, Server: o.NextServer}
	}
	switch len(found) {
	case 0:
		return uuid.Nil, exit.With(exit.CodeNotFound, fmt.Errorf("no run that is kept has the database %q among its targets; jobagent target-group resolve lists the databases of a group", name))
	case 1:
		return found[0].ID, nil
	}
	var names []string
	for _, t := range found[:min(len(found), 5)] {
		names = append(names, t.Server+"/"+t.Database)
	}
	return uuid.Nil, exit.Usagef("%d servers have a database %q: want one of %s", len(found), name, strings.Join(names, ", "))
}

// viewOnTarget converts a step of a run on a database.
func viewOnTarget(r executions.RunOnTarget) output.Execution {
	kind := "SqlDatabase"
	if r.Database == "" {
		kind = "Endpoint"
	}
	step := r.StepID
	e := output.Execution{
		Execution: executions.Execution{
			ID: r.Run, JobName: r.JobName, JobID: r.JobID, JobVersion: r.JobVersion, StepID: &step, Active: r.Active, Lifecycle: r.Lifecycle,
			CreateTime: r.CreateTime, StartTime: r.StartTime, EndTime: r.EndTime, Attempts: r.Attempts,
			LastMessage: r.Message, TargetType: kind, Server: r.Server, Database: r.Database,
		},
		StartedBy: r.StartedBy, Schedule: r.Schedule, Due: output.Optional(r.Due), Trigger: string(executions.TriggerManual),
	}
	switch {
	case r.Rerun:
		e.Trigger = string(executions.TriggerRerun)
	case !r.Due.IsZero():
		e.Trigger = string(executions.TriggerSchedule)
	case r.JobTrigger != nil:
		e.Trigger, e.JobTrigger = string(executions.TriggerJob), r.JobTrigger
	}
	e.DurationMS, e.Mode = r.DurationMS, string(r.Mode)
	return e
}
