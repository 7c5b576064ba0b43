package agent_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// An agent runs inside a Go program, on a control database of its own, until the program has
// started a job and seen its end. The server is the embedded one. For another server, leave out the
// dialers and change the connection string.
func Example() {
	if err := embedAgent(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// create table: Succeeded
}

func embedAgent(ctx context.Context) (err error) {
	const user, password = "sa", "Only-4-examples"
	server, err := tsqld.New(tsqld.Config{SAPassword: password})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()

	// The databases of this example. The control database is never a target.
	master, err := mssql.ParseDSN("sqlserver://" + user + ":" + password + "@tsqld?database=master&encrypt=disable")
	if err != nil {
		return err
	}
	db := sql.OpenDB(master.Connector(server.Dialer()))
	_, err = db.ExecContext(ctx, "CREATE DATABASE jobs; CREATE DATABASE sales;")
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}

	// Install the control schema and define a job with one step on one database.
	store, err := controldb.Open(ctx, controldb.Config{
		DSN:        "sqlserver://" + user + ":" + password + "@tsqld?database=jobs&encrypt=disable",
		Dialer:     server.Dialer(),
		ServerName: "tsqld",
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := deploy.On(store).Install(ctx); err != nil {
		return err
	}
	if err := defineJob(ctx, store); err != nil {
		return err
	}

	// Connect the agent to its targets, with one login for all of them.
	credentials, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, user, password, "*"))
	if err != nil {
		return err
	}
	servers, err := mssql.NewServers(mssql.Config{Credentials: credentials, Encrypt: "disable", Dialer: server.Dialer()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	control, err := store.Instance(ctx)
	if err != nil {
		return err
	}
	tools := agent.Tools{
		Runner:   mssql.NewRunner(servers, targets.Limits{}),
		Resolver: mssql.NewResolver(servers, control),
	}

	// Run the agent until the run has ended.
	hosting, err := agent.New(agent.Config{MaxConcurrentTargets: 4}, store, tools, nil, zap.NewNop())
	if err != nil {
		return err
	}
	agentCtx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- hosting.Run(agentCtx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	run, err := executions.On(store).StartJob(ctx, "create table", uuid.Nil)
	if err != nil {
		return err
	}
	for {
		rows, err := executions.On(store).List(ctx, executions.Query{ID: run}, controldb.Page[executions.Key]{})
		if err != nil {
			return err
		}
		if root := rows[0]; !root.Active {
			fmt.Printf("%s: %s\n", root.JobName, root.Lifecycle)
			return nil
		}
		<-time.After(100 * time.Millisecond)
	}
}

// defineJob defines the job "create table" on the database sales.
func defineJob(ctx context.Context, store *controldb.Store) error {
	if _, err := targetgroups.On(store).Add(ctx, "shops"); err != nil {
		return err
	}
	_, err := targetgroups.On(store).AddMember(ctx, "shops", targets.Member{
		Membership: targets.Include, Kind: targets.SQLDatabase, Server: "tsqld", Database: "sales",
	})
	if err != nil {
		return err
	}
	if _, err := catalog.On(store).AddJob(ctx, model.JobSpec{Name: "create table"}); err != nil {
		return err
	}
	_, err = catalog.On(store).AddJobStep(ctx, model.StepSpec{
		JobName: "create table", Command: new("CREATE TABLE dbo.orders (id INT PRIMARY KEY);"), TargetGroup: new("shops"),
	})
	return err
}
