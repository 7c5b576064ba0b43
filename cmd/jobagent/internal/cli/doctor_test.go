package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	clidoctor "github.com/jobagent/jobagent/cmd/jobagent/internal/cli/doctor"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
)

// The exit code is 0 without findings, 6 for a refused deployment, and 7 for a warning such as a
// read-only target.
func TestDoctorExitCodes(t *testing.T) {
	testenv.Long(t)
	server := clitest.Server(t)
	master, err := server.Open("master")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })
	batch := func(text string) {
		_, err := master.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	command := func(database string, line ...string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		t.Setenv(config.EnvDSN, server.DSN(database))
		code = cli.Run(t.Context(), line, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}

	batch(`CREATE DATABASE old;`)
	batch(`ALTER DATABASE old SET COMPATIBILITY_LEVEL = 110;`)
	code, _, stderr := command("old", "db", "install")
	require.Equal(t, exit.CodeConflict, code)
	require.Equal(t, "error: the database is not fit for the control schema: the compatibility level of database [old] is 110: "+
		"OPENJSON and STRING_SPLIT need level 130 or above; to fix it: ALTER DATABASE [old] SET COMPATIBILITY_LEVEL = 160;\n", stderr)
	batch(`ALTER DATABASE old SET COMPATIBILITY_LEVEL = 160;`)
	batch(`ALTER DATABASE old SET AUTO_CLOSE ON;`)
	code, stdout, stderr := command("old", "db", "install")
	require.Equal(t, exit.CodeOK, code, stderr)
	require.Contains(t, stdout, "installed the control schema")
	require.Contains(t, stderr, "warning: AUTO_CLOSE is on: ")
	require.Contains(t, stderr, "to fix it: ALTER DATABASE [old] SET AUTO_CLOSE OFF;")

	require.NotContains(t, stderr, "other tables")

	batch(`CREATE DATABASE shared; CREATE DATABASE taken;`)
	batch(`EXEC shared.sys.sp_executesql N'CREATE TABLE dbo.mine (a INT);'; EXEC taken.sys.sp_executesql N'CREATE SCHEMA jobs;';`)
	code, _, stderr = command("shared", "db", "install")
	require.Equal(t, exit.CodeOK, code, stderr)
	require.Contains(t, stderr, "note: the database has other tables, too (1: dbo.mine): a database of its own is better for the control schema\n")
	code, _, stderr = command("taken", "db", "install")
	require.Equal(t, exit.CodeConflict, code)
	require.Equal(t, "error: the database is not fit for the control schema: the database has the schema jobs already, and jobagent did not create it: "+
		"a deployment creates the schemas jobs, jobs_internal and jobs_rest; to fix it: DROP SCHEMA [jobs];\n", stderr)

	code, stdout, _ = command("old", "doctor", "-o", "json")
	require.Equal(t, exit.CodeRunFailed, code)
	var views []doctor.Finding
	require.NoError(t, json.Unmarshal([]byte(stdout), &views))
	require.Greater(t, len(views), 20)

	batch(`CREATE DATABASE frozen;`)
	batch(`ALTER DATABASE frozen SET READ_ONLY;`)
	for _, line := range [][]string{
		{"target-group", "create", "g"},
		{"target-group", "add", "g", "--server", server.ServerName(), "--database", "frozen"},
	} {
		code, _, stderr := command(embedded.ControlDatabase, line...)
		require.Equal(t, exit.CodeOK, code, stderr)
	}
	t.Setenv(connect.EnvTargetPassword, server.TargetPassword)
	code, stdout, stderr = command(embedded.ControlDatabase, "doctor", "--targets", "g", "--target-user",
		embedded.TargetLogin, "--target-servers", "127.0.0.1")
	require.Equal(t, exit.CodeRunFailed, code, stderr)
	require.Regexp(t, `(?m)^warning +target-writing +.*/frozen is read-only$`, stdout)

	// Targets with the same fault share a finding.
	for i := range 4 {
		code, _, stderr := command(embedded.ControlDatabase, "target-group", "add", "g", "--server", server.ServerName(), "--database", fmt.Sprint("d", i))
		require.Equal(t, exit.CodeOK, code, stderr)
	}
	code, stdout, stderr = command(embedded.ControlDatabase, "doctor", "--targets", "g", "-o", "json")
	require.Equal(t, exit.CodeRunFailed, code, stderr)
	views = nil
	require.NoError(t, json.Unmarshal([]byte(stdout), &views))
	views = slices.DeleteFunc(views, func(v doctor.Finding) bool { return v.Code != "target-login" })
	require.Len(t, views, 1)
	require.Regexp(t, `^5 databases \(\S+/d0, \S+/d1, \S+/d2 and 2 more\): credential "default"`, views[0].Found)
	code, stdout, stderr = command(embedded.ControlDatabase, "doctor", "--targets", "g", "-o", "json", "--target-user",
		embedded.TargetLogin, "--target-servers", "127.0.0.1")
	require.Equal(t, exit.CodeRunFailed, code, stderr)
	views = nil
	require.NoError(t, json.Unmarshal([]byte(stdout), &views))
	views = slices.DeleteFunc(views, func(v doctor.Finding) bool { return v.Code != "target-login" })
	require.Len(t, views, 4, "each error names its database")
	require.Regexp(t, `/d0: `, views[0].Found)
}

// A credential of targets that can enter the control database is an error, with the T-SQL that
// prevents it. It is a warning where the configuration allows it.
func TestDoctorTriesCredentials(t *testing.T) {
	testenv.Long(t)
	password := embedded.RandomPassword()
	server := clitest.ServerWith(t, password, "true",
		func(cfg *embedded.Config) { cfg.TargetPassword = password })
	control, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	_, err = control.ExecContext(t.Context(), "CREATE LOGIN visitor WITH PASSWORD = '"+password+"'; CREATE USER [a guest] FOR LOGIN visitor;")
	require.NoError(t, err)
	t.Setenv("JOBAGENT_TEST_PASSWORD", password)
	t.Setenv(config.EnvConfig, "")
	pin := mssql.CertificatePin(server.Certificate)
	runDoctor := func(settings string, user string) []doctor.Finding {
		text := fmt.Sprintf(`{"targets": {"certificate_sha256": [%q]%s}, "credentials": [{"name": "c", "servers": ["127.0.0.1"], "user": %q, "secret": "env:JOBAGENT_TEST_PASSWORD"},
			{"name": "elsewhere", "servers": ["*.example.com"], "user": "sa", "secret": "env:JOBAGENT_TEST_PASSWORD"}]}`, pin, settings, user)
		path := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		var out, errs strings.Builder
		_ = cli.Run(t.Context(), []string{"doctor", "-o", "json", "--dsn", server.DSN(embedded.ControlDatabase), "--config",
			path}, strings.NewReader(""), &out, &errs)
		var views []doctor.Finding
		require.NoError(t, json.Unmarshal([]byte(out.String()), &views), errs.String())
		return slices.DeleteFunc(views, func(v doctor.Finding) bool { return v.Code != clidoctor.CodeCredential })
	}
	for _, c := range []struct {
		settings, user string
		severity       doctor.Severity
		found, sql     string
	}{
		{"", "sa", doctor.SeverityError, `credential "c" (login sa) can enter the control database`,
			"ALTER SERVER ROLE sysadmin DROP MEMBER [sa]; -- or use another login for targets"},
		{`, "default_credential": "c"`, "sa", doctor.SeverityError, `credential "c" (login sa) can enter the control database`,
			"ALTER SERVER ROLE sysadmin DROP MEMBER [sa]; -- or use another login for targets"},
		{"", "visitor", doctor.SeverityError, `credential "c" (login visitor) can enter the control database`,
			"USE [jobagent]; DROP USER [a guest];"},
		{`, "allow_control_database": true`, "visitor", doctor.SeverityWarning,
			`credential "c" (login visitor) can enter the control database`, "USE [jobagent]; DROP USER [a guest];"},
		{`, "default_credential": "c"`, embedded.TargetLogin, doctor.SeverityOK,
			"no credential of targets can enter the control database", ""},
		{"", embedded.TargetLogin, doctor.SeverityOK,
			"the configuration has no default credential, so steps and members without a credential fail; give --target-credential NAME, " +
				"or --target-user LOGIN with --target-secret and --target-servers, or set targets.default_credential", ""},
		{"", "nobody", doctor.SeverityOK, "the configuration has no default credential", ""},
	} {
		views := runDoctor(c.settings, c.user)
		require.Len(t, views, 1)
		require.Equal(t, c.severity, views[0].Severity)
		require.Contains(t, views[0].Found, c.found)
		require.Equal(t, c.sql, views[0].SQL)
	}
}
