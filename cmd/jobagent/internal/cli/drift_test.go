package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/targets"
)

func TestDrift(t *testing.T) {
	server := clitest.Server(t)
	execute := func(database string, texts ...string) {
		t.Helper()
		db, err := server.Open(database)
		require.NoError(t, err)
		defer db.Close()
		for _, text := range texts {
			_, err := db.ExecContext(t.Context(), text)
			require.NoError(t, err, text)
		}
	}
	execute("master", "CREATE DATABASE app1; CREATE DATABASE app2; CREATE DATABASE app3;")
	for _, name := range []string{"app1", "app2", "app3"} {
		execute(name, "CREATE TABLE Orders (id int NOT NULL PRIMARY KEY, Date date NULL, amount int NOT NULL DEFAULT 0); CREATE INDEX IX_Orders_Date ON Orders (Date)",
			"CREATE PROC GetOrder @id int AS SELECT amount FROM Orders WHERE id = @id;")
	}
	dir := t.TempDir()
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	require.NoError(t, server.WriteConfig(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, embedded.TargetPasswordFile), []byte(server.TargetPassword), 0o600))
	t.Setenv(config.EnvConfig, filepath.Join(dir, embedded.ConfigFile))
	run := func(args ...string) asked {
		var out, errs strings.Builder
		code := cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
		return asked{code, strings.ReplaceAll(out.String(), server.ServerName(), "S"), strings.ReplaceAll(errs.String(), server.ServerName(), "S")}
	}
	name := server.ServerName()
	for _, line := range [][]string{{"target-group", "create", "tenants"}, {"target-group", "add", "tenants", "--server", name}} {
		require.Zero(t, run(line...).code)
	}

	got := run("drift", "check", "--group", "tenants")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^3 of 3 databases are like the majority \([0-9a-f]{12}\)\.\n$`, got.out)
	golden := filepath.Join(dir, "golden.json")
	got = run("drift", "export", golden, "--servers", name, "-d", "app1")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^8 objects of S/app1: .*golden.json \([0-9a-f]{12}\)\n$`, got.out)

	execute("app2", "DROP INDEX IX_Orders_Date ON Orders")
	execute("app3", "DROP INDEX IX_Orders_Date ON Orders", "CREATE OR ALTER PROC GetOrder @id int AS SELECT id FROM Orders WHERE id = @id;", "CREATE TABLE Extra (n int)")
	const another = "1 has another procedure dbo.GetOrder\n" +
		"  text: line 1 is \"CREATE PROCEDURE [dbo].[GetOrder] @id int AS SELECT id FROM Orders WHERE id = @id;\" in place of \"CREATE PROCEDURE [dbo].[GetOrder] @id int AS SELECT amount FROM Orders WHERE id = @id;\"\n" +
		"  S/app3\n"
	const lack = "2 lack index IX_Orders_Date on dbo.Orders\n  S/app2, S/app3\n1 has table dbo.Extra in addition\n  S/app3\n" + another
	for _, against := range []string{golden, name + "/app1"} {
		got = run("drift", "check", "--servers", name, "-d", "app*", "--against", against)
		require.Equal(t, exit.CodeRunFailed, got.code)
		require.Equal(t, "error: 2 of 3 databases differ\n", got.err)
		require.True(t, strings.HasPrefix(got.out, lack+"\n1 of 3 databases is like "), got.out)
	}
	got = run("drift", "check", "--target-group", "tenants")
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.True(t, strings.HasPrefix(got.out, "1 has index IX_Orders_Date on dbo.Orders in addition\n  S/app1\n1 has table dbo.Extra in addition\n  S/app3\n"+another+"\n1 of 3"), got.out)

	// The script makes the databases alike but for what it says has no statement.
	got = run("drift", "check", "--servers", name, "-d", "app2", "--against", golden, "--tsql")
	require.Equal(t, "-- 1 lacks index IX_Orders_Date on dbo.Orders\n-- on S/app2\nCREATE NONCLUSTERED INDEX [IX_Orders_Date] ON [dbo].[Orders] ([Date]);\nGO\n\n", got.out)
	execute("app2", strings.TrimSuffix(got.out, "GO\n\n"))
	got = run("drift", "check", "--servers", name, "-d", "app3", "--against", golden, "--tsql", "--exclude", "dbo.ord*")
	require.Equal(t, "-- 1 has table dbo.Extra in addition\n-- on S/app3\n-- No statement is certain.\n\n", got.out[:strings.Index(got.out, "-- 1 has another")])
	require.Zero(t, run("drift", "check", "--servers", name, "-d", "app2", "--against", golden).code)
	require.Zero(t, run("drift", "check", "--servers", name, "-d", "app?", "--against", golden, "--exclude", "dbo", "--include", "system-names").code)

	var report output.DriftReport
	got = run("drift", "check", "--servers", name, "-d", "app3", "-d", "none", "--against", golden, "-o", "json", "--ignore", "collations,fill-factors,column-order,trust,constraint-names")
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Equal(t, 1, report.Databases)
	require.Len(t, report.Differences, 3)
	require.Equal(t, []string{"S/none"}, report.Failures[0].Databases)
	require.Contains(t, got.err, "error: 1 of 2 databases differ, and 1 could not be read\n")
	got = run("drift", "check", "--servers", name, "-d", "none")
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.Empty(t, got.out)
	require.Contains(t, got.err, "error: 1 of 1 database could not be read\n")

	for want, args := range map[string][]string{
		`--ignore "x": want constraint-names`:  {"--ignore", "x"},
		`--include "x": want permissions`:      {"--include", "x"},
		"--parallel 0: want 1 to 32767":        {"--parallel", "0"},
		`--against "x": want majority, a file`: {"--against", "x"},
		`--against ";/x"`:                      {"--against", ";/x"},
		"the file has no permissions":          {"--against", golden, "--include", "permissions"},
		"missing.json":                         {"--against", filepath.Join(dir, "missing.json")},
		"read a schema":                        {"--against", filepath.Join(dir, "other.json")},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "other.json"), []byte("{}"), 0o600))
		got := run(append([]string{"drift", "check", "--servers", name, "-d", "app1"}, args...)...)
		require.Equal(t, exit.CodeUsage, got.code, got.err)
		require.Contains(t, got.err, want)
	}
	got = run("drift", "check", "--servers", name, "-d", "app1", "--against", name+"/none")
	require.NotZero(t, got.code)
	require.Contains(t, got.err, "read the schema of S/none: ")
	require.Equal(t, exit.CodeUsage, run("drift", "export", golden, "--target-group", "tenants").code)
	require.Equal(t, exit.CodeUsage, run("drift", "export", "schema.txt", "--servers", name, "-d", "app1").code)
	got = run("drift", "export", golden, "--servers", name, "-d", "none")
	require.NotZero(t, got.code)
	require.Zero(t, run("drift", "export", golden, "--servers", name, "-d", "app1", "--permissions").code)
	require.Zero(t, run("drift", "check", "--servers", name, "-d", "app1", "--against", golden, "--include", "permissions").code)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "none.json"), []byte("{}"), 0o600))
	t.Setenv(config.EnvConfig, filepath.Join(dir, "none.json"))
	for _, line := range [][]string{
		{"drift", "export", golden, "--servers", name, "-d", "app1"},
		{"drift", "check", "--servers", name, "-d", "app1", "--against", name + "/app2"},
	} {
		got = run(line...)
		require.Equal(t, exit.CodeUsage, got.code, got.err)
		require.Contains(t, got.err, "credential")
	}
}

func TestDriftHistory(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer db.Close()
	// What two readings of d1 and one of d2 leave (agent, TestDrift).
	for _, row := range []string{
		`N'd1', '2026-01-01T01:00:00', '2026-01-02T01:00:00', 0x01, NULL, @p1`,
		`N'd1', '2026-01-03T01:00:00', '2026-01-04T01:00:00', 0x02, N'dropped index IX on dbo.T', @p1`,
		`N'd2', '2026-01-04T01:00:00', '2026-01-04T01:00:00', 0x01, NULL, @p2`,
	} {
		_, err := db.ExecContext(t.Context(), `INSERT INTO jobs_internal.drift_states
    (server_name, options, database_name, first_seen_at, last_seen_at, fingerprint, changes, target_id)
SELECT N'sql1', N'', x.* FROM (SELECT `+row+`) AS x (database_name, first_seen_at, last_seen_at, fingerprint, changes, target_id);`,
			targets.TargetID("sql1", "d1").String(), targets.TargetID("sql1", "d2").String())
		require.NoError(t, err)
	}
	run := func(args ...string) asked {
		var out, errs strings.Builder
		code := cli.Run(t.Context(), append([]string{"drift"}, args...), strings.NewReader(""), &out, &errs)
		return asked{code, strings.ReplaceAll(out.String(), "\r\n", "\n"), errs.String()}
	}
	columns := "--columns=database_name,first_seen_time,changes"
	got := run("history", "-o", "csv", "--no-headers", columns)
	require.Zero(t, got.code, got.err)
	require.Equal(t, "d1,2026-01-03 01:00:00,dropped index IX on dbo.T\nd1,2026-01-01 01:00:00,\nd2,2026-01-04 01:00:00,\n", got.out)
	got = run("history", "--current", "--server", "SQL1", "--database", "d1", "-o", "csv", "--no-headers", columns)
	require.Equal(t, "d1,2026-01-03 01:00:00,dropped index IX on dbo.T\n", got.out, got.err)
	got = run("history", "--server", "sql1", "--database", "d3")
	require.Equal(t, exit.CodeNotFound, got.code)
	require.Contains(t, got.err, "no step of type Drift has read the schema of sql1/d3")
	for _, wrong := range [][]string{{"history", "--server", "sql1"}, {"history", "--server", "s;", "--database", "d"}, {"baseline", "set", "v1", "sql1"}, {"baseline", "set", "v1", "s;/d"}} {
		require.Equal(t, exit.CodeUsage, run(wrong...).code, wrong)
	}

	got = run("baseline", "set", "v1", "sql1/d3")
	require.NotZero(t, got.code)
	require.Contains(t, got.err, "No schema of sql1/d3 is known: run a job with a step of type Drift on it first.")
	got = run("baseline", "set", "v1", "sql1/d1")
	require.Equal(t, asked{0, "set the baseline v1 to the schema of sql1/d1\n", ""}, got)
	got = run("baseline", "list", "-o", "csv", "--no-headers", "--columns=baseline_name,source,fingerprint")
	require.Equal(t, "v1,sql1/d1,02"+strings.Repeat("0", 62)+"\n", got.out, got.err)
	require.Zero(t, run("baseline", "delete", "v1").code)
	got = run("baseline", "delete", "v1")
	require.NotZero(t, got.code)
	require.Contains(t, got.err, "The baseline 'v1' does not exist.")
}

// Steps of type Drift are defined by flags: --include, --ignore and --exclude are those of drift
// check.
func TestDriftStep(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	run := func(want int, args ...string) (string, string) {
		t.Helper()
		var out, errs strings.Builder
		require.Equal(t, want, cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs), errs.String())
		return out.String(), errs.String()
	}
	run(0, "target-group", "create", "drifting")
	run(0, "job", "create", "drifting")
	command := func() string {
		t.Helper()
		text, _ := run(0, "job", "show", "drifting", "--jq", ".steps[0].command")
		return strings.TrimSpace(text)
	}
	run(0, "step", "add", "drifting", "--target-group", "drifting", "--drift", "majority", "--include", "permissions", "--ignore", "trust,collations",
		"--exclude", "audit", "--exclude", "dbo.tmp*,x")
	require.JSONEq(t, `{"against":"majority","include":["permissions"],"ignore":["trust","collations"],"exclude":["audit","dbo.tmp*,x"]}`, command())
	run(0, "step", "update", "drifting", "--step-id", "1", "--drift", "sql1/golden")
	require.JSONEq(t, `{"against":"sql1/golden"}`, command())
	_, text := run(exit.CodeUsage, "step", "update", "drifting", "--step-id", "1", "--exclude", "audit")
	require.Contains(t, text, "--exclude needs --drift")
	_, text = run(exit.CodeUsage, "step", "add", "drifting", "--target-group", "drifting", "--drift", "none", "--ignore", "names")
	require.Contains(t, text, `invalid value "names": want constraint-names`)
}
