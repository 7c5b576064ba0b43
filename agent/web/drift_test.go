package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv/front"
)

// TestDriftPages: the page of a job that compares schemas groups databases that are alike, with
// what the job said about the others; a baseline is set from the page of a database, and deleted.
func TestDriftPages(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := "web drift <b>&'"
	_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	add := func(step, command string) {
		t.Helper()
		attempts := 0
		_, err := catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
			JobName: name, StepName: &step, CommandType: new("Drift"), Command: &command, TargetGroup: new("g1"), RetryAttempts: &attempts,
		})
		require.NoError(t, err)
	}
	add("read", `{"against":"none","exclude":["only <here>"]}`)
	reader, b := as(t, f, "reader"), as(t, f, "author")
	at := base + "/jobs/" + segment(name)
	require.Contains(t, reader.get(at).Body, `/drift"><bdi>Schemas</bdi></a>`)
	require.Contains(t, reader.get(at+"/drift").Body, "No step of type Drift has read these databases.")

	run, err := executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	await(t, f, run)
	require.Contains(t, reader.get(base+"/runs/"+run.String()).Body, `/drift">schemas</a>`)
	// Agents register the databases of a group some seconds later, and the test does it now. One of
	// them may be at it.
	require.Eventually(t, func() bool {
		_, err := f.Store.RegisterTargets(t.Context())
		require.NoError(t, err)
		list, err := drifts.On(f.Store).SameSchemas(t.Context(), drifts.Filter{Job: name}, 10)
		require.NoError(t, err)
		n := 0
		for _, one := range list {
			n += one.Databases
		}
		return n == len(f.Targets)
	}, 20*time.Second, 5*time.Millisecond)
	shown := reader.get(at + "/drift")
	require.Equal(t, http.StatusOK, shown.Status, shown.Body)
	for _, text := range []string{"exclude only &lt;here&gt;", "only records", "jobagent drift history --current"} {
		require.Contains(t, shown.Body, text)
	}
	require.Equal(t, http.StatusOK, reader.get(base+"/drift").Status)
	require.Equal(t, http.StatusNotFound, reader.get(base+"/jobs/none/drift").Status)

	states, err := drifts.On(f.Store).History(t.Context(), drifts.Filter{Job: name, Current: true, Limit: 1})
	require.NoError(t, err)
	require.Len(t, states, 1)
	database := base + "/databases/" + states[0].Target.String()
	body := reader.get(database).Body
	require.Contains(t, body, states[0].Fingerprint.Short())
	require.NotContains(t, body, "Set a baseline", "readers get no buttons")
	path := database + "/baseline"
	require.Equal(t, http.StatusForbidden, as(t, f, "operator").get(path).Status)
	require.Contains(t, b.get(path).Body, "jobagent drift baseline set")
	for _, bad := range []string{"", "a/b", "majority"} {
		require.Equal(t, http.StatusUnprocessableEntity, b.post(path, b.form(path, "name", bad)).Status, bad)
	}
	const baseline = "web <i> 7"
	a := b.post(path, b.form(path, "name", baseline))
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	require.Equal(t, base+"/drift#baselines", a.Header.Get("Location"))
	set, err := drifts.On(f.Store).Baseline(t.Context(), baseline)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(set, func(one drifts.Baseline) bool { return one.Fingerprint.Short() == states[0].Fingerprint.Short() }))
	shown = reader.get(at + "/drift")
	require.Contains(t, shown.Body, "baseline <bdi>web &lt;i&gt; 7</bdi>")

	// A step that fails says why; the comparison is like that of a terminal.
	add("compare", fmt.Sprintf(`{"against":"%s/%s","exclude":["only <here>"]}`, f.ServerName, f.Targets[0]))
	add("release", `{"against":"web <none>","exclude":["only <here>"]}`)
	run, err = executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	await(t, f, run)
	shown = reader.get(at + "/drift")
	require.Contains(t, shown.Body, "baseline &#39;web &lt;none&gt;&#39; does not exist")
	require.Contains(t, shown.Body, "--tsql")

	path = base + "/drift-baselines/" + url.PathEscape(baseline) + "/delete"
	require.NotContains(t, shown.Body, "/delete")
	require.Contains(t, b.get(base+"/drift").Body, path)
	require.Equal(t, http.StatusForbidden, reader.get(path).Status)
	require.Contains(t, b.get(path).Body, "Steps that name it fail from then on.")
	require.Equal(t, http.StatusSeeOther, b.post(path, b.form(path)).Status)
	_, err = drifts.On(f.Store).Baseline(t.Context(), baseline)
	require.ErrorIs(t, err, dberror.ErrBaselineNotFound)
	require.Equal(t, http.StatusNotFound, b.get(path).Status)
}
