package elastic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/front"
)

// A step of type Drift reads schemas, which REST lists by database, target group and job; baselines
// are set from them.
func TestDrift(t *testing.T) {
	f := front.Shared(t)
	ok(t, f, 201, "PUT", at("jobs", "drifting"), obj{"properties": obj{}})
	ok(t, f, 201, "PUT", at("jobs", "drifting", "steps", "s1"), props("targetGroup", front.A+"/targetGroups/g1",
		"action", obj{"type": "Drift", "value": `{"against":"none"}`}))
	id, _ := ok(t, f, 200, "POST", at("jobs", "drifting", "start"), nil).At(t, "name").(string)
	wait(t, f, "drifting", id)
	all := ok(t, f, 200, "GET", at("driftHistory"), nil).At(t, "value").([]any)
	require.NotEmpty(t, all)
	// Agents register the databases of a group some seconds after its list was made, and the test
	// does it now. One of them may be at it.
	require.Eventually(t, func() bool {
		_, err := f.Store.RegisterTargets(t.Context())
		require.NoError(t, err)
		return len(ok(t, f, 200, "GET", at("jobs", "drifting", "driftHistory"), nil).At(t, "value").([]any)) == len(all)
	}, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, all, ok(t, f, 200, "GET", at("jobs", "drifting", "driftHistory"), nil).At(t, "value"))
	require.Equal(t, all, ok(t, f, 200, "GET", at("targetGroups", "g1", "driftHistory")+"&isCurrent=true", nil).At(t, "value"))
	require.Empty(t, ok(t, f, 200, "GET", at("jobs", "j1", "driftHistory"), nil).At(t, "value"), "it has no step of type Drift")
	first := ok(t, f, 200, "GET", at("driftHistory")+"&$top=1", nil)
	target, _ := first.At(t, "value.0.name").(string)
	require.Equal(t, true, first.At(t, "value.0.properties.isCurrent"))
	require.Len(t, first.At(t, "value.0.properties.fingerprint"), 64)
	database, _ := first.At(t, "value.0.properties.databaseName").(string)
	require.Len(t, ok(t, f, 200, "GET", at("driftHistory", target), nil).At(t, "value"), 1)
	require.Equal(t, target, ok(t, f, 200, "GET", at("driftHistory")+"&targetId="+target, nil).At(t, "value.0.name"))
	if len(all) > 1 {
		var names []any
		next := at("driftHistory") + "&$skip=1"
		for _, one := range ok(t, f, 200, "GET", next, nil).At(t, "value").([]any) {
			names = append(names, one.(map[string]any)["name"])
		}
		require.Len(t, names, len(all)-1)
		require.NotContains(t, names, target)
	}

	server, _ := first.At(t, "value.0.properties.serverName").(string)
	of := at("driftBaselines", "release 7")
	set := ok(t, f, 200, "PUT", of, props("targetId", target))
	require.Equal(t, first.At(t, "value.0.properties.fingerprint"), set.At(t, "properties.schemas.0.fingerprint"))
	require.True(t, strings.HasSuffix(set.At(t, "properties.source").(string), "/"+database))
	require.Equal(t, "Microsoft.Sql/servers/jobAgents/driftBaselines", set.At(t, "type"))
	ok(t, f, 200, "PUT", of, props("serverName", server, "databaseName", database))
	require.Equal(t, "release 7", ok(t, f, 200, "GET", of, nil).At(t, "name"))
	require.Len(t, ok(t, f, 200, "GET", at("driftBaselines"), nil).At(t, "value"), 1)

	refused(t, f, 400, "ElasticJobsOperationFailed", "50492", "PUT", of, props("serverName", "away.example", "databaseName", "d"))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50491", "PUT", at("driftBaselines", "majority"), props("targetId", target))
	for _, body := range []any{nil, props(), props("serverName", "s"), props("targetId", "x"), props("targetId", target, "source", "x")} {
		refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", of, body)
	}
	require.Equal(t, 403, f.DoAs(t, rest.RoleOperator, "PUT", of, props("targetId", target)).Status)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "GET", at("driftHistory")+"&isCurrent=maybe", nil)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "GET", at("driftHistory")+"&targetId=x", nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("driftHistory", "x"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("driftHistory", id), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "nope", "driftHistory"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("targetGroups", "nope", "driftHistory"), nil)

	ok(t, f, 200, "DELETE", of, nil)
	ok(t, f, 204, "DELETE", of, nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", of, nil)
	ok(t, f, 200, "DELETE", at("jobs", "drifting"), nil)
}
