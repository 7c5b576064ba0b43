//go:build linux

package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// What TestSystemd needs; .ci/systemd makes both.
const (
	envSystemdRoot    = "JOBAGENT_TEST_SYSTEMD_ROOT"    // a Debian root, which the test does not change
	envSystemdPackage = "JOBAGENT_TEST_SYSTEMD_PACKAGE" // the package of a release
)

// systemdTime limits the trial in the container.
const systemdTime = 3 * time.Minute

// systemdScript runs inside the container, in the folder that it shares with the test.
//
//go:embed testdata/systemd.sh
var systemdScript []byte

// systemdUnit runs the script and turns the container off.
const systemdUnit = `[Unit]
After=dbus.service
[Service]
Type=oneshot
ExecStart=/bin/bash /trial/systemd.sh
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=file:/trial/log
StandardError=inherit
`

// TestSystemd boots Debian in a container (systemd-nspawn), installs the package as PRODUCTION.md
// says, and runs both units as they are shipped: the agent carries out a job, is restarted after a
// kill and by the watchdog, refuses a wrong password and an invalid configuration, and stops.
func TestSystemd(t *testing.T) {
	root, pack := os.Getenv(envSystemdRoot), os.Getenv(envSystemdPackage)
	if root == "" || pack == "" {
		t.Skip("no Debian to boot: run bash .ci/systemd as root")
	}
	dir, data := t.TempDir(), t.TempDir()
	server := startDev(t, data, "127.0.0.1:0")
	store := systemdControl(t, server)
	systemdFiles(t, dir, data, pack, server)
	container := bootSystemd(t, root, dir)
	await := func(name string) string {
		t.Helper()
		var text []byte
		for limit := time.Now().Add(systemdTime); ; pause(50 * time.Millisecond) {
			var err error
			if text, err = os.ReadFile(filepath.Join(dir, "out", name)); err == nil {
				return string(text)
			}
			select {
			case <-container:
				t.Fatalf("the container ended before the result %q", name)
			default:
				require.Less(t, time.Now(), limit, "the container has no result %q", name)
			}
		}
	}

	require.Empty(t, await("verify"), "systemd-analyze verify")
	for _, unit := range []string{"jobagent", "jobagent-serve"} {
		level := regexp.MustCompile(`exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(await("security-" + unit))
		require.NotNil(t, level)
		exposure, err := strconv.ParseFloat(level[1], 64)
		require.NoError(t, err)
		require.Less(t, exposure, 2.0, unit)
		t.Logf("systemd-analyze security %s: %s", unit, level[1])
	}
	require.Equal(t, "0\nactive\n", await("started"))
	run, err := executions.On(store).StartJob(t.Context(), "j", uuid.New())
	require.NoError(t, err)
	eventually(t, time.Minute, "the agent in the container runs the job", func() bool {
		rows, err := executions.On(store).Rows(t.Context(), run)
		return err == nil && len(rows) > 0 && !rows[0].Active
	})
	rows, err := executions.On(store).Rows(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, "Succeeded", string(rows[0].Lifecycle), rows[0].LastMessage)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go-on"), nil, 0o600))

	require.Equal(t, "1\nactive\n", await("killed"), "a killed agent is restarted")
	require.Equal(t, "1\nactive\n", await("hung"), "the watchdog restarts a hung agent")
	hung := await("hung-log")
	require.Contains(t, hung, "Watchdog timeout")
	require.Contains(t, hung, "goroutine ", "the journal has what the hung agent did")
	require.Equal(t, "0\ninactive\n", await("stopped"))
	require.Contains(t, await("stopped-log"), "agent stopped")
	refused := await("refused-log")
	require.NotEqual(t, "0", strings.TrimSpace(await("refused")), "a wrong password fails the start")
	require.Contains(t, refused, "Login failed for user 'jobagent'")
	require.Equal(t, "1\nfailed 0\n", await("invalid"), "an invalid configuration is not tried again")
	require.Equal(t, "0\nactive\n", await("served"))
	require.Equal(t, "200\n", await("ready"), "/readyz of the front")
	require.Equal(t, "0\n", await("removed"))
	select {
	case <-container:
	case <-time.After(time.Minute):
		t.Fatal("the container did not end")
	}
	all, err := os.ReadFile(filepath.Join(dir, "out", "journal"))
	require.NoError(t, err)
	require.NotContains(t, string(all), systemdPassword)
}

const systemdPassword = "Canary!Systemd7"

// systemdControl creates a control database with a job, and the logins of PRODUCTION.md.
func systemdControl(t *testing.T, server *devProcess) *controldb.Store {
	t.Helper()
	master := server.open(t, "master")
	for _, name := range []string{"jobs_production", "tenant"} {
		server.create(t, master, name)
	}
	store := server.storeOf(t, "jobs_production")
	require.NoError(t, deploy.On(store).Install(t.Context()))
	databases := map[string][]string{"jobagent": {"jobs_production"}, "jobagent_front": {"jobs_production"}, "jobuser": {"tenant"}}
	for login, role := range map[string]string{"jobagent": "jobs_agent", "jobagent_front": "jobs_front", "jobuser": "target"} {
		text := runOut(t, "db", "grants", "--login", login, "--role", role)
		parts := regexp.MustCompile(`(?m)^-- \d\. .*$`).Split(strings.ReplaceAll(text, "<password>", systemdPassword), -1)
		_, err := master.ExecContext(t.Context(), parts[1])
		require.NoError(t, err)
		for _, name := range databases[login] {
			_, err := server.open(t, name).ExecContext(t.Context(), parts[2])
			require.NoError(t, err)
		}
	}
	_, err := targetgroups.On(store).Add(t.Context(), "g")
	require.NoError(t, err)
	_, err = targetgroups.On(store).AddMember(t.Context(), "g", targets.Member{Kind: targets.SQLDatabase, Membership: targets.Include,
		Server: strings.Replace(server.address, ":", ",", 1), Database: "tenant"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "j"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{JobName: "j", Command: new("SELECT 1;"), TargetGroup: new("g")})
	require.NoError(t, err)
	return store
}

// runOut runs a command of this program and returns what it prints.
func runOut(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), envBeCommand+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return string(out)
}

// systemdFiles writes what the container gets: the package, the script, configurations and secrets.
func systemdFiles(t *testing.T, dir, data, pack string, server *devProcess) {
	t.Helper()
	write := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	copied := func(name, from string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		write(name, text)
	}
	dsn := func(login, password string) []byte {
		return fmt.Appendf(nil, "sqlserver://%s:%s@%s?database=jobs_production&certificate_sha256=%s\n", login, password, server.address, server.pin)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "out"), 0o700))
	write("systemd.sh", systemdScript)
	write("trial.service", []byte(systemdUnit))
	copied("jobagent.deb", pack)
	write("control-dsn", dsn("jobagent", systemdPassword))
	write("wrong-dsn", dsn("jobagent", systemdPassword+"x"))
	write("serve-dsn", dsn("jobagent_front", systemdPassword))
	write("job-password", []byte(systemdPassword))
	copied("tls.crt", server.trusted)
	copied("tls.key", filepath.Join(data, dev.KeyFile))
	runOut(t, "token", "create", "ci", "--role", "operator", "--scope", "/", "--file", filepath.Join(dir, "tokens.json"))
	// The files that are shipped, with the servers of this test.
	var agent, front map[string]any
	require.NoError(t, json.Unmarshal([]byte(deployed(t, "jobagent.json")), &agent))
	agent["credentials"].([]any)[0].(map[string]any)["servers"] = []string{"*"}
	agent["targets"].(map[string]any)["certificate_sha256"] = []string{server.pin}
	agent["metrics"] = map[string]any{"listen": "127.0.0.1:0"}
	require.NoError(t, json.Unmarshal([]byte(deployed(t, "jobagent-serve.json")), &front))
	front["rest"].(map[string]any)["listen"] = freePort(t)
	front["metrics"] = map[string]any{"listen": "127.0.0.1:0"}
	for name, file := range map[string]map[string]any{"jobagent.json": agent, "jobagent-serve.json": front} {
		text, err := json.Marshal(file)
		require.NoError(t, err)
		write(name, text)
	}
	write("address", []byte(front["rest"].(map[string]any)["listen"].(string)))
}

// bootSystemd boots a container whose changes are discarded. The channel is closed when it has
// ended.
func bootSystemd(t *testing.T, root, dir string) <-chan struct{} {
	t.Helper()
	cmd := exec.Command("systemd-nspawn", "--quiet", "--directory", root, "--volatile=overlay", "--boot", "--register=no", "--keep-unit",
		"--bind", dir+":/trial", "--bind-ro", filepath.Join(dir, "trial.service")+":/etc/systemd/system/trial.service", "systemd.wants=trial.service")
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	console, err := pty.Start(cmd)
	require.NoError(t, err)
	var log bytes.Buffer
	ended := make(chan struct{})
	go func() { // ends with the container
		defer close(ended)
		_, _ = io.Copy(&log, console) // a closed terminal is an error
		_ = cmd.Wait()                // the results tell what happened
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
		_ = console.Close()
		if t.Failed() {
			script, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("console:\n%s\nscript:\n%s", log.String()[max(0, log.Len()-4000):], script)
		}
	})
	return ended
}
