package cli_test

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/jobs/model"
)

var binary = flag.String("alert.watchdog", "", "path of a jobagent binary, with which TestWatchdog starts real processes (two minutes)")

// TestWatchdog kills all agents with SIGKILL. A front alone notices that a run which was due has
// not begun, and delivers the alert within 30 s of the due instant and the grace period.
func TestWatchdog(t *testing.T) {
	if *binary == "" {
		t.Skip("it starts processes and takes two minutes: give -alert.watchdog BINARY")
	}
	server := clitest.Server(t)
	arrived := make(chan map[string]any, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		body := map[string]any{}
		if err == nil && json.Unmarshal(text, &body) == nil {
			arrived <- body
		}
	}))
	defer hook.Close()

	config := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"outbound": {"allow": ["127.0.0.0/8"]}, "rest": {"listen": "127.0.0.1:0", "insecure_http": true}}`), 0o600))
	start := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), *binary, append(args, "--config", config)...)
		cmd.Env = append(os.Environ(), "JOBAGENT_DSN="+server.DSN(embedded.ControlDatabase))
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // ended already
			_ = cmd.Wait()
		})
		return cmd
	}
	agents := []*exec.Cmd{start("run"), start("run")}
	start("serve")
	require.Eventually(t, func() bool {
		n, err := fleet.On(server.Store).Live(t.Context())
		return err == nil && n == 2
	}, time.Minute, 200*time.Millisecond)

	ctx := t.Context()
	const grace = 5
	seconds := grace
	require.NoError(t, alerting.On(server.Store).AddChannel(ctx, "hook", "Http", `{"url": "`+hook.URL+`/", "allow_http": true}`, true))
	require.NoError(t, alerting.On(server.Store).AddRule(ctx, "nothing-ran", model.AlertRunNotStarted,
		alerting.Change{Seconds: &seconds, Channels: &[]string{"hook"}}))
	due := time.Now().Add(20 * time.Second).Truncate(time.Second)
	_, err := catalog.On(server.Store).AddJob(ctx, model.JobSpec{Name: "nightly"})
	require.NoError(t, err)
	_, err = catalog.On(server.Store).AddJobStep(ctx, model.StepSpec{
		JobName: "nightly", CommandType: new("Http"), Command: new(`{"method": "POST", "url": "https://h.example/"}`),
	})
	require.NoError(t, err)
	out, err := exec.CommandContext(ctx, *binary, "job", "update", "nightly", "--enabled", "--interval-type", "Days", "--interval-count", "1",
		"--start-time", due.UTC().Format(time.RFC3339), "--dsn", server.DSN(embedded.ControlDatabase)).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, a := range agents {
		require.NoError(t, a.Process.Kill())
	}
	t.Logf("all agents were killed %s before the due instant", time.Until(due).Round(time.Millisecond))
	select {
	case body := <-arrived:
		after := time.Since(due.Add(grace * time.Second))
		t.Logf("delivered %s after the due instant and the grace period: %v", after.Round(time.Millisecond), body["title"])
		require.Equal(t, "nightly", body["job_name"])
		require.Positive(t, after)
		require.Less(t, after, 30*time.Second)
	case <-time.After(90 * time.Second):
		t.Fatal("nothing was delivered")
	}
}
