package web_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/testenv/front"
)

// topicOf matches the topic of a page, and fragmentOf the element that an event replaces.
var (
	topicOf    = regexp.MustCompile(`data-topic="([^"]*)"`)
	fragmentOf = regexp.MustCompile(`"id":"([^"]*)"`)
)

// The pages of definitions are updated live: all blocks of a stream are elements of the page, and
// show what has happened since the page was made.
func TestLiveDefinitions(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1;")
	_, err := timetable.On(f.Store).Add(t.Context(), timetable.Spec{JobName: name, Name: "~<night>", Kind: new("cron5"), Spec: new("30 2 * * *")})
	require.NoError(t, err)
	steps, err := catalog.On(f.Store).JobSteps(t.Context(), name, new(1))
	require.NoError(t, err)
	require.NotEmpty(t, steps)
	b := as(t, f, "reader")
	path := func(segments ...string) string { return (&page.Request{Base: base}).Path(segments...) }
	pages := map[string]string{ // the last block of each
		path("jobs") + "?search=" + url.QueryEscape(name): "jobs-list", path("jobs", name): "job-schedules",
		path("schedules") + "?search=" + url.QueryEscape(name): "schedules-list", path("schedules", name, "~<night>"): "schedule-past",
		path("groups"): "groups-list", path("groups", steps[0].TargetGroup): "group-failures",
	}
	bodies := map[string]string{}
	for path := range pages {
		a := b.get(path)
		require.Equal(t, http.StatusOK, a.Status, path)
		bodies[path] = a.Body
	}
	run, err := executions.On(f.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
	await(t, f, run)
	for path, last := range pages {
		topic := topicOf.FindStringSubmatch(bodies[path])
		require.NotNil(t, topic, path)
		text := b.stream(base+"/events?topic="+url.QueryEscape(html.UnescapeString(topic[1])), last)
		for _, id := range fragmentOf.FindAllStringSubmatch(text, -1) {
			require.Contains(t, bodies[path], `id="`+id[1]+`"`, path)
		}
		if last != "groups-list" && last != "group-failures" && last != "schedule-past" && last != "schedules-list" {
			require.NotContains(t, bodies[path], run.String())
			require.Contains(t, text, base+"/runs/"+run.String(), path)
		}
	}
	require.Equal(t, http.StatusNotFound, b.get(base+"/events?topic=jobs/x").Status)
	require.Equal(t, http.StatusNotFound, b.get(base+"/events?topic=jobs/").Status)
}

// A schedule whose parameters do not fit those that the job declares starts no runs, and its pages
// and those of the job say so until it fits.
func TestSchedulesWithUnfitParameters(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1;")
	_, err := timetable.On(f.Store).Add(t.Context(), timetable.Spec{JobName: name, Name: "night", Kind: new("cron5"), Spec: new("30 2 * * *")})
	require.NoError(t, err)
	b := as(t, f, "reader")
	paths := []string{
		base + "/jobs/" + segment(name), base + "/schedules/" + segment(name) + "/night", base + "/schedules?search=" + url.QueryEscape(name),
	}
	require.NoError(t, catalog.On(f.Store).SetJobParameters(t.Context(), name, `[{"name": "tenant", "required": true}]`, nil))
	for _, path := range paths {
		body := b.get(path).Body
		require.Regexp(t, `It starts no runs: <[^>]*>[^<]*tenant`, body, path)
	}
	require.NoError(t, catalog.On(f.Store).SetJobParameters(t.Context(), name, `[{"name": "tenant", "default": "x"}]`, nil))
	for _, path := range paths {
		require.NotContains(t, b.get(path).Body, "It starts no runs", path)
	}
}
