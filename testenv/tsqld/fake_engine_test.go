package tsqld

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/strict"
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Tests allocate much that is soon garbage. Collecting it less often saves a fifth of their time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

// fakeEngine opens sessions that run a few commands instead of T-SQL.
type fakeEngine struct {
	opened  atomic.Int64 // sessions
	started chan string  // if set, receives the text of each batch before it runs
	ended   chan error   // if set, receives the cause of each ended wait

	returned chan struct{} // closed by the command return, after its RETURNSTATUS

	mu   sync.Mutex
	last *fakeSession // the newest session
}

func (e *fakeEngine) open(_ context.Context, l session.Login) (interpreter, error) {
	if l.Password != "secret" {
		return nil, mserr.New(18456, 14, "Login failed for user '%s'.", l.User)
	}
	if l.Database == "unknown" {
		return nil, mserr.CannotOpenDatabase(l.Database)
	}
	e.opened.Add(1)
	s := &fakeSession{e: e, login: l, db: "master"}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = s
	return s, nil
}

func (e *fakeEngine) close() error { return nil }

// fakeSession is a session of the fake engine. It runs the commands of Batch.
type fakeSession struct {
	e       *fakeEngine
	login   session.Login
	db      string
	tran    uint64
	resets  int
	fragile bool // Close panics
	loaded  [][]types.Value
}

func (s *fakeSession) SPID() int          { return 77 }
func (s *fakeSession) Descriptor() uint64 { return s.tran }
func (s *fakeSession) Database() string   { return s.db }

func (s *fakeSession) Collation() types.Collation { return types.CI }

func (s *fakeSession) Close() error {
	s.e.opened.Add(-1)
	if s.fragile {
		panic("scripted end")
	}
	return nil
}

// intRows sends one result set of ints.
func intRows(sink answer.Sink, inProc bool, vals ...int64) error {
	if err := sink.Columns([]types.Column{{Name: "n", Type: types.Type{ID: types.Int}}}); err != nil {
		return err
	}
	for _, v := range vals {
		if err := sink.Row([]types.Value{v}); err != nil {
			return err
		}
	}
	return sink.Done(answer.Done{Rows: int64(len(vals)), Count: true, Command: answer.CommandSelect, InProc: inProc})
}

func (s *fakeSession) Batch(ctx context.Context, text string, sink answer.Sink) error {
	if s.e.started != nil {
		s.e.started <- text
	}
	for _, statement := range strings.Split(text, ";") {
		word, arg, _ := strings.Cut(strings.TrimSpace(statement), " ")
		n, _ := strconv.ParseInt(arg, 10, 64)
		var err error
		switch word {
		case "", "INSERT", "insert":
		case "select":
			if strings.HasPrefix(arg, "* from") {
				cols, _ := sampleColumns()
				if err = sink.Columns(cols); err == nil {
					err = sink.Done(answer.Done{Count: true, Command: answer.CommandSelect})
				}
				break
			}
			err = intRows(sink, false, n)
		case "rows":
			err = s.rows(ctx, sink, n)
		case "affect":
			err = sink.Done(answer.Done{Rows: n, Count: true})
		case "print":
			err = sink.Message(mserr.New(0, 0, "%s", arg))
		case "return":
			err = sink.ReturnStatus(int32(n))
			close(s.e.returned)
		case "flush":
			err = sink.(interface{ Flush() error }).Flush()
		case "wait":
			<-ctx.Done()
			if s.e.ended != nil {
				s.e.ended <- context.Cause(ctx)
			}
			err = context.Cause(ctx)
		case "error":
			if err = sink.Message(mserr.New(50000+int32(n), 16, "scripted")); err == nil {
				err = sink.Done(answer.Done{Error: true})
			}
		case "fatal":
			if err = sink.Message(mserr.New(823, 24, "scripted")); err == nil {
				err = errors.New("fatal")
			}
		case "killed":
			err = errors.New("killed")
		case "fragile":
			s.fragile = true
		case "panic":
			panic("scripted")
		case "begin":
			err = s.Begin(ctx, 0, "", sink)
		case "resets":
			err = intRows(sink, false, int64(s.resets))
		case "types":
			err = sendSamples(sink, arg == "null")
		case "SET": // sent by the driver's bulk copy to get the columns
		case "misfit":
			if err = sink.Columns([]types.Column{{Name: "n", Type: types.NVarCharOf(2)}}); err == nil {
				err = sink.Row([]types.Value{"long"})
			}
		case "app":
			cols := []types.Column{{Name: "app", Type: types.NVarCharOf(128)}, {Name: "host", Type: types.NVarCharOf(128)}, {Name: "db", Type: types.NVarCharOf(128)}, {Name: "size", Type: types.Type{ID: types.Int}}}
			if err = sink.Columns(cols); err == nil {
				err = sink.Row([]types.Value{s.login.App, s.login.Host, s.login.Database, int64(s.login.PacketSize)})
			}
			if err == nil {
				err = sink.Done(answer.Done{Rows: 1, Count: true, Command: answer.CommandSelect})
			}
		default:
			err = sink.Message(mserr.New(2812, 16, "no word %q", word))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rows sends n rows with a wide column.
func (s *fakeSession) rows(ctx context.Context, sink answer.Sink, n int64) error {
	pad := strings.Repeat("x", 1000)
	if err := sink.Columns([]types.Column{{Name: "n", Type: types.Type{ID: types.BigInt}}, {Name: "pad", Type: types.VarCharOf(1000)}}); err != nil {
		return err
	}
	for i := range n {
		if err := sink.Row([]types.Value{i, pad}); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return sink.Done(answer.Done{Rows: n, Count: true, Command: answer.CommandSelect})
}

// Call returns a row with all parameters' values, and every OUTPUT parameter unchanged.
func (s *fakeSession) Call(_ context.Context, call exec.Call, sink answer.Sink) error {
	params := call.Params
	if call.Proc == "sp_executesql" {
		params = params[min(2, len(params)):]
	}
	var cols []types.Column
	var row []types.Value
	for _, p := range params {
		if p.TypeName != "" {
			if err := intRows(sink, true, int64(len(p.Rows)), int64(len(p.Columns))); err != nil {
				return err
			}
			continue
		}
		cols = append(cols, types.Column{Name: p.Name, Type: p.Type, Nullable: true})
		row = append(row, p.Value)
	}
	if len(cols) > 0 {
		if err := sink.Columns(cols); err != nil {
			return err
		}
		if err := sink.Row(row); err != nil {
			return err
		}
		if err := sink.Done(answer.Done{Rows: 1, Count: true, Command: answer.CommandSelect, InProc: true}); err != nil {
			return err
		}
	}
	if err := sink.ReturnStatus(7); err != nil {
		return err
	}
	for i, p := range params {
		if p.Output {
			if err := sink.ReturnValue(i, p.Name, p.Type, p.Value); err != nil {
				return err
			}
		}
	}
	return sink.Done(answer.Done{EndProc: true})
}

func (s *fakeSession) Bulk(_ context.Context, load exec.BulkLoad, sink answer.Sink) error {
	for {
		row, err := load.Next()
		if errors.Is(err, io.EOF) {
			return sink.Done(answer.Done{Rows: int64(len(s.loaded)), Count: true})
		}
		if err != nil {
			return err
		}
		s.loaded = append(s.loaded, row)
	}
}

func (s *fakeSession) Begin(_ context.Context, _ exec.Isolation, _ string, sink answer.Sink) error {
	s.tran = 0x100000001
	return sink.EnvChange(answer.EnvChange{Kind: answer.EnvBeginTran, Descriptor: s.tran})
}

func (s *fakeSession) Commit(_ context.Context, sink answer.Sink) error {
	old := s.tran
	s.tran = 0
	return sink.EnvChange(answer.EnvChange{Kind: answer.EnvCommitTran, Descriptor: old})
}

func (s *fakeSession) Rollback(_ context.Context, _ string, sink answer.Sink) error {
	old := s.tran
	s.tran = 0
	return sink.EnvChange(answer.EnvChange{Kind: answer.EnvRollbackTran, Descriptor: old})
}

func (s *fakeSession) Save(context.Context, string, answer.Sink) error { return nil }

func (s *fakeSession) Reset(_ context.Context, sink answer.Sink, _ bool) error {
	s.resets++
	s.tran = 0
	return sink.EnvChange(answer.EnvChange{Kind: answer.EnvResetAck})
}

// fixture is a server with a fake engine, closed at the test's end.
type fixture struct {
	*Server
	engine *fakeEngine
}

// newFixture starts a server.
func newFixture(t *testing.T, cfg Config) *fixture {
	t.Helper()
	if cfg.OnPanic == nil {
		cfg.OnPanic = func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) }
	}
	if cfg.OnError == nil {
		cfg.OnError = func(err error) { t.Logf("internal error: %v", err) }
	}
	if cfg.Record == nil {
		cfg.Record = strict.Watch(t)
	}
	e := &fakeEngine{}
	f := &fixture{Server: newServer(cfg, e), engine: e}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, f.Close(ctx))
		require.Zero(t, e.opened.Load(), "every session was closed")
	})
	return f
}

// dial opens a database/sql pool over the pipe with further options of the DSN.
func (f *fixture) dial(t *testing.T, options string) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector("sqlserver://sa:secret@tsqld?" + options)
	require.NoError(t, err)
	connector.Dialer = f.Dialer()
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// oneConn opens a single connection.
func (f *fixture) oneConn(t *testing.T) *sql.Conn {
	t.Helper()
	c, err := f.dial(t, "encrypt=disable").Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// querier is a *sql.DB or *sql.Conn.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// selectInt runs a query with one int in its answer.
func selectInt(t *testing.T, q querier, query string) int {
	t.Helper()
	var n int
	require.NoError(t, q.QueryRowContext(t.Context(), query).Scan(&n), query)
	return n
}

// number returns the number of an error of the server, 0 for others.
func number(err error) int32 {
	var e mssql.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}
