package dev

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// A directory of something else, and one that is in use, are refused before anything is written.
func TestDataDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600))
	_, _, err := openData(dir)
	require.Equal(t, exit.CodeUsage, exit.Code(err))
	require.ErrorContains(t, err, "letter.txt")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	_, _, err = openData(filepath.Join(dir, "letter.txt"))
	require.Equal(t, exit.CodeUsage, exit.Code(err), "a file")

	require.NoError(t, os.WriteFile(filepath.Join(dir, CertificateFile), nil, 0o600)) // prepared by its owner
	_, release, err := openData(dir)
	require.NoError(t, err)
	release()

	data := filepath.Join(t.TempDir(), "new", "data")
	got, release, err := openData(data)
	require.NoError(t, err)
	require.Equal(t, data, got)
	info, err := os.Stat(data)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	_, _, err = openData(data)
	require.Equal(t, exit.CodeConflict, exit.Code(err))
	require.ErrorContains(t, err, "in use by another jobagent dev")
	release()
	_, release, err = openData(data)
	require.NoError(t, err)
	release()

	temporary, release, err := openData("")
	require.NoError(t, err)
	release()
	require.NoDirExists(t, temporary)
}

// The password stays with the data; one that is given later changes it, and the log says so.
func TestPasswordStaysWithTheData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	core, logs := observer.New(zapcore.InfoLevel)
	load := func(given string) string {
		t.Helper()
		got, err := loadPassword(dir, given, zap.New(core))
		require.NoError(t, err)
		for _, entry := range logs.All() {
			require.NotContains(t, entry.Message, got)
		}
		return got
	}
	require.Equal(t, "First-1", load("First-1"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, databasesDir), 0o700))
	require.Equal(t, "First-1", load(""))
	require.Equal(t, "First-1", load("First-1"))
	require.Zero(t, logs.FilterLevelExact(zapcore.WarnLevel).Len())
	require.Equal(t, "Second-2", load("Second-2"))
	require.Equal(t, 1, logs.FilterLevelExact(zapcore.WarnLevel).FilterMessageSnippet("was changed").Len())
	require.Equal(t, "Second-2", load(""))
	info, err := os.Stat(filepath.Join(dir, passwordFile))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	// Data of a version that did not keep the password.
	require.NoError(t, os.Remove(filepath.Join(dir, passwordFile)))
	random := load("")
	require.Equal(t, 1, logs.FilterMessageSnippet("have no stored password").Len())
	require.Equal(t, random, load(""))
}

func TestListenErrors(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "1433", "127.0.0.1", "127.0.0.1:", "127.0.0.1:notaport", "127.0.0.1:65536", "127.0.0.1:-1", "::1:1433"} {
		require.Equal(t, exit.CodeUsage, exit.Code(embedded.CheckListen("listen", address)), address)
	}
	for _, address := range []string{"127.0.0.1:0", ":1433", "[::1]:1433", "host:65535"} {
		require.NoError(t, embedded.CheckListen("listen", address), address)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	err = embedded.CheckFree(t.Context(), taken.Addr().String())
	require.Equal(t, exit.CodeConflict, exit.Code(err))
	require.ErrorContains(t, err, "is in use by another program")
	require.Equal(t, exit.CodeUsage, exit.Code(embedded.CheckFree(t.Context(), "192.0.2.1:0")), "of another machine (RFC 5737)")
}

// The lines for a person can be pasted into a shell, whatever the password is.
func TestWelcome(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := welcome{
		name: "127.0.0.1,1433", dsn: "sqlserver://sa:a%27b$HOME@127.0.0.1:1433?database=jobagent", password: `a'b"$HOME` + "`id`",
		dashboard: "https://127.0.0.1:8443/ui/", link: "https://127.0.0.1:8443/ui/login?link=x", tokenFile: "/d/rest-token", data: "/d e",
	}
	require.NoError(t, p.print(&b))
	require.NotContains(t, b.String(), "\x1b")
	require.Contains(t, b.String(), "sign in once, within 10 minutes:  https://127.0.0.1:8443/ui/login?link=x\n")
	if runtime.GOOS == "windows" {
		t.Skip("on Windows the lines are for PowerShell, and this test gives them to sh")
	}
	var script strings.Builder
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "  sign in") {
			script.WriteString(line)
		}
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu", "-c", `
jobagent() { printf 'jobagent'; printf ' [%s]' "$@"; echo; }
sqlcmd() { printf 'sqlcmd %s' "$SQLCMDPASSWORD"; printf ' [%s]' "$@"; echo; }
`+script.String()+`printf '%s\n' "$JOBAGENT_DSN" "$JOBAGENT_CONFIG"`)
	out, err := shell.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, `jobagent [job] [list]
jobagent [context] [add] [dev] [--dsn] [env:JOBAGENT_DSN] [--password-ref] [file:/d e/sa-password] [--config] [/d e/jobagent.json] [--use]
sqlcmd `+p.password+` [-S] [127.0.0.1,1433] [-d] [jobagent] [-U] [sa] [-C]
`+p.dsn+"\n/d e/jobagent.json\n", string(out))
	b.Reset()
	require.NoError(t, welcome{name: "s", dsn: "d"}.print(&b))
	require.Contains(t, b.String(), "--data DIR keeps them")
	require.NotContains(t, b.String(), "Dashboard")
}
