package foreign

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// The sources of this file are "Schedule types on EventBridge Scheduler"
// (docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html) and "Cron expressions
// reference" (docs.aws.amazon.com/eventbridge/latest/userguide/eb-cron-expressions.html). When
// clocks go forward, an instant that does not exist is skipped; when they go back, an instant
// counts once; days of rate(...) are 24 hours (same pages).

// eventBridge is the form of schedule expressions of AWS EventBridge.
var eventBridge = Form{
	Name: "eventbridge", Title: "a schedule expression of AWS EventBridge", Example: "cron(0 9 ? * MON-FRI *)",
	translate: func(r *reader) {
		r.target.gap, r.target.overlap = "skip", "first"
		name, rest, ok := strings.Cut(r.text, "(")
		body, closed := strings.CutSuffix(strings.TrimSpace(rest), ")")
		if !ok || !closed {
			name = ""
		}
		switch strings.TrimSpace(name) {
		case "cron":
			r.readAWSCron(strings.Fields(body))
		case "rate":
			r.readRate(strings.Fields(body))
		case "at":
			r.readAt(strings.TrimSpace(body))
		default:
			near := ""
			if fields := strings.Fields(r.text); !ok && len(fields) == 6 {
				near = "cron(" + strings.Join(fields, " ") + ")"
				if _, err := r.form.Translate(near, r.zone); err != nil {
					near = ""
				}
			}
			r.fault("", r.text, "cron(minutes hours day-of-month month day-of-week year), rate(value unit) or at(yyyy-mm-ddThh:mm:ss)", near)
		}
	},
}

// awsField is a field of cron(...). signs are its wildcards beside the comma, the dash and the
// star.
type awsField struct {
	name      string
	low, high int
	names     []string // of the values from low on
	signs     string
}

// awsFields are the fields with exactly the documented wildcards.
var awsFields = []awsField{
	{"minutes", 0, 59, nil, "/"},
	{"hours", 0, 23, nil, "/"},
	{"dayOfMonth", 1, 31, nil, "?/LW"},
	{"month", 1, 12, civil.ShortNames(civil.MonthNames, 0), "/"},
	{"dayOfWeek", 1, 7, civil.ShortNames(civil.WeekdayNames, 6), "?L#"},
	{"year", 1970, 2199, nil, "/"},
}

// readAWSCron translates cron(...) to Quartz, which has the same meaning with a second in front.
func (r *reader) readAWSCron(fields []string) {
	if len(fields) != len(awsFields) {
		near := ""
		if len(fields) == 5 {
			if _, err := r.form.Translate("cron("+strings.Join(fields, " ")+" *)", r.zone); err == nil {
				near = "cron(" + strings.Join(fields, " ") + " *)"
			}
		}
		r.fault("cron", strings.Join(fields, " "), "6 fields: minutes hours day-of-month month day-of-week year; there "+syntax.AreN(len(fields)), near)
		return
	}
	for i, f := range awsFields {
		for part := range strings.SplitSeq(fields[i], ",") {
			r.checkAWS(f, part, fields[i])
		}
	}
	if len(r.List) > 0 {
		return
	}
	if day, week := fields[2] == "?", fields[4] == "?"; day == week {
		near := append([]string{}, fields...)
		switch {
		case day:
			near[2] = "*"
		case fields[4] == "*":
			near[4] = "?"
		case fields[2] == "*":
			near[2] = "?"
		default:
			near = nil
		}
		text := ""
		if near != nil {
			text = "cron(" + strings.Join(near, " ") + ")"
		}
		r.fault("cron", strings.Join(fields, " "), "? in exactly one of day-of-month and day-of-week", text)
		return
	}
	line := "0 " + strings.Join(fields[:5], " ")
	if fields[5] != "*" {
		line += " " + fields[5]
	}
	r.target.line(kindQuartz, strings.ToUpper(line))
}

func (r *reader) checkAWS(f awsField, part, field string) {
	signs := "* , -"
	for _, c := range f.signs {
		signs += " " + string(c)
	}
	allowed := fmt.Sprintf("%d to %d with the wildcards %s", f.low, f.high, signs)
	if f.names != nil {
		allowed = strings.ToUpper(f.names[0]+" to "+f.names[len(f.names)-1]) + " or " + allowed
	}
	bad := func(near string) { r.fault(f.name, part, allowed, near) }
	upper := strings.ToUpper(part)
	body, step, hasStep := strings.Cut(upper, "/")
	if hasStep {
		n, err := strconv.Atoi(step)
		if !strings.Contains(f.signs, "/") || err != nil || !syntax.IsDigits(step) || n < 1 || n > f.high {
			bad("")
			return
		}
	}
	switch {
	case body == "*":
		if field != "*" && !hasStep || strings.Contains(field, ",") {
			bad("*")
		}
		return
	case body == "?" && strings.Contains(f.signs, "?") && field == "?":
		return
	case upper == "L" && strings.Contains(f.signs, "L"):
		return
	}
	if f.name == "dayOfMonth" && strings.HasSuffix(upper, "W") {
		if _, ok := f.value(strings.TrimSuffix(upper, "W")); !ok {
			bad("")
		}
		return
	}
	if day, n, ok := strings.Cut(upper, "#"); ok && f.name == "dayOfWeek" {
		_, okDay := f.value(day)
		if !okDay || len(n) != 1 || n < "1" || n > "5" {
			bad("")
		} else if field != part {
			allowed = "one day with # alone, as AWS does; add a schedule for each"
			bad(part)
		}
		return
	}
	if day, ok := strings.CutSuffix(upper, "L"); ok && f.name == "dayOfWeek" {
		if _, ok := f.value(day); !ok {
			bad("")
		}
		return
	}
	from, to, isRange := strings.Cut(body, "-")
	a, okA := f.value(from)
	b, okB := a, true
	if isRange {
		b, okB = f.value(to)
	}
	switch {
	case !okA || !okB:
		bad(f.nearest(from, isRange && okA != okB))
	case a > b && f.name != "year":
		allowed = "a range that does not run backwards"
		near := fmt.Sprintf("%s-%d,%d-%s", from, f.high, f.low, to)
		if hasStep {
			near = ""
		}
		bad(near)
	case a > b:
		allowed = "a range that does not run backwards"
		bad("")
	}
}

// value parses one value of a field, a number or a name.
func (f awsField) value(text string) (int, bool) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.low + i, true
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && syntax.IsDigits(text) && n >= f.low && n <= f.high
}

// nearest returns the name nearest to a misspelled one alone, or "".
func (f awsField) nearest(text string, partly bool) string {
	if partly || f.names == nil || syntax.IsDigits(text) || len(text) < 2 {
		return ""
	}
	return strings.ToUpper(suggest.Nearest(text, f.names))
}

// rateUnits are the units of rate(...) and the intervals of Elastic Jobs.
var rateUnits = map[string]string{
	"minute": "Minutes", "minutes": "Minutes", "hour": "Hours", "hours": "Hours", "day": "Days", "days": "Days",
}

// readRate translates rate(value unit).
func (r *reader) readRate(fields []string) {
	const allowed = "rate(value unit) with a positive whole number and minute, minutes, hour, hours, day or days"
	if len(fields) != 2 {
		r.fault("rate", strings.Join(fields, " "), allowed, "")
		return
	}
	n, err := strconv.ParseInt(fields[0], 10, 32)
	unit := rateUnits[strings.ToLower(fields[1])]
	if err != nil || !syntax.IsDigits(fields[0]) || n < 1 {
		r.fault("rate.value", fields[0], "a whole number of at least 1", "")
	}
	if unit == "" {
		r.fault("rate.unit", fields[1], "minute, minutes, hour, hours, day or days", suggest.Nearest(fields[1], []string{"minutes", "hours", "days"}))
	}
	r.target.elastic(unit, n, time.Time{}, time.Time{})
	if unit == "Days" && changes(r.zone) {
		r.note("A day is 24 hours, as in EventBridge: the clock time moves when clocks change.")
	}
	r.note("The first run is when the schedule is created, as in EventBridge without a StartDate; schedule_start_time sets another start.")
}

// elastic sets an interval of Elastic Jobs. A zero start is the creation, a zero end none.
func (t *target) elastic(interval string, count int64, start, end time.Time) {
	t.kind = kindElastic
	t.text("schedule_interval_type", interval)
	if interval != "Once" {
		t.raw("schedule_interval_count", strconv.FormatInt(count, 10))
	}
	if !start.IsZero() {
		t.text("schedule_start_time", start.UTC().Format(time.RFC3339))
	}
	if !end.IsZero() {
		t.text("schedule_end_time", end.UTC().Format(time.RFC3339))
	}
	t.gap, t.overlap = "", "" // elapsed time
}

var atTime = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$`)

// readAt translates at(yyyy-mm-ddThh:mm:ss) to a cron with a year. A time that has passed is not
// due, as in EventBridge; the time of the kind sap would then run at once.
func (r *reader) readAt(text string) {
	const allowed = "a date and time such as 2026-12-01T08:00:00, without an offset: the zone is beside it"
	m := atTime.FindStringSubmatch(text)
	if m == nil {
		near := ""
		if d, err := syntax.ParseDate(text); err == nil && !d.HasOffset {
			near = time.Unix(d.Day*civil.DaySeconds+int64(d.Second), 0).UTC().Format("2006-01-02T15:04:05")
		}
		r.fault("at", text, allowed, near)
		return
	}
	at, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		r.fault("at", text, allowed, "")
		return
	}
	r.target.line(kindSAP, fmt.Sprintf("%d %d %d * %d %d %d", at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second()))
}
