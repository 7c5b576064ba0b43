package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/front"
)

// job adds a job with one step on the group g1, which has two targets.
func job(t *testing.T, f *front.Front, command string) string {
	t.Helper()
	name := "web " + strings.ReplaceAll(t.Name(), "/", " ") + " <b>&'"
	_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	step, attempts := "s1", 0
	_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{JobName: name, StepName: &step, Command: new(command), TargetGroup: new("g1"), RetryAttempts: &attempts})
	require.NoError(t, err)
	return name
}

// segment returns a name in a path.
func segment(name string) string { return url.PathEscape(name) }

// runOf returns the run in the address of a page.
func runOf(t *testing.T, a front.Answer) uuid.UUID {
	t.Helper()
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	text, ok := strings.CutPrefix(a.Header.Get("Location"), base+"/runs/")
	require.True(t, ok, a.Header.Get("Location"))
	return uuid.MustParse(text)
}

// await waits for the end of a run.
func await(t *testing.T, f *front.Front, run uuid.UUID) executions.Run {
	t.Helper()
	var p executions.Run
	require.Eventually(t, func() bool {
		var err error
		p, err = executions.On(f.Store).Get(t.Context(), run, executions.States)
		require.NoError(t, err)
		return !p.Active
	}, 20*time.Second, 20*time.Millisecond)
	return p
}

// From a start to a rerun of what failed. The confirmations say the numbers.
func TestStartAndRerun(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "IF '$(param.fail)' = '1' AND DB_NAME() LIKE '%t1%' THROW 50000, 'boom', 1;")
	b := as(t, f, "operator")
	path := base + "/jobs/" + segment(name) + "/start"
	a := b.get(path)
	require.Contains(t, a.Body, "Starts a run of version 1 of the job")
	require.Regexp(t, "it was not resolved before|2 databases|2 targets when it was resolved last", a.Body) // by another test
	require.NotContains(t, a.Body, "<b>")
	require.Contains(t, a.Body, "EXECUTE jobs.sp_start_job @job_name = N&#39;web TestStartAndRerun &lt;b&gt;&amp;&#39;&#39;&#39;;")

	a = b.post(path, b.form(path, "parameters", `{"fail": 1`))
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	require.Contains(t, a.Body, `id="f-parameters-problem"`)
	require.Contains(t, a.Body, "{&#34;fail&#34;: 1</textarea>", "what was typed stays")

	form := b.form(path, "parameters", `{"fail": 1}`)
	run := runOf(t, b.post(path, form))
	require.Contains(t, b.get(base+"/runs/"+run.String()).Body, "&#39;” was started.")
	require.NotContains(t, b.get(base+"/runs/"+run.String()).Body, "was started.", "it says so once")
	require.Equal(t, run, runOf(t, b.post(path, form)), "a form that is sent twice starts one run")
	require.Equal(t, 1, await(t, f, run).Counts().Failed)
	require.Contains(t, b.get(path).Body, "(2 targets when it was resolved last, on ")

	path = base + "/runs/" + run.String() + "/rerun"
	a = b.get(path)
	require.Contains(t, a.Body, "on 1 target of this run")
	require.Contains(t, a.Body, "The 1 target that succeeded")
	require.Contains(t, a.Body, "jobagent execution rerun "+run.String())
	form = b.form(path)
	require.Equal(t, http.StatusUnprocessableEntity, b.post(path, form).Status, "no state was chosen")
	form.Set("Failed", "true")
	again := runOf(t, b.post(path, form))
	require.NotEqual(t, run, again)
	require.Equal(t, again, runOf(t, b.post(path, form)))
	require.Equal(t, 1, await(t, f, again).Counts().Total())

	// The script was mended: the form offers it, and the run succeeds.
	step, mended := 1, "SELECT 1;"
	version, err := catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: name, StepID: &step, Command: &mended})
	require.NoError(t, err)
	require.Equal(t, 2, version)
	form = b.form(path)
	form.Set("Failed", "true")
	form.Set("current_version", "true")
	mendedRun := runOf(t, b.post(path, form))
	require.Equal(t, jobs.Succeeded, await(t, f, mendedRun).Lifecycle)

	// The audit log names the person and the door.
	entries, err := auditlog.On(f.Store).Read(t.Context(), auditlog.Filter{Limit: 200})
	require.NoError(t, err)
	found := false
	for _, e := range entries {
		found = found || e.Door == caller.DoorWeb && e.Caller == "operator-token"
	}
	require.True(t, found)
}

// Rows of the grid are run again, or are what a start is limited to: those that were ticked, or all
// that a filter finds. What was confirmed is what runs.
func TestChosenDatabases(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "IF DB_NAME() LIKE '%t1%' THROW 50000, 'boom', 1;")
	b := as(t, f, "operator")
	path := base + "/jobs/" + segment(name) + "/start"
	run := runOf(t, b.post(path, b.form(path)))
	require.Equal(t, 1, await(t, f, run).Counts().Failed)
	chosen := func(a front.Answer) (run uuid.UUID, targets []string) {
		t.Helper()
		run = runOf(t, a)
		await(t, f, run)
		state, err := executions.On(f.Store).Get(t.Context(), run)
		require.NoError(t, err)
		rows, err := executions.On(f.Store).TargetsOfStep(t.Context(), run, 1, 100)
		require.NoError(t, err)
		for _, r := range rows {
			if r.Lifecycle != jobs.Skipped {
				targets = append(targets, r.TargetID.String())
			}
		}
		require.Equal(t, state.Chosen, len(targets))
		return run, targets
	}

	page := base + "/runs/" + run.String()
	body := b.get(page).Body
	ids := regexp.MustCompile(`name="target" value="([^"]*)" form="targets-bulk" aria-label="Choose [^"]*/[^"]*"`).FindAllStringSubmatch(body, -1)
	require.Len(t, ids, 2, body)
	require.Contains(t, body, `2</data> databases</span> that match`)
	require.NotContains(t, as(t, f, "reader").get(page).Body, "targets-bulk")
	require.Equal(t, http.StatusForbidden, as(t, f, "reader").get(page+"/start?choose=1&all=1").Status)

	// Nothing is chosen: nothing runs.
	for _, action := range []string{"/rerun", "/start"} {
		path = page + action + "?choose=1&q=&state="
		refused := b.get(path).Body
		require.Contains(t, refused, "No database is chosen.")
		require.NotContains(t, refused, "jobs.sp_", "a call without the list would run on all databases")
		a := b.post(path, b.form(path))
		require.Equal(t, http.StatusUnprocessableEntity, a.Status)
		require.Contains(t, a.Body, "No database is chosen.")
	}

	// All that failed.
	path = page + "/rerun?choose=1&all=1&state=Failed"
	a := b.get(path)
	require.Contains(t, a.Body, "Starts a run of version 1 of the job")
	require.Contains(t, a.Body, "on 1 chosen database of 2 of the run: ")
	form := b.form(path, "Failed", "true")
	failed := form.Get("targets")
	require.Contains(t, a.Body, "@only_targets = N&#39;[&#34;"+failed+"&#34;]&#39;")
	require.Contains(t, a.Body, "jobagent execution rerun "+run.String()+" --targets "+failed)
	again, targets := chosen(b.post(path, form))
	require.Equal(t, []string{failed}, targets)
	require.Equal(t, again, runOf(t, b.post(path, form)), "a form that is sent twice starts one run")

	// Both, of which one succeeded: it runs again only if that is marked.
	path = page + "/rerun?choose=1&all=1"
	a = b.get(path)
	require.Regexp(t, `name="Failed" value="true" checked`, a.Body)
	require.Regexp(t, `name="Succeeded" value="true">`, a.Body)
	_, targets = chosen(b.post(path, b.form(path, "Failed", "true")))
	require.Equal(t, []string{failed}, targets)
	_, targets = chosen(b.post(path, b.form(path, "Failed", "true", "Succeeded", "true")))
	require.Len(t, targets, 2)

	// A start on all but one, and on one that was ticked.
	path = page + "/start?choose=1&all=1&except=" + failed
	a = b.get(path)
	require.Contains(t, a.Body, "on 1 chosen database of 2 of the run: ")
	require.Contains(t, a.Body, "EXECUTE jobs.sp_start_job @job_name = N&#39;web TestChosenDatabases")
	_, targets = chosen(b.post(path, b.form(path)))
	require.Len(t, targets, 1)
	require.NotEqual(t, failed, targets[0])
	path = page + "/start?choose=1&target=" + failed
	_, targets = chosen(b.post(path, b.form(path)))
	require.Equal(t, []string{failed}, targets)

	// The form has what was confirmed, whatever the filter finds now; a forged list is empty.
	form = b.form(path)
	form.Set("targets", "x,"+uuid.NewString())
	require.Equal(t, http.StatusUnprocessableEntity, b.post(path, form).Status)
	form = b.form(path)
	_, targets = chosen(b.post(page+"/start?choose=1&all=1", form))
	require.Equal(t, []string{failed}, targets)

	// The databases that lack the job, from the matrix of databases and jobs.
	filter := "?group=g1&job=" + url.QueryEscape(name) + "&lacking=1"
	path = base + "/jobs/" + segment(name) + "/start?group=g1&lacking=1"
	require.Contains(t, html.UnescapeString(b.get(base+"/databases"+filter).Body), path)
	a = b.get(path)
	require.Contains(t, a.Body, "on 1 chosen database of 2: ")
	_, targets = chosen(b.post(path, b.form(path)))
	require.Equal(t, []string{failed}, targets)
	require.NotContains(t, as(t, f, "reader").get(base+"/databases"+filter).Body, "/start?")

	// A confirmed database that is gone is not left out in silence.
	form = b.form(path)
	form.Set("targets", failed+","+uuid.NewString())
	a = b.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	require.Contains(t, a.Body, "1 confirmed database is not in the list any more.")
}

// A job that declares its parameters has a field for each. What is missing or wrong is said there.
func TestStartWithDeclaredParameters(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT '$(param.tenant)', $(param.days), '$(param.other)'")
	b := as(t, f, "operator")
	path := base + "/jobs/" + segment(name) + "/start"

	// Without declarations, the names that the steps use are known.
	require.Contains(t, b.get(path).Body, "The steps use: tenant, days, other.")
	a := b.post(path, b.form(path, "parameters", `{"tenant": "a", "days": 7}`))
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	require.Contains(t, a.Body, "Missing parameters: other")

	require.NoError(t, catalog.On(f.Store).SetJobParameters(t.Context(), name, `[{"name": "tenant", "required": true, "description": "Which <b>"},
{"name": "days", "type": "integer", "default": 7}, {"name": "mode", "choices": ["fast", "full"], "default": "fast"}, {"name": "dry", "type": "boolean"}]`, nil))
	a = b.get(path)
	require.Regexp(t, `<input id="f-param.tenant" name="param.tenant" value="" type="text"[^>]* required`, a.Body)
	require.Contains(t, a.Body, `name="param.days" value="7"`)
	require.Contains(t, a.Body, `<option value="fast" selected>fast</option>`)
	require.Contains(t, a.Body, "Which &lt;b&gt; A text.")
	require.NotContains(t, a.Body, `name="parameters"`)
	for _, c := range [][3]string{{"param.tenant", "", "A value is missing."}, {"param.days", "seven", "an integer"}, {"param.mode", "slow", "one of fast, full"}} {
		form := b.form(path, "param.tenant", "a", "param.days", "7", "param.mode", "fast")
		form.Set(c[0], c[1])
		a = b.post(path, form)
		require.Equal(t, http.StatusUnprocessableEntity, a.Status)
		require.Regexp(t, `id="f-`+c[0]+`-problem"><bdi>[^<]*`+c[2], a.Body)
	}
	form := b.form(path, "param.tenant", "it's", "param.days", "", "param.mode", "full", "param.dry", "true")
	a = b.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	require.Contains(t, a.Body, "Missing parameters: other: steps use them, and the job does not declare them.")
	form.Set("allow_missing", "true")
	text, err := executions.On(f.Store).Parameters(t.Context(), runOf(t, b.post(path, form)))
	require.NoError(t, err)
	require.JSONEq(t, `{"dry": true, "mode": "full", "tenant": "it's", "days": 7}`, text)
	require.Contains(t, b.get(base+"/jobs/"+segment(name)).Body, `<th scope="row"><code>tenant</code></th>`)
}

// A form that is sent many times at once does its work once.
func TestFormsAtOnce(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1")
	b := as(t, f, "operator")
	path := base + "/jobs/" + segment(name) + "/start"
	form := b.form(path)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if a := b.post(path, form); a.Status != http.StatusSeeOther {
				t.Errorf("status %d", a.Status)
			}
		})
	}
	wg.Wait()
	runs, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: name}, controldb.Page[executions.Key]{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
}

// What waits for a retry is retried at once, as a whole or one target, or given up. Its last error
// is on the overview meanwhile.
func TestRetryNowAndGiveUp(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := "web " + t.Name()
	_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	attempts, wait := 5, 1000
	_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
		JobName: name, Command: new("THROW 50000, 'not yet mended', 1;"), TargetGroup: new("g1"), RetryAttempts: &attempts, InitialRetryInterval: &wait, MaximumRetryInterval: &wait,
	})
	require.NoError(t, err)
	b := as(t, f, "operator")
	path := base + "/jobs/" + segment(name) + "/start"
	run := runOf(t, b.post(path, b.form(path)))
	waiting := func(attempt int) (rows []executions.Execution) {
		require.Eventually(t, func() bool {
			all, err := executions.On(f.Store).Rows(t.Context(), run)
			require.NoError(t, err)
			rows = rows[:0]
			for _, e := range all {
				if e.IsTarget() && e.Lifecycle == jobs.WaitingForRetry && e.Attempts >= attempt {
					rows = append(rows, e)
				}
			}
			return len(rows) == 2
		}, 20*time.Second, 20*time.Millisecond)
		return rows
	}
	rows := waiting(1)
	require.Contains(t, b.get(base+"/").Body, "not yet mended")
	page := base + "/runs/" + run.String()
	require.Contains(t, b.get(page).Body, page+"/retry-now")

	path = page + "/retry-now"
	a := b.get(path)
	require.Contains(t, a.Body, "2 targets of the run wait for a retry.")
	require.Contains(t, a.Body, "jobagent execution retry-now "+run.String())
	require.Equal(t, page, b.post(path, b.form(path)).Header.Get("Location"))
	require.Contains(t, b.get(page).Body, "2 attempts are due now.")
	waiting(2)

	target := rows[0].TargetID.String()
	only := "?step=1&target=" + target
	require.Contains(t, b.get(page+"/targets/"+target+"?step=1").Body, "/give-up?step=1&amp;target="+target)
	path = page + "/give-up" + only
	require.Contains(t, b.get(path).Body, "jobagent execution give-up "+run.String()+" --step-id 1 --target "+target)
	require.Equal(t, page+"/targets/"+target+"?step=1", b.post(path, b.form(path)).Header.Get("Location"))
	require.Contains(t, b.get(page+"/targets/"+target+"?step=1").Body, "Given up by operator-token after 2 attempts.")
	path = page + "/give-up"
	require.Contains(t, b.get(path).Body, "1 target of the run waits for a retry.")
	b.post(path, b.form(path))
	require.Equal(t, 2, await(t, f, run).Counts().Failed)

	require.Equal(t, http.StatusNotFound, b.get(page+"/give-up?step=x&target="+target).Status)
	require.Equal(t, http.StatusForbidden, as(t, f, "reader").get(path).Status)
}

func TestStop(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "WAITFOR DELAY '00:01:00';")
	b := as(t, f, "operator")
	path := base + "/jobs/" + segment(name) + "/start"
	run := runOf(t, b.post(path, b.form(path)))
	require.Eventually(t, func() bool {
		p, err := executions.On(f.Store).Get(t.Context(), run, executions.States)
		return err == nil && p.Counts().Active() == 2
	}, 20*time.Second, 20*time.Millisecond)
	path = base + "/runs/" + run.String() + "/stop"
	require.Contains(t, b.get(path).Body, "2 of 2 targets have not ended")
	a := b.post(path, b.form(path))
	require.Equal(t, run, runOf(t, a))
	list, err := executions.On(f.Store).List(t.Context(), executions.Query{ID: run}, controldb.Page[executions.Key]{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	await(t, f, run)
	list, err = executions.On(f.Store).List(t.Context(), executions.Query{ID: run}, controldb.Page[executions.Key]{})
	require.NoError(t, err)
	require.Equal(t, jobs.Canceled, list[0].Lifecycle)
	require.Contains(t, b.get(path).Body, "has ended already")
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1")
	_, err := timetable.On(f.Store).Add(t.Context(), timetable.Spec{JobName: name, Name: "a/b .c", Kind: new("cron5"), Spec: new(`"0 3 * * *"`)})
	require.NoError(t, err)
	b := as(t, f, "operator")
	at := base + "/schedules/" + segment(name) + "/" + segment("a/b .c")
	read := func() timetable.Schedule {
		list, err := timetable.On(f.Store).List(t.Context(), timetable.Filter{JobName: name, NamedOnly: true})
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	a := b.post(at+"/pause", b.form(at+"/pause", "note", "until <Friday>"))
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	require.Equal(t, at, a.Header.Get("Location"))
	require.True(t, read().Paused)
	require.Equal(t, "until <Friday>", read().PauseNote)
	require.Equal(t, "operator-token", read().PausedBy)
	require.Contains(t, b.get(at+"/resume").Body, "until &lt;Friday&gt;")
	require.Equal(t, http.StatusSeeOther, b.post(at+"/resume", b.form(at+"/resume")).Status)
	require.False(t, read().Paused)
	require.Equal(t, http.StatusSeeOther, b.post(at+"/disable", b.form(at+"/disable")).Status)
	require.False(t, read().Enabled)
	require.Equal(t, http.StatusSeeOther, b.post(at+"/enable", b.form(at+"/enable")).Status)
	require.True(t, read().Enabled)
	own := base + "/jobs/" + segment(name) + "/enable" // the schedule of the job's own definition
	require.Equal(t, http.StatusSeeOther, b.post(own, b.form(own)).Status)

	path := at + "/backfill"
	form := b.form(path, "from", "2026-01-01", "to", "2026-01-31 23:59", "overlap", "Skip")
	a = b.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, a.Status, "the number was not shown yet")
	require.Contains(t, a.Body, "The range has 31 instants: 2026-01-01 03:00:00 UTC")
	require.Contains(t, a.Body, "to 2026-01-31 03:00:00 UTC")
	require.Contains(t, a.Body, "Run 31 instants</button>")
	form = hidden(mainForm.FindString(a.Body))
	for field, value := range map[string]string{"from": "2026-01-01", "to": "2026-01-30 23:59", "overlap": "Skip"} {
		form.Set(field, value)
	}
	require.Equal(t, http.StatusUnprocessableEntity, b.post(path, form).Status, "another range than the counted one")
	form.Set("to", "2026-01-31 23:59")
	for range 2 {
		a = b.post(path, form)
		require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	}
	list, err := timetable.On(f.Store).Backfills(t.Context(), name, nil, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	for field, want := range map[string]string{"from": "Invalid instant", "to": "Invalid instant"} {
		form := b.form(path, "from", "2026-01-01", "to", "2026-01-02", "overlap", "Skip", field, "yesterday")
		require.Contains(t, b.post(path, form).Body, want)
	}
	require.Contains(t, b.post(path, b.form(path, "from", "2026-01-02", "to", "2026-01-01")).Body, "ends before it begins")
}

// Forms that another site sends, without the token of the session, or without the role, are
// refused.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1")
	path := base + "/jobs/" + segment(name) + "/start"
	b, other := as(t, f, "operator"), as(t, f, "admin")
	good := b.form(path)
	change := func(field, value string) url.Values {
		form := url.Values{}
		for k := range good {
			form.Set(k, good.Get(k))
		}
		form.Set(field, value)
		return form
	}
	require.Equal(t, http.StatusForbidden, b.post(path, change("csrf", "")).Status)
	require.Equal(t, http.StatusForbidden, b.post(path, change("csrf", good.Get("csrf")+"x")).Status)
	require.Equal(t, http.StatusForbidden, b.post(path, change("csrf", other.form(path).Get("csrf"))).Status, "the token of another session")
	require.Equal(t, http.StatusForbidden, b.post(path, change("operation", "x")).Status)
	require.Equal(t, http.StatusForbidden, b.post(path, good, "Sec-Fetch-Site: cross-site").Status)
	require.Equal(t, http.StatusForbidden, b.post(path, good, "Sec-Fetch-Site: same-site").Status)
	require.Equal(t, http.StatusForbidden, b.post(path, good, "Origin: https://evil.example").Status)
	require.Equal(t, http.StatusForbidden, b.post(path, good, "Origin: null").Status)
	require.Equal(t, http.StatusForbidden, b.post(path+"?csrf="+good.Get("csrf"), change("csrf", "")).Status, "a token in the address")
	require.Equal(t, http.StatusRequestEntityTooLarge, b.post(path, change("parameters", strings.Repeat("x", 2<<20))).Status)
	a := open(t, f).post(path, good)
	require.Equal(t, http.StatusUnauthorized, a.Status)
	require.Contains(t, a.Body, "Nothing was done")
	reader := as(t, f, "reader")
	a = reader.get(path)
	require.Equal(t, http.StatusForbidden, a.Status)
	require.Contains(t, a.Body, "needs the role operator")
	require.Equal(t, http.StatusForbidden, reader.post(path, good).Status)
	runs, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: name}, controldb.Page[executions.Key]{})
	require.NoError(t, err)
	require.Empty(t, runs, "none of them did anything")
	runOf(t, b.post(path, good))
}

// What a procedure refuses is told in its words, and nothing breaks.
func TestRefusals(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := fmt.Sprintf("web %s", t.Name())
	_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	b := as(t, f, "operator")
	path := base + "/jobs/" + segment(name) + "/start"
	a := b.post(path, b.form(path))
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, "has no steps")
	require.Contains(t, a.Body, `aria-label="Main"`)
}

// An operator approves in place of the application for which a run waits.
func TestComplete(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	for result, want := range map[string]jobs.Lifecycle{"succeeded": jobs.Succeeded, "failed": jobs.Failed} {
		name := "web approval " + result
		_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: name})
		require.NoError(t, err)
		f.H.Handle("/"+result, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
		step, kind, attempts := "approve", "Http", 0
		_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
			JobName: name, StepName: &step, CommandType: &kind, RetryAttempts: &attempts,
			Command: new(fmt.Sprintf(`{"url": "%s/%s", "allow_http": true, "callback": {"timeout_seconds": 600}, "body": "$(callback_url)"}`, f.H.URL, result)),
		})
		require.NoError(t, err)
		b := as(t, f, "operator")
		path := base + "/jobs/" + segment(name) + "/start"
		require.Contains(t, b.get(path).Body, "calls an HTTP endpoint")
		run := runOf(t, b.post(path, b.form(path)))
		var waits callbacks.Callback
		require.Eventually(t, func() bool {
			list, err := callbacks.On(f.Store).OfRun(t.Context(), run)
			require.NoError(t, err)
			if len(list) > 0 {
				waits = list[0]
			}
			return waits.State == callbacks.CallbackWaiting
		}, 20*time.Second, 20*time.Millisecond)
		path = fmt.Sprintf("%s/callbacks/%s/%d/%s/complete", base, run, waits.StepID, waits.Target)
		a := b.get(path)
		require.Contains(t, a.Body, "waits at 127.0.0.1")
		require.Equal(t, http.StatusUnprocessableEntity, b.post(path, b.form(path)).Status, "nothing was chosen")
		require.Equal(t, run, runOf(t, b.post(path, b.form(path, "result", result, "message", "by <me>"))))
		await(t, f, run)
		list, err := executions.On(f.Store).List(t.Context(), executions.Query{ID: run}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Equal(t, want, list[0].Lifecycle)
		done, err := callbacks.On(f.Store).OfRun(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, "by <me>", done[0].Message)
		require.Equal(t, "operator-token", done[0].ReceivedBy)
		require.Equal(t, http.StatusNotFound, b.get(fmt.Sprintf("%s/callbacks/%s/9/%s/complete", base, run, waits.Target)).Status)
	}
}

func TestAcknowledge(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1")
	lifecycles := string(jobs.Succeeded)
	require.NoError(t, alerting.On(f.Store).AddRule(t.Context(), "web ended", model.AlertRunEnded, alerting.Change{JobName: &name, Lifecycles: &lifecycles}))
	run, err := executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	await(t, f, run)
	var list []alerting.Alert
	require.Eventually(t, func() bool { // another test may evaluate the rules just now
		_, err := alerting.On(f.Store).Evaluate(t.Context(), 0)
		require.NoError(t, err)
		list, err = alerting.On(f.Store).Alerts(t.Context(), alerting.Filter{Rule: "web ended"})
		require.NoError(t, err)
		return len(list) > 0
	}, 30*time.Second, 50*time.Millisecond)
	b := as(t, f, "operator")
	path := fmt.Sprintf("%s/alerts/%d/acknowledge", base, list[0].ID)
	require.Equal(t, http.StatusForbidden, as(t, f, "reader").get(path).Status)
	require.Equal(t, http.StatusSeeOther, b.post(path, b.form(path, "note", "on it")).Status)
	list, err = alerting.On(f.Store).Alerts(t.Context(), alerting.Filter{ID: list[0].ID})
	require.NoError(t, err)
	require.Equal(t, []any{alerting.AlertAcknowledged, "operator-token", "on it"}, []any{list[0].State, list[0].AcknowledgedBy, list[0].AcknowledgeNote})
	require.Contains(t, b.get(path).Body, "operator-token acknowledged it")
	a := as(t, f, "reader").get(base + "/alerts")
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, a.Body, "web ended")
}

// A database is paused and resumed. Other tests run on the server's databases, so that another one
// is paused.
func TestDatabases(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "operator")
	id := targets.TargetID("moved.example", "<i>x")
	at := base + "/databases/" + id.String()
	require.Equal(t, http.StatusNotFound, b.get(at+"/pause").Status, "no run has it")
	require.NoError(t, holds.On(f.Store).SetPause(t.Context(), holds.Pause{Target: id, Server: "moved.example", Database: "<i>x"}))
	require.Contains(t, b.get(at+"/pause").Body, "It is paused by")
	a := b.post(at+"/pause", b.form(at+"/pause", "reason", "moves <b>", "until", "2999-01-01 08:00"))
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	require.Equal(t, base+"/windows", a.Header.Get("Location"), "it has no page of its own")
	require.Contains(t, b.get(base+"/windows").Body, "moves &lt;b&gt;")
	p, err := holds.On(f.Store).Pause(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "moves <b>", p.Reason)
	require.Equal(t, "operator-token", p.By)
	require.Equal(t, time.Date(2999, 1, 1, 8, 0, 0, 0, time.UTC), p.Until)
	for _, until := range []string{"tomorrow", "2001-01-01"} {
		require.Equal(t, http.StatusUnprocessableEntity, b.post(at+"/pause", b.form(at+"/pause", "until", until)).Status, until)
	}
	require.Equal(t, http.StatusForbidden, as(t, f, "reader").get(at+"/pause").Status)
	require.Contains(t, b.get(at+"/resume").Body, "moves &lt;b&gt;")
	require.Equal(t, http.StatusSeeOther, b.post(at+"/resume", b.form(at+"/resume")).Status)
	_, err = holds.On(f.Store).Pause(t.Context(), id)
	require.ErrorIs(t, err, dberror.ErrTargetNotPaused)

	run, err := executions.On(f.Store).StartJob(t.Context(), job(t, f, "SELECT 1"), uuid.Nil)
	require.NoError(t, err)
	await(t, f, run)
	o, err := executions.On(f.Store).TargetOutcomes(t.Context(), executions.TargetFilter{Jobs: 1, Top: 1})
	require.NoError(t, err)
	known := base + "/databases/" + o.Targets[0].ID.String()
	page := b.get(known)
	require.Contains(t, page.Body, known+"/pause")
	require.NotContains(t, page.Body, known+"/resume")
	require.Contains(t, b.get(known+"/pause").Body, "no attempt of any job starts on it")
}
