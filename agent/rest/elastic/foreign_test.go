package elastic_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/front"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// TestJobsOfTheScheduler. Jobs of collections are visible and read-only; they can be
// started.
func TestJobsOfTheScheduler(t *testing.T) {
	f := front.Shared(t)
	// Without a start time, its schedule would start a run now, on the same endpoint.
	_, err := f.DB(t, f.Control).ExecContext(t.Context(), `EXECUTE jobs.sp_set_job_collection @job_collection_name = N'jc', @location = N'onprem', @sku = N'Standard';
EXECUTE jobs.sp_set_scheduler_job @job_collection_name = N'jc', @job_name = N'h1', @command_type = N'Http', @command = @p1,
    @schedule = N'{"startTime": "2099-01-01T00:00:00Z"}';`,
		`{"url":"`+f.H.URL+`/ok","allow_http":true,"method":"GET"}`)
	require.NoError(t, err)
	a := ok(t, f, 200, "GET", at("jobs", "jc/h1"), nil)
	require.Equal(t, front.A+"/jobs/jc%2Fh1", a.At(t, "id"))
	require.Equal(t, "jc/h1", a.At(t, "name"))
	a = ok(t, f, 200, "GET", at("jobs", "jc/h1", "steps"), nil)
	require.Equal(t, "Http", a.At(t, "value.0.properties.action.type"))
	require.Contains(t, a.At(t, "value.0.properties.action.value"), f.H.URL)
	require.Nil(t, a.At(t, "value.0.properties.targetGroup"))
	name, _ := a.At(t, "value.0.name").(string)

	refused(t, f, 400, "ElasticJobsOperationFailed", "50169", "PUT", at("jobs", "jc/h1"), props("description", "x"))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50169", "PUT", at("jobs", "jc/h1", "steps", name), step("SELECT 1"))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50169", "DELETE", at("jobs", "jc/h1", "steps", name), nil)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50169", "DELETE", at("jobs", "jc/h1"), nil)
	id := uuid.NewString()
	ok(t, f, 201, "PUT", at("jobs", "jc/h1", "executions", id), nil)
	a = wait(t, f, "jc/h1", id)
	require.Equal(t, "Succeeded", a.At(t, "properties.lifecycle"), a.Body)
	a = ok(t, f, 200, "GET", at("jobs", "jc/h1", "executions", id, "targets"), nil)
	require.Equal(t, "Endpoint", a.At(t, "value.0.properties.target.type"))
}

// textOf returns the text of a request, with that of its parameters.
func textOf(p tsqld.Point) string {
	if p.Call == nil {
		return p.Request
	}
	return fmt.Sprint(p.Request, p.Call.Params)
}

// TestLostAnswerOfAStart: R-50. The control database has started the run, and its answer is lost:
// the front does not refuse the request.
func TestLostAnswerOfAStart(t *testing.T) {
	var armed atomic.Int32
	env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.AfterCommitBeforeReply && strings.Contains(textOf(p), "sp_start_job") && armed.Add(-1) == 0 {
			return tsqld.ErrClose
		}
		return nil
	}})
	store, control := env.Control(t)
	f := front.Start(t, func(t testing.TB, f *front.Front) []*rest.Mount {
		entry := *f.Entry
		entry.Store = store
		directory, err := rest.NewDirectory(&entry)
		require.NoError(t, err)
		return []*rest.Mount{{ARM: true, Surface: elastic.New(elastic.Config{Directory: directory})}}
	})
	_, err := targetgroups.On(store).Add(t.Context(), "g1")
	require.NoError(t, err)
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "j1"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{JobName: "j1", Command: new("SELECT 1"), TargetGroup: new("g1")})
	require.NoError(t, err)

	armed.Store(1)
	a := ok(t, f, 200, "POST", at("jobs", "j1", "start"), nil)
	require.Zero(t, armed.Load(), "the answer was lost")
	require.Equal(t, "Created", a.At(t, "properties.lifecycle"))
	var runs int
	require.NoError(t, env.DB(t, control).QueryRowContext(t.Context(),
		`SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL AND job_name = N'j1'`).Scan(&runs))
	require.Equal(t, 1, runs)

	t.Run("a disabled agent", func(t *testing.T) {
		ok(t, f, 200, "GET", at("jobs", "j1"), nil)
		_, _, err := account.On(store).Set(t.Context(), account.Change{Name: front.Agent})
		require.NoError(t, err)
		require.NoError(t, account.On(store).Advance(t.Context(), uuid.New(), time.Minute))
		require.NoError(t, account.On(store).Disable(t.Context(), "maintenance"))
		a := refused(t, f, 409, "ElasticJobAgentOperationUnavailable", "50183", "PUT", at("jobs", "j1"), props("description", "x"))
		require.Contains(t, a.At(t, "error.message"), "maintenance")
		refused(t, f, 409, "ElasticJobAgentOperationUnavailable", "50183", "POST", at("jobs", "j1", "start"), nil)
		ok(t, f, 200, "GET", at("jobs", "j1"), nil)
	})
}
