package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv/front"
)

// rolloutState waits until a roll-out has a state.
func rolloutState(t *testing.T, f *front.Front, id uuid.UUID, state rollouts.State) {
	t.Helper()
	require.Eventually(t, func() bool {
		r, err := rollouts.On(f.Store).Get(t.Context(), id)
		if err != nil || r.State != state {
			return false
		}
		if state != rollouts.Aborted { // a pass ends its run a moment later
			return true
		}
		run, err := executions.On(f.Store).Get(t.Context(), id)
		return err == nil && !run.Active
	}, 20*time.Second, 20*time.Millisecond)
}

// TestRolloutPages: the page of a roll-out shows its waves and what happens next, and each button
// does what its form says.
func TestRolloutPages(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "PRINT 1;")
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), name, `{"waves": [
 {"name": "canary <1>", "targets": 1, "approval": true, "bake_seconds": 3600, "max_failed": "50%"}, {"name": "rest", "targets": "rest"}]}`, nil))
	run, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: name, Hold: true})
	require.NoError(t, err)
	rolloutState(t, f, run, rollouts.Paused)
	path := base + "/rollouts/" + run.String()

	reader, b := as(t, f, "reader"), as(t, f, "operator")
	list := reader.get(base + "/rollouts")
	require.Equal(t, http.StatusOK, list.Status)
	require.Contains(t, list.Body, `href="`+path+`"`)
	shown := reader.get(path)
	require.Equal(t, http.StatusOK, shown.Status, shown.Body)
	for _, text := range []string{"canary &lt;1&gt;", "It waits until somebody resumes it.", `data-phase="active paused"`} {
		require.Contains(t, shown.Body, text)
	}
	require.NotContains(t, shown.Body, path+"/resume", "readers get no buttons")
	require.Contains(t, reader.get(base+"/runs/"+run.String()).Body, `href="`+path+`"`, "its own run leads to it")
	require.Contains(t, reader.stream(base+"/events?topic=rollout/"+run.String(), "rollout-waves"), "rollout-head")
	require.Equal(t, http.StatusNotFound, reader.get(base+"/rollouts/"+uuid.NewString()).Status)
	require.Equal(t, http.StatusNotFound, reader.get(base+"/rollouts/x").Status)

	do := func(verb string, fields ...string) {
		t.Helper()
		require.Equal(t, http.StatusForbidden, reader.get(path+"/"+verb).Status)
		asked := b.get(path + "/" + verb)
		require.Equal(t, http.StatusOK, asked.Status, asked.Body)
		require.Contains(t, asked.Body, "jobagent rollout "+verb)
		a := b.post(path+"/"+verb, b.form(path+"/"+verb, fields...))
		require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
		require.Equal(t, path, a.Header.Get("Location"))
	}
	do("resume")
	rolloutState(t, f, run, rollouts.Waiting)
	require.Contains(t, b.get(path).Body, `data-phase="active going waiting"`)
	do("reject", "reason", "not today")
	rolloutState(t, f, run, rollouts.Paused)
	require.Contains(t, b.get(path).Body, "not today")
	do("resume")
	rolloutState(t, f, run, rollouts.Waiting)
	do("approve", "wave", "canary <1>", "note", "go") // a browser unescapes the name
	rolloutState(t, f, run, rollouts.Baking)
	waves, err := rollouts.On(f.Store).Waves(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, "go", waves[0].ApprovalComment)
	require.Contains(t, reader.get(base+"/runs/"+waves[0].Run.String()).Body, `href="`+path+`"`, "the run of a wave leads to it")
	do("extend", "minutes", "5")
	wrong := b.post(path+"/extend", b.form(path+"/extend", "minutes", "0"))
	require.Equal(t, http.StatusUnprocessableEntity, wrong.Status)
	require.Contains(t, wrong.Body, "Type a number of minutes")
	later, err := rollouts.On(f.Store).Waves(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, 5*time.Minute, later[0].BakeUntil.Sub(waves[0].BakeUntil))
	do("pause", "reason", "lunch")
	do("resume")
	late := b.post(path+"/extend-deadline", b.form(path+"/extend-deadline", "minutes", "5"))
	require.Equal(t, http.StatusConflict, late.Status, "its plan has no deadline")
	require.Contains(t, late.Body, "it has no deadline")
	do("skip", "wave", "rest")
	do("abort", "reason", "enough")
	rolloutState(t, f, run, rollouts.Aborted)
	require.Contains(t, b.get(path).Body, `data-phase="ended"`)
	again := b.post(path+"/pause", b.form(path+"/pause"))
	require.Equal(t, http.StatusConflict, again.Status, "it has ended")

	// A wave whose gate fails is run again.
	failing := job2(t, f, "THROW 50000, N'bad', 1;")
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), failing, `{"waves": [{"name": "all", "targets": "rest"}]}`, nil))
	if run, err = executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: failing}); err != nil {
		t.Fatal(err)
	}
	rolloutState(t, f, run, rollouts.Stopped)
	path = base + "/rollouts/" + run.String()
	require.Contains(t, b.get(path).Body, "Gate failed")
	do("retry")
	rolloutState(t, f, run, rollouts.Stopped)
	do("abort")
	rolloutState(t, f, run, rollouts.Aborted)

	// A wave whose targets fail their preflight does not start.
	plan := `{"waves": [{"name": "all", "targets": "rest"}], "preflight": "leave_out", "preflight_options": {"rights": ["NOTHING"]}}`
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), failing, plan, nil))
	if run, err = executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: failing}); err != nil {
		t.Fatal(err)
	}
	rolloutState(t, f, run, rollouts.Stopped)
	path = base + "/rollouts/" + run.String()
	waves, err = rollouts.On(f.Store).Waves(t.Context(), run)
	require.NoError(t, err)
	for _, text := range []string{"2 of 2 failed it", base + "/runs/" + waves[0].PreflightRun.String(), "targets are left out", "none of its 2 targets passed the preflight"} {
		require.Contains(t, b.get(path).Body, text)
	}
	require.Contains(t, b.get(base+"/runs/"+waves[0].PreflightRun.String()).Body, "the login lacks NOTHING")
	do("abort")
	rolloutState(t, f, run, rollouts.Aborted)

	// What the probe of a wave returned on its targets.
	plan = `{"waves": [{"name": "all", "targets": "rest", "probe_job": "` + job2(t, f, "SELECT 4321 AS n;") + `", "probe_max_value": 5000}]}`
	probed := job2(t, f, "PRINT 1;")
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), probed, plan, nil))
	if run, err = executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: probed}); err != nil {
		t.Fatal(err)
	}
	rolloutState(t, f, run, rollouts.Succeeded)
	body := b.get(base + "/rollouts/" + run.String()).Body
	require.Contains(t, body, "Values of the probe")
	require.Equal(t, 2, strings.Count(body, `<td class="num">4321</td><td class="num">1</td>`), body)
}

// A roll-out without targets says so.
func TestRolloutWithoutTargets(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	const group = "no targets"
	_, err := targetgroups.On(f.Store).Add(t.Context(), group)
	require.NoError(t, err)
	name := job(t, f, "PRINT 1;")
	_, err = catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: name, StepID: new(1), TargetGroup: new(group)})
	require.NoError(t, err)
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), name, `{"waves": [{"name": "all", "targets": "rest"}]}`, nil))
	run, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: name})
	require.NoError(t, err)
	rolloutState(t, f, run, rollouts.Succeeded)
	const text = "The roll-out has no targets"
	require.Contains(t, as(t, f, "reader").get(base+"/rollouts/"+run.String()).Body, text)
	require.Contains(t, await(t, f, run).LastMessage, text)
}

// A roll-out that has ended is undone with the job of its plan, once for a form that is sent twice.
func TestUndoOfARollout(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "PRINT 1;")
	undo := job2(t, f, "PRINT 2;")
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), name, `{"waves": [{"name": "first", "targets": 1}, {"name": "rest", "targets": "rest"}],
 "undo_job": "`+undo+`"}`, nil))
	run, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: name})
	require.NoError(t, err)
	path := base + "/rollouts/" + run.String()
	reader, b := as(t, f, "reader"), as(t, f, "operator")
	rolloutState(t, f, run, rollouts.Succeeded)
	done, err := rollouts.On(f.Store).Get(t.Context(), run)
	require.NoError(t, err)
	require.NotContains(t, reader.get(path).Body, path+"/undo")
	require.Equal(t, http.StatusForbidden, reader.get(path+"/undo").Status)
	require.Contains(t, b.get(path).Body, path+"/undo")
	asked := b.get(path + "/undo")
	require.Equal(t, http.StatusOK, asked.Status, asked.Body)
	for _, text := range []string{fmt.Sprintf("on %d target", done.Succeeded), "in reverse order, from “rest” to “first”", "jobagent rollout undo "} {
		require.Contains(t, asked.Body, text)
	}
	form := b.form(path+"/undo", "only", "Succeeded", "hold", "true")
	a := b.post(path+"/undo", form)
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	undone, err := uuid.Parse(a.Header.Get("Location")[len(base+"/rollouts/"):])
	require.NoError(t, err)
	require.Equal(t, a.Header.Get("Location"), b.post(path+"/undo", form).Header.Get("Location"))
	rolloutState(t, f, undone, rollouts.Paused)
	of, err := rollouts.On(f.Store).Get(t.Context(), undone)
	require.NoError(t, err)
	require.Equal(t, run, of.UndoOf)
	require.Equal(t, undo, of.JobName)
	require.NotContains(t, b.get(base+"/rollouts/"+undone.String()).Body, "/undo\"", "an undo has no undo of its own")
	require.NoError(t, rollouts.On(f.Store).Abort(t.Context(), undone, ""))
	rolloutState(t, f, undone, rollouts.Aborted)

	// A state that no target has is refused beside its field, and so is a plan without a job.
	wrong := b.post(path+"/undo", b.form(path+"/undo", "only", "Failed"))
	require.Equal(t, http.StatusUnprocessableEntity, wrong.Status, wrong.Body)
	require.NoError(t, catalog.On(f.Store).SetJobRollout(t.Context(), name, `{"waves": [{"name": "all", "targets": "rest"}]}`, nil))
	run, err = executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: name})
	require.NoError(t, err)
	rolloutState(t, f, run, rollouts.Succeeded)
	path = base + "/rollouts/" + run.String()
	without := b.post(path+"/undo", b.form(path+"/undo"))
	require.Equal(t, http.StatusConflict, without.Status, without.Body)
	entries, err := auditlog.On(f.Store).Read(t.Context(), auditlog.Filter{Action: "sp_undo_rollout", Limit: 10})
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// job2 is another job of the test.
func job2(t *testing.T, f *front.Front, command string) (name string) {
	t.Helper()
	t.Run("another", func(t *testing.T) { name = job(t, f, command) })
	return name
}
