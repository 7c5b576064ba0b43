package elastic_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/testenv/front"
)

// databasesOf returns the databases of a run that has ended.
func databasesOf(t *testing.T, f *front.Front, job, id string) (list []any) {
	t.Helper()
	wait(t, f, job, id)
	a := ok(t, f, 200, "GET", at("jobs", job, "executions", id, "targets"), nil)
	for _, one := range a.At(t, "value").([]any) {
		list = append(list, one.(obj)["properties"].(obj)["target"].(obj)["databaseName"])
	}
	return list
}

// A start may name the databases of the run.
func TestStartOnChosenDatabases(t *testing.T) {
	f := front.Shared(t)
	defineJob(t, f, "chosen", "SELECT 1")
	second := obj{"serverName": f.ServerName, "databaseName": f.Targets[1]}
	start := func(targets ...any) string {
		t.Helper()
		id, _ := ok(t, f, 200, "POST", at("jobs", "chosen", "start"), props("onlyTargets", targets)).At(t, "name").(string)
		return id
	}
	id := start(second)
	require.Equal(t, []any{f.Targets[1]}, databasesOf(t, f, "chosen", id))
	target := ok(t, f, 200, "GET", at("jobs", "chosen", "executions", id, "targets"), nil).At(t, "value.0.name")
	require.Equal(t, []any{f.Targets[1]}, databasesOf(t, f, "chosen", start(obj{"targetId": target})))
	require.Equal(t, []any{f.Targets[1]}, databasesOf(t, f, "chosen", start(obj{"targetId": target, "serverName": strings.ToUpper(f.ServerName), "databaseName": f.Targets[1]})))
	require.Len(t, databasesOf(t, f, "chosen", start(second, obj{"serverName": f.ServerName, "databaseName": f.Targets[0]})), 2)

	// The same run again: with the same databases or nothing said, but not with others.
	path := at("jobs", "chosen", "executions", id)
	ok(t, f, 200, "PUT", path, props("onlyTargets", []any{second}))
	ok(t, f, 200, "PUT", path, nil)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50163", "PUT", path, props("onlyTargets", []any{obj{"serverName": f.ServerName, "databaseName": f.Targets[0]}}))

	for target, list := range map[string][]any{
		"$.properties.onlyTargets":                 {},
		"$.properties.onlyTargets[0]":              {obj{}},
		"$.properties.onlyTargets[1]":              {second, obj{"serverName": "s"}},
		"$.properties.onlyTargets[0].targetId":     {obj{"targetId": "all"}},
		"$.properties.onlyTargets[1].targetId":     {second, obj{"targetId": uuid.NewString(), "serverName": "s", "databaseName": "d"}},
		"$.properties.onlyTargets[0].databaseName": {obj{"serverName": "s", "databaseName": strings.Repeat("x", 129)}},
		"$.properties.onlyTargets[2]":              {second, second, "Db7"},
	} {
		a := refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", at("jobs", "chosen", "start"), props("onlyTargets", list))
		require.Contains(t, a.Body, `"target":"`+target+`"`)
	}
	refused(t, f, 400, "ElasticJobsOperationFailed", "50162", "POST", at("jobs", "chosen", "start"), props("onlyTargets", []any{obj{"targetId": uuid.NewString()}}))
	many := make([]any, executions.MaxOnlyTargets+1)
	for i := range many {
		many[i] = obj{"targetId": target}
	}
	refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", at("jobs", "chosen", "start"), props("onlyTargets", many))
	for _, body := range []string{`null`, `[]`, `{"properties":{"onlyTargets":{}}}`, `{"properties":[]}`, `{`, `{"onlyTargets":[]}`, `{"parameters":{}}`,
		`{"properties":{"onlytargets":[]}}`, `{"properties":{"onlyTargets":[{"server":"s","database":"d"}]}}`, `{"lifecycle":"Created"}`} {
		refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", at("jobs", "chosen", "start"), body)
	}
	// Clients of Azure send no body, and curl's default type with an empty one.
	ok(t, f, 200, "POST", at("jobs", "chosen", "start"), "", "Content-Type: application/x-www-form-urlencoded")
	ok(t, f, 200, "POST", at("jobs", "chosen", "start"), `{}`)
	ok(t, f, 200, "POST", at("jobs", "chosen", "start"), `{"properties":{"parameters":null,"onlyTargets":null}}`)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "chosen", "executions", uuid.Nil.String()), nil)
}

// A start may have parameters, which a job may require.
func TestStartWithParameters(t *testing.T) {
	f := front.Shared(t)
	defineJob(t, f, "parametrized", "SELECT '$(param.tenant)'")
	require.NoError(t, catalog.On(f.Store).SetJobParameters(t.Context(), "parametrized", `[{"name":"tenant","required":true}]`, nil))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50159", "POST", at("jobs", "parametrized", "start"), nil)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50160", "POST", at("jobs", "parametrized", "start"), props("parameters", obj{"tenant": "a", "tennant": "b"}))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50070", "POST", at("jobs", "parametrized", "start"), props("parameters", []any{1}))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50070", "POST", at("jobs", "parametrized", "start"), props("parameters", "tenant=a"))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50071", "POST", at("jobs", "parametrized", "start"), props("parameters", obj{"tenant": strings.Repeat("x", 102_400)}))

	key := "x-ms-client-request-id: " + uuid.NewString()
	body := props("parameters", obj{"tenant": "contoso"})
	id, _ := ok(t, f, 200, "POST", at("jobs", "parametrized", "start"), body, key).At(t, "name").(string)
	require.Equal(t, id, ok(t, f, 200, "POST", at("jobs", "parametrized", "start"), body, key).At(t, "name"))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50148", "POST", at("jobs", "parametrized", "start"), props("parameters", obj{"tenant": "fabrikam"}), key)
	require.Equal(t, "Succeeded", wait(t, f, "parametrized", id).At(t, "properties.lifecycle"))
	parameters, err := executions.On(f.Store).Parameters(t.Context(), uuid.MustParse(id))
	require.NoError(t, err)
	require.JSONEq(t, `{"tenant":"contoso"}`, parameters)
}
