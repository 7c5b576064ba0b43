package elastic_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/testenv/front"
)

// A roll-out is looked at, approved and ended over REST.
func TestRollouts(t *testing.T) {
	f := front.Shared(t)
	defineJob(t, f, "rolled", "SELECT 1")
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), "rolled",
		`{"waves": [{"name": "canary", "targets": 1, "approval": true, "bake_seconds": 3600}, {"name": "rest", "targets": "rest"}]}`, nil))
	plain, _ := ok(t, f, 200, "POST", at("jobs", "rolled", "start"), props("rollout", false)).At(t, "name").(string)
	wait(t, f, "rolled", plain)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "rolled", "rollouts", plain), nil)
	id := uuid.MustParse(ok(t, f, 200, "POST", at("jobs", "rolled", "start"), props("hold", true)).At(t, "name").(string))
	var err error
	becomes := func(state rollouts.State) {
		t.Helper()
		require.Eventually(t, func() bool {
			r, err := rollouts.On(f.Store).Get(t.Context(), id)
			return err == nil && r.State == state
		}, 20*time.Second, 20*time.Millisecond)
	}
	becomes(rollouts.Paused)
	of := func(more ...string) string { return at(append([]string{"jobs", "rolled", "rollouts"}, more...)...) }
	require.Equal(t, id.String(), ok(t, f, 200, "GET", of(), nil).At(t, "value.0.name"))
	one := ok(t, f, 200, "GET", of(id.String()), nil)
	require.Equal(t, "Paused", one.At(t, "properties.state"))
	require.Equal(t, "canary", one.At(t, "properties.waves.0.name"))
	require.Equal(t, "It waits until somebody resumes it.", one.At(t, "properties.nextEvent"))
	require.Equal(t, 403, f.DoAs(t, rest.RoleReader, "POST", of(id.String(), "resume"), nil).Status)
	listed := ok(t, f, 200, "GET", of(id.String(), "targets"), nil)
	require.Equal(t, "canary", listed.At(t, "value.0.properties.waveName"))
	require.Equal(t, listed.At(t, "value.0.name"), listed.At(t, "value.0.properties.targetId"))
	require.Equal(t, "Pending", listed.At(t, "value.0.properties.state"))
	refused(t, f, 404, "ResourceNotFound", "", "GET", of(uuid.NewString(), "targets"), nil)
	for _, missing := range []string{uuid.NewString(), uuid.Nil.String(), "x"} {
		refused(t, f, 404, "ResourceNotFound", "", "GET", of(missing), nil)
		refused(t, f, 404, "ResourceNotFound", "", "POST", of(missing, "abort"), nil)
	}
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "chosen", "rollouts", id.String()), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "nope", "rollouts"), nil)

	ok(t, f, 200, "POST", of(id.String(), "resume"), nil)
	becomes(rollouts.Waiting)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", of(id.String(), "reject"), nil)
	require.Equal(t, "Paused", ok(t, f, 200, "POST", of(id.String(), "reject"), obj{"reason": "not today"}).At(t, "properties.state"))
	ok(t, f, 200, "POST", of(id.String(), "resume"), obj{})
	becomes(rollouts.Waiting)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", of(id.String(), "approve"), obj{"note": "go"})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50188", "POST", of(id.String(), "approve"), obj{"wave": "rest"})
	approved := ok(t, f, 200, "POST", of(id.String(), "approve"), obj{"wave": "canary", "comment": "go"})
	require.Equal(t, "go", approved.At(t, "properties.waves.0.approvalComment"))
	becomes(rollouts.Baking)
	for _, seconds := range []any{0, -1, 1 << 30, "x"} {
		refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", of(id.String(), "extend"), obj{"seconds": seconds})
	}
	ok(t, f, 200, "POST", of(id.String(), "extend"), obj{"seconds": 60})
	refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", of(id.String(), "extendDeadline"), obj{"seconds": 365*24*3600 + 1})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50188", "POST", of(id.String(), "extendDeadline"), obj{"seconds": 60}) // it has none
	require.Equal(t, "Paused", ok(t, f, 200, "POST", of(id.String(), "pause"), obj{"reason": "lunch"}).At(t, "properties.state"))
	ok(t, f, 200, "POST", of(id.String(), "resume"), nil)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50188", "POST", of(id.String(), "retry"), nil)
	require.Equal(t, "Skipped", ok(t, f, 200, "POST", of(id.String(), "skip"), obj{"wave": "rest"}).At(t, "properties.waves.1.state"))
	refused(t, f, 400, "ElasticJobsOperationFailed", "", "POST", of(id.String(), "undo"), nil)
	ok(t, f, 200, "POST", of(id.String(), "abort"), obj{"reason": "enough"})
	becomes(rollouts.Aborted)

	// What the probe of a wave returned on its targets.
	defineJob(t, f, "counts", "SELECT 4321 AS n")
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), "rolled",
		`{"waves": [{"name": "all", "targets": "rest", "probe_job": "counts", "probe_max_value": 5000}]}`, nil))
	id = uuid.MustParse(ok(t, f, 200, "POST", at("jobs", "rolled", "start"), nil).At(t, "name").(string))
	becomes(rollouts.Succeeded)
	listed = ok(t, f, 200, "GET", of(id.String(), "targets"), nil)
	require.EqualValues(t, 4321, listed.At(t, "value.0.properties.probeValue"))
	require.EqualValues(t, 1, listed.At(t, "value.0.properties.probeRows"))

	// The compensating job undoes it once, however often it is asked with the same key.
	defineJob(t, f, "unrolled", "SELECT 2")
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), "rolled", `{"waves": [{"name": "all", "targets": "rest"}], "undo_job": "unrolled"}`, nil))
	id, err = executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: "rolled"})
	require.NoError(t, err)
	becomes(rollouts.Succeeded)
	undo := ok(t, f, 200, "POST", of(id.String(), "undo"), obj{"only": []string{"Succeeded"}}, "Idempotency-Key: undo-1")
	again := ok(t, f, 200, "POST", of(id.String(), "undo"), obj{"only": []string{"Succeeded"}}, "Idempotency-Key: undo-1")
	require.Equal(t, undo.At(t, "name"), again.At(t, "name"))
	require.Contains(t, undo.Header.Get("Location"), "/jobs/unrolled/rollouts/")
	list, err := rollouts.On(f.Store).Rollouts(t.Context(), rollouts.Filter{UndoOf: id}, controldb.Page[executions.Key]{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	id = list[0].ID
	becomes(rollouts.Succeeded)
}
