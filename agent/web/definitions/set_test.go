package definitions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site serves the pages of a store as the server does, without sessions and without the frame.
type site struct {
	t         *testing.T
	store     *controldb.Store
	mux       *http.ServeMux
	templates *template.Template
	now       time.Time
	// query runs a T-SQL equivalent; nil: they are not run.
	query func(text string)
	view  *page.View
	err   error
}

// newSite returns the pages of a store.
func newSite(t *testing.T, store *controldb.Store) *site {
	t.Helper()
	set := Set()
	templates, err := page.Parse(set.Files, nil)
	require.NoError(t, err)
	s := &site{t: t, store: store, mux: http.NewServeMux(), templates: templates, now: time.Now()}
	for _, p := range set.Pages {
		require.Equal(t, rest.RoleReader, p.Role)
		s.mux.HandleFunc("GET "+p.Path, func(w http.ResponseWriter, r *http.Request) {
			request := &page.Request{HTTP: r, Store: s.store, Role: rest.RoleReader, Now: s.now}
			if s.view, s.err = p.Handle(r.Context(), request); s.err != nil {
				return
			}
			if s.view.Write != nil {
				s.view.Write(w)
				return
			}
			s.err = s.templates.ExecuteTemplate(w, s.view.Template+".html", page.Dot{Request: request, View: s.view, Data: s.view.Data})
		})
	}
	return s
}

// get returns the text of a page. The last argument is a query; the others are segments.
func (s *site) get(query string, segments ...string) string {
	s.t.Helper()
	body := s.try(query, segments...)
	require.NoError(s.t, s.err)
	for _, e := range s.view.Equivalents {
		if e.Door == page.DoorTSQL && s.query != nil {
			s.query(e.Text)
		}
	}
	require.NotContains(s.t, body, "style=", "the Content-Security-Policy forbids styles of elements")
	require.NotContains(s.t, body, "<script")
	require.NotContains(s.t, body, "<b>evil")
	require.NotContains(s.t, body, "\u202e", "characters that change the direction are shown")
	return body
}

// try calls a page, and sets err.
func (s *site) try(query string, segments ...string) string {
	s.t.Helper()
	s.view, s.err = nil, nil
	path := (&page.Request{}).Path(segments...)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, path+"?"+query, nil)
	s.mux.ServeHTTP(w, r)
	require.Equal(s.t, http.StatusOK, w.Code, path)
	return w.Body.String()
}

// evil is the longest name with characters that have a meaning elsewhere.
var evil = func() string {
	name := "a/<b>evil\"'\u202e&amp;?#;"
	return name + strings.Repeat("x", 128-len([]rune(name)))
}()

func ptr[T any](v T) *T { return &v }

// TestPages: all pages with names and texts that are meant to break them, without steps, with large
// scripts, and with schedules that are invalid, paused, or never due.
func TestPages(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		store, name := env.Control(t)
		db := env.DB(t, name)
		ctx := t.Context()
		// The procedures refuse the name, but objects may be older than the rule.
		young := strings.ReplaceAll(evil, "\u202e", "~")
		_, err := targetgroups.On(store).Add(ctx, young)
		require.NoError(t, err)
		for _, name := range []string{"empty", "third", young} {
			_, err = catalog.On(store).AddJob(ctx, model.JobSpec{Name: name, Description: ptr("<b>evil\u202e")})
			require.NoError(t, err)
		}
		large := strings.Repeat("SELECT N'<b>evil' AS x;\r\n", 40_000)
		_, err = catalog.On(store).AddJobStep(ctx, model.StepSpec{JobName: young, StepName: ptr("<b>evil"), Command: new(large), TargetGroup: new(young)})
		require.NoError(t, err)
		for _, command := range []string{"SELECT 1;\nSELECT 2;", "SELECT 1;\nSELECT N'</span>';"} {
			_, err = catalog.On(store).UpdateJobStep(ctx, model.StepSpec{JobName: young, StepName: ptr("<b>evil"), Command: ptr(command)})
			require.NoError(t, err)
		}
		for _, s := range []timetable.Spec{
			{Name: young, Kind: new("cron5"), Spec: new("*/15 9-17 * * 1-5"), TimeZone: ptr("Europe/Berlin")},
			{Name: "never", Kind: new("quartz"), Spec: new("0 0 12 1 * ? 2020")}, {Name: "broken", Kind: new("rrule"), Spec: new("<b>evil")}, {Name: "dot", Kind: new("sap"), Spec: new(`{"repeatInterval": "2 hours"}`)},
		} {
			s.JobName = young
			_, err := timetable.On(store).Add(ctx, s)
			require.NoError(t, err)
		}
		require.NoError(t, timetable.On(store).Pause(ctx, young, "never", true, "<b>evil"+strings.Repeat("x", 900)))
		for _, spec := range []triggers.Spec{
			{JobName: young, Name: young, Upstreams: []string{"empty"}, Enabled: new(bool)}, {JobName: young, Name: "both", Upstreams: []string{"empty", "third"}},
			{JobName: "third", Name: young, Upstreams: []string{"empty"}, RunWhen: new("Finished"), Targets: new("Succeeded")},
		} {
			require.NoError(t, triggers.On(store).Add(ctx, spec))
		}
		for _, column := range []string{"job_triggers.name", "jobs.name", "target_groups.name", "job_steps.target_group_name", "schedules.name"} {
			table, name, _ := strings.Cut(column, ".")
			_, err = db.ExecContext(ctx, fmt.Sprintf("UPDATE x SET x.%s = @p1 FROM jobs_internal.%s AS x WHERE x.%[1]s = @p2;", name, table), evil, young)
			require.NoError(t, err)
		}
		_, err = db.ExecContext(ctx, "UPDATE s SET s.name = N'.' FROM jobs_internal.schedules AS s WHERE s.name = N'dot';")
		require.NoError(t, err)
		s := newSite(t, store)
		s.query = func(text string) {
			_, err := db.ExecContext(ctx, text)
			require.NoError(t, err, text)
		}

		list := s.get("", "jobs")
		require.Contains(t, list, "empty")
		require.Contains(t, list, "U+202E")
		require.Regexp(t, `one-line" title="[^"]`, list, "a description that is cut is whole on hover")
		require.NotContains(t, s.get("search=mpt", "jobs"), "xxx")
		require.Contains(t, s.get("search=%25", "jobs"), "No job matches")
		require.Contains(t, s.get("show=failed", "jobs"), "No job matches")
		require.Contains(t, s.get("after="+controldb.Token("f"), "jobs"), "First page")
		require.NotContains(t, s.get("after=f", "jobs"), "First page", "no token")

		unused := s.get("", "jobs", "empty")
		require.Contains(t, unused, "The job has no steps yet")
		require.Contains(t, unused, `<h2 id="starts">Starts</h2>`)
		require.Contains(t, unused, "after empty and third succeeded")
		require.Contains(t, unused, "after empty ended, on the databases that succeeded there")
		require.NotContains(t, unused, `id="starts-after"`)
		job := s.get("", "jobs", evil)
		require.Contains(t, job, "Every 15 minutes from 09:00 to 17:45 on Monday to Friday, Europe/Berlin")
		require.Contains(t, job, "code-keyword")
		require.Contains(t, job, `<h2 id="starts-after">Starts after</h2>`)
		require.Regexp(t, `<a href="[^"]*/jobs/empty"><bdi>empty</bdi></a> and <a href="[^"]*/jobs/third"><bdi>third</bdi></a>`, job)
		require.Contains(t, job, `<span class="badge">disabled</span>`)
		require.Contains(t, job, "Not valid: &lt;b&gt;evil")
		require.Contains(t, s.get("", "jobs", evil, "versions", "0"), "This version has no steps")
		first := s.get("", "jobs", evil, "versions", "1")
		require.Contains(t, first, "Only the beginning is shown")
		require.Less(t, len(first), 1_000_000)
		require.Equal(t, large, s.try("step=1", "jobs", evil, "versions", "1"), "a download has all of it")
		require.Contains(t, s.get("", "jobs", evil, "diff"), `<tr class="line-added">`)
		require.Contains(t, s.get("view=split", "jobs", evil, "diff"), "line-removed")
		require.Contains(t, s.get("from=1&to=2", "jobs", evil, "diff"), "Only the first 1500 lines")
		require.Contains(t, s.get("from=0&to=1", "jobs", evil, "diff"), "Added")
		require.Contains(t, s.get("from=3&to=3", "jobs", evil, "diff"), "are the same")

		schedules := s.get("", "schedules")
		for _, text := range []string{"never", "broken", "Paused"} {
			require.Contains(t, schedules, text)
		}
		for _, state := range scheduleStates {
			s.get("state="+state.Value, "schedules")
		}
		require.Contains(t, s.get("state=paused", "schedules"), "never")
		s.get("state=due&after="+controldb.Token(timetable.Key{Due: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ID: 1}), "schedules")
		s.get("state=due&after=%00", "schedules")
		shown := s.get("month=2027-03", "schedules", evil, evil)
		require.Contains(t, shown, "March 2027")
		require.Contains(t, shown, "In Europe/Berlin")
		for _, month := range []string{"x", "0001-01", "9999-12", "2026-13", "1970-01"} {
			s.get("month="+url.QueryEscape(month), "schedules", evil, evil)
		}
		require.Regexp(t, "(?s)Paused.*; (paused|disabled)|; (paused|disabled).*Paused", s.get("", "schedules", evil, "never"))
		s.get("", "schedules", evil, "broken")
		require.Contains(t, s.get("", "schedules", evil, "."), "Every 2 hours, counted from the start of the run before")
		require.Contains(t, s.get("", "schedules", "empty", ""), "Once, when it is enabled")
		require.Equal(t, ownTitle, s.view.Title)

		require.Contains(t, s.get("", "groups"), "evil")
		require.Contains(t, s.get("", "groups", evil), "The group has no members")
		require.Contains(t, s.get("search=zzz", "groups"), "No target group matches")

		for _, missing := range [][]string{
			{"jobs", "nope"}, {"jobs", evil, "versions", "99"}, {"jobs", evil, "versions", "-1"}, {"jobs", evil, "versions", "x"}, {"schedules", evil, "nope"},
			{"schedules", "nope", ""}, {"groups", "nope"},
		} {
			s.try("", missing...)
			found := true
			for _, sentinel := range []error{dberror.ErrJobNotFound, dberror.ErrScheduleNotFound, dberror.ErrGroupNotFound} {
				found = found && !errors.Is(s.err, sentinel)
			}
			require.False(t, found, missing)
		}
		s.try("step=9", "jobs", evil, "versions", "3")
		require.ErrorIs(t, s.err, dberror.ErrStepNotFound)
	})
}

// render renders a template of the set.
func render(t *testing.T, name string, data any) string {
	t.Helper()
	templates, err := page.Parse(Set().Files, nil)
	require.NoError(t, err)
	var b bytes.Buffer
	r := &page.Request{HTTP: &http.Request{URL: &url.URL{}}, Now: time.Now()}
	require.NoError(t, templates.ExecuteTemplate(&b, name, page.Dot{Request: r, View: &page.View{}, Data: data}))
	return b.String()
}
