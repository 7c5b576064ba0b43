package mssql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// brief formats messages for comparison.
func brief(messages []targets.Message) []string {
	var lines []string
	for _, m := range messages {
		switch m.Kind {
		case targets.KindRows:
			lines = append(lines, fmt.Sprintf("rows %d", m.Rows))
		case targets.KindAgent:
			lines = append(lines, "agent "+m.Text)
		default:
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %d %d %d line %d %s: %s", m.Kind, m.Number, m.Severity,
				m.State, m.Line, m.Procedure, m.Text)))
		}
	}
	return lines
}

func TestRunReportsAnOpenTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	res := f.run(t, "CREATE TABLE t (n int);\nGO\nBEGIN TRANSACTION;\nINSERT INTO t VALUES (1);")
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Contains(t, res.Summary, "left a transaction open (@@TRANCOUNT 1)")
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))

	res = f.run(t, "BEGIN TRAN; INSERT INTO t VALUES (1); COMMIT;")
	require.Empty(t, res.Summary)
	require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}

func TestRunSucceeds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	res := f.run(t, `CREATE TABLE t (n int);
INSERT INTO t VALUES (1), (2);
PRINT 'one';
GO
SELECT n FROM t;
INSERT INTO t VALUES (3)
GO 3
RAISERROR('careful', 10, 7);
`)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.NoError(t, res.Err)
	require.Zero(t, res.Error)
	require.Equal(t, []string{
		"rows 2", "Info 0 0 1 line 3 : one",
		"rows 2", "rows 1", "rows 3", "rows 1", "rows 4", "rows 1",
		"Info 50000 0 7 line 8 : careful",
	}, brief(res.Messages))
	require.EqualValues(t, 2+2+1+3+1+4+1, res.RowsAffected)
	require.Positive(t, res.SPID)
	require.True(t, res.Sent)
	require.Equal(t, []string{"5"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	f.exec(t, "d", "CREATE PROCEDURE p AS\nBEGIN\n  RAISERROR('inside', 16, 3);\nEND")
	cases := map[string]struct {
		script string
		number int32
		line   int32
		text   string
		after  string // what t holds
	}{
		"Throw":       {"SELECT 1;\nGO\n\nTHROW 50123, 'thrown', 5;", 50123, 4, "thrown", "0"},
		"AfterRows":   {"SELECT 1;\nSELECT 1/0;\nINSERT INTO t VALUES (1)", 8134, 2, "zero", "1"},
		"WhileRows":   {"SELECT 1/n FROM (VALUES (1), (0)) AS x(n)", 8134, 1, "zero", "0"},
		"NextBatches": {"RAISERROR('first', 16, 1);\nGO\nINSERT INTO t VALUES (1)", 50000, 1, "first", "0"},
		"Procedure":   {"\n\nEXEC p", 50000, 3, "inside", "0"},
		"Syntax":      {"GO\nSELEC 1", 0, 2, "", "0"},
		"Caught": {"BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH INSERT INTO t VALUES (1); THROW; END CATCH", 8134, 1,
			"zero", "1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f.exec(t, "d", "DELETE FROM t")
			res := f.run(t, c.script)
			require.Equal(t, targets.Failed, res.Outcome, res.Summary)
			require.Error(t, res.Err)
			require.True(t, res.Sent)
			if c.number != 0 {
				require.Equal(t, c.number, res.Error.Number)
			}
			require.Equal(t, c.line, res.Error.Line)
			require.Contains(t, res.Summary, c.text)
			require.Contains(t, res.Summary, fmt.Sprintf("Msg %d, ", res.Error.Number))
			require.Equal(t, []string{c.after}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
		})
	}
	res := f.run(t, "EXEC p")
	require.Equal(t, "p", res.Error.Procedure)
	require.Equal(t, "Msg 50000, Level 16, State 3, Procedure p, Line 3: inside", res.Summary)
	require.Equal(t, targets.ClassPermanent, res.Error.Class)

	res = f.runner.Run(t.Context(),
		mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "nowhere", ""), Command: "SELECT 1"}})
	require.Equal(t, targets.Failed, res.Outcome)
	require.EqualValues(t, 4060, res.Error.Number)
	require.False(t, res.Sent)
}

// A script does not see the effects of an earlier script on the session.
func TestSessionsAreFresh(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	const state = "SELECT CONCAT(@@TRANCOUNT, ' ', DB_NAME(), ' ', @@LOCK_TIMEOUT, ' ', @@DATEFIRST, ' ', OBJECT_ID('tempdb..#x')) AS s"
	report := func() []string {
		o := &mssql.Output{Server: "s", Database: "out", Table: "state", ExecutionID: uuid.New()}
		res := f.runner.Run(t.Context(),
			mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: state}, Output: o})
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
		return f.query(t, "out", "SELECT s FROM state WHERE internal_execution_id = '"+o.ExecutionID.String()+"'")
	}
	before := report()
	res := f.run(t, `USE out; SET LOCK_TIMEOUT 7; SET DATEFIRST 3; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
CREATE TABLE #x (n int);
GO
USE d
BEGIN TRANSACTION; INSERT INTO t VALUES (1);`)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, before, report())
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}

func TestVariablesInAScript(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	v := mssql.RunVariables{
		JobName: "it's [x]", JobID: uuid.New(), JobVersion: 3, StepID: 2, StepName: "Größe", JobExecutionID: uuid.New(),
		JobExecutionCreateTime: time.Date(2026, 1, 31, 22, 0, 0, 1234500, time.UTC), TargetGroupName: "g",
	}
	res := f.runner.Run(t.Context(), mssql.Attempt{
		Variables: v.Variables(), Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""),
			Command: `SELECT $(job_name) AS n, $(step_id) AS s, $(job_version) + 1 AS v, CAST($(job_execution_id) AS uniqueidentifier) AS x,
 CAST($(job_execution_create_time) AS datetime2(7)) AS c, '$(step_name)' AS l, 1 AS [$(job_name)], 1 AS "q$(step_id)" /* $(job_name) */ INTO t;`},
	})
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, []string{"it's [x]|2|4|" + strings.ToUpper(v.JobExecutionID.String()) + "|2026-01-31 22:00:00.0012345|1|1"},
		f.query(t, "d", `SELECT n, s, v, CONVERT(varchar(36), x), CONVERT(varchar(30), c, 121), [it's [x]]], q2 FROM t`))
}

// When Run returns, a stopped script has ended on the server.
func TestRunIsCanceled(t *testing.T) {
	t.Parallel()
	for want, cause := range map[targets.Outcome]error{
		targets.Canceled: targets.ErrStopRequested, targets.TimedOut: targets.ErrTimeout,
		targets.Unknown: errors.New("agent stopping"),
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, tsqld.Config{})
				f.exec(t, "d", "CREATE TABLE t (n int);")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(5*time.Second, func() { cancel(cause) })
				res := f.runner.Run(ctx, mssql.Attempt{
					Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""),
						Command: "INSERT INTO t VALUES (1);\nGO\nBEGIN TRANSACTION; INSERT INTO t VALUES (2); WAITFOR DELAY '01:00:00';"},
				})
				require.Equal(t, want, res.Outcome, res.Summary)
				require.Equal(t, 5*time.Second, res.Elapsed)
				require.ErrorIs(t, res.Err, cause)
				require.Contains(t, res.Summary, map[targets.Outcome]string{
					targets.Canceled: "The run was stopped; the script was canceled on the server.",
					targets.TimedOut: "The step's time limit passed; the script was canceled on the server.",
					targets.Unknown:  "The agent gave the attempt up (agent stopping) while the script ran",
				}[want])
				require.True(t, res.Sent)
				require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT n FROM t"), "the open transaction was rolled back")
			})
		})
	}
}

// A time limit is a deadline. A script whose server acknowledges the attention has ended, also for
// a login that sees no other session.
func TestTimeLimitIsAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{OwnSessionsOnly: true})
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, targets.ErrTimeout)
		defer cancel()
		res := f.runner.Run(ctx, onD("WAITFOR DELAY '01:00:00';"))
		require.Equal(t, targets.TimedOut, res.Outcome, res.Summary)
		require.False(t, res.OutcomeUnknown, res.Summary)
		require.Equal(t, "The step's time limit passed; the script was canceled on the server.", res.Summary)
		require.Equal(t, 5*time.Second, res.Elapsed)
		require.ErrorIs(t, res.Err, targets.ErrTimeout)
	})
}

// A server that does not answer, not even to an attention, does not hold an attempt.
func TestServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{targets.ErrStopRequested, errors.New("agent stopping")} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
				if p.Kind == tsqld.BeforeStatement && strings.Contains(p.Request, "marker") {
					<-time.After(time.Minute)
					return tsqld.ErrClose
				}
				return nil
			}})
			for _, o := range []*mssql.Output{nil, {Server: "s", Database: "out", Table: "t"}} {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(cause) })
				res := f.runner.Run(ctx, mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""),
					Command: "SELECT 1 AS marker"}, Output: o})
				require.True(t, res.Sent)
				require.Equal(t, targets.Unknown, res.Outcome, res.Summary)
				require.LessOrEqual(t, res.Elapsed, 22*time.Second)
				require.Contains(t, res.Summary, "did not confirm")
				require.Contains(t, res.Summary, "still there after KILL")
			}
		})
	}
}

func TestConnectionIsLost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind tsqld.PointKind
		want targets.Outcome
		sent bool
	}{
		"AtLogin":         {tsqld.BeforeLogin, targets.Failed, false},
		"BeforeStatement": {tsqld.BeforeStatement, targets.Unknown, true},
		"AfterCommit":     {tsqld.AfterCommitBeforeReply, targets.Unknown, true},
		"MidRow":          {tsqld.MidRow, targets.Unknown, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				armed := false
				f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
					if armed && p.Kind == c.kind && (p.Kind == tsqld.BeforeLogin || strings.Contains(p.Request, "marker")) {
						return tsqld.ErrClose
					}
					return nil
				}})
				armed = true
				res := f.run(t, "SELECT 1 AS marker")
				require.Equal(t, c.want, res.Outcome, res.Summary)
				require.Equal(t, c.sent, res.Sent)
				require.Equal(t, targets.ClassLostConnection, res.Error.Class)
			})
		})
	}
}

func TestMessagesAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	runner := mssql.NewRunner(f.servers, targets.Limits{Messages: 10, MessageBytes: 60, TextBytes: 8})
	res := runner.Run(t.Context(), mssql.Attempt{
		Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""),
			Command: "DECLARE @i int = 0; WHILE @i < 100 BEGIN PRINT N'äöüäöüäöü'; SET @i += 1; END; RAISERROR('last', 16, 1)"},
	})
	require.Equal(t, targets.Failed, res.Outcome)
	last := res.Messages[len(res.Messages)-1]
	require.Equal(t, targets.KindError, last.Kind)
	require.Equal(t, "last", last.Text)
	require.Equal(t, "äö…", res.Messages[0].Text)
	require.Equal(t, 101, len(res.Messages)+res.MessagesDropped)
	require.Less(t, len(res.Messages), 10)
}

func TestBadLogin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "hunter2", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer()})
	require.NoError(t, err)
	defer servers.Close()
	res := mssql.NewRunner(servers, targets.Limits{}).Run(t.Context(), onD("SELECT 1"))
	require.Equal(t, targets.Failed, res.Outcome)
	require.EqualValues(t, 18456, res.Error.Number)
	require.Equal(t, targets.ClassAuth, res.Error.Class)
	require.NotContains(t, fmt.Sprintf("%+v", res), "hunter2")
}
