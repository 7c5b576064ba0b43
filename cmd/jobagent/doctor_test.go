package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestDoctorExitCodes: 0 when all is well, 6 where a deployment is refused, 7 for a warning; a read-only target is one.
func TestDoctorExitCodes(t *testing.T) {
	server, err := startEmbedded(t.Context(), "", "127.0.0.1:0", randomPassword(), "disable", zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.close()) })
	master, err := server.open("master")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })
	batch := func(text string) {
		_, err := master.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	command := func(database string, line ...string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		code = run(t.Context(), append(line, "--dsn", server.dsn(database)), strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}

	batch(`CREATE DATABASE old;`)
	batch(`ALTER DATABASE old SET COMPATIBILITY_LEVEL = 110;`)
	code, _, stderr := command("old", "db", "install")
	require.Equal(t, exitConflict, code)
	require.Equal(t, "error: the database is not fit for the control schema: the compatibility level of database [old] is 110: "+
		"OPENJSON and STRING_SPLIT need level 130 or above; to mend it: ALTER DATABASE [old] SET COMPATIBILITY_LEVEL = 160;\n", stderr)
	batch(`ALTER DATABASE old SET COMPATIBILITY_LEVEL = 160;`)
	batch(`ALTER DATABASE old SET AUTO_CLOSE ON;`)
	code, stdout, stderr := command("old", "db", "install")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, "is installed")
	require.Contains(t, stderr, "warning: AUTO_CLOSE is on: ")
	require.Contains(t, stderr, "to mend it: ALTER DATABASE [old] SET AUTO_CLOSE OFF;")

	code, stdout, _ = command("old", "doctor", "-o", "json")
	require.Equal(t, exitRunFailed, code)
	var views []findingView
	require.NoError(t, json.Unmarshal([]byte(stdout), &views))
	require.Greater(t, len(views), 20)

	batch(`CREATE DATABASE frozen;`)
	batch(`ALTER DATABASE frozen SET READ_ONLY;`)
	for _, line := range [][]string{
		{"target-group", "create", "g"},
		{"target-group", "add", "g", "--server", server.serverName(), "--database", "frozen"},
	} {
		code, _, stderr := command(controlDatabase, line...)
		require.Equal(t, exitOK, code, stderr)
	}
	t.Setenv(envTargetPassword, server.targetPassword)
	code, stdout, stderr = command(controlDatabase, "doctor", "--targets", "g", "--target-user", targetLogin, "--target-servers", "127.0.0.1")
	require.Equal(t, exitRunFailed, code, stderr)
	require.Regexp(t, `(?m)^warning +target-writing +.*/frozen is read-only$`, stdout)
}
