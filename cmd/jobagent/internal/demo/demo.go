// Package demo shows a job that runs across many databases.
package demo

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// Numbers of the tenants with a special role, counted from 1, and the limits of --databases.
const (
	excludedTenant   = 2 // excluded from the target group
	maintainedTenant = 3 // fails its first attempt
	brokenTenant     = 4 // fails each attempt
	minTenants       = 5
	maxTenants       = 2000
)

// Names of the demo's objects.
const (
	jobName     = "Add order totals"
	groupName   = "All tenants"
	reportTable = "TenantRevenue"
	// reportDatabase is the database of the output table. A job cannot write into the control
	// database.
	reportDatabase = "Reports"
)

// NewCommand returns `jobagent demo`.
func NewCommand(a *connect.App) *cobra.Command {
	var databases int
	var keep, rollout bool
	var memory embedded.MemorySize
	cmd := &cobra.Command{
		Use: "demo", Short: "Run a job across many databases of an embedded server",
		Long: `Run a job across many databases. The demo starts an embedded server with tenant databases, a control
database, an agent and a web server, and defines a job with the public procedures. Step 1 changes
the schema of each tenant and fills the new column; step 2 collects a report from all tenants in one
table; step 3, which runs however they ended, posts a summary of the run to the web server. One
tenant is excluded, one fails its first attempt and succeeds on the retry, and one fails each
attempt. At the end, the databases are removed.

With --rollout, the demo rolls a new column out to 40 databases in waves: 3 of them first, then 10, then
the rest after an approval. One of the 10 is not as it should be, so the roll-out stops; it is mended, the
wave is repeated, the rest is approved, and in the end all of it is undone.

With --keep, the server and the agent go on until Ctrl-C, and a terminal shows commands to try on the
run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.OwnControlDatabase(); err != nil {
				return err
			}
			if databases < minTenants || databases > maxTenants {
				return exit.Usagef("--databases %d: must be %d to %d", databases, minTenants, maxTenants)
			}
			if err := memory.Check(); err != nil {
				return err
			}
			if !rollout {
				return demo(cmd.Context(), a, databases, keep, memory)
			}
			if cmd.Flags().Changed("databases") {
				return exit.Usagef("--databases: the demo of a roll-out has %d", rolloutTenants)
			}
			return demoRollout(cmd.Context(), a, keep, memory)
		},
	}
	cmd.Flags().IntVar(&databases, "databases", 24, "number of tenant databases")
	cmd.Flags().BoolVar(&rollout, "rollout", false, "show a roll-out instead: a change that stops at a bad database, goes on, and is undone")
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the server and the agent running until Ctrl-C")
	embedded.AddMemoryFlag(cmd, &memory)
	return cmd
}

// onServer starts an embedded server, has prepare make its databases and do what comes before an
// agent, starts an agent and calls show. With keep, the server and the agent go on until a signal.
func onServer(
	ctx context.Context, a *connect.App, memory embedded.MemorySize, keep bool, prepare, show func(*embedded.Server) error,
) (err error) {
	log := zap.NewNop()
	if a.LogLevel == "debug" {
		if log, err = a.Logger(); err != nil {
			return err
		}
	}
	a.Progress("Starting an embedded server ...")
	server, err := embedded.Start(ctx, "", "127.0.0.1:0", embedded.RandomPassword(), "disable", log, memory.Option)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := server.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := prepare(server); err != nil {
		return err
	}
	servers, err := server.OpenServers(ctx)
	if err != nil {
		return err
	}
	defer servers.Close()
	tools, err := connect.NewTools(ctx, server.Store, servers)
	if err != nil {
		return err
	}
	actions, err := connect.NewActions(config.File{}, buildinfo.Version(), true)
	if err != nil {
		return err
	}
	tools.Actions = actions.Actions
	stopAgent, agentFailed := daemon.Start(ctx, agent.Config{Version: buildinfo.Version(), Grace: -1}, server.Store, tools, log)
	defer func() {
		if stopErr := stopAgent(); err == nil {
			err = stopErr
		}
	}()
	if err := show(server); err != nil || !keep {
		return err
	}
	return server.Wait(ctx, agentFailed)
}

// demo implements `jobagent demo`.
func demo(ctx context.Context, a *connect.App, databases int, keep bool, memory embedded.MemorySize) (err error) {
	began := time.Now()
	receiver, err := startReceiver()
	if err != nil {
		return fmt.Errorf("start the web server: %w", err)
	}
	defer func() { err = errors.Join(err, receiver.close()) }()
	return onServer(ctx, a, memory, keep, func(server *embedded.Server) error {
		a.Progress("Creating %d tenant databases on %s ...", databases, server.ServerName())
		if err := makeTenants(ctx, databases, func(number int) error { return makeTenant(ctx, server, number) }); err != nil {
			return err
		}
		if err := makeReports(ctx, server); err != nil {
			return fmt.Errorf("create the database %s: %w", reportDatabase, err)
		}
		return nil
	}, func(server *embedded.Server) error {
		a.Progress("Defining the job %q with jobs.sp_add_target_group, sp_add_job and sp_add_jobstep ...", jobName)
		if err := defineDemo(ctx, server, receiver); err != nil {
			return err
		}
		started := time.Now()
		id, err := executions.On(server.Store).StartJob(ctx, jobName, uuid.Nil)
		if err != nil {
			return err
		}
		rows, err := runs.Follow(ctx, &a.Printer, server.Store, id)
		if err != nil {
			return err
		}
		result := summarize(id, rows)
		result.Received = receiver.last()
		result.ElapsedMS = time.Since(started).Milliseconds()
		switch {
		case a.Format == output.FormatJSON && a.Query.String() == "":
			return json.NewEncoder(a.Stdout).Encode(result) // one line
		case a.Structured():
			return a.Emit(result, nil)
		}
		if err := showDemo(ctx, &a.Printer, server, rows, result, time.Since(began)); err != nil {
			return err
		}
		showNext(&a.Printer, server, id, keep)
		return nil
	})
}

// showNext prints how to continue. With keep, a terminal shows commands that work as printed; their
// password is that of a server on loopback that ends with this process.
func showNext(p *output.Printer, server *embedded.Server, id uuid.UUID, keep bool) {
	if !keep {
		p.Progress(`
To try commands on this run in a second terminal:  jobagent demo --keep
A server that keeps its data:                      jobagent dev --data ./devdata
With your own SQL Server:
  export JOBAGENT_DSN='sqlserver://USER:PASSWORD@HOST?database=DATABASE'
  jobagent db install
  JOBAGENT_TARGET_PASSWORD=... jobagent run --target-user LOGIN --target-servers '*.example.com'`)
		return
	}
	if !terminal.Is(p.Stdout) {
		p.Progress("\nThe server on %s and the agent go on until a signal ends them. A terminal shows how to connect.", server.ServerName())
		return
	}
	p.Progress(`
The server and the agent go on until Ctrl-C. In a second terminal:

  %s
  jobagent execution errors %s
  jobagent execution rerun %s --wait
  jobagent top

The rerun runs the failed database only. Its data are still bad, so it fails again (exit code %d).`,
		embedded.Export(config.EnvDSN, server.DSN(embedded.ControlDatabase)), id, id, exit.CodeRunFailed)
}

// severity orders the final lifecycles. The worst one of its steps counts for a database.
var severity = map[jobs.Lifecycle]int{jobs.Succeeded: 1, jobs.Skipped: 2, jobs.Canceled: 3, jobs.TimedOut: 4,
	jobs.Failed: 5}

// summarize counts the databases by their worst lifecycle.
func summarize(id uuid.UUID, rows []executions.Execution) output.DemoRun {
	r := output.DemoRun{ID: id, Lifecycle: rows[0].Lifecycle}
	worst := map[string]jobs.Lifecycle{}
	for _, e := range rows {
		if e.TargetType != "SqlDatabase" {
			continue
		}
		r.Attempts += e.Attempts
		if key := e.Server + "/" + e.Database; severity[e.Lifecycle] > severity[worst[key]] {
			worst[key] = e.Lifecycle
		}
	}
	r.Targets.Total = len(worst)
	for _, l := range worst {
		switch l {
		case jobs.Succeeded:
			r.Targets.Succeeded++
		case jobs.Skipped:
			r.Targets.Skipped++
		case jobs.Canceled:
			r.Targets.Canceled++
		case jobs.TimedOut:
			r.Targets.TimedOut++
		default:
			r.Targets.Failed++
		}
	}
	return r
}

// showDemo prints the results of the demo.
func showDemo(ctx context.Context, p *output.Printer, server *embedded.Server, rows []executions.Execution,
	result output.DemoRun, elapsed time.Duration) error {
	p.Progress("\nThe run in jobs.job_executions:\n")
	tree := runs.NewTree(p)
	tree.Targets = shownTargets
	if err := tree.Print(p.Stdout, rows, nil); err != nil {
		return err
	}
	for _, g := range runs.GroupErrors(rows) {
		p.Progress("\nFailed in step %d on %s:\n  %s", g.StepID, g.Targets[0], output.OneLine(g.Message))
	}
	db, err := server.Open(reportDatabase)
	if err != nil {
		return err
	}
	defer db.Close()
	p.Progress("\nThe first rows that step 2 collected in %s.dbo.%s:\n", reportDatabase, reportTable)
	if err := printRows(ctx, p.Stdout, db); err != nil {
		return err
	}
	var received bytes.Buffer
	if err := json.Indent(&received, []byte(result.Received), "", "  "); err != nil {
		return fmt.Errorf("read what step 3 sent: %w", err)
	}
	p.Progress("\nStep 3, an HTTP action, posted to the web server of the demo:\n\n%s", received.String())
	p.Progress("\nThe run ended as %s, as expected: the data of one tenant is bad. It took %s. Of %d databases, %d succeeded and %d failed, "+
		"in %d attempts. The whole demo took %s.",
		result.Lifecycle, (time.Duration(result.ElapsedMS) * time.Millisecond).Round(10*time.Millisecond),
		result.Targets.Total, result.Targets.Succeeded, result.Targets.Failed, result.Attempts, elapsed.Round(100*time.Millisecond))
	p.Progress("Excluded from the group: %s. Succeeded on a retry: %s. Bad data: %s.",
		tenantName(excludedTenant), tenantName(maintainedTenant), tenantName(brokenTenant))
	return nil
}

// shownTargets is the number of targets of a step that the tree shows of those that succeeded at
// once, and of all others.
const shownTargets = 4

// printRows prints the first rows of the output table.
func printRows(ctx context.Context, w io.Writer, db *sql.DB) (err error) {
	rows, err := db.QueryContext(ctx, "SELECT TOP (8) tenant, country, orders, revenue FROM dbo."+reportTable+" ORDER BY tenant, country;")
	if err != nil {
		return fmt.Errorf("read the collected rows: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	t := output.NewTable("TENANT", "COUNTRY", "ORDERS", "REVENUE")
	for rows.Next() {
		var tenant, country, revenue string
		var orders int
		if err := rows.Scan(&tenant, &country, &orders, &revenue); err != nil {
			return fmt.Errorf("read the collected rows: %w", err)
		}
		t.Add(tenant, country, orders, revenue)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the collected rows: %w", err)
	}
	return t.Write(w)
}
