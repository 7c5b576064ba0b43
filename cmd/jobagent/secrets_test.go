//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// canary returns a unique secret. It meets the rules for passwords, and has characters that URLs
// and connection strings escape.
func canary(name string) string {
	return "Canary-" + name + "-7@" + strings.ReplaceAll(uuid.NewString(), "-", "")
}

// spellings returns the forms in which a secret could be written: plain and escaped, in UTF-8 and
// in UTF-16.
func spellings(secret string) (list [][]byte) {
	for _, text := range []string{secret, url.QueryEscape(secret), url.UserPassword("", secret).String()[1:]} {
		var wide []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			wide = append(wide, byte(unit), byte(unit>>8))
		}
		list = append(list, []byte(text), wide)
	}
	return list
}

// findCanaries returns the names of the secrets that a text contains.
func findCanaries(text []byte, secrets map[string]string) (found []string) {
	for name, secret := range secrets {
		if slices.ContainsFunc(spellings(secret), func(s []byte) bool { return bytes.Contains(text, s) }) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

func TestFindCanaries(t *testing.T) {
	secrets := map[string]string{"a": canary("a"), "b": canary("b")}
	for i, s := range spellings(secrets["b"]) {
		require.Equal(t, []string{"b"}, findCanaries(append([]byte("x"), s...), secrets), "spelling %d", i)
	}
	require.Empty(t, findCanaries([]byte("Canary-a-7@"), secrets))
}

// canaryServer is a server and an agent whose secrets are all canaries.
type canaryServer struct {
	t       *testing.T
	dir     string
	data    string
	secrets map[string]string
	written map[string]*processOutput // output of the processes, by name
	address string
	// endpoint receives actions and answers with the headers of the request. received are the
	// values of its header X-Named.
	endpoint *httptest.Server
	received chan [2]string
}

// processOutput records the output of a process.
type processOutput struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (o *processOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	return len(p), nil
}

// String returns the recorded output.
func (o *processOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// start starts the command as a process and records its output.
func (h *canaryServer) start(name string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"--log-level", "debug"}, args...)...)
	cmd.Env = append(append(os.Environ(), envBeCommand+"=1"), env...)
	out := &processOutput{}
	h.written[name] = out
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(h.t, cmd.Start())
	h.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	return cmd
}

// dsn returns a connection string of the server.
func (h *canaryServer) dsn(user, password, database string) string {
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(user, password), Host: h.address,
		RawQuery: url.Values{"database": {database}, "encrypt": {"true"}, "TrustServerCertificate": {"true"}}.Encode()}
	return u.String()
}

// No secret is written: neither to a log at level debug, nor to an output, to a trace of all
// goroutines, or to a file of the server. The only exception is sa's own password, in the file from
// which dev reads it at the next start. Meanwhile, runs succeed, and fail in all ways that concern
// a credential.
func TestSecretsAreWrittenNowhere(t *testing.T) {
	t.Parallel()
	h := &canaryServer{t: t, dir: t.TempDir(), data: t.TempDir(), written: map[string]*processOutput{},
		secrets: map[string]string{}}
	for _, name := range []string{"sa", "agent", "env", "file", "wrong", "scoped", "sealed", "named"} {
		h.secrets[name] = canary(name)
	}
	h.openEndpoint()
	configFile, environment := h.configure()
	// Dev's own agent may claim any of the tasks, so it needs the same credentials.
	server := h.start("dev", append(environment, dev.EnvSAPassword+"="+h.secrets["sa"]), "dev", "--listen", "127.0.0.1:0",
		"--data", h.data, "-o", "json", "--config", configFile)
	h.address = h.readyAddress()
	control, err := sql.Open("sqlserver", h.dsn("sa", h.secrets["sa"], embedded.ControlDatabase))
	require.NoError(t, err)
	defer control.Close()
	for _, batch := range []string{
		"CREATE DATABASE tenant;",
		"CREATE LOGIN agent WITH PASSWORD = '" + h.secrets["agent"] +
			"'; CREATE USER agent; ALTER ROLE jobs_agent ADD MEMBER agent;",
		"CREATE LOGIN runner WITH PASSWORD = '" + h.secrets["env"] + "'; CREATE LOGIN keeper WITH PASSWORD = '" +
			h.secrets["file"] + "';",
		"EXECUTE tenant.sys.sp_executesql N'CREATE USER runner; ALTER ROLE db_owner ADD MEMBER runner; CREATE USER keeper;';",
		"CREATE MASTER KEY ENCRYPTION BY PASSWORD = '" + h.secrets["scoped"] +
			"'; CREATE DATABASE SCOPED CREDENTIAL scoped WITH IDENTITY = 'x', SECRET = '" + h.secrets["scoped"] + "';",
	} {
		_, err := control.ExecContext(t.Context(), batch)
		require.NoError(t, err, "a batch that makes logins")
	}
	agent := h.start("agent", append(environment, "AGENT_DSN="+h.dsn("agent", h.secrets["agent"],
		embedded.ControlDatabase)), "run", "--config", configFile)
	h.sealSecret()
	h.runJobs()
	h.failCommands()
	// A trace of all goroutines, while connections are open.
	require.NoError(t, agent.Process.Signal(syscall.SIGQUIT))
	_ = agent.Wait() // with exit code 2
	require.Contains(t, h.written["agent"].String(), "goroutine ", "a trace was written")
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait())

	for name, out := range h.written {
		require.Empty(t, findCanaries([]byte(out.String()), h.secrets), "written by %s", name)
	}
	files, kept := 0, filepath.Join(h.data, "sa-password")
	require.NoError(t, filepath.WalkDir(h.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if path == kept {
			require.Equal(t, h.secrets["sa"], strings.TrimSuffix(string(text), "\n"))
			info, err := d.Info()
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode())
		} else {
			require.Empty(t, findCanaries(text, h.secrets), "in the file %s", path)
		}
		files++
		return nil
	}))
	require.Greater(t, files, 3)
	require.FileExists(t, kept)
}

// readyAddress waits for the first line of dev and returns the address.
func (h *canaryServer) readyAddress() string {
	var ready struct{ Address string }
	eventually(h.t, 20*time.Second, "dev is ready", func() bool {
		for line := range strings.Lines(h.written["dev"].String()) {
			if strings.Contains(line, `"control_database"`) && json.Unmarshal([]byte(line), &ready) == nil {
				return true
			}
		}
		return false
	})
	return ready.Address
}

// keyFile is the file with the private key of sealed secrets.
func (h *canaryServer) keyFile() string { return filepath.Join(h.dir, "private.key") }

// openEndpoint starts the endpoint.
func (h *canaryServer) openEndpoint() {
	h.received = make(chan [2]string, 10)
	h.endpoint = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.received <- [2]string{r.Header.Get("Authorization"), r.Header.Get("X-Named")}
		w.Header().Set("X-Request-Id", r.Header.Get("X-Named"))
		fmt.Fprintf(w, "you sent %v", r.Header)
	}))
	h.t.Cleanup(h.endpoint.Close)
}

// sealSecret makes a key and seals a secret for it, by commands.
func (h *canaryServer) sealSecret() {
	environment := []string{
		config.EnvDSN + "=" + h.dsn("sa", h.secrets["sa"], embedded.ControlDatabase), "SEALED_VALUE=" + h.secrets["sealed"],
	}
	for _, line := range []string{"key generate " + h.keyFile(), "secret set sealed --host 127.0.0.1 --from env:SEALED_VALUE", "secret list", "key list"} {
		require.NoError(h.t, h.start(line, environment, strings.Fields(line)...).Wait(), h.written[line])
	}
	text, err := os.ReadFile(h.keyFile())
	require.NoError(h.t, err)
	_, private, ok := strings.Cut(strings.TrimSpace(string(text)), ":")
	require.True(h.t, ok)
	h.secrets["private key"] = private
}

// configure writes a configuration with secrets by all kinds of references. It returns the path and
// the environment.
func (h *canaryServer) configure() (path string, environment []string) {
	const server = "127.0.0.1"
	secretFile := filepath.Join(h.dir, "secret")
	require.NoError(h.t, os.WriteFile(secretFile, []byte(h.secrets["file"]+"\n"), 0o600))
	cfg := map[string]any{
		"dsn":     "env:AGENT_DSN",
		"targets": map[string]any{"trust_server_certificate": true, "default_credential": "runner", "connect_timeout": "5s"},
		"credentials": []map[string]any{
			{"name": "runner", "servers": []string{server}, "user": "runner", "secret": "env:RUNNER_SECRET"},
			{"name": "keeper", "servers": []string{server}, "user": "keeper", "secret": "file:" + secretFile},
			{"name": "wrong", "servers": []string{server}, "user": "runner", "secret": "env:WRONG_SECRET"},
			{"name": "missing", "servers": []string{server}, "user": "runner", "secret": "env:NO_SUCH_SECRET"},
			{"name": "elsewhere", "servers": []string{"other.example.com"}, "user": "runner", "secret": "env:RUNNER_SECRET"},
		},
		"secret_keys": []string{"file:" + h.keyFile()},
		"secrets":     map[string]string{"named": "env:NAMED_SECRET", "unset": "env:NO_SUCH_SECRET"},
		"outbound":    map[string]any{"allow": []string{"127.0.0.0/8"}, "allow_ports": []int{h.endpoint.Listener.Addr().(*net.TCPAddr).Port}},
	}
	text, err := json.Marshal(cfg)
	require.NoError(h.t, err)
	path = filepath.Join(h.dir, "config.json")
	require.NoError(h.t, os.WriteFile(path, text, 0o600))
	return path, []string{
		"RUNNER_SECRET=" + h.secrets["env"], "WRONG_SECRET=" + h.secrets["wrong"], "NAMED_SECRET=" + h.secrets["named"],
	}
}

// runJobs runs one job for each use of a credential, until all have ended.
func (h *canaryServer) runJobs() {
	t := h.t
	store, err := controldb.Open(t.Context(), controldb.Config{DSN: h.dsn("sa", h.secrets["sa"],
		embedded.ControlDatabase)})
	require.NoError(t, err)
	defer store.Close()
	server := strings.Replace(h.address, ":", ",", 1)
	for group, member := range map[string]targets.Member{
		"tenant": {Server: server, Database: "tenant"},
		"nobody": {Server: "127.0.0.1,1", Database: "tenant"},
		"absent": {Server: server, Database: "no such database"},
	} {
		_, err := targetgroups.On(store).Add(t.Context(), group)
		require.NoError(t, err)
		member.Membership, member.Kind = targets.Include, targets.SQLDatabase
		_, err = targetgroups.On(store).AddMember(t.Context(), group, member)
		require.NoError(t, err)
	}
	none := 0
	post := func(secret string) string {
		return fmt.Sprintf(`{"method": "POST", "url": %q, "allow_http": true,
			"headers": {"Authorization": "Bearer $(secret.%s)", "X-Named": "$(secret.named)"}, "body": "x"}`, h.endpoint.URL, secret)
	}
	for i, j := range []struct{ group, credential, command, want string }{
		{"", "", post("sealed"), "Succeeded"},
		{"", "", post("absent"), "Failed"},
		{"", "", post("unset"), "Failed"},
		{"tenant", "", "SELECT 1;", "Succeeded"},
		{"tenant", "", "THROW 50001, N'no luck', 1;", "Failed"},
		{"tenant", "keeper", "SELECT 1;", "Succeeded"},
		{"tenant", "wrong", "SELECT 1;", "Failed"},
		{"tenant", "missing", "SELECT 1;", "Failed"},
		{"tenant", "unknown", "SELECT 1;", "Failed"},
		{"tenant", "elsewhere", "SELECT 1;", "Failed"},
		{"nobody", "wrong", "SELECT 1;", "Failed"},
		{"absent", "", "SELECT 1;", "Failed"},
	} {
		name := fmt.Sprintf("job %d", i)
		_, err := catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: name})
		require.NoError(t, err)
		spec := model.StepSpec{JobName: name, TargetGroup: new(j.group), Command: new(j.command), RetryAttempts: &none}
		if j.group == "" {
			action := "Http"
			spec.CommandType = &action
		}
		if j.credential != "" {
			spec.Credential = &j.credential
		}
		_, err = catalog.On(store).AddJobStep(t.Context(), spec)
		require.NoError(t, err)
		id, err := executions.On(store).StartJob(t.Context(), name, uuid.Nil)
		require.NoError(t, err)
		eventually(t, 30*time.Second, name+" ends", func() bool {
			rows, err := executions.On(store).List(t.Context(), executions.Query{ID: id}, controldb.Page[executions.Key]{})
			if err != nil || len(rows) != 1 || rows[0].Active {
				return false
			}
			require.Equal(t, j.want, string(rows[0].Lifecycle), "%+v: %s", j, rows[0].LastMessage)
			return true
		})
	}
	require.Len(t, h.received, 1, "requests without a secret are not sent")
	require.Equal(t, [2]string{"Bearer " + h.secrets["sealed"], h.secrets["named"]}, <-h.received)
}

// failCommands runs commands with invalid or unusable connection strings, each with a secret.
func (h *canaryServer) failCommands() {
	secret := h.secrets["wrong"]
	for i, dsn := range []string{
		h.dsn("sa", secret, embedded.ControlDatabase),
		h.dsn("sa", h.secrets["sa"], "no such database"),
		"sqlserver://sa:" + secret + "@" + h.address + ":99999?database=x",
		"sqlserver://sa:" + secret + "@[::1?database=x",
		"sqlserver://sa:" + url.QueryEscape(secret) + "@127.0.0.1:1?database=x&dial+timeout=1",
		"sqlserver://sa:%zz" + secret + "@127.0.0.1",
		"server=127.0.0.1;user id=sa;password=" + secret + ";encrypt=perhaps",
		"server=127.0.0.1;user id=sa;password={" + secret + ";database=x",
		"odbc:server=127.0.0.1;uid=sa;pwd=" + secret + "};port=abc",
		"Server=127.0.0.1;Password=" + secret + ";packet size=lots",
		secret,
	} {
		for _, args := range [][]string{{"job", "list"}, {"db", "verify"}, {"doctor"}, {"job", "start", "x", "-o", "json"}} {
			name := fmt.Sprintf("%s with connection string %d", strings.Join(args, " "), i)
			ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
			cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"--log-level", "debug"}, args...)...)
			cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"="+dsn)
			out, err := cmd.CombinedOutput()
			cancel()
			require.Error(h.t, err, name)
			h.written[name] = &processOutput{text: out}
		}
	}
}
