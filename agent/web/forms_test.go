package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/front"
)

var (
	inputField  = regexp.MustCompile(`<input type="(?:text|hidden)"[^>]* name="([^"]*)" value="([^"]*)"`)
	checkField  = regexp.MustCompile(`<input type="checkbox"[^>]* name="([^"]*)" value="true" checked`)
	areaField   = regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]*)"[^>]*>\n(.*?)</textarea>`)
	selectField = regexp.MustCompile(`(?s)<select[^>]* name="([^"]*)".*?</select>`)
	chosen      = regexp.MustCompile(`<option value="([^"]*)" selected>`)
)

// filled returns all fields of a form as a browser would send them.
func filled(body string) url.Values {
	body = mainForm.FindString(body)
	form := hidden(body)
	for _, field := range []*regexp.Regexp{inputField, areaField} {
		for _, m := range field.FindAllStringSubmatch(body, -1) {
			form.Set(m[1], unescape(m[2]))
		}
	}
	for _, m := range checkField.FindAllStringSubmatch(body, -1) {
		form.Set(m[1], "true")
	}
	for _, m := range selectField.FindAllStringSubmatch(body, -1) {
		value := ""
		if one := chosen.FindStringSubmatch(m[0]); one != nil {
			value = unescape(one[1])
		}
		form.Set(m[1], value)
	}
	return form
}

func unescape(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&#43;", "+", "&amp;", "&").Replace(text)
}

// edit gets a form, and sets some of its fields.
func (b *browser) edit(path string, further ...string) url.Values {
	b.t.Helper()
	a := b.get(path)
	require.Equal(b.t, http.StatusOK, a.Status, a.Body)
	return set(filled(a.Body), further...)
}

// set sets fields of a form: names and values that follow each other.
func set(form url.Values, further ...string) url.Values {
	for i := 0; i < len(further); i += 2 {
		form.Set(further[i], further[i+1])
	}
	return form
}

// press sends a form with one of its buttons.
func (b *browser) press(path, button string, form url.Values) front.Answer {
	b.t.Helper()
	return b.post(path, set(form, "do", button))
}

// problemAt returns what is said at a field.
func problemAt(body, field string) string {
	m := regexp.MustCompile(`id="f-` + regexp.QuoteMeta(field) + `-problem">(.*?)</p>`).FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return unescape(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], ""))
}

// shortly is what a form says is wrong.
func shortly(a front.Answer) string {
	return strings.Join(regexp.MustCompile(`<p class="problem".*?</p>|<div class="notice.*?</div>`).FindAllString(a.Body, -1), "\n")
}

// formCase is a form with what is right in it, and what is wrong in each field.
type formCase struct {
	path  string
	right []string
	// wrong are a field, a value, the field at which the problem is said, and a part of it.
	wrong [][4]string
	// shown are texts that the preview shows.
	shown []string
	// check looks at what was saved.
	check func(t *testing.T, f *front.Front)
}

// Each form previews and saves what is right, says at each field what is wrong, and is refused for
// readers and without the session's token.
func TestForms(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: "formed"})
	require.NoError(t, err)
	long := strings.Repeat("x", 129)
	cases := []formCase{
		{
			path: "/new/job",
			right: []string{"name", "form job", "description", "It's <b>", "parameters[0].name", "days", "parameters[0].type", "integer", "parameters[0].default", "7",
				"schedule", "true", "schedule.enabled", "", "schedule.interval", "Days", "schedule.count", "2", "schedule.start", "2026-01-31T22:00:00Z"},
			wrong: [][4]string{
				{"name", "", "name", "A text is missing."}, {"name", " x", "name", "blank"}, {"name", long, "name", "at most 128"}, {"name", "50%", "name", "not allowed"}, {"name", "formed", "name", "exists already"},
				{"description", strings.Repeat("y", 513), "description", "at most 512"}, {"parameters[0].name", "a b", "parameters", "a b"}, {"parameters[0].type", "texts", "parameters[0].type", `did you mean "text"`},
				{"parameters[0].default", "seven", "parameters", "integer"}, {"schedule.interval", "Fortnights", "schedule.interval", "want Once"}, {"schedule.count", "0", "schedule.count", "want 1 to"},
				{"schedule.count", "many", "schedule.count", "whole number"}, {"schedule.start", "tomorrow", "schedule.start", "want a time"}, {"schedule.end", "2025-01-01", "schedule.end", "before the start"},
				{"schedule.parameters", "[1]", "schedule.parameters", "JSON object"}, {"schedule.parameters", `{"days": "x"}`, "schedule.parameters", "days"},
			},
			shown: []string{"EXECUTE jobs.sp_set_job @job_name = N'form job', @description = N'It''s <b>'", "jobs.sp_set_job_parameters", "jobagent apply -f form-job.yaml", "kind: Job", "count: 2"},
			check: func(t *testing.T, f *front.Front) {
				job, err := catalog.On(f.Store).JobDetail(t.Context(), "form job")
				require.NoError(t, err)
				require.Equal(t, "It's <b>", job.Description)
				require.Equal(t, "Days", job.IntervalType)
				require.Equal(t, 2, job.IntervalCount)
				require.False(t, job.Enabled)
				require.Contains(t, job.Parameters, `"days"`)
			},
		},
		{
			path: "/jobs/formed/add-step",
			right: []string{"name", "first", "target_group", "g1", "command", "command", "command.text", "SELECT 1;\r\nGO\r\nSELECT 'a\\\r\nb';", "retry_attempts", "3", "after", "[]",
				"output", "true", "output.server", "s", "output.database", "d", "output.table", "t"},
			wrong: [][4]string{
				{"name", "", "name", "A text is missing."}, {"target_group", "", "target_group", "a T-SQL step runs on one"}, {"target_group", "nowhere", "target_group", "nowhere"},
				{"command.text", " ", "command.text", "The command is empty."}, {"command", "", "command", "want one of"}, {"command", "http", "command.text", "JSON object"}, {"retry_attempts", "-1", "retry_attempts", "want 0 to"},
				{"retry_errors", "Some", "retry_errors", "want Transient or All"}, {"initial_retry_interval_seconds", "0", "initial_retry_interval_seconds", "want 1"},
				{"maximum_retry_interval_seconds", "x", "maximum_retry_interval_seconds", "whole number"}, {"retry_interval_backoff_multiplier", "0.5", "retry_interval_backoff_multiplier", "want 1"},
				{"step_timeout_seconds", "0", "step_timeout_seconds", "want 1"}, {"max_parallelism", "0", "max_parallelism", "want 1"}, {"after", "missing", "after", "does not exist"},
				{"run_when", "Failed", "run_when", "comes after none"}, {"on_targets", "Failed", "on_targets", "Failed"}, {"on_unknown_outcome", "Await", "on_unknown_outcome", "only actions"},
				{"output.server", "", "output.server", "A text is missing."}, {"output.subscription_id", "x", "output.subscription_id", "GUID"}, {"credential", strings.Repeat("c", 129), "credential", "at most 128"},
			},
			shown: []string{"EXECUTE jobs.sp_add_jobstep", "SET @command1 += N'GO' + NCHAR(10);", "@target_group_name = N'g1'", "jobagent apply -f formed.yaml"},
			check: func(t *testing.T, f *front.Front) {
				steps, err := catalog.On(f.Store).JobSteps(t.Context(), "formed", new(1))
				require.NoError(t, err)
				require.Len(t, steps, 1)
				require.Equal(t, "SELECT 1;\nGO\nSELECT 'a\\\nb';", steps[0].Command)
				require.Equal(t, 3, steps[0].RetryAttempts)
				require.Equal(t, "t", steps[0].Output.Table)
			},
		},
		{
			path:  "/jobs/formed/steps/first/edit",
			right: []string{"command.text", "SELECT 2;", "output", "", "description", "ignored"},
			wrong: [][4]string{{"command.text", "", "command.text", "The command is empty."}, {"retry_attempts", "x", "retry_attempts", "whole number"}},
			shown: []string{"EXECUTE jobs.sp_update_jobstep", "@command = N'SELECT 2;'", "SELECT 2;"},
			check: func(t *testing.T, f *front.Front) {
				steps, err := catalog.On(f.Store).JobSteps(t.Context(), "formed", new(2))
				require.NoError(t, err)
				require.Equal(t, "first", steps[0].StepName)
				require.Equal(t, "SELECT 2;", steps[0].Command)
				require.Empty(t, steps[0].OutputType)
			},
		},
		{
			path: "/new/group",
			right: []string{"name", "formed group", "members[0].server", "s1", "members[1].server", "s1", "members[1].database", "template", "members[1].exclude", "true",
				"members[2].server", "s2", "members[2].elastic_pool", "p"},
			wrong: [][4]string{
				{"name", "", "name", "A text is missing."}, {"name", "g1", "name", "exists already"}, {"members[0].server", "", "members[0].server", "A text is missing: want server, tag_filter or target_group."},
				{"members[0].server", "  ", "members[0].server", "A text is missing."},
				{"members[0].server", strings.Repeat("s", 129), "members[0].server", "at most 128"}, {"members[2].database", "d", "members", "without database"},
				{"members[0].shard_map", "m", "members", "want server, database and shard_map"},
			},
			shown: []string{"EXECUTE jobs.sp_set_target_group", "exclude: true"},
			check: func(t *testing.T, f *front.Front) {
				list, err := targetgroups.On(f.Store).Members(t.Context(), "formed group")
				require.NoError(t, err)
				require.Len(t, list, 3)
			},
		},
		{
			path:  "/groups/formed%20group/edit",
			right: []string{"members[3].server", "s3", "members[3].database", "d3"},
			wrong: [][4]string{{"members[3].server", " ", "members[3].server", "A text is missing."}},
			shown: []string{"jobs.sp_set_target_group", "database: d3"},
			check: func(t *testing.T, f *front.Front) {
				list, err := targetgroups.On(f.Store).Members(t.Context(), "formed group")
				require.NoError(t, err)
				require.Len(t, list, 4)
			},
		},
		{
			path:  "/new/calendar",
			right: []string{"name", "form holidays", "spec", `{"timeZone": "Europe/Berlin", "dates": ["2026-12-24/2026-12-26"]}`},
			wrong: [][4]string{{"name", "", "name", "A text is missing."}, {"spec", "", "spec", "A value is missing."}, {"spec", "{", "spec", "JSON object"}, {"spec", `{"dates": ["x"]}`, "spec", "x"}},
			shown: []string{"EXECUTE jobs.sp_add_calendar @calendar_name = N'form holidays'"},
		},
		{
			path:  "/calendars/form%20holidays/edit",
			right: []string{"spec", `{"timeZone": "UTC", "dates": ["2026-12-25"]}`},
			wrong: [][4]string{{"spec", `{"timeZone": "Mars"}`, "spec", "Mars"}},
			shown: []string{"EXECUTE jobs.sp_update_calendar"},
			check: func(t *testing.T, f *front.Front) {
				list, err := timetable.On(f.Store).Calendars(t.Context(), "form holidays")
				require.NoError(t, err)
				require.Contains(t, list[0].Spec, "2026-12-25")
			},
		},
		{
			path:  "/new/window",
			right: []string{"name", "form window", "blackouts", "form holidays", "tag_filter", "form = 'gold'"},
			wrong: [][4]string{{"name", "", "name", "A text is missing."}, {"zone", "Mars/X", "", "Mars/X"}},
			shown: []string{"EXECUTE jobs.sp_set_target_window", "@window_name = N'form window'"},
		},
		{
			path:  "/windows/form%20window/edit",
			right: []string{"zone", "Europe/Berlin"},
			wrong: [][4]string{{"calendar", "none such", "", "none such"}},
			shown: []string{"EXECUTE jobs.sp_set_target_window", "zone: Europe/Berlin"},
			check: func(t *testing.T, f *front.Front) {
				w, err := holds.On(f.Store).Window(t.Context(), "form window")
				require.NoError(t, err)
				require.Equal(t, "Europe/Berlin", w.Zone)
				require.Equal(t, "form holidays", w.Blackouts)
			},
		},
		{
			path:  "/jobs/formed/add-trigger",
			right: []string{"name", "after j1", "after", "j1", "run_when", "Finished"},
			wrong: [][4]string{{"name", "", "name", "A text is missing."}, {"after", "formed", "", "start itself"}},
			shown: []string{"EXECUTE jobs.sp_add_job_trigger", "after j1"},
		},
		{
			path:  "/jobs/formed/triggers/after%20j1/edit",
			right: []string{"enabled", ""},
			wrong: [][4]string{{"after", "none such", "", "none such"}},
			shown: []string{"EXECUTE jobs.sp_update_job_trigger", "enabled: false"},
			check: func(t *testing.T, f *front.Front) {
				require.Contains(t, as(t, f, "author").get(base+"/jobs/formed/add-trigger").Body, "After the jobs")
				require.Contains(t, as(t, f, "author").get(base+"/jobs/formed/add-step").Body, "After the steps")
				found, err := triggers.On(f.Store).Get(t.Context(), "formed", "after j1")
				require.NoError(t, err)
				require.False(t, found.Enabled)
				require.Equal(t, "Finished", found.RunWhen)
			},
		},
		{
			path:  "/jobs/formed/add-schedule",
			right: []string{"name", "nightly", "schedule", "cron5", "schedule.text", "0 2 * * *", "zone", "Europe/Berlin", "overlap", "BufferOne", "catch_up", "none", "parameters", `{"a": 1}`},
			wrong: [][4]string{
				{"name", "", "name", "A text is missing."}, {"schedule.text", "0 25 * * *", "schedule.text", "25"}, {"schedule.text", "", "schedule.text", "A value is missing."}, {"schedule", "", "schedule", "want one of"},
				{"schedule", "rrule", "schedule.text", ""}, {"zone", "Mars", "schedule.text", "Mars"}, {"overlap", "Never", "overlap", "want Skip"}, {"catch_up", "some", "catch_up", "some"}, {"parameters", "1", "parameters", "JSON object"},
			},
			shown: []string{"EXECUTE jobs.sp_add_schedule", "Due next, in Europe/Berlin: ", `cron5: "0 2 * * *"`},
		},
		{
			path:  "/schedules/formed/nightly/edit",
			right: []string{"schedule.text", "0 3 * * *", "enabled", ""},
			wrong: [][4]string{{"schedule.text", "* *", "schedule.text", "field"}},
			shown: []string{"EXECUTE jobs.sp_update_schedule", "jobagent schedule update formed nightly '--cron5=0 3 * * *' --enabled=false", "enabled: false"},
			check: func(t *testing.T, f *front.Front) {
				list, err := timetable.On(f.Store).List(t.Context(), timetable.Filter{JobName: "formed", NamedOnly: true})
				require.NoError(t, err)
				require.Len(t, list, 1)
				require.Equal(t, "0 3 * * *", list[0].Spec)
				require.Equal(t, "BufferOne", list[0].Overlap)
				require.False(t, list[0].Enabled)
			},
		},
		{
			path:  "/new/limit",
			right: []string{"scope", "ElasticPool", "name", "form pool", "server", "s1", "max_concurrent_targets", "5"},
			wrong: [][4]string{
				{"scope", "", "scope", "A text is missing."}, {"scope", "Server", "server", "only a limit of the scope ElasticPool"},
				{"max_concurrent_targets", "", "max_concurrent_targets", "whole number"}, {"max_concurrent_targets", "0", "max_concurrent_targets", "want 1"}, {"name", strings.Repeat("n", 257), "name", "at most 256"},
			},
			shown: []string{"EXECUTE jobs.sp_set_limit @scope = N'ElasticPool'", "jobagent limit set ElasticPool 'form pool' 5 --server=s1", "jobagent apply -f ElasticPool-form-pool-on-s1.yaml"},
		},
		{
			path:  "/limits/ElasticPool/form%20pool/edit?server=s1",
			right: []string{"max_concurrent_targets", "6"},
			wrong: [][4]string{{"max_concurrent_targets", "x", "max_concurrent_targets", "whole number"}},
			shown: []string{"@max_concurrent_targets = 6"},
		},
		{
			path:  "/new/alert-rule",
			right: []string{"name", "form rule", "condition", "NoRun", "job", "formed", "seconds", "7200", "severity", "Critical", "lifecycles", "Succeeded"},
			wrong: [][4]string{
				{"name", "", "name", "A text is missing."}, {"condition", "", "condition", "A text is missing."}, {"job", "", "condition", "needs job"}, {"job_pattern", "x*", "job_pattern", "both given"}, {"job", "nothing", "", "nothing"},
				{"lifecycles", "Well", "lifecycles", "unknown lifecycle"}, {"percent_failed", "5", "percent_failed", "does not use it"}, {"factor", "2", "factor", "does not use it"}, {"runs", "1", "runs", "want 3"},
				{"seconds", "", "seconds", "at least 60"}, {"severity", "Bad", "severity", "want Info"}, {"channels", "nobody", "", "nobody"}, {"throttle_seconds", "x", "throttle_seconds", "whole number"}, {"repeat_seconds", "5", "repeat_seconds", "60 or more"},
			},
			shown: []string{"EXECUTE jobs.sp_add_alert @alert_name = N'form rule'", "jobagent alert rule add 'form rule' NoRun --job=formed"},
		},
		{
			path:  "/alert-rules/form%20rule/edit",
			right: []string{"seconds", "3600", "enabled", ""},
			wrong: [][4]string{{"seconds", "1", "seconds", "at least 60"}},
			shown: []string{"EXECUTE jobs.sp_update_alert", "enabled: false"},
			check: func(t *testing.T, f *front.Front) {
				list, err := alerting.On(f.Store).Rules(t.Context(), "form rule")
				require.NoError(t, err)
				require.Equal(t, 3600, list[0].Seconds)
				require.False(t, list[0].Enabled)
			},
		},
		{
			path:  "/new/alert-channel",
			right: []string{"name", "form channel", "type", "Slack", "definition", `{"url": "$(secret.SLACK)"}`},
			wrong: [][4]string{
				{"name", "", "name", "A text is missing."}, {"type", "", "type", "A text is missing."}, {"type", "Pigeon", "type", "want Http"}, {"definition", "", "definition", "missing"},
				{"definition", "{", "definition", ""}, {"definition", `{"url": "https://example.com/x", "colour": "red"}`, "", "$.colour: unknown member"},
			},
			shown: []string{"EXECUTE jobs.sp_add_alert_channel @channel_name = N'form channel'", "jobagent alert channel add 'form channel' Slack", "kind: AlertChannel"},
		},
		{
			path:  "/alert-channels/form%20channel/edit",
			right: []string{"enabled", ""},
			wrong: [][4]string{{"definition", `{"url": 1}`, "", "$.url: want a text"}, {"definition", "[]", "definition", "want a mapping"}},
			shown: []string{"EXECUTE jobs.sp_update_alert_channel", "enabled: false"},
			check: func(t *testing.T, f *front.Front) {
				list, err := alerting.On(f.Store).Channels(t.Context(), "form channel")
				require.NoError(t, err)
				require.Equal(t, "Slack", list[0].Type, "the type stays")
				require.False(t, list[0].Enabled)
			},
		},
	}
	offers := map[string]string{
		"/jobs": "New job", "/jobs/formed": "Add a step", "/groups": "New target group", "/groups/g1": ">Edit<", "/schedules": "New calendar", "/limits": "New limit", "/windows": "New window", "/alerts": "New channel",
	}
	for path, offer := range offers {
		require.Contains(t, as(t, f, "author").get(base+path).Body, offer, path)
		require.NotContains(t, as(t, f, "operator").get(base+path).Body, offer, path)
	}
	author, reader, operator := as(t, f, "author"), as(t, f, "reader"), as(t, f, "operator")
	for _, c := range cases { // one after the other: some change what others have made
		path := base + c.path
		require.Equal(t, http.StatusForbidden, reader.get(path).Status, c.path)
		require.Equal(t, http.StatusForbidden, operator.get(path).Status, c.path)
		form := author.edit(path, c.right...)
		for _, w := range c.wrong {
			what := fmt.Sprintf("%s: %s = %q", c.path, w[0], w[1])
			a := author.press(path, "save", set(author.edit(path, c.right...), w[0], w[1]))
			require.Equal(t, http.StatusUnprocessableEntity, a.Status, "%s\n%s", what, shortly(a))
			if w[2] == "" {
				require.Contains(t, a.Body, w[3], what)
				continue
			}
			require.NotEmpty(t, problemAt(a.Body, w[2]), "%s\n%s", what, shortly(a))
			require.Contains(t, strings.ToLower(problemAt(a.Body, w[2])), strings.ToLower(w[3]), what)
			require.Regexp(t, `(id="f-`+regexp.QuoteMeta(w[2])+`"[^>]*aria-describedby="f-`+regexp.QuoteMeta(w[2])+`-problem)`, a.Body, what)
			require.Equal(t, 1, strings.Count(a.Body, " autofocus"), "%s: the first fault has the focus", what)
			require.Equal(t, strings.ReplaceAll(w[1], "\r", ""), strings.ReplaceAll(filled(a.Body).Get(w[0]), "\r", ""), "%s: what was typed stays", what)
		}
		// Without the token, from elsewhere, and for people without the role: nothing is done.
		forgedForm := set(author.edit(path, c.right...), "csrf", "x")
		require.Equal(t, http.StatusForbidden, author.press(path, "save", forgedForm).Status, c.path)
		require.Equal(t, http.StatusForbidden, author.post(path, set(form, "do", "save"), "Origin: https://elsewhere.example", "Sec-Fetch-Site: cross-site").Status, c.path)
		for _, b := range []*browser{reader, operator} {
			foreign := set(author.edit(path, c.right...), "csrf", hidden(b.get(base+"/jobs").Body).Get("csrf"))
			require.Equal(t, http.StatusForbidden, b.press(path, "save", foreign).Status, c.path)
		}
		a := author.press(path, "preview", form)
		require.Equal(t, http.StatusOK, a.Status, "%s\n%s", c.path, shortly(a))
		require.Contains(t, a.Body, `id="preview"`, c.path)
		for _, text := range c.shown {
			require.True(t, strings.Contains(unescape(a.Body), text), "%s does not show %s", c.path, text)
		}
		require.Equal(t, 1, strings.Count(a.Body, "autofocus"), c.path)
		form = filled(a.Body)
		a = author.press(path, "save", form)
		require.Equal(t, http.StatusSeeOther, a.Status, "%s\n%s", c.path, shortly(a))
		require.Equal(t, http.StatusOK, author.get(a.Header.Get("Location")).Status, c.path)
		again := author.press(path, "save", form)
		require.Equal(t, a.Header.Get("Location"), again.Header.Get("Location"), "%s: twice is once", c.path)
		if c.check != nil {
			c.check(t, f)
		}
	}
	entries, err := auditlog.On(f.Store).Read(t.Context(), auditlog.Filter{ObjectKind: "TargetGroup", ObjectName: "formed group"})
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	require.Equal(t, "author-token", entries[0].Caller)
	require.Equal(t, caller.DoorWeb, entries[0].Door)
}

// A form in which somebody else's change is missing is refused: it says who changed what, keeps
// what was typed, and shows what saving would replace.
func TestFormsMeetOtherChanges(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	job := job(t, f, "SELECT 1;")
	name := "g " + t.Name()
	_, err := targetgroups.On(f.Store).Set(t.Context(), name, []targets.Member{{Membership: "Include", Kind: "SqlServer", Server: "a"}}, nil)
	require.NoError(t, err)
	require.NoError(t, timetable.On(f.Store).AddCalendar(t.Context(), name, `{"timeZone": "UTC", "dates": ["2026-12-24"]}`))
	require.NoError(t, settings.On(f.Store).SetLimit(t.Context(), model.Limit{Scope: model.LimitServer, Name: name, Max: 5}))
	require.NoError(t, alerting.On(f.Store).AddRule(t.Context(), name, model.AlertScheduleFaulted, alerting.Change{}))
	require.NoError(t, alerting.On(f.Store).AddChannel(t.Context(), name, "Http", `{"url": "https://example.com/x"}`, true))
	_, err = timetable.On(f.Store).Add(t.Context(), timetable.Spec{JobName: job, Name: "s", Kind: new("cron5"), Spec: new("0 2 * * *")})
	require.NoError(t, err)
	ann, bob := as(t, f, "author"), as(t, f, "admin")
	tight := func(text string) string { return strings.Join(strings.Fields(text), "") }
	for _, c := range []struct{ path, field, hers, his, action string }{
		{"/jobs/" + segment(job) + "/edit", "description", "hers", "his", "sp_update_job"},
		{"/jobs/" + segment(job) + "/steps/s1/edit", "command.text", "SELECT 'hers';", "SELECT 'his';", "sp_update_jobstep"},
		{"/schedules/" + segment(job) + "/s/edit", "schedule.text", "0 3 * * *", "0 4 * * *", "sp_update_schedule"},
		{"/groups/" + segment(name) + "/edit", "members[0].server", "hers", "his", "sp_set_target_group"},
		{"/calendars/" + segment(name) + "/edit", "spec", `{"dates": ["2026-12-25"]}`, `{"dates": ["2026-12-26"]}`, "sp_update_calendar"},
		{"/limits/Server/" + segment(name) + "/edit", "max_concurrent_targets", "7", "9", "sp_set_limit"},
		{"/alert-rules/" + segment(name) + "/edit", "description", "hers", "his", "sp_update_alert"},
		{"/alert-channels/" + segment(name) + "/edit", "definition", `{"url": "https://example.com/hers"}`, `{"url": "https://example.com/his"}`, "sp_update_alert_channel"},
	} {
		path := base + c.path
		form := ann.edit(path, c.field, c.hers)
		require.Equal(t, http.StatusSeeOther, bob.press(path, "save", bob.edit(path, c.field, c.his)).Status, c.path)
		for _, button := range []string{"preview", "save"} {
			a := ann.press(path, button, form)
			require.Equal(t, http.StatusConflict, a.Status, c.path)
			require.Regexp(t, `admin-token changed it at .* UTC by Web \(`+c.action+`\)`, shortly(a), c.path)
			require.Equal(t, c.hers, filled(a.Body).Get(c.field), "%s: what was typed stays", c.path)
			require.Contains(t, a.Body, `class="removed"`, c.path)
		}
		require.Equal(t, tight(c.his), tight(bob.edit(path).Get(c.field)), "%s: nothing was saved", c.path)
		// Somebody else's change of something else is not named.
		_, err = timetable.On(f.Store).Add(t.Context(), timetable.Spec{JobName: job, Name: "other", Kind: new("cron5"), Spec: new("0 2 * * *")})
		require.NoError(t, err)
		require.NoError(t, settings.On(f.Store).SetLimit(t.Context(), model.Limit{Scope: model.LimitServer, Name: "other", Max: 5}))
		if c.field != "schedule.text" {
			require.Contains(t, shortly(ann.press(path, "preview", form)), "admin-token", c.path)
		}
		require.NoError(t, timetable.On(f.Store).Delete(t.Context(), job, "other"))
		// She has seen the difference, and saves.
		again := filled(ann.press(path, "save", form).Body)
		require.Equal(t, http.StatusSeeOther, ann.press(path, "save", again).Status, c.path)
		require.Equal(t, tight(c.hers), tight(bob.edit(path).Get(c.field)), c.path)
	}

	// Changes of another part of the job meet each other without a loss.
	step, schedule := base+"/jobs/"+segment(job)+"/steps/s1/edit", base+"/schedules/"+segment(job)+"/s/edit"
	hers, his := ann.edit(step, "retry_attempts", "5"), bob.edit(schedule, "catch_up", "all")
	require.Equal(t, http.StatusSeeOther, bob.press(schedule, "save", his).Status)
	require.Equal(t, http.StatusSeeOther, ann.press(step, "save", hers).Status)
	require.Equal(t, "all", ann.edit(schedule).Get("catch_up"))
	require.Equal(t, "5", ann.edit(step).Get("retry_attempts"))

	// What is gone meanwhile is told, and a name that was taken.
	form := ann.edit(schedule, "catch_up", "last")
	require.NoError(t, timetable.On(f.Store).Delete(t.Context(), job, "s"))
	require.Equal(t, http.StatusNotFound, ann.press(schedule, "save", form).Status)
	form = ann.edit(base+"/new/group", "name", name+" 2")
	_, err = targetgroups.On(f.Store).Set(t.Context(), name+" 2", nil, nil)
	require.NoError(t, err)
	a := ann.press(base+"/new/group", "save", form)
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	require.Contains(t, problemAt(a.Body, "name"), "exists already")
}

// Rows are added and removed without scripts, and nothing that was typed is lost.
func TestFormRows(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b, path := as(t, f, "author"), base+"/new/group"
	form := b.edit(path, "name", "rows")
	for i := range 3 {
		a := b.press(path, "add:members", form)
		require.Equal(t, http.StatusOK, a.Status)
		require.Regexp(t, fmt.Sprintf(`id="f-members\[%d\]\.server"[^>]* autofocus`, i), a.Body, "the new row has the focus")
		form = set(filled(a.Body), fmt.Sprintf("members[%d].server", i), fmt.Sprintf("s%d", i))
	}
	form.Set("members[1].exclude", "true")
	a := b.press(path, "remove:members[0]", form)
	form = filled(a.Body)
	require.Equal(t, []string{"s1", "s2", "", "true", "rows"}, []string{
		form.Get("members[0].server"), form.Get("members[1].server"), form.Get("members[2].server"), form.Get("members[0].exclude"), form.Get("name"),
	})
	for _, button := range []string{"remove:members[5]", "remove:members[x]", "remove:steps[0]", "add:steps", "add:"} {
		require.Equal(t, http.StatusUnprocessableEntity, b.press(path, button, form).Status, button)
	}
	_, err := targetgroups.On(f.Store).Get(t.Context(), "rows")
	require.ErrorIs(t, err, dberror.ErrGroupNotFound)
}

// A definition names its secrets, and the forms, the previews and the log have the names only. What
// was typed in vain is in no log.
func TestFormsAndSecrets(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1;")
	b, path := as(t, f, "author"), base+"/jobs/"+segment(name)+"/add-step"
	command := `{"method": "POST", "url": "https://example.com/", "headers": {"Authorization": "Bearer %s"}}`
	named := []string{"name", "call", "command", "http", "command.text", fmt.Sprintf(command, "$(secret.hook)")}
	a := b.press(path, "preview", b.edit(path, named...))
	require.Equal(t, http.StatusOK, a.Status, shortly(a))
	require.Contains(t, a.Body, "$(secret.hook)")
	typed := []string{"name", "call", "command", "http", "command.text", fmt.Sprintf(command, "hunter2-typed")}
	a = b.press(path, "save", b.edit(path, typed...))
	require.Equal(t, http.StatusUnprocessableEntity, a.Status, shortly(a))
	require.Contains(t, problemAt(a.Body, "command.text"), "a secret in clear text: want $(secret.NAME)")
	require.NotContains(t, shortly(a), "hunter2", "the fault does not repeat it")
	require.NotContains(t, f.Log.String(), "hunter2-typed")
}

// The versions that forms make are compared as files have them.
func TestVersionsAsFile(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	name := job(t, f, "SELECT 1;")
	b := as(t, f, "author")
	edit := base + "/jobs/" + segment(name) + "/steps/s1/edit"
	require.Equal(t, http.StatusSeeOther, b.press(edit, "save", b.edit(edit, "command.text", "SELECT 2;\nSELECT 3;", "retry_attempts", "4")).Status)
	a := as(t, f, "reader").get(base + "/jobs/" + segment(name) + "/diff?from=1&to=2&view=file")
	require.Equal(t, http.StatusOK, a.Status)
	for _, line := range []string{
		`<span class="removed">− retry_attempts: 0`, `<span class="added">+ retry_attempts: 4`, `<span class="removed">− command: SELECT 1;`, `<span class="added">+ command: |-`, `<span class="added">+ SELECT 3;`,
	} {
		require.Contains(t, regexp.MustCompile(`([−+]) +`).ReplaceAllString(unescape(a.Body), "$1 "), line)
	}
	require.Contains(t, a.Body, `aria-current="true">As a file`)
}

// Objects that do not exist have no form.
func TestNoForm(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "author")
	for _, path := range []string{
		"/jobs/none/edit", "/jobs/none/add-step", "/jobs/jobagent$history_retention/edit", "/groups/none/edit", "/calendars/none/edit",
		"/limits/Job/none/edit", "/alert-rules/none/edit", "/alert-channels/none/edit", "/schedules/none/s/edit",
	} {
		a := b.get(base + path)
		require.Equal(t, http.StatusNotFound, a.Status, path)
	}
}
