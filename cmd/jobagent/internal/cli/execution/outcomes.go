package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/targets"
)

// outcomeColumns are those of execution outcomes: a row is a job on a database.
var outcomeColumns = output.Columns([]output.Column[output.OutcomeOfTarget]{
	{Name: "target_database_name", Header: "DATABASE", Min: 12, Keep: true},
	{Name: "target_server_name", Header: "SERVER", Min: 10, Drop: 5},
	{Name: "job_name", Header: "JOB", Min: 12, Keep: true},
	{Name: "outcome", State: true, Keep: true, Text: func(o output.OutcomeOfTarget) string { return cmp.Or(o.Outcome, "never ran") }},
	{Name: "job_version", Header: "VERSION", Drop: 8},
	{Name: "create_time", Header: "CREATED", Drop: 6},
	{Name: "last_success_time", Header: "LAST SUCCESS", Drop: 7},
	{Name: "job_execution_id", Header: "EXECUTION ID", GUID: true, Drop: 9},
	{Name: "step_id", Header: "STEP", Right: true, Wide: true},
	{Name: "end_time", Header: "ENDED", Wide: true},
	{Name: "error_number", Header: "ERROR", Right: true, Wide: true},
	{Name: "message", Rest: true, Min: 16, Drop: 4},
})

// A call of jobs.sp_get_target_outcomes reads at most outcomeCells pairs of a database and a job;
// outcomeJobs is the number of jobs.
const (
	outcomeCells = 20_000
	outcomeJobs  = 50
	// maxOutcomeTargets is the largest limit; the procedure lists no more databases.
	maxOutcomeTargets = 20_000
)

// outcomeFlags are the flags of execution outcomes.
type outcomeFlags struct {
	filter      executions.TargetFilter
	job, target string
	limit       int
}

func newOutcomesCommand(a *connect.App) *cobra.Command {
	var f outcomeFlags
	cmd := command.List(&a.Printer, outcomeColumns, &cobra.Command{
		Use: "outcomes", Short: "List what jobs last did on databases, and who lacks a job", Args: cobra.NoArgs,
		Long: `List databases and jobs with the outcome of the newest run of each job on each database. An outcome is that of all
steps of the run there: InProgress, WaitingForRetry, Canceled, Failed, TimedOut, Skipped, Incomplete (the run ended
before its other steps began) or Succeeded. It is absent, and "never ran" in the table, where the job never ran.

--lacking lists only what is not Succeeded: the databases that lack a job.

--target-group lists the databases of a group, as a run resolved it last, and the jobs that use it. Without it, the
databases are all that a run had.`,
		Example: `  jobagent execution outcomes --target-group customers --job "add column" --lacking
  jobagent execution outcomes --target-group customers --limit 20000 -o csv > matrix.csv
  jobagent execution outcomes --job nightly --lacking --jq '.[].target_id' | jobagent job start nightly --only-targets -`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.limit < 1 || f.limit > maxOutcomeTargets:
				return exit.Usagef("--limit %d: it must be from 1 to %d databases", f.limit, maxOutcomeTargets)
			case f.target != "" && (f.filter.Group != "" || f.filter.Search != ""):
				return exit.Usagef("--target is one database: --target-group and --search cannot be combined with it")
			case f.job != "" && f.filter.JobSearch != "":
				return exit.Usagef("--job and --job-search cannot be combined")
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				rows, more, err := f.read(cmd.Context(), store)
				if err != nil {
					return err
				}
				if err := output.List(&a.Printer, rows, outcomeColumns); err != nil {
					return err
				}
				if more {
					fmt.Fprintf(a.Stderr, "There are more databases: --limit shows more than %d, --search chooses.\n", f.limit)
				}
				return nil
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Group, "target-group", "", "only databases of this `GROUP`, and jobs that use it")
	flags.StringVar(&f.target, "target", "", "only this database: `DATABASE` or SERVER/DATABASE")
	flags.StringVar(&f.filter.Search, "search", "", "only databases with this `TEXT` in their name or that of the server")
	flags.StringVar(&f.job, "job", "", "only this job")
	flags.StringVar(&f.filter.JobSearch, "job-search", "", "only jobs with this `TEXT` in their name")
	flags.BoolVar(&f.filter.Lacking, "lacking", false, "only where the last outcome is not Succeeded, or the job never ran")
	flags.IntVar(&f.limit, "limit", 100, "maximum number of databases")
	return cmd
}

// read reads the rows, and whether there are further databases.
func (f *outcomeFlags) read(ctx context.Context, store *controldb.Store) (rows []output.OutcomeOfTarget, more bool, err error) {
	if f.job != "" {
		if _, err := lookup.Job(ctx, store, f.job); err != nil {
			return nil, false, err
		}
		f.filter.JobSearch = f.job
	}
	if f.target != "" {
		if f.filter.Target, err = findTarget(ctx, store, f.target); err != nil {
			return nil, false, err
		}
	}
	rows = []output.OutcomeOfTarget{}
	f.filter.Jobs, f.filter.Top = outcomeJobs, min(f.limit, outcomeCells/outcomeJobs)
	pages := 0
	for again := true; again; pages++ {
		next, further, err := f.readJobs(ctx, store, &rows)
		if err != nil {
			return nil, false, err
		}
		f.filter.AfterJob, again, more = next, next != "", more || further
	}
	if pages > 1 { // each page of jobs has the first databases
		slices.SortStableFunc(rows, func(a, b output.OutcomeOfTarget) int {
			return cmp.Or(strings.Compare(targets.FoldName(a.Database), targets.FoldName(b.Database)),
				strings.Compare(targets.FoldName(a.Server), targets.FoldName(b.Server)), strings.Compare(a.TargetID.String(), b.TargetID.String()))
		})
	}
	known := map[uuid.UUID]bool{}
	for i, r := range rows {
		if known[r.TargetID] = true; len(known) > f.limit {
			return rows[:i], true, nil
		}
	}
	return rows, more, nil
}

// readJobs adds the rows of a page of jobs, with as many databases as wanted, and returns the job
// behind which the next page begins.
func (f *outcomeFlags) readJobs(ctx context.Context, store *controldb.Store, rows *[]output.OutcomeOfTarget) (next string, more bool, err error) {
	filter, found := f.filter, 0
	for {
		o, err := executions.On(store).TargetOutcomes(ctx, filter)
		if err != nil {
			return "", false, err
		}
		found += f.add(rows, o)
		if o.NextServer == "" || found >= f.limit {
			return o.NextJob, o.NextServer != "", nil
		}
		filter.After = executions.FoundTarget{Database: o.NextDatabase, Server: o.NextServer}
	}
}

// add adds the rows of an answer, and returns the number of databases that have one.
func (f *outcomeFlags) add(rows *[]output.OutcomeOfTarget, o executions.TargetOutcomes) (found int) {
	type pair struct{ target, job uuid.UUID }
	known := make(map[pair]*executions.TargetOutcome, len(o.Outcomes))
	for i := range o.Outcomes {
		known[pair{o.Outcomes[i].Target, o.Outcomes[i].Job}] = &o.Outcomes[i]
	}
	for _, t := range o.Targets {
		before := len(*rows)
		for _, j := range o.Jobs {
			last := known[pair{t.ID, j.ID}]
			if f.job != "" && !strings.EqualFold(j.Name, f.job) || f.filter.Lacking && last != nil && !last.Lacking() {
				continue
			}
			*rows = append(*rows, viewOutcome(t, j, last))
		}
		if len(*rows) > before {
			found++
		}
	}
	return found
}

// viewOutcome converts what a job last did on a database; nil: it never ran there.
func viewOutcome(t executions.FoundTarget, j executions.OutcomeJob, last *executions.TargetOutcome) output.OutcomeOfTarget {
	v := output.OutcomeOfTarget{TargetID: t.ID, Server: t.Server, Database: t.Database, JobName: j.Name, JobID: j.ID}
	if last == nil {
		return v
	}
	v.Outcome, v.Run, v.JobVersion, v.StepID, v.Message = last.Outcome, &last.Run, &last.JobVersion, &last.Step, last.Message
	if last.Error != 0 {
		v.Error = &last.Error
	}
	v.CreateTime, v.EndTime = output.Optional(last.CreateTime), output.Optional(last.EndTime)
	v.LastSuccessTime, v.SuccessUnknown = output.Optional(last.LastSuccessTime), last.SuccessUnknown
	if last.LastSuccess != uuid.Nil {
		v.LastSuccess = &last.LastSuccess
	}
	return v
}
