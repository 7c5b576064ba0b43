package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// benchFormat is the value of -o for bench: those of the other commands, and csv.
type benchFormat string

// formatCSV is a line with the names of the columns, then one line per figure.
const formatCSV benchFormat = "csv"

// Set implements pflag.Value.
func (f *benchFormat) Set(s string) error {
	switch v := benchFormat(strings.ToLower(s)); v {
	case benchFormat(formatTable), benchFormat(formatJSON), formatCSV:
		*f = v
		return nil
	}
	return fmt.Errorf("invalid output format %q: want table, json or csv", s)
}

// String implements pflag.Value.
func (f *benchFormat) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *benchFormat) Type() string { return "table|json|csv" }

// bench is what the commands of `jobagent bench` share.
type bench struct {
	*app
	format benchFormat
}

// newBenchCommand makes `jobagent bench`.
func newBenchCommand(a *app) *cobra.Command {
	b := &bench{app: a, format: benchFormat(formatTable)}
	cmd := newGroupCommand("bench", "Measure the agent, beside what the bare driver does in the same run",
		newBenchFanoutCommand(b), newBenchControlCommand(b), newBenchLagCommand(b), newBenchIdleCommand(b), newBenchStopCommand(b), newBenchHistoryCommand(b),
		newBenchCleanupCommand(b))
	cmd.Long = `Measure the agent, beside what the bare driver does in the same run. Everything runs in this process, on an embedded server over
loopback TCP that keeps nothing. With --dsn it is a server of yours instead, whose login must be allowed to create databases: a
control database and targets of new names, which are dropped at the end. Only the flag counts, not ` + envDSN + `.`
	cmd.PersistentFlags().VarP(&b.format, "output", "o", "output `format`: table, json or csv")
	return cmd
}

// figure is one measured number.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Bar is what the design asks for: "" nothing, else a comparison such as ">= 0.9".
	Bar string `json:"bar,omitempty"`
}

// benchReport is what a bench prints.
type benchReport struct {
	Bench   string   `json:"bench"`
	Server  string   `json:"server"` // embedded, or the version of a real one
	Cores   int      `json:"cores"`
	Figures []figure `json:"figures"`
}

// add appends a figure.
func (r *benchReport) add(name string, value float64, unit, bar string) {
	r.Figures = append(r.Figures, figure{name, value, unit, bar})
}

// spread appends the median, the 99th percentile and the largest of durations, in milliseconds. bar is for the percentile.
func (r *benchReport) spread(name string, list []time.Duration, bar string) {
	slices.Sort(list)
	for _, f := range []struct {
		suffix string
		share  float64
		bar    string
	}{{"p50", 0.50, ""}, {"p99", 0.99, bar}, {"max", 1, ""}} {
		r.add(name+"_"+f.suffix, milliseconds(percentile(list, f.share)), "ms", f.bar)
	}
}

// percentile is the smallest of sorted durations that at least this share of them does not exceed; 0 of none.
func percentile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := int(float64(len(sorted))*share+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// median is the middle one of numbers, which it sorts.
func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// milliseconds is a duration as a number of them.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// print writes a report in the format that was asked for.
func (b *bench) print(r *benchReport) error {
	r.Cores = runtime.NumCPU()
	switch b.format {
	case benchFormat(formatJSON):
		return writeJSON(b.stdout, r)
	case formatCSV:
		return r.writeCSV(b.stdout)
	}
	fmt.Fprintf(b.stdout, "bench %s, server %s, %d cores\n", r.Bench, r.Server, r.Cores)
	t := newTable("FIGURE", "VALUE", "UNIT", "BAR")
	for _, f := range r.Figures {
		t.add(f.Name, strconv.FormatFloat(f.Value, 'f', decimals(f.Value), 64), f.Unit, f.Bar)
	}
	return t.write(b.stdout)
}

// decimals is how many digits after the point people want to see.
func decimals(v float64) int {
	switch {
	case v == float64(int64(v)) || v >= 1000:
		return 0
	case v >= 10:
		return 1
	}
	return 3
}

// writeCSV writes a report as comma-separated values (RFC 4180).
func (r *benchReport) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"bench", "server", "cores", "name", "value", "unit", "bar"}}
	for _, f := range r.Figures {
		rows = append(rows, []string{r.Bench, r.Server, strconv.Itoa(r.Cores), f.Name, strconv.FormatFloat(f.Value, 'g', -1, 64), f.Unit, f.Bar})
	}
	return c.WriteAll(rows) // flushes
}

// benchServer is a server to measure on, with a control database of its own.
type benchServer struct {
	report *benchReport
	// store is the control database as the agent uses it; wire counts its round trips.
	store *controldb.Store
	wire  *roundTrips
	// control is a pool of its own on the control database, for what is not measured.
	control *sql.DB
	tools   agent.Tools
	// serverName is the server in target groups.
	serverName string

	dsn     mssql.DSN // without a database
	prefix  string    // of the names of databases
	closers []func() error
}

// startBench makes a server to measure on. connections is how many the control database's pool may have; 0: as usual.
func (b *bench) startBench(ctx context.Context, name string, connections int) (s *benchServer, err error) {
	s = &benchServer{report: &benchReport{Bench: name, Server: "embedded"}, wire: &roundTrips{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if b.dsn == "" {
		err = s.startEmbedded(ctx)
	} else {
		err = s.useServer(ctx, b.dsn)
	}
	if err != nil {
		return nil, err
	}
	s.control = s.open(s.prefix + "control")
	s.closers = append(s.closers, s.control.Close)
	dsn := s.dsn
	dsn.Params.Database = s.prefix + "control"
	s.store, err = controldb.New(controldb.Config{
		Connector: dsn.Connector(countingDialer{s.wire}), ServerName: s.serverName, MaxConns: connections,
	})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.store.Close)
	if err := s.store.Install(ctx); err != nil {
		return nil, err
	}
	if b.dsn == "" {
		return s, nil
	}
	tools, closeTools, err := b.openTools(ctx, s.store)
	if err != nil {
		return nil, err
	}
	s.tools = tools
	s.closers = append(s.closers, func() error { closeTools(); return nil })
	return s, nil
}

// startEmbedded starts the embedded server.
func (s *benchServer) startEmbedded(ctx context.Context) error {
	server, err := startEmbedded(ctx, "", "127.0.0.1:0", randomPassword(), "disable", zap.NewNop())
	if err != nil {
		return err
	}
	s.closers = append(s.closers, server.close)
	servers, err := server.openServers(ctx)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, servers.Close)
	if s.tools, err = newTools(ctx, server.store, servers); err != nil {
		return err
	}
	s.serverName = server.serverName()
	s.prefix = "bench_"
	if s.dsn, err = mssql.ParseDSN(server.dsn("master")); err != nil {
		return err
	}
	return s.createDatabase(ctx, s.prefix+"control")
}

// useServer prepares a real server.
func (s *benchServer) useServer(ctx context.Context, dsn string) error {
	dsn, err := resolveReference(dsn)
	if err != nil {
		return err
	}
	if s.dsn, err = mssql.ParseDSN(dsn); err != nil {
		return usage(err)
	}
	params := s.dsn.Params
	s.serverName = cmp.Or(slices.MaxFunc(serverNames(params), func(x, y string) int { return len(x) - len(y) }), params.Host)
	s.prefix = "jobagent_bench_" + strings.ToLower(rand.Text()[:8]) + "_"
	master := s.open("master")
	defer master.Close()
	if err := master.QueryRowContext(ctx, "SELECT CAST(SERVERPROPERTY('ProductVersion') AS NVARCHAR(128));").Scan(&s.report.Server); err != nil {
		return exitWith(exitConnection, fmt.Errorf("connect to the server: %w", err))
	}
	return s.createDatabase(ctx, s.prefix+"control")
}

// close undoes everything, last things first.
func (s *benchServer) close() error {
	var errs []error
	for _, undo := range slices.Backward(s.closers) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// connector is the driver's own for a database.
func (s *benchServer) connector(database string) *mssqldb.Connector {
	params := s.dsn.Params
	params.Database = database
	return mssqldb.NewConnectorConfig(params)
}

// open opens a pool on a database.
func (s *benchServer) open(database string) *sql.DB { return sql.OpenDB(s.connector(database)) }

// createDatabase makes a database. close drops it on a real server; the embedded one keeps nothing.
func (s *benchServer) createDatabase(ctx context.Context, name string) error {
	master := s.open("master")
	defer master.Close()
	if _, err := master.ExecContext(ctx, "CREATE DATABASE ["+name+"];"); err != nil {
		return fmt.Errorf("create the database %s: %w", name, err)
	}
	if s.report.Server == "embedded" {
		return nil
	}
	s.closers = append(s.closers, func() error {
		master := s.open("master")
		defer master.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_, err := master.ExecContext(ctx, "DROP DATABASE IF EXISTS ["+name+"];")
		return err
	})
	return nil
}

// startAgent runs an agent on the control database.
func (b *bench) startAgent(ctx context.Context, s *benchServer, cfg agent.Config) (stop func() error, failed <-chan error, err error) {
	log := zap.NewNop()
	if b.logLevel == "debug" {
		if log, err = b.logger(); err != nil {
			return nil, nil, err
		}
	}
	cfg.Version, cfg.Grace = version(), -1
	stop, failed = background(ctx, cfg, s.store, s.tools, log)
	return stop, failed, nil
}

// job makes a job of one step over a group of databases of the server.
func (s *benchServer) job(ctx context.Context, spec controldb.JobSpec, group, command string) error {
	if _, err := s.store.AddJob(ctx, spec); err != nil {
		return err
	}
	_, err := s.store.AddJobStep(ctx, controldb.StepSpec{JobName: spec.Name, Command: command, TargetGroup: group})
	return err
}

// group makes a target group of databases of the server.
func (s *benchServer) group(ctx context.Context, name string, databases ...string) error {
	if _, err := s.store.AddTargetGroup(ctx, name); err != nil {
		return err
	}
	for _, database := range databases {
		if _, err := s.store.AddTargetGroupMember(ctx, name, targets.Member{
			Membership: targets.Include, Kind: targets.SQLDatabase, Server: s.serverName, Database: database,
		}); err != nil {
			return err
		}
	}
	return nil
}

// benchPoll is how often a bench looks whether a run has ended, on connections that are not counted.
const benchPoll = 100 * time.Millisecond

// waitEnd waits for the end of a run. It answers how it ended, and how long it took by the database's clock.
func (s *benchServer) waitEnd(ctx context.Context, id uuid.UUID, failed <-chan error) (benchRun, error) {
	for {
		var active bool
		var run benchRun
		var created time.Time
		var ended sql.NullTime
		err := s.control.QueryRowContext(ctx, `SELECT e.is_active, e.lifecycle, e.create_time, e.end_time
FROM jobs_internal.job_executions AS e
WHERE e.job_execution_id = @id;`, sql.Named("id", mssqldb.UniqueIdentifier(id))).Scan(&active, &run.lifecycle, &created, &ended)
		if err != nil {
			return run, fmt.Errorf("look at the run: %w", err)
		}
		if !active {
			run.elapsed = ended.Time.Sub(created)
			return run, nil
		}
		if err := wait(ctx, benchPoll, failed); err != nil {
			return run, err
		}
	}
}

// benchRun is a run that has ended.
type benchRun struct {
	lifecycle jobs.Lifecycle
	elapsed   time.Duration
}
