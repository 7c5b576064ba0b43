package question_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
	"github.com/jobagent/jobagent/testenv/fault"
	"github.com/jobagent/jobagent/testenv/hostile"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// fixture is an embedded server with some databases, named d0, d1 and so on.
type fixture struct {
	server  *tsqld.Server
	servers *mssql.Servers
	list    []targets.Target
}

func newFixture(t testing.TB, databases int, cfg tsqld.Config, wrap func(mssqldb.HostDialer) mssqldb.HostDialer) *fixture {
	t.Helper()
	cfg.SAPassword = "secret"
	server, err := tsqld.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	f := &fixture{server: server}
	f.servers = f.dial(t, server.Dialer())
	for i := range databases {
		name := fmt.Sprint("d", i)
		f.exec(t, "master", "CREATE DATABASE "+name)
		f.exec(t, name, "CREATE TABLE t (n int, s nvarchar(max)); INSERT INTO t VALUES (1, N'one'), (2, NULL);")
		f.list = append(f.list, targets.NewTarget("s", name, ""))
	}
	if wrap != nil {
		f.servers = f.dial(t, wrap(server.Dialer()))
	}
	return f
}

func (f *fixture) dial(t testing.TB, dialer mssqldb.HostDialer) *mssql.Servers {
	t.Helper()
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: dialer})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return servers
}

// open returns a pool of the test itself.
func (f *fixture) open(t testing.TB, database string) *sql.DB {
	t.Helper()
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer()})
	require.NoError(t, err)
	connector, err := servers.Connector("s", database, "")
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, errors.Join(db.Close(), servers.Close())) })
	return db
}

func (f *fixture) exec(t testing.TB, database, text string) {
	t.Helper()
	_, err := f.open(t, database).Exec(text)
	require.NoError(t, err)
}

func (f *fixture) number(t testing.TB, database, text string) (n int) {
	t.Helper()
	require.NoError(t, f.open(t, database).QueryRow(text).Scan(&n))
	return n
}

// lines is a sink that keeps everything as text. It is safe for concurrent use.
type lines struct {
	mu       sync.Mutex
	rows     []string
	columns  []string
	messages []string
	onRow    func(t targets.Target) error
}

func (l *lines) Begin(t targets.Target, number int, columns []mssql.Column) (question.Rows, error) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name + " " + c.Type
	}
	l.mu.Lock()
	l.columns = append(l.columns, fmt.Sprintf("%s %d: %s", t.Database, number, strings.Join(names, ", ")))
	l.mu.Unlock()
	return sinkFunc(func(row []driver.Value) error {
		texts := make([]string, len(row))
		for i, v := range row {
			if texts[i] = "NULL"; v != nil {
				texts[i] = columns[i].Text(v)
			}
		}
		if l.onRow != nil {
			if err := l.onRow(t); err != nil {
				return err
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rows = append(l.rows, fmt.Sprintf("%s %d: %s", t.Database, number, strings.Join(texts, "|")))
		return nil
	}), nil
}

func (l *lines) Message(t targets.Target, m targets.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, fmt.Sprintf("%s: %d %s", t.Database, m.Severity, m.Text))
}

// reading returns a question that is rolled back.
func reading(t testing.TB, text string) question.Question {
	t.Helper()
	batches, err := mssql.SplitBatches(text)
	require.NoError(t, err)
	return question.Question{Batches: batches, Options: question.Options{Asking: mssql.Asking{ReadOnly: true}}}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, tsqld.Config{}, nil)
	var got lines
	q := reading(t, `SELECT n, s FROM t ORDER BY n;
PRINT N'half';
RAISERROR(N'low', 10, 1);
SELECT DB_NAME() AS name;
GO 2
SELECT COUNT(*) AS c FROM t;`)
	sum, err := q.Ask(t.Context(), f.servers, f.list, &got)
	require.NoError(t, err)
	require.Empty(t, sum.Failures)
	require.EqualValues(t, 3*7, sum.Rows)
	require.False(t, sum.Full)
	require.Empty(t, sum.Cut)
	var want, shapes, said []string
	for _, d := range []string{"d0", "d1", "d2"} {
		for _, number := range []int{1, 3} {
			want = append(want, fmt.Sprintf("%s %d: 1|one", d, number), fmt.Sprintf("%s %d: 2|NULL", d, number),
				fmt.Sprintf("%s %d: %s", d, number+1, d))
			shapes = append(shapes, fmt.Sprintf("%s %d: n INT, s NVARCHAR", d, number), fmt.Sprintf("%s %d: name NVARCHAR", d, number+1))
			said = append(said, d+": 0 half", d+": 0 low") // as SQL Server, which sends severity 10 as 0
		}
		want = append(want, d+" 5: 2")
		shapes = append(shapes, d+" 5: c INT")
	}
	require.ElementsMatch(t, want, got.rows)
	require.ElementsMatch(t, shapes, got.columns)
	require.ElementsMatch(t, said, got.messages)
}

// What a reading question changes is rolled back, also by the way of a procedure. What ends the
// transaction in a procedure is found afterwards.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, tsqld.Config{}, nil)
	f.exec(t, "d0", "CREATE PROCEDURE p AS UPDATE t SET n = 7;")
	f.exec(t, "d0", "CREATE PROCEDURE ends AS BEGIN UPDATE t SET n = 8; EXEC (N'COMMIT'); END")
	for _, text := range []string{
		"UPDATE t SET n = 9; SELECT n FROM t WHERE n = 9;",
		"EXEC p; SELECT n FROM t WHERE n = 7;",
		"p",
		"/* before */ WITH x AS (SELECT n FROM t) UPDATE x SET n = 9;",
		"SELECT 1 AS a;\nGO\nDELETE FROM t;\nGO\nCREATE TABLE u (n int);",
		"CREATE VIEW v AS SELECT n FROM t;",
	} {
		sum, err := reading(t, text).Ask(t.Context(), f.servers, f.list, &lines{})
		require.NoError(t, err)
		require.Empty(t, sum.Failures, text)
		require.Equal(t, 2, f.number(t, "d0", "SELECT COUNT(*) FROM t WHERE n < 3"), text)
		require.Equal(t, 1, f.number(t, "d0", "SELECT COUNT(*) FROM sys.tables"), text)
		require.Zero(t, f.number(t, "d0", "SELECT COUNT(*) FROM sys.views"), text)
	}
	for _, text := range []string{"EXEC (N'SELECT 1 AS a; COMMIT; SELECT 2 AS a');", "ends", "ROLLBACK; INSERT INTO t VALUES (3, N'after');"} {
		sum, err := reading(t, text).Ask(t.Context(), f.servers, f.list, &lines{})
		require.NoError(t, err)
		require.Len(t, sum.Failures, 1, text)
	}
	require.Equal(t, 2, f.number(t, "d0", "SELECT COUNT(*) FROM t"), "what follows a ROLLBACK is rolled back as well")
	f.exec(t, "d0", "UPDATE t SET n = 1;") // the procedure has committed

	q := reading(t, "UPDATE t SET n = 9;")
	q.Asking.ReadOnly = false
	sum, err := q.Ask(t.Context(), f.servers, f.list, &lines{})
	require.NoError(t, err)
	require.Empty(t, sum.Failures)
	require.Zero(t, f.number(t, "d0", "SELECT COUNT(*) FROM t WHERE n < 3"))
}

func TestCheckUndoable(t *testing.T) {
	t.Parallel()
	check := func(text string) ([]string, error) { return mssql.CheckUndoable(reading(t, text).Batches) }
	_, err := check("SELECT 1;\nGO\nSELECT 2;\nCOMMIT;\nALTER DATABASE d SET READ_ONLY;")
	require.EqualError(t, err, "line 4: COMMIT: it has no BEGIN TRANSACTION before it in the batch, so it would commit what is to be rolled back; "+
		"line 5: ALTER DATABASE: it cannot be in a transaction")
	warnings, err := check("WAITFOR DELAY '00:00:01'; SELECT 1")
	require.NoError(t, err)
	require.Equal(t, []string{"line 1: WAITFOR: locks are held while it waits"}, warnings)
	warnings, err = check("SELECT name FROM sys.tables")
	require.NoError(t, err)
	require.Empty(t, warnings)
	_, err = check("SELECT 'x")
	require.ErrorContains(t, err, "cannot be judged")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, tsqld.Config{}, nil)
	q := reading(t, "SELECT n FROM t; SELECT n FROM t;")
	q.MaxRows = 3
	var got lines
	sum, err := q.Ask(t.Context(), f.servers, f.list, &got)
	require.NoError(t, err)
	require.Empty(t, sum.Failures)
	require.Equal(t, f.list, sum.Cut)
	require.Len(t, got.rows, 12)
	require.EqualValues(t, 12, sum.Rows)

	q.MaxRows = 4
	sum, err = q.Ask(t.Context(), f.servers, f.list, &lines{})
	require.NoError(t, err)
	require.Empty(t, sum.Cut, "as many rows as permitted")

	for most, full := range map[int64]bool{5: true, 15: true, 16: false} {
		q.MaxTotal = most
		var got lines
		sum, err := q.Ask(t.Context(), f.servers, f.list, &got)
		require.NoError(t, err)
		require.Empty(t, sum.Failures)
		require.Equal(t, full, sum.Full)
		require.EqualValues(t, most, sum.Rows)
		require.Len(t, got.rows, int(most))
	}
}

// An error of the sink ends the question.
func TestSinkFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, tsqld.Config{}, nil)
	var rows atomic.Int64
	got := &lines{onRow: func(targets.Target) error {
		if rows.Add(1) > 3 {
			return io.ErrClosedPipe
		}
		return nil
	}}
	sum, err := reading(t, "SELECT n FROM t").Ask(t.Context(), f.servers, f.list, got)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.EqualValues(t, 3, sum.Rows)
}

// A panic of one target reaches the caller, who can recover it: otherwise it would end the process.
// The other targets are asked first.
func TestPanicOfATarget(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, tsqld.Config{}, nil)
	var ended atomic.Int64
	asked := reading(t, "SELECT n FROM t")
	asked.Options.Ended = func(error) {
		if ended.Add(1) == 1 {
			panic("boom")
		}
	}
	defer func() {
		text, _ := recover().(string)
		require.Contains(t, text, "boom\n")
		require.EqualValues(t, 4, ended.Load())
	}()
	_, err := asked.Ask(t.Context(), f.servers, f.list, &lines{})
	require.NoError(t, err)
	require.Fail(t, "the panic was lost")
}

// Errors of targets do not disturb the others, and rows before an error have arrived.
func TestFailures(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 6, tsqld.Config{}, nil)
	f.exec(t, "d2", "DROP TABLE t;")
	f.exec(t, "d4", "DROP TABLE t;")
	list := append(slices.Clone(f.list), targets.NewTarget("s", "missing", ""))
	var got lines
	sum, err := reading(t, "SELECT 0 AS n;\nGO\nSELECT n\nFROM t WHERE n = 1;").Ask(t.Context(), f.servers, list, &got)
	require.NoError(t, err)
	require.Len(t, got.rows, 6+4)
	groups := question.GroupFailures(sum.Failures)
	require.Len(t, groups, 2)
	require.Equal(t, []string{"s/d2", "s/d4"}, groups[0].Targets)
	require.Equal(t, "Msg 208, Level 16, State 1, Line 3: Invalid object name 't'.", groups[0].Message)
	require.Equal(t, []string{"s/missing"}, groups[1].Targets)
	require.Contains(t, groups[1].Message, "4060")
}

// Values that are hard to show arrive as they are.
func TestValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, tsqld.Config{}, nil)
	var got lines
	sum, err := reading(t, `SELECT CAST(NULL AS int) AS a, N'x' + NCHAR(0) + NCHAR(27) + N'[2J' + NCHAR(0x202E) AS b, CAST(1 AS bit) AS c,
    CAST(12.50 AS decimal(9, 2)) AS d, CAST(0x00FF AS varbinary(8)) AS e, CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier) AS f,
    CAST('2026-01-31T22:05:06.1234567' AS datetime2(7)) AS g, CAST('2026-01-31T22:05:06+02:00' AS datetimeoffset(0)) AS h,
    CAST('22:05:06.5' AS time(3)) AS i, CAST('2026-01-31' AS date) AS j, CAST(1.5 AS real) AS k, CAST(0.1 AS float) AS l,
    CAST(9223372036854775807 AS bigint) AS m, CAST(922337203685477.5807 AS money) AS n, CAST('2026-01-31T22:05:06.123' AS datetime) AS o;`).
		Ask(t.Context(), f.servers, f.list, &got)
	require.NoError(t, err)
	require.Empty(t, sum.Failures)
	require.Equal(t, []string{"d0 1: NULL|x\x00\x1b[2J\u202e|1|12.50|0x00FF|6F9619FF-8B86-D011-B42D-00C04FC964FF|2026-01-31 22:05:06.1234567|" +
		"2026-01-31 22:05:06 +02:00|22:05:06.500|2026-01-31|1.5|0.1|9223372036854775807|922337203685477.5807|2026-01-31 22:05:06.123"}, got.rows)
}

// 4,096 columns are the most that a SELECT of SQL Server may have. The embedded server has 2,000.
func TestManyColumns(t *testing.T) {
	t.Parallel()
	const columns = 4096
	server := hostile.New(hostile.Mode{Name: "wide", Serve: func(c *hostile.Conn) error {
		if err := c.Login(); err != nil {
			return err
		}
		if _, err := c.Next(); err != nil {
			return err
		}
		values := make([]uint32, columns)
		values[columns-1] = 7
		return c.Answer(hostile.Ints(columns), hostile.IntRow(values...), hostile.IntRow(values...), hostile.Done(0x10, 2))
	}})
	t.Cleanup(server.Close)
	f := &fixture{}
	sum, err := reading(t, "SELECT 1").Ask(t.Context(), f.dial(t, server), []targets.Target{targets.NewTarget("s", "d", "")},
		sinkFunc(func(row []driver.Value) error {
			if len(row) != columns || row[columns-1] != int64(7) {
				return fmt.Errorf("%d columns", len(row))
			}
			return nil
		}))
	require.NoError(t, err)
	require.Empty(t, sum.Failures)
	require.EqualValues(t, 2, sum.Rows)
}

func TestLargeCells(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, tsqld.Config{}, nil)
	sum, err := reading(t, "SELECT REPLICATE(CAST(N'é' AS nvarchar(max)), 1048576) AS big UNION ALL SELECT N'x';").Ask(t.Context(), f.servers, f.list,
		sinkFunc(func(row []driver.Value) error {
			if s, ok := row[0].(string); ok && s != "x" && s != strings.Repeat("é", 1<<20) {
				return errors.New("another text")
			}
			return nil
		}))
	require.NoError(t, err)
	require.Empty(t, sum.Failures)
	require.EqualValues(t, 4, sum.Rows)
}

// sinkFunc is a sink that takes rows only.
type sinkFunc func([]driver.Value) error

func (f sinkFunc) Begin(targets.Target, int, []mssql.Column) (question.Rows, error) { return f, nil }

func (f sinkFunc) Row(row []driver.Value) error { return f(row) }

func (f sinkFunc) End(error) error { return nil }

func (f sinkFunc) Message(targets.Target, targets.Message) {}

// The end of the context cancels what runs, and asks nobody else.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 5, tsqld.Config{}, nil)
		q := reading(t, "SELECT 1 AS n; WAITFOR DELAY '01:00:00'; SELECT 2 AS n;")
		q.Parallel = 3
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		var got lines
		sum, err := q.Ask(ctx, f.servers, f.list, &got)
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, got.rows, "the server sends the rows with the rest of the packet")
		require.Len(t, sum.Failures, 5)
		require.Less(t, time.Since(began), time.Minute+10*time.Second)
		require.Zero(t, f.number(t, "master", "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id <> @@SPID AND program_name LIKE N'jobagent%' AND status = N'running'"))
	})
}

// A time limit ends the target that is slow, not the others, and not one whose reader is slow.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 3, tsqld.Config{}, nil)
		f.exec(t, "d1", "DROP TABLE t;")
		q := reading(t, "IF OBJECT_ID(N't') IS NULL WAITFOR DELAY '01:00:00'; SELECT n FROM t;")
		q.Timeout = 10 * time.Second
		var got lines
		got.onRow = func(targets.Target) error {
			<-time.After(time.Minute)
			return nil
		}
		sum, err := q.Ask(t.Context(), f.servers, f.list, &got)
		require.NoError(t, err)
		require.Len(t, got.rows, 4)
		require.Len(t, sum.Failures, 1)
		require.ErrorContains(t, sum.Failures[0].Err, "no complete answer within 10s")
		require.ErrorIs(t, sum.Failures[0].Err, context.DeadlineExceeded)
	})
}

// A target whose connection breaks in any way fails, and no other does.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for _, kind := range fault.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				broken := 0
				f := newFixture(t, 4, tsqld.Config{}, func(inner mssqldb.HostDialer) mssqldb.HostDialer {
					return fault.NewNetwork(inner, func(c fault.Call) fault.Kind {
						if strings.Contains(c.Name, "BEGIN TRANSACTION") {
							if broken++; broken == 2 {
								return kind
							}
						}
						return fault.None
					})
				})
				q := reading(t, "SELECT n, REPLICATE(N'x', 4000) AS s FROM t;")
				q.Timeout = time.Minute
				sum, err := q.Ask(t.Context(), f.servers, f.list, &lines{})
				require.NoError(t, err)
				require.Len(t, sum.Failures, 1)
				if kind == fault.Transient {
					require.EqualValues(t, 40613, mssql.Describe(sum.Failures[0].Err).Number)
				}
			})
		})
	}
}

// A server that does not answer is given up after some databases.
func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var network *fault.Network
		f := newFixture(t, 20, tsqld.Config{}, func(inner mssqldb.HostDialer) mssqldb.HostDialer {
			network = fault.NewNetwork(inner, nil)
			return network
		})
		network.Silence()
		defer network.Heal()
		q := reading(t, "SELECT 1 AS n")
		q.Parallel = 1
		began := time.Now()
		sum, err := q.Ask(t.Context(), f.servers, f.list, &lines{})
		require.NoError(t, err)
		require.Len(t, sum.Failures, 20)
		require.Equal(t, 3*mssql.DefaultLoginTimeout, time.Since(began))
		groups := question.GroupFailures(sum.Failures)
		require.Len(t, groups, 2)
		require.Equal(t, "not asked, because the server did not answer before", groups[0].Message)
		require.Equal(t, targets.ClassTimeout, groups[0].Class)
		require.Len(t, groups[1].Targets, 3)
	})
}
