package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/rollouts"
)

// plan is a canary, two more after an approval, and a wave without a target.
const plan = `{"waves": [
 {"name": "canary", "targets": 1, "order": "name"},
 {"name": "two", "targets": 2, "order": "name", "approval": true},
 {"name": "none", "names": ["nowhere/nothing"]}
], "deadline_seconds": 3600}`

// TestRolloutCommands: a roll-out by the command line, from the hold to its end, and one whose gate
// fails.
func TestRolloutCommands(t *testing.T) {
	t.Parallel()
	server := clitest.Server(t)
	dir := t.TempDir()
	require.NoError(t, server.WriteConfig(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, embedded.TargetPasswordFile), []byte(server.TargetPassword), 0o600))
	at := []string{"--dsn", server.DSN(embedded.ControlDatabase), "--config", filepath.Join(dir, embedded.ConfigFile)}
	servers, err := server.OpenServers(t.Context())
	require.NoError(t, err)
	defer servers.Close()
	tools, err := connect.NewTools(t.Context(), server.Store, servers)
	require.NoError(t, err)
	stop, _ := daemon.Start(t.Context(), agent.Config{Grace: -1, PollActive: 20 * time.Millisecond, PollIdle: 50 * time.Millisecond}, server.Store, tools, zap.NewNop())
	defer func() { require.NoError(t, stop()) }()
	control, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer control.Close()
	for i := range 4 {
		_, err := control.ExecContext(t.Context(), fmt.Sprintf("CREATE DATABASE tenant_%d;", i))
		require.NoError(t, err)
	}

	run := func(words ...string) (code int, stdout, stderr string) {
		t.Helper()
		var out, errs strings.Builder
		code = cli.Run(t.Context(), slices.Concat(at, words), strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	must := func(words ...string) (stdout string) {
		t.Helper()
		code, stdout, stderr := run(words...)
		require.Zero(t, code, "%q: %s%s", words, stdout, stderr)
		return stdout
	}
	detail := func(id string) (d output.RolloutDetail) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(must("rollout", "show", id, "-o", "json")), &d))
		return d
	}
	until := func(id string, state rollouts.State) {
		t.Helper()
		require.Eventually(t, func() bool {
			r, err := rollouts.On(server.Store).Get(t.Context(), uuid.MustParse(id))
			return err == nil && r.State == state
		}, 30*time.Second, 20*time.Millisecond)
	}
	must("target-group", "create", "tenants")
	for i := range 4 {
		must("target-group", "add", "tenants", "--server", server.ServerName(), "--database", fmt.Sprintf("tenant_%d", i))
	}
	must("job", "create", "migrate")
	must("step", "add", "migrate", "--target-group", "tenants", "--retry-attempts", "0", "--command", "IF DB_NAME() = N'tenant_2' AND N'$(param.fail)' = N'1' THROW 50000, N'bad tenant', 1;")

	code, _, stderr := run("rollout", "preview", "migrate", "--param", "fail=0")
	require.Equal(t, exit.CodeConflict, code)
	require.Contains(t, stderr, "has no plan")
	require.Empty(t, must("execution", "list", "-o", "name"), "nothing was started")
	require.NoError(t, catalog.On(server.Store).SetJobRollout(t.Context(), "migrate", plan, nil))
	require.Contains(t, must("job", "start", "migrate", "--no-rollout", "--param", "fail=1", "--execution-id", "00000000-0000-4000-8000-000000000009"),
		"to follow the run: jobagent execution watch ")
	code, _, stderr = run("execution", "watch", "00000000-0000-4000-8000-000000000009", "-o", "json")
	require.Equal(t, exit.CodeRunFailed, code, stderr)
	code, _, stderr = run("rollout", "show", "00000000-0000-4000-8000-000000000009")
	require.Equal(t, exit.CodeNotFound, code, stderr)

	text := must("rollout", "preview", "migrate", "--param", "fail=0")
	for _, want := range []string{
		"roll-out of migrate (version 2): 4 targets in 3 waves", "1 canary: 1 target, about ", "/tenant_0", "2 two: 2 targets, about ", ", after an approval",
		"odd: no wave selects 1 target, so nothing runs there: ", "odd: the wave 'none' has no target", "odd: the job did not succeed in its last run on 1 target: ",
		"/tenant_2 (wave 'two')", "nothing has run; the roll-out is paused",
	} {
		require.Contains(t, text, want)
	}
	id := strings.TrimSpace(must("rollout", "list", "--active", "-o", "name"))
	require.Contains(t, text, "jobagent rollout resume "+id)
	require.Equal(t, "Paused", detail(id).Rollout.State)
	require.Equal(t, "tenant_1\ntenant_2\n", must("rollout", "targets", id, "--wave", "two", "-o", "name"))
	require.Equal(t, "tenant_3\n", must("rollout", "targets", id, "--left-out", "-o", "name"))
	code, _, stderr = run("rollout", "targets", id, "--wave", "three")
	require.Equal(t, exit.CodeNotFound, code, stderr)
	must("rollout", "move", id, server.ServerName()+"/tenant_2", "--wave", "canary")
	require.Equal(t, "tenant_0\ntenant_2\n", must("rollout", "targets", id, "--wave", "canary", "-o", "name"))
	require.Contains(t, must("rollout", "resume", id[:8]), "resumed the roll-out "+id)
	until(id, rollouts.Waiting)
	code, _, stderr = run("rollout", "watch", id, "--wait-timeout", "1s", "--progress", "plain")
	require.Equal(t, exit.CodeWaitTimeout, code)
	require.Contains(t, stderr, "the roll-out waits for a person: next: The wave 'two' starts when somebody approves it")
	code, _, stderr = run("rollout", "retry", id)
	require.Equal(t, exit.CodeConflict, code, stderr)
	code, _, stderr = run("rollout", "approve", id, "--wave", "canary")
	require.Equal(t, exit.CodeConflict, code, stderr)
	require.Contains(t, must("rollout", "reject", id, "--reason", "not today"), "it is Paused\nnext: It waits until somebody resumes it")
	require.Contains(t, must("rollout", "show", id), "not today")
	must("rollout", "resume", id)
	require.Contains(t, must("rollout", "approve", id, "--wave", "two", "--note", "looked at it"), "approved the roll-out "+id+"; it is ")
	text = must("rollout", "watch", id)
	require.Contains(t, text, "roll-out of migrate (version 2)  Succeeded")
	require.Contains(t, text, "2 of 2 targets succeeded")
	require.Equal(t, "looked at it", detail(id).Waves[1].ApprovalComment)

	// A gate stops the second one.
	failing := "00000000-0000-4000-8000-00000000000a"
	require.Contains(t, must("job", "start", "migrate", "--param", "fail=1", "--hold", "--execution-id", failing), "to follow the roll-out: jobagent rollout watch "+failing)
	until(failing, rollouts.Paused)
	must("rollout", "resume", failing)
	until(failing, rollouts.Waiting)
	must("rollout", "approve", failing, "--wave", "two")
	until(failing, rollouts.Stopped)
	require.Equal(t, "tenant_2\n", must("rollout", "targets", failing, "--state", "Failed", "-o", "name"))
	require.Contains(t, must("rollout", "show", failing), "1 of 2 targets failed, and 0 may fail")
	must("rollout", "retry", failing)
	until(failing, rollouts.Stopped)
	must("rollout", "abort", failing, "--reason", "the script is wrong")
	code, stdout, stderr := run("execution", "watch", failing, "-o", "json")
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, stderr, "ended as Aborted")
	var ended output.Executions
	require.NoError(t, json.Unmarshal([]byte(stdout), &ended))
	require.Len(t, ended.Executions, 1)
	require.Equal(t, "Aborted", ended.Rollout.Rollout.State)
	require.Contains(t, must("rollout", "list", "--job", "migrate", "--state", "Aborted"), "migrate")
	code, _, stderr = run("rollout", "undo", failing)
	require.Equal(t, exit.CodeConflict, code, stderr)
}
