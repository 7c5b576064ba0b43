package demo

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"sync"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// scripts holds the T-SQL of the demo.
//
//go:embed demodata/*.sql
var scripts embed.FS

// tenantName returns the name of a tenant's database.
func tenantName(n int) string { return fmt.Sprintf("Tenant%04d", n) }

// script reads a script of the demo.
func script(name string) (string, error) {
	b, err := scripts.ReadFile("demodata/" + name)
	return string(b), err
}

// makeTenants creates the databases of n tenants, several at the same time.
func makeTenants(ctx context.Context, n int, makeTenant func(number int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for number := range numbers {
				if err := makeTenant(number); err != nil {
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
	_, err = master.ExecContext(ctx, "CREATE DATABASE "+reportDatabase+";")
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
	case maintainedTenant:
		scripts = append(scripts, "maintenance.sql")
	case brokenTenant:
		scripts = append(scripts, "bad_discount.sql")
	}
	for _, name := range scripts {
		text, err := script(name)
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
func defineDemo(ctx context.Context, server *embedded.Server, receiver *receiver) error {
	store := server.Store
	if _, err := targetgroups.On(store).Add(ctx, groupName); err != nil {
		return err
	}
	for _, m := range []targets.Member{
		{Membership: targets.Include, Kind: targets.SQLServer, Server: server.ServerName()},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: server.ServerName(),
			Database: tenantName(excludedTenant)},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: server.ServerName(), Database: reportDatabase},
	} {
		if _, err := targetgroups.On(store).AddMember(ctx, groupName, m); err != nil {
			return err
		}
	}
	description := "Gives every order its total, collects the revenue of all tenants, and reports how that went."
	if _, err := catalog.On(store).AddJob(ctx, model.JobSpec{Name: jobName, Description: &description}); err != nil {
		return err
	}
	change, err := script("step1.sql")
	if err != nil {
		return err
	}
	report, err := script("step2.sql")
	if err != nil {
		return err
	}
	names, retries, kind, constant := []string{"Add and fill Orders.Total", "Collect revenue", "Post a summary"}, 2, "SqlDatabase", 1.0
	outServer, outDatabase, outTable := server.ServerName(), reportDatabase, reportTable
	if _, err := catalog.On(store).AddJobStep(ctx, model.StepSpec{
		JobName: jobName, StepName: &names[0], Command: new(change), TargetGroup: new(groupName), RetryAttempts: &retries, RetryIntervalMultiplier: &constant,
	}); err != nil {
		return err
	}
	if _, err := catalog.On(store).AddJobStep(ctx, model.StepSpec{
		JobName: jobName, StepName: &names[1], Command: new(report), TargetGroup: new(groupName), RetryAttempts: &retries, RetryIntervalMultiplier: &constant,
		Output: &model.OutputSpec{Type: &kind, Server: &outServer, Database: &outDatabase, Table: &outTable},
	}); err != nil {
		return err
	}
	commandType, finished := string(action.TypeHTTP), "Finished"
	_, err = catalog.On(store).AddJobStep(ctx, model.StepSpec{
		JobName: jobName, StepName: &names[2], CommandType: &commandType, Command: new(receiver.summaryAction()), RetryAttempts: &retries,
		RunWhen: &finished,
	})
	return err
}
