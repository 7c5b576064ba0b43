package elastic_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/testenv/front"
)

// idleJob waits until no run of j1 is active. Other tests start runs of it, too, and a target on
// which the job runs already is skipped.
func idleJob(t *testing.T, f *front.Front) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		a := ok(t, f, 200, "GET", at("jobs", "j1", "executions")+"&isActive=true", nil)
		if len(a.At(t, "value").([]any)) == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), a.Body)
		<-time.After(20 * time.Millisecond)
	}
}

func TestCase052Start(t *testing.T) {
	f := front.Shared(t)
	idleJob(t, f)
	a := ok(t, f, 200, "POST", at("jobs", "j1", "start"), nil)
	id, _ := a.At(t, "name").(string)
	require.Equal(t, f.URL+front.A+"/jobs/j1/executions/"+id+front.Version, a.Header.Get("Location"))
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	created, _ := a.At(t, "properties.createTime").(string)
	require.Equal(t, obj{
		"id": front.A + "/jobs/j1/executions/" + id, "name": id, "type": "Microsoft.Sql/servers/jobAgents/jobs/executions",
		"properties": obj{
			"jobVersion": 1.0, "jobExecutionId": id, "lifecycle": "Created", "provisioningState": "Created", "createTime": created,
			"currentAttempts": 0.0, "lastMessage": "Job execution created.",
		},
	}, a.JSON(t))
	_, err := time.Parse(time.RFC3339Nano, created)
	require.NoError(t, err)
	a = wait(t, f, "j1", id)
	require.Equal(t, "Succeeded", a.At(t, "properties.lifecycle"))
	require.Empty(t, a.Header.Get("Retry-After"))
	ok(t, f, 201, "PUT", at("jobs", "j52"), obj{})
	refused(t, f, 400, "ElasticJobsOperationFailed", "50103", "POST", at("jobs", "j52", "start"), nil)
}

func TestCase058PutExecution(t *testing.T) {
	f := front.Shared(t)
	idleJob(t, f)
	id := uuid.NewString()
	a := ok(t, f, 201, "PUT", at("jobs", "j1", "executions", id), nil)
	require.Equal(t, id, a.At(t, "properties.jobExecutionId"))
	a = ok(t, f, 200, "PUT", at("jobs", "j1", "executions", id), `{}`)
	require.Equal(t, id, a.At(t, "properties.jobExecutionId"))
	require.Equal(t, []string{"1"}, rows(t, f, `SELECT CAST(COUNT(*) AS NVARCHAR(9)) FROM jobs.job_executions WHERE job_execution_id = @p1 AND step_id IS NULL`, id))
	wait(t, f, "j1", id)
	a = ok(t, f, 200, "PUT", at("jobs", "j1", "executions", id), nil)
	require.Equal(t, "Succeeded", a.At(t, "properties.lifecycle"))
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("jobs", "j1", "executions", "x"), nil)
}

func TestCase060ExecutionOfAnotherJob(t *testing.T) {
	f := front.Shared(t)
	idleJob(t, f)
	defineJob(t, f, "j60", "SELECT 1")
	id := uuid.NewString()
	ok(t, f, 201, "PUT", at("jobs", "j1", "executions", id), nil)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50112", "PUT", at("jobs", "j60", "executions", id), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("jobs", "j60", "executions", id), nil)
	refused(t, f, 404, "ResourceNotFound", "", "POST", at("jobs", "j60", "executions", id, "cancel"), nil)
	wait(t, f, "j1", id)
}

func TestCase062Cancel(t *testing.T) {
	f := front.Shared(t)
	defineJob(t, f, "j62", "WAITFOR DELAY '00:00:30'")
	a := ok(t, f, 200, "POST", at("jobs", "j62", "start"), nil)
	id, _ := a.At(t, "name").(string)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50102", "DELETE", at("jobs", "j62"), nil)
	a = ok(t, f, 200, "POST", at("jobs", "j62", "executions", id, "cancel"), nil)
	require.Empty(t, a.Body)
	a = wait(t, f, "j62", id)
	require.Equal(t, "Canceled", a.At(t, "properties.lifecycle"))
	require.Equal(t, "Canceled", a.At(t, "properties.provisioningState"))
	require.Equal(t, "JobExecutionCanceled", a.Header.Get("X-Ms-Error-Code"))
	ok(t, f, 200, "POST", at("jobs", "j62", "executions", id, "cancel"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "POST", at("jobs", "j62", "executions", uuid.NewString(), "cancel"), nil)
	ok(t, f, 200, "POST", at("jobs", "j62", "start"), nil)
	ok(t, f, 200, "DELETE", at("jobs", "j62")+"&force=true", nil)
}

func TestCase064StepsAndTargets(t *testing.T) {
	f := front.Shared(t)
	idleJob(t, f)
	id := uuid.NewString()
	ok(t, f, 201, "PUT", at("jobs", "j1", "executions", id), nil)
	wait(t, f, "j1", id)
	base := front.A + "/jobs/j1/executions/" + id
	a := ok(t, f, 200, "GET", base+"/steps"+front.Version, nil)
	require.Len(t, a.At(t, "value"), 1)
	require.Equal(t, []any{"s1", 1.0, nil, "s1", "Succeeded"}, []any{
		a.At(t, "value.0.name"), a.At(t, "value.0.properties.stepId"), a.At(t, "value.0.properties.target"),
		a.At(t, "value.0.properties.stepName"), a.At(t, "value.0.properties.lifecycle"),
	})
	require.Equal(t, "Microsoft.Sql/servers/jobAgents/jobs/executions/steps", a.At(t, "value.0.type"))
	one := ok(t, f, 200, "GET", base+"/steps/S1"+front.Version, nil)
	require.Equal(t, a.At(t, "value.0"), any(one.JSON(t)))
	for _, path := range []string{base + "/steps/s1/targets", base + "/targets"} {
		a = ok(t, f, 200, "GET", path+front.Version, nil)
		require.Len(t, a.At(t, "value"), 2)
		require.Nil(t, a.At(t, "nextLink"))
		for i, database := range f.Targets {
			row := fmt.Sprintf("value.%d.", i)
			require.Equal(t, obj{"type": "SqlDatabase", "serverName": f.ServerName, "databaseName": database}, a.At(t, row+"properties.target"))
			require.Equal(t, "Microsoft.Sql/servers/jobAgents/jobs/executions/steps/targets", a.At(t, row+"type"))
			require.Equal(t, 1.0, a.At(t, row+"properties.currentAttempts"))
			target, _ := a.At(t, row+"name").(string)
			require.NoError(t, uuid.Validate(target))
			one := ok(t, f, 200, "GET", base+"/steps/s1/targets/"+target+front.Version, nil)
			require.Equal(t, a.At(t, fmt.Sprintf("value.%d", i)), any(one.JSON(t)))
		}
	}
	a = ok(t, f, 200, "GET", base+"/targets"+front.Version+"&$top=1", nil)
	require.Len(t, a.At(t, "value"), 1)
	a = ok(t, f, 200, "GET", base+"/targets"+front.Version+"&$skip=1", nil)
	require.Equal(t, f.Targets[1], a.At(t, "value.0.properties.target.databaseName"))
	refused(t, f, 404, "ResourceNotFound", "", "GET", base+"/steps/nope"+front.Version, nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", base+"/steps/nope/targets"+front.Version, nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", base+"/steps/s1/targets/"+uuid.NewString()+front.Version, nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", base+"/steps/s1/targets/x"+front.Version, nil)
}

func TestCase066Pages(t *testing.T) {
	f := front.Shared(t)
	defineJob(t, f, "j66", "SELECT 1")
	var ids []any
	for range 3 {
		a := ok(t, f, 200, "POST", at("jobs", "j66", "start"), nil)
		ids = append([]any{a.At(t, "name")}, ids...)
	}
	names := func(a front.Answer) (list []any) {
		for i := range a.At(t, "value").([]any) {
			list = append(list, a.At(t, fmt.Sprintf("value.%d.name", i)))
		}
		return list
	}
	a := ok(t, f, 200, "GET", at("executions")+"&$top=2", nil)
	require.Equal(t, ids[:2], names(a))
	require.Nil(t, a.At(t, "nextLink"))
	a = ok(t, f, 200, "GET", at("jobs", "j66", "executions")+"&createTimeMin=2000-01-01T00:00:00.123456789%2B02:00", nil)
	require.Equal(t, ids[:2], names(a), "a page of two")
	next, _ := a.At(t, "nextLink").(string)
	require.True(t, strings.HasPrefix(next, f.URL+"/subscriptions/"), next)
	a = ok(t, f, 200, "GET", next, nil)
	require.Equal(t, ids[2:], names(a))
	require.Nil(t, a.At(t, "nextLink"))
	a = ok(t, f, 200, "GET", at("jobs", "j66", "executions")+"&$top=3", nil)
	require.Equal(t, ids, names(a), "more than a page")
	a = ok(t, f, 200, "GET", at("jobs", "j66", "executions")+"&$skip=2", nil)
	require.Equal(t, ids[2:], names(a))
	for _, query := range []string{"$top=0", "$top=-1", "$top=x", "$top=99999999999999999999", "$skip=-1", "$skiptoken=x", "$skiptoken=e30x", "isActive=maybe", "createTimeMin=today", "endTimeMax="} {
		a := refused(t, f, 400, "InvalidResourceRequestBody", "", "GET", at("executions")+"&"+query, nil)
		name, _, _ := strings.Cut(query, "=")
		require.Equal(t, name, a.At(t, "error.target"))
	}

	t.Run("all lists", func(t *testing.T) {
		for i := range 5 {
			ok(t, f, 201, "PUT", at("targetGroups", fmt.Sprintf("z66-%d", i)), props("members", []any{member(f, "a"), member(f, "b")}))
			ok(t, f, 201, "PUT", at("jobs", fmt.Sprintf("z66-%d", i)), obj{})
			ok(t, f, 201, "PUT", at("credentials", fmt.Sprintf("z66-%d", i)), props("username", "u", "password", "p"))
			ok(t, f, 201, "PUT", at("privateEndpoints", fmt.Sprintf("z66-%d", i)), props("targetServerAzureResourceId", "/x"))
			ok(t, f, 201, "PUT", at("jobs", "z66-0", "steps", fmt.Sprintf("s-%d", i)), step("SELECT 1"))
		}
		for _, path := range []string{at("targetGroups"), at("jobs"), at("credentials"), at("privateEndpoints"), at("jobs", "z66-0", "steps"), at("jobs", "z66-0", "versions", "5", "steps")} {
			var found []string
			for next := path; next != ""; {
				a := ok(t, f, 200, "GET", next, nil)
				require.LessOrEqual(t, len(a.At(t, "value").([]any)), pageSize)
				for _, name := range names(a) {
					if text, _ := name.(string); strings.HasPrefix(text, "z66-") || strings.HasPrefix(text, "s-") {
						found = append(found, text[len(text)-1:])
					}
					require.NotEqual(t, "jobagent$history_retention", name)
				}
				next, _ = a.At(t, "nextLink").(string)
			}
			require.Equal(t, []string{"0", "1", "2", "3", "4"}, found, path)
		}
	})
}

func TestCase068NoneActive(t *testing.T) {
	f := front.Shared(t)
	idleJob(t, f)
	now := time.Now().UTC().Add(time.Hour).Format(time.RFC3339Nano)
	a := ok(t, f, 200, "GET", at("executions")+"&isActive=true&createTimeMin="+now, nil)
	require.JSONEq(t, `{"value":[]}`, a.Body)
	a = ok(t, f, 200, "GET", at("executions")+"&isActive=true&endTimeMin=2000-01-01T00:00:00Z", nil)
	require.JSONEq(t, `{"value":[]}`, a.Body, "what is active has not ended")

	id := uuid.NewString()
	ok(t, f, 201, "PUT", at("jobs", "j1", "executions", id), nil)
	ended, _ := wait(t, f, "j1", id).At(t, "properties.endTime").(string)
	for query, found := range map[string]bool{
		"endTimeMin=" + ended: true, "endTimeMax=" + ended: false, "isActive=false": true, "isActive=true": false, "createTimeMax=2000-01-01T00:00:00Z": false,
		"createTimeMax=" + now: true, "endTimeMax=" + now: true, "endTimeMin=" + now: false,
	} {
		a := ok(t, f, 200, "GET", at("jobs", "j1", "executions")+"&$top=1000&"+query, nil)
		require.Equal(t, found, strings.Contains(a.Body, id), query)
	}
}

func TestCase072Idempotency(t *testing.T) {
	f := front.Shared(t)
	idleJob(t, f)
	start := func(headers ...string) any {
		return ok(t, f, 200, "POST", at("jobs", "j1", "start"), nil, headers...).At(t, "name")
	}
	key := "x-ms-client-request-id: " + uuid.NewString()
	first := start(key)
	require.Equal(t, first, start(key))
	require.NotEqual(t, start(), start())
	require.NotEqual(t, first, start("x-ms-client-request-id: "+uuid.NewString()))
	require.NotEqual(t, start("x-ms-client-request-id: x"), start("x-ms-client-request-id: x"), "no GUID")
	other := start("Idempotency-Key: k1")
	require.Equal(t, other, start("Idempotency-Key: k1"))
	require.NotEqual(t, other, start("Idempotency-Key: k2"))
}

// A paused control database starts nothing, and says so with the status of a job agent that does
// not work.
func TestStartWhilePaused(t *testing.T) {
	f := front.Shared(t)
	idleJob(t, f)
	require.NoError(t, identity.On(f.Store).Pause(t.Context(), "maintenance until <Monday>"))
	resume := sync.OnceFunc(func() {
		require.NoError(t, identity.On(f.Store).Resume(context.WithoutCancel(t.Context()), time.Time{}))
	})
	defer resume()
	refused(t, f, 409, "ElasticJobAgentOperationUnavailable", "50193", "POST", at("jobs", "j1", "start"), nil)
	refused(t, f, 409, "ElasticJobAgentOperationUnavailable", "50193", "PUT", at("jobs", "j1", "executions", uuid.NewString()), nil)
	ok(t, f, 200, "GET", at("jobs", "j1"), nil)
	resume()
	a := ok(t, f, 200, "POST", at("jobs", "j1", "start"), nil)
	id, _ := a.At(t, "name").(string)
	wait(t, f, "j1", id)
}
