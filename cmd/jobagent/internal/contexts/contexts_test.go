package contexts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/mssql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// useFile makes contexts use a file in a directory of the test.
func useFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config", "contexts.yaml")
	t.Setenv(contexts.EnvFile, path)
	return path
}

// put adds a context to the file.
func put(c contexts.Context) error {
	return contexts.Update(func(f *contexts.File) error { return f.Put(c, false) })
}

// The file is where the user's configuration is, and only the user may read it.
func TestFileIsPrivate(t *testing.T) {
	home := t.TempDir()
	t.Setenv(contexts.EnvFile, "")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	path, err := contexts.Path()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(path, home), path)
	f, err := contexts.Read()
	require.NoError(t, err)
	require.Empty(t, f.Contexts)
	require.NoError(t, put(contexts.Context{Name: "a", Server: "s", Database: "d"}))
	for file, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, path + ".lock": 0o600} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), file)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A file that others may write is not read: they would choose where passwords are sent.
func TestWritableFileIsRefused(t *testing.T) {
	path := useFile(t)
	require.NoError(t, put(contexts.Context{Name: "a", Server: "s", Database: "d"}))
	for _, c := range []struct {
		file string
		mode os.FileMode
		want string
	}{
		{path, 0o620, "other users may write"}, {path, 0o602, "other users may write"}, {path, 0o602 | os.ModeSticky, "other users may write"},
		{filepath.Dir(path), 0o770, "other users may write"},
		{path, 0o644, ""}, {filepath.Dir(path), 0o755, ""},
	} {
		before, err := os.Stat(c.file)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(c.file, c.mode))
		_, err = contexts.Read()
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
			require.Equal(t, exit.CodeUsage, exit.Code(err))
			require.Error(t, put(contexts.Context{Name: "b", Server: "s", Database: "d"}))
		}
		require.NoError(t, os.Chmod(c.file, before.Mode()))
	}
}

// Files that somebody wrote by hand, or damaged.
func TestInvalidFiles(t *testing.T) {
	path := useFile(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for text, want := range map[string]string{
		"contexts: [{name: a, server: s, database: d, password: hunter2, user: u}]":          "invalid reference to the password",
		"contexts: [{name: a, server: s, database: d, passwd: x}]":                           "unknown field",
		"contexts: [{name: a, server: s, database: d}, {name: A, server: s, database: d}]":   "the name A is there twice",
		"contexts: [{name: \"a\\e[31m\", server: s, database: d}]":                           "invalid name of a context",
		"contexts: [{name: a, server: \"s;user=x\", database: d}]":                           "invalid server name",
		"contexts: [{name: a, server: s, database: \"d\\e]0;x\"}]":                           "control characters",
		"contexts: [{name: a, server: s, database: d, color: mauve}]":                        "invalid colour",
		"contexts: [{name: a, server: s, database: d, config: rel.json}]":                    "not absolute",
		"contexts: [{name: a, server: s, database: d, parameters: {clientcertpassword: x}}]": "would be a secret in the file",
		"current: gone\ncontexts: [{name: a, server: s, database: d}]":                       "the current context is not in the list",
		"contexts: [":                      "contexts in",
		strings.Repeat("# long\n", 200000): "larger than",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := contexts.Read()
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "\n")
		require.Equal(t, exit.CodeUsage, exit.Code(err), text)
	}
	for _, text := range []string{"", "# nothing\n", "contexts: []\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := contexts.Read()
		require.NoError(t, err, text)
	}
}

// Processes that add contexts at the same time lose none.
func TestConcurrentWrites(t *testing.T) {
	useFile(t)
	const n = 40
	var wg sync.WaitGroup
	errs := make(chan error, 2*n)
	for i := range n {
		wg.Go(func() {
			errs <- put(contexts.Context{Name: fmt.Sprintf("c%d", i), Server: "s", Database: "d"})
		})
		wg.Go(func() {
			_, err := contexts.Read()
			errs <- err
		})
	}
	wg.Wait()
	for range 2 * n {
		require.NoError(t, <-errs)
	}
	f, err := contexts.Read()
	require.NoError(t, err)
	require.Len(t, f.Contexts, n)
}

// A link to the file, as tools for dotfiles make it, stays a link.
func TestLinkStays(t *testing.T) {
	path := useFile(t)
	target := filepath.Join(t.TempDir(), "target.yaml")
	require.NoError(t, os.WriteFile(target, nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.Symlink(target, path))
	require.NoError(t, put(contexts.Context{Name: "a", Server: "s", Database: "d"}))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	f, err := contexts.Read()
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, f.Names())
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "prod-1", "x.y_z@w", "A9", strings.Repeat("n", 64)} {
		require.NoError(t, contexts.CheckName(name), name)
	}
	for _, name := range []string{
		"", "-rf", ".hidden", "a b", "a/b", "../x", "a\nb", "a\x1b[31m", "$(id)", "`id`", "%n", "ü", "a\u202eb", "a\x00", "\xff", strings.Repeat("n", 65),
	} {
		require.Equal(t, exit.CodeUsage, exit.Code(contexts.CheckName(name)), "%q", name)
	}
}

// A connection string that is taken apart makes the same connection again.
func TestDSNRoundTrip(t *testing.T) {
	t.Parallel()
	pin := strings.Repeat("ab", 32)
	for _, c := range []struct{ text, server, password string }{
		{"sqlserver://sa:p%40ss%3Aw@h:1444?database=jobs&app+name=x", "h,1444", "p@ss:w"},
		{`sqlserver://u:p@h/inst?database=jobs&encrypt=strict`, `h\inst`, "p"},
		{"sqlserver://u:p@[::1]:1433?database=jobs&certificate_sha256=" + pin, "::1,1433", "p"},
		{"server=h,1500;user id=u;password=p;database=jobs;encrypt=disable", "h,1500", "p"},
		{"sqlserver://x.database.windows.net?database=jobs&fedauth=ActiveDirectoryDefault", "x.database.windows.net", ""},
	} {
		got, password, err := contexts.FromDSN(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.server, got.Server)
		require.Equal(t, c.password, password)
		require.NotContains(t, fmt.Sprintf("%+v", got), "p%40ss")
		want, err := mssql.ParseDSN(c.text)
		require.NoError(t, err)
		again, err := mssql.ParseDSN(got.URL(password))
		require.NoError(t, err, got.URL(""))
		require.Equal(t, want.Encryption.Pins(), again.Encryption.Pins())
		require.Equal(t, want.Encryption.Plain(), again.Encryption.Plain())
		w, a := want.Params, again.Params
		require.Equal(t, []any{w.Host, w.Instance, w.Port, w.Database, w.User, w.Password, w.AppName, w.Parameters["fedauth"]},
			[]any{a.Host, a.Instance, a.Port, a.Database, a.User, a.Password, a.AppName, a.Parameters["fedauth"]}, c.text)
	}
	for _, text := range []string{"postgres://x", "sqlserver://u:secret@h?database=d&encrypt=sometimes", "sqlserver://h?database=d&fedauth=Magic"} {
		_, _, err := contexts.FromDSN(text)
		require.Equal(t, exit.CodeUsage, exit.Code(err), text)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"h": "h", "h,1433": "h,1433", "h:1433": "h,1433", `h\i`: `h\i`, "tcp:h,1": "h,1", "[::1]:5": "::1,5", "::1,5": "::1,5",
	} {
		c, err := contexts.Context{Server: name}.Normalize()
		require.NoError(t, err, name)
		require.Equal(t, want, c.Server)
	}
	for _, name := range []string{"", "h,", "h,x", "h,70000", `h\`, `h\i,1`, "h;x=1", "a b", "h/x", "user@h", "h?x=1", "h#x", "h\x1b", "*"} {
		_, err := contexts.Context{Server: name}.Normalize()
		require.Error(t, err, "%q", name)
	}
}

func TestRenameAndRemove(t *testing.T) {
	t.Parallel()
	f := contexts.File{}
	for _, name := range []string{"a", "b"} {
		require.NoError(t, f.Put(contexts.Context{Name: name, Server: "s", Database: "d"}, false))
	}
	f.Current = "a"
	require.Equal(t, exit.CodeConflict, exit.Code(f.Put(contexts.Context{Name: "A", Server: "s", Database: "d"}, false)))
	require.Equal(t, exit.CodeConflict, exit.Code(f.Rename("a", "B")))
	require.Equal(t, exit.CodeNotFound, exit.Code(f.Rename("x", "y")))
	require.NoError(t, f.Rename("a", "A")) // another case only
	require.Equal(t, "A", f.Current)
	require.NoError(t, f.Rename("a", "c"))
	require.Equal(t, "c", f.Current)
	_, err := f.Remove("b")
	require.NoError(t, err)
	require.Equal(t, "c", f.Current)
	_, err = f.Remove("C")
	require.NoError(t, err)
	require.Empty(t, f.Current)
}

func TestKeyring(t *testing.T) {
	keyring.MockInit()
	var s contexts.Secrets
	ref, err := s.Store(t.Context(), "prod", "hunter2")
	require.NoError(t, err)
	require.Regexp(t, `^keyring:prod-[a-z0-9]{8}$`, ref)
	c := contexts.Context{Name: "prod", Server: "s", Database: "d", User: "u", Password: ref}
	require.NoError(t, c.Check())
	got, err := s.Password(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "hunter2", got)
	require.NoError(t, s.Forget(t.Context(), c))
	require.NoError(t, s.Forget(t.Context(), c), "a second time")
	_, err = s.Password(t.Context(), c)
	require.ErrorContains(t, err, "the keyring has no password for context prod")

	keyring.MockInitWithError(errors.New("no D-Bus"))
	_, err = s.Store(t.Context(), "prod", "hunter2")
	require.ErrorIs(t, err, contexts.ErrNoKeyring)
	require.ErrorContains(t, err, "no D-Bus")
	require.NotContains(t, err.Error(), "hunter2")
}

// A keyring that does not answer does not keep a command, and a person learns what is waited for.
func TestKeyringHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		told := 0
		s := contexts.Secrets{Notice: func() { told++ }}
		began := time.Now()
		_, err := contexts.Ask(s, t.Context(), func() (string, error) {
			<-release
			return "", nil
		})
		require.ErrorIs(t, err, contexts.ErrNoKeyring)
		require.Equal(t, contexts.DefaultKeyringLimit, time.Since(began))
		require.Equal(t, 1, told)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = contexts.Ask(s, ctx, func() (string, error) {
			<-release
			return "", nil
		})
		require.ErrorIs(t, err, context.Canceled)
		close(release)
	})
}

func TestReferences(t *testing.T) {
	c := contexts.Context{Name: "a", Server: "s", Database: "d", User: "u", Password: "env:JOBAGENT_TEST_CONTEXT"}
	var s contexts.Secrets
	_, err := s.Password(t.Context(), c)
	require.ErrorContains(t, err, "JOBAGENT_TEST_CONTEXT is not set")
	t.Setenv("JOBAGENT_TEST_CONTEXT", "p w")
	got, err := s.Password(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "p w", got)
	c.Password = contexts.RefPrompt
	_, err = s.Password(t.Context(), c)
	require.ErrorContains(t, err, "this needs a terminal")
	s.Prompt = func(context.Context, contexts.Context) (string, error) { return "typed", nil }
	got, err = s.Password(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "typed", got)
}
