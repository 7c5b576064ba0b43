package web_test

import (
	"bufio"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv/front"
)

// TestOverviewPage: a run that failed is on the first page, for readers, too; who works is not.
func TestOverviewPage(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "RAISERROR('Order <4711> is missing', 16, 1);")
	run, err := executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	await(t, f, run)

	host := hostOf(t, f)
	reader := as(t, f, "reader").get(base + "/")
	require.Equal(t, http.StatusOK, reader.Status)
	require.Contains(t, reader.Body, "Order &lt;4711&gt; is missing")
	require.Contains(t, reader.Body, `href="`+base+"/runs/"+run.String())
	// The link leads to the targets that have the error.
	link := regexp.MustCompile(`/runs/` + run.String() + `\?error=[0-9a-f]+`).FindString(reader.Body)
	require.NotEmpty(t, link)
	shown := as(t, f, "reader").get(base + link)
	require.Equal(t, http.StatusOK, shown.Status)
	require.Contains(t, shown.Body, "/targets/")
	require.NotContains(t, shown.Body, "No target matches.")
	require.Contains(t, reader.Body, "Agents alive")
	require.NotContains(t, reader.Body, ">"+host+"<", "names of agents are for operators")
	operator := as(t, f, "operator").get(base + "/")
	require.Contains(t, operator.Body, ">"+host+"<")

	// What is updated live is the same page, as readers see it.
	b := as(t, f, "reader")
	text := b.stream(base+"/events?topic=overview", "overview-strips")
	for _, block := range []string{"overview-figures", "overview-runs", "overview-failures", "overview-due", "overview-strips"} {
		require.Contains(t, text, block)
	}
	require.NotContains(t, text, `\u003e`+host+`\u003c`)
	require.Equal(t, http.StatusNotFound, b.get(base+"/events?topic=agents").Status, "the topic is for operators")
	require.Contains(t, b.stream(base+"/events?topic=agents-counts", "agents-figures"), "Agents alive")
	require.Contains(t, as(t, f, "operator").stream(base+"/events?topic=agents", "agents-tasks"), host)
}

// hostOf returns the machine of the agent, as pages show it.
func hostOf(t *testing.T, f *front.Front) string {
	t.Helper()
	list, err := fleet.On(f.Store).List(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list[0].Host
}

func TestAgentsPage(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	host := hostOf(t, f)
	a := as(t, f, "reader").get(base + "/agents")
	require.Equal(t, http.StatusOK, a.Status)
	require.NotContains(t, a.Body, ">"+host+"<")
	require.Contains(t, a.Body, "SELECT * FROM jobs.live_agents;")
	a = as(t, f, "operator").get(base + "/agents")
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, a.Body, ">"+host+"<")
	require.Contains(t, a.Body, "Alive")
}

func TestLimitsPage(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1;")
	require.NoError(t, settings.On(f.Store).SetLimit(t.Context(), model.Limit{Scope: model.LimitJob, Name: name, Max: 3}))
	a := as(t, f, "reader").get(base + "/limits")
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, a.Body, "TestLimitsPage &lt;b&gt;")
	require.Contains(t, a.Body, "jobs.sp_get_limits")
}

func TestAuditPage(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1;")
	b := as(t, f, "reader")
	query := url.Values{"job": {name}}
	a := b.get(base + "/audit?" + query.Encode())
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, a.Body, "sp_add_jobstep")
	require.Contains(t, a.Body, "jobagent audit list --job")
	require.NotContains(t, a.Body, "Search older")
	query.Set("action", "sp_add_job")
	a = b.get(base + "/audit?" + query.Encode())
	require.Equal(t, 1, strings.Count(a.Body, `<li class="card"`))

	// Any other filter examines a part of the log at a time.
	a = b.get(base + "/audit?caller=nobody&behind=50000")
	require.Contains(t, a.Body, "Nothing was found among the latest entries.")
	require.Contains(t, a.Body, "behind=30000")
	a = b.get(base + "/audit?since=yesterday")
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, a.Body, "invalid beginning &#34;yesterday&#34;")
}

func TestAlertPages(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "reader")
	require.Equal(t, http.StatusOK, b.get(base+"/alerts").Status)
	require.Equal(t, http.StatusOK, b.get(base+"/alerts?behind=x").Status)
	for _, id := range []string{"999999", "0", "x", "-1"} {
		require.Equal(t, http.StatusNotFound, b.get(base+"/alerts/"+id).Status, id)
	}
}

// stream reads live updates until one names the last block, and returns them.
func (b *browser) stream(path, last string) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.f.URL+path, nil)
	require.NoError(b.t, err)
	response, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer response.Body.Close()
	require.Equal(b.t, http.StatusOK, response.StatusCode)
	var text strings.Builder
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<22) // an event is one line
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"id":"`+last+`"`) {
			return text.String()
		}
	}
	b.t.Fatalf("the stream ended without %q: %v", last, lines.Err())
	return ""
}
