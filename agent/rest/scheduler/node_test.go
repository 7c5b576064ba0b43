package scheduler_test

import (
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/front"
	"github.com/jobagent/jobagent/testenv/npm"
)

// Microsoft's own client for Node.js, azure-arm-scheduler 1.2.0-preview, unchanged. Cases 82, 88,
// 90 and 98 say what it must see.
func TestMicrosoftsNodeClient(t *testing.T) {
	modules := npm.Modules(t, "azure-arm-scheduler")
	f := front.Shared(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.TLS.Certificate().Raw}), 0o600))
	script, err := filepath.Abs("testdata/client.js")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "--no-deprecation", script,
		f.URL, f.Tokens.Of(rest.RoleAdmin), front.Subscription, front.ResourceGroup, f.H.URL)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_EXTRA_CA_CERTS="+ca)
	out, err := cmd.Output()
	if failed := new(exec.ExitError); err != nil {
		require.ErrorAs(t, err, &failed)
		require.NoError(t, err, string(failed.Stderr))
	}
	require.NotContains(t, string(out), "pw-node-1")
	require.NotContains(t, string(out), "sig=node")
	seen := front.Answer{Body: string(out)}
	for path, want := range map[string]any{
		"created.properties.sku.name":                   "Standard",
		"read.properties.quota.maxRecurrence.frequency": "minute",
		"read.tags.a":                  "b",
		"patched.tags.a":               "c",
		"job.name":                     "node1/h1",
		"job.type":                     "Microsoft.Scheduler/jobCollections/jobs",
		"jobRead.properties.state":     "enabled",
		"jobRead.properties.startTime": "2015-07-13T00:00:00.000Z",
		"jobRead.properties.recurrence.frequency":          "month",
		"jobRead.properties.recurrence.endTime":            "2100-01-01T00:00:00.000Z",
		"jobRead.properties.action.type":                   "Http",
		"jobRead.properties.action.request.body":           "hello",
		"jobRead.properties.action.retryPolicy.retryType":  "fixed",
		"jobRead.properties.action.errorAction.type":       "StorageQueue",
		"jobRead.properties.action.request.authentication": object{"type": "Basic", "username": "u"},
		"jobRead.properties.status.executionCount":         0.0,
		"jobRead.properties.recurrence.schedule.minutes":   []any{0.0},
		"jobPatched.status":                                400.0, // monthlyOccurrences stay, and do not fit Day
		"jobReplaced.properties.recurrence.frequency":      "week",
		"all":                             []any{"node1/h1", "node1/h2"},
		"disabled":                        []any{"node1/h2"},
		"history.0.properties.actionName": "MainAction",
		"history.0.properties.status":     "Completed",
		"history.0.properties.retryCount": 0.0,
		"history.0.type":                  "Microsoft.Scheduler/jobCollections/jobs/history",
		"completed":                       1.0,
		"whileDisabled":                   "disabled",
		"runRefused":                      object{"status": 409.0, "code": "ConflictError", "body": "ConflictError"},
		"afterwards":                      []any{"enabled", "disabled"},
		"tooMany":                         object{"status": 409.0, "code": "ConflictError", "body": "ConflictError"},
		"invalid":                         object{"status": 400.0, "code": "BadRequest", "body": "BadRequest"},
		"missing":                         object{"status": 404.0, "code": "ResourceNotFound", "body": "ResourceNotFound"},
		"deletedAgain":                    object{"status": 404.0, "code": "ResourceNotFound", "body": "ResourceNotFound"},
		"gone":                            object{"status": 404.0, "code": "ResourceNotFound", "body": "ResourceNotFound"},
		"jobRead.properties.recurrence.schedule.monthlyOccurrences": []any{object{"day": "Monday", "occurrence": -1.0}},
	} {
		require.Equal(t, want, seen.At(t, path), path)
	}
	require.Contains(t, seen.At(t, "group"), "node1")
	require.Contains(t, seen.At(t, "subscription"), "node1")
	sent := f.H.Requests("/node")
	require.Len(t, sent, 1)
	require.Equal(t, "hello", sent[0].Body)
	require.Equal(t, "h1", sent[0].Header.Get("X-Ms-Scheduler-Jobid"))
}
