package elastic_test

import (
	"encoding/pem"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/sql/armsql/v2"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/testenv/front"
	"github.com/jobagent/jobagent/testenv/npm"
)

// frontOf starts a front of the test alone.
func frontOf(t *testing.T, settings elastic.Settings) *front.Front {
	t.Helper()
	return front.Start(t, func(_ testing.TB, f *front.Front) []*rest.Mount {
		return []*rest.Mount{{ARM: true, Surface: elastic.New(elastic.Config{
			Directory: f.Directory, PageSize: 2, PollAfter: 20 * time.Millisecond, Settings: settings,
		})}}
	})
}

// TestStartAccepted: after 202, clients wait for the end of the run, and see how it failed.
func TestStartAccepted(t *testing.T) {
	t.Parallel()
	f := frontOf(t, elastic.Settings{StartStatus: 202})
	clients, err := armsql.NewClientFactory(front.Subscription, credential(f), options(f))
	require.NoError(t, err)
	w := walkV2{f, clients, "v2"}
	_, err = clients.NewJobTargetGroupsClient().CreateOrUpdate(t.Context(), rg, srv, agent, "v2g", armsql.JobTargetGroup{
		Properties: &armsql.JobTargetGroupProperties{Members: []*armsql.JobTarget{{
			Type: ptr(armsql.JobTargetTypeSQLDatabase), ServerName: &f.ServerName, DatabaseName: &f.Targets[1],
		}}},
	}, nil)
	require.NoError(t, err)
	c := clients.NewJobExecutionsClient()
	start := func(job string) (armsql.JobExecutionsClientCreateResponse, error) {
		var raw *http.Response
		p, err := c.BeginCreate(policy.WithCaptureResponse(t.Context(), &raw), rg, srv, agent, job, nil)
		require.NoError(t, err)
		require.Equal(t, 202, raw.StatusCode)
		require.NotEmpty(t, raw.Header.Get("Retry-After"))
		return p.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Second})
	}
	run, err := start(w.define(t, "works", "WAITFOR DELAY '00:00:00.200'", 100))
	require.NoError(t, err)
	require.Equal(t, armsql.JobExecutionLifecycleSucceeded, *run.Properties.Lifecycle)
	_, err = start(w.define(t, "fails", "SELECT 1/0", 100))
	fails(t, err, 200, "JobExecutionFailed")
}

// TestNodeClients walks Microsoft's client for Node.js, @azure/arm-sql, unchanged, in the
// versions 8, 9 and 10: create, read, list, update, run, watch and delete. Versions 9 and 10
// take 200 as the end of a start, and wait for the end of the run after 202 only.
func TestNodeClients(t *testing.T) {
	t.Parallel()
	f, other := frontOf(t, elastic.Settings{}), frontOf(t, elastic.Settings{StartStatus: 202})
	for _, c := range []struct {
		module string
		front  *front.Front
		waits  bool // for the end of a start
	}{{"arm-sql-9", f, false}, {"arm-sql-10", f, false}, {"arm-sql-8", other, true}, {"arm-sql-9", other, true}, {"arm-sql-10", other, true}} {
		name := c.module
		if c.front == other {
			name += " 202"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walkNode(t, c.module, c.front, c.waits)
		})
	}
}

func walkNode(t *testing.T, module string, f *front.Front, waits bool) {
	modules := npm.Modules(t, module)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.TLS.Certificate().Raw}), 0o600))
	script, err := filepath.Abs("testdata/client.js")
	require.NoError(t, err)
	prefix, login := module+"-", "robot"+module[len("arm-sql-"):]
	for _, one := range [][2]string{
		{"master", "CREATE LOGIN " + login + " WITH PASSWORD = 'Only-4-node';"}, {f.Targets[0], "CREATE USER " + login + ";"},
	} {
		_, err := f.DB(t, one[0]).ExecContext(t.Context(), one[1])
		require.NoError(t, err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--no-deprecation", script, module, f.URL, f.Tokens.Of(rest.RoleAdmin),
		front.Subscription, rg, srv, agent, f.ServerName, f.Targets[0], prefix, login, "Only-4-node")
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_EXTRA_CA_CERTS="+ca)
	out, err := cmd.Output()
	if failed := new(exec.ExitError); err != nil {
		require.ErrorAs(t, err, &failed)
		require.NoError(t, err, string(failed.Stderr))
	}
	require.NotContains(t, string(out), "Only-4-node")
	seen := front.Answer{Body: string(out)}
	want := map[string]any{
		"agent.name": agent, "agent.state": "Ready", "agents": []any{agent},
		"credential.username": login, "credentials": []any{prefix + "c"},
		"group.name": prefix + "g", "groupRead.members.0.databaseName": f.Targets[0],
		"job.description": "first", "job.schedule.endTime": "9999-12-31T11:59:59.000Z",
		"jobUpdated.description": "second", "jobRead.description": "second", "jobs": []any{prefix + "j"},
		"step.action.value": "WAITFOR DELAY '00:00:00.500';", "steps": []any{"s"},
		"put.lifecycle": "Succeeded", "watched.lifecycle": "Succeeded", "executions": []any{"Succeeded", "Succeeded"},
		"stepRuns": []any{"Succeeded"}, "failedLast": "Failed", "targets": []any{[]any{f.Targets[0], "Succeeded"}},
		"missing": map[string]any{"status": 404.0, "code": "ResourceNotFound"},
		"gone":    map[string]any{"status": 404.0, "code": "ResourceNotFound"},
	}
	if waits {
		want["started.lifecycle"], want["failed.lifecycle"] = "Succeeded", "Failed"
	} else { // the agent may be faster than the answer
		require.Contains(t, []any{"Created", "WaitingForChildJobExecutions"}, seen.At(t, "started.lifecycle"))
	}
	for path, value := range want {
		require.Equal(t, value, seen.At(t, path), path)
	}
}
