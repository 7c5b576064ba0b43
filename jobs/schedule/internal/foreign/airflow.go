package foreign

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// The sources of this file are "Cron & Time Intervals" and "DAG Runs" of the documentation of
// Apache Airflow (airflow.apache.org/docs) and croniter, which evaluates its cron lines.

// airflow is the form of the argument schedule of Airflow's DAGs.
var airflow = Form{
	Name: "airflow", Title: "a schedule of an Airflow DAG", Example: "timedelta(hours=6)",
	translate: (*reader).readAirflow,
}

// airflowPresets are the presets of Airflow with a cron line.
var airflowPresets = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@quarterly": "0 0 1 */3 *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@midnight": "0 0 * * *",
}

// dataInterval is the note on the time at which Airflow starts a run.
const dataInterval = "Airflow starts a run at the end of its data interval: the run that Airflow names by one instant starts at the next one. Here a run is named by the instant at which it starts."

// readAirflow translates a preset, a line of cron, a timedelta or a duration of ISO 8601.
func (r *reader) readAirflow() {
	text := strings.TrimSpace(r.text)
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		text = text[1 : n-1]
	}
	switch {
	case text == "@once":
		r.target.elastic("Once", 1, time.Time{}, time.Time{})
		r.note("The run is when the schedule is created.")
		return
	case text == "None" || text == "@continuous":
		allowed := "a schedule; None means that a DAG is started by hand, as a job without a schedule is"
		if text != "None" {
			allowed = "a schedule; @continuous starts a run when the previous one has ended, which no kind does"
		}
		r.fault("schedule", text, allowed, "")
		return
	case strings.HasPrefix(text, "@"):
		line, known := airflowPresets[strings.ToLower(text)]
		if !known {
			names := append(slices.Sorted(maps.Keys(airflowPresets)), "@once")
			r.fault("schedule", text, "one of "+strings.Join(names, ", "), suggest.Nearest(text, names))
			return
		}
		r.target.line(kindCron5, line)
	case strings.Contains(text, "timedelta"):
		if l, ok := r.readTimedelta(text); ok {
			r.repeatSeconds(length{seconds: l, part: "schedule", text: text}, start{}, 0)
			r.note("Airflow counts from the start_date of the DAG; here the first run is when the schedule is created.")
		}
	case strings.HasPrefix(strings.ToUpper(text), "P"):
		if l, ok := r.readLength("schedule", text); ok {
			r.repeat(l, start{}, 0)
			r.note("Airflow counts from the start_date of the DAG; here the first run is when the schedule is created.")
		}
	default:
		r.readCroniter(strings.Fields(text))
	}
	r.note(dataInterval)
}

var timedeltaText = regexp.MustCompile(`^(?:datetime\.)?timedelta\(\s*(.*?)\s*,?\s*\)$`)

// timedeltaUnits are the arguments of timedelta in seconds.
var timedeltaUnits = map[string]int64{"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}

// readTimedelta returns the seconds of timedelta(...) of Python.
func (r *reader) readTimedelta(text string) (int64, bool) {
	allowed := "timedelta(weeks=, days=, hours=, minutes=, seconds=) with whole numbers, above 0 together"
	m := timedeltaText.FindStringSubmatch(text)
	if m == nil {
		r.fault("schedule", text, allowed, "")
		return 0, false
	}
	total := int64(0)
	given := map[string]bool{}
	for i, argument := range strings.Split(m[1], ",") {
		name, value, named := strings.Cut(argument, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !named && i < 2 && len(given) == i { // timedelta(days, seconds)
			name, value = []string{"days", "seconds"}[i], name
		}
		unit, known := timedeltaUnits[name]
		n, err := strconv.ParseInt(value, 10, 32)
		switch {
		case !known:
			r.fault("schedule", strings.TrimSpace(argument), allowed, suggest.Nearest(name, slices.Sorted(maps.Keys(timedeltaUnits))))
		case given[name]:
			r.fault("schedule", strings.TrimSpace(argument), "each argument at most once", "")
		case err != nil || !syntax.IsDigits(strings.TrimPrefix(value, "-")):
			r.fault("schedule", strings.TrimSpace(argument), allowed, "")
		}
		given[name] = true
		total += n * unit
	}
	if len(r.List) == 0 && (total < 1 || total > maxCount) {
		r.fault("schedule", text, allowed+", and at most 68 years", "")
	}
	return total, len(r.List) == 0
}

// readCroniter translates a line of cron. In croniter, a day field with a step is restricted, also
// after a star: */2 of the days and a weekday mean days that match either.
func (r *reader) readCroniter(fields []string) {
	if len(fields) != 5 {
		allowed := "5 fields: minute hour day month weekday; there " + syntax.AreN(len(fields))
		near := ""
		if len(fields) == 6 {
			allowed += "; croniter reads the last one as the second, which the kind cron6 has first"
			near = "the kind cron6: " + strings.Join(append(fields[5:6:6], fields[:5]...), " ")
		}
		r.fault("schedule", strings.Join(fields, " "), allowed, near)
		return
	}
	fields = slices.Clone(fields)
	for i, f := range []struct{ low, high, at int }{{1, 31, 2}, {0, 6, 4}} {
		other := fields[6-f.at]
		step, ok := strings.CutPrefix(fields[f.at], "*/")
		if !ok || other == "*" {
			continue
		}
		if n, err := strconv.Atoi(step); err == nil && n == 1 {
			r.fault("schedule", fields[f.at], "* or a step above 1 in a day field beside a restricted one: which days */1 means depends on the version of croniter", "*")
			return
		}
		fields[f.at] = fmt.Sprintf("%d-%d/%s", f.low, f.high, step)
		if i == 0 || !strings.HasPrefix(other, "*") {
			r.note("A day counts if it matches the day of the month or the weekday, as in croniter, also with */n.")
		}
	}
	r.target.line(kindCron5, strings.Join(fields, " "))
}
