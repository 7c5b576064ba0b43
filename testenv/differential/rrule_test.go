package differential

import (
	"slices"
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
	return 2_000
}

// stamps asks a reference for a rule as clock times, and maps these to instants as the engine's
// design says: rules with the unit of a day or more are fixed (gap: later, overlap: the first); below
// the day a rule without parts is elapsed time, and one with parts matches the wall clock.
func (c *comparison) stamps(w *worker, x recurrence) answer {
	zone, elapsed := c.zone.Location, x.belowDay() && !x.limited()
	if elapsed {
		zone = time.UTC
	}
	n := instantCount
	if x.belowDay() && len(c.zone.changes) > 0 && !elapsed {
		n = 10 * instantCount // an overlap repeats hours of them
	}
	stamps, more, err := w.ask(x.String(), wall(zone, c.start), n)
	if err != nil {
		return answer{refused: err.Error(), silent: err == errTimeout}
	}
	everyMatch := x.belowDay() && x.step() <= time.Hour
	return resolve(zone, stamps, more, !everyMatch, everyMatch, c.start)
}

// mixed reports whether BYDAY has weekdays with and without numbers.
func mixed(x recurrence) bool {
	numbered := func(day string) bool { return len(day) > 2 }
	return slices.ContainsFunc(x.parts["BYDAY"], numbered) && !slices.ContainsFunc(x.parts["BYDAY"], func(day string) bool { return !numbered(day) })
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

// recurrenceTest compares one reference.
func recurrenceTest(t *testing.T, name string, w *worker, explained []explanation) {
	t.Helper()
	r, all := random(schedule.KindRRule), places()
	y := newTally(name+" "+w.version+", rrule", explained)
	for range *ruleCount {
		x := drawRecurrence(r)
		zone := all[r.IntN(len(all))]
		start := drawStart(r, zone)
		c := &comparison{text: x.String(), zone: zone, start: start, rule: x}
		c.us = func(text string) answer { return ours(schedule.KindRRule, text, zone.Location, start, instantCount) }
		c.ours = c.us(c.text)
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
	recurrenceTest(t, "teambition/rrule-go", library(t, "rrule-go"), dateutilDifferences)
}

func TestDateutil(t *testing.T) {
	t.Parallel()
	recurrenceTest(t, "dateutil", python(t, "testdata/answer_dateutil.py", "apt-get install python3-dateutil, or pip install python-dateutil"), dateutilDifferences)
}

func TestLibical(t *testing.T) {
	t.Parallel()
	recurrenceTest(t, "libical", libical(t), libicalDifferences)
}

// dateutilDifferences are the reasons for which dateutil and its ports differ.
var dateutilDifferences = []explanation{}

// libicalDifferences are the reasons for which libical differs.
var libicalDifferences = []explanation{}

var _ = strings.Join
