package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// yearZones are the time zones of the schedules. Their clock changes cover gaps and overlaps of an
// hour and of half an hour, also at midnight and a minute later. Their offsets include half and
// three quarters of an hour. The simulated year is 2000.
var yearZones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Chatham",
	"America/St_Johns", "Africa/Cairo", "Asia/Tehran",
}

// yearSchedule is a schedule of the simulated year.
type yearSchedule struct {
	id   int64
	job  string
	kind string // empty: the schedule of jobs.sp_update_job, with interval
	spec string
	zone string

	catchUp, overlap string
	script           string
	interval         string // of the job's own schedule
	intervalCount    int

	oracle enumeration
	// moving is the interval of SAP's repeatInterval, whose instants depend on the starts of runs;
	// 0 for all other kinds.
	moving time.Duration
	// count is the largest number of runs; 0: no limit.
	count int
}

// drawing draws random schedules.
type drawing struct {
	*rand.Rand
	zone *time.Location
	// made is when the schedules are created.
	made time.Time
	// end is approximately when the simulation ends.
	end time.Time
	// dense makes many schedules due several times a day, for a simulation of few days.
	dense bool
}

// oneOf returns a random element of list.
func oneOf[T any](d drawing, list ...T) T { return list[d.IntN(len(list))] }

// clock draws a time of day on the grid of yearStep. Most are full hours, because the run time
// grows with the number of different instants.
func (d drawing) clock() (hour, minute int) {
	if d.IntN(20) == 0 {
		return d.IntN(24), oneOf(d, 15, 45)
	}
	return d.IntN(24), oneOf(d, 0, 0, 0, 30)
}

// start draws a full hour some days before or after the schedules are created.
func (d drawing) start() time.Time {
	return d.made.Truncate(time.Hour).Add(time.Duration(d.IntN(20*24)-10*24) * time.Hour)
}

// dayRule is a condition on a date, with its text in each kind of schedule; an empty text means
// that the kind cannot express it.
type dayRule struct {
	cron, quartz, sap, rrule, azure string
	on                              func(wallClock) bool
}

// drawDays draws a condition on a date. Most are daily or weekly.
func (d drawing) drawDays() dayRule {
	weekday := time.Weekday(d.IntN(7))
	short := strings.ToLower(weekday.String()[:3])
	n, day := 1+d.IntN(4), 1+d.IntN(31)
	rule := d.IntN(9)
	if d.dense {
		rule = min(rule, d.IntN(9))
	}
	switch rule {
	case 0:
		return dayRule{
			"* * *", "* * ?", "* * * *", "FREQ=DAILY", `"frequency": "Day"`,
			func(wallClock) bool { return true },
		}
	case 1:
		return dayRule{
			"* * 1-5", "? * MON-FRI", "* * * mon:fri", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
			`"frequency": "Week", "weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday"]`,
			func(w wallClock) bool { return w.weekday != time.Sunday && w.weekday != time.Saturday },
		}
	case 2, 3, 4, 5:
		return dayRule{
			fmt.Sprintf("* * %d", int(weekday)), "? * " + strings.ToUpper(short), "* * * " + short, "FREQ=WEEKLY;BYDAY=" + strings.ToUpper(short[:2]),
			fmt.Sprintf(`"frequency": "Week", "weekDays": [%q]`, weekday),
			func(w wallClock) bool { return w.weekday == weekday },
		}
	case 6:
		return dayRule{
			fmt.Sprintf("%d * *", day), fmt.Sprintf("%d * ?", day), fmt.Sprintf("* * %d *", day), fmt.Sprintf("FREQ=MONTHLY;BYMONTHDAY=%d", day),
			fmt.Sprintf(`"frequency": "Month", "monthDays": [%d]`, day),
			func(w wallClock) bool { return w.day == day },
		}
	case 7:
		return dayRule{
			"", "L * ?", "* * -1 *", "FREQ=MONTHLY;BYMONTHDAY=-1", `"frequency": "Month", "monthDays": [-1]`,
			func(w wallClock) bool { return w.day == w.length },
		}
	}
	return dayRule{
		"", fmt.Sprintf("? * %d#%d", int(weekday)+1, n), fmt.Sprintf("* * * %d.%s", n, short),
		fmt.Sprintf("FREQ=MONTHLY;BYDAY=%d%s", n, strings.ToUpper(short[:2])),
		fmt.Sprintf(`"frequency": "Month", "monthlyOccurrences": [{"day": %q, "occurrence": %d}]`, weekday, n),
		func(w wallClock) bool { return w.weekday == weekday && (w.day-1)/7+1 == n },
	}
}

// object returns a specification: the kind's own elements and the common elements.
func object(own string, common map[string]any) string {
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for k := range common {
			if !yield(k) {
				return
			}
		}
	}) {
		text, err := json.Marshal(common[key])
		if err != nil {
			panic(err)
		}
		own += fmt.Sprintf(", %q: %s", key, text)
	}
	return "{" + own + "}"
}

// drawOnClock draws a schedule of one of the five kinds that follow the wall clock of a zone.
func (d drawing) drawOnClock(s *yearSchedule, common map[string]any) {
	days := d.drawDays()
	for s.kind == "cron5" && days.cron == "" || s.kind == "cron6" && days.cron == "" {
		days = d.drawDays()
	}
	hour, minute := d.clock()
	hours := fmt.Sprint(hour)
	inHour := func(w wallClock) bool { return w.minute/60 == hour }
	var list []string
	form := d.IntN(8)
	if d.dense && d.IntN(3) > 0 {
		form = 2
	}
	switch second := (hour + 12) % 24; form {
	case 0, 1: // twice a day
		hours = fmt.Sprintf("%d,%d", hour, second)
		list = []string{fmt.Sprint(hour), fmt.Sprint(second)}
		inHour = func(w wallClock) bool { return w.minute/60 == hour || w.minute/60 == second }
	case 2: // a step, whose instants are literal
		if s.kind != "rrule" && s.kind != "azure-scheduler" {
			step := oneOf(d, 8, 12)
			if d.dense {
				step = oneOf(d, 1, 2, 4)
			}
			hours = fmt.Sprintf("*/%d", step)
			inHour = func(w wallClock) bool { return w.minute/60%step == 0 }
			s.oracle.literal = true
			s.oracle.outOfGap = s.kind == "quartz"
		}
	}
	if list == nil {
		list = []string{fmt.Sprint(hour)}
	}
	s.oracle.match = func(w wallClock) bool { return w.minute%60 == minute && inHour(w) && days.on(w) }
	second := oneOf(d, 0, 0, 0, 0, 0, 0, 0, 0, 10, 30)
	switch s.kind {
	case "cron5":
		s.spec = fmt.Sprintf(`"cron": "%d %s %s"`, minute, hours, days.cron)
	case "cron6":
		s.oracle.second = time.Duration(second) * time.Second
		s.spec = fmt.Sprintf(`"cron": "%d %d %s %s"`, second, minute, hours, days.cron)
	case "quartz":
		s.oracle.second = time.Duration(second) * time.Second
		s.spec = fmt.Sprintf(`"cron": "%d %d %s %s"`, second, minute, hours, days.quartz)
	case "sap":
		s.spec = fmt.Sprintf(`"cron": "%s %s %d 0"`, days.sap, hours, minute)
		if strings.HasPrefix(days.sap, "* * * *") && !s.oracle.literal && len(list) == 1 && d.IntN(2) == 0 {
			s.spec = fmt.Sprintf(`"repeatAt": "%d.%02d"`, hour, minute)
		}
	case "rrule", "azure-scheduler":
		start := d.start()
		s.oracle.first = start
		common["startTime"] = start.Format(time.RFC3339)
		if s.kind == "rrule" {
			s.spec = fmt.Sprintf(`"rrule": "%s;BYHOUR=%s;BYMINUTE=%d;BYSECOND=0"`, days.rrule, strings.Join(list, ","), minute)
			break
		}
		frequency, more, _ := strings.Cut(days.azure, ", ")
		if more != "" {
			more += ", "
		}
		s.spec = fmt.Sprintf(`%s, "schedule": {%s"hours": [%s], "minutes": [%d]}`, frequency, more, strings.Join(list, ","), minute)
	}
}

// drawElapsed draws a schedule that does not depend on a zone, or that is due once.
func (d drawing) drawElapsed(s *yearSchedule, common map[string]any) {
	start := d.start()
	hours := 10 + d.IntN(90)
	if d.dense {
		hours = 1 + d.IntN(8)
	}
	interval := time.Duration(hours) * time.Hour
	switch d.IntN(8) {
	case 0:
		s.kind, s.spec = "azure-scheduler", fmt.Sprintf(`"frequency": "Hour", "interval": %d`, hours)
		s.oracle.list = every(start, interval)
		common["startTime"] = start.Format(time.RFC3339)
	case 1:
		s.kind, s.spec = "sap", fmt.Sprintf(`"repeatInterval": "%d hours", "anchor": "start"`, hours)
		if start.Before(d.made) {
			start = d.made // created after its planned start: counts from its creation
		}
		s.oracle.list = every(start, interval)
		common["startTime"] = start.Format(time.RFC3339)
	case 2:
		s.kind, s.spec, s.moving = "sap", fmt.Sprintf(`"repeatInterval": "%d hours"`, hours), interval
		s.overlap = oneOf(d, "Skip", "AllowAll", "TerminateOther") // with a buffer, a run would be created later than its interval begins
	case 3:
		s.kind = "elastic"
		s.spec = fmt.Sprintf(`"schedule_interval_type": "Hours", "schedule_interval_count": %d, "schedule_start_time": %q`, hours, start.Format(time.RFC3339))
		s.oracle.list = every(start, interval)
	case 4:
		s.kind = "elastic"
		s.spec = fmt.Sprintf(`"schedule_interval_type": "Months", "schedule_interval_count": 1, "schedule_start_time": %q`, start.Format(time.RFC3339))
		s.oracle.list = everyMonths(start, 1)
	case 5:
		s.kind = "sap"
		at := d.made.Add(time.Duration(1 + d.Int64N(int64(d.end.Sub(d.made))))).Truncate(time.Second)
		s.spec = fmt.Sprintf(`"time": %q`, at.Format(time.RFC3339))
		s.oracle.list = once(at)
	case 6:
		s.kind, s.spec = "rrule", fmt.Sprintf(`"rrule": "FREQ=HOURLY;INTERVAL=%d"`, hours)
		s.oracle.list = every(start, interval)
		common["startTime"] = start.Format(time.RFC3339)
	case 7: // the job's own schedule
		s.kind, s.interval, s.intervalCount = "", "Hours", hours
		s.oracle.list = every(d.made, interval)
	}
}

// draw draws the i-th schedule.
func (d drawing) draw(i int) yearSchedule {
	s := yearSchedule{job: fmt.Sprintf("year %04d", i), zone: d.zone.String()}
	common := map[string]any{}
	s.kind = oneOf(d, "cron5", "cron6", "quartz", "sap", "rrule", "azure-scheduler", "elapsed")
	s.overlap = oneOf(d, "Skip", "BufferOne", "BufferAll", "CancelOther", "TerminateOther", "AllowAll", "Elastic")
	s.catchUp = oneOf(d, "last", "last", "none", "all", "window:6h", "sap-20min")
	s.script = "SELECT 1;"
	switch d.IntN(10) {
	case 0: // longer than an interval of half a day, every other day
		s.script = "IF DATEPART(DAY, SYSUTCDATETIME()) % 2 = 0 WAITFOR DELAY '13:30:00';"
	case 1: // longer than the shortest intervals
		s.script = "IF DATEPART(HOUR, SYSUTCDATETIME()) < 12 WAITFOR DELAY '06:30:00';"
	case 2: // over midnight
		s.script = "IF DATEPART(DAY, SYSUTCDATETIME()) % 3 = 0 WAITFOR DELAY '23:50:00'; ELSE IF DATEPART(DAY, SYSUTCDATETIME()) % 3 = 1 THROW 50001, N'not today', 1;"
	}
	if s.kind == "elapsed" {
		d.drawElapsed(&s, common)
	} else {
		d.drawOnClock(&s, common)
	}
	if s.oracle.first.Before(d.made) {
		s.oracle.first = d.made
	}
	if s.kind == "" {
		s.catchUp, s.overlap = "", ""
		return s
	}
	if s.kind != "elastic" {
		common["timeZone"] = s.zone
		if d.IntN(2) == 0 {
			common["catchUp"] = s.catchUp
			s.catchUp = ""
		}
	}
	counted := s.kind != "elastic" && s.kind != "quartz" && !strings.Contains(s.spec, `"time"`)
	switch {
	case s.moving > 0:
	case d.IntN(25) == 0:
		common["jitter"] = "7m"
	case d.IntN(12) == 0 && d.zone.String() != "America/St_Johns" && s.kind != "elastic":
		d.drawBlackouts(&s, common)
	case d.IntN(15) == 0 && counted && s.kind != "cron5" && s.kind != "cron6":
		s.oracle.last = d.made.Add(time.Duration(d.Int64N(int64(d.end.Sub(d.made))))).Truncate(time.Hour)
		if first, ok := common["startTime"].(string); ok && first > s.oracle.last.Format(time.RFC3339) {
			s.oracle.last = s.oracle.first
		}
		if s.kind == "rrule" {
			s.spec = strings.TrimSuffix(s.spec, `"`) + ";UNTIL=" + s.oracle.last.UTC().Format("20060102T150405Z") + `"`
		} else {
			common["endTime"] = s.oracle.last.Format(time.RFC3339)
		}
	case d.IntN(15) == 0 && counted:
		s.count = 1 + d.IntN(50)
		s.overlap = oneOf(d, "Skip", "AllowAll") // a waiting instant could start after the count is reached
		if s.kind == "rrule" {
			s.spec = strings.TrimSuffix(s.spec, `"`) + fmt.Sprintf(`;COUNT=%d"`, s.count)
		} else {
			common["count"] = s.count
		}
	}
	s.spec = object(s.spec, common)
	return s
}

// drawBlackouts draws blackouts: some dates are skipped, or some dates and a day of the week are
// deferred.
func (d drawing) drawBlackouts(s *yearSchedule, common map[string]any) {
	weekday := time.Weekday(d.IntN(7))
	dates := map[string]bool{"2000-01-06": true, "2000-03-26": true, "2000-07-14": true, "2000-12-24": true, "2000-12-25": true}
	s.oracle.deferred = d.IntN(2) == 0
	deferred := s.oracle.deferred
	s.oracle.blackedOut = func(w wallClock) bool {
		return deferred && w.weekday == weekday || dates[fmt.Sprintf("%04d-%02d-%02d", w.year, w.month, w.day)]
	}
	calendar := map[string]any{"dates": []string{"2000-01-06", "2000-03-26", "2000-07-14", "2000-12-24/2000-12-25"}}
	mode := "skip"
	if s.oracle.deferred {
		mode = "defer"
		calendar["weekly"] = []any{map[string]any{"day": weekday.String()}}
	}
	common["blackouts"] = map[string]any{"mode": mode, "calendars": []any{calendar}}
}
