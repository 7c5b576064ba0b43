package differential

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// cronText returns the text of a schedule with its own rules for changes of clocks.
func cronText(line, gap, overlap string) string {
	text, err := json.Marshal(map[string]string{"cron": line, "gap": gap, "overlap": overlap})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// robfig returns the instants of robfig/cron. It refuses 7 as Sunday (parser.go: dow 0 to 6), so
// that it is asked for 0.
func robfig(w *worker, line []string, zone *time.Location, start time.Time) answer {
	return answerOf(w, "CRON_TZ="+zone.String()+" "+strings.Join(sundayZero(line), " "), start)
}

// answerOf asks for instants in UTC.
func answerOf(w *worker, text string, start time.Time) answer {
	stamps, more, err := w.ask(text, start, instantCount)
	if err != nil {
		return answer{refused: err.Error(), silent: errors.Is(err, errTimeout)}
	}
	return answer{due: stamps, more: more}
}

// expanded returns a cron line in which a step over everything is a list.
func expanded(line []string, at int) []string {
	f := cronFields[len(cronFields)-len(line)+at]
	step, ok := strings.CutPrefix(line[at], "*/")
	n, err := strconv.Atoi(step)
	if !ok || err != nil {
		return line
	}
	var list []string
	for v := f.low; v <= min(f.high, map[bool]int{true: 6, false: f.high}[f.high == 7]); v += n {
		list = append(list, strconv.Itoa(v))
	}
	line = slices.Clone(line)
	line[at] = strings.Join(list, ",")
	return line
}

// eitherDay returns the line whose steps of days are lists, so that either day field is enough here
// as well.
func eitherDay(line []string) []string {
	return expanded(expanded(line, len(line)-3), len(line)-1)
}

// fullStars writes day fields that hold every value as stars.
func fullStars(line []string) []string {
	line = slices.Clone(line)
	for at, want := range map[int]int{len(line) - 3: 31, len(line) - 1: 7} {
		if len(valuesOf(sundayZero(line)[at], cronFields[len(cronFields)-len(line)+at])) == want {
			line[at] = "*"
		}
	}
	return line
}

// valuesOf returns the values of a field of numbers and ranges.
func valuesOf(text string, f field) map[int]bool {
	values := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		body, step, _ := strings.Cut(part, "/")
		low, high, isRange := strings.Cut(body, "-")
		n, _ := strconv.Atoi(step)
		if i := slices.Index(f.names, body); i >= 0 {
			low = strconv.Itoa(i + f.low)
		}
		from, err := strconv.Atoi(low)
		if err != nil {
			return nil // a star
		}
		to := from
		if isRange {
			to, _ = strconv.Atoi(high)
		}
		for v := from; v <= to; v += max(n, 1) {
			values[v] = true
		}
	}
	return values
}

// stepOfDays reports whether a day field is a step over everything and the other one is not a star.
func stepOfDays(line []string) bool {
	days, weekdays := line[len(line)-3], line[len(line)-1]
	return days != "*" && weekdays != "*" && (strings.HasPrefix(days, "*/") || strings.HasPrefix(weekdays, "*/"))
}

// sundayZero writes Sunday as 0 in a line, in lists and ranges as well.
func sundayZero(line []string) []string {
	f := line[len(line)-1]
	var parts []string
	for part := range strings.SplitSeq(f, ",") {
		body, step, hasStep := strings.Cut(part, "/")
		low, high, isRange := strings.Cut(body, "-")
		n, _ := strconv.Atoi(step)
		switch {
		case body == "7":
			parts = append(parts, "0")
		case isRange && high == "7":
			from, _ := strconv.Atoi(low)
			for v := from; v <= 7; v += max(n, 1) {
				parts = append(parts, strconv.Itoa(v%7))
			}
		case hasStep || body != "":
			parts = append(parts, part)
		}
	}
	line = slices.Clone(line)
	line[len(line)-1] = strings.Join(parts, ",")
	return line
}

// robfigDifferences are the reasons for which robfig/cron differs. A step of days and a rule for
// changes of clocks may both differ.
var robfigDifferences = []explanation{
	{"every real instant whose wall clock matches, without rules for gaps and overlaps (D-Z3, D-Z4, D-Z6)", "robfig/cron/v3 doc.go: jobs during a leap ahead are not run; spec.go walks real time",
		func(c *comparison) bool { return c.literal(c.line).equal(c.theirs) }},
	{"a step of days counts as a restriction: either day field is enough", "robfig/cron/v3 parser.go sets starBit for * only; crontab(5) says \"begins with *\"", func(c *comparison) bool {
		return stepOfDays(c.line) && c.literal(eitherDay(c.line)).equal(c.theirs)
	}},
	{"within two days of a gap at midnight or a change of half an hour, the search by days and hours loses its way", "robfig/cron/v3 spec.go: t.Add(1 * time.Hour), t.AddDate(0, 0, 1)", func(c *comparison) bool {
		return c.equalFarFromChanges(c.literal(c.line)) || stepOfDays(c.line) && c.equalFarFromChanges(c.literal(eitherDay(c.line)))
	}},
	{"nothing within five years ends the list", "robfig/cron/v3 spec.go: yearLimit", func(c *comparison) bool {
		return endsEarly(c.literal(c.line), c.theirs, c.start, 4) || endsEarly(c.literal(eitherDay(c.line)), c.theirs, c.start, 4)
	}},
}

// literal returns our instants of a line at which the wall clock matches.
func (c *comparison) literal(line []string) answer {
	return c.us(cronText(strings.Join(line, " "), "skip", "both"))
}

// equalFarFromChanges reports whether an answer equals theirs if instants within two days of a gap
// at midnight or of a change of half an hour are left out.
func (c *comparison) equalFarFromChanges(us answer) bool {
	far := func(a answer) answer {
		a.due = slices.DeleteFunc(slices.Clone(a.due), func(at time.Time) bool {
			return slices.ContainsFunc(c.zone.odd, func(change time.Time) bool { return at.Sub(change).Abs() < 48*time.Hour })
		})
		a.more = true // the lists have lost some
		return a
	}
	return far(us).equal(far(c.theirs))
}

// endsEarly reports whether their list is the beginning of ours, and ends where our next instant is
// more than a number of years later.
func endsEarly(us, them answer, start time.Time, years int) bool {
	if them.more || them.refused != "" || us.refused != "" {
		return us.refused != "" && len(them.due) == 0 && !them.more
	}
	if len(us.due) <= len(them.due) || !slices.EqualFunc(us.due[:len(them.due)], them.due, time.Time.Equal) {
		return false
	}
	last := start
	if n := len(them.due); n > 0 {
		last = them.due[n-1]
	}
	return us.due[len(them.due)].After(last.AddDate(years, 0, 0))
}

func TestRobfig(t *testing.T) {
	t.Parallel()
	for kind, fields := range map[schedule.Kind]int{schedule.KindCron5: 5, schedule.KindCron6: 6} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := library(t, "robfig")
			r, all := random(kind), places()
			y := newTally("robfig/cron "+w.version+", "+string(kind), robfigDifferences)
			for range *ruleCount {
				line, zone := drawLine(r, fields), all[r.IntN(len(all))]
				start := drawStart(r, zone)
				text := strings.Join(line, " ")
				us := func(text string) answer { return ours(kind, text, zone.Location, start, instantCount) }
				y.compare(&comparison{text: text, zone: zone, start: start, line: line, us: us, ours: us(text), theirs: robfig(w, line, zone.Location, start)})
			}
			y.report(t)
		})
	}
}

// croniterDifferences are the reasons for which croniter differs in UTC.
var croniterDifferences = []explanation{
	{"a step of days counts as a restriction: either day field is enough", "croniter: day_or; Airflow documents it", func(c *comparison) bool {
		return stepOfDays(c.line) && c.us(strings.Join(eitherDay(c.line), " ")).equal(c.theirs)
	}},
	{"a day field that holds every day counts as a star: both must match", "croniter.py: _expand replaces a full list by *", func(c *comparison) bool {
		full := fullStars(c.line)
		return c.us(strings.Join(full, " ")).equal(c.theirs) || c.us(strings.Join(eitherDay(full), " ")).equal(c.theirs)
	}},
	{"a step of days of the month misses days", "croniter.py: _get_next_nearest_diff with the length of the month before; robfig/cron agrees with us", func(c *comparison) bool {
		return strings.HasPrefix(c.line[len(c.line)-3], "*/") && c.theirs.refused == ""
	}},
}

// TestCroniter compares in UTC only: croniter's instants near changes of clocks depend on the
// library of zones that its caller uses.
func TestCroniter(t *testing.T) {
	t.Parallel()
	for kind, fields := range map[schedule.Kind]int{schedule.KindCron5: 5, schedule.KindCron6: 6} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := python(t, "testdata/answer_croniter.py", "apt-get install python3-croniter, or pip install croniter")
			r, all := random(kind), places()
			y := newTally(fmt.Sprintf("croniter %s, %s", w.version, kind), croniterDifferences)
			for range *ruleCount {
				line := drawLine(r, fields)
				start := drawStart(r, all[r.IntN(len(all))])
				us := func(text string) answer { return ours(kind, text, time.UTC, start, instantCount) }
				them := func(text string) answer {
					line := sundayZero(strings.Fields(text))
					if fields == 6 { // the second is last there
						line = append(slices.Clone(line[1:]), line[0])
					}
					return answerOf(w, strings.Join(line, " "), start.Add(-time.Second))
				}
				text := strings.Join(line, " ")
				y.compare(&comparison{text: text, zone: all[0], start: start, line: line, us: us, them: them, ours: us(text), theirs: them(text)})
			}
			y.report(t)
		})
	}
}
