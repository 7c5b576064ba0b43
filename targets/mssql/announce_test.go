package mssql_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/hostile"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// sessionText is what an agent says about an attempt.
const sessionText = "run=0b4f3f0a-91cf-4f5e-8b2a-50a5b2a7c001 step=2 attempt=3 job="

// ownSession reads how an administrator sees the script's own session.
const ownSession = `
SELECT CONCAT(s.program_name, N'|', CAST(s.context_info AS VARCHAR(128)), N'|', CAST(CONTEXT_INFO() AS VARCHAR(128)))
FROM sys.dm_exec_sessions AS s
WHERE s.session_id = @@SPID;`

// runAs runs a script that writes into the table seen, with a description of the attempt.
func (f *fixture) runAs(t *testing.T, runner *mssql.Runner, job, script string) targets.Result {
	t.Helper()
	res := runner.Run(t.Context(), mssql.Attempt{Attempt: targets.Attempt{
		Target: targets.NewTarget("s", "d", ""), Command: script, Session: sessionText + job,
	}})
	require.Equal(t, targets.Succeeded, res.Outcome, "%s: %s", script, res.Summary)
	return res
}

// An administrator of the target sees which run a session belongs to, whatever the script begins
// with; scripts that set CONTEXT_INFO themselves have their own value.
func TestSessionsNameTheirRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE seen (text nvarchar(500) NOT NULL);")
	const see = "INSERT INTO seen (text)" + ownSession
	name := func(job string) string { return "jobagent TOKEN " + sessionText + job }
	long := strings.Repeat("ä", 60)
	token := regexp.MustCompile("[0-9a-f]{16}")
	for _, c := range []struct{ job, script, program, context string }{
		{"nightly 'x'", see, name("nightly 'x'"), name("nightly 'x'")},
		{long, see, name("ää"), name("")}, // cut
		{"j", "/* first */ -- second\n  DECLARE @jobagent INT = 1;" + see, name("j"), name("j")},
		{"j", "PRINT 'one';\nGO\n" + see, name("j"), name("j")},
		{"j", ";WITH x AS (SELECT 1 AS n) SELECT n FROM x;" + see, name("j"), name("j")},
		{"j", "CREATE VIEW v1 AS SELECT 1 AS n;\nGO\n" + see, name("j"), name("j")},
		{"j", "CREATE OR ALTER PROCEDURE p1 AS PRINT 'x';\nGO\np1\nGO\n" + see, name("j"), name("j")},
		{"j", "SET CONTEXT_INFO 0x4142;" + see, name("j"), "AB"},
		{"j", "DECLARE @b VARBINARY(128) = 0x4142; SET CONTEXT_INFO @b;\nGO\n" + see, name("j"), "AB"},
	} {
		f.exec(t, "d", "DELETE FROM seen;")
		res := f.runAs(t, f.runner, c.job, c.script)
		seen := f.query(t, "d", "SELECT text FROM seen")
		require.Len(t, seen, 1, c.script)
		require.Regexp(t, "^jobagent [0-9a-f]{16} run=", seen[0], "the token comes first")
		parts := strings.Split(token.ReplaceAllString(strings.ReplaceAll(seen[0], "\x00", ""), "TOKEN"), "|")
		require.Len(t, parts, 3)
		require.True(t, strings.HasPrefix(parts[0], c.program), parts[0])
		require.True(t, strings.HasPrefix(parts[1], c.context), parts[1])
		require.Equal(t, parts[1], parts[2])
		require.NotZero(t, res.RowsAffected)
	}
}

// The announcement changes neither messages, lines nor row counts.
func TestAnnouncementIsInvisible(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int NOT NULL);")
	for _, script := range []string{
		"SELECT 1 AS n;", "INSERT INTO t (n) VALUES (1), (2);\nPRINT 'x';\nSELECT n FROM t;", "PRINT CONCAT('rows ', @@ROWCOUNT);",
		"PRINT 'a';\nTHROW 50001, 'x', 1;", "SELECT 1/0;", "SELEC 1;", "DECLARE @n INT = 1;\n\nRAISERROR('at line 3', 16, 1);",
		"SET NOEXEC ON;\nGO\nPRINT 'never';", "IF 1 = 1 SELECT CONVERT(VARCHAR(10), CAST(@@TRANCOUNT AS INT));",
	} {
		a := mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: script}}
		plain := f.runner.Run(t.Context(), a)
		f.exec(t, "d", "DELETE FROM t;")
		a.Session = sessionText + "j"
		announced := f.runner.Run(t.Context(), a)
		f.exec(t, "d", "DELETE FROM t;")
		require.Equal(t, brief(plain.Messages), brief(announced.Messages), script)
		require.Equal(t, plain.Outcome, announced.Outcome)
		require.Equal(t, plain.RowsAffected, announced.RowsAffected)
	}
}

// A setting leaves the description out.
func TestAnonymousSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE seen (text nvarchar(500) NOT NULL);")
	cfg := f.config(t, "disable")
	cfg.AnonymousSessions = true
	servers, err := mssql.NewServers(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	f.runAs(t, mssql.NewRunner(servers, targets.Limits{}), "secret plan", "INSERT INTO seen (text)"+ownSession)
	seen := f.query(t, "d", "SELECT text FROM seen")
	require.Regexp(t, `^jobagent [0-9a-f]{16}\|\x00*\|$`, seen[0])
}

// Only servers that document SET CONTEXT_INFO get it: others may refuse the script's batch.
func TestAnnouncementByEdition(t *testing.T) {
	t.Parallel()
	for edition, want := range map[uint32]bool{0: false, 2: true, 3: true, 4: true, 5: true, 6: false, 8: true, 11: false, 99: false} {
		for _, allow := range []bool{false, true} {
			scripts := make(chan string, 2)
			server := hostile.New(hostile.Mode{Name: "edition", Serve: func(c *hostile.Conn) error {
				if err := c.Login(); err != nil {
					return err
				}
				for {
					r, err := c.Next()
					switch {
					case err != nil:
						return err
					case r.Identity():
						err = c.Answer(hostile.Identity(edition))
					case strings.Contains(r.Text, "EngineEdition"):
						err = c.Answer(hostile.Ints(1), hostile.IntRow(edition), hostile.Done(0x10, 1))
					default:
						scripts <- r.Text
						err = c.Answer(hostile.Done(0, 0))
					}
					if err != nil {
						return err
					}
				}
			}})
			defer server.Close()
			set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
			require.NoError(t, err)
			servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: server, AllowControlDatabase: allow})
			require.NoError(t, err)
			defer func() { require.NoError(t, servers.Close()) }()
			for range 2 { // the second time from memory
				res := mssql.NewRunner(servers, targets.Limits{}).Run(t.Context(), mssql.Attempt{Attempt: targets.Attempt{
					Target: targets.NewTarget("s", "d", ""), Command: "PRINT 'x'", Session: sessionText + "j",
				}})
				require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
				script := <-scripts
				require.Equal(t, want, strings.Contains(script, "SET CONTEXT_INFO"), "%d %v", edition, allow)
				require.True(t, strings.HasSuffix(script, "PRINT 'x'"), script)
			}
		}
	}
}

// BenchmarkAttempt measures an attempt of a short script with and without its announcement.
func BenchmarkAttempt(b *testing.B) {
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Close(b.Context())) })
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(b, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: server.Dialer()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, servers.Close()) })
	runner := mssql.NewRunner(servers, targets.Limits{})
	for name, text := range map[string]string{"anonymous": "", "announced": sessionText + "j"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				res := runner.Run(b.Context(), mssql.Attempt{Attempt: targets.Attempt{
					Target: targets.NewTarget("s", "master", ""), Command: "SELECT COUNT(*) AS objects FROM sys.objects;", Session: text,
				}})
				require.Equal(b, targets.Succeeded, res.Outcome, res.Summary)
			}
		})
	}
}
