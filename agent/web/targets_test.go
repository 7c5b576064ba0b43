package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/front"
)

// targetPath is the path of the page of a target database of a run.
func targetPath(f *front.Front, run uuid.UUID, database string) string {
	return fmt.Sprintf("%s/runs/%s/targets/%s", base, run, targets.NewTarget(f.ServerName, database, "").ID)
}

// begin starts a run and waits for its end.
func begin(t *testing.T, f *front.Front, name, parameters string) uuid.UUID {
	t.Helper()
	run, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: name, Parameters: parameters})
	require.NoError(t, err)
	await(t, f, run)
	return run
}

// requireText checks that a page has a text. The failure does not print the page.
func requireText(t *testing.T, page, text string) {
	t.Helper()
	require.True(t, strings.Contains(page, text), "%q is not in the page", text)
}

// requireData checks that a page has no text of a script as markup or as control characters.
func requireData(t *testing.T, a front.Answer) {
	t.Helper()
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	for _, bad := range []string{"<img", "<b>&'", "\u202e", "style=", "onerror=\""} {
		require.NotContains(t, a.Body, bad)
	}
}

// TestTargetPage: the error comes first, with the line of the script; everything else is data.
func TestTargetPage(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	bad, good := f.Targets[0], f.Targets[1]
	script := `-- <img src=x>
DECLARE @i INT = 0, @x NVARCHAR(50) = N'$(param.x)';
WHILE @i < 450 BEGIN SET @i += 1; RAISERROR(N'message %d.', 0, 1, @i) END;
PRINT NCHAR(8238) + N'<img src=x onerror=alert(1)>' + REPLICATE(N'y<', 3900);
GO
IF DB_NAME() = N'` + bad + `'
    RAISERROR(N'Order <img> is missing: %s.', 16, 3, N'$(param.x)');`
	name := job(t, f, script)
	run := begin(t, f, name, `{"x": "<img>"}`)
	b := as(t, f, "reader")
	path := targetPath(f, run, bad)
	a := b.get(path)
	requireData(t, a)
	for _, want := range []string{
		"Error 50000, severity 16, state 3, line 7", "Go to line 7 of the script", `id="script-7"`, "Order &lt;img&gt; is missing",
		"It is the only one of 2 ended targets of this step that failed.", `<code><bdi>$(param.x)</bdi></code>`, "Parameters of the run",
		`class="line line-error" id="excerpt-7"`, strings.ReplaceAll(run.String(), "-", ""), "jobs.job_execution_attempts",
	} {
		requireText(t, a.Body, want)
	}
	verdict, messages := strings.Index(a.Body, "is missing"), strings.Index(a.Body, "Messages of attempt")
	require.Less(t, verdict, messages, "the error comes first")
	require.NotContains(t, a.Body, "data-topic", "the target has ended")
	require.NotContains(t, a.Body, "Rerun what failed", "the viewer is a reader")
	requireText(t, as(t, f, "operator").get(path).Body, base+"/runs/"+run.String()+"/rerun")

	attempts, err := executions.On(f.Store).Attempts(t.Context(), run, 1, targets.NewTarget(f.ServerName, bad, "").ID, 0, 5)
	require.NoError(t, err)
	at := fmt.Sprintf("%s?step=1&attempt=%d", path, attempts[0].ID)
	requireText(t, a.Body, "message 200.")
	require.NotContains(t, a.Body, "message 201.")
	requireText(t, b.get(at+"&after=200").Body, "message 400.")
	last := b.get(at + "&after=-1")
	requireData(t, last)
	requireText(t, last.Body, "show all")
	requireText(t, last.Body, "U+202E")
	important := b.get(at + "&messages=important")
	requireText(t, important.Body, "Order &lt;img&gt;")
	require.NotContains(t, important.Body, "message 1.")
	requireData(t, b.get(path+"?attempt=999999999&before=1&after=zzz&script=all&step=1"))

	a = b.get(targetPath(f, run, good))
	requireData(t, a)
	runEquivalents(t, f, a)
	require.NotContains(t, a.Body, "Go to line")
	for _, path := range []string{
		path + "?step=9", base + "/runs/" + run.String() + "/targets/x", base + "/runs/" + run.String() + "/targets/" + uuid.NewString(),
		base + "/runs/x/targets/" + uuid.NewString(), base + "/runs/" + uuid.NewString() + "/targets/" + uuid.NewString(),
	} {
		require.Equal(t, http.StatusNotFound, b.get(path).Status, path)
	}
	require.NoError(t, executions.On(f.Store).Purge(t.Context(), executions.PurgeRequest{JobName: name}))
	for _, page := range []string{"", "/tree", "/timeline", "/compare"} {
		purged := base + "/runs/" + run.String() + page
		if page == "" {
			purged = path
		}
		require.Equal(t, http.StatusNotFound, b.get(purged).Status, purged)
	}
}

// equivalent finds the T-SQL that a page shows to copy.
var equivalent = regexp.MustCompile(`(?s)<h3>T-SQL</h3><pre[^>]*><code>(.*?)</code>`)

// runEquivalents runs the T-SQL that a page shows.
func runEquivalents(t *testing.T, f *front.Front, a front.Answer) {
	t.Helper()
	found := equivalent.FindAllStringSubmatch(a.Body, -1)
	require.NotEmpty(t, found)
	for _, one := range found {
		rows, err := f.DB(t, f.Control).QueryContext(t.Context(), html.UnescapeString(one[1]))
		require.NoError(t, err, one[1])
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
			}
		}
		require.NoError(t, rows.Err(), one[1])
		require.NoError(t, rows.Close())
	}
}

// TestRunPages: the tree, the timeline and the comparison of two runs of a job.
func TestRunPages(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	bad := f.Targets[0]
	name := job(t, f, "PRINT N'fine';")
	first := begin(t, f, name, "")
	command := "IF DB_NAME() = N'" + bad + "' RAISERROR(N'<img> is full', 16, 1);"
	_, err := catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: name, StepID: new(1), Command: &command})
	require.NoError(t, err)
	second := begin(t, f, name, "")
	rerun, err := executions.On(f.Store).Rerun(t.Context(), executions.RerunRequest{Origin: second})
	require.NoError(t, err)
	await(t, f, rerun)
	b := as(t, f, "reader")
	of := func(run uuid.UUID, page string) front.Answer {
		a := b.get(base + "/runs/" + run.String() + page)
		requireData(t, a)
		if !strings.Contains(a.Body, "no earlier run") {
			runEquivalents(t, f, a)
		}
		return a
	}

	tree := of(second, "/tree").Body
	requireText(t, tree, `class="db">`+bad)
	requireText(t, tree, "&lt;img&gt; is full")
	requireText(t, tree, base+"/runs/"+rerun.String()+"/tree")
	requireText(t, of(rerun, "/tree").Body, base+"/runs/"+second.String()+"/tree")
	failed := of(second, "/tree?step=1&state=Failed").Body
	requireText(t, failed, `class="db">`+bad)
	require.NotContains(t, failed, `class="db">`+f.Targets[1])
	requireText(t, of(second, "/tree?step=7&state="+url.QueryEscape("<img>")).Body, "No target of this step")

	timeline := of(second, "/timeline").Body
	requireText(t, timeline, `class="lane"`)
	requireText(t, timeline, `class="histogram"`)
	requireText(t, timeline, "p50")
	requireText(t, of(second, "/timeline?step=7&top=-1").Body, "No target has ended yet")

	compare := of(second, "/compare").Body
	requireText(t, compare, "Newly failing")
	requireText(t, compare, "step <bdi>s1</bdi> (changed)")
	requireText(t, compare, base+"/jobs/"+strings.ReplaceAll(segment(name), "&", "&amp;")+"/diff?from=1&amp;to=2")
	requireText(t, compare, targetPath(f, second, bad))
	requireText(t, of(rerun, "/compare").Body, second.String()[:8])
	requireText(t, of(first, "/compare").Body, "There is no earlier run")
	requireText(t, of(second, "/compare?with="+first.String()+"&change=NewlyFixed&page=3").Body, "No target changed in this way")
	other := begin(t, f, "j1", "")
	require.Equal(t, http.StatusBadRequest, b.get(base+"/runs/"+second.String()+"/compare?with="+other.String()).Status)
	require.Equal(t, http.StatusNotFound, b.get(base+"/runs/"+second.String()+"/compare?with=x").Status)
	requireText(t, b.get(targetPath(f, second, bad)).Body, "The target succeeded in the run before.")
}

// The list of the targets in one state says what pause holds a target.
func TestStateOfHeldTargets(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	const group = "held targets"
	held := targets.NewTarget("zz.example.com", "zz held", "") // no other test has it, and the last one in lists
	_, err := targetgroups.On(f.Store).Add(t.Context(), group)
	require.NoError(t, err)
	_, err = targetgroups.On(f.Store).AddMember(t.Context(), group, targets.Member{Membership: targets.Include, Kind: targets.SQLDatabase, Server: held.Server, Database: held.Database})
	require.NoError(t, err)
	name := job(t, f, "PRINT N'fine';")
	_, err = catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: name, StepID: new(1), TargetGroup: new(group)})
	require.NoError(t, err)
	pause := holds.Pause{Server: held.Server, Database: held.Database, Reason: "moves <away>", Target: held.ID}
	require.NoError(t, holds.On(f.Store).SetPause(t.Context(), pause))
	run, err := executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	b := as(t, f, "reader")
	var a front.Answer
	require.Eventually(t, func() bool {
		a = b.get(base + "/runs/" + run.String() + "/tree?step=1&state=Created")
		return a.Status == http.StatusOK && strings.Contains(a.Body, "Waits because the database is paused by ")
	}, 20*time.Second, 50*time.Millisecond)
	requireText(t, a.Body, ": moves &lt;away&gt;.")
	runEquivalents(t, f, a)
	require.NoError(t, executions.On(f.Store).Stop(t.Context(), run))
	await(t, f, run)
}

// TestTargetPageWhileItRuns: the pages of a run that has not ended say what it waits for, and are
// updated live.
func TestTargetPageWhileItRuns(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "WAITFOR DELAY '00:00:30';")
	run, err := executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	b := as(t, f, "reader")
	path := targetPath(f, run, f.Targets[0])
	var a front.Answer
	require.Eventually(t, func() bool {
		a = b.get(path)
		return a.Status == http.StatusOK && strings.Contains(a.Body, "is held by agent")
	}, 25*time.Second, 100*time.Millisecond) // the script takes 30 s
	_, topic, ok := strings.Cut(a.Body, `data-topic="`)
	require.True(t, ok)
	topic, _, _ = strings.Cut(topic, `"`)
	requireText(t, b.stream(base+"/events?topic="+url.QueryEscape(topic), "target-messages"), "target-verdict")
	requireText(t, b.stream(base+"/events?topic=tree/"+run.String(), "tree-steps"), "tree-head")
	requireText(t, b.stream(base+"/events?topic=timeline/"+run.String()+".0.50", "timeline-waits"), "timeline-chart")
	requireText(t, b.get(base+"/runs/"+run.String()+"/tree").Body, "What it waits for")
	for _, topic := range []string{"target/x", "target/" + run.String() + ".1.x", "tree/x", "timeline/x.0.50"} {
		require.Equal(t, http.StatusNotFound, b.get(base+"/events?topic="+topic).Status, topic)
	}
	require.NoError(t, executions.On(f.Store).Stop(t.Context(), run))
	await(t, f, run)
	requireText(t, b.get(path).Body, "Canceled")
}

// TestTargetPageOfAction: the page of an action shows its response, and the callback that it waits
// for.
func TestTargetPageOfAction(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := "web TestTargetPageOfAction"
	_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	f.H.Handle("/page-fails", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("<img src=x> short and stout"))
	})
	f.H.Handle("/page-waits", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for path, further := range map[string]string{"page-fails": "", "page-waits": `, "callback": {"timeout_seconds": 600}, "body": "$(callback_url)"`} {
		kind, after := "Http", "[]"
		spec := model.StepSpec{
			JobName: name, StepName: &path, CommandType: &kind, RetryAttempts: new(int),
			Command: new(fmt.Sprintf(`{"url": "%s/%s", "allow_http": true%s}`, f.H.URL, path, further)),
		}
		spec.After = &after
		_, err = catalog.On(f.Store).AddJobStep(t.Context(), spec)
		require.NoError(t, err)
	}
	run, err := executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	b := as(t, f, "operator")
	pages := map[string]string{} // by step
	require.Eventually(t, func() bool {
		for _, state := range []string{"Failed", "WaitingForCallback"} {
			for step := 1; step <= 2; step++ {
				list, err := executions.On(f.Store).Targets(t.Context(), run, executions.RunTargetFilter{Steps: []int{step}, Lifecycles: []jobs.Lifecycle{jobs.Lifecycle(state)}, Limit: 5})
				require.NoError(t, err)
				for _, one := range list {
					pages[state] = fmt.Sprintf("%s/runs/%s/targets/%s?step=%d", base, run, one.TargetID, step)
				}
			}
		}
		return len(pages) == 2
	}, 20*time.Second, 20*time.Millisecond)
	a := b.get(pages["Failed"])
	requireData(t, a)
	requireText(t, a.Body, "418")
	requireText(t, a.Body, "&lt;img src=x&gt; short and stout")
	requireText(t, a.Body, "text/html")
	requireText(t, a.Body, "Definition of the action")
	a = b.get(pages["WaitingForCallback"])
	requireData(t, a)
	requireText(t, a.Body, "Waiting for a report")
	requireText(t, a.Body, "/callbacks/"+run.String()+"/")
	require.NoError(t, executions.On(f.Store).Stop(t.Context(), run))
	await(t, f, run)
}
