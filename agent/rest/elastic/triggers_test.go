package elastic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/front"
)

// A job starts after runs of others, which REST defines and lists.
func TestTriggers(t *testing.T) {
	f := front.Shared(t)
	defineJob(t, f, "loads", "SELECT 1")
	defineJob(t, f, "reports", "SELECT 1")
	of := func(more ...string) string { return at(append([]string{"jobs", "reports", "triggers"}, more...)...) }
	made := ok(t, f, 201, "PUT", of("after loads"), props("upstreamJobNames", []string{"LOADS"}))
	require.Equal(t, []any{"loads"}, made.At(t, "properties.upstreamJobNames"))
	require.Equal(t, "Succeeded", made.At(t, "properties.runWhen"))
	require.Equal(t, true, made.At(t, "properties.enabled"))
	ok(t, f, 200, "PUT", of("after loads"), props("upstreamJobNames", []string{"loads"}, "runWhen", "Finished", "targets", "Succeeded", "waiting", 7))
	ok(t, f, 201, "PUT", of("off"), props("upstreamJobNames", []string{"loads", "j1"}, "enabled", false))
	read := ok(t, f, 200, "GET", of("after loads"), nil)
	require.Equal(t, "Finished", read.At(t, "properties.runWhen"))
	require.Equal(t, "Succeeded", read.At(t, "properties.targets"))
	require.Equal(t, "All", made.At(t, "properties.targets"))
	require.Equal(t, "Microsoft.Sql/servers/jobAgents/jobs/triggers", read.At(t, "type"))
	require.Len(t, ok(t, f, 200, "GET", of(), nil).At(t, "value"), 2)
	require.Equal(t, "off", ok(t, f, 200, "GET", of()+"&$skip=1", nil).At(t, "value.0.name"))
	first := ok(t, f, 200, "GET", of()+"&$top=1", nil)
	require.Equal(t, "after loads", first.At(t, "value.0.name"))

	for _, one := range []struct {
		body   any
		detail string
	}{
		{props("upstreamJobNames", []string{"nope"}), "50100"}, {props("upstreamJobNames", []string{"reports"}), "50476"},
		{props("upstreamJobNames", []string{}), "50472"}, {props("upstreamJobNames", []string{"loads"}, "runWhen", "Always"), "50471"},
		{props("upstreamJobNames", []string{"loads"}, "targets", "Failed"), "50481"},
	} {
		refused(t, f, 400, "ElasticJobsOperationFailed", one.detail, "PUT", of("after loads"), one.body)
	}
	for _, body := range []any{nil, props(), props("upstreamJobNames", "loads"), props("upstreamJobNames", []string{"loads"}, "when", "x"), props("upstreamJobNames", []string{" "})} {
		refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", of("after loads"), body)
	}
	refused(t, f, 404, "ResourceNotFound", "", "GET", of("none"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", of("none", "events"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "nope", "triggers"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "PUT", at("jobs", "nope", "triggers", "x"), props("upstreamJobNames", []string{"loads"}))
	refused(t, f, 404, "ResourceNotFound", "", "PUT", at("jobs", "jobagent$history_retention", "triggers", "x"), props("upstreamJobNames", []string{"loads"}))
	require.Equal(t, 403, f.DoAs(t, rest.RoleOperator, "PUT", of("after loads"), props("upstreamJobNames", []string{"loads"})).Status)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50141", "DELETE", at("jobs", "loads"), nil)

	id, _ := ok(t, f, 200, "POST", at("jobs", "loads", "start"), nil).At(t, "name").(string)
	wait(t, f, "loads", id)
	var started string
	require.Eventually(t, func() bool {
		events := ok(t, f, 200, "GET", of("after loads", "events"), nil)
		require.LessOrEqual(t, len(events.At(t, "value").([]any)), 1)
		if len(events.At(t, "value").([]any)) == 0 || events.At(t, "value.0.properties.state") != "Started" {
			return false
		}
		require.Equal(t, id, events.At(t, "value.0.name"))
		require.Equal(t, "loads", events.At(t, "value.0.properties.upstreamJobName"))
		started, _ = events.At(t, "value.0.properties.jobExecutionId").(string)
		return true
	}, 20*time.Second, 20*time.Millisecond)
	wait(t, f, "reports", started)

	ok(t, f, 200, "DELETE", of("after loads"), nil)
	ok(t, f, 204, "DELETE", of("after loads"), nil)
	ok(t, f, 200, "DELETE", of("off"), nil)
	ok(t, f, 200, "DELETE", at("jobs", "loads"), nil)
}
