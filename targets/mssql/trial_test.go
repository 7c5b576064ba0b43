package mssql_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// tryOut makes a trial of a script on the database d.
func (f *fixture) tryOut(ctx context.Context, script string, skip bool) targets.Result {
	return f.runner.Run(ctx, mssql.Attempt{
		Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: script},
		Trial:   &mssql.Trial{SkipUnsupported: skip},
	})
}

// reports returns the reports of a trial on its batches.
func reports(t *testing.T, res targets.Result) (list []targets.TrialBatch) {
	for _, m := range res.Messages {
		if r, ok := targets.ParseReport(m.Text); ok {
			require.Equal(t, targets.KindAgent, m.Kind)
			list = append(list, *r.Trial)
		}
	}
	return list
}

// TestTrialLeavesNothing: later batches see what earlier ones did, and everything is rolled back.
func TestTrialLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	res := f.tryOut(t.Context(), "CREATE TABLE u (n int);\nGO\nINSERT INTO u VALUES (1), (2);\nPRINT 'two'\nGO 3\n"+
		"BEGIN TRAN; INSERT INTO t SELECT n FROM u; COMMIT;\nWAITFOR DELAY '00:00:00';", false)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, "Trial: 3 batches ran, and everything was rolled back.", res.Summary)
	require.EqualValues(t, 12, res.RowsAffected)
	list := reports(t, res)
	require.Len(t, list, 3)
	require.Equal(t, []int{1, 3, 1}, []int{list[0].Runs, list[1].Runs, list[2].Runs})
	require.EqualValues(t, []int64{0, 6, 6}, []int64{list[0].Rows, list[1].Rows, list[2].Rows})
	require.Equal(t, []int{1, 3, 6}, []int{list[0].Line, list[1].Line, list[2].Line})
	require.Len(t, list[2].Warnings, 1)
	for _, b := range list {
		require.Equal(t, targets.VerdictRan, b.Verdict, b)
		require.Contains(t, b.Locks, targets.TrialLock{Type: "DATABASE", Mode: b.Locks[0].Mode, Count: b.Locks[0].Count}, b.Unread)
	}
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
	require.Equal(t, []string{"NULL"}, f.query(t, "d", "SELECT OBJECT_ID('u')"))
}

// TestTrialFails: each of these scripts fails, and leaves nothing.
func TestTrialFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, summary string
		verdicts        []targets.Verdict
	}{
		"error": {"INSERT INTO t VALUES (1);\nGO\nINSERT INTO t VALUES (2);\nTHROW 50123, 'no', 1;\nGO\nSELECT 1", "no",
			[]targets.Verdict{targets.VerdictRan, targets.VerdictFailed}},
		"error with XACT_ABORT": {"SET XACT_ABORT ON;\nINSERT INTO t VALUES (2);\nSELECT 1 / 0;", "Divide by zero",
			[]targets.Verdict{targets.VerdictFailed}},
		"left open": {"BEGIN TRAN; INSERT INTO t VALUES (1);\nGO\nSELECT 1", "@@TRANCOUNT was 1 before it and 2 after it",
			[]targets.Verdict{targets.VerdictEnded}},
		"rollback": {"INSERT INTO t VALUES (1);\nROLLBACK;\nINSERT INTO t VALUES (2);", "ended the transaction of the trial",
			[]targets.Verdict{targets.VerdictEnded}},
		"rollback that is caught": {"BEGIN TRY\nINSERT INTO t VALUES (1);\nSELECT 1 / 0;\nEND TRY\nBEGIN CATCH\nROLLBACK;\nINSERT INTO t VALUES (2);\nEND CATCH",
			"ended the transaction of the trial", []targets.Verdict{targets.VerdictEnded}},
		"rollback and another transaction": {"ROLLBACK;\nBEGIN TRAN;\nINSERT INTO t VALUES (2);", "ended the transaction of the trial", []targets.Verdict{targets.VerdictEnded}},
		"commit":                           {"INSERT INTO t VALUES (1);\nGO\nCOMMIT;", "line 3: COMMIT: it has no BEGIN TRANSACTION before it", nil},
		"backup":                           {"INSERT INTO t VALUES (1);\nGO\nBACKUP DATABASE d TO DISK = 'x';", "line 3: BACKUP: it cannot be in a transaction", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tsqld.Config{})
			f.exec(t, "d", "CREATE TABLE t (n int);")
			res := f.tryOut(t.Context(), c.script, false)
			require.Equal(t, targets.Failed, res.Outcome, res.Summary)
			require.Contains(t, res.Summary, c.summary)
			require.Equal(t, c.verdicts != nil, res.Sent)
			var verdicts []targets.Verdict
			for _, b := range reports(t, res) {
				verdicts = append(verdicts, b.Verdict)
			}
			require.Equal(t, c.verdicts, verdicts)
			require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
		})
	}
}

// TestTrialOfHiddenCommit: a COMMIT in dynamic T-SQL cannot be seen before. It is seen afterwards,
// and what follows it is rolled back.
func TestTrialOfHiddenCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	res := f.tryOut(t.Context(), "INSERT INTO t VALUES (1);\nEXEC ('COMMIT');\nINSERT INTO t VALUES (2);\nGO\nINSERT INTO t VALUES (3);", false)
	require.Equal(t, targets.Failed, res.Outcome)
	require.Equal(t, []string{"1"}, f.query(t, "d", "SELECT n FROM t"), "what came before the COMMIT; the summary says so")
	res = f.tryOut(t.Context(), "INSERT INTO t VALUES (4);\nEXEC ('COMMIT; BEGIN TRAN');\nINSERT INTO t VALUES (5);", false)
	require.Equal(t, targets.Failed, res.Outcome)
	require.Contains(t, res.Summary, "what came before it is left")
	require.Equal(t, []string{"1", "4"}, f.query(t, "d", "SELECT n FROM t ORDER BY n"))
}

// TestTrialWithoutRights: what cannot be read is reported, and does not end the transaction.
func TestTrialWithoutRights(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int); CREATE USER u WITHOUT LOGIN; GRANT INSERT ON t TO u;")
	res := f.tryOut(t.Context(), "SET XACT_ABORT ON;\nEXECUTE AS USER = 'u';\nINSERT INTO t VALUES (1);\nGO\nINSERT INTO t VALUES (2);", false)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	list := reports(t, res)
	require.Len(t, list, 2)
	for _, b := range list {
		require.Empty(t, b.Locks)
		require.Nil(t, b.LogBytes)
		require.Len(t, b.Unread, 2)
		require.Contains(t, b.Unread[1], "locks: VIEW SERVER PERFORMANCE STATE permission was denied")
	}
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}

// TestTrialSkips leaves out the batches that cannot be tried.
func TestTrialSkips(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	res := f.tryOut(t.Context(), "INSERT INTO t VALUES (1);\nGO\nALTER DATABASE d SET RECOVERY SIMPLE;\nCOMMIT\nGO\nINSERT INTO t VALUES (2);", true)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, "Trial: 2 batches ran, and everything was rolled back. 1 batch that cannot be tried did not run.", res.Summary)
	list := reports(t, res)
	require.Len(t, list, 3)
	require.Equal(t, targets.VerdictSkipped, list[1].Verdict)
	require.Contains(t, list[1].Reason, "line 3: ALTER DATABASE: it cannot be in a transaction; line 4: COMMIT")
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}
