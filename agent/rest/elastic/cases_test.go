package elastic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv/front"
)

// at returns the URL of a resource below the agent.
func at(parts ...string) string {
	path := front.A
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path + front.Version
}

// obj makes JSON readable in tests.
type obj = map[string]any

// props is a body with properties.
func props(pairs ...any) obj {
	p := obj{}
	for i := 0; i < len(pairs); i += 2 {
		p[pairs[i].(string)] = pairs[i+1]
	}
	return obj{"properties": p}
}

// ok does a request and checks the status.
func ok(t *testing.T, f *front.Front, status int, method, path string, body any, headers ...string) front.Answer {
	t.Helper()
	a := f.Do(t, method, path, body, headers...)
	require.Equal(t, status, a.Status, "%s %s: %s", method, path, a.Body)
	return a
}

// refused does a request and checks status, code and the code of the first detail, unless it is
// empty.
func refused(t *testing.T, f *front.Front, status int, code, detail, method, path string, body any, headers ...string) front.Answer {
	t.Helper()
	a := ok(t, f, status, method, path, body, headers...)
	require.Equal(t, code, a.Code(t), a.Body)
	require.NotEmpty(t, a.At(t, "error.message"))
	if detail != "" {
		require.Equal(t, detail, a.At(t, "error.details.0.code"), a.Body)
	}
	return a
}

// rows returns the values of a query of the control database.
func rows(t *testing.T, f *front.Front, query string, args ...any) (list []string) {
	t.Helper()
	result, err := f.DB(t, f.Control).QueryContext(t.Context(), query, args...)
	require.NoError(t, err)
	defer result.Close()
	for result.Next() {
		var text *string
		require.NoError(t, result.Scan(&text))
		if text == nil {
			text = new(string)
			*text = "NULL"
		}
		list = append(list, *text)
	}
	require.NoError(t, result.Err())
	return list
}

// group is the id of the group g1.
const group = front.A + "/targetGroups/g1"

// step is the body of a step.
func step(value string, pairs ...any) obj {
	return props(append([]any{"targetGroup", group, "action", obj{"value": value}, "executionOptions", obj{}}, pairs...)...)
}

// defineJob creates a job with a step on g1, whose failures are final.
func defineJob(t *testing.T, f *front.Front, name, script string) {
	t.Helper()
	ok(t, f, 201, "PUT", at("jobs", name), obj{})
	ok(t, f, 201, "PUT", at("jobs", name, "steps", "s1"), step(script, "executionOptions", obj{"retryAttempts": 0}))
}

// wait polls a run until it is final.
func wait(t *testing.T, f *front.Front, job, id string) front.Answer {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		a := ok(t, f, 200, "GET", at("jobs", job, "executions", id), nil)
		switch a.At(t, "properties.provisioningState") {
		case "Succeeded", "Failed", "Canceled":
			return a
		}
		require.True(t, time.Now().Before(deadline), a.Body)
		<-time.After(20 * time.Millisecond)
	}
}

func TestCase016CredentialIsSealed(t *testing.T) {
	f := front.Shared(t)
	body := props("username", "u", "password", "p-secret-123")
	a := ok(t, f, 201, "PUT", at("credentials", "c16"), body)
	require.NotContains(t, a.Body, "password")
	a = ok(t, f, 200, "GET", at("credentials", "c16"), nil)
	require.Equal(t, obj{
		"id": front.A + "/credentials/c16", "name": "c16", "type": "Microsoft.Sql/servers/jobAgents/credentials",
		"properties": obj{"username": "u"},
	}, a.JSON(t))
	ok(t, f, 200, "PUT", at("credentials", "C16"), body)
	require.NotContains(t, f.Log.String(), "p-secret-123")
	for _, table := range rows(t, f, `SELECT CONCAT(QUOTENAME(SCHEMA_NAME(t.schema_id)), N'.', QUOTENAME(t.name)) FROM sys.tables AS t`) {
		content := rows(t, f, `SELECT (SELECT x.* FROM `+table+` AS x FOR JSON PATH)`)
		require.NotContains(t, strings.Join(content, "\n"), "p-secret-123", table)
	}
	sealed, err := secrets.On(f.Store).Credential(t.Context(), "c16")
	require.NoError(t, err)
	require.Equal(t, 2, sealed.Secret.Place.Version)

	t.Run("kept if only the password is left out", func(t *testing.T) {
		ok(t, f, 200, "PUT", at("credentials", "c16"), props("username", "u"))
		refused(t, f, 400, "InvalidResourceRequestBody", "50081", "PUT", at("credentials", "c16"), props("username", "other"))
		refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("credentials", "c16"), props("username", "u", "password", ""))
		refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("credentials", "c16"), props("username", "u", "password", nil))
	})
	t.Run("the configuration wins", func(t *testing.T) {
		refused(t, f, 403, "JobCredentialPermissionError", "", "PUT", at("credentials", "configured"), body)
		refused(t, f, 403, "JobCredentialPermissionError", "", "DELETE", at("credentials", "configured"), nil)
	})
	t.Run("in use", func(t *testing.T) {
		ok(t, f, 201, "PUT", at("jobs", "j16"), obj{})
		ok(t, f, 201, "PUT", at("jobs", "j16", "steps", "s"), step("SELECT 1", "credential", front.A+"/credentials/c16"))
		refused(t, f, 400, "ElasticJobsOperationFailed", "50157", "DELETE", at("credentials", "c16"), nil)
		ok(t, f, 200, "DELETE", at("jobs", "j16"), nil)
		ok(t, f, 200, "DELETE", at("credentials", "c16"), nil)
		ok(t, f, 204, "DELETE", at("credentials", "c16"), nil)
	})
}

func TestCase018CredentialWithoutUsername(t *testing.T) {
	f := front.Shared(t)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("credentials", "c18"), props("password", "p"))
	refused(t, f, 400, "InvalidJobCredentialUsername", "", "PUT", at("credentials", "c18"), props("username", " ", "password", "p"))
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("credentials", "c18"), nil)
}

func member(f *front.Front, database string) obj {
	return obj{"type": "SqlDatabase", "serverName": f.ServerName, "databaseName": database}
}

func TestCase020TargetGroupKeepsIDs(t *testing.T) {
	f := front.Shared(t)
	path := at("targetGroups", "g20")
	const ids = `SELECT target_id FROM jobs.target_group_members WHERE target_group_name = N'g20'`
	a := ok(t, f, 201, "PUT", path, props("members", []any{}))
	require.Equal(t, []any{}, a.At(t, "properties.members"))
	a = ok(t, f, 200, "PUT", path, props("members", []any{member(f, "t1")}))
	require.Equal(t, []any{obj{"membershipType": "Include", "type": "SqlDatabase", "serverName": f.ServerName, "databaseName": "t1"}},
		a.At(t, "properties.members"))
	second := rows(t, f, ids)
	require.Len(t, second, 1)
	ok(t, f, 200, "PUT", path, props("members", []any{member(f, "t1")}))
	require.Equal(t, second, rows(t, f, ids))
}

// A target group has a bounded number of members, and a page of groups has no more altogether.
func TestMembersAreBounded(t *testing.T) {
	f := front.Shared(t)
	many := func(n int) obj {
		list := make([]any, n)
		for i := range list {
			list[i] = member(f, fmt.Sprint("db", i))
		}
		return props("members", list)
	}
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("targetGroups", "large"), many(10_001))
	for _, name := range []string{"large1", "large2", "large3"} {
		ok(t, f, 201, "PUT", at("targetGroups", name), many(4_000))
	}
	seen := 0
	for link := at("targetGroups") + "&$top=1000"; link != ""; {
		a := ok(t, f, 200, "GET", strings.TrimPrefix(link, f.URL), nil)
		members := 0
		for _, g := range a.At(t, "value").([]any) {
			n := len(g.(obj)["properties"].(obj)["members"].([]any))
			members += n
			if n == 4_000 {
				seen++
			}
		}
		require.LessOrEqual(t, members, 10_000)
		link, _ = a.At(t, "nextLink").(string)
	}
	require.Equal(t, 3, seen)
	for _, name := range []string{"large1", "large2", "large3"} {
		ok(t, f, 200, "DELETE", at("targetGroups", name), nil)
	}
}

func TestCase022MemberWithoutDatabase(t *testing.T) {
	f := front.Shared(t)
	path := at("targetGroups", "g22")
	ok(t, f, 201, "PUT", path, props("members", []any{member(f, "t1")}))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50024", "PUT", path,
		props("members", []any{obj{"type": "SqlDatabase", "serverName": f.ServerName}}))
	a := ok(t, f, 200, "GET", path, nil)
	require.Equal(t, "t1", a.At(t, "properties.members.0.databaseName"), "the group is unchanged")
	refused(t, f, 400, "ElasticJobsOperationFailed", "50024", "PUT", path, props("members", []any{obj{"type": "TargetGroup"}}))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50078", "PUT", path, props("members", []any{member(f, "t1"), member(f, "t1")}))
	a = refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", path, `{"properties":{"members":[{"type":1},{}]}}`)
	require.Equal(t, "$.properties.members[0].type", a.At(t, "error.target"))
	require.Equal(t, "$.properties.members[1].type", a.At(t, "error.details.1.target"))
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", path, obj{})
}

func TestCase024IDOfAnotherAgent(t *testing.T) {
	f := front.Shared(t)
	for text, code := range map[string]string{
		strings.Replace(front.A, "agent1", "agentX", 1) + "/credentials/c":                   "MismatchingJobAccountNameWithUrl",
		strings.Replace(front.A, "server1", "other", 1) + "/credentials/c":                   "MismatchingServerNameWithUrl",
		strings.Replace(front.A, "rg1", "other", 1) + "/credentials/c":                       "MismatchingResourceGroupNameWithUrl",
		strings.Replace(front.A, front.Subscription, uuid.NewString(), 1) + "/credentials/c": "MismatchingSubscriptionWithUrl",
		"c": "InvalidResourceId", front.A + "/targetGroups/c": "InvalidResourceId", front.A + "/credentials/": "InvalidResourceId",
	} {
		m := member(f, "t1")
		m["refreshCredential"] = text
		a := refused(t, f, 400, code, "", "PUT", at("targetGroups", "g24"), props("members", []any{m}))
		require.Equal(t, "$.properties.members[0].refreshCredential", a.At(t, "error.target"))
	}
	m := member(f, "t1")
	m["refreshCredential"] = strings.ToUpper(front.A) + "/Credentials/c"
	a := ok(t, f, 201, "PUT", at("targetGroups", "g24"), props("members", []any{m}))
	require.Equal(t, front.A+"/credentials/c", a.At(t, "properties.members.0.refreshCredential"))
}

func TestCase026GroupInUse(t *testing.T) {
	f := front.Shared(t)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50108", "DELETE", at("targetGroups", "g1"), nil)
	ok(t, f, 201, "PUT", at("targetGroups", "g26"), props("members", []any{}))
	ok(t, f, 200, "DELETE", at("targetGroups", "g26"), nil)
	ok(t, f, 204, "DELETE", at("targetGroups", "g26"), nil)
}

func TestCase028JobWithDefaults(t *testing.T) {
	f := front.Shared(t)
	for i, body := range []any{`{"properties":{}}`, `{}`, `{"properties":{"description":null,"schedule":null}}`} {
		name := fmt.Sprintf("j28-%d", i)
		a := ok(t, f, 201, "PUT", at("jobs", name), body)
		require.Equal(t, obj{
			"id": front.A + "/jobs/" + name, "name": name, "type": "Microsoft.Sql/servers/jobAgents/jobs",
			"properties": obj{"description": "", "version": 0.0, "schedule": obj{
				"startTime": "0001-01-01T00:00:00Z", "endTime": "9999-12-31T11:59:59Z", "type": "Once", "enabled": false,
			}},
		}, a.JSON(t))
		require.Equal(t, []string{"|0|Once|1"}, rows(t, f, `SELECT CONCAT(description, N'|', CAST(enabled AS INT), N'|', schedule_interval_type, N'|', schedule_interval_count)
FROM jobs.jobs WHERE job_name = @p1`, name))
	}
}

func TestCase030ScheduleIsRemoved(t *testing.T) {
	f := front.Shared(t)
	path := at("jobs", "j30")
	ok(t, f, 201, "PUT", path, obj{})
	a := ok(t, f, 200, "PUT", path, `{"properties":{"description":"d","schedule":{"type":"Recurring","interval":"PT15M","enabled":true,
		"startTime":"2099-01-01T00:00:00+02:00"}}}`)
	require.Equal(t, obj{
		"startTime": "2098-12-31T22:00:00Z", "endTime": "9999-12-31T11:59:59Z", "type": "Recurring", "enabled": true, "interval": "PT15M",
	}, a.At(t, "properties.schedule"))
	a = ok(t, f, 200, "PUT", path, `{"properties":{"description":"d"}}`)
	require.Equal(t, "Once", a.At(t, "properties.schedule.type"))
	require.Equal(t, false, a.At(t, "properties.schedule.enabled"))
	require.Equal(t, "d", a.At(t, "properties.description"))
}

func TestCase032IntervalBelowAMinute(t *testing.T) {
	f := front.Shared(t)
	for _, text := range []string{"PT30S", "PT0M", "-PT5M", "P0D", "PT", "P", "15", "P1MT1H", "PT1M30S", "P99999999999D", "PT15M ", "P1.5D"} {
		refused(t, f, 400, "InvalidDuration", "", "PUT", at("jobs", "j32"),
			props("schedule", obj{"type": "Recurring", "interval": text}))
	}
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "j32"), props("schedule", obj{"type": "Recurring"}))
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "j32"), props("schedule", obj{"type": "Sometimes"}))
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "j32"), nil)
	a := ok(t, f, 201, "PUT", at("jobs", "j32"), props("schedule", obj{"type": "once", "interval": "nonsense"}))
	require.Nil(t, a.At(t, "properties.schedule.interval"), "Once has no interval")
}

func TestCase034MixedInterval(t *testing.T) {
	f := front.Shared(t)
	for text, want := range map[string][2]string{
		"P1DT2H": {"PT26H", "Hours 26"}, "PT90M": {"PT90M", "Minutes 90"}, "PT60M": {"PT60M", "Minutes 60"}, "P7D": {"P7D", "Days 7"},
		"P2W": {"P2W", "Weeks 2"}, "P1Y2M": {"P14M", "Months 14"}, "P3M": {"P3M", "Months 3"}, "P1Y": {"P12M", "Months 12"},
		"pt1h30m": {"PT90M", "Minutes 90"}, "PT120S": {"PT2M", "Minutes 2"}, "P1DT24H": {"P2D", "Days 2"}, "PT2147483647M": {"PT2147483647M", "Minutes 2147483647"},
	} {
		a := f.Do(t, "PUT", at("jobs", "j34"), props("schedule", obj{"type": "Recurring", "interval": text}))
		require.Contains(t, []int{200, 201}, a.Status, a.Body)
		require.Equal(t, want[0], a.At(t, "properties.schedule.interval"), text)
		require.Equal(t, []string{want[1]},
			rows(t, f, `SELECT CONCAT(schedule_interval_type, N' ', schedule_interval_count) FROM jobs.jobs WHERE job_name = N'j34'`), text)
	}
}

func TestCase036NameWithPercent(t *testing.T) {
	f := front.Shared(t)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50002", "PUT", front.A+"/jobs/a%25b"+front.Version, obj{})
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", strings.Repeat("x", 129)), obj{})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50003", "PUT", at("jobs", "jobagent$x"), obj{})

	t.Run("a slash is part of a name", func(t *testing.T) {
		a := ok(t, f, 201, "PUT", front.A+"/jobs/a%2Fb%20c"+front.Version, obj{})
		require.Equal(t, "a/b c", a.At(t, "name"))
		id, _ := a.At(t, "id").(string)
		require.Equal(t, front.A+"/jobs/a%2Fb c", id)
		ok(t, f, 200, "GET", strings.ReplaceAll(id, " ", "%20")+front.Version, nil)
		ok(t, f, 200, "PUT", front.A+"/jobs/A%2FB%20C"+front.Version, obj{"id": id, "name": "A/B C", "type": "microsoft.sql/servers/jobAgents/jobs"})
		a = ok(t, f, 200, "GET", front.A+"/jobs/A%2FB%20C"+front.Version, nil)
		require.Equal(t, "a/b c", a.At(t, "name"), "the stored case")
	})
	t.Run("what contradicts the URL", func(t *testing.T) {
		a := refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "j36"), obj{"id": "/x", "name": "y", "type": "z"})
		require.Len(t, a.At(t, "error.details"), 3, a.Body)
	})
}

func TestCase038NoJob(t *testing.T) {
	f := front.Shared(t)
	a := refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "nope"), nil)
	require.Contains(t, a.At(t, "error.message"), "Microsoft.Sql/servers/jobAgents/jobs")
	require.Contains(t, a.At(t, "error.message"), "nope")
	for _, path := range []string{
		at("jobs", "nope", "steps"), at("jobs", "nope", "versions"), at("jobs", "nope", "executions"), at("jobs", "j1", "steps", "nope"),
		at("jobs", "j1", "versions", "99"), at("jobs", "j1", "versions", "99", "steps"), at("jobs", "j1", "versions", "1", "steps", "nope"),
		at("jobs", "j1", "executions", uuid.NewString()), at("jobs", "j1", "executions", "x"), at("jobs", "jobagent$history_retention"),
		at("jobs", "jobagent$history_retention", "executions"), at("targetGroups", "nope"), at("privateEndpoints", "nope"),
	} {
		refused(t, f, 404, "ResourceNotFound", "", "GET", path, nil)
	}
	refused(t, f, 404, "ResourceNotFound", "", "POST", at("jobs", "nope", "start"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "POST", at("jobs", "jobagent$history_retention", "start"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "PUT", at("jobs", "nope", "steps", "s"), step("SELECT 1"))
	refused(t, f, 404, "JobAgentNotFound", "", "GET", strings.Replace(at("jobs"), "agent1", "agent2", 1), nil)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "GET", at("jobs", "j1", "versions", "x"), nil)
	ok(t, f, 204, "DELETE", at("jobs", "nope"), nil)
	ok(t, f, 204, "DELETE", at("jobs", "j1", "steps", "nope"), nil)
}

func TestCase040StepWithDefaults(t *testing.T) {
	f := front.Shared(t)
	ok(t, f, 201, "PUT", at("jobs", "j40"), obj{})
	a := ok(t, f, 201, "PUT", at("jobs", "j40", "steps", "s1"), step("SELECT 1"))
	require.Equal(t, obj{
		"id": front.A + "/jobs/j40/steps/s1", "name": "s1", "type": "Microsoft.Sql/servers/jobAgents/jobs/steps",
		"properties": obj{
			"stepId": 1.0, "targetGroup": group, "action": obj{"type": "TSql", "source": "Inline", "value": "SELECT 1"},
			"executionOptions": obj{
				"timeoutSeconds": 43200.0, "retryAttempts": 10.0, "initialRetryIntervalSeconds": 1.0, "maximumRetryIntervalSeconds": 120.0,
				"retryIntervalBackoffMultiplier": 2.0,
			},
		},
	}, a.JSON(t))
	a = ok(t, f, 200, "GET", at("jobs", "j40"), nil)
	require.Equal(t, 1.0, a.At(t, "properties.version"))

	t.Run("what is wrong", func(t *testing.T) {
		a := refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "j40", "steps", "s1"),
			`{"properties":{"stepId":"1","action":{"value":1},"executionOptions":{"retryAttempts":1.5},"action":{}}}`)
		require.GreaterOrEqual(t, len(a.At(t, "error.details").([]any)), 4, a.Body)
		refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "j40", "steps", "s1"), props("action", obj{"value": "x"}))
		refused(t, f, 400, "ElasticJobsOperationFailed", "50009", "PUT", at("jobs", "j40", "steps", "s1"), step(" "))
		refused(t, f, 400, "ElasticJobsOperationFailed", "50016", "PUT", at("jobs", "j40", "steps", "s1"),
			step("SELECT 1", "executionOptions", obj{"retryAttempts": -1}))
		refused(t, f, 400, "ElasticJobsOperationFailed", "50007", "PUT", at("jobs", "j40", "steps", "s1"),
			step("SELECT 1", "action", obj{"type": "Magic", "value": "x"}))
	})
}

func TestCase042StepVersions(t *testing.T) {
	f := front.Shared(t)
	path := at("jobs", "j42", "steps", "s1")
	version := func() any { return ok(t, f, 200, "GET", at("jobs", "j42"), nil).At(t, "properties.version") }
	ok(t, f, 201, "PUT", at("jobs", "j42"), obj{})
	first := ok(t, f, 201, "PUT", path, step("SELECT 1"))
	again := ok(t, f, 200, "PUT", path, step("SELECT 1"))
	require.Equal(t, 1.0, version())
	require.Equal(t, first.Header.Get("ETag"), again.Header.Get("ETag"))
	require.NotEmpty(t, first.Header.Get("ETag"))
	changed := ok(t, f, 200, "PUT", path, step("SELECT 2"))
	require.Equal(t, 2.0, version())
	require.NotEqual(t, first.Header.Get("ETag"), changed.Header.Get("ETag"))
	a := ok(t, f, 200, "GET", at("jobs", "j42", "versions", "1", "steps", "s1"), nil)
	require.Equal(t, "SELECT 1", a.At(t, "properties.action.value"))
	require.Equal(t, front.A+"/jobs/j42/versions/1/steps/s1", a.At(t, "id"))
	a = ok(t, f, 200, "GET", at("jobs", "j42", "versions", "1", "steps"), nil)
	require.Equal(t, "SELECT 1", a.At(t, "value.0.properties.action.value"))

	a = ok(t, f, 200, "GET", at("jobs", "j42", "versions"), nil)
	require.Equal(t, []any{"0", "1"}, []any{a.At(t, "value.0.name"), a.At(t, "value.1.name")}, "a page of two")
	next, _ := a.At(t, "nextLink").(string)
	a = ok(t, f, 200, "GET", next, nil)
	require.Equal(t, "2", a.At(t, "value.0.name"))
	require.Nil(t, a.At(t, "nextLink"))
	require.Nil(t, a.At(t, "value.0.properties"))
	ok(t, f, 200, "DELETE", path, nil)
	require.Equal(t, 3.0, version())
}

func TestCase044Output(t *testing.T) {
	f := front.Shared(t)
	ok(t, f, 201, "PUT", at("jobs", "j44"), obj{})
	output := obj{
		"type": "SqlDatabase", "subscriptionId": front.Subscription, "resourceGroupName": "rg", "serverName": "srv", "databaseName": "db",
		"schemaName": "s", "tableName": "t", "credential": "",
	}
	path := at("jobs", "j44", "steps", "s1")
	a := ok(t, f, 201, "PUT", path, step("SELECT 1", "output", output))
	delete(output, "credential")
	require.Equal(t, output, a.At(t, "properties.output"))
	output["credential"] = front.A + "/credentials/c"
	a = ok(t, f, 200, "PUT", path, step("SELECT 1", "output", output))
	require.Equal(t, output, a.At(t, "properties.output"))
	a = ok(t, f, 200, "PUT", path, step("SELECT 1", "output", obj{"serverName": "srv", "databaseName": "db", "tableName": "t"}))
	require.Equal(t, obj{"type": "SqlDatabase", "serverName": "srv", "databaseName": "db", "schemaName": "dbo", "tableName": "t"}, a.At(t, "properties.output"))
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", path, step("SELECT 1", "output", obj{"serverName": "srv"}))
	a = ok(t, f, 200, "PUT", path, step("SELECT 1"))
	require.Nil(t, a.At(t, "properties.output"))
	require.Equal(t, []string{"NULL"}, rows(t, f, `SELECT output_type FROM jobs.jobsteps WHERE job_name = N'j44'`))
	require.Equal(t, []string{"NULL"}, rows(t, f, `SELECT output_subscription_id FROM jobs.jobsteps WHERE job_name = N'j44'`))
}

func TestCase046UnknownGroup(t *testing.T) {
	f := front.Shared(t)
	ok(t, f, 201, "PUT", at("jobs", "j46"), obj{})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50106", "PUT", at("jobs", "j46", "steps", "s1"),
		step("SELECT 1", "targetGroup", front.A+"/targetGroups/nope"))
}

func TestCase048StepID(t *testing.T) {
	f := front.Shared(t)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "j1", "steps", "s9"),
		step("SELECT 1", "executionOptions", obj{"retryIntervalBackoffMultiplier": 1e308}))
	defineJob(t, f, "j48", "SELECT 1")
	refused(t, f, 400, "ElasticJobsOperationFailed", "50011", "PUT", at("jobs", "j48", "steps", "s2"), step("SELECT 1", "stepId", 5))
	a := ok(t, f, 201, "PUT", at("jobs", "j48", "steps", "s2"), step("SELECT 1", "stepId", 1))
	require.Equal(t, 1.0, a.At(t, "properties.stepId"))
	a = ok(t, f, 200, "GET", at("jobs", "j48", "steps"), nil)
	require.Equal(t, []any{"s2", "s1"}, []any{a.At(t, "value.0.name"), a.At(t, "value.1.name")})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50011", "PUT", at("jobs", "j48", "steps", "s2"), step("SELECT 1", "stepId", 3))
}

func TestCase050OptionsOfTSQLStay(t *testing.T) {
	f := front.Shared(t)
	defineJob(t, f, "j50", "SELECT 1")
	three, once := 3, true
	_, err := catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j50", MaxParallelism: &three})
	require.NoError(t, err)
	_, err = catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j50", AtMostOnce: &once})
	require.NoError(t, err)
	ok(t, f, 200, "PUT", at("jobs", "j50", "steps", "s1"), step("SELECT 50"))
	require.Equal(t, []string{"SELECT 50|3|1"}, rows(t, f, `SELECT CONCAT(s.command, N'|', s.max_parallelism, N'|', CAST(o.at_most_once AS INT))
FROM jobs.jobsteps AS s INNER JOIN jobs.jobstep_options AS o ON o.job_id = s.job_id AND o.is_current = 1
WHERE s.job_name = N'j50'`))
}

func TestCase108Conditions(t *testing.T) {
	f := front.Shared(t)
	for _, test := range []struct {
		path           string
		first, changed any
	}{
		{at("jobs", "j108"), props("description", "a"), props("description", "b")},
		{at("jobs", "j108", "steps", "step"), step("SELECT 1"), step("SELECT 2")},
		{at("targetGroups", "g108"), props("members", []any{}), props("members", []any{member(f, "x")})},
		{at("credentials", "c108"), props("username", "a", "password", "p"), props("username", "b", "password", "p")},
		{at("privateEndpoints", "p108"), props("targetServerAzureResourceId", "/a"), props("targetServerAzureResourceId", "/b")},
	} {
		name := path.Base(strings.TrimSuffix(test.path, front.Version))
		old := ok(t, f, 201, "PUT", test.path, test.first, "If-None-Match: *").Header.Get("ETag")
		require.Regexp(t, `^"[A-Za-z0-9_-]{22}"$`, old)
		refused(t, f, 412, "PreconditionFailed", "", "PUT", test.path, test.first, "If-None-Match: *")
		now := ok(t, f, 200, "PUT", test.path, test.changed, "If-Match: "+old).Header.Get("ETag")
		require.NotEqual(t, old, now)
		require.Equal(t, now, ok(t, f, 200, "GET", test.path, nil).Header.Get("ETag"))
		refused(t, f, 412, "PreconditionFailed", "", "PUT", test.path, test.first, "If-Match: "+old)
		refused(t, f, 412, "PreconditionFailed", "", "DELETE", test.path, nil, "If-Match: "+old)
		refused(t, f, 412, "PreconditionFailed", "", "PUT", strings.Replace(test.path, "/"+name+"?", "/"+name+"x?", 1), test.first, "If-Match: "+old)
		if strings.Contains(test.path, "/jobs/j108?") {
			continue
		}
		ok(t, f, 200, "DELETE", test.path, nil, "If-Match: *")
		refused(t, f, 412, "PreconditionFailed", "", "PUT", test.path, test.first, "If-Match: *")
	}
	ok(t, f, 200, "DELETE", at("jobs", "j108"), nil, "If-Match: *")
}

// TestVersions: R-2.
func TestVersions(t *testing.T) {
	f := front.Shared(t)
	for version, status := range map[string]int{
		"": 400, "2020-11-01-preview": 200, "2017-03-01-preview": 200, "2023-08-01-preview": 200, "2021-11-01": 200, "2025-01-01": 200,
		"2019-01-01": 400, "2020-11-01": 400, "latest": 400, "2027-01-01": 400,
	} {
		a := ok(t, f, status, "GET", front.A+"/jobs/j1?api-version="+version, nil)
		if status == 400 {
			code := "InvalidApiVersionParameter"
			if version == "" {
				code = "MissingApiVersionParameter"
			}
			require.Equal(t, code, a.Code(t))
		}
	}
}

// TestPrivateEndpoints: A37 to A40.
func TestPrivateEndpoints(t *testing.T) {
	f := front.Shared(t)
	path := at("privateEndpoints", "p1")
	a := ok(t, f, 201, "PUT", path, props("targetServerAzureResourceId", front.Servers))
	require.Equal(t, front.Servers, a.At(t, "properties.targetServerAzureResourceId"))
	require.Regexp(t, "^EJ_.*_p1$", a.At(t, "properties.privateEndpointId"))
	b := ok(t, f, 200, "PUT", path, props("targetServerAzureResourceId", front.Servers))
	require.Equal(t, a.JSON(t), b.JSON(t))
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", path, props())
	ok(t, f, 200, "DELETE", path, nil)
	ok(t, f, 204, "DELETE", path, nil)
}

// TestBodiesDecode: what clients send that is not for us is ignored.
func TestBodiesDecode(t *testing.T) {
	f := front.Shared(t)
	var body obj
	require.NoError(t, json.Unmarshal([]byte(`{"properties":{"description":"d","version":"not ours","further":[1]},"tags":{}}`), &body))
	a := ok(t, f, 201, "PUT", at("jobs", "ignored"), body)
	require.Equal(t, "d", a.At(t, "properties.description"))
	for _, text := range []string{``, `[]`, `x`, `{"properties":{"description":1}}`, `{"properties":{}} x`, `{"properties":{},"properties":{}}`, `{"properties":{"schedule":{"startTime":"soon"}}}`, `{"properties":{"schedule":{"startTime":"0001-01-01T00:00:00+14:00"}}}`} {
		a := f.Do(t, "PUT", at("jobs", "ignored"), text)
		require.Equal(t, 400, a.Status, "%s: %s\n%s", text, a.Body, f.Log.String()[max(0, len(f.Log.String())-3000):])
		require.Equal(t, "InvalidResourceRequestBody", a.Code(t))
	}
	require.Equal(t, http.StatusMethodNotAllowed, f.Do(t, "PATCH", at("jobs", "ignored"), obj{}).Status)
}

// TestLongTexts: SQL Server cuts off a text that is longer than a parameter, so the surface must
// refuse it: a longer name is another one, and does not exist.
func TestLongTexts(t *testing.T) {
	f := front.Shared(t)
	long := strings.Repeat("n", 128)
	ok(t, f, 201, "PUT", at("jobs", long), obj{})
	ok(t, f, 201, "PUT", at("targetGroups", long), props("members", []any{}))
	ok(t, f, 201, "PUT", at("jobs", long, "steps", long), step("SELECT 1", "targetGroup", front.A+"/targetGroups/"+long))
	for _, path := range []string{at("jobs", long+"n"), at("targetGroups", long+"n"), at("jobs", long, "steps", long+"n"), at("credentials", long+"n"), at("jobs", long+"n", "steps")} {
		refused(t, f, 404, "ResourceNotFound", "", "GET", path, nil)
	}
	refused(t, f, 404, "ResourceNotFound", "", "DELETE", at("jobs", long+"n"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "POST", at("jobs", long+"n", "start"), nil)
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", long+"n"), obj{})
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", long, "steps", long+"n"), step("SELECT 1"))
	refused(t, f, 400, "InvalidResourceId", "", "PUT", at("jobs", long, "steps", long), step("SELECT 1", "targetGroup", front.A+"/targetGroups/"+long+"n"))
	for path, body := range map[string]obj{
		"$.properties.description":             props("description", strings.Repeat("d", 513)),
		"$.properties.members[0].databaseName": props("members", []any{obj{"type": "SqlDatabase", "serverName": "s", "databaseName": long + "n"}}),
		"$.properties.output.tableName":        step("SELECT 1", "output", obj{"serverName": "s", "databaseName": "d", "tableName": long + "n"}),
	} {
		where := at("jobs", long)
		if strings.Contains(path, "members") {
			where = at("targetGroups", long)
		} else if strings.Contains(path, "output") {
			where = at("jobs", long, "steps", long)
		}
		require.Equal(t, path, refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", where, body).At(t, "error.target"))
	}
	for _, name := range []string{"\x00", "\xff", "a\nb", strings.Repeat("ä", 2000), "'; DROP TABLE x --", "..x/x..", "%"} {
		require.Equal(t, 404, f.Do(t, "GET", at("jobs", name), nil).Status, "%q", name)
	}
	ok(t, f, 200, "DELETE", at("jobs", long), nil)
}

// TestConcurrentPuts: of PUTs at the same time, one creates, and none fails.
func TestConcurrentPuts(t *testing.T) {
	f := front.Shared(t)
	put := func(path string, body obj) {
		statuses := make(chan int, 8)
		var clients sync.WaitGroup
		for range cap(statuses) {
			clients.Go(func() { statuses <- f.Do(t, "PUT", path, body).Status })
		}
		clients.Wait()
		close(statuses)
		counts := map[int]int{}
		for s := range statuses {
			counts[s]++
		}
		require.Equal(t, map[int]int{201: 1, 200: 7}, counts, path)
	}
	put(at("jobs", "race"), props("description", "d"))
	put(at("jobs", "race", "steps", "s"), step("SELECT 1"))
	put(at("targetGroups", "race"), props("members", []any{member(f, "t1")}))
	put(at("credentials", "race"), props("username", "u", "password", "p"))
	put(at("privateEndpoints", "race"), props("targetServerAzureResourceId", "/x"))
	start := uuid.NewString()
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() { f.Do(t, "PUT", at("jobs", "race", "executions", start), nil) })
	}
	clients.Wait()
	require.Equal(t, []string{"1"}, rows(t, f, `SELECT CAST(COUNT(*) AS NVARCHAR(9)) FROM jobs.job_executions WHERE job_name = N'race' AND step_id IS NULL`))
	require.Equal(t, 1.0, ok(t, f, 200, "GET", at("jobs", "race"), nil).At(t, "properties.version"))
}

func TestCase070Roles(t *testing.T) {
	f := front.Shared(t)
	for _, test := range []struct {
		role         rest.Role
		method, path string
		status       int
	}{
		{rest.RoleOperator, "PUT", at("jobs", "x70"), 403}, {rest.RoleOperator, "POST", at("jobs", "j1", "start"), 200},
		{rest.RoleReader, "POST", at("jobs", "j1", "start"), 403}, {rest.RoleReader, "GET", at("jobs", "j1"), 200},
		{rest.RoleAuthor, "PUT", at("credentials", "x70"), 403}, {rest.RoleAuthor, "PUT", at("jobs", "x70"), 201},
		{rest.RoleAuthor, "DELETE", at("privateEndpoints", "x70"), 403},
	} {
		a := f.DoAs(t, test.role, test.method, test.path, `{}`)
		require.Equal(t, test.status, a.Status, "%v %s %s: %s", test.role, test.method, test.path, a.Body)
		if test.status == 403 {
			require.Equal(t, "AuthorizationFailed", a.Code(t))
		}
	}
}
