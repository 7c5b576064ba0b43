package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// installation is the server that a benchmark measures, with a control database of its own.
type installation struct {
	report *Report
	// store is the control database that the agent uses; wire counts its round trips.
	store *controldb.Store
	wire  *roundTrips
	// control is a separate pool on the control database, for statements that are not measured.
	control *sql.DB
	tools   agent.Tools
	// telemetry is what --compare switches on and off.
	telemetry telemetry
	// serverName is the server's name in target groups.
	serverName string

	DSN      mssql.DSN // without a database
	prefix   string    // of database names
	database string    // the control database
	closers  []func() error
}

// version is the version of the agents of benchmarks.
const version = "bench"

// startBench prepares a server. The control database's pool has at most this number of connections;
// 0 is the default.
func (b *bench) startBench(ctx context.Context, name string, connections int) (s *installation, err error) {
	s = &installation{wire: &roundTrips{}}
	begun := s // s is nil in a return with an error
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.close())
		}
	}()
	server, err := b.OpenServer(ctx)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, server.Close)
	s.report = &Report{Bench: name, Server: server.Version}
	s.DSN, s.serverName, s.database, s.prefix = server.DSN, server.Name, server.Control, "bench_"
	if s.database == "" {
		s.prefix = "jobagent_bench_" + strings.ToLower(rand.Text()[:8]) + "_"
		s.database = s.prefix + "control"
		if err := s.createDatabase(ctx, s.database); err != nil {
			return nil, err
		}
	}
	s.control = s.open(s.database)
	s.closers = append(s.closers, s.control.Close)
	dsn := s.DSN
	dsn.Params.Database = s.database
	s.store, err = controldb.New(controldb.Config{
		Connector: dsn.Connector(countingDialer{s.wire}), ServerName: s.serverName, MaxConns: connections,
	})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.store.Close)
	if err := deploy.On(s.store).Install(ctx); err != nil {
		return nil, err
	}
	tools, closeTools, err := server.Tools(ctx, s.store, s.telemetry.onLogin)
	if err != nil {
		return nil, err
	}
	s.tools = tools
	s.closers = append(s.closers, closeTools)
	if b.Tracing {
		if err := s.exportTraces(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// VersionOf returns the version of the SQL Server of a connection string.
func VersionOf(ctx context.Context, dsn mssql.DSN) (version string, err error) {
	params := dsn.Params
	params.Database = "master"
	master := sql.OpenDB(mssqldb.NewConnectorConfig(params))
	defer master.Close()
	err = master.QueryRowContext(ctx, "SELECT CAST(SERVERPROPERTY('ProductVersion') AS NVARCHAR(128));").Scan(&version)
	return version, err
}

// close calls the closers in reverse order.
func (s *installation) close() error {
	var errs []error
	for _, undo := range slices.Backward(s.closers) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// connector returns the driver's connector for a database.
func (s *installation) connector(database string) *mssqldb.Connector {
	params := s.DSN.Params
	params.Database = database
	return mssqldb.NewConnectorConfig(params)
}

// open opens a connection pool on a database.
func (s *installation) open(database string) *sql.DB { return sql.OpenDB(s.connector(database)) }

// createDatabase creates a database. Unless the server is embedded, close drops the database.
func (s *installation) createDatabase(ctx context.Context, name string) error {
	master := s.open("master")
	defer master.Close()
	if _, err := master.ExecContext(ctx, "CREATE DATABASE ["+name+"];"); err != nil {
		return fmt.Errorf("create the database %s: %w", name, err)
	}
	if s.report.Server == Embedded {
		return nil
	}
	s.closers = append(s.closers, func() error {
		master := s.open("master")
		defer master.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		// The server may still be ending sessions that the benchmark has closed (error 3702). Azure
		// SQL Database (edition 5) has no SINGLE_USER, and drops a database with sessions
		// (documentation: ALTER DATABASE SET options, DROP DATABASE).
		_, err := master.ExecContext(ctx, "IF DB_ID(N'"+name+"') IS NOT NULL AND CAST(SERVERPROPERTY('EngineEdition') AS INT) <> 5"+
			" ALTER DATABASE ["+name+"] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE IF EXISTS ["+name+"];")
		return err
	})
	return nil
}

// startAgent starts an agent on the control database.
func (b *bench) startAgent(ctx context.Context, s *installation, cfg agent.Config) (stop func() error,
	failed <-chan error, err error) {
	cfg.Version, cfg.Grace = version, -1
	return b.StartAgent(ctx, cfg, s.store, s.tools)
}

// job creates a job of one step on a target group. A failure is final: a benchmark whose scripts
// fail must end with an error and not with figures about retries.
func (s *installation) job(ctx context.Context, spec model.JobSpec, group, command string) error {
	if _, err := catalog.On(s.store).AddJob(ctx, spec); err != nil {
		return err
	}
	_, err := catalog.On(s.store).AddJobStep(ctx, model.StepSpec{JobName: spec.Name, Command: new(command), TargetGroup: new(group), RetryAttempts: new(0)})
	return err
}

// group creates a target group of databases.
func (s *installation) group(ctx context.Context, name string, databases ...string) error {
	if _, err := targetgroups.On(s.store).Add(ctx, name); err != nil {
		return err
	}
	for _, database := range databases {
		if _, err := targetgroups.On(s.store).AddMember(ctx, name, targets.Member{
			Membership: targets.Include, Kind: targets.SQLDatabase, Server: s.serverName, Database: database,
		}); err != nil {
			return err
		}
	}
	return nil
}

// pollInterval is the interval at which waitEnd reads a run's state, on connections that are not
// counted.
const pollInterval = 100 * time.Millisecond

// waitEnd waits for the end of a run. The duration is by the database's clock.
func (s *installation) waitEnd(ctx context.Context, id uuid.UUID, failed <-chan error) (finishedRun, error) {
	for {
		var active bool
		var run finishedRun
		var created time.Time
		var ended sql.NullTime
		err := s.control.QueryRowContext(ctx, `SELECT e.is_active, e.lifecycle, e.create_time, e.end_time
FROM jobs_internal.job_executions AS e
WHERE e.job_execution_id = @id;`, sql.Named("id", mssqldb.UniqueIdentifier(id))).Scan(&active, &run.lifecycle, &created, &ended)
		if err != nil {
			return run, fmt.Errorf("read the run: %w", err)
		}
		if !active {
			run.elapsed = ended.Time.Sub(created)
			return run, nil
		}
		if err := wait(ctx, pollInterval, failed); err != nil {
			return run, err
		}
	}
}

// finishedRun is a run that has ended.
type finishedRun struct {
	lifecycle jobs.Lifecycle
	elapsed   time.Duration
}

// createTargets creates n databases and a target group of them, and returns their names.
func (s *installation) createTargets(ctx context.Context, group string, n int) ([]string, error) {
	databases := make([]string, n)
	for i := range databases {
		databases[i] = fmt.Sprintf("%st%05d", s.prefix, i+1)
		if err := s.createDatabase(ctx, databases[i]); err != nil {
			return nil, err
		}
	}
	return databases, s.group(ctx, group, databases...)
}
