package cli_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/kit"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// writeKit writes the kit into a directory, as a reader of KIT.md does.
func (f *fixture) writeKit(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "maintenance")
	args := append([]string{"kit", "write", dir}, names...)
	f.ok(t, main, "", append(args, "--target-group", "databases of the kit", "--server-group", "servers", "--results", f.server.ServerName()+"/dba")...)
	return dir
}

// kitNames returns the names of all definitions.
func kitNames(t *testing.T) (names []string) {
	t.Helper()
	all, err := kit.Definitions()
	require.NoError(t, err)
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// Every definition of the kit can be applied; then nothing differs, and what is exported is applied
// without a change.
func TestKitApplies(t *testing.T) {
	f := newFixture(t)
	dir := f.writeKit(t, kitNames(t)...)
	require.Contains(t, f.ok(t, main, "", "validate", "-f", dir), "valid: 1 target group, 20 jobs, 5 alerts")
	for _, group := range []string{"databases of the kit", "servers"} {
		f.ok(t, main, "", "target-group", "create", group)
	}
	require.Contains(t, f.ok(t, main, "", "apply", "-f", dir), "26 created, 0 changed, 0 unchanged\n")
	require.Equal(t, "no differences\n", f.ok(t, main, "", "diff", "-f", dir))
	require.Equal(t, "0 created, 0 changed, 26 unchanged\n", f.ok(t, main, "", "apply", "-f", dir))
	exported := f.ok(t, main, "", "export")
	require.Equal(t, "0 created, 0 changed, 28 unchanged\n", f.ok(t, main, exported, "apply", "-f", "-"))
	require.NotContains(t, exported, "{databases}")

	var schedules []struct {
		State string `json:"state"`
	}
	require.NoError(t, json.Unmarshal([]byte(f.ok(t, main, "", "schedule", "list", "-o", "json")), &schedules))
	require.NotEmpty(t, schedules)
	for _, s := range schedules {
		require.Equal(t, "Disabled", s.State, "nothing runs until somebody enables it")
	}
}

func TestKitWrite(t *testing.T) {
	f := newFixture(t)
	dir := f.writeKit(t)
	written := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, written("statistics.yaml"), "target_group: \"databases of the kit\"\n")
	require.NoFileExists(t, filepath.Join(dir, "ola-hallengren.yaml"), "it needs other programs")
	again := []string{"kit", "write", dir, "--target-group", "databases of the kit", "--server-group", "servers", "--results", f.server.ServerName() + "/dba"}
	f.ok(t, main, "", again...)

	edited := strings.Replace(written("statistics.yaml"), "enabled: false", "enabled: true", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "statistics.yaml"), []byte(edited), 0o600))
	code, _, stderr := f.run(t, main, "", again...)
	require.Equal(t, exit.CodeConflict, code)
	require.Contains(t, stderr, "statistics.yaml in "+dir+" was changed")
	require.Equal(t, edited, written("statistics.yaml"))
	f.ok(t, main, "", append(again, "--replace")...)
	require.NotEqual(t, edited, written("statistics.yaml"))

	for line, want := range map[string]string{
		"":                               "missing --target-group: backup runs on",
		"--target-group g":               "missing --results: backup uses",
		"--target-group g --results s/d": "missing --server-group: blocking runs on",
		"statistics --target-group g --results dba": `invalid --results "dba": want SERVER/DATABASE`,
		"statistic --target-group g":                `the kit has no definition "statistic"; did you mean "statistics"?`,
	} {
		code, _, stderr := f.run(t, main, "", append([]string{"kit", "write", filepath.Join(t.TempDir(), "x")}, strings.Fields(line)...)...)
		require.NotZero(t, code, line)
		require.Contains(t, stderr, want)
	}
}

// kitServer is a server with an agent, a database that is maintained, and one for results.
type kitServer struct {
	*fixture
	master, shop, results *sql.DB
}

func newKitServer(t *testing.T) *kitServer {
	t.Helper()
	t.Setenv(config.EnvConfig, "")
	k := &kitServer{fixture: &fixture{server: clitest.Server(t)}}
	open := func(name string) *sql.DB {
		db, err := k.server.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	k.master = open("master")
	k.exec(t, k.master, "CREATE DATABASE shop;")
	k.exec(t, k.master, "CREATE DATABASE dba;")
	k.shop, k.results = open("shop"), open("dba")
	for group, database := range map[string]string{"databases of the kit": "shop", "servers": "dba"} {
		k.ok(t, embedded.ControlDatabase, "", "target-group", "create", group)
		k.ok(t, embedded.ControlDatabase, "", "target-group", "add", group, "--server", k.server.ServerName(), "--database", database)
	}
	k.ok(t, embedded.ControlDatabase, "", "apply", "-f", k.writeKit(t, kitNames(t)...))
	startAgent(t, k.server)
	return k
}

func (k *kitServer) exec(t *testing.T, db *sql.DB, script string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), script)
	require.NoError(t, err, script)
}

// start runs a job of the kit to its end, and returns the exit code and what its scripts said.
func (k *kitServer) start(t *testing.T, job string, parameters ...string) (code int, said string) {
	t.Helper()
	args := []string{"job", "start", job, "--wait", "--no-rollout", "-o", "json"}
	for _, p := range parameters {
		args = append(args, "--param-json", p)
	}
	code, stdout, stderr := k.run(t, embedded.ControlDatabase, "", args...)
	var run struct {
		Executions []output.Execution `json:"executions"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &run), "%s\n%s", stdout, stderr)
	require.NotEmpty(t, run.Executions)
	return code, k.ok(t, embedded.ControlDatabase, "", "execution", "logs", run.Executions[0].ID.String())
}

// rows returns rows of a table of results, as texts.
func (k *kitServer) rows(t *testing.T, query string) (list []string) {
	t.Helper()
	rows, err := k.results.QueryContext(context.WithoutCancel(t.Context()), query)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values, pointers := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		require.NoError(t, rows.Scan(pointers...))
		var texts []string
		for _, v := range values {
			texts = append(texts, v.String)
		}
		list = append(list, strings.Join(texts, " | "))
	}
	require.NoError(t, rows.Err())
	return list
}

// The jobs of the kit run on the embedded server, and find what is there.
func TestKitRuns(t *testing.T) {
	testenv.Long(t)
	k := newKitServer(t)
	k.exec(t, k.shop, `CREATE TABLE dbo.ordered (id INT NOT NULL CONSTRAINT PK_ordered PRIMARY KEY, v CHAR(180) NOT NULL);
INSERT dbo.ordered SELECT value, 'x' FROM GENERATE_SERIES(1, 4000);
CREATE TABLE dbo.scattered (id INT NOT NULL CONSTRAINT PK_scattered PRIMARY KEY, v CHAR(180) NOT NULL);
INSERT dbo.scattered SELECT (value * 1237) % 4001, 'x' FROM GENERATE_SERIES(1, 4000);
CREATE INDEX [ix]]odd] ON dbo.scattered (v);
CREATE TABLE dbo.empty (id INT NOT NULL CONSTRAINT PK_empty PRIMARY KEY);`)
	t.Run("indexes", func(t *testing.T) { testKitIndexes(t, k) })
	t.Run("statistics", func(t *testing.T) { testKitStatistics(t, k) })
	t.Run("integrity", func(t *testing.T) { testKitIntegrity(t, k) })
	t.Run("backups", func(t *testing.T) { testKitBackups(t, k) })
	t.Run("blocking", func(t *testing.T) { testKitBlocking(t, k) })
	t.Run("reports", func(t *testing.T) { testKitReports(t, k) })
	t.Run("settings", func(t *testing.T) { testKitSettings(t, k) })
	t.Run("retention", func(t *testing.T) { testKitRetention(t, k) })
	t.Run("other programs", func(t *testing.T) { testKitOtherPrograms(t, k) })
}

// The scattered table is rebuilt or reorganized, and neither one that is in order nor a small one.
func testKitIndexes(t *testing.T, k *kitServer) {
	const result = "SELECT table_name, index_name, command, outcome FROM dbo.kit_index_maintenance ORDER BY collected_at, index_name"
	rebuild := "scattered | PK_scattered | ALTER INDEX [PK_scattered] ON [dbo].[scattered] REBUILD WITH (ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))); | "
	code, said := k.start(t, "kit index maintenance", "min_pages=50", "dry_run=true")
	require.Zero(t, code, said)
	require.Equal(t, []string{rebuild + "dry run"}, k.rows(t, result))

	k.exec(t, k.results, "DELETE dbo.kit_index_maintenance;")
	code, said = k.start(t, "kit index maintenance", "min_pages=50")
	require.Zero(t, code, said)
	require.Equal(t, []string{rebuild + "done"}, k.rows(t, result))
	require.Contains(t, said, "ALTER INDEX [PK_scattered]")

	k.exec(t, k.results, "DELETE dbo.kit_index_maintenance;")
	code, said = k.start(t, "kit index maintenance", "min_pages=50", "rebuild_from=100.1")
	require.Zero(t, code, said)
	require.Equal(t, []string{"scattered | PK_scattered | ALTER INDEX [PK_scattered] ON [dbo].[scattered] REORGANIZE; | done"}, k.rows(t, result))

	k.exec(t, k.results, "DELETE dbo.kit_index_maintenance;")
	code, said = k.start(t, "kit index maintenance", "min_pages=50", "max_minutes=0")
	require.Zero(t, code, said)
	require.Equal(t, []string{rebuild + "no time left"}, k.rows(t, result))

	k.exec(t, k.results, "DELETE dbo.kit_index_maintenance;")
	k.exec(t, k.shop, "ALTER INDEX [ix]]odd] ON dbo.scattered SET (ALLOW_PAGE_LOCKS = OFF);")
	tx, err := k.shop.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "UPDATE dbo.empty SET id = 1;")
	require.NoError(t, err)
	code, said = k.start(t, "kit index maintenance", "min_pages=1", "reorganize_from=90", "rebuild_from=100.1", "lock_timeout_ms=1")
	require.NoError(t, tx.Rollback())
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, said, "Indexes that could not be maintained: 1. The result has the reasons.")
	list := k.rows(t, result)
	require.Equal(t, "scattered | PK_scattered | ALTER INDEX [PK_scattered] ON [dbo].[scattered] REORGANIZE; | failed: Lock request time out period exceeded.", list[0])

	k.exec(t, k.results, "DELETE dbo.kit_index_maintenance;")
	code, said = k.start(t, "kit index maintenance", "min_pages=1", "reorganize_from=0", "rebuild_from=100.1")
	require.Zero(t, code, said)
	list = k.rows(t, result)
	require.Contains(t, list, "scattered | ix]odd |  | skipped: its page locks are off, so that it can only be rebuilt")
	require.Contains(t, list, "ordered | PK_ordered | ALTER INDEX [PK_ordered] ON [dbo].[ordered] REORGANIZE; | done")
	k.exec(t, k.shop, "ALTER INDEX [ix]]odd] ON dbo.scattered SET (ALLOW_PAGE_LOCKS = ON);")
}

// Statistics that were never built are due if the table has rows.
func testKitStatistics(t *testing.T, k *kitServer) {
	code, said := k.start(t, "kit statistics", "sample_percent=50")
	require.Zero(t, code, said)
	require.Equal(t, []string{
		"ordered | UPDATE STATISTICS [dbo].[ordered] [PK_ordered] WITH SAMPLE 50 PERCENT; | done",
		"scattered | UPDATE STATISTICS [dbo].[scattered] [ix]]odd] WITH SAMPLE 50 PERCENT; | done",
		"scattered | UPDATE STATISTICS [dbo].[scattered] [PK_scattered] WITH SAMPLE 50 PERCENT; | done",
	}, k.rows(t, "SELECT table_name, command, outcome FROM dbo.kit_statistics ORDER BY table_name, statistics_name"))

	code, said = k.start(t, "kit statistics", "sample_percent=101")
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, said, "sample_percent must be between 1 and 100.")
}

// DBCC CHECKDB has no effect on this server, so the time of the last check is unknown.
func testKitIntegrity(t *testing.T, k *kitServer) {
	code, said := k.start(t, "kit integrity check", "physical_only=true")
	require.Zero(t, code, said)
	require.Equal(t, []string{"shop | physical |  | 0 | "}, k.rows(t, "SELECT database_name, kind, last_good_check, CAST(passed AS INT), suspect_pages FROM dbo.kit_integrity_check"))
}

// BACKUP is refused here, when the script has come that far. A dry run shows the commands, which
// are T-SQL.
func testKitBackups(t *testing.T, k *kitServer) {
	for _, test := range []struct {
		job, destination string
		want             string
	}{
		{"kit backup full", `"D:\\backup"`, `BACKUP DATABASE @database TO DISK = @file WITH CHECKSUM, COMPRESSION; RESTORE VERIFYONLY FROM DISK = @file WITH CHECKSUM;`},
		{"kit backup differential", `"/var/backup/"`, `BACKUP DATABASE @database TO DISK = @file WITH CHECKSUM, DIFFERENTIAL, COMPRESSION; RESTORE VERIFYONLY FROM DISK = @file WITH CHECKSUM;`},
		{"kit backup log", `"https://x.blob.core.windows.net/a"`, `BACKUP LOG @database TO URL = @file WITH CHECKSUM, COMPRESSION, MAXTRANSFERSIZE = 4194304, BLOCKSIZE = 65536; RESTORE VERIFYONLY FROM URL = @file WITH CHECKSUM;`},
		{"kit backup full", `"s3://host/a"`, `BACKUP DATABASE @database TO URL = @file WITH CHECKSUM, COMPRESSION; RESTORE VERIFYONLY FROM URL = @file WITH CHECKSUM;`},
	} {
		code, said := k.start(t, test.job, "destination="+test.destination, "dry_run=true")
		require.Zero(t, code, said)
		list := k.rows(t, "SELECT backup_file, outcome, command FROM dbo.kit_backup")
		require.Len(t, list, 1)
		var destination string
		require.NoError(t, json.Unmarshal([]byte(test.destination), &destination))
		kind := strings.TrimPrefix(test.job, "kit backup ")
		require.Regexp(t, "^"+regexp.QuoteMeta(destination)+`[\\/]?[0-9_A-Za-z.-]+_shop_`+kind+`_\d{8}_\d{6}\.(bak|trn) \| dry run \| `+regexp.QuoteMeta(test.want)+"$", list[0])
		_, err := parser.Parse(test.want, parser.Options{QuotedIdentifier: true})
		require.NoError(t, err)
		k.exec(t, k.results, "DELETE dbo.kit_backup;")
	}
	code, said := k.start(t, "kit backup full", `destination="/backup"`)
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, said, "BACKUP DATABASE is not supported in this version of the embedded server")
	require.NotContains(t, said, "VERIFYONLY", "what was not backed up is not read")

	k.exec(t, k.shop, "ALTER DATABASE shop SET RECOVERY SIMPLE;")
	code, said = k.start(t, "kit backup log", `destination="/backup"`)
	require.Zero(t, code, said)
	require.Equal(t, []string{"skipped: simple recovery has no log backups"}, k.rows(t, "SELECT outcome FROM dbo.kit_backup"))
	k.exec(t, k.shop, "ALTER DATABASE shop SET RECOVERY FULL;")
}

// A session that waits and the transaction that it waits for are reported.
func testKitBlocking(t *testing.T, k *kitServer) {
	const none = "blocked_seconds=0"
	k.exec(t, k.master, "GRANT VIEW SERVER STATE TO jobagent_targets;")
	code, said := k.start(t, "kit blocking", none, "transaction_seconds=600", "fail_if_found=true")
	require.Zero(t, code, said)

	tx, err := k.shop.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "UPDATE dbo.ordered SET v = 'y' WHERE id = 1; /* holder */")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := k.shop.ExecContext(t.Context(), "DELETE dbo.ordered WHERE id = 1; /* waiter */")
		ended <- err
	}()
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, k.results.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE blocking_session_id <> 0").Scan(&n))
		return n == 1
	}, 20*time.Second, 10*time.Millisecond)
	code, said = k.start(t, "kit blocking", none, "transaction_seconds=0", "fail_if_found=true")
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, said, "There are blocked requests or long transactions.")
	list := k.rows(t, "SELECT kind, database_name, script, IIF(blocking_session_id > 0, 'blocked', 'free') FROM dbo.kit_blocking WHERE kind = N'blocked' OR database_name = N'shop' ORDER BY kind")
	require.Equal(t, "blocked | shop | DELETE dbo.ordered WHERE id = 1; /* waiter */ | blocked", list[0])
	require.Contains(t, list[1], "open transaction | shop | ")
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-ended)
}

// Reports about files, indexes and users.
func testKitReports(t *testing.T, k *kitServer) {
	code, said := k.start(t, "kit file growth", "min_growth_mb=1000000")
	require.Zero(t, code, said)
	require.Equal(t, []string{"ROWS | 1", "LOG | 1"}, k.rows(t, "SELECT type_desc, IIF(size_mb >= 0 AND used_mb IS NOT NULL AND finding LIKE N'It grows in small parts.%', 1, 0) FROM dbo.kit_file_growth ORDER BY type_desc DESC"))

	// This server counts no usage: the only index that is not of a key is unused.
	code, said = k.start(t, "kit unused indexes", "min_days=0", "min_mb=0")
	require.Zero(t, code, said)
	require.Equal(t, []string{"scattered | ix]odd | 4000 | DROP INDEX [ix]]odd] ON [dbo].[scattered];"},
		k.rows(t, "SELECT table_name, index_name, row_count, command FROM dbo.kit_unused_indexes"))
	code, said = k.start(t, "kit unused indexes")
	require.Zero(t, code, said)
	require.Contains(t, said, "less than the parameter min_days. Nothing is reported.")

	// No index is missed here: the query is compiled and returns nothing.
	code, said = k.start(t, "kit missing indexes")
	require.Zero(t, code, said)
	require.Empty(t, k.rows(t, "SELECT table_name FROM dbo.kit_missing_indexes"))

	k.exec(t, k.shop, `CREATE LOGIN [o'neill] WITH PASSWORD = N'Play-w1th-it'; CREATE LOGIN gone WITH PASSWORD = N'Play-w1th-it';
CREATE USER [o'neill] FOR LOGIN [o'neill]; CREATE USER gone FOR LOGIN gone; CREATE USER rolled WITHOUT LOGIN;
DROP LOGIN [o'neill]; DROP LOGIN gone; CREATE LOGIN [o'neill] WITH PASSWORD = N'Play-w1th-it';`)
	code, said = k.start(t, "kit orphaned users")
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, said, "Without VIEW ANY DEFINITION on the server, logins are not visible")
	// This server cannot grant that right, so the script runs as sa.
	require.Equal(t, []string{"gone |  | ", "o'neill | o'neill | ALTER USER [o'neill] WITH LOGIN = [o'neill];"}, k.orphanedUsers(t))
}

// orphanedUsers runs the script about orphaned users as sa.
func (k *kitServer) orphanedUsers(t *testing.T) []string {
	t.Helper()
	var files output.KitFiles
	require.NoError(t, json.Unmarshal([]byte(k.ok(t, embedded.ControlDatabase, "", "kit", "show", "orphaned-users", "-o", "json")), &files))
	batch, rest, ok := strings.Cut(files.Files[1].Text, "\nGO\n")
	require.True(t, ok)
	conn, err := k.shop.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	rows, err := conn.QueryContext(t.Context(), batch)
	require.NoError(t, err)
	var list []string
	for rows.Next() {
		var collected, server, database, kind, created, user string
		var login, command sql.NullString
		require.NoError(t, rows.Scan(&collected, &server, &database, &user, &kind, &created, &login, &command))
		list = append(list, user+" | "+login.String+" | "+command.String)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	_, err = conn.ExecContext(t.Context(), strings.ReplaceAll(rest, "$(param.fail_if_found)", "1"))
	require.ErrorContains(t, err, "There are users without a login.")
	return list
}

// What differs from the baseline is reported, and corrected by another job.
func testKitSettings(t *testing.T, k *kitServer) {
	k.exec(t, k.shop, "ALTER DATABASE shop SET AUTO_SHRINK ON; ALTER DATABASE shop SET PAGE_VERIFY NONE;")
	const result = "SELECT setting, expected, actual, command, outcome FROM dbo.kit_database_settings"
	shrink, verify := "AUTO_SHRINK | OFF | ON | ALTER DATABASE CURRENT SET AUTO_SHRINK OFF WITH NO_WAIT; | ", "PAGE_VERIFY | CHECKSUM | NONE | ALTER DATABASE CURRENT SET PAGE_VERIFY CHECKSUM WITH NO_WAIT; | "
	code, said := k.start(t, "kit database settings", "fail_if_found=true", "min_compatibility=9999")
	require.Equal(t, exit.CodeRunFailed, code, said)
	list := k.rows(t, result)
	require.Len(t, list, 3, said)
	require.ElementsMatch(t, []string{shrink + "reported", verify + "reported"}, list[:2])
	require.Regexp(t, `^COMPATIBILITY_LEVEL \| 9999 \| 1\d0 \| .* \| reported$`, list[2])

	k.exec(t, k.results, "DELETE dbo.kit_database_settings;")
	require.Contains(t, k.ok(t, embedded.ControlDatabase, "", "job", "rollout-plan", "show", "kit correct database settings"), "canary")
	code, said = k.start(t, "kit correct database settings", "fail_if_found=true")
	require.Zero(t, code, said)
	require.ElementsMatch(t, []string{shrink + "corrected", verify + "corrected"}, k.rows(t, result))
	k.exec(t, k.results, "DELETE dbo.kit_database_settings;")
	code, said = k.start(t, "kit database settings", "fail_if_found=true")
	require.Zero(t, code, said)
	require.Empty(t, k.rows(t, result))

	code, said = k.start(t, "kit server settings", `baseline="{\"xp_cmdshell\": 1, \"no such option\": 7, \"remote access\": 1}"`, "fail_if_found=true")
	require.Equal(t, exit.CodeRunFailed, code, said)
	require.Equal(t, []string{"no such option | 7 |  | This server has no such option.", "xp_cmdshell | 1 | 0 | It differs from the baseline."},
		k.rows(t, "SELECT setting, expected, configured, finding FROM dbo.kit_server_settings ORDER BY setting"))
	code, said = k.start(t, "kit server settings", `baseline="no JSON"`)
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, said, "The parameter baseline must be a JSON object")
}

// Old results of the kit are deleted, and nothing else.
func testKitRetention(t *testing.T, k *kitServer) {
	k.exec(t, k.results, "CREATE TABLE dbo.kit_of_others (collected_at DATETIME2 NOT NULL); INSERT dbo.kit_of_others VALUES ('20000101');")
	code, said := k.start(t, "kit file growth")
	require.Zero(t, code, said)
	k.exec(t, k.results, "DELETE dbo.kit_file_growth WHERE type_desc = N'LOG'; UPDATE dbo.kit_file_growth SET collected_at = DATEADD(DAY, -399, collected_at);")
	code, said = k.start(t, "kit results retention")
	require.Zero(t, code, said)
	require.Contains(t, said, "kit_file_growth: 0 rows deleted")
	k.exec(t, k.results, "UPDATE dbo.kit_file_growth SET collected_at = DATEADD(DAY, -2, collected_at);")
	code, said = k.start(t, "kit results retention")
	require.Zero(t, code, said)
	require.Regexp(t, `kit_file_growth: [12] rows deleted`, said)
	require.Empty(t, k.rows(t, "SELECT collected_at FROM dbo.kit_file_growth"))
	require.Len(t, k.rows(t, "SELECT collected_at FROM dbo.kit_of_others"), 1)
	code, said = k.start(t, "kit results retention", "keep_days=-5")
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, said, "keep_days must be at least 1.")
}

// The procedures of others are called as they are documented. Here, procedures with the parameters
// of the documents stand for them.
func testKitOtherPrograms(t *testing.T, k *kitServer) {
	start := func(job string) (code int, said string) {
		if job == "kit ola backup" {
			return k.start(t, job, `directory="/backup"`)
		}
		return k.start(t, job)
	}
	for _, job := range []string{"kit ola index optimize", "kit ola integrity check", "kit ola backup", "kit sp_Blitz"} {
		code, said := start(job)
		require.Equal(t, exit.CodeRunFailed, code)
		require.Contains(t, said, "is not in master.")
	}
	const all = "NVARCHAR(MAX) = NULL"
	for procedure, parameters := range map[string]string{
		"IndexOptimize": "@Databases " + all + ", @FragmentationLow " + all + ", @FragmentationMedium " + all + ", @FragmentationHigh " + all +
			", @UpdateStatistics " + all + ", @OnlyModifiedStatistics " + all + ", @TimeLimit INT, @LockTimeout INT, @LogToTable " + all,
		"DatabaseIntegrityCheck": "@Databases " + all + ", @CheckCommands " + all + ", @PhysicalOnly " + all + ", @LogToTable " + all,
		"DatabaseBackup": "@Databases " + all + ", @Directory " + all + ", @BackupType " + all + ", @Verify " + all + ", @CheckSum " + all +
			", @CleanupTime INT = NULL, @LogToTable " + all,
	} {
		k.exec(t, k.master, "CREATE PROCEDURE dbo."+procedure+" "+parameters+" AS PRINT CONCAT(N'"+procedure+" of ', @Databases);")
		k.exec(t, k.master, "GRANT EXECUTE ON dbo."+procedure+" TO public;")
	}
	k.exec(t, k.master, "CREATE PROCEDURE dbo.sp_Blitz @CheckUserDatabaseObjects TINYINT, @OutputType VARCHAR(20), @OutputXMLasNVARCHAR TINYINT AS SELECT 50 AS Priority, N'a finding' AS Finding;")
	k.exec(t, k.master, "GRANT EXECUTE ON dbo.sp_Blitz TO public;")
	for job, want := range map[string]string{
		"kit ola index optimize": "IndexOptimize of shop", "kit ola integrity check": "DatabaseIntegrityCheck of shop", "kit ola backup": "DatabaseBackup of shop", "kit sp_Blitz": "1 row",
	} {
		code, said := start(job)
		require.Zero(t, code, said)
		require.Contains(t, said, want)
	}
	require.Equal(t, []string{"50 | a finding"}, k.rows(t, "SELECT Priority, Finding FROM dbo.kit_blitz"))
}
