// Package step has the commands that define the steps of jobs.
package step

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/mssql"
)

// NewCommand returns `jobagent step`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("step", "Add, change and delete the steps of a job; each change creates a new version",
		command.StandsFor("jobs.sp_add_jobstep", a.Prints(output.AddedStep{}, newAddCommand(a))),
		command.StandsFor("jobs.sp_update_jobstep", a.Prints(output.JobVersion{}, newUpdateCommand(a))),
		newListCommand(a),
		command.StandsFor("jobs.jobsteps", a.Prints([]output.Step{}, newShowCommand(a))),
		command.StandsFor("jobs.sp_set_jobstep_options", a.PrintsWith("(set)", output.JobVersion{}, a.Prints([]output.StepOptions{}, newOptionsCommand(a)))),
		command.StandsFor("jobs.sp_delete_jobstep", a.Prints(output.JobVersion{}, newDeleteCommand(a))),
	)
}

// defaultRetryErrors is that of new steps. The default of jobs.sp_add_jobstep is All, as in Azure.
const defaultRetryErrors = "Transient"

// stepFlags are the flags of step add and step update.
type stepFlags struct {
	name, command, file, credential, group                                                    string
	parallelism                                                                               int
	outputType, outputCredential, outputServer, outputDatabase, outputSchema, outputTableName string
	action                                                                                    actionFlags
	settings                                                                                  settingFlags
}

// settingFlags are the flags of the settings that each step has.
type settingFlags struct {
	values model.StepSettings
	after  []string
}

// add declares the flags; with all, also those that Azure Elastic Jobs has.
func (f *settingFlags) add(cmd *cobra.Command, all bool) {
	f.values = model.DefaultStep
	f.values.RetryErrors = defaultRetryErrors
	flags := cmd.Flags()
	for i := range model.StepFields {
		field := &model.StepFields[i]
		if !field.Extension && !all {
			continue
		}
		command.AddField(flags, field, &f.values)
		if field.Name == "after" {
			flags.StringArrayVar(&f.after, field.Flag, nil, field.Usage)
		}
	}
}

// optionFlags lists the flags of the settings that Azure Elastic Jobs does not have: --a, --b or
// --c.
func optionFlags() string {
	var flags []string
	for i := range model.StepFields {
		if model.StepFields[i].Extension {
			flags = append(flags, "--"+model.StepFields[i].Flag)
		}
	}
	return wording.Or(flags)
}

// take sets what the flags give.
func (f *settingFlags) take(cmd *cobra.Command, spec *model.StepSpec) {
	command.TakeFields(cmd.Flags(), model.StepFields, spec, &f.values)
	switch len(f.after) {
	case 0:
	case 1:
		spec.After = &f.after[0]
	default:
		text, err := json.Marshal(f.after)
		cobra.CheckErr(err)
		spec.After = new(string(text))
	}
}

// add declares the flags.
func (f *stepFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.command, "command", "", "the T-SQL script")
	flags.StringVar(&f.file, "file", "", "file that holds the script; - for standard input")
	flags.StringVar(&f.group, "target-group", "", "target group on whose databases the step runs; an action without one runs once, on its endpoint")
	flags.StringVar(&f.credential, "credential", "", "credential of the agent's configuration for the login")
	f.settings.add(cmd, true)
	flags.IntVar(&f.parallelism, "max-parallelism", 0,
		"maximum of concurrent databases per elastic pool (or server); -1 removes the limit")
	flags.StringVar(&f.outputType, "output-type", "",
		"SqlDatabase, if the first result set goes to a table; '' removes the output")
	flags.StringVar(&f.outputServer, "output-server", "", "server of the output table")
	flags.StringVar(&f.outputDatabase, "output-database", "", "database of the output table")
	flags.StringVar(&f.outputSchema, "output-schema", "", "schema of the output table")
	flags.StringVar(&f.outputTableName, "output-table", "", "output table; created if it is missing")
	flags.StringVar(&f.outputCredential, "output-credential", "", "credential for the output")
	f.action.add(cmd)
}

// spec returns what the flags give, beside the name of the step and its command.
func (f *stepFlags) spec(cmd *cobra.Command, job string, newStep bool) model.StepSpec {
	spec := model.StepSpec{
		JobName: job, Credential: command.Given(cmd, "credential", f.credential), TargetGroup: command.Given(cmd, "target-group", f.group),
		Output: f.outputSpec(cmd, newStep), MaxParallelism: command.Given(cmd, "max-parallelism", f.parallelism),
	}
	f.settings.take(cmd, &spec)
	return spec
}

// commandOf returns the type and the text of the command that the flags give; a nil text if they
// give none, and a nil type if they do not name one. args are the name of the job and what follows.
func (f *stepFlags) commandOf(cmd *cobra.Command, s *connect.Settings, args []string) (kind, text *string, err error) {
	t, definition, err := f.action.definition(cmd, s, args[1:])
	if err != nil {
		return nil, nil, err
	}
	if t != "" {
		name := string(t)
		return &name, &definition, nil
	}
	text, err = f.script(cmd, s.Stdin)
	return command.Given(cmd, "command-type", f.action.kind), text, err
}

// script returns the script of --command or --file, or nil if neither was given.
func (f *stepFlags) script(cmd *cobra.Command, stdin io.Reader) (*string, error) {
	switch {
	case cmd.Flags().Changed("command") && f.file != "":
		return nil, exit.Usagef("--command and --file cannot be combined")
	case f.file == "":
		return command.Given(cmd, "command", f.command), noDirective("--command", f.command)
	}
	s, err := command.ReadText(f.file, stdin)
	if err != nil {
		return nil, err
	}
	return &s, noDirective(f.file, s)
}

// noDirective refuses a script with commands of sqlcmd: each target would refuse it.
func noDirective(source, script string) error {
	if err := tsql.CheckDirective(script); err != nil {
		return exit.Usagef("%s: %v", source, err)
	}
	return nil
}

// outputSpec returns the output that the flags give, or nil if they give none. The type defaults to
// SqlDatabase if a table was given. In a new step it always does, so that the procedure reports the
// missing parts.
func (f *stepFlags) outputSpec(cmd *cobra.Command, newStep bool) *model.OutputSpec {
	o := &model.OutputSpec{
		Type: command.Given(cmd, "output-type", f.outputType), Credential: command.Given(cmd, "output-credential",
			f.outputCredential),
		Server:   command.Given(cmd, "output-server", f.outputServer),
		Database: command.Given(cmd, "output-database", f.outputDatabase),
		Schema:   command.Given(cmd, "output-schema", f.outputSchema),
		Table:    command.Given(cmd, "output-table", f.outputTableName),
	}
	if *o == (model.OutputSpec{}) {
		return nil
	}
	if o.Type == nil && (newStep || o.Table != nil && *o.Table != "") {
		kind := "SqlDatabase"
		o.Type = &kind
	}
	return o
}

// warn reports what will fail in a script at its run: names that no run replaces, and text
// within dynamic T-SQL. The values of the
// run's parameters are not known yet.
func warn(p *output.Printer, kind, script *string) {
	if script == nil || kind != nil && *kind != "TSql" {
		return
	}
	nested, err := mssql.NestedParameters(*script)
	if err != nil {
		fmt.Fprintf(p.Stderr, "warning: each run of the step fails: %s\n", output.OneLine(err.Error()))
	}
	unknown, _ := mssql.UnknownNames(*script) // the error is that of NestedParameters
	for _, n := range unknown {
		fmt.Fprintf(p.Stderr, "warning: line %d: $(%s): %s\n", n.Line, n.Name, mssql.UnknownNameAdvice)
	}
	for _, n := range nested {
		fmt.Fprintf(p.Stderr, "warning: line %d: $(%s): %s\n", n.Line, output.OneLine(n.Name), mssql.NestedAdvice)
	}
}

func newAddCommand(a *connect.App) *cobra.Command {
	var f stepFlags
	var at int
	cmd := &cobra.Command{
		Use: "add JOB [URL | -- ARG…]", Short: "Add a step to a job", Args: cobra.MinimumNArgs(1),
		Long: `Add a step to a job: a T-SQL script (--command, --file), or an action (--http, --process, a message
such as --storage-queue, or --command-file). A script needs --target-group. An action
without one runs once; with one it runs once for each database. The command is checked as a whole, and all faults are listed.`,
		Example: `  jobagent step add nightly --target-group sales --file nightly.sql
  jobagent step add nightly --http POST https://example.com/done --body '{"run": "$(run_id)"}' --auth 'bearer,token=$(secret.hook)'
  jobagent step add nightly --storage-queue myaccount/done --body done --sas-token '$(secret.sas)'
  jobagent step add nightly --process backup -- --database '$(param.database)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, script, err := f.commandOf(cmd, &a.Settings, args)
			if err != nil {
				return err
			}
			if script == nil {
				return exit.Usagef("the command is missing: give --command or --file for a script, or a flag of an action")
			}
			if kind == nil && f.group == "" {
				return exit.Usagef("required flag(s) \"target-group\" not set: a script runs on the databases of a target group")
			}
			warn(&a.Printer, kind, script)
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				spec := f.spec(cmd, args[0], true)
				spec.StepID, spec.StepName = command.Given(cmd, "step-id", at), command.Given(cmd, "name", f.name)
				spec.CommandType, spec.Command = kind, script
				spec.RetryErrors = &f.settings.values.RetryErrors
				added, err := catalog.On(store).AddJobStep(cmd.Context(), spec)
				if err != nil {
					return err
				}
				return a.Done(output.AddedStep{Job: args[0], Version: added.JobVersion, StepID: added.StepID},
					"added step %d; job %s is at version %d", added.StepID, args[0], added.JobVersion)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "name of the step (default for a job's first step: JobStep)")
	cmd.Flags().IntVar(&at, "step-id", 0, "position, from 1; later steps move up (default: last)")
	return cmd
}

// stepSelector are the flags that select a step.
type stepSelector struct {
	id   int
	name string
}

// String names the step in a sentence.
func (s *stepSelector) String() string {
	if s.name != "" {
		return "the step " + s.name
	}
	return fmt.Sprintf("step %d", s.id)
}

// add declares the flags.
func (s *stepSelector) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&s.id, "step-id", 0, "the step's position, from 1")
	cmd.Flags().StringVar(&s.name, "step-name", "", "the step's name")
}

func newUpdateCommand(a *connect.App) *cobra.Command {
	var f stepFlags
	var which stepSelector
	var newID int
	cmd := &cobra.Command{
		Use: "update JOB [URL | -- ARG…]", Short: "Change a step; properties without a flag stay unchanged", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, script, err := f.commandOf(cmd, &a.Settings, args)
			if err != nil {
				return err
			}
			warn(&a.Printer, kind, script)
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				spec := f.spec(cmd, args[0], false)
				spec.StepID, spec.StepName = command.Given(cmd, "step-id", which.id), command.Given(cmd, "step-name", which.name)
				spec.NewID, spec.NewName = command.Given(cmd, "new-id", newID), command.Given(cmd, "new-name", f.name)
				spec.CommandType, spec.Command = kind, script
				v, err := catalog.On(store).UpdateJobStep(cmd.Context(), spec)
				if err != nil {
					return err
				}
				return a.Done(output.JobVersion{Job: args[0], Version: v}, "job %s is at version %d", args[0], v)
			})
		},
	}
	f.add(cmd)
	which.add(cmd)
	cmd.Flags().IntVar(&newID, "new-id", 0, "move the step to this position")
	cmd.Flags().StringVar(&f.name, "new-name", "", "rename the step")
	return cmd
}

func newOptionsCommand(a *connect.App) *cobra.Command {
	var which stepSelector
	var settings settingFlags
	cmd := &cobra.Command{
		Use: "options JOB", Short: "Set options of a step that Azure Elastic Jobs does not have; without flags, show them",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var given model.StepSpec
			settings.take(cmd, &given)
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if given == (model.StepSpec{}) && !cmd.Flags().Changed("step-id") && !cmd.Flags().Changed("step-name") {
					return showStepOptions(cmd.Context(), &a.Printer, store, args[0])
				}
				if given == (model.StepSpec{}) {
					return exit.Usagef("missing option: want %s", optionFlags())
				}
				given.JobName, given.StepID, given.StepName = args[0], command.Given(cmd, "step-id", which.id), command.Given(cmd, "step-name", which.name)
				v, err := catalog.On(store).UpdateJobStep(cmd.Context(), given)
				if err != nil {
					return err
				}
				return a.Done(output.JobVersion{Job: args[0], Version: v}, "job %s is at version %d", args[0], v)
			})
		},
	}
	which.add(cmd)
	settings.add(cmd, false)
	return cmd
}

func newShowCommand(a *connect.App) *cobra.Command {
	var which stepSelector
	var version int
	cmd := &cobra.Command{
		Use: "show JOB", Short: "Show one step of a job, or all of them", Args: cobra.ExactArgs(1),
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			job, err := lookup.Job(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			var of *int
			if cmd.Flags().Changed("job-version") {
				of = &version
			}
			steps, err := catalog.On(store).JobSteps(cmd.Context(), job.Name, of)
			if err != nil {
				return err
			}
			views := []output.Step{}
			for _, s := range steps {
				if (which.id == 0 || s.StepID == which.id) && (which.name == "" || strings.EqualFold(s.StepName, which.name)) {
					views = append(views, output.NewStep(s))
				}
			}
			if len(views) == 0 && (which.id != 0 || which.name != "") {
				wanted := fmt.Sprintf("with the ID %d", which.id)
				if which.name != "" {
					wanted = fmt.Sprintf("named %q", which.name)
				}
				return exit.With(exit.CodeNotFound, fmt.Errorf("job %q has no step %s; jobagent step list JOB shows its steps", job.Name, wanted))
			}
			return a.Emit(views, func(w io.Writer) error {
				for _, s := range views {
					if err := output.WriteStep(w, s); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
	which.add(cmd)
	cmd.Flags().IntVar(&version, "job-version", 0, "version of the job (default: the current one)")
	return cmd
}

// optionColumns are those of step options.
var optionColumns = output.Columns([]output.Column[output.StepOptions]{
	{Name: "step_id", Header: "STEP", Keep: true},
	{Name: "step_name", Header: "NAME", ID: true, Min: 10, Keep: true},
	{Name: "on_unknown_outcome", Min: 7},
	{Name: "at_most_once", Min: 5},
	{Name: "bind_parameters", Min: 5},
	{Name: "after", Min: 10, Rest: true, Text: func(o output.StepOptions) string {
		switch {
		case o.After != nil && len(o.After) == 0:
			return "no step"
		case o.After != nil:
			return strings.Join(o.After, ", ")
		case o.StepID == 1:
			return ""
		}
		return "the step before"
	}},
	{Name: "run_when"},
	{Name: "on_targets"},
	{Name: "retry_errors"},
	{Name: "tolerated_failures", Header: "TOLERATED"},
})

// showStepOptions prints the options of a job's steps.
func showStepOptions(ctx context.Context, p *output.Printer, store *controldb.Store, name string) error {
	job, err := lookup.Job(ctx, store, name)
	if err != nil {
		return err
	}
	steps, err := catalog.On(store).JobSteps(ctx, job.Name, nil)
	if err != nil {
		return err
	}
	views := make([]output.StepOptions, 0, len(steps))
	for _, s := range steps {
		views = append(views, output.StepOptions{StepID: s.StepID, StepName: s.StepName, After: s.After, StepOptions: s.StepOptions,
			RetryErrors: s.RetryErrors, ToleratedFailures: s.ToleratedFailures})
	}
	return output.List(p, views, optionColumns)
}

func newDeleteCommand(a *connect.App) *cobra.Command {
	var which stepSelector
	cmd := &cobra.Command{
		Use: "delete JOB", Short: "Delete a step; later steps move down", Args: cobra.ExactArgs(1),
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			if err := command.Confirm(cmd, command.Fixed("This deletes %s of the job %s; later steps move down", which.String(), args[0])); err != nil {
				return err
			}
			v, err := catalog.On(store).DeleteJobStep(cmd.Context(), args[0], command.Given(cmd, "step-id", which.id),
				command.Given(cmd, "step-name", which.name))
			if err != nil {
				return err
			}
			return a.Done(output.JobVersion{Job: args[0], Version: v}, "job %s is at version %d", args[0], v)
		}),
	}
	which.add(cmd)
	command.AddYes(cmd)
	return cmd
}
