package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// shell runs command lines with contexts of the test.
type shell struct {
	t              *testing.T
	stdin          string
	stdout, stderr string
}

// newShell returns a shell without any setting from outside.
func newShell(t *testing.T) *shell {
	t.Helper()
	for _, name := range []string{config.EnvDSN, config.EnvConfig, contexts.EnvContext, "NO_COLOR", "TERM"} {
		t.Setenv(name, "")
	}
	t.Setenv(contexts.EnvFile, filepath.Join(t.TempDir(), "contexts.yaml"))
	return &shell{t: t}
}

// run runs a command line and requires its exit code. A failed one prints one line.
func (s *shell) run(code int, args ...string) {
	s.t.Helper()
	var stdout, stderr strings.Builder
	got := Run(s.t.Context(), args, strings.NewReader(s.stdin), &stdout, &stderr)
	s.stdout, s.stderr = stdout.String(), stderr.String()
	require.Equal(s.t, code, got, "%s\n%s%s", strings.Join(args, " "), s.stdout, s.stderr)
	if code != exit.CodeOK {
		require.Regexp(s.t, `(?m)^error: .+\n\z`, s.stderr)
		require.Empty(s.t, s.stdout)
	}
}

// The whole life of contexts against a server.
func TestContexts(t *testing.T) {
	keyring.MockInit()
	server := clitest.Server(t)
	s := newShell(t)
	dsn := server.DSN(embedded.ControlDatabase)
	file := os.Getenv(contexts.EnvFile)

	s.run(exit.CodeUsage, "job", "list")
	require.Contains(t, s.stderr, "jobagent context add")

	// From a connection string: the password goes to the keyring.
	t.Setenv("TEST_DSN", dsn)
	s.run(exit.CodeOK, "context", "add", "dev", "--dsn", "env:TEST_DSN", "--use")
	require.Empty(t, s.stderr)
	s.run(exit.CodeConflict, "context", "add", "DEV", "--dsn", "env:TEST_DSN")
	s.run(exit.CodeOK, "job", "list")
	require.Empty(t, s.stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), server.Password)

	// A password on the command line is warned of, once.
	s.run(exit.CodeOK, "job", "list", "--dsn", dsn)
	require.Equal(t, 1, strings.Count(s.stderr, "warning: --dsn has a password"))
	require.NotContains(t, s.stderr, server.Password)

	// From flags; the password from standard input. Production announces changes only.
	s.stdin = server.Password + "\n"
	s.run(exit.CodeOK, "context", "add", "prod", "--server", server.ServerName(), "--database", embedded.ControlDatabase, "--user", "sa",
		"--password-ref", "keyring", "--encrypt", "disable", "--production")
	s.stdin = ""
	s.run(exit.CodeOK, "job", "list", "--context", "prod")
	require.Empty(t, s.stderr)
	s.run(exit.CodeOK, "job", "create", "j", "--context", "Prod")
	require.Equal(t, "production: context prod, database jobagent on "+server.ServerName()+"\n", s.stderr)
	s.run(exit.CodeUsage, "job", "delete", "j", "--context", "prod")
	require.Contains(t, s.stderr, "give --yes to confirm, because the context prod is for production and there is no terminal to ask at")
	s.run(exit.CodeOK, "job", "delete", "j", "--context", "prod", "--yes", "--color", "always")
	require.Contains(t, s.stderr, "\x1b[1;31m")
	s.run(exit.CodeOK, "job", "create", "j")
	require.Empty(t, s.stderr, "dev is not production")

	s.run(exit.CodeOK, "context", "test", "prod")
	require.Regexp(t, `(?m)^roles +db_owner, jobs_admin`, s.stdout)
	s.run(exit.CodeOK, "context", "list", "-o", "json")
	require.NotContains(t, s.stdout, server.Password)
	var list []struct{ Name, Password string }
	require.NoError(t, json.Unmarshal([]byte(s.stdout), &list))
	require.Len(t, list, 2)
	require.Equal(t, "keyring", list[1].Password)

	// Another name keeps the password; a context that is removed takes it along.
	s.run(exit.CodeOK, "context", "rename", "dev", "local")
	s.run(exit.CodeOK, "context", "current")
	require.Equal(t, "local\n", s.stdout)
	s.run(exit.CodeOK, "context", "test")
	f, err := contexts.Read()
	require.NoError(t, err)
	c, err := f.Get("local")
	require.NoError(t, err)
	entry := strings.TrimPrefix(c.Password, "keyring:")
	_, err = keyring.Get("jobagent", entry)
	require.NoError(t, err)
	s.run(exit.CodeOK, "context", "rm", "local")
	_, err = keyring.Get("jobagent", entry)
	require.ErrorIs(t, err, keyring.ErrNotFound)
	s.run(exit.CodeUsage, "job", "list")
	require.Contains(t, s.stderr, "there are prod")

	// What is changed keeps the rest; the password that is not used any more is forgotten.
	entry = strings.TrimPrefix(mustGet(t, "prod").Password, "keyring:")
	t.Setenv("TEST_PASSWORD", server.Password)
	s.run(exit.CodeOK, "context", "update", "prod", "--password-ref", "env:TEST_PASSWORD", "--production=false")
	_, err = keyring.Get("jobagent", entry)
	require.ErrorIs(t, err, keyring.ErrNotFound)
	s.run(exit.CodeOK, "job", "create", "k", "--context", "prod")
	require.Empty(t, s.stderr)
	s.run(exit.CodeUsage, "context", "update", "prod")
}

// mustGet returns a context of the file.
func mustGet(t *testing.T, name string) contexts.Context {
	t.Helper()
	f, err := contexts.Read()
	require.NoError(t, err)
	c, err := f.Get(name)
	require.NoError(t, err)
	return c
}

// The first of --dsn, --context, JOBAGENT_DSN, JOBAGENT_CONTEXT, the configuration file and the
// current context gives the control database.
func TestPrecedence(t *testing.T) {
	s := newShell(t)
	dir := t.TempDir()
	settings := filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(settings, []byte(`{"dsn": "sqlserver://u:secret@config?database=d"}`), 0o600))
	own := filepath.Join(dir, "own.json")
	require.NoError(t, os.WriteFile(own, []byte(`{}`), 0o600))
	t.Setenv("PW", "secret")
	for _, name := range []string{"flag", "env", "current"} {
		args := []string{"context", "add", name, "--server", "server-" + name, "--database", "d", "--user", "u", "--password-ref", "env:PW"}
		if name == "current" {
			args = append(args, "--use", "--config", own)
		}
		s.run(exit.CodeOK, args...)
	}
	show := func(source, server string, args ...string) {
		t.Helper()
		s.run(exit.CodeOK, append([]string{"context", "show", "--effective", "-o", "json"}, args...)...)
		var got struct{ Source, Server, Config, ConfigSource string }
		require.NoError(t, json.Unmarshal([]byte(s.stdout), &got))
		require.Equal(t, source, got.Source)
		require.Equal(t, server, got.Server)
		require.NotContains(t, s.stdout, "secret")
	}
	show("the current context", "server-current")
	require.Contains(t, s.stdout, own)
	require.Contains(t, s.stdout, `"config_source": "the context current"`)
	t.Setenv(config.EnvConfig, settings)
	show("the configuration file", "config")
	t.Setenv(contexts.EnvContext, "env")
	show("JOBAGENT_CONTEXT", "server-env")
	t.Setenv(config.EnvDSN, "sqlserver://u:secret@variable?database=d")
	show("JOBAGENT_DSN", "variable")
	show("--context", "server-flag", "--context", "flag")
	show("--dsn", "line", "--dsn", "sqlserver://u:secret@line?database=d")
	s.run(exit.CodeUsage, "job", "list", "--dsn", "sqlserver://u:secret@line?database=d", "--context", "flag")
	require.Contains(t, s.stderr, "cannot be combined")
	s.run(exit.CodeNotFound, "job", "list", "--context", "nope")
	require.Contains(t, s.stderr, "--context: context nope does not exist; there are current, env, flag")

	for _, command := range []string{"dev", "demo"} {
		s.run(exit.CodeUsage, command, "--context", "flag")
		require.Contains(t, s.stderr, "a control database of its own")
	}

	// A broken file concerns nobody who names a database otherwise.
	require.NoError(t, os.WriteFile(os.Getenv(contexts.EnvFile), []byte("contexts: ["), 0o600))
	show("JOBAGENT_DSN", "variable")
	s.run(exit.CodeUsage, "context", "list")
	s.run(exit.CodeOK, "context", "prompt")
	require.Equal(t, "JOBAGENT_DSN", s.stdout)
	t.Setenv(config.EnvDSN, "")
	s.run(exit.CodeOK, "context", "prompt")
	require.Equal(t, "(no context)", s.stdout)
}

// Without a keyring, a password is refused with what to do; nothing is written.
func TestContextWithoutKeyring(t *testing.T) {
	keyring.MockInitWithError(os.ErrNotExist)
	s := newShell(t)
	t.Setenv("TEST_DSN", "sqlserver://u:hunter2@h?database=d")
	s.run(exit.CodeUsage, "context", "add", "a", "--dsn", "env:TEST_DSN")
	require.Contains(t, s.stderr, "--password-ref file:PATH or env:NAME")
	require.NotContains(t, s.stderr, "hunter2")
	require.NoFileExists(t, os.Getenv(contexts.EnvFile))
	s.run(exit.CodeOK, "context", "add", "a", "--dsn", "env:TEST_DSN", "--password-ref", "prompt")
	s.run(exit.CodeUsage, "job", "list", "--context", "a")
	require.Contains(t, s.stderr, "this needs a terminal")
	for _, args := range [][]string{
		{"context", "add", "$(id)", "--dsn", "env:TEST_DSN"},
		{"context", "add", "", "--dsn", "env:TEST_DSN"},
		{"context", "add", "b", "--server", "h", "--database", "d", "--password-ref", "hunter2", "--user", "u"},
		{"context", "add", "b", "--server", "h", "--database", "d", "--password-ref", "env:X"},
		{"context", "add", "b", "--server", "h", "--database", "d", "--user", "u"},
		{"context", "add", "b", "--server", "h", "--database", "d", "--encrypt", "false"},
		{"context", "add", "b", "--server", "h", "--database", "d", "--auth", "magic"},
		{"context", "add", "b", "--server", "h", "--database", "d", "--certificate-sha256", "zz"},
		{"context", "add", "b", "--server", "h", "--database", "d", "--config", "/nonexistent.json"},
		{"context", "add", "b", "--server", "h"},
		{"context", "add", "b"},
		{"context", "use"},
		{"context", "use", "a", "--none"},
		{"context", "prompt", "--shell", "tcsh"},
		{"context", "show", "a", "--effective"},
	} {
		s.run(exit.CodeUsage, args...)
		require.NotContains(t, s.stderr, "hunter2")
	}
	f, err := contexts.Read()
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, f.Names())
}

// The text for a prompt has marks around its colour.
func TestContextPrompt(t *testing.T) {
	s := newShell(t)
	s.run(exit.CodeOK, "context", "prompt")
	require.Empty(t, s.stdout)
	s.run(exit.CodeOK, "context", "add", "p", "--server", "h", "--database", "d", "--production", "--use")
	for shell, want := range map[string]string{
		"": "\x1b[1;31mp\x1b[m", "bash": "\x01\x1b[1;31m\x02p\x01\x1b[m\x02", "zsh": "%{\x1b[1;31m%}p%{\x1b[m%}",
	} {
		args := []string{"context", "prompt"}
		if shell != "" {
			args = append(args, "--shell", shell)
		}
		s.run(exit.CodeOK, args...)
		require.Equal(t, want, s.stdout)
	}
	t.Setenv("NO_COLOR", "1")
	s.run(exit.CodeOK, "context", "prompt")
	require.Equal(t, "p", s.stdout)
}

// readerFunc is an io.Reader.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// A context that another process changes while the password is typed is left as that made it.
func TestContextChangedMeanwhile(t *testing.T) {
	keyring.MockInit()
	s := newShell(t)
	s.stdin = "first\n"
	s.run(exit.CodeOK, "context", "add", "prod", "--server", "sql1", "--database", "a", "--user", "sa", "--password-ref", "keyring")
	typed := readerFunc(func(b []byte) (int, error) {
		s.stdin = "second\n"
		s.run(exit.CodeOK, "context", "update", "prod", "--database", "b", "--password-ref", "keyring")
		return copy(b, "third\n"), io.EOF
	})
	var stdout, stderr strings.Builder
	code := Run(t.Context(), []string{"context", "update", "prod", "--database", "c", "--password-ref", "keyring"}, typed, &stdout, &stderr)
	require.Equal(t, exit.CodeConflict, code, stderr.String())
	require.Contains(t, stderr.String(), "context prod was changed meanwhile")
	c := mustGet(t, "prod")
	require.Equal(t, "b", c.Database)
	password, err := contexts.Secrets{}.Password(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "second", password)
}
