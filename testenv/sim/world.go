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
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// Group is the target group that holds all of a world's target databases.
const Group = "all"

// World is a control database and target databases db1, db2, … on an embedded server. Each target has a table dbo.ledger to
// which steps write what they do.
type World struct {
	*testenv.Env
	// Store reaches the control database over a network that never fails.
	Store *controldb.Store
	// Control is the control database's name.
	Control string
	// Targets are the names of the target databases.
	Targets []string

	logs []*observer.ObservedLogs // of all agents that were ever started
}

// CreateLedger makes the table to which [WriteLedger] writes.
const CreateLedger = `CREATE TABLE dbo.ledger (
    id   INT IDENTITY PRIMARY KEY,
    run  UNIQUEIDENTIFIER NOT NULL,
    step INT NOT NULL,
    spid INT NOT NULL DEFAULT @@SPID,
    at   DATETIME2 NOT NULL DEFAULT SYSUTCDATETIME()
);`

// NewWorld makes a world with n targets; the test's end closes it. It must be made in the bubble that uses it.
func NewWorld(t testing.TB, n int) *World {
	t.Helper()
	w := &World{Env: testenv.Embedded(t, testenv.Options{})}
	w.Store, w.Control = w.Env.Control(t)
	_, err := w.Store.AddTargetGroup(t.Context(), Group)
	require.NoError(t, err)
	for i := range n {
		name := w.CreateDatabase(t, fmt.Sprintf("db%d", i+1))
		w.Targets = append(w.Targets, name)
		_, err := w.DB(t, name).ExecContext(t.Context(), CreateLedger)
		require.NoError(t, err)
		_, err = w.Store.AddTargetGroupMember(t.Context(), Group, targets.Member{
			Membership: targets.Include, Kind: targets.SQLDatabase, Server: w.ServerName, Database: name,
		})
		require.NoError(t, err)
	}
	return w
}

// WriteLedger is a script that writes one row to the ledger of its target.
const WriteLedger = `INSERT INTO dbo.ledger (run, step) VALUES ($(job_execution_id), $(step_id));`

// AddJob makes a job with one step per script, each on all targets, and options for each step.
func (w *World) AddJob(t testing.TB, name string, scripts []string, options ...func(*controldb.StepSpec)) {
	t.Helper()
	_, err := w.Store.AddJob(t.Context(), controldb.JobSpec{Name: name})
	require.NoError(t, err)
	for i, script := range scripts {
		stepName := fmt.Sprintf("step %d", i+1)
		spec := controldb.StepSpec{JobName: name, StepName: &stepName, Command: script, TargetGroup: Group}
		for _, option := range options {
			option(&spec)
		}
		_, err := w.Store.AddJobStep(t.Context(), spec)
		require.NoError(t, err)
	}
}

// Retries makes a step's attempts be repeated so often, so many seconds apart.
func Retries(attempts, seconds int) func(*controldb.StepSpec) {
	return func(s *controldb.StepSpec) {
		s.RetryAttempts, s.InitialRetryInterval, s.MaximumRetryInterval = &attempts, &seconds, &seconds
	}
}

// Start starts a run of a job.
func (w *World) Start(t testing.TB, job string) uuid.UUID {
	t.Helper()
	id, err := w.Store.StartJob(t.Context(), job, uuid.Nil)
	require.NoError(t, err)
	return id
}

// Root reads the row of a run itself.
func (w *World) Root(t testing.TB, id uuid.UUID) controldb.Execution {
	t.Helper()
	rows, err := w.Store.Executions(t.Context(), controldb.ExecutionFilter{ID: id, RootsOnly: true})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	return rows[0]
}

// Ended waits for the end of a run, for at most limit of virtual time, and reads its row. It says false, and writes the run's rows
// to the test's log, when the run has not ended. The functions are called before each look.
func (w *World) Ended(t testing.TB, id uuid.UUID, limit time.Duration, every ...func()) (controldb.Execution, bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; <-time.After(250 * time.Millisecond) {
		for _, f := range every {
			f()
		}
		if root := w.Root(t, id); !root.Active {
			return root, true
		} else if time.Now().After(deadline) {
			rows, err := w.Store.Executions(t.Context(), controldb.ExecutionFilter{ID: id})
			require.NoError(t, err)
			for _, e := range rows {
				t.Logf("%s %s/%s attempts %d: %s", e.Lifecycle, e.TargetType, e.Database, e.Attempts, e.LastMessage)
			}
			return root, false
		}
	}
}

// Ledger counts the rows that a run's step wrote into a target.
func (w *World) Ledger(t testing.TB, database string, run uuid.UUID, step int) (n int) {
	t.Helper()
	db := w.DB(t, database)
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.ledger WHERE run = @p1 AND step = @p2;",
		mssqldb.UniqueIdentifier(run), step).Scan(&n))
	return n
}

// Check checks all invariants, in the control database and in what agents have logged. atRest: nothing is active any more.
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
	// Control is its network to the control database, Targets the one to everything else.
	Control, Targets *fault.Network
	// Logs are what it has logged at info and above.
	Logs *observer.ObservedLogs

	cancel context.CancelFunc
	ended  chan struct{} // closed when it has
	close  func()
	err    error // of Run; read it only after ended
	gone   bool
}

// StartAgent starts an agent whose requests to the control database fail as plan says; nil: none does. The test's end stops it.
func (w *World) StartAgent(t testing.TB, cfg agent.Config, plan func(fault.Call) fault.Kind) *Agent {
	t.Helper()
	a := &Agent{ended: make(chan struct{})}
	a.Control = fault.NewNetwork(w.Server.Dialer(), plan)
	a.Targets = fault.NewNetwork(w.Server.Dialer(), nil)
	connector, err := mssql.NewConnector(w.DSN(w.Control), a.Control)
	require.NoError(t, err)
	store, err := controldb.New(controldb.Config{Connector: connector, ServerName: w.ServerName})
	require.NoError(t, err)
	params, err := msdsn.Parse(w.DSN("master"))
	require.NoError(t, err)
	credentials, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, params.User, params.Password, "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: credentials, Encrypt: "disable", Dialer: a.Targets})
	require.NoError(t, err)
	instance, err := w.Store.Instance(t.Context())
	require.NoError(t, err)
	var core zapcore.Core
	core, a.Logs = observer.New(zapcore.InfoLevel)
	w.logs = append(w.logs, a.Logs)
	tools := agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, instance)}
	hosting, err := agent.New(cfg, store, tools, nil, zap.New(core))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	a.cancel = cancel
	a.close = func() { _ = errors.Join(servers.Close(), store.Close()) } // of connections that may be broken
	go func() {                                                          // Stop waits for it
		defer close(a.ended)
		a.err = hosting.Run(ctx)
	}()
	t.Cleanup(func() { _ = a.Stop() })
	return a
}

// Stop stops the agent in order, waits for it, and returns its error; again: the same error at once.
func (a *Agent) Stop() error {
	if !a.gone {
		a.gone = true
		a.cancel()
		<-a.ended
		a.close()
	}
	return a.err
}

// Ended says whether the agent has ended by itself, as one does whose control database cannot be used as it is.
func (a *Agent) Ended() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// Kill ends the agent as kill -9 does: nothing that it says is heard any more, and its sessions end. It does not wait; Stop does.
func (a *Agent) Kill() {
	a.Control.Cut()
	a.Targets.Cut()
	a.cancel()
}
