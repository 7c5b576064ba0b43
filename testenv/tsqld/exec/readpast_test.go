package exec

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// TestQueueByReadPast: several receivers take messages from one table with READPAST. Some keep
// their transactions open for a while or roll them back. Each message is received exactly once.
func TestQueueByReadPast(t *testing.T) {
	inst, err := New(session.Config{Dir: t.TempDir(), SAPassword: "secret"})
	require.NoError(t, err)
	defer func() { require.NoError(t, inst.Close()) }()
	open := func() (*Session, func(string) string) {
		s, err := inst.NewSession(t.Context(), session.Login{User: "sa", Password: "secret", Database: "master"})
		require.NoError(t, err)
		return s, func(text string) string {
			var r recorder
			if err := s.Batch(context.Background(), text, &r); err != nil {
				return "error: " + err.Error()
			}
			return r.b.String()
		}
	}
	s, run := open()
	run("CREATE DATABASE queue")
	run("USE queue CREATE TABLE dbo.q (id int PRIMARY KEY) CREATE TABLE dbo.got (id int)")
	require.Contains(t, run("INSERT dbo.q SELECT value FROM GENERATE_SERIES(1, 200)"), "(200)")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			s, run := open()
			run("USE queue")
			for round := 0; ; round++ {
				out := run("SET LOCK_TIMEOUT 20000; BEGIN TRAN; WITH c AS (SELECT TOP (1) id FROM dbo.q WITH (ROWLOCK, READPAST) ORDER BY id) DELETE FROM c OUTPUT deleted.id INTO dbo.got")
				if strings.Contains(out, "Msg") || strings.Contains(out, "error") {
					t.Errorf("receiver %d: %s", i, out)
					break
				}
				if round%7 == i {
					run("ROLLBACK")
					continue
				}
				if run("COMMIT"); strings.Contains(run("SELECT COUNT(*) FROM dbo.q"), "\n0\n") {
					break
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Contains(t, run("SELECT COUNT(*), COUNT(DISTINCT id) FROM dbo.got"), "\n200 | 200\n")
	require.NoError(t, s.Close())
}
