package demo

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"sync"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// demoData holds the T-SQL of the demo.
//
//go:embed demodata/*.sql
var demoData embed.FS

// tenantName returns the name of a tenant's database.
func tenantName(n int) string { return fmt.Sprintf("Tenant%04d", n) }

// demoScript reads a script of the demo.
func demoScript(name string) (string, error) {
	b, err := demoData.ReadFile("demodata/" + name)
	return string(b), err
}

// makeTenants creates the tenant databases with their data, several at the same time.
func makeTenants(ctx context.Context, server *embedded.Server, n int) error {
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

// makeReports creates the database into which step 2 writes.
func makeReports(ctx context.Context, server *embedded.Server) error {
	master, err := server.Open("master")
	if err != nil {
		return err
	}
	defer master.Close()
	_, err = master.ExecContext(ctx, "CREATE DATABASE "+demoReports+";")
	return err
}

// makeTenant creates one tenant database.
func makeTenant(ctx context.Context, server *embedded.Server, number int) error {
	master, err := server.Open("master")
	if err != nil {
		return err
	}
	defer master.Close()
	if _, err := master.ExecContext(ctx, "CREATE DATABASE "+tenantName(number)+";"); err != nil {
		return err
	}
	db, err := server.Open(tenantName(number))
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

// defineDemo creates the target group and the job.
func defineDemo(ctx context.Context, server *embedded.Server) error {
	store := server.Store
	if _, err := store.AddTargetGroup(ctx, demoGroup); err != nil {
		return err
	}
	for _, m := range []targets.Member{
		{Membership: targets.Include, Kind: targets.SQLServer, Server: server.ServerName()},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: server.ServerName(), Database: tenantName(demoExcluded)},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: server.ServerName(), Database: demoReports},
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
	outServer, outDatabase, outTable := server.ServerName(), demoReports, demoTable
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
