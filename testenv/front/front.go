// Package front starts a REST front for tests. It has an
// embedded server with an installed control database, a running agent, two target databases, an
// HTTP endpoint, and the front itself over TLS.
//
//	func TestMain(m *testing.M) { os.Exit(front.Main(m, surfaces)) }
//
//	func TestSomething(t *testing.T) {
//		f := front.Shared(t) // started once for the tests of the package
//		a := f.Do(t, "GET", front.A+front.Version, nil)
//		require.Equal(t, 200, a.Status, a)
//	}
package front

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/targets"
	actionhttp "github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/process"
	"github.com/jobagent/jobagent/targets/queue"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

// The places of the front.
const (
	Subscription  = "00000000-1111-2222-3333-444444444444"
	ResourceGroup = "rg1"
	Server        = "server1"
	Database      = "jobdb1" // the entry's name
	Agent         = "agent1"
	Location      = "onprem"

	// Group is the path of the resource group.
	Group = "/subscriptions/" + Subscription + "/resourceGroups/" + ResourceGroup
	// Servers is the path of the server.
	Servers = Group + "/providers/Microsoft.Sql/servers/" + Server
	// A is the path of the job agent.
	A = Servers + "/jobAgents/" + Agent
	// C is the path of the job collections.
	C = Group + "/providers/Microsoft.Scheduler/jobCollections"
	// Version is the query of requests below A.
	Version = "?api-version=2020-11-01-preview"
	// SchedulerVersion is the query of requests below C.
	SchedulerVersion = "?api-version=2016-03-01"
)

// Front is a running front.
type Front struct {
	*testenv.Env
	// Store calls the control database as its owner. Control is its name on the server.
	Store   *controldb.Store
	Control string
	// Targets are the names of the target databases t1 and t2.
	Targets []string
	// Directory has one entry, Entry.
	Directory *rest.Directory
	Entry     *rest.Entry
	// URL is the front's address, without a slash at the end.
	URL string
	// HTTP is a client that trusts the front's certificate, and TLS is the front's server.
	HTTP *http.Client
	TLS  *httptest.Server
	// Rest is the front itself.
	Rest *rest.Server
	// H is the endpoint that actions call.
	H *Endpoint
	// Tokens are the static tokens that the front knows.
	Tokens *Tokens
	// StopAgent stops the agent before the test ends.
	StopAgent func()
	// Log is everything that the front and the agent have logged.
	Log *Buffer

	paths []described // by which answers are checked
}

// Surfaces returns the surfaces of a front that is about to start. f has everything but the front
// itself.
type Surfaces func(t testing.TB, f *Front) []*rest.Mount

// Start starts a front, and stops it when the test ends.
func Start(t testing.TB, surfaces Surfaces, options ...func(*rest.Config)) *Front {
	t.Helper()
	f := &Front{Env: testenv.Embedded(t, testenv.Options{}), Tokens: newTokens(), Log: &Buffer{}}
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), f.Log, zap.DebugLevel))
	f.Store, f.Control = f.Env.Control(t)
	for _, name := range []string{"t1", "t2"} {
		f.Targets = append(f.Targets, f.CreateDatabase(t, name))
	}
	f.H = startEndpoint(t)
	f.startAgent(t, log)

	f.Entry = &rest.Entry{
		Name: Database, Subscription: Subscription, ResourceGroup: ResourceGroup, Server: Server, Location: Location,
		ImplicitAgent: Agent, Install: true, Store: f.Store,
	}
	var err error
	f.Directory, err = rest.NewDirectory(f.Entry)
	require.NoError(t, err)
	f.TLS = httptest.NewUnstartedServer(nil)
	f.TLS.EnableHTTP2 = true
	f.URL = "https://" + f.TLS.Listener.Addr().String()
	cfg := rest.Config{
		Authenticator: f.Tokens, Authorizer: f.Tokens, PublicURL: f.URL, Region: "ONPREM", Log: log,
	}
	cfg.Mounts = surfaces(t, f)
	f.paths = describe(t, cfg.Mounts, f.URL)
	for _, option := range options {
		option(&cfg)
	}
	f.Rest, err = rest.New(cfg)
	require.NoError(t, err)
	f.TLS.Config.Handler = f.Rest
	f.TLS.StartTLS()
	f.HTTP = f.TLS.Client()
	t.Cleanup(func() {
		f.HTTP.CloseIdleConnections()
		f.TLS.Close()
	})
	return f
}

// startAgent starts an agent that may call this machine, and opens sealed secrets.
func (f *Front) startAgent(t testing.TB, log *zap.Logger) {
	t.Helper()
	key, err := secret.GenerateKey(rand.Reader)
	require.NoError(t, err)
	require.NoError(t, secrets.On(f.Store).AddKey(t.Context(), key.Public()))
	text, err := key.Text()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "secret-key")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))

	network, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
	require.NoError(t, err)
	queues := queue.NewRunner(queue.Config{Network: network, UserAgent: "jobagent/test"})
	processes, err := process.NewRunner(process.Config{Entries: entries, WorkDir: t.TempDir()})
	require.NoError(t, err)
	tools := agents.ToolsWithStored(t, f.Env, f.Store, "file:"+file)
	secrets := agent.NewSecrets(f.Store, nil, []string{"file:" + file}, log)
	tools.OnClaim = append(tools.OnClaim, secrets.Expire)
	tools.Actions = agent.Actions{
		Runners: map[action.Type]targets.ActionRunner{
			action.TypeHTTP:         actionhttp.NewRunner(network, actionhttp.Config{Version: "test"}),
			action.TypeStorageQueue: queues, action.TypeServiceBusQueue: queues, action.TypeServiceBusTopic: queues,
			action.TypeProcess: processes,
		},
		Secret:      secrets.Get,
		CallbackURL: "https://callbacks.example",
	}
	hosting, err := agent.New(agent.Config{AgentID: uuid.New(), Host: "host", Version: "test"}, f.Store, tools, nil, log)
	require.NoError(t, err)
	f.StopAgent = agents.Run(t, hosting)
}

// The processes that the agent may run.
const (
	ProcessCopy    = "copy"    // prints its standard input
	ProcessFail    = "fail"    // writes "out of paper" to its standard error, and ends with the code 3
	ProcessWait    = "wait"    // prints "waiting", and ends when it is killed
	ProcessMissing = "missing" // its file does not exist
)

var entries = []process.Entry{
	shell(ProcessCopy, "cat"), shell(ProcessFail, "echo out of paper >&2; exit 3"), shell(ProcessWait, "echo waiting; exec sleep 3600"),
	{Name: ProcessMissing, Path: "/does/not/exist"},
}

// shell returns an entry that runs a script of the shell.
func shell(name, script string) process.Entry {
	return process.Entry{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, MemoryLimit: process.MemoryPoll}
}

// DefineJob creates the group g1 with both target databases, and the job j1 with the step s1
// (SELECT 1).
func (f *Front) DefineJob(t testing.TB) {
	t.Helper()
	_, err := targetgroups.On(f.Store).Add(t.Context(), "g1")
	require.NoError(t, err)
	for _, name := range f.Targets {
		_, err = targetgroups.On(f.Store).AddMember(t.Context(), "g1", targets.Member{
			Membership: targets.Include, Kind: targets.SQLDatabase, Server: f.ServerName, Database: name,
		})
		require.NoError(t, err)
	}
	_, err = catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: "j1"})
	require.NoError(t, err)
	step := "s1"
	_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{JobName: "j1", StepName: &step, Command: new("SELECT 1"), TargetGroup: new("g1")})
	require.NoError(t, err)
}

// shared is the front of a package's tests.
var shared struct {
	surfaces Surfaces
	options  []func(*rest.Config)
	once     sync.Once
	tb       *packageTB
	front    *Front
}

// Main runs the tests of a package, and then stops the front that they share. It returns the exit
// code.
func Main(m *testing.M, surfaces Surfaces, options ...func(*rest.Config)) int {
	shared.surfaces, shared.options = surfaces, options
	code := m.Run()
	if shared.tb != nil {
		shared.tb.end()
		if shared.tb.Failed() {
			return max(code, 1)
		}
	}
	return code
}

// Shared returns the front of the package, which Main stops. It has the job j1. Tests use names of
// their own for what they create.
func Shared(t testing.TB) *Front {
	t.Helper()
	shared.once.Do(func() {
		shared.tb = &packageTB{}
		shared.tb.ctx, shared.tb.cancel = context.WithCancel(context.Background())
		defer func() {
			if shared.tb.Failed() {
				t.Log(shared.tb.log)
			}
		}()
		f := Start(shared.tb, shared.surfaces, shared.options...)
		f.DefineJob(shared.tb)
		shared.front = f
	})
	require.NotNil(t, shared.front, "the shared front has not started; see the first test that wanted it")
	return shared.front
}

// packageTB is a testing.TB that lives as long as the tests of a package.
type packageTB struct {
	testing.TB
	ctx    context.Context //nolint:containedctx // as testing.T has one
	cancel context.CancelFunc

	mu       sync.Mutex
	failed   bool
	log      []string
	cleanups []func()
}

func (p *packageTB) Helper()                  {}
func (p *packageTB) Name() string             { return "front" }
func (p *packageTB) Context() context.Context { return p.ctx }
func (p *packageTB) Log(args ...any)          { p.note(fmt.Sprintln(args...)) }
func (p *packageTB) Logf(f string, a ...any)  { p.note(fmt.Sprintf(f, a...)) }
func (p *packageTB) Error(args ...any)        { p.Log(args...); p.Fail() }
func (p *packageTB) Errorf(f string, a ...any) {
	p.Logf(f, a...)
	p.Fail()
	fmt.Fprintf(os.Stderr, "front: "+f+"\n", a...)
}
func (p *packageTB) Fatal(args ...any)         { p.Error(args...); p.FailNow() }
func (p *packageTB) Fatalf(f string, a ...any) { p.Errorf(f, a...); p.FailNow() }
func (p *packageTB) FailNow()                  { p.Fail(); panic("the shared front failed: see above") }
func (p *packageTB) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, text)
}

func (p *packageTB) Fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
}

func (p *packageTB) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *packageTB) Cleanup(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, f)
}

// TempDir implements testing.TB.
func (p *packageTB) TempDir() string {
	dir, err := os.MkdirTemp("", "front-")
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// end runs the cleanups, the latest first.
func (p *packageTB) end() {
	p.cancel()
	for {
		p.mu.Lock()
		if len(p.cleanups) == 0 {
			p.mu.Unlock()
			return
		}
		last := p.cleanups[len(p.cleanups)-1]
		p.cleanups = p.cleanups[:len(p.cleanups)-1]
		p.mu.Unlock()
		last()
	}
}

// HoldTask starts a job and returns the term of an agent that holds a task of the run and does not
// answer. The agent of the front is stopped.
func (f *Front) HoldTask(t testing.TB, job string) controldb.TermID {
	t.Helper()
	f.StopAgent()
	ctx := t.Context()
	_, err := executions.On(f.Store).StartJob(ctx, job, uuid.Nil)
	require.NoError(t, err)
	term, err := f.Store.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 5}, time.Hour)
	require.NoError(t, err)
	res, err := f.Store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: 5, MaxConcurrentTargets: 5})
	require.NoError(t, err)
	require.NotEmpty(t, res.Tasks)
	return term.ID
}
