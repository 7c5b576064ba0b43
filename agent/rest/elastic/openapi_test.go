package elastic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/agent/rest/gateway"
	"github.com/jobagent/jobagent/testenv/front"
)

// operationsOfA2 are A1 to A40, below the server.
const operationsOfA2 = `
GET: GET:/{agent} PUT:/{agent} PATCH:/{agent} DELETE:/{agent}
GET:/{agent}/credentials GET:/{agent}/credentials/{credential} PUT:/{agent}/credentials/{credential} DELETE:/{agent}/credentials/{credential}
GET:/{agent}/targetGroups GET:/{agent}/targetGroups/{group} PUT:/{agent}/targetGroups/{group} DELETE:/{agent}/targetGroups/{group}
GET:/{agent}/jobs GET:/{agent}/jobs/{job} PUT:/{agent}/jobs/{job} DELETE:/{agent}/jobs/{job}
GET:/{agent}/jobs/{job}/versions GET:/{agent}/jobs/{job}/versions/{version}
GET:/{agent}/jobs/{job}/steps GET:/{agent}/jobs/{job}/steps/{step} PUT:/{agent}/jobs/{job}/steps/{step} DELETE:/{agent}/jobs/{job}/steps/{step}
GET:/{agent}/jobs/{job}/versions/{version}/steps GET:/{agent}/jobs/{job}/versions/{version}/steps/{step}
GET:/{agent}/executions GET:/{agent}/jobs/{job}/executions GET:/{agent}/jobs/{job}/executions/{execution}
POST:/{agent}/jobs/{job}/start PUT:/{agent}/jobs/{job}/executions/{execution} POST:/{agent}/jobs/{job}/executions/{execution}/cancel
GET:/{agent}/jobs/{job}/executions/{execution}/steps GET:/{agent}/jobs/{job}/executions/{execution}/steps/{step}
GET:/{agent}/jobs/{job}/executions/{execution}/targets GET:/{agent}/jobs/{job}/executions/{execution}/steps/{step}/targets
GET:/{agent}/jobs/{job}/executions/{execution}/steps/{step}/targets/{target}
GET:/{agent}/privateEndpoints GET:/{agent}/privateEndpoints/{endpoint} PUT:/{agent}/privateEndpoints/{endpoint}
DELETE:/{agent}/privateEndpoints/{endpoint}`

// TestCase116OpenAPI: the document is valid, has every operation of the specification, and accepts
// the bodies of cases 28 to 44.
func TestCase116OpenAPI(t *testing.T) {
	f := front.Shared(t)
	text, err := gateway.Document(&rest.Mount{Surface: elastic.New(elastic.Config{Directory: f.Directory}), ARM: true}, f.URL)
	require.NoError(t, err)
	document, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))

	const base = "/subscriptions/{subscription}/resourceGroups/{resourceGroup}/providers/Microsoft.Sql/servers/{server}/jobAgents"
	list := strings.Fields(operationsOfA2)
	require.Len(t, list, 40)
	for _, one := range list {
		method, path, _ := strings.Cut(one, ":")
		item := document.Paths.Find(base + path)
		require.NotNil(t, item, path)
		require.NotNil(t, item.GetOperation(method), one)
	}
	for name := range document.Components.Schemas {
		require.Regexp(t, `^[A-Za-z0-9_]+$`, name)
	}

	schema := func(path string) *openapi3.Schema {
		return document.Paths.Find(base + path).Put.RequestBody.Value.Content["application/json"].Schema.Value
	}
	job, steps := schema("/{agent}/jobs/{job}"), schema("/{agent}/jobs/{job}/steps/{step}")
	output := obj{"type": "SqlDatabase", "serverName": "s", "databaseName": "d", "tableName": "t", "credential": ""}
	for _, test := range []struct {
		schema *openapi3.Schema
		body   any
		valid  bool
	}{
		{job, props(), true}, {job, obj{}, true},
		{job, props("description", "d", "schedule", obj{"type": "Recurring", "interval": "PT15M", "enabled": true}), true},
		{job, props("schedule", obj{"interval": "P1DT2H", "startTime": "2030-01-01T00:00:00Z"}), true},
		{job, props("schedule", obj{"type": "Weekly"}), false}, {job, props("schedule", obj{"startTime": "soon"}), false},
		{steps, props("action", obj{"type": "PowerShell", "value": "x"}), false},
		{job, props("description", 1), false}, {job, props("schedule", obj{"enabled": "yes"}), false},
		{steps, step("SELECT 1"), true}, {steps, step("SELECT 1", "output", output), true}, {steps, step("SELECT 1", "stepId", 5), true},
		{steps, props("action", obj{}), false}, {steps, step("x", "stepId", "1"), false},
		{schema("/{agent}/targetGroups/{group}"), props("members", []any{member(f, "t1")}), true},
		{schema("/{agent}/targetGroups/{group}"), props(), false},
		{schema("/{agent}/credentials/{credential}"), props("username", "u", "password", "p"), true},
		{schema("/{agent}/credentials/{credential}"), props("password", "p"), false},
		{schema("/{agent}/privateEndpoints/{endpoint}"), props("targetServerAzureResourceId", "x"), true},
	} {
		text, err := json.Marshal(test.body)
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal(text, &value))
		err = test.schema.VisitJSON(value, openapi3.EnableFormatValidation())
		require.Equal(t, test.valid, err == nil, "%s: %v", text, err)
	}
}
