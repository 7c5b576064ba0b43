package cli_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb/installed"
)

// A data directory is migrated if its control database has the procedures of another version, as
// after an update of the program.
func TestEmbeddedServerMigratesItsData(t *testing.T) {
	dir, password := t.TempDir(), embedded.RandomPassword()
	server, err := embedded.Start(t.Context(), dir, "127.0.0.1:0", password, "disable", zap.NewNop())
	require.NoError(t, err)
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE OR ALTER PROCEDURE jobs.sp_stop_job @job_execution_id UNIQUEIDENTIFIER = NULL AS RETURN 1;")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE jobs_internal.code_objects SET sha256 = REPLICATE('0', 64) WHERE name = N'jobs.sp_stop_job';")
	require.NoError(t, err)
	require.Error(t, installed.On(server.Store).Verify(t.Context()))
	require.NoError(t, db.Close())
	require.NoError(t, server.Close())

	logs, seen := observer.New(zap.InfoLevel)
	server, err = embedded.Start(t.Context(), dir, "127.0.0.1:0", password, "disable", zap.New(logs))
	require.NoError(t, err)
	require.Empty(t, seen.FilterMessageSnippet("migrated").All(), "the version of the schema is the same")
	replaced := seen.FilterMessageSnippet("were replaced by those of this program").All()
	require.Len(t, replaced, 1)
	require.EqualValues(t, 1, replaced[0].ContextMap()["changed"])
	require.NoError(t, installed.On(server.Store).Verify(t.Context()))
	require.NoError(t, server.Close())
}

// A login with the role jobs_reader only can read all public views and is refused the rest. It
// never gets the error that the schema is not installed.
func TestReaderUsesTheCommandLine(t *testing.T) {
	server, err := embedded.Start(t.Context(), "", "127.0.0.1:0", embedded.RandomPassword(), "disable", zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, batch := range []string{
		"CREATE LOGIN looker WITH PASSWORD = N'Look-0nly';",
		"CREATE USER looker FOR LOGIN looker;",
		"ALTER ROLE jobs_reader ADD MEMBER looker;",
		"EXECUTE jobs.sp_add_job N'j';",
		"EXECUTE jobs.sp_add_schedule N'j', N's', N'cron5', N'0 0 * * *';",
	} {
		_, err := db.ExecContext(t.Context(), batch)
		require.NoError(t, err)
	}
	u := server.URL(embedded.ControlDatabase)
	u.User = url.UserPassword("looker", "Look-0nly")
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"job list":                {exit.CodeOK, "DESCRIPTION"},
		"job show j":              {exit.CodeOK, "version 0"},
		"script j":                {exit.CodeOK, "EXEC jobs.sp_add_job"},
		"execution list":          {exit.CodeOK, "EXECUTION ID"},
		"schedule list":           {exit.CodeOK, "Waits for an agent"},
		"schedule show j s":       {exit.CodeOK, "kind cron5"},
		"schedule explain j s":    {exit.CodeOK, "last run: none"},
		"schedule pause j s":      {exit.CodeFailure, "EXECUTE permission was denied on the object 'sp_pause_schedule'"},
		"calendar list":           {exit.CodeOK, "CALENDAR"},
		"job start j":             {exit.CodeFailure, "EXECUTE permission was denied on the object 'sp_start_job'"},
		"target-group create g":   {exit.CodeFailure, "EXECUTE permission was denied"},
		"db verify":               {exit.CodeFailure, "no permission: the role jobs_agent gives it"},
		"run":                     {exit.CodeFailure, "no permission: the role jobs_agent gives it"},
		"execution show notaguid": {exit.CodeUsage, "not a GUID"},
	} {
		t.Run(line, func(t *testing.T) {
			var out strings.Builder
			code := cli.Run(t.Context(), append(strings.Fields(line), "--dsn", u.String()), strings.NewReader(""), &out, &out)
			require.Equal(t, want.code, code, out.String())
			require.Contains(t, out.String(), want.text)
		})
	}
}
