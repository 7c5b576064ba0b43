package startcheck

import (
	"context"
	"fmt"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Job is what a job says about the parameters of its runs.
type Job struct {
	// Declared are the declared parameters; none means that runs take any.
	Declared []parameters.Declaration
	// Used are the names that the steps of the current version use, such as param.tenant.
	Used []string
	// RolledOut means that the job has a plan, by which its runs are rolled out in waves.
	RolledOut bool
}

// Read reads a job. It returns [dberror.ErrJobNotFound] when there is none of this name.
func Read(ctx context.Context, store *controldb.Store, name string) (Job, error) {
	job, err := catalog.On(store).JobDetail(ctx, name)
	if err != nil {
		return Job{}, err
	}
	steps, err := catalog.On(store).JobSteps(ctx, job.Name, nil)
	if err != nil {
		return Job{}, err
	}
	j, err := New(job.Parameters, steps)
	j.RolledOut = job.RolloutPlan != ""
	return j, err
}

// New makes a job of its declarations and of the steps of its current version.
func New(declared string, steps []catalog.JobStep) (j Job, err error) {
	if j.Declared, err = parameters.ParseDeclarations(declared); err != nil {
		return j, err
	}
	for _, s := range steps {
		j.Used = append(j.Used, Used(s.CommandType, s.Command)...)
	}
	return j, nil
}

// Used returns the parameters that the command of a step uses. For a command that cannot be read,
// it returns none: the run reports the error.
func Used(commandType, command string) []string {
	kind, err := action.ParseType(commandType)
	if err != nil {
		return nil
	}
	if kind == action.TypeTSQL {
		names, err := mssql.ParameterNames(command)
		if err != nil {
			return nil
		}
		return names
	}
	d, err := action.Decode(kind, command)
	if err != nil {
		return nil
	}
	return d.Names()
}

// Check checks the parameters of a run before it is started. With allowMissing, names that steps
// use may have no value. The error is a [*parameters.MissingError] if parameters are missing.
func (j Job) Check(text string, allowMissing bool) error {
	given, err := parameters.Parse(text)
	if err != nil {
		return err
	}
	complete, err := parameters.Complete(j.Declared, given)
	if err != nil || allowMissing {
		return err
	}
	missing := parameters.Unset(j.Used, complete)
	switch {
	case len(missing) == 0:
		return nil
	case len(j.Declared) > 0:
		return fmt.Errorf("%w: steps use them, and the job does not declare them", &parameters.MissingError{Names: missing})
	}
	return fmt.Errorf("%w: steps of the job use them", &parameters.MissingError{Names: missing})
}

// Parameter returns the declaration of a name.
func (j Job) Parameter(name string) (parameters.Declaration, bool) {
	for _, d := range j.Declared {
		if d.Name == name {
			return d, true
		}
	}
	return parameters.Declaration{}, false
}

// Typed returns parameters in which the texts of some names have the declared types, as people type
// them: 7 for an integer, and true for a boolean. The error names the first that has not its type.
func (j Job) Typed(text string, names []string) (string, error) {
	given, err := parameters.Parse(text)
	if err != nil {
		return "", err
	}
	values := map[string]parameters.Value{}
	for _, name := range names {
		d, declared := j.Parameter(name)
		v, ok := given.Member(name)
		if !declared || !ok || v.Kind != parameters.String {
			continue
		}
		if values[name], err = d.Read(v.Text); err != nil {
			return "", fmt.Errorf("invalid parameter %s: %w", name, err)
		}
	}
	return given.With(values).Text(), nil
}
