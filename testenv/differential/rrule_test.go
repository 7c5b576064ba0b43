package differential

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// searchSteps bounds the periods that a reference must walk through, because the references walk
// from the start. More rules are compared in a large run.
func searchSteps() int64 {
	if *ruleCount > 500 {
		return 30_000
	}
	return 100
}

// stamps asks a reference for a rule as clock times, and maps these to instants as the engine's
// design says: rules with the unit of a day or more are fixed (gap: later, overlap: the first);
// below the day a rule without parts is elapsed time, and one with parts matches the wall clock.
func (c *comparison) stamps(w *worker, x recurrence) answer {
	zone, elapsed := c.zone.Location, x.belowDay() && !x.limited()
	if elapsed {
		zone = time.UTC
	}
	n := instantCount
	if x.belowDay() && !elapsed && nearChange(zone, c.start, 72*time.Hour) {
		n = 3 * instantCount // an overlap repeats hours of them
	}
	stamps, more, err := w.ask(x.sorted().String(), wall(zone, c.start), n)
	if err != nil {
		return answer{refused: err.Error(), silent: errors.Is(err, errTimeout)}
	}
	everyMatch := x.belowDay() && x.step() <= time.Hour
	return resolve(zone, stamps, more, !everyMatch, everyMatch, c.start)
}

// mixed reports whether BYDAY has weekdays with and without numbers.
func mixed(x recurrence) bool {
	numbered := func(day string) bool { return len(day) > 2 }
	return slices.ContainsFunc(x.parts["BYDAY"], numbered) && slices.ContainsFunc(x.parts["BYDAY"], func(day string) bool { return !numbered(day) })
}

// union returns the instants of two answers.
func union(a, b answer) answer {
	all := answer{due: slices.Concat(a.due, b.due), more: a.more || b.more, refused: a.refused + b.refused}
	slices.SortFunc(all.due, time.Time.Compare)
	all.due = slices.CompactFunc(all.due, time.Time.Equal)
	for _, x := range []answer{a, b} {
		if x.more && len(x.due) > 0 {
			all = all.until(x.due[len(x.due)-1].Add(time.Second))
		}
	}
	return all
}

// outside returns an answer without the instants that drop accepts.
func (a answer) outside(drop func(at time.Time) bool) answer {
	a.due = slices.DeleteFunc(slices.Clone(a.due), drop)
	return a
}

// recurrenceTest compares one reference, up to a number of years after the start.
func recurrenceTest(t *testing.T, name string, w *worker, years int, explained []explanation) {
	t.Helper()
	r, all := random(schedule.KindRRule), places()
	y := newTally(name+" "+w.version+", rrule", explained)
	rules := *ruleCount
	if other := !strings.Contains(name, "rrule-go"); other && rules == 500 {
		rules = 100 // processes of Python and C need most of the time of the default run
	}
	for range rules {
		x := drawRecurrence(r)
		zone := all[r.IntN(len(all))]
		start := drawStart(r, zone)
		c := &comparison{text: x.String(), zone: zone, start: start, rule: x}
		c.us = func(text string) answer { return ours(schedule.KindRRule, text, zone.Location, start, instantCount) }
		c.ours = c.us(c.text).until(start.AddDate(years, 0, 0))
		last := start.AddDate(400, 0, 0)
		if n := len(c.ours.due); n > 0 {
			last = c.ours.due[n-1]
		}
		if !c.ours.more || len(c.ours.due) == 0 {
			last = start.AddDate(8000, 0, 0)
		}
		if (last.Unix()-start.Unix())/int64(x.step()/time.Second) > searchSteps() {
			y.skipped["a reference that walks from the start needs too long"]++
			continue
		}
		c.them = func(string) answer { return c.stamps(w, x) }
		c.ask = func(x recurrence) answer { return c.stamps(w, x) }
		c.theirs = c.ask(x)
		y.compare(c)
	}
	y.report(t)
}

func TestRRuleGo(t *testing.T) {
	t.Parallel()
	// Without UNTIL, it ends after the longest time.Duration: rrule.go, buildRRule.
	recurrenceTest(t, "teambition/rrule-go", library(t, "rrule-go"), 290, dateutilDifferences)
}

func TestDateutil(t *testing.T) {
	t.Parallel()
	recurrenceTest(t, "dateutil", python(t, "testdata/answer_dateutil.py", "apt-get install python3-dateutil, or pip install python-dateutil"), 9999, dateutilDifferences)
}

func TestLibical(t *testing.T) {
	t.Parallel()
	w := libical(t)
	other := library(t, "rrule-go")
	recurrenceTest(t, "libical", w, 9999, append(libicalDifferences, explanation{
		"rrule-go agrees with us", "the weeks of WEEKLY with INTERVAL, BYHOUR with HOURLY and INTERVAL, numbered BYDAY with BYMONTHDAY", func(c *comparison) bool {
			again := *c
			again.ours = c.ours.until(c.start.AddDate(290, 0, 0))
			again.ask = func(x recurrence) answer { return c.stamps(other, x) }
			again.theirs = again.ask(c.rule)
			return again.ours.equal(again.theirs) || slices.ContainsFunc(dateutilDifferences, func(e explanation) bool { return e.applies(&again) })
		},
	}))
}

// dateutilDifferences are the reasons for which dateutil and its ports differ.
var dateutilDifferences = []explanation{
	{"weekdays with and without numbers: both lists must match", "dateutil rrule.py: byweekday and bynweekday filter one after the other; RFC 5545 3.3.10 has one list", func(c *comparison) bool {
		if !mixed(c.rule) {
			return false
		}
		var plain, numbered []string
		for _, day := range c.rule.parts["BYDAY"] {
			if len(day) > 2 {
				numbered = append(numbered, day)
			} else {
				plain = append(plain, day)
			}
		}
		return c.rule.has("BYSETPOS") || union(c.ask(c.rule.with("BYDAY", plain...)), c.ask(c.rule.with("BYDAY", numbered...))).equal(c.ours)
	}},
	{"BYWEEKNO without BYDAY is the whole week; RFC 5545 takes the weekday of DTSTART (B2)", "dateutil rrule.py: byweekday is set only without byweekno", func(c *comparison) bool {
		return c.rule.has("BYWEEKNO") && !c.rule.has("BYDAY") && c.ask(c.rule.with("BYDAY", startDay(c))).equal(c.ours)
	}},
	{"BYSETPOS counts from DTSTART in the first period, not from its beginning", "RFC 5545 3.3.10: one interval of the recurrence rule; dateutil begins its first set at DTSTART", func(c *comparison) bool {
		first := func(at time.Time) bool { return at.Sub(c.start) < 8*24*time.Hour }
		return c.rule.freq == "WEEKLY" && c.rule.has("BYSETPOS") && c.ours.outside(first).equal(c.theirs.outside(first))
	}},
	{"weeks at new year belong to the calendar year of their days", "dateutil rrule.py: rebuild of a year counts weeks 52 and 53 of its own days", func(c *comparison) bool {
		newYear := func(at time.Time) bool {
			local := wall(c.zone.Location, at)
			return local.YearDay() < 8 || local.AddDate(0, 0, 7).Year() > local.Year()
		}
		return c.rule.has("BYWEEKNO") && c.ours.outside(newYear).equal(c.theirs.outside(newYear))
	}},
}

// startDay returns the weekday of a rule's start, as in BYDAY.
func startDay(c *comparison) string {
	return byDayNames[(int(wall(c.zone.Location, c.start).Weekday())+6)%7]
}

// libicalDifferences are the reasons for which libical differs.
var libicalDifferences = []explanation{
	{"refuses the combination of parts", "libical 3 icalrecur.c: expand map, ICAL_MALFORMEDDATA_ERROR", func(c *comparison) bool { return c.theirs.refused != "" }},
	{"BYWEEKNO without BYDAY takes days of its own", "libical 3 icalrecur.c: expand_by_day of other weeks; RFC 5545 takes the weekday of DTSTART (B2)", func(c *comparison) bool {
		return c.rule.has("BYWEEKNO") && !c.rule.has("BYDAY")
	}},
	{"BYSETPOS counts days of months and years only, elsewhere it is ignored", "libical 3 icalrecur.c: check_setpos; RFC 5545 3.3.10", func(c *comparison) bool { return c.rule.has("BYSETPOS") }},
	{"negative days of months and years are no filters", "libical 3 icalrecur.c: check_contract_restriction compares numbers", func(c *comparison) bool {
		y := c.rule
		for _, part := range []string{"BYMONTHDAY", "BYYEARDAY"} {
			y = y.with(part, slices.DeleteFunc(slices.Clone(y.parts[part]), func(n string) bool { return n[0] == '-' })...)
		}
		return y.String() != c.rule.String() && (c.us(y.String()).equal(c.theirs) || !c.theirs.more)
	}},
	{"YEARLY with BYMONTHDAY alone keeps the month of DTSTART", "libical 3 icalrecur.c: setup_defaults; RFC 5545 3.3.10: BYMONTHDAY expands", func(c *comparison) bool {
		month := strconv.Itoa(int(wall(c.zone.Location, c.start).Month()))
		return c.rule.freq == "YEARLY" && c.rule.has("BYMONTHDAY") && !c.rule.has("BYMONTH") && c.us(c.rule.with("BYMONTH", month).String()).equal(c.theirs)
	}},
	{"below the day, the first period is not searched from its beginning", "libical 3 icalrecur.c: next_hour, next_minute keep the smaller units of DTSTART", func(c *comparison) bool {
		early := func(at time.Time) bool { return len(c.ours.due) > 0 && at.Sub(c.ours.due[0]) < 24*time.Hour }
		return c.rule.belowDay() && c.ours.outside(early).equal(c.theirs.outside(early))
	}},
}
