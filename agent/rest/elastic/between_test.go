package elastic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// TestAnswerOfAPutIsItsOwn: a PUT answers with what it has written and the ETag of that, though
// another writer changes or deletes the object before the front goes on.
func TestAnswerOfAPutIsItsOwn(t *testing.T) {
	f := front.Shared(t)
	ok(t, f, 201, "PUT", at("jobs", "between"), obj{})
	endpoint := func(target string) obj { return props("targetServerAzureResourceId", target) }
	for _, test := range []struct {
		procedure, path         string
		own, other              obj
		property                string
		ownWritten, otherOneWas any
	}{
		{"jobs.sp_set_job", at("jobs", "between2"), props("description", "own"), props("description", "other"), "properties.description", "own", "other"},
		{"jobs.sp_set_jobstep", at("jobs", "between", "steps", "s"), step("SELECT 1"), step("SELECT 2"), "properties.action.value", "SELECT 1", "SELECT 2"},
		{
			"jobs.sp_set_target_group", at("targetGroups", "between"), props("members", []any{member(f, "own")}),
			props("members", []any{member(f, "other"), member(f, "own")}), "properties.members.0.databaseName", "own", "other",
		},
		{"jobs.sp_set_private_endpoint", at("privateEndpoints", "between"), endpoint("/own"), endpoint("/other"), "properties.targetServerAzureResourceId", "/own", "/other"},
		{
			"jobs.sp_set_credential", at("credentials", "between"), props("username", "own", "password", "p"), props("username", "other", "password", "p"),
			"properties.username", "own", "other",
		},
	} {
		write := func(status int, body obj) front.Answer { return ok(t, f, status, "PUT", test.path, body) }
		first := write(201, test.own)
		var answer, later front.Answer
		write(200, test.other)
		f.Between(t, test.procedure, func() { later = write(200, test.other) }, func() { answer = write(200, test.own) })
		require.Equal(t, test.ownWritten, answer.At(t, test.property), test.path)
		require.Equal(t, test.otherOneWas, later.At(t, test.property), test.path)
		require.NotEqual(t, later.Header.Get("ETag"), answer.Header.Get("ETag"), test.path)
		require.NotEqual(t, first.Header.Get("ETag"), answer.Header.Get("ETag"), test.path)
		refused(t, f, 412, "PreconditionFailed", "", "PUT", test.path, test.own, "If-Match: "+answer.Header.Get("ETag"))

		f.Between(t, test.procedure, func() { ok(t, f, 200, "DELETE", test.path, nil) }, func() { answer = write(200, test.own) })
		require.Equal(t, test.ownWritten, answer.At(t, test.property), test.path)
		ok(t, f, 404, "GET", test.path, nil)
	}
}
