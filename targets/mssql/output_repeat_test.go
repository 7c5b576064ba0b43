package mssql_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// requestText returns the T-SQL of a request: a batch, or the statement of sp_executesql.
func requestText(p tsqld.Point) string {
	if p.Call != nil && len(p.Call.Params) > 0 {
		if text, ok := p.Call.Params[0].Value.(string); ok {
			return text
		}
	}
	return p.Request
}

// Targets that create the same output table at once all succeed, and run their scripts once,
// whatever error the later ones get.
func TestOutputTableRace(t *testing.T) {
	t.Parallel()
	for _, number := range []int32{2627, 2714, 1913, 1205, 208} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			const attempts = 30
			var arrived atomic.Int32
			together := make(chan struct{})
			f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
				if p.Kind != tsqld.BeforeStatement || !strings.HasPrefix(p.Request, "CREATE TABLE [dbo].[shared]") {
					return nil
				}
				switch n := arrived.Add(1); {
				case n < attempts: // waits until all have seen that there is no table
					select {
					case <-together:
					case <-p.Context.Done():
						return context.Cause(p.Context)
					}
					if n > 1 {
						return mserr.New(number, 16, "another session was faster")
					}
				case n == attempts:
					close(together)
					return mserr.New(number, 16, "another session was faster")
				}
				return nil
			}})
			f.exec(t, "d", "CREATE TABLE ran (n int);")
			var wg sync.WaitGroup
			results := make([]targets.Result, attempts)
			for i := range results {
				wg.Go(func() {
					results[i] = f.runTo(t, outputTo("shared"), fmt.Sprintf("INSERT INTO ran (n) VALUES (%d); SELECT %[1]d AS n", i))
				})
			}
			wg.Wait()
			for _, res := range results {
				require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
			}
			require.GreaterOrEqual(t, arrived.Load(), int32(attempts))
			require.Equal(t, []string{"30|30"}, f.query(t, "d", "SELECT COUNT(*), COUNT(DISTINCT n) FROM ran"))
			require.Equal(t, []string{"30|30"}, f.query(t, "out", "SELECT COUNT(*), COUNT(DISTINCT n) FROM shared"))
		})
	}
}

// A failure of the agent's own statements that may pass does not make the script run again.
func TestOutputIsRepeated(t *testing.T) {
	t.Parallel()
	deadlock, memory := mserr.New(1205, 13, "deadlock"), mserr.New(701, 17, "memory")
	for name, c := range map[string]struct {
		kind  tsqld.PointKind
		text  string // beginning of the request
		fault error
		times int32
	}{
		"look":               {tsqld.BeforeStatement, "SELECT\n    c.name", memory, 1},
		"look, lost":         {tsqld.BeforeStatement, "SELECT\n    c.name", tsqld.ErrClose, 4},
		"access, lost":       {tsqld.BeforeStatement, "SELECT\n    CASE WHEN OBJECT_ID(@table)", tsqld.ErrClose, 4},
		"create":             {tsqld.BeforeStatement, "CREATE TABLE [dbo].[o]", deadlock, 2},
		"create, lost":       {tsqld.BeforeStatement, "CREATE TABLE [dbo].[o]", tsqld.ErrClose, 2},
		"index":              {tsqld.BeforeStatement, "CREATE NONCLUSTERED INDEX", mserr.New(1913, 16, "exists"), 1},
		"staging":            {tsqld.BeforeStatement, "DROP TABLE IF EXISTS #", memory, 2},
		"bulk, first":        {tsqld.BeforeStatement, "SET FMTONLY ON", tsqld.ErrClose, 1},
		"bulk":               {tsqld.BeforeStatement, "INSERT BULK", memory, 1},
		"bulk, lost":         {tsqld.BeforeStatement, "INSERT BULK", tsqld.ErrClose, 2},
		"delete":             {tsqld.BeforeStatement, "DELETE FROM [dbo].[o]", deadlock, 4},
		"delete, lost":       {tsqld.BeforeStatement, "DELETE FROM [dbo].[o]", tsqld.ErrClose, 2},
		"insert":             {tsqld.BeforeStatement, "INSERT INTO [dbo].[o]", deadlock, 1},
		"insert, lost":       {tsqld.BeforeStatement, "INSERT INTO [dbo].[o]", tsqld.ErrClose, 1},
		"committed, lost":    {tsqld.AfterCommitBeforeReply, "TM_COMMIT_XACT", tsqld.ErrClose, 2},
		"staging stays":      {tsqld.BeforeStatement, "DROP TABLE #", memory, 1},
		"staging stays lost": {tsqld.BeforeStatement, "DROP TABLE #", tsqld.ErrClose, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var left atomic.Int32
				f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
					if p.Kind == c.kind && p.App != "test" && strings.HasPrefix(strings.ToLower(requestText(p)), strings.ToLower(c.text)) &&
						left.Add(-1) >= 0 {
						return c.fault
					}
					return nil
				}})
				f.exec(t, "d", "CREATE TABLE ran (n int);")
				o := outputTo("o")
				left.Store(c.times)
				for i := range 2 { // creates the table, and replaces the rows
					res := f.runTo(t, o, fmt.Sprintf("INSERT INTO ran (n) VALUES (%d); "+
						"SELECT value AS n, CONVERT(MONEY, value) AS m, CONVERT(VARBINARY(9), value) AS b, N'x' AS t FROM GENERATE_SERIES(1, 150)", i))
					require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
					require.EqualValues(t, 150, res.RowsWritten)
					require.Equal(t, []string{"150|11325|11325.0000|11325"},
						f.query(t, "out", "SELECT COUNT(*), SUM(n), SUM(m), SUM(CONVERT(INT, b)) FROM o"))
				}
				require.Less(t, left.Load(), int32(0), "the fault happened")
				require.Equal(t, []string{"2"}, f.query(t, "d", "SELECT COUNT(*) FROM ran"))
			})
		})
	}
}

// Rows that were read from the script's session and are not kept cannot be copied again.
func TestLargeOutputIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks, deletes atomic.Int32
		f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
			switch text := requestText(p); {
			case p.Kind != tsqld.BeforeStatement:
			case strings.HasPrefix(text, "SELECT\n    c.name"):
				looks.Add(1)
			case strings.HasPrefix(text, "DELETE FROM [dbo].[o]"):
				if deletes.Add(1) == 1 {
					return mserr.New(1205, 13, "deadlock") // the staging table still has the rows
				}
				return tsqld.ErrClose
			}
			return nil
		}})
		res := f.runTo(t, outputTo("o"), "SELECT REPLICATE('x', 1000) AS x FROM GENERATE_SERIES(1, 100)")
		require.Equal(t, targets.Failed, res.Outcome)
		require.Equal(t, targets.ClassLostConnection, res.Error.Class)
		require.Contains(t, res.Summary, "delete the rows of an earlier attempt")
		require.EqualValues(t, 2, looks.Load(), "before and after the creation")
		require.EqualValues(t, 2, deletes.Load())
		require.Equal(t, []string{"0"}, f.query(t, "out", "SELECT COUNT(*) FROM o"))
	})
}

// An error that stays ends the tries, and a stop request ends the wait for the next one.
func TestOutputTriesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
			if p.Kind == tsqld.BeforeStatement && strings.HasPrefix(requestText(p), "SELECT\n    c.name") {
				looks.Add(1)
				return mserr.New(40613, 16, "not available")
			}
			return nil
		}})
		start := time.Now()
		res := f.runTo(t, outputTo("o"), "SELECT 1 AS n")
		require.Equal(t, targets.Failed, res.Outcome)
		require.EqualValues(t, 40613, res.Error.Number)
		require.EqualValues(t, 5, looks.Load())
		require.Less(t, time.Since(start), 15*time.Second)

		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, targets.ErrStopRequested)
		defer cancel()
		a := onD("SELECT 1 AS n")
		a.Output = outputTo("o")
		start = time.Now()
		res = f.runner.Run(ctx, a)
		require.Equal(t, targets.Failed, res.Outcome, "the script has ended, and its rows are not written")
		require.Less(t, time.Since(start), 4*time.Second)
	})
}

// An output table that cannot be written fails the attempt before the script is sent.
func TestOutputIsCheckedBeforeTheScript(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE ran (n int);")
	f.exec(t, "master", "CREATE LOGIN writer WITH PASSWORD = 'Pa55word'; CREATE LOGIN stranger WITH PASSWORD = 'Pa55word';")
	f.exec(t, "out", "CREATE TABLE readonly (internal_execution_id uniqueidentifier NOT NULL, n int); "+
		"CREATE TABLE writable (internal_execution_id uniqueidentifier NOT NULL, n int); CREATE USER writer FOR LOGIN writer; "+
		"CREATE TABLE writeonly (internal_execution_id uniqueidentifier NOT NULL, n int); "+
		"GRANT SELECT ON readonly TO writer; GRANT SELECT, INSERT, DELETE ON writable TO writer; GRANT INSERT, DELETE ON writeonly TO writer;")
	f.exec(t, "out", "CREATE SCHEMA made;")
	f.exec(t, "out", "CREATE SCHEMA owned AUTHORIZATION writer;")
	f.exec(t, "out", "GRANT CREATE TABLE TO writer; GRANT ALTER ON SCHEMA::made TO writer;")
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"), mssql.LoginCredential("wrong", "sa", "other", "*"),
		mssql.LoginCredential("writer", "writer", "Pa55word", "*"), mssql.LoginCredential("stranger", "stranger", "Pa55word", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer()})
	require.NoError(t, err)
	defer func() { require.NoError(t, servers.Close()) }()
	for name, c := range map[string]struct {
		database, table, credential string
		class                       targets.Class
		want                        string
	}{
		"no database":      {"nowhere", "o", "", targets.ClassTransient, "connect: "},
		"wrong password":   {"out", "o", "wrong", targets.ClassAuth, "connect: "},
		"no access":        {"out", "o", "stranger", targets.ClassTransient, "connect: "},
		"no right to it":   {"out", "readonly", "writer", targets.ClassConfig, "grant it SELECT, INSERT and DELETE"},
		"no right to read": {"out", "writeonly", "writer", targets.ClassConfig, "grant it SELECT, INSERT and DELETE"},
		"no right to make": {"out", "o", "writer", targets.ClassConfig, "grant the login CREATE TABLE"},
		"not its own":      {"out", "made.o", "writer", targets.ClassConfig, "INSERT and DELETE on the schema"},
		"writable":         {"out", "writable", "writer", "", ""},
		"makeable":         {"out", "owned.o", "writer", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			schema, table, found := strings.Cut(c.table, ".")
			if !found {
				schema, table = "dbo", c.table
			}
			for _, once := range []*mssql.Once{nil, {ExecutionID: uuid.New(), JobExecutionID: uuid.New(), StepID: 1}} {
				f.exec(t, "d", "DELETE FROM ran;")
				res := mssql.NewRunner(servers, targets.Limits{}).Run(t.Context(), mssql.Attempt{
					Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: "INSERT INTO ran VALUES (1); SELECT 1 AS n"},
					Output:  &mssql.Output{Server: "s", Database: c.database, Schema: schema, Table: table, Credential: c.credential}, Once: once,
				})
				if c.want == "" {
					require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
					require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT COUNT(*) FROM ran"))
					continue
				}
				require.Equal(t, targets.Failed, res.Outcome)
				require.Contains(t, res.Summary, "output table s/"+c.database)
				require.Contains(t, res.Summary, c.want)
				require.Equal(t, c.class, res.Error.Class, res.Summary)
				require.False(t, res.Sent)
				require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM ran"))
			}
		})
	}
}
