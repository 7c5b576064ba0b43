package databases

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hostile = pagetest.Hostile

// answer has two databases and two jobs: one failed on the first database, the other never ran.
func answer() executions.TargetOutcomes {
	o := executions.TargetOutcomes{Now: pagetest.Now, Databases: 2, Examined: 2, NextDatabase: hostile, NextServer: hostile, NextJob: hostile}
	o.Jobs = []executions.OutcomeJob{{ID: uuid.New(), Name: hostile}, {ID: uuid.New(), Name: "k"}}
	o.Targets = []executions.FoundTarget{{ID: uuid.New(), Server: hostile, Database: hostile}, {ID: uuid.New(), Server: "s", Database: "d"}}
	o.Outcomes = []executions.TargetOutcome{{
		Target: o.Targets[0].ID, Job: o.Jobs[0].ID, Outcome: string(jobs.Failed), Run: uuid.New(), Step: 2, EndTime: pagetest.Now.Add(-time.Hour), Error: 8114, Message: hostile,
	}}
	return o
}

func TestMatrix(t *testing.T) {
	m := matrix{TargetOutcomes: answer(), Group: hostile, Search: hostile, Groups: []string{hostile}, Lacking: true}
	m.arrange(pagetest.Request(), executions.TargetFilter{})
	html := pagetest.Render(t, files, "matrix.html", &m)
	require.Equal(t, 3, strings.Count(html, ">never<"))
	require.Contains(t, html, "/targets/"+m.Targets[0].ID.String()+"?step=2")
	require.Contains(t, html, "Next databases")
	require.Contains(t, html, "Next jobs")
	require.NotContains(t, html, "First databases")
}

// TestEmptyMatrix says why there is nothing.
func TestEmptyMatrix(t *testing.T) {
	for want, m := range map[string]matrix{
		"No job has run on a database yet":    {},
		"No database matches":                 {Search: "x"},
		"No run that is kept has resolved":    {Group: "g"},
		"No database lacks one of these jobs": {Group: "g", Lacking: true},
		"The next page examines further ones": {Lacking: true, TargetOutcomes: executions.TargetOutcomes{NextServer: "s"}},
	} {
		m.arrange(pagetest.Request(), executions.TargetFilter{})
		require.Contains(t, pagetest.Render(t, files, "matrix.html", &m), want)
	}
}

func TestDatabasePage(t *testing.T) {
	o := answer()
	d := database{FoundTarget: o.Targets[0], Now: o.Now}
	o.Outcomes[0].SuccessUnknown = true
	d.addJobs(pagetest.Request(), o)
	require.Len(t, d.Jobs, 1, "a job that never ran there is left out")
	step := executions.RunOnTarget{
		Run: uuid.New(), JobName: hostile, StepName: hostile, Lifecycle: jobs.Succeeded, StartTime: pagetest.Now.Add(-time.Minute), EndTime: pagetest.Now.Add(-50 * time.Second),
	}
	failed := step
	failed.StepID, failed.Lifecycle, failed.Message, failed.EndTime = 2, jobs.Failed, hostile, pagetest.Now
	d.Runs = []runOnDatabase{{RunOnTarget: step, Steps: []stepOnDatabase{{RunOnTarget: step}, {RunOnTarget: failed}}}}
	require.Equal(t, time.Minute, *d.Runs[0].Took())
	require.Equal(t, 2, d.Runs[0].Failed().StepID)
	html := pagetest.Render(t, files, "database.html", &d)
	require.Contains(t, html, "not among its latest runs here")
	require.NotContains(t, html, "Paused")
	d.Pause = &holds.Pause{Since: pagetest.Now, Until: pagetest.Now.Add(time.Hour), By: hostile, Reason: hostile}
	d.Windows = []string{hostile, "nights"}
	html = pagetest.Render(t, files, "database.html", &d)
	require.Contains(t, html, "no attempt starts on it")
	require.Contains(t, html, "only while all of its windows are open")
	failed.Active = true
	d.Runs[0].Steps[1].RunOnTarget = failed
	require.Nil(t, d.Runs[0].Took())
}

func TestSearchPage(t *testing.T) {
	require.Contains(t, pagetest.Render(t, files, "search.html", &found{Text: hostile}), "Nothing was found")
	number := int32(8114)
	f := found{
		Text: hostile, Jobs: []page.Link{{Text: hostile}}, Databases: []foundDatabase{{FoundTarget: answer().Targets[0]}},
		Errors: []foundError{{FailureGroup: summary.FailureGroup{JobName: hostile, Message: hostile, ErrorNumber: &number, Targets: 1}}},
	}
	html := pagetest.Render(t, files, "search.html", &f)
	require.NotContains(t, html, "Nothing was found")
	require.Contains(t, html, "8114")
}
