package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// batchesOf returns a function that executes batches in a new session, and returns their answers.
func batchesOf(t *testing.T, inst *Instance, database string) (s *Session, run func(text string) string) {
	t.Helper()
	s = openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: database})
	return s, func(text string) string {
		var r recorder
		if err := s.Batch(context.Background(), text, &r); err != nil {
			return "error: " + err.Error()
		}
		return r.b.String()
	}
}

// TestCrashWithParkedTransactions: a server that dies while transactions are parked, or have been
// parked, has lost nothing that is committed and keeps nothing else. It uses no rowversion twice.
func TestCrashWithParkedTransactions(t *testing.T) {
	dir := t.TempDir()
	inst, err := New(session.Config{Dir: dir, SAPassword: "secret"})
	require.NoError(t, err)
	sa, a := batchesOf(t, inst, "master")
	a("CREATE DATABASE work")
	a("USE work CREATE TABLE t (id int IDENTITY PRIMARY KEY, v int NOT NULL UNIQUE, r rowversion) INSERT t (v) VALUES (1), (2), (3)")
	sb, b := batchesOf(t, inst, "work")
	sc, c := batchesOf(t, inst, "work")
	a("BEGIN TRAN INSERT t (v) VALUES (10) UPDATE t SET v = 20 WHERE v = 2")
	b("BEGIN TRAN DELETE t WHERE v = 1 INSERT t (v) VALUES (11)") // parks a
	require.Contains(t, c("INSERT t (v) VALUES (12)"), "(1)")     // parks b
	require.Contains(t, a("INSERT t (v) VALUES (13)"), "(1)")     // repeats a
	require.Contains(t, c("UPDATE t SET v = 30 WHERE v = 3"), "(1)")
	require.NotContains(t, b("COMMIT"), "Msg")
	const all = "SELECT id, v FROM t ORDER BY id"
	committed := c(all)
	require.Contains(t, committed, "\n2 | 2\n3 | 30\n5 | 11\n6 | 12\n")
	crashed := t.TempDir() // the files as a killed process leaves them
	require.NoError(t, os.CopyFS(crashed, os.DirFS(dir)))
	after, err := New(session.Config{Dir: crashed, SAPassword: "secret"})
	require.NoError(t, err)
	sd, d := batchesOf(t, after, "work")
	require.Equal(t, committed, d(all))
	require.Contains(t, d("INSERT t (v) VALUES (40) SELECT COUNT(*) - COUNT(DISTINCT r) FROM t"), "\n0\n")
	require.NoError(t, sd.Close())
	require.NoError(t, after.Close())
	require.Contains(t, a("COMMIT SELECT COUNT(*), COUNT(DISTINCT r) FROM t"), "\n6 | 6\n")
	for _, s := range []*Session{sa, sb, sc} {
		require.NoError(t, s.Close())
	}
	require.NoError(t, inst.Close())
}

// TestKillParkedTransaction: KILL and the end of a session end a parked transaction, and those who
// wait for its rows go on.
func TestKillParkedTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inst, err := New(session.Config{SAPassword: "secret"})
		require.NoError(t, err)
		sa, a := batchesOf(t, inst, "master")
		a("CREATE DATABASE work")
		a("USE work CREATE TABLE t (id int PRIMARY KEY, v int)")
		sb, b := batchesOf(t, inst, "work")
		sc, c := batchesOf(t, inst, "work")
		a("BEGIN TRAN INSERT t VALUES (1, 1)")
		b("BEGIN TRAN INSERT t VALUES (2, 2)")
		done := make(chan string)
		go func() { done <- b("INSERT t VALUES (1, 2)") }()
		synctest.Wait()
		require.Contains(t, c("SELECT request_mode, request_status, resource_type FROM sys.dm_tran_locks WHERE request_session_id = "+strconv.Itoa(sb.SPID())+" AND request_status = 'WAIT'"),
			"X | WAIT | KEY\n(1)")
		require.Contains(t, c("SELECT status, wait_type, blocking_session_id, LEFT(wait_resource, 6) FROM sys.dm_exec_requests WHERE session_id = "+strconv.Itoa(sb.SPID())),
			"suspended | LCK_M_X | "+strconv.Itoa(sa.SPID())+" | KEY: 5")
		sa.Kill()
		require.NoError(t, sa.Close())
		require.Contains(t, <-done, "(1)")
		go func() { done <- c("DELETE t WHERE id = 2") }()
		synctest.Wait()
		sb.Kill() // idle and parked
		require.NoError(t, sb.Close())
		require.Contains(t, <-done, "(0)")
		require.Contains(t, c("SELECT COUNT(*) FROM t"), "\n0\n")
		require.NoError(t, sc.Close())
		require.NoError(t, inst.Close())
	})
}

// TestDeadlockOfParkedTransactions: each of two transactions wants the row of the other. One is the
// victim, its changes are undone, and the other one goes on.
func TestDeadlockOfParkedTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inst, err := New(session.Config{SAPassword: "secret"})
		require.NoError(t, err)
		sa, a := batchesOf(t, inst, "master")
		a("CREATE DATABASE work")
		a("USE work CREATE TABLE t (id int PRIMARY KEY, v int) INSERT t VALUES (1, 0), (2, 0), (3, 0)")
		sb, b := batchesOf(t, inst, "work")
		for _, caught := range []bool{false, true} {
			a("BEGIN TRAN UPDATE t SET v += 1 WHERE id = 1")
			b("BEGIN TRAN UPDATE t SET v += 1 WHERE id IN (2, 3)")
			done := make(chan string)
			go func() { done <- a("UPDATE t SET v += 1 WHERE id = 2") }()
			synctest.Wait()
			text := "UPDATE t SET v += 1 WHERE id = 1"
			if caught {
				text = "BEGIN TRY " + text + " END TRY BEGIN CATCH SELECT ERROR_NUMBER() e, XACT_STATE() x ROLLBACK END CATCH"
			}
			out := b(text)
			if caught {
				require.Contains(t, out, "\n1205 | -1\n")
			} else {
				require.Contains(t, out, "Msg 1205")
			}
			require.Contains(t, b("SELECT @@TRANCOUNT"), "\n0\n")
			require.Contains(t, <-done, "(1)")
			a("COMMIT")
		}
		require.Contains(t, a("SELECT v FROM t ORDER BY id"), "\n2\n2\n0\n")
		require.NoError(t, sa.Close())
		require.NoError(t, sb.Close())
		require.NoError(t, inst.Close())
	})
}

// TestStatementRunsAgainUnseen: a statement in a trigger waits for a row. What was sent before is
// sent once, and the variables have the values of the one execution that counts.
func TestStatementRunsAgainUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inst, err := New(session.Config{SAPassword: "secret"})
		require.NoError(t, err)
		sa, a := batchesOf(t, inst, "master")
		a("CREATE DATABASE work")
		a("USE work CREATE TABLE t (id int PRIMARY KEY, v int) INSERT t VALUES (1, 0), (2, 0) CREATE TABLE u (id int PRIMARY KEY, n int) INSERT u VALUES (1, 0)")
		a("CREATE TRIGGER tr ON t AFTER UPDATE AS BEGIN DECLARE @n int = (SELECT COUNT(*) FROM inserted); PRINT CONCAT('fired ', @n); UPDATE u SET n += @n; PRINT 'done' END")
		a("CREATE PROCEDURE p AS BEGIN DECLARE @old int = 0, @t TABLE (i int); INSERT @t VALUES (7); BEGIN TRAN; UPDATE t SET v += 1; UPDATE u SET @old = n, n += 1; COMMIT; SELECT @old o, (SELECT SUM(i) FROM @t) s END")
		sb, b := batchesOf(t, inst, "work")
		a("BEGIN TRAN UPDATE u SET n = 100 WHERE id = 1")
		done := make(chan string)
		go func() { done <- b("EXEC p") }()
		synctest.Wait()
		require.Contains(t, a("UPDATE u SET n = 50 WHERE id = 1"), "(1)")
		a("COMMIT")
		out := <-done
		require.Equal(t, 1, strings.Count(out, "fired 2"), out)
		require.Equal(t, 1, strings.Count(out, "done"), out)
		require.Contains(t, out, "\n52 | 7\n")
		require.Contains(t, a("SELECT n FROM u"), "\n53\n")
		require.NoError(t, sa.Close())
		require.NoError(t, sb.Close())
		require.NoError(t, inst.Close())
	})
}

// TestConcurrentTransfers: sessions move amounts between rows, in transactions of several requests
// at the same time. No amount is lost, each transaction is complete, and none waits for ever.
func TestConcurrentTransfers(t *testing.T) {
	inst, err := New(session.Config{SAPassword: "secret"})
	require.NoError(t, err)
	s, run := batchesOf(t, inst, "master")
	run("CREATE DATABASE work")
	run("USE work CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL) CREATE TABLE moved (id int IDENTITY, n int NOT NULL) INSERT t SELECT value, 0 FROM GENERATE_SERIES(1, 6)")
	const sessions, transfers = 4, 40
	var all sync.WaitGroup
	for i := range sessions {
		rnd := rand.New(rand.NewPCG(uint64(i), 0))
		s, run := batchesOf(t, inst, "work")
		all.Go(func() {
			for n := 0; n < transfers; {
				from := 1 + rnd.IntN(6)
				out := run("BEGIN TRAN")
				for _, text := range []string{
					fmt.Sprintf("UPDATE t SET v -= 1 WHERE id = %d", from),
					fmt.Sprintf("UPDATE t SET v += 1 WHERE id = %d", 1+(from+rnd.IntN(5))%6),
					fmt.Sprintf("INSERT moved (n) VALUES (%d)", n),
					"COMMIT",
				} {
					if out += run(text); strings.Contains(out, "Msg") {
						break
					}
				}
				switch {
				case !strings.Contains(out, "Msg"):
					n++
				case !strings.Contains(out, "Msg 1205"):
					t.Errorf("session %d: %s", i, out)
					n = transfers
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Contains(t, run("SELECT SUM(v) FROM t"), "\n0\n")
	require.Contains(t, run("SELECT COUNT(*), COUNT(DISTINCT id), COUNT(DISTINCT n) FROM moved"), fmt.Sprintf("\n%d | %[1]d | %d\n", sessions*transfers, transfers))
	require.NoError(t, s.Close())
	require.NoError(t, inst.Close())
}
