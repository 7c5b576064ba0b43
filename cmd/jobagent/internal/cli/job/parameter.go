package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// newParameterCommand returns `jobagent job parameter`.
func newParameterCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("parameter", "Declare the parameters of a job's runs", a.Prints(output.JobParameterName{}, newSetParameterCommand(a)), newListParametersCommand(a),
		a.Prints(output.JobParameterName{}, newDeleteParameterCommand(a)))
	cmd.Long = `Declare the parameters of a job's runs.

A job that declares parameters takes no others. They are checked when a run is started, and when a schedule is
added or changed. A run has all of them: what is not given has its default, or null. An instant of a schedule whose
parameters do not fit any more is recorded as skipped. A job that declares none takes any parameters.`
	return cmd
}

// parameterColumns are those of job parameter list.
var parameterColumns = output.Columns([]output.Column[output.JobParameter]{
	{Name: "parameter_name", Header: "NAME", ID: true, Min: 12, Keep: true},
	{Name: "type", Keep: true},
	{Name: "required"},
	{Name: "default", Min: 8, Drop: 2},
	{Name: "choices", Min: 8, Drop: 3, Value: func(p output.JobParameter) any { return strings.Join(p.Choices, ", ") }},
	{Name: "description", Min: 12, Rest: true, Drop: 9},
})

// viewParameters converts the declarations of a job for -o json.
func viewParameters(declared string) ([]output.JobParameter, error) {
	list, err := parameters.ParseDeclarations(declared)
	if err != nil {
		return nil, err
	}
	views := make([]output.JobParameter, 0, len(list))
	for _, d := range list {
		p := output.JobParameter{Name: d.Name, Type: string(d.Type), Required: d.Required, Description: d.Description}
		if d.Default.Kind != parameters.Null {
			p.Default = &d.Default.Text
		}
		for _, c := range d.Choices {
			p.Choices = append(p.Choices, c.Text)
		}
		views = append(views, p)
	}
	return views, nil
}

// describeParameter writes a declaration in one line.
func describeParameter(p output.JobParameter) string {
	text := p.Name + ": " + p.Type
	switch {
	case p.Required:
		text += ", required"
	case p.Default != nil:
		text += ", default " + *p.Default
	}
	if len(p.Choices) > 0 {
		text += ", one of " + strings.Join(p.Choices, ", ")
	}
	if p.Description != "" {
		text += " (" + p.Description + ")"
	}
	return text
}

func newListParametersCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, parameterColumns, &cobra.Command{
		Use: "list JOB", Short: "List the parameters that a job declares", Args: cobra.ExactArgs(1),
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			_, views, err := readDeclared(cmd, store, args[0])
			if err != nil {
				return err
			}
			return output.List(&a.Printer, views, parameterColumns)
		}),
	})
}

// readDeclared reads a job and its declarations.
func readDeclared(cmd *cobra.Command, store *controldb.Store, name string) (catalog.JobDetail, []output.JobParameter, error) {
	job, err := catalog.On(store).JobDetail(cmd.Context(), name)
	if errors.Is(err, dberror.ErrJobNotFound) {
		_, err = lookup.Job(cmd.Context(), store, name)
	}
	if err != nil {
		return job, nil, err
	}
	views, err := viewParameters(job.Parameters)
	return job, views, err
}

// changeDeclared changes the declarations of a job, unless they were changed meanwhile.
func changeDeclared(
	cmd *cobra.Command, store *controldb.Store, name string, change func([]parameters.Declaration) ([]parameters.Declaration, error),
) error {
	job, _, err := readDeclared(cmd, store, name)
	if err != nil {
		return err
	}
	list, err := parameters.ParseDeclarations(job.Parameters)
	if err != nil {
		return err
	}
	if list, err = change(list); err != nil {
		return err
	}
	return catalog.On(store).SetJobParameters(cmd.Context(), job.Name, parameters.EncodeDeclarations(list), &job.Revision)
}

func newSetParameterCommand(a *connect.App) *cobra.Command {
	var kind, standard, description string
	var required bool
	var choices []string
	cmd := &cobra.Command{
		Use: "set JOB PARAMETER", Short: "Declare a parameter, or replace its declaration", Args: cobra.ExactArgs(2),
		Example: "  jobagent job parameter set 'nightly index' tenant --required\n" +
			"  jobagent job parameter set 'nightly index' days --type integer --default 7",
		RunE: func(cmd *cobra.Command, args []string) error {
			d := parameters.Declaration{Name: args[1], Type: parameters.Type(kind), Required: required, Description: description}
			for _, text := range choices {
				v, err := parameters.Declaration{Name: d.Name, Type: d.Type}.Read(text)
				if err != nil {
					return exit.Usagef("invalid --choice %q: %w", text, err)
				}
				d.Choices = append(d.Choices, v)
			}
			if cmd.Flags().Changed("default") {
				plain := d
				plain.Required = false
				v, err := plain.Read(standard)
				if err != nil {
					return exit.Usagef("invalid --default %q: %w", standard, err)
				}
				d.Default = v
			}
			if _, err := parameters.ParseDeclarations(parameters.EncodeDeclarations([]parameters.Declaration{d})); err != nil {
				return exit.Usage(err)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				err := changeDeclared(cmd, store, args[0], func(list []parameters.Declaration) ([]parameters.Declaration, error) {
					if i := find(list, d.Name); i >= 0 {
						list[i] = d
						return list, nil
					}
					return append(list, d), nil
				})
				if err != nil {
					return err
				}
				return a.Done(output.JobParameterName{Job: args[0], Name: d.Name}, "declared the parameter %s of job %s", d.Name, args[0])
			})
		},
	}
	cmd.Flags().StringVar(&kind, "type", "text", "text, integer, number, boolean, date or datetime")
	cmd.Flags().BoolVar(&required, "required", false, "it must be given, and has no default")
	cmd.Flags().StringVar(&standard, "default", "", "`VALUE` that it has if it is not given")
	cmd.Flags().StringArrayVar(&choices, "choice", nil, "`VALUE` that it may have; may be repeated")
	cmd.Flags().StringVar(&description, "description", "", model.UsageDescription)
	return cmd
}

// find returns the index of a declaration; -1 if there is none.
func find(list []parameters.Declaration, name string) int {
	return slices.IndexFunc(list, func(d parameters.Declaration) bool { return d.Name == name })
}

func newDeleteParameterCommand(a *connect.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete JOB PARAMETER", Short: "Remove the declaration of a parameter", Args: cobra.ExactArgs(2),
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			if err := command.Confirm(cmd, command.Fixed("This removes the parameter %s of the job %s", args[1], args[0])); err != nil {
				return err
			}
			err := changeDeclared(cmd, store, args[0], func(list []parameters.Declaration) ([]parameters.Declaration, error) {
				i := find(list, args[1])
				if i < 0 {
					return nil, exit.With(exit.CodeNotFound, fmt.Errorf("the job %s declares no parameter %q: jobagent job parameter list JOB shows them", args[0], args[1]))
				}
				return slices.Delete(list, i, i+1), nil
			})
			if err != nil {
				return err
			}
			return a.Done(output.JobParameterName{Job: args[0], Name: args[1]}, "removed the parameter %s of job %s", args[1], args[0])
		}),
	}
	command.AddYes(cmd)
	return cmd
}
