package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// now is the time of every import in this file.
var now = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// read returns the content of a file in testdata.
func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return text
}

// found checks that the result has a finding of the job whose element and message contain the given
// texts.
func found(t *testing.T, r *Result, effect Effect, job, element, message string) {
	t.Helper()
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, f.String())
		if f.Effect == effect && f.Job == job && strings.Contains(f.Element, element) && strings.Contains(f.Message, message) {
			return
		}
	}
	t.Errorf("no %s of %q about %s: %s\nthere are\n%s", effect, job, element, message, strings.Join(lines, "\n"))
}

// jobOf returns the job with a name.
func jobOf(t *testing.T, r *Result, name string) Job {
	t.Helper()
	for _, j := range r.Jobs {
		if j.Name == name {
			return j
		}
	}
	require.Failf(t, "no such job", "%q", name)
	return Job{}
}

// due returns the first n due instants of an imported schedule, parsed as the agent does.
func due(t *testing.T, s Schedule, n int) []string {
	t.Helper()
	plan, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone, Created: now})
	require.NoError(t, err, s.Spec)
	texts := []string{}
	for _, at := range schedule.Preview(plan, now.Add(-time.Nanosecond), n) {
		texts = append(texts, at.Format(time.RFC3339))
	}
	return texts
}

// noSecrets checks that no part of an import contains "hush". Every secret in testdata contains
// this word.
func noSecrets(t *testing.T, r *Result) {
	t.Helper()
	require.NotContains(t, r.Script(), "hush")
	for _, f := range r.Findings {
		require.NotContains(t, f.String(), "hush")
	}
}

func TestAzureScheduler(t *testing.T) {
	t.Parallel()
	r, err := AzureScheduler(read(t, "azure.json"), Options{Now: now})
	require.NoError(t, err)
	noSecrets(t, r)
	require.Len(t, r.Jobs, 9)

	hourly := jobOf(t, r, "weekdays")
	require.Equal(t, []string{"2026-06-15T22:00:00Z", "2026-06-15T22:30:00Z", "2026-06-17T10:00:00Z"}, due(t, hourly.Schedules[0], 3))
	require.True(t, hourly.Schedules[0].Enabled)
	require.Equal(t, Step{Name: "MainAction", Type: action.TypeHTTP, Attempts: 7, Interval: 90, Timeout: 43200,
		Command: `{"method":"POST","url":"https://api.example.com/run?code=$(secret.weekdays-uri-code)",` +
			`"headers":{"X-Trace":"t $$(1)","x-ms-scheduler-jobcollectionid":"cs1"},` +
			`"body":"{\"apiKey\":\"$(secret.weekdays-body-apikey)\",\"total\":1}","success":"azure",` +
			`"auth":{"kind":"basic","username":"u","password":"$(secret.weekdays-password)"}}`}, hourly.Steps[0])
	require.Equal(t, Step{Name: "ErrorAction", Type: action.TypeStorageQueue, Attempts: 7, Interval: 90, Timeout: 43200, After: []string{"MainAction"}, RunWhen: "Failed",
		Command: `{"account":"store","queue":"errors","message":"it failed","sas_token":"$(secret.weekdays-error-sas)",` +
			`"encoding":"base64","envelope":"azure-scheduler","envelope_collection":"cs1"}`}, hourly.Steps[1])
	found(t, r, ToSet, "weekdays", "action.request.uri", `jobagent secret set weekdays-uri-code`)
	found(t, r, ToSet, "weekdays", "action.request.authentication.password", `jobagent secret set weekdays-password`)
	found(t, r, ToSet, "weekdays", "action.errorAction.queueMessage.sasToken", `jobagent secret set weekdays-error-sas`)
	found(t, r, Lost, "weekdays", "action.request.headers.Authorization", "which is taken")
	found(t, r, Lost, "weekdays", "action.request.uri", "another authentication")
	found(t, r, Lost, "weekdays", "action.request.surprise", "no counterpart")

	counted := jobOf(t, r, "counted")
	require.Contains(t, counted.Schedules[0].Spec, `"count":3`)
	found(t, r, Changed, "counted", "recurrence.count", "7 of 10 runs were made: 3 left")
	require.Equal(t, 0, counted.Steps[0].Attempts, "retryType None")

	for _, name := range []string{"counted out", "ended", "once done", "completed"} {
		j := jobOf(t, r, name)
		require.Empty(t, due(t, j.Schedules[0], 1), name)
		require.True(t, j.Schedules[0].Enabled, "%s: it becomes Completed, not Disabled", name)
		found(t, r, Note, name, "", "Completed")
	}

	anchored := jobOf(t, r, "no start")
	require.Equal(t, []string{"2026-06-15T13:07:11Z", "2026-06-15T16:07:11Z"}, due(t, anchored.Schedules[0], 2))
	require.Equal(t, 4, anchored.Steps[0].Attempts, "the default policy")
	require.Equal(t, 30, anchored.Steps[0].Interval)
	require.False(t, anchored.Schedules[0].Enabled, "its job collection is suspended")
	found(t, r, Changed, "no start", "job collection", "Suspended")
	require.Equal(t, action.TypeServiceBusTopic, anchored.Steps[0].Type)
	require.JSONEq(t, `{"namespace": "mySBNamespace", "topic": "t", "message": "hello", "transport": "amqp", "content_type": "text/plain", "key_name": "k",
		"key": "$(secret.no-start-key)", "properties": {"appname": "FromScheduler"},
		"broker_properties": {"label": "l", "time_to_live_seconds": 3600}}`, anchored.Steps[0].Command)

	wrong := jobOf(t, r, "wrong")
	require.True(t, wrong.Schedules[0].faulty)
	found(t, r, Lost, "wrong", "recurrence.frequency", "try Month")
	found(t, r, Lost, "wrong", "recurrence.schedule.minute", "try minutes")
	found(t, r, Changed, "wrong", "retryInterval", `invalid duration "PT1D"`)
	require.Contains(t, r.Script(), "-- Not created, because of the faults above:\n-- EXEC jobs.sp_add_schedule\n")

	logicApps := jobOf(t, r, "weekdays (2)")
	require.Equal(t, "Europe/Berlin", logicApps.Schedules[0].Zone)
	require.Equal(t, []string{"2026-06-16T06:00:00Z"}, due(t, logicApps.Schedules[0], 1))
	require.False(t, logicApps.Schedules[0].Enabled)
	found(t, r, Changed, "weekdays (2)", "name", "another job")
	found(t, r, Lost, "", "nextLink", "goes on")
	found(t, r, Lost, "", "quota", "limits")
}

// A retry policy beyond the limits of Azure Scheduler is changed to the limit or the default, and
// reported (D-A12).
func TestAzureRetryPolicyHasLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy             string
		attempts, interval int
		element, message   string
	}{
		"Most":        {`{"retryType": "fixed", "retryCount": 20, "retryInterval": "PT15S"}`, 20, 15, "", ""},
		"TooOften":    {`{"retryType": "fixed", "retryCount": 21, "retryInterval": "PT1M"}`, 20, 60, "retryCount", "at most 20 times: 21 becomes 20"},
		"Negative":    {`{"retryType": "fixed", "retryCount": -1}`, 4, 30, "retryCount", "want 0 to 20"},
		"TooSoon":     {`{"retryType": "fixed", "retryCount": 1, "retryInterval": "PT14S"}`, 1, 15, "retryInterval", "PT14S becomes 15 s"},
		"TooLate":     {`{"retryType": "fixed", "retryCount": 1, "retryInterval": "P2000D"}`, 1, maxRetry, "retryInterval", "P2000D becomes"},
		"NoDuration":  {`{"retryType": "fixed", "retryCount": 1, "retryInterval": "PT1D"}`, 1, 30, "retryInterval", "P1D may be meant"},
		"NothingNear": {`{"retryType": "fixed", "retryCount": 1, "retryInterval": "soon"}`, 1, 30, "retryInterval", "the default of 30 s is taken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := AzureScheduler([]byte(`{"name": "j", "properties": {"recurrence": {"frequency": "day"},
				"action": {"type": "http", "request": {"uri": "https://x"}, "retryPolicy": `+tc.policy+`}}}`), Options{Now: now})
			require.NoError(t, err)
			step := jobOf(t, r, "j").Steps[0]
			require.Equal(t, tc.attempts, step.Attempts)
			require.Equal(t, tc.interval, step.Interval)
			if tc.element != "" {
				found(t, r, Changed, "j", tc.element, tc.message)
			} else {
				for _, f := range r.Findings {
					require.NotContains(t, f.Element, "retry")
				}
			}
		})
	}
}

func TestSAP(t *testing.T) {
	t.Parallel()
	r, err := SAP(read(t, "sap.json"), Options{Now: now, TargetGroup: "g"})
	require.NoError(t, err)
	noSecrets(t, r)
	require.Len(t, r.Jobs, 3)

	j := jobOf(t, r, "validateSalesOrder")
	require.Equal(t, "g", j.Steps[0].TargetGroup.Name)
	require.Equal(t, 0, j.Steps[0].Attempts)
	require.Len(t, j.Schedules, 6)
	for _, s := range j.Schedules {
		require.Equal(t, "AllowAll", s.Overlap)
		require.Equal(t, "sap-20min", s.CatchUp)
		require.Equal(t, schedule.KindSAP, s.Kind)
	}
	cron, interval, relative, inactive, dated, wrong := j.Schedules[0], j.Schedules[1], j.Schedules[2], j.Schedules[3], j.Schedules[4], j.Schedules[5]
	require.Equal(t, "every ten minutes", cron.Name)
	require.Equal(t, []string{"2026-06-15T12:00:00Z", "2026-06-15T12:10:00Z"}, due(t, cron, 2))
	require.Equal(t, []string{"2026-06-15T13:23:00Z", "2026-06-15T15:23:00Z"}, due(t, interval, 2))
	require.Equal(t, []string{"2026-06-16T16:00:00Z"}, due(t, relative, 1), "tomorrow from the day on which it was made")
	require.False(t, inactive.Enabled)
	require.Equal(t, "every ten minutes (2)", inactive.Name)
	require.Equal(t, []string{"2026-12-01T04:30:00Z"}, due(t, dated, 1))
	require.True(t, wrong.faulty)
	found(t, r, Lost, "validateSalesOrder", "schedules[5].cron", "seven")
	call := j.Steps[0]
	require.Equal(t, "action", call.Name)
	require.Equal(t, "Await", call.OnUnknownOutcome)
	require.Equal(t, sapTimeout+60, call.Timeout)
	require.JSONEq(t, `{"method": "PUT", "url": "https://app.example.com/validate", "headers": {"Accept": "application/json"}, "payload": "body",
		"success": "sap", "auth": {"kind": "basic", "username": "abc", "password": "$(secret.validatesalesorder-password)"}}`, call.Command)
	found(t, r, ToSet, "validateSalesOrder", "password", "jobagent secret set validatesalesorder-password")
	found(t, r, ToSet, "validateSalesOrder", "ansConfig.onError", `the step "AlertOnError"`)
	found(t, r, Lost, "validateSalesOrder", "schedules[0].data", "names are those of secrets")
	require.Equal(t, `{"apiKey":"***"}`, cron.Parameters)
	require.Contains(t, r.Script(), "--     @run_when = N'Failed';")
	found(t, r, Changed, "validateSalesOrder", "startTime", "goes on from the next run")
	found(t, r, Note, "validateSalesOrder", "schedules[2].active", "a text, and is read as the truth value true")

	off := jobOf(t, r, "off")
	require.False(t, off.Schedules[0].Enabled, "the job is inactive")
	require.Equal(t, []string{"2026-06-15T18:40:00Z"}, due(t, off.Schedules[0], 2), "the job's end holds")
	task := jobOf(t, r, "task")
	require.Equal(t, `{"entry":"task","max_memory_bytes":1073741824}`, task.Steps[0].Command)
	found(t, r, Lost, "task", "schedules", "displaySchedules=true")
	found(t, r, Lost, "", "next_url", "goes on")
}

func TestRefusedTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                "ends too early",
		`{"name": "x", "password": hush}`: "line 1, byte",
		`{} {}`:                           "more text",
		`[1]`:                             "holds no job",
		`{"a": {"b": 1}}`:                 "holds no job",
	} {
		_, azure := AzureScheduler([]byte(text), Options{Now: now})
		_, sap := SAP([]byte(text), Options{Now: now})
		for _, err := range []error{azure, sap} {
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hush")
		}
	}
}

// What an administrator's server holds has no limits as files have.
func TestServersHaveNoLimits(t *testing.T) {
	t.Parallel()
	schedules := make([]AgentSchedule, maxSchedules+1)
	for i := range schedules {
		schedules[i] = AgentSchedule{Name: "s", Enabled: true, FreqType: 4, FreqInterval: 1, FreqSubdayType: 1, ActiveStartDate: 20260701, ActiveEndDate: openEnd}
	}
	r := SQLAgent([]AgentJob{{Name: "j", Enabled: true, Schedules: schedules}}, Options{Now: now})
	require.Equal(t, len(schedules), len(r.Jobs[0].Schedules)) //nolint:testifylint // a failure would print all
	triggers := make([]QuartzTrigger, maxSchedules+1)
	for i := range triggers {
		triggers[i] = QuartzTrigger{Name: "t", Group: quartzDefaultGroup, State: "WAITING", Type: "CRON", Cron: "0 0 2 * * ?", Zone: "UTC", Start: ticks(now)}
	}
	r, err := Quartz(QuartzStore{Jobs: []QuartzJob{{Name: "j", Group: quartzDefaultGroup, Triggers: triggers}}}, Options{Now: now})
	require.NoError(t, err)
	require.Equal(t, len(triggers), len(r.Jobs[0].Schedules)) //nolint:testifylint // a failure would print all
}

func TestSQLAgent(t *testing.T) {
	t.Parallel()
	at := AgentSchedule{Name: "nightly", Enabled: true, FreqType: freqDaily, FreqInterval: 1, FreqSubdayType: 1, ActiveStartDate: 20260101,
		ActiveEndDate: openEnd, ActiveStartTime: 20000, ActiveEndTime: 235959}
	idle := at
	idle.Name, idle.FreqType = "idle", freqIdle
	off := at
	off.Name, off.Enabled = "off", false
	r := SQLAgent([]AgentJob{
		{
			Name: "backup", Enabled: true, Description: "No description available.", StartStepID: 2, Category: "Database Maintenance", NotifyEmail: 2,
			DeleteLevel: 1, Foreign: true, Alerts: []string{"disk full"},
			Steps: []AgentStep{
				{ID: 1, Name: "handler", Subsystem: "TSQL", Command: "RAISERROR('x', 16, 1);", OnSuccess: 2, OnFail: 2},
				{ID: 2, Name: "first", Subsystem: "TSQL", Command: "PRINT '$(ESCAPE_SQUOTE(JOBNAME))', '$(ESCAPE_NONE(STRTDT))';", Database: "Sales", OnSuccess: 4, OnSuccessStep: 4, OnFail: 4,
					OnFailStep: 1, RetryAttempts: 2, RetryInterval: 5, DatabaseUser: "u", ProxyID: 3, OutputFile: `c:\hush`, Flags: 8},
				{ID: 3, Name: "skipped", Subsystem: "TSQL", Command: "SELECT 1;", OnSuccess: 3, OnFail: 2},
				{ID: 4, Name: "copy", Subsystem: "CmdExec", Command: "copy /p hush", OnSuccess: 3, OnFail: 3},
				{ID: 5, Name: "first", Subsystem: "TSQL", Command: "SELECT 2;\nGO\nSELECT 3;", OnSuccess: 1, OnFail: 1},
			},
			Schedules: []AgentSchedule{at, idle, off},
		},
		{Name: "Backup", StartStepID: 1, Schedules: []AgentSchedule{at}},
	}, Options{Now: now, Server: "sql1"})
	noSecrets(t, r)

	j := jobOf(t, r, "backup")
	require.Empty(t, j.Description)
	require.Len(t, j.Steps, 5)
	require.Equal(t, Step{Name: "first", Command: "PRINT '$(job_name)', '$(ESCAPE_NONE(STRTDT))';", TargetGroup: TargetGroup{"sql1/Sales", "sql1", "Sales"}, Attempts: 2, Interval: 300,
		Timeout: maxTimeout, unwritten: true}, j.Steps[0])
	require.Equal(t, "handler", j.Steps[1].Name)
	require.Equal(t, "Failed", j.Steps[1].RunWhen)
	require.Equal(t, action.TypeProcess, j.Steps[2].Type)
	require.Equal(t, []string{"first"}, j.Steps[2].After)
	require.Empty(t, j.Steps[2].Original, "the command may hold a password")
	require.Equal(t, "continue after copy", j.Steps[3].Name)
	require.Equal(t, emptyGroup, j.Steps[3].TargetGroup.Name)
	require.Equal(t, "first (2)", j.Steps[4].Name)
	require.Equal(t, "master", j.Steps[4].TargetGroup.Database)
	for element, message := range map[string]string{
		`step 4 "copy"`: "--keep-commands", "category_id": "Database Maintenance", "delete_level": "when it succeeds", "originating_server_id": "master server",
		"sysalerts": "disk full", `schedule "idle"`: "freq_type 128", `step 2 "first"`: "$(ESCAPE_NONE(STRTDT))",
	} {
		found(t, r, Lost, "backup", element, message)
	}
	for _, message := range []string{`user "u"`, "proxy 3", "a file", "sysjobstepslogs"} {
		found(t, r, Lost, "backup", `step 2 "first"`, message)
	}
	found(t, r, Changed, "backup", `step 3 "skipped"`, "no step leads to it")
	found(t, r, Changed, "backup", `step 5 "first"`, "ended as succeeded")
	found(t, r, ToSet, "backup", "notify_level_email", "when it fails")
	found(t, r, ToSet, "backup", `step 5 "first"`, "--admin-database")
	require.Equal(t, []Alert{{Name: "backup: failed", Lifecycles: "Failed,TimedOut", Operators: "an operator was told by mail when it fails. The rule tells nobody until it has a channel."}}, j.Alerts)
	require.Len(t, j.Schedules, 2)
	require.Equal(t, Schedule{Name: "nightly", Kind: schedule.KindRRule, Zone: "UTC", CatchUp: "none",
		Spec: `{"rrule":"FREQ=DAILY;INTERVAL=1;BYHOUR=2;BYMINUTE=0;BYSECOND=0","startTime":"2026-01-01T00:00:00"}`}, j.Schedules[0])
	require.Equal(t, []string{"2026-06-16T02:00:00Z"}, due(t, j.Schedules[0], 1))
	_, toWrite, _ := r.Totals()
	require.Equal(t, 2, toWrite, "the tokens and the program")

	second := jobOf(t, r, "Backup (2)")
	require.False(t, second.Schedules[0].Enabled, "the job is disabled")
	found(t, r, Note, "", "time zone", "UTC is taken")
	found(t, r, Note, "Backup (2)", "steps", "none")
}

// The conversion of a loop of steps ends, and the times of a schedule are in its time zone.
func TestSQLAgentCircle(t *testing.T) {
	t.Parallel()
	r := SQLAgent([]AgentJob{{Name: "j", Enabled: true, StartStepID: 1,
		Steps:     []AgentStep{{ID: 1, Name: "a", Subsystem: "TSQL", Command: "SELECT 1;", OnSuccess: 3}, {ID: 2, Name: "b", Subsystem: "TSQL", Command: "SELECT 2;", OnSuccess: 4, OnSuccessStep: 1}},
		Schedules: []AgentSchedule{{Name: "s", Enabled: true, FreqType: freqOnce, ActiveStartDate: 20260701, ActiveStartTime: 80000}},
	}}, Options{Now: now, Server: "s", Zone: "Europe/Berlin"})
	require.Len(t, r.Jobs[0].Steps, 2)
	found(t, r, Lost, "j", `step 2 "b"`, "goes back")
	require.False(t, r.Jobs[0].Schedules[0].Enabled)
	require.Equal(t, []string{"2026-07-01T06:00:00Z"}, due(t, r.Jobs[0].Schedules[0], 2))
}

func TestZone(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"W. Europe Standard Time": "Europe/Berlin", "pacific standard time": "America/Los_Angeles", "UTC": "UTC", "Asia/Tokyo": "Asia/Tokyo",
		"UTC-02": "Etc/GMT+2",
	} {
		zone, err := Zone(name)
		require.NoError(t, err)
		require.Equal(t, want, zone)
	}
	_, err := Zone("Berlin Standard Time")
	require.Error(t, err)
	table, err := os.ReadFile("../internal/winzone/windowszones.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		name, _, _ := strings.Cut(line, "\t")
		_, err := Zone(name)
		require.NoError(t, err, name)
	}
}

// No text in any element of a job makes a client split the script or replace a part of it.
func TestScriptsAreClientProof(t *testing.T) {
	t.Parallel()
	const awkward = "it's\nGO\n$(x) /* -- "
	r := SQLAgent([]AgentJob{{Name: awkward, Description: awkward, StartStepID: 1, Category: awkward, Alerts: []string{awkward},
		Steps:     []AgentStep{{ID: 1, Name: awkward, Subsystem: "TSQL", Command: awkward, Database: awkward}, {ID: 2, Name: awkward, Subsystem: awkward}},
		Schedules: []AgentSchedule{{Name: awkward, FreqType: freqOnce, ActiveStartDate: 20260701}, {Name: awkward}},
	}}, Options{Now: now, Server: "s"})
	script := r.Script()
	require.NotContains(t, script, "$(")
	batches := 0
	for line := range strings.Lines(script) {
		if f := strings.Fields(line); len(f) > 0 && strings.EqualFold(f[0], "GO") {
			batches++
		}
	}
	require.Equal(t, 3, batches, script) // settings, target group, job
}

// FuzzImport checks that AzureScheduler, SAP and Script return without a panic for any input, that
// each command is valid, and that no client splits the script or replaces a part of it.
// What importers may allocate for an input, with the script that they make of it. Fuzzing for half
// a minute each found at most 0.9 MB for inputs below a kilobyte, and 131 bytes for each byte of
// longer ones.
const (
	fuzzFixed   = 2 << 20 // bytes, for a zone and the head of the script
	fuzzPerByte = 4000    // bytes for each byte of the input
)

func FuzzImport(f *testing.F) {
	for _, name := range []string{"azure.json", "sap.json", "azure_documented.json", "sap_documented.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"name": "j", "recurrence": {"frequency": "Day", "count": 1e999, "password": "hush"}, "schedules": [[], {"cron": {"token": "hush"}, "data": 1}]}`))
	f.Add([]byte(`{"name": "1", "action": {"type": "http", "request": {"uri": "http://u:$(x)@h?sig=1&token=$(", "method": "post", "body": "$("}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func([]byte, Options) (*Result, error){AzureScheduler, SAP} {
			var r *Result
			var err error
			bounds.Allocations(t, len(text), fuzzFixed, fuzzPerByte, func() {
				if r, err = read(text, Options{Now: now}); err == nil {
					r.Script()
				}
			})
			if err != nil {
				continue
			}
			for _, j := range r.Jobs {
				for _, s := range j.Steps {
					if s.Command != "" {
						_, err := action.Decode(s.Type, s.Command)
						require.NoError(t, err, s.Command)
					}
				}
			}
			script := r.Script()
			require.NotContains(t, script, "$(")
			require.Equal(t, len(r.Jobs), strings.Count(script, "\nBEGIN TRANSACTION;\n"), script)
		}
	})
}
