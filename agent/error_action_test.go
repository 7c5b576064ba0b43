package agent_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// addErrorAction adds an error action to a job with one step.
func (f *actionFixture) addErrorAction(t *testing.T, job string, options ...func(*model.StepSpec)) {
	t.Helper()
	spec := model.StepSpec{
		JobName: job, StepName: ptr("ErrorAction"), CommandType: ptr("Http"),
		Command: new(`{"method": "POST", "url": "http://api.example.com:8080/err", "allow_http": true}`),
		RunWhen: ptr("Failed"),
	}
	for _, option := range options {
		option(&spec)
	}
	_, err := catalog.On(f.Store).AddJobStep(t.Context(), spec)
	require.NoError(t, err)
}

// schedule returns the only schedule of a job.
func (f *actionFixture) schedule(t *testing.T, job string) timetable.Schedule {
	t.Helper()
	list, err := timetable.On(f.Store).List(t.Context(), timetable.Filter{JobName: job})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// TestArmCase92: the tries of the main action come first, by its policy, and then the error action
// once. The run counts as a fault, although the error action worked.
func TestArmCase92(t *testing.T) {
	testenv.Long(t)
	skipUnderRace(t) // minutes of virtual time
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/main" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	actionBubble(t, 0, answer, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		f.addAction(t, "j", "", `{"url": "http://api.example.com:8080/main", "allow_http": true}`, retries(1, 15))
		f.addErrorAction(t, "j", retries(1, 15))
		f.every(t, "j", 60)
		<-time.After(5 * time.Minute)
		var paths []string
		for _, r := range f.endpoint.Requests() {
			paths = append(paths, r.Path)
		}
		require.Equal(t, []string{"/main", "/main", "/err"}, paths)
		rows, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "j"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		s := f.schedule(t, "j")
		require.Equal(t, int64(2), s.Failures, "the tries of the main action")
		require.Equal(t, int64(1), s.Faults)
	})
}

// TestCase124: an error action with a policy of its own, whose endpoint is down.
func TestCase124(t *testing.T) {
	testenv.Long(t)
	skipUnderRace(t) // minutes of virtual time
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	actionBubble(t, 0, answer, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		f.addAction(t, "j", "", `{"url": "http://api.example.com:8080/main", "allow_http": true}`, retries(0, 1))
		f.addErrorAction(t, "j", retries(2, 1))
		f.every(t, "j", 60)
		<-time.After(5 * time.Minute)
		var paths []string
		for _, r := range f.endpoint.Requests() {
			paths = append(paths, r.Path)
		}
		require.Equal(t, []string{"/main", "/err", "/err", "/err"}, paths)
		rows, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "j"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Equal(t, int64(1), f.schedule(t, "j").Faults)
	})
}
