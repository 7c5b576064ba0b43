package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/front"
)

// TestWindowsPage: the page lists pauses and windows with what opens or closes next, and leads to
// forms that add, change and delete them.
func TestWindowsPage(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	const path = base + "/windows"
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	require.NoError(t, timetable.On(f.Store).AddCalendar(t.Context(), "windows <page>", fmt.Sprintf(`{"timeZone": "UTC", "dates": ["%s/%s"]}`, day(-1), day(2))))
	for _, w := range []holds.Window{
		{Name: "web <in>", TagFilter: "page = '<x>'", Calendar: "windows <page>"},
		{Name: "web out", TagFilter: "page = '<x>'", Blackouts: "windows <page>", Zone: "Europe/Berlin", ZoneTag: "zone"},
	} {
		require.NoError(t, holds.On(f.Store).SetWindow(t.Context(), w))
	}
	reader, operator, author := as(t, f, "reader"), as(t, f, "operator"), as(t, f, "author")
	shown := reader.get(path)
	require.Equal(t, http.StatusOK, shown.Status, shown.Body)
	for _, text := range []string{"web &lt;in&gt;", "page = &#39;&lt;x&gt;&#39;", "Open now", "Closed", "closes <time", "opens <time", "or the zone of the tag"} {
		require.Contains(t, shown.Body, text)
	}
	for _, text := range []string{"Pause a database", "New window", "/edit", "/delete", "/resume"} {
		require.NotContains(t, shown.Body, text, "readers get no buttons")
	}

	pause := path + "/pause"
	require.Equal(t, http.StatusForbidden, reader.get(pause).Status)
	require.Contains(t, operator.get(pause).Body, "jobagent target pause SERVER DATABASE")
	for _, bad := range [][2]string{{"server", "a;b"}, {"database", ""}, {"until", "tomorrow"}} {
		form := operator.form(pause, "server", "paused.example", "database", "web <d>")
		form.Set(bad[0], bad[1])
		require.Equal(t, http.StatusUnprocessableEntity, operator.post(pause, form).Status, bad)
	}
	a := operator.post(pause, operator.form(pause, "server", "paused.example", "database", "web <d>", "reason", "moves <away>", "until", "2999-02-03 04:05"))
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	require.Equal(t, path+"#pauses", a.Header.Get("Location"))
	id := targets.TargetID("paused.example", "web <d>")
	p, err := holds.On(f.Store).Pause(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, time.Date(2999, 2, 3, 4, 5, 0, 0, time.UTC), p.Until)
	shown = operator.get(path)
	for _, text := range []string{"moves &lt;away&gt;", id.String() + "/pause", id.String() + "/resume", "operator-token"} {
		require.Contains(t, shown.Body, text)
	}
	resume := base + "/databases/" + id.String() + "/resume"
	a = operator.post(resume, operator.form(resume))
	require.Equal(t, path, a.Header.Get("Location"), "it has no page of its own")

	for _, name := range []string{"web <in>", "web out"} {
		remove := path + "/" + segment(name) + "/delete"
		require.Equal(t, http.StatusForbidden, operator.get(remove).Status)
		require.Contains(t, strings.ReplaceAll(author.get(path).Body, "&#43;", "+"), remove)
		require.Contains(t, author.get(remove).Body, "what waits for it starts")
		require.Equal(t, http.StatusSeeOther, author.post(remove, author.form(remove)).Status)
		require.Equal(t, http.StatusNotFound, author.get(remove).Status)
	}
	require.NoError(t, timetable.On(f.Store).DeleteCalendar(t.Context(), "windows <page>"))
}

// TestTriggersPage: the page shows which jobs start after which; a trigger is deleted from the page
// of its job.
func TestTriggersPage(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	names := []string{"graph <a>", "graph b", "graph c"}
	for _, name := range names {
		_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: name})
		require.NoError(t, err)
	}
	add := func(job, name string, upstreams ...string) {
		t.Helper()
		require.NoError(t, triggers.On(f.Store).Add(t.Context(), triggers.Spec{JobName: job, Name: name, Upstreams: upstreams}))
	}
	add("graph b", "after <a>", "graph <a>")
	add("graph c", "both", "graph <a>", "graph b")
	reader, author := as(t, f, "reader"), as(t, f, "author")
	shown := reader.get(base + "/triggers")
	require.Equal(t, http.StatusOK, shown.Status, shown.Body)
	for _, text := range []string{"graph &lt;a&gt;", "after graph &lt;a&gt; succeeded", "after graph &lt;a&gt; and graph b succeeded"} {
		require.Contains(t, shown.Body, text)
	}
	at := base + "/jobs/graph%20b"
	require.Contains(t, reader.get(at).Body, `href="`+base+`/triggers"`)
	require.NotContains(t, reader.get(at).Body, "Change a trigger")
	remove := at + "/triggers/" + segment("after <a>") + "/delete"
	require.Contains(t, author.get(at).Body, remove)
	require.Equal(t, http.StatusForbidden, as(t, f, "operator").get(remove).Status)
	require.Contains(t, author.get(remove).Body, "does not start any more after graph &lt;a&gt; succeeded")
	require.Equal(t, http.StatusSeeOther, author.post(remove, author.form(remove)).Status)
	require.Equal(t, http.StatusNotFound, author.get(remove).Status)
	require.NoError(t, triggers.On(f.Store).Delete(t.Context(), "graph c", "both"))
}
