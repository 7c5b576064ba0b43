package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/measure"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// World is an installed control database with target databases db1, db2, … on an embedded server.
// Each target has a table dbo.ledger, to which steps write a row for each execution of their
// script.
type World struct {
	*testenv.Installation

	// Actions is what agents that are started later do beside T-SQL.
	Actions agent.Actions
	// Metrics counts what agents that are started later do; nil: nothing.
	Metrics *metrics.Database

	logs []*observer.ObservedLogs // of all agents that were ever started
}

// CreateLedger creates the table to which [WriteLedger] writes.
const CreateLedger = `CREATE TABLE dbo.ledger (
    id   INT IDENTITY PRIMARY KEY,
    run  UNIQUEIDENTIFIER NOT NULL,
    step INT NOT NULL,
    spid INT NOT NULL DEFAULT @@SPID,
    at   DATETIME2 NOT NULL DEFAULT SYSUTCDATETIME()
);`

// NewWorld creates a world with n targets. It is closed when the test ends. Call NewWorld in the
// synctest bubble that uses the world.
func NewWorld(t testing.TB, n int) *World {
	t.Helper()
	return newWorld(t, n, testenv.Options{})
}

// newWorld is NewWorld on a server with options.
func newWorld(t testing.TB, n int, opts testenv.Options) *World {
	t.Helper()
	w := &World{Installation: testenv.Embedded(t, opts).Install(t, n)}
	for _, name := range w.Targets {
		_, err := w.DB(t, name).ExecContext(t.Context(), CreateLedger)
		require.NoError(t, err)
	}
	return w
}

// WriteLedger is a script that inserts one row into the ledger of its target.
const WriteLedger = `INSERT INTO dbo.ledger (run, step) VALUES ($(job_execution_id), $(step_id));`

// Retries sets how often an attempt is retried, and the constant wait in seconds.
func Retries(attempts, seconds int) func(*jobmodel.StepSpec) {
	return func(s *jobmodel.StepSpec) {
		s.RetryAttempts, s.InitialRetryInterval, s.MaximumRetryInterval = &attempts, &seconds, &seconds
	}
}

// Root reads the root execution of a run.
func (w *World) Root(t testing.TB, id uuid.UUID) executions.Run {
	t.Helper()
	rows, err := executions.On(w.Store).List(t.Context(), executions.Query{ID: id}, controldb.Page[executions.Key]{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	return rows[0]
}

// Ended waits until a run has ended, for at most limit of virtual time, and returns its root
// execution. If the run has not ended, Ended returns false and logs all executions of the run. It
// calls every before each poll.
func (w *World) Ended(t testing.TB, id uuid.UUID, limit time.Duration, every ...func()) (executions.Run, bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; <-time.After(250 * time.Millisecond) {
		for _, f := range every {
			f()
		}
		if root := w.Root(t, id); !root.Active {
			return root, true
		} else if time.Now().After(deadline) {
			rows, err := executions.On(w.Store).Rows(t.Context(), id)
			require.NoError(t, err)
			for _, e := range rows {
				t.Logf("%s %s/%s attempts %d: %s", e.Lifecycle, e.TargetType, e.Database, e.Attempts, e.LastMessage)
			}
			return root, false
		}
	}
}

// Ledger counts the rows that a step of a run has inserted into the ledger of a target.
func (w *World) Ledger(t testing.TB, database string, run uuid.UUID, step int) (n int) {
	t.Helper()
	db := w.DB(t, database)
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.ledger WHERE run = @p1 AND step = @p2;",
		mssqldb.UniqueIdentifier(run), step).Scan(&n))
	return n
}

// Check checks all invariants, in the control database and in the logs of all agents. atRest means
// that no execution is active.
func (w *World) Check(t testing.TB, atRest bool) {
	t.Helper()
	var logs []string
	for _, l := range w.logs {
		for _, e := range l.All() {
			logs = append(logs, fmt.Sprint(e.Message, e.ContextMap()))
		}
	}
	w.CheckInvariants(t, w.Control, atRest)
	w.CheckHistory(t, w.Control, logs...)
}

// Agent is a running agent of a world.
type Agent struct {
	// Control is the agent's network to the control database, Targets its network to targets.
	Control, Targets *fault.Network
	// Logs are the agent's log entries of level info and above.
	Logs *observer.ObservedLogs

	cancel  context.CancelFunc
	ended   chan struct{} // closed when Run has returned
	close   func()
	err     error // of Run; read it only after ended
	stopped bool
}

// StartAgent starts an agent. plan chooses the calls to the control database that fail; nil means
// that none does. The agent is stopped when the test ends.
func (w *World) StartAgent(t testing.TB, cfg agent.Config, plan func(fault.Call) fault.Kind) *Agent {
	t.Helper()
	a := &Agent{ended: make(chan struct{})}
	a.Control = fault.NewNetwork(w.Dialer(), plan)
	a.Targets = fault.NewNetwork(w.Dialer(), nil)
	connector, err := mssql.NewConnector(w.DSN(w.Control), a.Control)
	require.NoError(t, err)
	store, err := controldb.New(controldb.Config{Connector: connector, ServerName: w.ServerName})
	require.NoError(t, err)
	params, err := msdsn.Parse(w.DSN("master"))
	require.NoError(t, err)
	credentials, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, params.User, params.Password, "*"))
	require.NoError(t, err)
	store, stopCounting := w.Metrics.Observe(store, metrics.ClientAgent)
	stopRuns := w.Metrics.CountRuns(measure.On(store).RunCounts)
	logins := w.Metrics.Targets()
	servers, err := mssql.NewServers(mssql.Config{
		Credentials: credentials, Encrypt: "disable", Dialer: a.Targets,
		OnLogin: func(elapsed time.Duration, class targets.Class) { logins.Dialed(elapsed, string(class)) },
	})
	require.NoError(t, err)
	cfg.Metrics = w.Metrics.Agent()
	instance, err := w.Store.Instance(t.Context())
	require.NoError(t, err)
	var core zapcore.Core
	core, a.Logs = observer.New(zapcore.InfoLevel)
	w.logs = append(w.logs, a.Logs)
	tools := agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, instance)}
	tools.Actions = w.Actions
	hosting, err := agent.New(cfg, store, tools, nil, zap.New(core))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	a.cancel = cancel
	a.close = func() { stopCounting(); stopRuns(); _ = errors.Join(servers.Close(), store.Close()) } // broken connections cause errors
	go func() {                                                                                      // Stop waits for it
		defer close(a.ended)
		a.err = hosting.Run(ctx)
	}()
	t.Cleanup(func() { _ = a.Stop() })
	return a
}

// Stop stops the agent, waits for it, and returns its error. A second call returns the same error
// at once.
func (a *Agent) Stop() error {
	if !a.stopped {
		a.stopped = true
		a.cancel()
		<-a.ended
		a.close()
	}
	return a.err
}

// Ended reports whether the agent has ended without being stopped, for example because its control
// database has no control schema.
func (a *Agent) Ended() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// Kill ends the agent like kill -9: its connections are cut, and its sessions end. It does not wait
// for the agent; Stop does.
func (a *Agent) Kill() {
	a.Control.Cut()
	a.Targets.Cut()
	a.cancel()
}
