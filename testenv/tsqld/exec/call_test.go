package exec

import (
	"context"
	"errors"
	"io"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// must executes a batch without errors and returns its output.
func must(t *testing.T, s *Session, text string) string {
	t.Helper()
	var r recorder
	require.NoError(t, s.Batch(context.Background(), text, &r))
	require.NotRegexp(t, `Msg \d+, Level (1[1-9]|2)`, r.b.String(), "%s", text)
	return r.b.String()
}

// batchOutput executes a batch and returns its output.
func batchOutput(t *testing.T, s *Session, text string) string {
	t.Helper()
	var r recorder
	require.NoError(t, s.Batch(context.Background(), text, &r))
	return r.b.String()
}

func workSession(t *testing.T, inst *Instance) *Session {
	t.Helper()
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "work"})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestCall(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	must(t, s, "CREATE TYPE dbo.pairs AS TABLE (id int NOT NULL PRIMARY KEY, name varchar(3))")
	must(t, s,
		"CREATE PROC dbo.p @a int, @b nvarchar(10) = N'def' OUTPUT, @t dbo.pairs READONLY AS SELECT @a a, @b b; SELECT * FROM @t ORDER BY id; SET @b = N'out'; RETURN 3")
	call := func(c Call) string {
		var r recorder
		require.NoError(t, s.Call(context.Background(), c, &r))
		return r.b.String()
	}
	str := types.NVarCharOf(10)
	t.Run("OutputAndTable", func(t *testing.T) {
		got := call(Call{Proc: "dbo.p", Params: []Param{
			{Name: "@a", Type: types.BigIntType, Value: int64(7)},
			{Name: "@b", Type: str, Value: "in", Output: true},
			{
				Name: "@t", TypeName: "dbo.pairs",
				Columns: []types.Column{{Type: types.IntType}, {Type: types.NVarCharOf(5)}},
				Rows:    [][]types.Value{{int64(2), "b"}, {int64(1), nil}},
			},
		}})
		require.Equal(t,
			"[a int, b nvarchar(10)]\n7 | in\n(1)\n[id int not null, name varchar(3)]\n1 | NULL\n2 | b\n(2)\nreturn 3\n@b nvarchar(10) = out\n",
			got)
	})
	t.Run("TooLong", func(t *testing.T) {
		got := call(Call{Proc: "p", Params: []Param{
			{Name: "@a", Type: types.IntType, Value: int64(7)},
			{
				Name: "@t", TypeName: "dbo.pairs",
				Columns: []types.Column{{Type: types.IntType}, {Type: types.NVarCharOf(5)}},
				Rows:    [][]types.Value{{int64(2), "long"}},
			},
		}})
		require.Contains(t, got, "Msg 8152")
	})
	t.Run("Missing", func(t *testing.T) {
		require.Contains(t, call(Call{Proc: "p"}),
			"Msg 201, Level 16, State 4, p Line 0: Procedure or function 'p' expects parameter '@a'")
	})
	t.Run("NoSuch", func(t *testing.T) { require.Contains(t, call(Call{Proc: "nope"}), "Msg 2812") })
	t.Run("ExecuteSQL", func(t *testing.T) {
		got := call(Call{Proc: "sp_executesql", Params: []Param{
			{Type: types.NVarCharMax, Value: "SELECT @x x; SET @y = @x + 1"},
			{Type: types.NVarCharMax, Value: "@x int, @y int OUTPUT"},
			{Name: "@x", Type: types.IntType, Value: int64(4)}, {Name: "@y", Type: types.IntType, Output: true},
		}})
		require.Equal(t, "[x int]\n4\n(1)\nreturn 0\n@y int = 5\n", got)
	})
	t.Run("Prepared", func(t *testing.T) {
		got := call(Call{Proc: "sp_prepexec", Params: []Param{
			{Type: types.IntType, Output: true}, {Type: types.NVarCharMax, Value: "@x int"},
			{Type: types.NVarCharMax, Value: "SELECT @x x"}, {Type: types.IntType, Value: int64(4)},
		}})
		require.Equal(t, "[x int]\n4\n(1)\nreturn 0\n int = 1\n", got)
		got = call(Call{
			Proc:   "sp_execute",
			Params: []Param{{Type: types.IntType, Value: int64(1)}, {Type: types.IntType, Value: int64(9)}},
		})
		require.Equal(t, "[x int]\n9\n(1)\nreturn 0\n", got)
		require.Equal(t, "return 0\n",
			call(Call{Proc: "sp_unprepare", Params: []Param{{Type: types.IntType, Value: int64(1)}}}))
		require.Contains(t, call(Call{Proc: "sp_execute", Params: []Param{{Type: types.IntType, Value: int64(1)}}}),
			"Msg 8179")
	})
}

func TestTransactionRequests(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "CREATE TABLE t (a int)")
	ctx := context.Background()
	var r recorder
	require.NoError(t, s.Begin(ctx, syntax.Serializable, "", &r))
	require.NotZero(t, s.Descriptor())
	must(t, s, "INSERT INTO t VALUES (1)")
	require.NoError(t, s.Save(ctx, "sp", &r))
	must(t, s, "INSERT INTO t VALUES (2)")
	require.NoError(t, s.Rollback(ctx, "sp", &r))
	require.NoError(t, s.Commit(ctx, &r))
	require.Zero(t, s.Descriptor())
	require.Equal(t, "[a int]\n1\n(1)\n", must(t, s, "SELECT a FROM t"))
	require.NoError(t, s.Commit(ctx, &r))
	require.Contains(t, r.b.String(), "Msg 3902")
}

// errAttention is the cancellation cause of the tests.
var errAttention = errors.New("attention")

func TestAttention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inst, err := New(session.Config{SAPassword: "secret"})
		require.NoError(t, err)
		defer func() { require.NoError(t, inst.Close()) }()
		s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
		defer func() { require.NoError(t, s.Close()) }()
		must(t, s, "CREATE TABLE t (a int); BEGIN TRAN; INSERT INTO t VALUES (1)")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Minute, func() { cancel(errAttention) })
		start := time.Now()
		require.ErrorIs(t, s.Batch(ctx, "WAITFOR DELAY '01:00:00'; INSERT INTO t VALUES (2)", &recorder{}),
			errAttention)
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, "[n int not null, c int]\n1 | 1\n(1)\n", must(t, s, "SELECT @@TRANCOUNT n, (SELECT COUNT(*) FROM t) c"))
		ctx, cancel = context.WithCancelCause(context.Background())
		time.AfterFunc(time.Minute, func() { cancel(errAttention) })
		require.ErrorIs(t, s.Batch(ctx, "SET XACT_ABORT ON; WAITFOR DELAY '01:00:00'", &recorder{}), errAttention)
		require.Equal(t, "[n int not null, c int]\n0 | 0\n(1)\n", must(t, s, "SELECT @@TRANCOUNT n, (SELECT COUNT(*) FROM t) c"))
	})
}

func TestAttentionInQuery(t *testing.T) {
	s := workSession(t, newInstance(t))
	ctx, cancel := context.WithCancelCause(context.Background())
	sink := &cancelingSink{cancel: func() { cancel(errAttention) }}
	err := s.Batch(ctx,
		"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i FROM n OPTION (MAXRECURSION 0)",
		sink)
	require.ErrorIs(t, err, errAttention)
	require.Less(t, sink.rows, 30000)
	must(t, s, "SELECT 1 AS a")
}

// cancelingSink cancels its request at the first row.
type cancelingSink struct {
	recorder
	cancel func()
	rows   int
}

func (c *cancelingSink) Row([]types.Value) error {
	c.rows++
	c.cancel()
	return nil
}

func TestClientGone(t *testing.T) {
	s := workSession(t, newInstance(t))
	err := s.Batch(context.Background(), "BEGIN TRY SELECT 1 END TRY BEGIN CATCH PRINT 'no' END CATCH",
		&disconnectedSink{})
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// disconnectedSink is a Sink whose client has disconnected.
type disconnectedSink struct{ recorder }

func (*disconnectedSink) Columns([]types.Column) error { return io.ErrClosedPipe }

func TestDeadlock(t *testing.T) {
	inst := newInstance(t)
	a, b := workSession(t, inst), workSession(t, inst)
	must(t, a,
		"CREATE DATABASE d1; CREATE DATABASE d2; EXEC ('USE d1; CREATE TABLE t (a int)'); EXEC ('USE d2; CREATE TABLE t (a int)')")
	must(t, a, "BEGIN TRAN; INSERT INTO d1.dbo.t VALUES (1)")
	must(t, b, "SET DEADLOCK_PRIORITY LOW; BEGIN TRAN; INSERT INTO d2.dbo.t VALUES (1)")
	done := make(chan string)
	go func() {
		var r recorder
		if err := a.Batch(context.Background(),
			"INSERT INTO d2.dbo.t VALUES (2); COMMIT; SELECT COUNT(*) n FROM d2.dbo.t", &r); err != nil {
			r.b.Line(err.Error())
		}
		done <- r.b.String()
	}()
	for !isWaiting(inst, a) {
		select {
		case got := <-done:
			t.Fatal(got)
		case <-time.After(time.Millisecond):
		}
	}
	require.Contains(t, batchOutput(t, b, "INSERT INTO d1.dbo.t VALUES (2); SELECT 'not reached'"),
		"Msg 1205, Level 13, State 51")
	require.Contains(t, <-done, "1\n(1)\n")
	require.Equal(t, "[n int not null]\n0\n(1)\n", must(t, b, "SELECT @@TRANCOUNT n"))
}

func TestKill(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	victim := openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "work"})
	done := make(chan error, 1)
	go func() { // as the connection does
		err := victim.Batch(context.Background(), "WAITFOR DELAY '00:05:00'", &recorder{})
		done <- errors.Join(err, victim.Close())
	}()
	idle := "[n int]\n0\n(1)\n"
	for must(t, s, "SELECT COUNT(*) n FROM sys.dm_exec_requests WHERE session_id <> @@SPID") == idle {
	}
	must(t, s,
		"DECLARE @id int = (SELECT MAX(session_id) FROM sys.dm_exec_sessions); DECLARE @k varchar(20) = CONCAT('KILL ', @id); EXEC (@k)")
	require.ErrorIs(t, <-done, session.ErrKilled)
}

func TestReset(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "SET NOCOUNT ON; USE master; BEGIN TRAN; CREATE TABLE #t (a int); EXEC sp_set_session_context N'k', 1")
	require.NoError(t, s.Reset(context.Background(), &recorder{}, false))
	require.Equal(t, "[d nvarchar(128), n int not null, k sql_variant, o int]\nwork | 0 | NULL | NULL\n(1)\n",
		must(t, s, "SELECT DB_NAME() d, @@TRANCOUNT n, SESSION_CONTEXT(N'k') k, OBJECT_ID('tempdb..#t') o"))
}

// TestResetKeepsTheIsolationLevel: a reset keeps the isolation level. (KB 3025845: only SQL Server
// 2014 before CU6 reset it.)
func TestResetKeepsTheIsolationLevel(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET ANSI_WARNINGS OFF")
	require.NoError(t, s.Reset(context.Background(), &recorder{}, false))
	require.Equal(t, "[level smallint not null, warnings bit not null]\n4 | 1\n(1)\n",
		must(t, s,
			"SELECT transaction_isolation_level AS level, ansi_warnings AS warnings FROM sys.dm_exec_sessions WHERE session_id = @@SPID"))
}

func TestLogin(t *testing.T) {
	inst := newInstance(t)
	for _, l := range []session.Login{{User: "sa", Password: "wrong"}, {User: "nobody", Password: "x"}} {
		_, err := inst.NewSession(context.Background(), l)
		require.ErrorContains(t, err, "Msg 18456")
	}
	_, err := inst.NewSession(context.Background(), session.Login{User: "sa", Password: "secret", Database: "nope"})
	require.ErrorContains(t, err, "Msg 4060")
}

func TestPersistence(t *testing.T) {
	dir := t.TempDir()
	inst, err := New(session.Config{Dir: dir, SAPassword: "secret"})
	require.NoError(t, err)
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	must(t, s,
		"CREATE DATABASE kept; EXEC ('USE kept; CREATE TABLE t (id int IDENTITY PRIMARY KEY, c AS id * 2, CONSTRAINT CK CHECK (id < 100)); INSERT INTO t DEFAULT VALUES')")
	must(t, s, "USE kept")
	must(t, s, "CREATE PROC p AS SELECT id, c FROM t")
	require.NoError(t, s.Close())
	require.NoError(t, inst.Close())
	inst, err = New(session.Config{Dir: dir, SAPassword: "secret"})
	require.NoError(t, err)
	defer func() { require.NoError(t, inst.Close()) }()
	s = openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "kept"})
	defer func() { require.NoError(t, s.Close()) }()
	must(t, s, "INSERT INTO t DEFAULT VALUES")
	require.Equal(t, "[id int not null, c int]\n1 | 2\n2 | 4\n(2)\nreturn 0\n", must(t, s, "EXEC p"))
}

// TestHelp: sp_help describes a table, a procedure and all objects. The creation dates differ
// between runs.
func TestHelp(t *testing.T) {
	inst := newInstance(t)
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "work"})
	defer func() { require.NoError(t, s.Close()) }()
	ask := func(text string) string {
		var r recorder
		require.NoError(t, s.Batch(context.Background(), text, &r))
		return regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\.\d+`).ReplaceAllString(r.b.String(), "DATE")
	}
	require.Empty(t,
		ask(`CREATE TABLE t (id int IDENTITY(5, 2) CONSTRAINT pk_t PRIMARY KEY, c char(3), d decimal(9, 2) NOT NULL, g uniqueidentifier ROWGUIDCOL, twice AS id * 2)`))
	require.Empty(t, ask(`CREATE PROCEDURE p @a int, @b nvarchar(20), @c decimal(5, 1) AS RETURN`))
	require.Equal(t, `[Name nvarchar(128) not null, Owner nvarchar(128), Type nvarchar(31), Created_datetime datetime not null]
t | dbo | user table | DATE
[Column_name nvarchar(128), Type nvarchar(128), Computed varchar(35), Length int, Prec char(5), Scale char(5), Nullable varchar(35), TrimTrailingBlanks varchar(35), FixedLenNullInSource varchar(35), Collation nvarchar(128)]
id | int | no | 4 | 10    | 0     | no | (n/a) | (n/a) | NULL
c | char | no | 3 |       |       | yes | no | yes | SQL_Latin1_General_CP1_CI_AS
d | decimal | no | 5 | 9     | 2     | no | (n/a) | (n/a) | NULL
g | uniqueidentifier | no | 16 |       |       | yes | (n/a) | (n/a) | NULL
twice | int | yes | 4 | 10    | 0     | yes | (n/a) | (n/a) | NULL
[Identity nvarchar(128), Seed numeric(38,0), Increment numeric(38,0), Not For Replication int]
id | 5 | 2 | 0
[RowGuidCol nvarchar(128)]
g
[Data_located_on_filegroup nvarchar(128)]
PRIMARY
[index_name nvarchar(128), index_description varchar(210), index_keys nvarchar(2078)]
pk_t | clustered, unique, primary key located on PRIMARY | id
[constraint_type nvarchar(146), constraint_name nvarchar(128), delete_action nvarchar(11), update_action nvarchar(11), status_enabled varchar(8), status_for_replication varchar(19), constraint_keys nvarchar(2126)]
PRIMARY KEY (clustered) | pk_t | (n/a) | (n/a) | (n/a) | (n/a) | id
Msg 15470, Level 10, State 1, sp_helpconstraint Line 65: No foreign keys reference table 't', or you do not have permissions on referencing tables.
return 0
`, ask("EXEC sp_help t"))
	require.Contains(t, ask("EXEC sp_help 'dbo.p'"), `[Parameter_name nvarchar(128), Type nvarchar(128), Length smallint not null, Prec int, Scale int, Param_order smallint, Collation nvarchar(128)]
@a | int | 4 | 10 | 0 | 1 | NULL
@b | nvarchar | 40 | 20 | NULL | 2 | SQL_Latin1_General_CP1_CI_AS
@c | decimal | 5 | 5 | 1 | 3 | NULL
`)
	all := ask("EXEC sp_help")
	require.Contains(t, all, "p | dbo | stored procedure\n")
	require.Contains(t, all, "pk_t | dbo | primary key cns\n")
	require.Contains(t, all, "[User_type nvarchar(128)")
}

// TestPropertiesAreKept: extended properties are stored with the database.
func TestPropertiesAreKept(t *testing.T) {
	cfg := session.Config{Dir: t.TempDir(), SAPassword: "secret"}
	answer := func(text string) string {
		inst, err := New(cfg)
		require.NoError(t, err)
		defer func() { require.NoError(t, inst.Close()) }()
		s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
		defer func() { require.NoError(t, s.Close()) }()
		var r recorder
		require.NoError(t, s.Batch(context.Background(), text, &r))
		return r.b.String()
	}
	require.NotContains(t, answer("CREATE DATABASE kept; EXEC kept.sys.sp_addextendedproperty N'Caption', 17"), "Msg")
	require.Contains(t,
		answer("SELECT name, value, SQL_VARIANT_PROPERTY(value, 'BaseType') FROM kept.sys.extended_properties"),
		"Caption | 17 | int\n")
}

// isWaiting reports whether a session waits for a lock.
func isWaiting(inst *Instance, s *Session) bool {
	_, ok := inst.Locks.Waiting(s.Locks)
	return ok
}
