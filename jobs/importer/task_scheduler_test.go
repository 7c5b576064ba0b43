package importer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// tasks imports tasks in a zone.
func tasks(t *testing.T, zone string, texts ...string) *Result {
	t.Helper()
	var documents []Document
	for i, text := range texts {
		documents = append(documents, Document{fmt.Sprintf(`C:\tasks\file %d.xml`, i+1), []byte(text)})
	}
	r, err := TaskScheduler(documents, Options{Now: now, Zone: zone})
	require.NoError(t, err)
	return r
}

// task returns the XML of a task with triggers and settings.
func task(triggers, settings string) string {
	return `<Task version="1.2" xmlns="` + taskSchema + `"><RegistrationInfo><URI>\t</URI></RegistrationInfo><Triggers>` + triggers + `</Triggers><Settings>` + settings +
		`</Settings><Actions><Exec><Command>a.exe</Command></Exec></Actions></Task>`
}

func TestTaskScheduler(t *testing.T) {
	t.Parallel()
	r := tasks(t, "Europe/Berlin", string(read(t, "tasks.xml")))
	noSecrets(t, r)
	require.Len(t, r.Jobs, 2)
	job := jobOf(t, r, `Shop\Nightly`)
	require.Equal(t, "Rebuild of the statistics", job.Description)
	require.Len(t, job.Schedules, 6)
	night := job.Schedules[0]
	require.Equal(t, []string{"night [1 of 3]", "Europe/Berlin", "last", "BufferAll"}, []string{night.Name, night.Zone, night.CatchUp, night.Overlap})
	require.Equal(t, []string{"2026-06-15T20:00:00Z", "2026-06-15T20:15:00Z", "2026-06-15T20:30:00Z"}, due(t, night, 3))
	plan, err := schedule.Parse(night.Kind, []byte(night.Spec), schedule.Options{Zone: night.Zone, Created: now})
	require.NoError(t, err)
	require.Equal(t, 2*time.Minute, plan.Jitter)
	require.Equal(t, []string{"2026-06-16T04:00:00Z", "2026-06-20T04:00:00Z"}, due(t, job.Schedules[2], 2), "a start at the end of the duration")
	require.Equal(t, []string{"2026-06-30T06:30:00Z", "2026-07-01T06:30:00Z"}, due(t, job.Schedules[3], 2))
	require.Equal(t, []string{"2026-10-04T02:00:00Z", "2026-10-25T03:00:00Z"}, due(t, job.Schedules[4], 2))
	require.False(t, job.Schedules[4].Enabled)
	require.Equal(t, "Etc/GMT-2", job.Schedules[5].Zone)
	for _, f := range []struct {
		effect           Effect
		element, message string
	}{
		{Lost, "Triggers.BootTrigger[5]", "the start of the computer"}, {Lost, "Triggers.EventTrigger[6]", "an event"},
		{Changed, "Triggers.CalendarTrigger[3].StartBoundary", "fraction"}, {Note, "Principals.Principal", "highest rights"},
		{Note, "Settings.DisallowStartIfOnBatteries", "battery"}, {Lost, "Settings.Surprise", "no counterpart"},
		{Lost, "Actions.Exec[2]", "the program report.exe does not run here"}, {Lost, "Actions.ComHandler[3]", "COM"}, {Lost, "Actions.SendEmail[4]", "mail"},
	} {
		found(t, r, f.effect, job.Name, f.element, f.message)
	}

	sqlcmd, report := job.Steps[0], job.Steps[1]
	require.Equal(t, Step{Name: "sqlcmd", Command: "UPDATE STATISTICS dbo.Visits;", TargetGroup: TargetGroup{"sql1/Shop", "sql1", "Shop"}, Attempts: 3, Interval: 60, Timeout: 7200}, sqlcmd)
	require.Equal(t, action.TypeProcess, report.Type)
	require.Equal(t, 7200, report.Timeout)

	once := jobOf(t, r, "Once")
	require.Empty(t, due(t, once.Schedules[0], 1), "it was due last year")
	found(t, r, Note, "Once", "Triggers.TimeTrigger[1]", "Completed")
	found(t, r, Lost, "Once", "Triggers.CalendarTrigger[3]", "invalid StartBoundary")
	for _, s := range once.Schedules {
		require.False(t, s.Enabled)
	}
}

// Random triggers of each type, with and without a repetition, are due when a walk over the days
// says so. No instant has two schedules.
func TestTasksAgainstEveryDay(t *testing.T) {
	t.Parallel()
	for i, zone := range []string{"UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(18, uint64(i)))
			compared := 0
			for range 40 {
				if taskAgainstWalk(t, randomTrigger(r), zone) {
					compared++
				}
			}
			require.Greater(t, compared, 30, "the others are reported as lost")
		})
	}
}

// walkedTrigger holds a random trigger. fires reports whether it fires on a day; first is the day
// of its StartBoundary.
type walkedTrigger struct {
	start, end         time.Time // clock times; a zero end means none
	fires              func(first, day time.Time) bool
	once               bool
	interval, duration int // seconds
	xml                string
}

func randomTrigger(r *rand.Rand) walkedTrigger {
	subset := func(names []string) (picked []string) {
		for len(picked) == 0 {
			for _, n := range names {
				if r.IntN(3) == 0 {
					picked = append(picked, n)
				}
			}
		}
		return picked
	}
	tags := func(names []string) string {
		text := ""
		for _, n := range names {
			text += "<" + n + " />"
		}
		return text
	}
	items := func(tag string, values []string) string {
		text := ""
		for _, v := range values {
			text += "<" + tag + ">" + v + "</" + tag + ">"
		}
		return text
	}
	w := walkedTrigger{start: time.Date(2026, 6, 1+r.IntN(500), r.IntN(24), 5*r.IntN(12), 30*r.IntN(2), 0, time.UTC)}
	days, element := "", "CalendarTrigger"
	months := monthElements[1:]
	if r.IntN(2) == 0 {
		months = subset(months)
	}
	inMonths := func(d time.Time) bool { return slices.Contains(months, d.Month().String()) }
	monthly := false
	switch r.IntN(5) {
	case 0:
		w.once, element = true, "TimeTrigger"
		w.fires = func(first, day time.Time) bool { return day.Equal(first) }
	case 1:
		n := 1 + r.IntN(4)
		days = fmt.Sprintf("<ScheduleByDay><DaysInterval>%d</DaysInterval></ScheduleByDay>", n)
		w.fires = func(first, day time.Time) bool { return int(day.Sub(first).Hours()/24)%n == 0 }
	case 2:
		n, names := 1+r.IntN(3), subset(weekdayElements)
		days = fmt.Sprintf("<ScheduleByWeek><WeeksInterval>%d</WeeksInterval><DaysOfWeek>%s</DaysOfWeek></ScheduleByWeek>", n, tags(names))
		w.fires = func(first, day time.Time) bool {
			week := (int(day.Sub(first).Hours()/24) + int(first.Weekday())) / 7
			return week%n == 0 && slices.Contains(names, day.Weekday().String())
		}
	case 3:
		monthly = true
		dates := subset([]string{"1", "2", "15", "27", "28", "29", "30", "31", "Last"})
		days = "<ScheduleByMonth><DaysOfMonth>" + items("Day", dates) + "</DaysOfMonth><Months>" + tags(months) + "</Months></ScheduleByMonth>"
		w.fires = func(_, day time.Time) bool {
			return inMonths(day) && (slices.Contains(dates, fmt.Sprint(day.Day())) || day.AddDate(0, 0, 1).Day() == 1 && slices.Contains(dates, "Last"))
		}
	default:
		monthly = true
		weeks, names := subset([]string{"1", "2", "3", "4", "Last"}), subset(weekdayElements)
		days = "<ScheduleByMonthDayOfWeek><Weeks>" + items("Week", weeks) + "</Weeks><DaysOfWeek>" + tags(names) + "</DaysOfWeek><Months>" + tags(months) +
			"</Months></ScheduleByMonthDayOfWeek>"
		w.fires = func(_, day time.Time) bool {
			return inMonths(day) && slices.Contains(names, day.Weekday().String()) &&
				(slices.Contains(weeks, fmt.Sprint((day.Day()+6)/7)) || day.AddDate(0, 0, 7).Month() != day.Month() && slices.Contains(weeks, "Last"))
		}
	}
	repetition := ""
	if r.IntN(3) > 0 {
		w.interval = 60 * []int{5, 10, 15, 20, 30, 45, 60, 90, 120, 240, 300, 25}[r.IntN(12)]
		w.duration = 3600 * []int{1, 2, 8, 12, 23, 24, 30, 60, 0, 0}[r.IntN(10)]
		if monthly {
			w.duration = 3600 * (1 + r.IntN(24))
		}
		repetition = fmt.Sprintf("<Repetition><Interval>PT%dM</Interval>", w.interval/60)
		if w.duration > 0 {
			repetition += fmt.Sprintf("<Duration>PT%dS</Duration>", w.duration)
		}
		repetition += "</Repetition>"
	}
	end := ""
	if r.IntN(3) == 0 {
		w.end = w.start.AddDate(0, 0, r.IntN(60)).Add(time.Duration(r.IntN(20)) * time.Hour)
		end = "<EndBoundary>" + w.end.Format(localTime) + "</EndBoundary>"
	}
	w.xml = "<" + element + ">" + repetition + "<StartBoundary>" + w.start.Format(localTime) + "</StartBoundary>" + end + days + "</" + element + ">"
	return w
}

// walk returns the due instants of a trigger in the given number of days.
func (w walkedTrigger) walk(location *time.Location, days int) (due []time.Time) {
	first := w.start.Truncate(24 * time.Hour)
	var starts []time.Time // clock times
	for n := range days + 40 {
		if day := first.AddDate(0, 0, n); w.fires(first, day) {
			starts = append(starts, day.Add(w.start.Sub(first)))
		}
	}
	// Repetitions that never pause, in steps that divide an hour, are elapsed time; and those of a
	// TimeTrigger are.
	endless := w.interval > 0 && 3600%w.interval == 0
	for i := 1; i < len(starts); i++ {
		if gap := int(starts[i].Sub(starts[i-1]).Seconds()); w.duration > 0 && w.duration < gap {
			endless = false
		}
	}
	limit := first.AddDate(0, 0, days)
	for i, start := range starts {
		for n := 0; n == 0 || w.interval > 0; n++ {
			offset := time.Duration(n*w.interval) * time.Second
			at := wallInstant(start.Add(offset), location)
			elapsed := w.once || endless && len(starts) > 1
			if elapsed {
				at = wallInstant(start, location).Add(offset)
			}
			switch {
			case w.duration > 0 && (w.once || !elapsed) && offset > time.Duration(w.duration)*time.Second, at.After(limit.AddDate(0, 0, 2)):
			// A repetition ends where the trigger fires anew.
			case i+1 < len(starts) && !elapsed && n > 0 && !start.Add(offset).Before(starts[i+1]):
			case i+1 < len(starts) && elapsed && n > 0 && !at.Before(wallInstant(starts[i+1], location)):
			default:
				if w.end.IsZero() || !at.After(wallInstant(w.end, location)) {
					due = append(due, at)
				}
				continue
			}
			break
		}
	}
	slices.SortFunc(due, time.Time.Compare)
	due = slices.CompactFunc(due, time.Time.Equal)
	return slices.DeleteFunc(due, func(at time.Time) bool { return !at.Before(limit) })
}

// taskAgainstWalk reports whether the trigger could be converted.
func taskAgainstWalk(t *testing.T, w walkedTrigger, zone string) bool {
	t.Helper()
	r := tasks(t, zone, task(w.xml, ""))
	for _, f := range r.Findings {
		if strings.Contains(f.Message, "need") || strings.Contains(f.Message, "the next weekday may start it too") || strings.Contains(f.Message, "for more than a day") {
			return false
		}
		if strings.Contains(f.Message, "matches none") || strings.Contains(f.Message, "before the first start") {
			return false
		}
	}
	location, err := schedule.LoadZone(zone)
	require.NoError(t, err)
	days := 70
	if strings.Contains(w.xml, "ByMonth") {
		days = 800
	}
	limit := w.start.Truncate(24*time.Hour).AddDate(0, 0, days)
	var got []time.Time
	for _, s := range r.Jobs[0].Schedules {
		plan, err := schedule.Parse(s.Kind, []byte(s.Spec), schedule.Options{Zone: s.Zone})
		require.NoError(t, err, w.xml)
		n := len(got)
		for at, ok := plan.Next(time.Time{}); ok && at.Before(limit); at, ok = plan.Next(at) {
			got = append(got, at)
		}
		if zone == "UTC" {
			for _, at := range got[n:] {
				require.False(t, slices.ContainsFunc(got[:n], at.Equal), "%s: twice %s", w.xml, at)
			}
		}
	}
	slices.SortFunc(got, time.Time.Compare)
	got = slices.CompactFunc(got, time.Time.Equal)
	want := w.walk(location, days)
	for i := range max(len(want), len(got)) {
		require.True(t, i < len(want) && i < len(got) && want[i].Equal(got[i]), "%s in %s: instant %d of %d and %d: want %v, got %v", w.xml, zone, i, len(want), len(got),
			at(want, i), at(got, i))
	}
	return true
}

func at(list []time.Time, i int) time.Time {
	if i < len(list) {
		return list[i].UTC()
	}
	return time.Time{}
}

// Triggers and tasks with errors are reported, and nothing of them is quoted.
func TestTaskFaults(t *testing.T) {
	t.Parallel()
	const start = "<StartBoundary>2026-07-01T08:00:00</StartBoundary>"
	for triggers, want := range map[string]string{
		"<CalendarTrigger><ScheduleByDay/></CalendarTrigger>":                                                                                                                                                 "StartBoundary is missing",
		"<TimeTrigger><StartBoundary>hush</StartBoundary></TimeTrigger>":                                                                                                                                      "invalid StartBoundary",
		"<TimeTrigger>" + start + "<EndBoundary>2026-07-01</EndBoundary></TimeTrigger>":                                                                                                                       "invalid EndBoundary",
		"<TimeTrigger>" + start + "<EndBoundary>2026-06-01T00:00:00</EndBoundary></TimeTrigger>":                                                                                                              "before the first start",
		"<TimeTrigger>" + start + "<RandomDelay>hush</RandomDelay></TimeTrigger>":                                                                                                                             "invalid RandomDelay",
		"<TimeTrigger>" + start + "<Repetition><Interval>PT30S</Interval></Repetition></TimeTrigger>":                                                                                                         "invalid Repetition.Interval",
		"<TimeTrigger>" + start + "<Repetition><Interval>PT1M</Interval><Duration>hush</Duration></Repetition></TimeTrigger>":                                                                                 "invalid Repetition.Duration",
		"<CalendarTrigger>" + start + "</CalendarTrigger>":                                                                                                                                                    "no ScheduleByDay",
		"<CalendarTrigger>" + start + "<ScheduleByDay><DaysInterval>0</DaysInterval></ScheduleByDay></CalendarTrigger>":                                                                                       "invalid DaysInterval",
		"<CalendarTrigger>" + start + "<ScheduleByWeek><WeeksInterval>53</WeeksInterval></ScheduleByWeek></CalendarTrigger>":                                                                                  "invalid WeeksInterval",
		"<CalendarTrigger>" + start + "<ScheduleByWeek><DaysOfWeek/></ScheduleByWeek></CalendarTrigger>":                                                                                                      "no DaysOfWeek",
		"<CalendarTrigger>" + start + "<ScheduleByMonth><DaysOfMonth><Day>1</Day></DaysOfMonth></ScheduleByMonth></CalendarTrigger>":                                                                          "no Months",
		"<CalendarTrigger>" + start + "<ScheduleByMonth><DaysOfMonth><Day>32</Day></DaysOfMonth><Months><May/></Months></ScheduleByMonth></CalendarTrigger>":                                                  "invalid Day",
		"<CalendarTrigger>" + start + "<ScheduleByMonth><Months><May/></Months></ScheduleByMonth></CalendarTrigger>":                                                                                          "no DaysOfMonth",
		"<CalendarTrigger>" + start + "<ScheduleByMonthDayOfWeek><Weeks><Week>5</Week></Weeks><DaysOfWeek><Monday/></DaysOfWeek><Months><May/></Months></ScheduleByMonthDayOfWeek></CalendarTrigger>":         "invalid Week",
		"<CalendarTrigger><StartBoundary>2026-07-01T08:00:00+05:30</StartBoundary><ScheduleByWeek><DaysOfWeek><Monday/></DaysOfWeek></ScheduleByWeek></CalendarTrigger>":                                      "an offset that no zone has",
		"<CalendarTrigger>" + start + "<Repetition><Interval>PT1M</Interval><Duration>P200D</Duration></Repetition><ScheduleByDay><DaysInterval>300</DaysInterval></ScheduleByDay></CalendarTrigger>":         "more than 20000 times",
		"<CalendarTrigger>" + start + "<Repetition><Interval>PT59M</Interval></Repetition><ScheduleByDay><DaysInterval>9</DaysInterval></ScheduleByDay></CalendarTrigger>":                                    "schedules here or more",
		"<CalendarTrigger>" + start + "<Repetition><Interval>PT1H</Interval></Repetition><ScheduleByMonth><DaysOfMonth><Day>1</Day></DaysOfMonth><Months><May/></Months></ScheduleByMonth></CalendarTrigger>": "for more than a day",
		"<LogonTrigger><UserId>hush</UserId></LogonTrigger>":                                                                                                                                                  "the logon of a user",
		"<MoonTrigger><Phase>hush</Phase></MoonTrigger>":                                                                                                                                                      "no such trigger",
		"<TimeTrigger>" + start + "<Odd>hush</Odd></TimeTrigger>":                                                                                                                                             "no counterpart",
		"<TimeTrigger>" + start + "<ExecutionTimeLimit>PT1H</ExecutionTimeLimit></TimeTrigger>":                                                                                                               "this trigger only",
		"<TimeTrigger>" + start + "<Repetition><Interval>PT1H</Interval><StopAtDurationEnd>true</StopAtDurationEnd></Repetition></TimeTrigger>":                                                               "is stopped",
	} {
		r := tasks(t, "", task(triggers, ""))
		found(t, r, Lost, "t", "Triggers", want)
		noSecrets(t, r)
	}
	for settings, want := range map[string]string{
		"<RestartOnFailure><Count>hush</Count></RestartOnFailure>":        "no valid Count",
		"<ExecutionTimeLimit>hush</ExecutionTimeLimit>":                   "72 hours",
		"<DeleteExpiredTaskAfter>PT0S</DeleteExpiredTaskAfter>":           "Completed",
		"<RunOnlyIfIdle>true</RunOnlyIfIdle>":                             "idle",
		"<MaintenanceSettings><Period>P1D</Period></MaintenanceSettings>": "maintenance",
	} {
		r := tasks(t, "", task("", settings))
		found(t, r, Lost, "t", "Settings", want)
		noSecrets(t, r)
	}
	for text, want := range map[string]string{
		"":                                      "has no task",
		"hush":                                  "has no task",
		"{}":                                    "has no task",
		"<a>hush":                               "invalid XML at line 1",
		"<!DOCTYPE a [<!ENTITY b 'hush'>]><a/>": "a document type is not read",
		"<hush/>":                               "not a <Task>",
		"<Task/>":                               "not a <Task>",
		"<Tasks><Task/></Tasks>":                "an element of <Tasks>",
		"<Tasks/>":                              "has no task",
		strings.Repeat("<a>", 40):               "more than 32 levels",
	} {
		_, err := TaskScheduler([]Document{{"a.xml", []byte(text)}}, Options{Now: now})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "a.xml: ")
		require.NotContains(t, err.Error(), "hush")
	}
}

// A task gets its name from its URI, from the comment that schtasks writes, or from its file.
func TestTaskNames(t *testing.T) {
	t.Parallel()
	body := strings.Replace(task("", ""), `<URI>\t</URI>`, "", 1)
	r := tasks(t, "", "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<!-- \\a\\b -->"+body+"<?xml version=\"1.0\" encoding=\"UTF-16\"?>"+task("", ""), body)
	var names []string
	for _, j := range r.Jobs {
		names = append(names, j.Name)
	}
	require.Equal(t, []string{`a\b`, "t", "file 2"}, names)
}

func TestSplitWindows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``:                     nil,
		` a  b` + "\t" + `c `:  {"a", "b", "c"},
		`"a b" c`:              {"a b", "c"},
		`a"b c"d`:              {"ab cd"},
		`-Q "SELECT \"x\"" -b`: {"-Q", `SELECT "x"`, "-b"},
		`"a\\" b`:              {`a\`, "b"},
		`c:\dir\ x`:            {`c:\dir\`, "x"},
		`"c:\my dir\\\"q" ""`:  {`c:\my dir\"q`, ""},
		`"say ""hi"" now"`:     {`say "hi" now`},
	} {
		require.Equal(t, want, splitWindows(text), text)
	}
}

func FuzzTaskScheduler(f *testing.F) {
	f.Add([]byte(task("<TimeTrigger><StartBoundary>2026-07-01T08:00:00</StartBoundary></TimeTrigger>", "<Enabled>true</Enabled>")))
	f.Add([]byte(task(`<CalendarTrigger><Repetition><Interval>PT7M</Interval><Duration>PT8H</Duration></Repetition><StartBoundary>2026-07-01T08:00:00+01:00</StartBoundary>
		<ScheduleByWeek><DaysOfWeek><Monday/></DaysOfWeek></ScheduleByWeek></CalendarTrigger>`, "")))
	f.Fuzz(func(t *testing.T, text []byte) {
		bounds.Allocations(t, len(text), fuzzFixed, fuzzPerByte, func() {
			r, err := TaskScheduler([]Document{{"f.xml", text}}, Options{Now: now, Zone: "Europe/Berlin"})
			if err == nil {
				_ = r.Script()
			}
		})
	})
}
