package importer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestKubernetes(t *testing.T) {
	t.Parallel()
	text := read(t, "kubernetes/cronjobs.yaml")
	r, err := Kubernetes(text, Options{Now: now})
	require.NoError(t, err)
	golden(t, r, "kubernetes/cronjobs.yaml")
	require.Len(t, r.Jobs, 4)

	nightly := jobOf(t, r, "nightly")
	require.Equal(t, Schedule{Name: "schedule", Kind: schedule.KindCron5, Spec: `{"cron":"30 2 * * 1","gap":"skip","overlap":"both"}`, Zone: "Europe/Berlin",
		CatchUp: "window:600s", Overlap: "Skip", Enabled: true}, nightly.Schedules[0])
	require.Equal(t, Step{Name: "sql", Command: "EXEC dbo.Nightly", Attempts: 2, Interval: 10, MaxInterval: 360, Timeout: 1800,
		TargetGroup: TargetGroup{"sql1.example.com,1433/shop", "sql1.example.com,1433", "shop"}}, nightly.Steps[0])
	found(t, r, ToSet, "nightly", "containers[0]", "a password")

	report := jobOf(t, r, "report")
	require.Equal(t, "CancelOther", report.Schedules[0].Overlap)
	require.False(t, report.Schedules[0].Enabled)
	require.Equal(t, []string{"2026-06-15T13:30:00Z", "2026-06-15T15:00:00Z"}, due(t, report.Schedules[0], 2))
	require.Len(t, report.Steps, 3)
	for i, name := range []string{"wait", "run", "sidecar"} {
		require.Equal(t, name, report.Steps[i].Name)
		require.Equal(t, action.TypeProcess, report.Steps[i].Type)
		require.Equal(t, defaultBackoffLimit, report.Steps[i].Attempts)
	}

	purge := jobOf(t, r, "purge-books")
	require.Equal(t, "0-45/15 8-17 * * MON-FRI", purge.Schedules[0].Spec)
	require.Equal(t, "window:300s", purge.Schedules[0].CatchUp)
	require.Equal(t, "DELETE dbo.Old", purge.Steps[0].Command)
	found(t, r, Lost, "", "document 4", "a Secret")
	found(t, r, Lost, "sunday", "spec.schedule", "values from 0 to 6")
	found(t, r, Lost, "sunday", "spec.surprise", "no counterpart")
	require.Empty(t, jobOf(t, r, "sunday").Schedules)

	// The same as JSON.
	one, err := Kubernetes([]byte(`{"apiVersion": "batch/v1", "kind": "CronJobList", "items": [{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
		"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}}}]}`), Options{Now: now, TargetGroup: "g"})
	require.NoError(t, err)
	require.Equal(t, "*/5 * * * *", one.Jobs[0].Schedules[0].Spec)
	require.Equal(t, "last", one.Jobs[0].Schedules[0].CatchUp)
	require.Contains(t, one.Jobs[0].Steps[0].Command, "THROW 50000")
	found(t, one, Note, "", "timeZone", "UTC is taken")
}

// The deadline becomes the catch-up that makes up what Kubernetes does, if there is one.
func TestKubernetesDeadline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		schedule, deadline, want string
		effect                   Effect
	}{
		{"0 2 * * *", "", "last", ""},
		{"0 2 * * *", "3600", "window:3600s", ""},
		{"0 2 * * *", "86400", "last", Note},
		{"*/5 * * * *", "200", "window:200s", ""},
		{"*/5 * * * *", "300", "last", Note},
		{"*/5 8-17 * * *", "3600", "window:3600s", Changed},
		{"0 0 1 * *", "2678400", "last", Note},
		{"0 0 1 * *", "2419199", "window:2419199s", ""},
		{"0 0 1 * *", "2419200", "window:2419200s", Changed},
		{"@every 10m", "599", "window:599s", ""},
		{"@every 10m", "600", "last", Note},
		{"0 2 * * *", "0", "none", Note},
		{"0 2 * * *", "5", "window:5s", Note},
		{"0 2 * * *", "-1", "last", Lost},
		{"0 2 * * *", "soon", "last", Lost},
	} {
		deadline := ""
		if test.deadline != "" {
			deadline = ", startingDeadlineSeconds: " + test.deadline
		}
		r, err := Kubernetes([]byte(cronJobText(test.schedule, deadline)), Options{Now: now})
		require.NoError(t, err)
		require.Equal(t, test.want, r.Jobs[0].Schedules[0].CatchUp, "%s %s", test.schedule, test.deadline)
		_, err = schedule.ParseCatchUp(r.Jobs[0].Schedules[0].CatchUp)
		require.NoError(t, err)
		if test.effect != "" {
			found(t, r, test.effect, "j", "spec.startingDeadlineSeconds", "")
		}
	}
}

// cronJobText returns a CronJob with a schedule and further elements of its spec.
func cronJobText(line, further string) string {
	quoted, _ := json.Marshal(line) // a text
	return fmt.Sprintf("{apiVersion: batch/v1, kind: CronJob, metadata: {name: j}, spec: {schedule: %s%s, jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}}", quoted, further)
}

// A schedule has the instants of robfig/cron, which Kubernetes uses, also at changes of clocks.
func TestKubernetesInstants(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(18, 5))
	zones := []string{"", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"}
	compared := 0
	for range 500 {
		line := randomRobfigLine(random)
		reference, err := cron.ParseStandard(line)
		require.NoError(t, err, line)
		zone := zones[random.IntN(len(zones))]
		further := ""
		if zone != "" {
			further = ", timeZone: " + zone
		}
		location, err := time.LoadLocation(zone)
		require.NoError(t, err)
		from := time.Date(2026, time.Month(1+random.IntN(12)), 1+random.IntN(28), random.IntN(24), 0, 0, 0, time.UTC)
		if random.IntN(2) == 0 {
			from = []time.Time{time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC), time.Date(2026, 3, 8, 2, 0, 0, 0, time.UTC),
				time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)}[random.IntN(4)]
		}
		r, err := Kubernetes([]byte(cronJobText(line, further)), Options{Now: from})
		require.NoError(t, err, line)
		require.Len(t, r.Jobs[0].Schedules, 1, line)
		s := r.Jobs[0].Schedules[0]
		var want []string
		at := from.In(location)
		for range 20 {
			if at = reference.Next(at); at.IsZero() {
				break
			}
			want = append(want, at.UTC().Format(time.RFC3339))
		}
		if len(want) == 0 {
			require.True(t, s.faulty || len(want) == 0, "%s: never due", line)
			continue
		}
		require.False(t, s.faulty, "%s becomes %s: %v", line, s.Spec, r.Findings)
		plan, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone, Created: from})
		require.NoError(t, err)
		var got []string
		for _, at := range schedule.Preview(plan, from, len(want)) {
			got = append(got, at.Format(time.RFC3339))
		}
		require.Equal(t, want, got, "%s in %s becomes %s", line, zone, s.Spec)
		compared++
	}
	require.Greater(t, compared, 450)
}

// randomRobfigLine returns a line that robfig/cron accepts.
func randomRobfigLine(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	n := func(low, high int) int { return low + random.IntN(high-low+1) }
	field := func(low, high int, names ...string) string {
		var items []string
		for range pick1(random) {
			a := n(low, high)
			item := strconv.Itoa(a)
			if len(names) > 0 && random.IntN(3) == 0 {
				item = names[random.IntN(len(names))]
			}
			switch random.IntN(7) {
			case 0:
				item = pick("*", "?")
			case 1:
				item = pick("*", "?") + "/" + strconv.Itoa(n(1, high+3))
			case 2:
				item = strconv.Itoa(a) + "/" + strconv.Itoa(n(1, high))
			case 3:
				item = fmt.Sprintf("%d-%d", a, n(a, high))
			case 4:
				item = fmt.Sprintf("%d-%d/%d", a, n(a, high), n(1, high))
			case 5:
				item = pick("*", "?", fmt.Sprintf("%d-%d", low, high), fmt.Sprintf("0%d", low))
			}
			items = append(items, item)
		}
		return strings.Join(items, ",")
	}
	switch random.IntN(20) {
	case 0:
		return pick("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
	case 1:
		return "@every " + pick("90s", "1h30m", "45m", "24h", "7s", "1h0m1s")
	}
	return strings.Join([]string{
		field(0, 59), pick("*", field(0, 23), "2", "1-3"), pick("*", "?", field(1, 31)), pick("*", "*", field(1, 12, "jan", "MAR", "Oct")), pick("*", "?", field(0, 6, "sun", "MON", "Fri")),
	}, " ")
}

// pick1 returns the length of a list, mostly 1.
func pick1(random *rand.Rand) int { return []int{1, 1, 1, 2, 3}[random.IntN(5)] }

// Where the two dialects differ, the line is written so that cron5 has the days of robfig/cron.
func TestKubernetesLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"0 0 */2 * 1":   "0 0 1-31/2 * 1", // either day
		"0 0 1 * */2":   "0 0 1 * 0-6/2",
		"0 0 5,* * 1":   "0 0 * * 1", // both
		"0 0 *,5 * 1":   "0 0 *,5 * 1",
		"0 0 */1 * 1":   "0 0 */1 * 1",
		"0 0 1-31 * 1":  "0 0 1-31 * 1",
		"0 0 ? * ?":     "0 0 * * *",
		"? 5/7 * * *":   "* 5-19/7 * * *",
		"*/90 * * * *":  "0 * * * *",
		"1,,2 * * * *":  "1,2 * * * *",
		"*-5 * * * *":   "* * * * *",
		"001 * * * *":   "1 * * * *",
		"@daily":        "@daily",
		"*/5 2 * jan *": "*/5 2 * jan *",
	} {
		l, err := readRobfig(line)
		require.NoError(t, err, line)
		got, changed := l.cron5()
		require.Equal(t, want, got, line)
		require.Equal(t, want != line, changed, line)
	}
}

// What robfig/cron refuses is not converted.
func TestRobfigRefuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "* * * * fri-mon", "5-1 * * * *", "*/0 * * * *", "1/2/3 * * * *", "1-2-3 * * * *",
		"a * * * *", "-1 * * * *", "@reboot", "@Daily", "@every", "@every x", "@every 1d", "* * * * sunday", "L * * * *", "1- * * * *", "/5 * * * *", "1-5/-1 * * * *",
	} {
		_, err := readRobfig(line)
		require.Error(t, err, line)
		_, err = cron.ParseStandard(line)
		require.Error(t, err, line)
	}
	for _, line := range []string{"TZ=Asia/Tokyo 0 2 * * *", "CRON_TZ=Asia/Tokyo   @daily"} {
		r, err := Kubernetes([]byte(cronJobText(line, "")), Options{Now: now})
		require.NoError(t, err)
		require.Equal(t, "Asia/Tokyo", r.Jobs[0].Schedules[0].Zone)
		found(t, r, Changed, "j", "spec.schedule", "new versions of Kubernetes refuse")
		r, err = Kubernetes([]byte(cronJobText(line, ", timeZone: Europe/Berlin")), Options{Now: now})
		require.NoError(t, err)
		require.Equal(t, "Europe/Berlin", r.Jobs[0].Schedules[0].Zone)
		found(t, r, Lost, "j", "spec.schedule", "beside a timeZone")
	}
}

// cronJobJSON is a CronJob in JSON.
const cronJobJSON = `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"j"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}}}}`

// Texts without CronJobs are refused with what they hold. No error quotes the text.
func TestNotKubernetes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "no CronJob of Kubernetes",
		"hush":                         "no CronJob of Kubernetes",
		"- hush":                       "no CronJob of Kubernetes",
		"kind: Secret\nhush: 1":        "it holds no CronJob, but: Secret",
		"kind: CronJob\napiVersion: x": "it holds no CronJob, but: CronJob",
		"a: [hush":                     "invalid YAML at line",
		"hush: 1\nhush: 2":             "invalid YAML at line 2",
		"a: {{ .Values.hush }}\n b":    "helm template",
		"kind: CronJob\napiVersion: batch/v1\n---\nhush: [": "invalid YAML",
		strings.Repeat("#", 4<<20+1):                        "at most 4 MB",
	} {
		_, err := Kubernetes([]byte(text), Options{Now: now})
		require.ErrorContains(t, err, want, "%.40q", text)
		require.NotContains(t, err.Error(), "hush")
	}
	// A CronJob without parts, and with parts of the wrong form.
	for _, spec := range []string{"", "spec: 1", "spec: {}", "spec: {schedule: {a: 1}, jobTemplate: []}", "spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {containers: [1, {}, {command: 1, args: [[]], env: [1]}]}}}}}",
		"spec: {timeZone: Mars/Base, schedule: '* * * * *', suspend: 2, concurrencyPolicy: x, jobTemplate: {spec: {backoffLimit: x, activeDeadlineSeconds: 0, template: {}}}}"} {
		r, err := Kubernetes([]byte("apiVersion: batch/v1\nkind: CronJob\n"+spec), Options{Now: now})
		require.NoError(t, err, spec)
		require.NotZero(t, r.Count(Lost), spec)
		require.NotEmpty(t, r.Script())
	}
}

// JSON may have more values than YAML, and the message about YAML says so.
func TestLongKubernetesJSON(t *testing.T) {
	t.Parallel()
	list := func(items int) string {
		return `{"kind":"List","items":[` + strings.Repeat(`{"kind":"Pod"},`, items) + cronJobJSON + `]}`
	}
	r, err := Kubernetes([]byte(list(60_000)), Options{Now: now})
	require.NoError(t, err)
	require.Len(t, r.Jobs, 1)
	_, err = Kubernetes([]byte(list(90_000)), Options{Now: now})
	require.EqualError(t, err, "there are too many values: at most 250000")
	_, err = Kubernetes([]byte(list(60_000)+"# hush"), Options{Now: now})
	require.ErrorContains(t, err, "too many values")
	require.ErrorContains(t, err, "JSON may have more")
	require.NotContains(t, err.Error(), "hush")
}

func FuzzKubernetes(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "kubernetes", "cronjobs.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(text), "---\n") {
		f.Add(doc)
	}
	f.Add(cronJobText("*/2,? 1/3 * * 0", ", startingDeadlineSeconds: 100"))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			t.Skip("longer than 64 KB: short inputs find more in the same time")
		}
		var r *Result
		var err error
		bounds.Allocations(t, len(text), fuzzFixed, fuzzPerByte, func() {
			if r, err = Kubernetes([]byte(text), Options{Now: now}); err == nil {
				require.NotEmpty(t, r.Script())
			}
		})
		if err != nil {
			return
		}
		for _, j := range r.Jobs {
			for _, s := range j.Schedules {
				_, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone, Created: now})
				require.Equal(t, s.faulty, err != nil, "%s", s.Spec)
			}
		}
	})
}
