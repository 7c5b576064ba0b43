package operate

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv/pagetest"
)

const hostile = pagetest.Hostile

var now = pagetest.Now

// render renders a page, or a block.
func render(t *testing.T, name string, data any) string {
	t.Helper()
	return pagetest.Render(t, files, name, data)
}

// requireHarmless checks that a page shows the control characters of hostile texts. render has
// checked the rest.
func requireHarmless(t *testing.T, html string) {
	t.Helper()
	require.True(t, strings.Contains(html, "U+202E"), "the text is not in the page")
}

// TestBlocks: each block has one element whose id is its name.
func TestBlocks(t *testing.T) {
	for name, data := range map[string]any{
		"agents-figures": &agentsData{}, "agents-list": &agentsData{}, "agents-tasks": &agentsData{},
		"limits-list": &limitsData{}, "limits-steps": &limitsData{}, "alerts-open": &alertsData{},
	} {
		html := strings.TrimSpace(render(t, name, data))
		require.True(t, strings.HasPrefix(html, `<div id="`+name+`"`), html)
		require.Equal(t, 1, strings.Count(html, `id="`+name+`"`))
	}
	require.Len(t, append(append(agentBlocks, limitBlocks...), alertBlocks...), 6)
}

func TestAgentsPage(t *testing.T) {
	d := &agentsData{clock: clock{Now: now, ages: true}, O: summary.Overview{Now: now, Jobs: 1}, JobAgent: account.JobAgent{State: account.AgentNone}}
	html := render(t, "agents.html", d)
	require.Contains(t, html, "shown to operators")
	require.NotContains(t, html, "agents-list")
	require.NotContains(t, html, "work waits")
	d.O.ActiveRuns = 1
	require.Contains(t, render(t, "agents.html", d), "No agent is alive, and work waits.")

	d.Operator, d.O.LiveAgents, d.O.AdvanceSkippedSince = true, 2, now.Add(-time.Minute)
	d.Holders = []controldb.LockHolder{{SessionID: 61, Login: hostile, Program: hostile, Host: hostile}}
	d.List = []fleet.Agent{
		{Host: hostile, Version: hostile, Live: true, MaxConcurrentTargets: 4, Tasks: 3, CommandTypes: "Upkeep,TSql, Http", RecentTerms: 7, Protocol: 1, Engine: hostile, ZoneData: hostile},
		{Host: "other", Live: true, MaxConcurrentTargets: 100, Tasks: 107, Engine: "jobs/schedule 2, zones 1"},
		{Host: "gone", EndedAt: now.Add(-time.Hour), ExpiresAt: now.Add(-time.Minute)},
		{Host: "killed", EndReason: "Replaced", ExpiresAt: now.Add(-2 * time.Hour)},
	}
	d.Tasks = []fleet.Task{{Kind: "Run", JobName: hostile, StepName: hostile, Server: hostile, Database: hostile, Host: hostile, Attempt: 2, ClaimedAt: now}}
	d.JobAgent = account.JobAgent{State: account.AgentDisabled, Name: hostile, Reason: hostile, Disabler: hostile, Capacity: 9}
	d.Operations = []account.Operation{{Kind: account.OperationDrop, Agent: hostile, ErrorMessage: hostile, Status: "InProgress", ActiveRuns: 3, StartTime: now}}
	html = render(t, "agents.html", d)
	requireHarmless(t, html)
	for _, want := range []string{"TSql, Http", "terms in 24 h", "protocol 1", "ended", `>3</data> of <data class="num" value="4">`, `>100</data> of <data class="num" value="100">`, "session 61", "Deletion of", "live agents have different engines", "another instant on another agent", "1\u00a0h ago", "2\u00a0h ago"} {
		require.True(t, strings.Contains(html, want), "%q is not in the page", want)
	}
	require.NotContains(t, html, "Upkeep")
}

func TestLongListsAreCut(t *testing.T) {
	d := &agentsData{List: make([]fleet.Agent, maxAgents+1), Tasks: make([]fleet.Task, maxTasks+1)}
	require.True(t, d.More() && d.MoreTasks())
	require.Len(t, d.Shown(), maxAgents)
	require.Contains(t, render(t, "agents-list", d), "Only the latest")
	a := &alertsData{Open: make([]alerting.Alert, maxOpenAlerts+1)}
	require.Len(t, a.ShownOpen(), maxOpenAlerts)
	require.Contains(t, render(t, "alerts-open", a), "Only the latest")
}

func TestLimitsPage(t *testing.T) {
	id := 1
	d := &limitsData{Cut: true, Steps: []summary.LimitedJob{{Description: hostile, JobName: hostile, Max: 2, Used: 2, Full: true, Waiting: 5}}}
	for _, l := range []settings.Limit{
		{Limit: model.Limit{Scope: model.LimitJob, Name: hostile, Max: 3}, Running: 3}, {Limit: model.Limit{Scope: model.LimitServer, Name: "*", Max: 10}, Running: 30},
		{Limit: model.Limit{Scope: model.LimitElasticPool, Name: "p", Server: "s", Max: 1}}, {Limit: model.Limit{Scope: model.LimitAgent, Name: "*", Max: 100}, Running: 5},
	} {
		d.Limits = append(d.Limits, limitData{LimitWithID: summary.LimitWithID{ID: id, Limit: l}})
	}
	require.True(t, d.Limits[0].Full())
	require.False(t, d.Limits[1].Full(), "no server is at its limit")
	d.Limits[1].Uses = []summary.LimitedJob{{LimitID: &id, Description: "limit of server 's'", JobName: hostile, Max: 10, Used: 10, Running: 4, Waiting: 8, Full: true}}
	require.True(t, d.Limits[1].Full())
	require.Equal(t, []bool{false, true, false, false}, []bool{d.Limits[0].Each(), d.Limits[1].Each(), d.Limits[2].Each(), d.Limits[3].Each()})
	html := render(t, "limits.html", d)
	requireHarmless(t, html)
	require.Contains(t, html, "<details open>")
	require.Contains(t, html, "Each server without a limit of its own")
	require.Contains(t, render(t, "limits.html", &limitsData{}), "There are no limits.")
}

func TestChanges(t *testing.T) {
	show := func(before, after string) (list []string) {
		for _, c := range changes(json.RawMessage(before), json.RawMessage(after)) {
			text := func(s *string) string {
				if s == nil {
					return "–"
				}
				return *s
			}
			list = append(list, c.Name+": "+text(c.Before)+" > "+text(c.After))
		}
		return list
	}
	require.Equal(t, []string{"enabled: 0 > 1", "name: old > new", "note: – > null", "spec: {\"a\":1} > –"},
		show(`{"name":"old","enabled":0,"spec":{"a":1}}`, `{"name":"new","enabled":1,"note":null}`))
	require.Empty(t, show("", ""))
	require.Equal(t, []string{": no object > –"}, show("no object", ""), "a value that is not an object is shown whole")
	require.Equal(t, []string{": [1] > –", "a: – > b"}, show("[1]", `{"a":"b"}`))
}

func TestAuditFilter(t *testing.T) {
	f, problems := auditFilter(url.Values{
		"caller": {" ada@example.com "}, "job": {"nightly"}, "action": {"jobs.sp_update_job"}, "door": {"CLI"}, "kind": {"Job"}, "object": {"x"},
		"since": {"2026-11-23 08:30"}, "until": {"2026-11-24"}, "request": {"6F9619FF-8B86-D011-B42D-00C04FC964FF"}, "behind": {"7"},
	})
	require.Empty(t, problems)
	require.Equal(t, auditlog.Filter{
		Caller: "ada@example.com", JobName: "nightly", Action: "sp_update_job", Door: "CLI", ObjectKind: "Job", ObjectName: "x",
		Since: time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC), Until: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC),
		Correlation: uuid.MustParse("6f9619ff-8b86-d011-b42d-00c04fc964ff"), Behind: 7,
	}, f)
	require.Equal(t, `SELECT TOP (50) * FROM jobs.audit_log
WHERE job_name = N'nightly'
    AND caller = N'ada@example.com'
    AND action = N'sp_update_job'
    AND door = N'CLI'
    AND object_kind = N'Job'
    AND object_name = N'x'
    AND correlation_id = '6f9619ff-8b86-d011-b42d-00c04fc964ff'
    AND time >= '2026-11-23T08:30:00'
    AND time < '2026-11-24T00:00:00'
ORDER BY entry_id DESC;`, auditQuery(f))
	require.Equal(t, []string{"audit", "list", "--job", "nightly", "--who", "ada@example.com", "--action", "sp_update_job",
		"--correlation-id", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "--since", "2026-11-23T08:30:00Z", "--until", "2026-11-24T00:00:00Z"}, auditCommand(f))

	_, problems = auditFilter(url.Values{"since": {"yesterday"}, "until": {"2026-13-01"}, "request": {"x"}, "behind": {"-1"}})
	require.Len(t, problems, 4)
	for _, p := range problems {
		require.Contains(t, p, "invalid")
		require.Contains(t, p, "want")
	}
}

func TestAuditPage(t *testing.T) {
	long := strings.Repeat("é", 8000)
	entry := auditlog.Entry{
		ID: 7, Time: now, Door: "REST", Caller: hostile, OriginalLogin: hostile, Host: hostile, Program: hostile, Address: "10.0.0.1", Action: "sp_update_job",
		ObjectKind: "Job", ObjectName: hostile, ObjectID: uuid.NewString(), JobName: hostile, CorrelationID: uuid.New(),
	}
	d := &auditData{clock: clock{Now: now, ages: true}, Filter: url.Values{"object": {hostile}, "kind": {"Job"}, "since": {`"><script>`}}, Kinds: auditKinds, Doors: auditDoors,
		Problems: []string{"invalid beginning " + hostile}, Older: "?behind=7", Searched: true}
	old, recent := hostile, long
	d.Entries = []auditEntry{{Entry: entry, Changes: []change{{Name: hostile, Before: &old, After: &recent}, {Name: "gone", Before: &old}}}}
	html := render(t, "audit.html", d)
	require.False(t, strings.Contains(html, "<script"), "a field closes its attribute")
	for _, want := range []string{"show all", "(removed)", "Search older entries", "<option selected>Job</option>", `<details class="further" open>`} {
		require.True(t, strings.Contains(html, want), "%q is not in the page", want)
	}
	require.Equal(t, "6f9619ff", auditEntry{Entry: auditlog.Entry{ObjectID: "6F9619FF-8B86-D011-B42D-00C04FC964FF"}}.Label())
	require.Contains(t, render(t, "audit.html", &auditData{Filter: url.Values{}}), "There are no such entries.")
}

func TestObjectPath(t *testing.T) {
	r := pagetest.Request()
	id := uuid.New()
	for want, e := range map[string]auditlog.Entry{
		"/ui/main/runs/" + id.String(): {ObjectKind: "JobExecution", ObjectID: strings.ToUpper(id.String())},
		"/ui/main/groups/a%2Fb":        {ObjectKind: "TargetGroup", ObjectName: "a/b"},
		"/ui/main/schedules/j/s":       {ObjectKind: "Schedule", ObjectName: "s", JobName: "j"},
		"/ui/main/limits":              {ObjectKind: "Limit", ObjectName: "x"},
		"":                             {ObjectKind: "JobExecution", ObjectID: "no id"},
	} {
		require.Equal(t, want, objectPath(r, e))
	}
}

func TestAlertsPage(t *testing.T) {
	d := &alertsData{clock: clock{Now: now, ages: true}}
	html := render(t, "alerts.html", d)
	require.Contains(t, html, "No alert is open.")
	require.Contains(t, html, "There are no rules")
	d.Open = []alerting.Alert{
		{ID: 1, Title: hostile, Severity: "Critical", State: alerting.AlertOpen, Rule: hostile, RaisedAt: now, Occurrences: 3, LastDeliveryError: hostile, JobName: hostile, JobExecutionID: uuid.New()},
		{ID: 2, Title: "b", Severity: "Info", State: alerting.AlertAcknowledged, AcknowledgedBy: hostile, AcknowledgeNote: hostile, DeliveredAt: now},
		{ID: 3, PendingDeliveries: 1}, {ID: 4},
	}
	d.Resolved, d.Older = []alerting.Alert{
		{ID: 9, Title: hostile, ResolveReason: hostile, ResolvedAt: now}, {ID: 8, ResolveReason: "The run of 2026-11-27T23:31:28Z ended as Succeeded."},
	}, "?behind=9"
	d.Rules = []alerting.Rule{
		{Name: hostile, Description: hostile, Condition: model.AlertRunEnded, JobPattern: hostile, Lifecycles: "Failed", Enabled: true, MutedUntil: now.Add(time.Hour), MutedBy: hostile, Channels: []string{"a", "b"}, OpenAlerts: 2},
		{Name: "off", Condition: model.AlertNoAgent, Seconds: 90},
	}
	d.Channels = []alerting.Channel{{Name: hostile, Type: "Mail", Definition: json.RawMessage(`"not shown"`), Enabled: true, NeedsSecrets: true}}
	d.Deliveries = []alerting.Delivery{{Title: hostile, Channel: hostile, State: "Pending", Attempts: 2, LastError: hostile, NextAttemptAt: now}}
	html = render(t, "alerts.html", d)
	requireHarmless(t, html)
	require.NotContains(t, html, "not shown", "definitions of channels are not for everybody")
	for _, want := range []string{"not delivered", "being delivered", "not sent", "No agent is alive for 1\u00a0min 30\u00a0s.", "ends as Failed", "Muted", "needs secrets", `The run of <time datetime="2026-11-27T23:31:28.000Z"`} {
		require.True(t, strings.Contains(html, want), "%q is not in the page", want)
	}
	a := &alertData{clock: clock{Now: now, ages: true}, Alert: alerting.Alert{ID: 1, Title: "t", Message: hostile + strings.Repeat("x", 8000), Severity: "Critical", State: alerting.AlertOpen, Subject: hostile, RaisedAt: now}}
	html = render(t, "alert.html", a)
	requireHarmless(t, html)
	require.True(t, strings.Contains(html, "show all"))
}

// Each condition of rules has words of its own.
func TestWatches(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range model.AlertConditions() {
		text := (&alertsData{}).Watches(alerting.Rule{Condition: c, JobName: "j"})
		require.NotContains(t, text, string(c))
		require.False(t, seen[text], text)
		seen[text] = true
	}
}
