package job

import (
	"context"
	"errors"
	"os"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/mssql"
)

func newTrialCommand(a *connect.App) *cobra.Command {
	var start modeStart
	var tried mssql.Trial
	var dir string
	cmd := &cobra.Command{
		Use: "trial JOB", Short: "Run a job's scripts in transactions that are rolled back, and report on each batch", Args: cobra.ExactArgs(1),
		Long: `Run a job's scripts on some databases, each script in one transaction that is rolled back:

  jobagent job trial nightly --on sql1.contoso.com/app1

It reports the duration, the rows, the bytes of the transaction log and the locks of each batch, the objects that
these are on, and all messages. Identity values and numbers of sequences that a script takes are not given back, and
its locks hold up others until it is rolled back.

A script with a statement that cannot be in a transaction, or that commits by itself, such as ALTER DATABASE or a
COMMIT without BEGIN TRANSACTION, is refused, and nothing of it is sent; --skip-unsupported leaves out the batches
with these. A COMMIT in a procedure or in dynamic T-SQL is seen only afterwards: the trial fails, and says so.

With --plan, it also reports the estimated plan of each batch (SET SHOWPLAN_XML), read before the batch runs, when the
batches before it have run: estimated rows and costs, missing indexes, conversions and other warnings. The login needs
the permission SHOWPLAN. --plan-dir writes the documents into files that Management Studio opens; a document that has
more than 64 KB when it is compressed, or a plan after 128 KB of them, is not kept.

Each step is a trial of its own. Actions are skipped, and nothing is retried. ` + runs.WaitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" {
				tried.PlanXML = true
				if err := os.MkdirAll(dir, 0o750); err != nil { // before the run, whose documents would be lost
					return err
				}
			}
			req := executions.StartRequest{Mode: controldb.ModeTrial, ModeOptions: tried.Options()}
			return start.run(cmd, a, args[0], req, runs.WatchTrial(dir))
		},
	}
	start.add(cmd, "try the scripts on these `DATABASES` of the target groups, at most 100")
	cmd.Flags().BoolVar(&tried.Plan, "plan", false, "report the estimated plan of each batch")
	cmd.Flags().StringVar(&dir, "plan-dir", "", "write the estimated plans as .sqlplan files into the directory `DIR`; implies --plan")
	cmd.Flags().BoolVar(&tried.SkipUnsupported, "skip-unsupported", false, "leave out batches that cannot be tried, in place of refusing the script")
	return cmd
}

func newPreflightCommand(a *connect.App) *cobra.Command {
	var start modeStart
	var needs string
	cmd := &cobra.Command{
		Use: "preflight JOB", Short: "Check what a job's scripts need on their databases, and run nothing", Args: cobra.ExactArgs(1),
		Long: `Check what a job's scripts need on their databases. No script runs. On each database that is reached and accepts the
login, these are checked: state, writable, version, compatibility, rights, log_space, data_space, blocking and
transactions (old ones of other sessions). The last two only warn. --needs says what the scripts need:

  jobagent job preflight nightly --needs '{"rights": ["ALTER", "CREATE TABLE"], "min_compatibility": 150,
    "min_log_mb": 500, "min_data_mb": 1000, "warn": ["data_space"], "refuse": ["blocking"]}'

Other members are min_version, such as 15, and max_transaction_seconds (600). Free space counts the growth of files; what
is free on the disk is not known. What cannot be read is a warning, and a failure if --needs asks for it.

Findings are grouped. Actions are skipped, and nothing is retried. ` + runs.WaitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := mssql.ParsePreflight(needs); err != nil {
				return exit.Usage(err)
			}
			return start.run(cmd, a, args[0], executions.StartRequest{Mode: controldb.ModePreflight, ModeOptions: needs}, runs.WatchPreflight)
		},
	}
	start.add(cmd, "check only these `DATABASES` of the target groups")
	cmd.Flags().StringVar(&needs, "needs", "", "what the scripts need, a `JSON` object")
	return cmd
}

// modeStart starts a run with a mode, and waits for its end.
type modeStart struct {
	chosen       command.TargetFlag
	params       command.ParameterFlags
	allowMissing bool
	wait         runs.Wait
}

// add declares the flags.
func (m *modeStart) add(cmd *cobra.Command, on string) {
	m.chosen.Add(cmd, "on", on)
	m.wait.AddFlags(cmd, false)
	m.params.Add(cmd, "the run")
	cmd.Flags().BoolVar(&m.allowMissing, "allow-missing", false, "start although steps use parameters that are not given")
}

func (m *modeStart) run(
	cmd *cobra.Command, a *connect.App, job string, req executions.StartRequest,
	watch func(context.Context, *output.Printer, *controldb.Store, uuid.UUID, runs.Wait) error,
) error {
	if err := m.wait.Check(cmd); err != nil {
		return err
	}
	parameters, err := m.params.Read(a.Stdin)
	if err != nil {
		return err
	}
	names, err := m.chosen.Read(a.Stdin)
	switch {
	case err != nil:
		return err
	case names == nil && req.Mode == controldb.ModeTrial:
		return exit.Usagef("a trial needs --on: the databases to try the scripts on")
	case len(names) > executions.MaxTrialTargets && req.Mode == controldb.ModeTrial:
		return exit.Usagef("--on names %d databases: a trial runs on at most %d", len(names), executions.MaxTrialTargets)
	}
	ctx := cmd.Context()
	return a.WithStore(ctx, func(store *controldb.Store) error {
		known, err := startcheck.Read(ctx, store, job)
		if err != nil && !errors.Is(err, dberror.ErrJobNotFound) { // the procedure refuses the name
			return err
		}
		if parameters, err = runs.CheckStart(known, parameters, m.params.Texts(), m.allowMissing); err != nil {
			return err
		}
		req.Job, req.ID, req.Parameters = job, uuid.New(), parameters
		if req.OnlyTargets, err = lookup.StartTargets(ctx, store, job, names); err != nil {
			return err
		}
		run, err := executions.On(store).Start(ctx, req)
		if err != nil {
			return runs.Unanswered(ctx, &a.Printer, req.ID, false, err)
		}
		on := ""
		if n := len(req.OnlyTargets); n > 0 {
			on = " on " + wording.Count(n, "chosen database")
		}
		runs.Started(&a.Printer, run, job, on)
		return watch(ctx, &a.Printer, store, run, m.wait)
	})
}
