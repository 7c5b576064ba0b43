package main

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// demoData holds the T-SQL of the demo.
//
//go:embed demodata/*.sql
var demoData embed.FS

// The demo's cast: which tenant has which part. Tenants are numbered from 1.
const (
	demoExcluded    = 2 // taken away from the target group
	demoMaintenance = 3 // fails its first attempt
	demoBroken      = 4 // fails for good
	demoMinimum     = 5
	demoMaximum     = 2000
)

// Names in the demo.
const (
	demoJob   = "Add order totals"
	demoGroup = "All tenants"
	demoTable = "TenantRevenue"
	// demoReports is the database of the table: no job writes into the control database.
	demoReports = "Reports"
)

// newDemoCommand makes `jobagent demo`.
func newDemoCommand(a *app) *cobra.Command {
	var databases int
	var memory memorySize
	cmd := &cobra.Command{
		Use: "demo", Short: "Watch a T-SQL job run across many databases, on an embedded server",
		Long: `Watch a T-SQL job run across many databases. The demo starts an embedded server, makes tenant databases with data, a control
database and an agent, and defines a job by the public procedures: step 1 changes the schema of each tenant and fills the new
column, step 2 collects a report from all tenants into one table. One tenant is excluded, one fails its first attempt and passes
on the retry, one fails for good. Nothing is kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if databases < demoMinimum || databases > demoMaximum {
				return usagef("--databases %d: must be %d to %d", databases, demoMinimum, demoMaximum)
			}
			if err := memory.check(); err != nil {
				return err
			}
			return a.demo(cmd.Context(), databases, memory)
		},
	}
	cmd.Flags().IntVar(&databases, "databases", 24, "how many tenant databases to make")
	addMaxMemory(cmd, &memory)
	return cmd
}

// demoResult is what `demo -o json` prints as its last line. Targets are databases, each counted once by the worst that happened to it.
type demoResult struct {
	ID        uuid.UUID      `json:"job_execution_id"`
	Lifecycle jobs.Lifecycle `json:"lifecycle"`
	Targets   struct {
		Total     int `json:"total"`
		Succeeded int `json:"succeeded"`
		Failed    int `json:"failed"`
		Skipped   int `json:"skipped"`
		Canceled  int `json:"canceled"`
		TimedOut  int `json:"timed_out"`
	} `json:"targets"`
	Attempts  int   `json:"attempts"`
	ElapsedMS int64 `json:"elapsed_ms"`
}

// tenantName is the database of a tenant.
func tenantName(n int) string { return fmt.Sprintf("Tenant%04d", n) }

// demo is `jobagent demo`.
func (a *app) demo(ctx context.Context, databases int, memory memorySize) (err error) {
	log := zap.NewNop()
	if a.logLevel == "debug" {
		if log, err = a.logger(); err != nil {
			return err
		}
	}
	began := time.Now()
	a.say("Starting an embedded server ...")
	server, err := startEmbedded(ctx, "", "127.0.0.1:0", randomPassword(), "disable", log, memory.option)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := server.close(); err == nil {
			err = closeErr
		}
	}()
	a.say("Making %d tenant databases on %s ...", databases, server.serverName())
	if err := makeTenants(ctx, server, databases); err != nil {
		return err
	}
	if err := makeReports(ctx, server); err != nil {
		return fmt.Errorf("make the database %s: %w", demoReports, err)
	}

	servers, err := server.openServers(ctx)
	if err != nil {
		return err
	}
	defer servers.Close()
	tools, err := newTools(ctx, server.store, servers)
	if err != nil {
		return err
	}
	stopAgent, _ := background(ctx, agent.Config{Version: version(), Grace: -1}, server.store, tools, log)
	defer func() {
		if stopErr := stopAgent(); err == nil {
			err = stopErr
		}
	}()

	a.say("Defining the job %q by jobs.sp_add_target_group, sp_add_job, sp_add_jobstep ...", demoJob)
	if err := defineDemo(ctx, server); err != nil {
		return err
	}
	started := time.Now()
	id, err := server.store.StartJob(ctx, demoJob, uuid.Nil)
	if err != nil {
		return err
	}
	rows, err := a.follow(ctx, server.store, id)
	if err != nil {
		return err
	}
	result := summarize(id, rows)
	result.ElapsedMS = time.Since(started).Milliseconds()

	if a.output == formatJSON {
		return json.NewEncoder(a.stdout).Encode(result)
	}
	return a.showDemo(ctx, server, rows, result, time.Since(began))
}

// say tells people what happens; programs are not interested.
func (a *printer) say(format string, args ...any) {
	if a.output != formatJSON {
		fmt.Fprintf(a.stdout, format+"\n", args...)
	}
}

// demoScript reads a script of the demo.
func demoScript(name string) (string, error) {
	b, err := demoData.ReadFile("demodata/" + name)
	return string(b), err
}

// makeTenants makes the tenant databases with their data, several at once.
func makeTenants(ctx context.Context, server *embedded, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for number := range numbers {
				if err := makeTenant(ctx, server, number); err != nil {
					cancel(fmt.Errorf("make %s: %w", tenantName(number), err))
				}
			}
		})
	}
	for number := 1; number <= n && ctx.Err() == nil; number++ {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
	return context.Cause(ctx)
}

// makeReports makes the database that step 2 writes to.
func makeReports(ctx context.Context, server *embedded) error {
	master, err := server.open("master")
	if err != nil {
		return err
	}
	defer master.Close()
	_, err = master.ExecContext(ctx, "CREATE DATABASE "+demoReports+";")
	return err
}

// makeTenant makes one tenant database.
func makeTenant(ctx context.Context, server *embedded, number int) error {
	master, err := server.open("master")
	if err != nil {
		return err
	}
	defer master.Close()
	if _, err := master.ExecContext(ctx, "CREATE DATABASE "+tenantName(number)+";"); err != nil {
		return err
	}
	db, err := server.open(tenantName(number))
	if err != nil {
		return err
	}
	defer db.Close()
	scripts := []string{"tenant.sql", "tenant_data.sql"}
	switch number {
	case demoMaintenance:
		scripts = append(scripts, "maintenance.sql")
	case demoBroken:
		scripts = append(scripts, "bad_discount.sql")
	}
	for _, name := range scripts {
		text, err := demoScript(name)
		if err != nil {
			return err
		}
		var args []any
		if name == "tenant_data.sql" {
			args = append(args, sql.Named("tenant_number", number))
		}
		if _, err := db.ExecContext(ctx, text, args...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// defineDemo defines target group and job.
func defineDemo(ctx context.Context, server *embedded) error {
	store := server.store
	if _, err := store.AddTargetGroup(ctx, demoGroup); err != nil {
		return err
	}
	for _, m := range []targets.Member{
		{Membership: targets.Include, Kind: targets.SQLServer, Server: server.serverName()},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: server.serverName(), Database: tenantName(demoExcluded)},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: server.serverName(), Database: demoReports},
	} {
		if _, err := store.AddTargetGroupMember(ctx, demoGroup, m); err != nil {
			return err
		}
	}
	description := "Gives every order its total, then collects the revenue of all tenants."
	if _, err := store.AddJob(ctx, controldb.JobSpec{Name: demoJob, Description: &description}); err != nil {
		return err
	}
	change, err := demoScript("step1.sql")
	if err != nil {
		return err
	}
	report, err := demoScript("step2.sql")
	if err != nil {
		return err
	}
	names, retries, kind := []string{"Add and fill Orders.Total", "Collect revenue"}, 2, "SqlDatabase"
	outServer, outDatabase, outTable := server.serverName(), demoReports, demoTable
	if _, err := store.AddJobStep(ctx, controldb.StepSpec{
		JobName: demoJob, StepName: &names[0], Command: change, TargetGroup: demoGroup, RetryAttempts: &retries,
	}); err != nil {
		return err
	}
	_, err = store.AddJobStep(ctx, controldb.StepSpec{
		JobName: demoJob, StepName: &names[1], Command: report, TargetGroup: demoGroup, RetryAttempts: &retries,
		Output: &controldb.OutputSpec{Type: &kind, Server: &outServer, Database: &outDatabase, Table: &outTable},
	})
	return err
}

// severity orders lifecycles from harmless to bad, for the one that counts for a database.
var severity = map[jobs.Lifecycle]int{jobs.Succeeded: 1, jobs.Skipped: 2, jobs.Canceled: 3, jobs.TimedOut: 4, jobs.Failed: 5}

// summarize counts databases by the worst that happened to them.
func summarize(id uuid.UUID, rows []controldb.Execution) demoResult {
	r := demoResult{ID: id, Lifecycle: rows[0].Lifecycle}
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

// showDemo prints what came out, for people.
func (a *app) showDemo(ctx context.Context, server *embedded, rows []controldb.Execution, result demoResult, elapsed time.Duration) error {
	a.say("\nThe run, as jobs.job_executions tells it:\n")
	if err := printTree(a.stdout, abridged(rows), nil); err != nil {
		return err
	}
	for _, g := range groupErrors(rows) {
		a.say("\nFailed in step %d on %s:\n  %s", g.StepID, g.Targets[0], oneLine(g.Message))
	}
	db, err := server.open(demoReports)
	if err != nil {
		return err
	}
	defer db.Close()
	a.say("\nWhat step 2 collected in %s.dbo.%s, first rows:\n", demoReports, demoTable)
	if err := printRows(ctx, a.stdout, db); err != nil {
		return err
	}
	a.say("\nThe run is %s, as it should be with one tenant whose data is bad. It took %s: %d databases, %d succeeded, %d failed, %d attempts. Set-up and all: %s.", result.Lifecycle,
		(time.Duration(result.ElapsedMS) * time.Millisecond).Round(10*time.Millisecond), result.Targets.Total, result.Targets.Succeeded, result.Targets.Failed,
		result.Attempts, elapsed.Round(100*time.Millisecond))
	a.say(`
Excluded from the group: %s. Retried and passed: %s. Bad data: %s.

Go on with a server that stays up and keeps its data (go install ./cmd/jobagent makes the command):
  JOBAGENT_SA_PASSWORD='Play-w1th-it' jobagent dev --data ./devdata
  export JOBAGENT_DSN='sqlserver://sa:Play-w1th-it@127.0.0.1:1433?database=%s&serverCertificate=devdata/server-certificate.pem'
  jobagent job list
or with your own SQL Server:
  export JOBAGENT_DSN='sqlserver://USER:PASSWORD@HOST?database=DATABASE'
  jobagent db install
  JOBAGENT_TARGET_PASSWORD=... jobagent run --target-user LOGIN --target-servers '*.example.com'`, tenantName(demoExcluded), tenantName(demoMaintenance), tenantName(demoBroken), controlDatabase)
	return nil
}

// abridged leaves out all but the first few targets of each step that have nothing to tell.
func abridged(rows []controldb.Execution) []controldb.Execution {
	const quiet = 4 // uneventful targets shown of each step
	var kept []controldb.Execution
	shown := 0
	for _, e := range rows {
		if e.TargetType != "SqlDatabase" {
			shown = 0
			kept = append(kept, e)
			continue
		}
		if e.Lifecycle != jobs.Succeeded || e.Attempts > 1 {
			kept = append(kept, e)
			continue
		}
		if shown++; shown <= quiet {
			kept = append(kept, e)
		}
	}
	return kept
}

// printRows shows the first rows of the collected table.
func printRows(ctx context.Context, w io.Writer, db *sql.DB) (err error) {
	rows, err := db.QueryContext(ctx, "SELECT TOP (8) tenant, country, orders, revenue FROM dbo."+demoTable+" ORDER BY tenant, country;")
	if err != nil {
		return fmt.Errorf("read the collected rows: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	t := newTable("TENANT", "COUNTRY", "ORDERS", "REVENUE")
	for rows.Next() {
		var tenant, country, revenue string
		var orders int
		if err := rows.Scan(&tenant, &country, &orders, &revenue); err != nil {
			return fmt.Errorf("read the collected rows: %w", err)
		}
		t.add(tenant, country, orders, revenue)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the collected rows: %w", err)
	}
	return t.write(w)
}
