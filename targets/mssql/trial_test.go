package mssql_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
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

// planned makes a trial with the plans of a script on the database d.
func (f *fixture) planned(t *testing.T, script string, change ...func(*mssql.Attempt)) (targets.Result, []targets.TrialBatch) {
	a := mssql.Attempt{
		Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: script},
		Trial:   &mssql.Trial{Plan: true, PlanXML: true},
	}
	for _, c := range change {
		c(&a)
	}
	res := f.runner.Run(t.Context(), a)
	return res, reports(t, res)
}

// TestTrialPlans: each batch has its plan, it runs once, and later batches see what earlier ones
// did.
func TestTrialPlans(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	res, list := f.planned(t, "CREATE TABLE u (n int);\nGO\nSET XACT_ABORT ON; SET QUOTED_IDENTIFIER OFF;\nGO\nINSERT INTO u VALUES (1), (2);\nGO 2\n"+
		"IF (SELECT COUNT(*) FROM u) <> 4 OR @@OPTIONS & 16640 <> 16384 THROW 50123, 'no', 1;\nDECLARE @n int = 1;\nINSERT INTO t SELECT n FROM u;")
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, "Trial: 4 batches ran, and everything was rolled back.", res.Summary)
	require.Len(t, list, 4)
	require.Equal(t, []int{1, 2, 1, 4}, []int{list[0].Plan.Count, list[1].Plan.Count, list[2].Plan.Count, list[3].Plan.Count})
	require.Equal(t, []int{1, 1, 2, 1}, []int{list[0].Runs, list[1].Runs, list[2].Runs, list[3].Runs})
	require.EqualValues(t, []int64{0, 0, 4, 4}, []int64{list[0].Rows, list[1].Rows, list[2].Rows, list[3].Rows})
	require.Equal(t, []targets.PlanStatement{{Type: "COND"}, {Type: "THROW"}, {Type: "DECLARE"}, {Type: "INSERT"}}, list[3].Plan.Statements)
	document, err := targets.UnpackPlan(list[3].Plan.XML[0])
	require.NoError(t, err)
	require.Contains(t, document, `StatementText="INSERT INTO t SELECT n FROM u" StatementType="INSERT"`)
	for _, b := range list {
		require.NotContains(t, strings.Join(b.Unread, "; "), "plan")
	}
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
	res, list = f.planned(t, "INSERT INTO t VALUES (1);", func(a *mssql.Attempt) { a.Trial.PlanXML = false })
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Empty(t, list[0].Plan.XML)
}

// TestTrialWithoutPlans: a plan that cannot be had is reported, and the batch is tried.
func TestTrialWithoutPlans(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int); CREATE USER u WITHOUT LOGIN; GRANT INSERT ON t TO u;")
	params, err := parameters.Parse(`{"n": 2}`)
	require.NoError(t, err)
	res, list := f.planned(t, "SET XACT_ABORT ON; EXECUTE AS USER = 'u';\nGO\nINSERT INTO t VALUES (1);\nGO\nINSERT INTO t VALUES (@n);\nGO\nPRINT 'showplan';",
		func(a *mssql.Attempt) { a.Parameters, a.Options.BindParameters = params, true })
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Len(t, list, 4)
	require.NotNil(t, list[0].Plan)
	for i, want := range []string{"SHOWPLAN permission denied in database 'd'.", "the batch has bound parameters", "the batch has SHOWPLAN in its text"} {
		b := list[i+1]
		require.Nil(t, b.Plan)
		require.Contains(t, b.Unread[0], "plan: ")
		require.Contains(t, b.Unread[0], want)
		require.Equal(t, targets.VerdictRan, b.Verdict)
	}
	require.EqualValues(t, 1, list[2].Rows)
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
}

// TestTrialPlanTooLarge: the summary of a plan stays when its document is too large for a report.
func TestTrialPlanTooLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	random := make([]byte, 60_000)
	_, err := rand.Read(random)
	require.NoError(t, err)
	script := fmt.Sprintf("PRINT '%x'", random)
	res, list := f.planned(t, script+"\nGO\nPRINT 'small'")
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, 1, list[0].Plan.Count)
	require.Empty(t, list[0].Plan.XML)
	require.Contains(t, list[0].Unread[0], "which is too much for a report")
	require.Len(t, list[1].Plan.XML, 1)
}

// rewriter replaces a text in the data for a server with a text of the same length.
type rewriter struct {
	mssqldb.HostDialer
	from, to string
}

func (r rewriter) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := r.HostDialer.DialContext(ctx, network, addr)
	return rewritten{c, wide(r.from), wide(r.to)}, err
}

type rewritten struct {
	net.Conn
	from, to []byte
}

func (c rewritten) Write(p []byte) (int, error) {
	return c.Conn.Write(bytes.ReplaceAll(p, c.from, c.to))
}

// wide encodes an ASCII text in UTF-16.
func wide(text string) (b []byte) {
	for i := range len(text) {
		b = append(b, text[i], 0)
	}
	return b
}

// TestTrialPlanOfOtherServer: a batch is not sent for its plan to a server that takes no notice of
// the option, and nothing runs in a session that may stay in the mode.
func TestTrialPlanOfOtherServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string // what the server gets in place of a batch
		fails    string // the batch that it refuses
		outcome  targets.Outcome
		text     string
	}{
		"ignores ON":  {"SET SHOWPLAN_XML ON", "SET NOCOUNT     OFF", "", targets.Succeeded, "the server does not answer SET SHOWPLAN_XML ON with plans"},
		"refuses ON":  {"-", "-", "SET SHOWPLAN_XML ON", targets.Succeeded, "plan: Msg 50099, Level 16, State 1: no"},
		"ignores OFF": {"SET SHOWPLAN_XML OFF", "SET SHOWPLAN_XML ON ", "", targets.Failed, "after the plan of a batch is read: "},
		"refuses OFF": {"-", "-", "SET SHOWPLAN_XML OFF", targets.Failed, "end the mode in which the server shows plans: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var sent []string
			f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
				if p.Kind == tsqld.BeforeStatement {
					mu.Lock()
					defer mu.Unlock()
					if sent = append(sent, p.Request); p.Request == c.fails {
						return mserr.New(50099, 16, "no")
					}
				}
				return nil
			}})
			f.exec(t, "d", "CREATE TABLE t (n int IDENTITY, m int);")
			cfg := f.config(t, "disable")
			cfg.Dialer = rewriter{f.server.Dialer(), c.from, c.to}
			servers, err := mssql.NewServers(cfg)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, servers.Close()) })
			f.runner = mssql.NewRunner(servers, targets.Limits{})
			res, list := f.planned(t, "INSERT INTO t VALUES (7)")
			require.Equal(t, c.outcome, res.Outcome, res.Summary)
			require.Len(t, list, 1)
			require.Nil(t, list[0].Plan)
			if c.outcome == targets.Succeeded {
				require.Contains(t, list[0].Unread[0], c.text)
			} else {
				require.Contains(t, res.Summary, c.text)
				require.Equal(t, targets.VerdictFailed, list[0].Verdict)
			}
			mu.Lock()
			batches := strings.Join(sent, "\n")
			mu.Unlock()
			require.Equal(t, 1, strings.Count(batches, "INSERT INTO t VALUES (7)"), "it was sent to be run, or for its plan")
			require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
		})
	}
}
