package mssql_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// once returns an attempt on the database d that runs at most once. Attempts with the same ID
// belong to the same target execution.
func once(id uuid.UUID, script string) mssql.Attempt {
	return mssql.Attempt{
		Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: script},
		Once:    &mssql.Once{ExecutionID: id, JobExecutionID: uuid.New(), StepID: 1},
	}
}

const again = "An earlier attempt had run the script and committed: it was not run again."

// The first attempt creates the table, also if several start at once.
func TestOnceRunsAScriptOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	results := make(chan targets.Result)
	for _, id := range ids {
		go func() {
			results <- f.runner.Run(t.Context(),
				once(id, "INSERT INTO t VALUES (1);\nGO\nINSERT INTO t VALUES (2);\nPRINT 'done'\nGO 2"))
		}()
	}
	for range ids {
		res := <-results
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
		require.Empty(t, res.Summary)
		require.EqualValues(t, 3, res.RowsAffected, "the ledger's rows do not count")
	}
	for _, id := range ids {
		res := f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (3);"))
		require.Equal(t, targets.Succeeded, res.Outcome)
		require.Equal(t, again, res.Summary)
		require.False(t, res.Sent)
	}
	require.Equal(t, []string{"1|4", "2|8"}, f.query(t, "d", "SELECT n, COUNT(*) FROM t GROUP BY n ORDER BY n"))
	require.Equal(t, []string{"4|4|4"},
		f.query(t, "d", "SELECT COUNT(*), COUNT(completed_at), SUM(step_id) FROM jobagent.executed_scripts"))
}

// A failed attempt leaves nothing behind from any of its batches, and the next attempt runs.
func TestOnceRollsBackAFailedAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	id := uuid.New()
	res := f.runner.Run(t.Context(),
		once(id, "INSERT INTO t VALUES (1);\nGO\nINSERT INTO t VALUES (2);\nTHROW 50123, 'no', 1;"))
	require.Equal(t, targets.Failed, res.Outcome)
	require.EqualValues(t, 50123, res.Error.Number)
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM jobagent.executed_scripts"))

	res = f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (3);"))
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, []string{"3"}, f.query(t, "d", "SELECT n FROM t"))
}

func TestOnceWithScriptsThatHaveTransactions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	cases := map[string]struct {
		script  string
		outcome targets.Outcome
		text    string // of the first attempt
		after   string // number of rows in t afterwards
		second  string // part of the summary of the second attempt, whose script has no fault
	}{
		"Balanced":   {"BEGIN TRANSACTION; INSERT INTO t VALUES (1); COMMIT;", targets.Succeeded, "", "1", again},
		"RolledBack": {"BEGIN TRY\nINSERT INTO t VALUES (1);\nTHROW 50123, 'no', 1;\nEND TRY\nBEGIN CATCH\nIF @@TRANCOUNT > 0 ROLLBACK;\nTHROW;\nEND CATCH", targets.Failed, "Msg 50123", "0", ""},
		"LeftOpen": {"BEGIN TRANSACTION; INSERT INTO t VALUES (1);", targets.Failed,
			"the script left a transaction open", "0", ""},
		"Committed": {"INSERT INTO t VALUES (1);\nCOMMIT;\nINSERT INTO t VALUES (2);", targets.Failed,
			"the script ended the transaction", "2", "an earlier attempt ended the transaction"},
		"RollbackGoOn": {"ROLLBACK;\nINSERT INTO t VALUES (1);", targets.Failed, "the script ended the transaction", "1",
			"an earlier attempt ended the transaction"},
		"RollbackBegin": {"ROLLBACK;\nINSERT INTO t VALUES (1);\nBEGIN TRANSACTION;", targets.Failed,
			"the script ended the transaction", "1", "an earlier attempt ended the transaction"},
		"OtherDatabase": {"INSERT INTO t VALUES (1);\nUSE out;", targets.Succeeded, "", "1", again},
		"CommitThrow": {"INSERT INTO t VALUES (1);\nCOMMIT;\nTHROW 50123, 'no', 1;", targets.Failed, "Msg 50123", "1",
			"an earlier attempt ended the transaction"},
		"CreateDatabase": {"INSERT INTO t VALUES (1);\nGO\nCREATE DATABASE other;", targets.Failed, "Msg 226", "0", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f.exec(t, "d", "DELETE FROM t")
			id := uuid.New()
			res := f.runner.Run(t.Context(), once(id, c.script))
			require.Equal(t, c.outcome, res.Outcome, res.Summary)
			require.Contains(t, res.Summary, c.text)
			require.Equal(t, []string{c.after}, f.query(t, "d", "SELECT COUNT(*) FROM t"))

			res = f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (9);"))
			require.Contains(t, res.Summary, c.second)
			if c.second == "" {
				require.Empty(t, res.Summary)
				require.Equal(t, targets.Succeeded, res.Outcome)
				require.Equal(t, []string{"9"}, f.query(t, "d", "SELECT n FROM t"))
			} else {
				require.Equal(t, []string{c.after}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
				require.Equal(t, c.outcome, res.Outcome, "the second attempt has the first one's end")
			}
		})
	}
}

// When the answer to the commit is lost, the outcome of the attempt is unknown, and the next
// attempt finds the row.
func TestOnceRecognizesACommitWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	var dropAnswer atomic.Bool
	f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
		isCommit := strings.Contains(p.Request, "COMMIT TRANSACTION") && strings.Contains(p.Request, "LeftOpen")
		if p.Kind == tsqld.AfterCommitBeforeReply && isCommit && dropAnswer.CompareAndSwap(true, false) {
			return tsqld.ErrClose
		}
		return nil
	}})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	id := uuid.New()
	dropAnswer.Store(true)
	res := f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (1);"))
	require.Equal(t, targets.Unknown, res.Outcome, res.Summary)
	require.False(t, dropAnswer.Load(), "the fault happened")
	require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT n FROM t"))

	res = f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (1);"))
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, again, res.Summary)
	require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT n FROM t"))
}

// When the connection is lost before the script was sent, the message does not blame the table, and
// the next attempt runs the script.
func TestOnceLosesItsConnectionBeforeTheScript(t *testing.T) {
	t.Parallel()
	var lose atomic.Bool
	f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.BeforeStatement && strings.Contains(p.Request, "sp_getapplock") && lose.CompareAndSwap(true, false) {
			return tsqld.ErrClose
		}
		return nil
	}})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	id := uuid.New()
	lose.Store(true)
	res := f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (1);"))
	require.Equal(t, targets.Failed, res.Outcome)
	require.False(t, res.Sent)
	require.Equal(t, targets.ClassLostConnection, res.Error.Class)
	require.Regexp(t, "^connection lost before the script was sent: ", res.Summary)
	require.NotContains(t, res.Summary, "executed_scripts")
	require.False(t, res.Phases[0].Failed, "the login succeeded")
	res = f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (1);"))
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}

// While the session of an earlier attempt still runs the script, as that of a frozen agent does,
// the next attempt waits for its end.
func TestOnceWaitsForAnEarlierAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{})
		f.exec(t, "d", "CREATE TABLE t (n int);")
		f.exec(t, "out", "CREATE TABLE t (n int);")
		id := uuid.New()
		first := make(chan targets.Result, 1)
		go func() {
			first <- f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (1);\nWAITFOR DELAY '00:01:00';"))
		}()
		synctest.Wait() // the first attempt is at its WAITFOR
		start := time.Now()
		res := f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (2);"))
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
		require.Equal(t, again, res.Summary)
		require.GreaterOrEqual(t, time.Since(start), 50*time.Second)
		require.Equal(t, targets.Succeeded, (<-first).Outcome)
		require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT n FROM t"))

		// The wait ends with the attempt's context, and nothing was sent.
		id = uuid.New()
		go func() { first <- f.runner.Run(t.Context(), once(id, "WAITFOR DELAY '00:01:00';")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, targets.ErrStopRequested)
		defer cancel()
		res = f.runner.Run(ctx, once(id, "INSERT INTO t VALUES (2);"))
		require.Equal(t, targets.Canceled, res.Outcome, res.Summary)
		require.False(t, res.Sent)
		require.Equal(t, targets.Succeeded, (<-first).Outcome)
	})
}

// When a script has ended the transaction, its row is inserted also if it must be tried again, or
// if the script has set IMPLICIT_TRANSACTIONS. Without the row the next attempt would run the
// script.
func TestOnceRecordsAnEndedTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{})
		f.exec(t, "d", "CREATE TABLE t (n int);")
		id := uuid.New()
		ended := make(chan targets.Result, 1)
		go func() {
			ended <- f.runner.Run(t.Context(), once(id, "COMMIT; SET LOCK_TIMEOUT 0;\nWAITFOR DELAY '00:00:10';"))
		}()
		synctest.Wait() // the script is at its WAITFOR
		f.exec(t, "d", "BEGIN TRANSACTION; SELECT n FROM t WITH (TABLOCKX); "+
			"SELECT 1 FROM jobagent.executed_scripts WITH (TABLOCKX); DELETE FROM jobagent.executed_scripts; "+
			"WAITFOR DELAY '00:00:10.250'; COMMIT;")
		res := <-ended
		require.Contains(t, res.Summary, "the script ended the transaction")
		require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT COUNT(*) FROM jobagent.executed_scripts"))

		id = uuid.New()
		res = f.runner.Run(t.Context(), once(id, "SET IMPLICIT_TRANSACTIONS ON; COMMIT;"))
		require.Contains(t, res.Summary, "the script ended the transaction")
		res = f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (1);"))
		require.Contains(t, res.Summary, "an earlier attempt ended the transaction")
	})
}

// A stop request rolls everything back, so that the next attempt may run.
func TestOnceRollsBackAStoppedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{})
		f.exec(t, "d", "CREATE TABLE t (n int);")
		id := uuid.New()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, targets.ErrStopRequested)
		defer cancel()
		res := f.runner.Run(ctx, once(id, "INSERT INTO t VALUES (1);\nGO\nWAITFOR DELAY '01:00:00';"))
		require.Equal(t, targets.Canceled, res.Outcome, res.Summary)
		require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
		res = f.runner.Run(t.Context(), once(id, "INSERT INTO t VALUES (1);"))
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
		require.Empty(t, res.Summary)
	})
}

// Old rows are deleted, at most a hundred in each attempt.
func TestOnceDeletesOldRows(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	run := func() {
		res := f.runner.Run(t.Context(), once(uuid.New(), "PRINT 'x';"))
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	}
	run()
	var b strings.Builder
	for i := range 150 {
		fmt.Fprintf(&b, "INSERT INTO jobagent.executed_scripts VALUES (NEWID(), NEWID(), 1, DATEADD(DAY, -%d, SYSUTCDATETIME()), SYSUTCDATETIME());", 46+i)
	}
	fmt.Fprint(&b, "INSERT INTO jobagent.executed_scripts VALUES (NEWID(), NEWID(), 1, DATEADD(DAY, -44, SYSUTCDATETIME()), SYSUTCDATETIME());")
	f.exec(t, "d", b.String())
	run()
	require.Equal(t, []string{"53"}, f.query(t, "d", "SELECT COUNT(*) FROM jobagent.executed_scripts"),
		"2 of ours, 50 old ones, and the one of 44 days")
	run()
	require.Equal(t, []string{"4"}, f.query(t, "d", "SELECT COUNT(*) FROM jobagent.executed_scripts"))
}

// The result set is in the output table before the script commits, and stays when a later attempt
// does not run the script again.
func TestOnceWithOutput(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	a := once(uuid.New(), "INSERT INTO t VALUES (1);\nSELECT n FROM t;")
	a.Output = &mssql.Output{Server: "s", Database: "out", Table: "rows", ExecutionID: a.Once.ExecutionID}
	res := f.runner.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Contains(t, res.Summary, "1 row was written")
	res = f.runner.Run(t.Context(), a)
	require.Equal(t, again, res.Summary)
	require.Equal(t, []string{"1"}, f.query(t, "out", "SELECT n FROM rows"))
}

// Without rights on the table nothing runs, and the message names the missing right.
func TestOnceNeedsItsTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	f.exec(t, "master", "CREATE LOGIN l WITH PASSWORD = 'Pa55word';")
	f.exec(t, "d", "CREATE USER l FOR LOGIN l; GRANT INSERT, SELECT ON dbo.t TO l;")
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "l", "Pa55word", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	runner := mssql.NewRunner(servers, targets.Limits{})

	a := once(uuid.New(), "INSERT INTO t VALUES (1);")
	res := runner.Run(t.Context(), a)
	require.Equal(t, targets.Failed, res.Outcome, res.Summary)
	require.False(t, res.Sent)
	require.Contains(t, res.Summary, "the table jobagent.executed_scripts, which at_most_once needs: ")
	require.Contains(t, res.Summary, "permission")

	// The documented rights are enough when an administrator has created the table.
	require.Equal(t, targets.Succeeded, f.runner.Run(t.Context(), once(uuid.New(), "PRINT 'x';")).Outcome)
	f.exec(t, "d", "GRANT SELECT, INSERT, UPDATE, DELETE ON SCHEMA::jobagent TO l;")
	res = runner.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}
