package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// instantCount is the number of instants that are compared.
const instantCount = 20

// answer is what an engine says of a rule.
type answer struct {
	due     []time.Time // ascending, in UTC
	more    bool        // others may follow
	refused string      // why the rule is refused; empty if it is not
	silent  bool        // no answer in time
}

// until returns the answer before an instant.
func (a answer) until(end time.Time) answer {
	if i := slices.IndexFunc(a.due, func(at time.Time) bool { return !at.Before(end) }); i >= 0 {
		a.due, a.more = a.due[:i], true
	}
	return a
}

// equal reports whether two answers agree as far as both go.
func (a answer) equal(b answer) bool {
	if a.refused != "" || b.refused != "" {
		// A rule that is never due is refused here, and an empty list elsewhere.
		return len(a.due) == 0 && len(b.due) == 0 && !a.more && !b.more
	}
	n := min(len(a.due), len(b.due))
	if !slices.EqualFunc(a.due[:n], b.due[:n], time.Time.Equal) {
		return false
	}
	return (len(a.due) == n || b.more) && (len(b.due) == n || a.more)
}

func (a answer) String() string {
	if a.refused != "" {
		return "refused: " + a.refused
	}
	words := make([]string, len(a.due))
	for i, at := range a.due {
		words[i] = at.Format("2006-01-02T15:04:05Z")
	}
	if !a.more {
		words = append(words, "end")
	}
	return strings.Join(words, " ")
}

// ours returns the first instants of a text from a start on.
func ours(kind schedule.Kind, text string, zone *time.Location, start time.Time, n int) answer {
	p, err := schedule.Parse(kind, []byte(text), schedule.Options{Zone: zone.String(), Start: startOf(kind, start), Created: start})
	if err != nil {
		return answer{refused: err.Error()}
	}
	a := answer{more: true}
	for at := start.Add(-time.Second); len(a.due) < n; {
		if at, a.more = p.Next(at); !a.more {
			break
		}
		a.due = append(a.due, at)
	}
	return a
}

// startOf returns the planned start of a rule. A cron line has none.
func startOf(kind schedule.Kind, start time.Time) time.Time {
	if kind == schedule.KindRRule {
		return start
	}
	return time.Time{}
}

// comparison is a rule with the answers of both engines.
type comparison struct {
	text         string
	zone         place
	start        time.Time
	ours, theirs answer
	// us and them ask again, with another text of the rule.
	us, them func(text string) answer
	ask      func(x recurrence) answer
	line     []string   // of a cron line
	rule     recurrence // of kind rrule
}

// explanation is a reason for which another engine differs. applies reports whether it explains a
// comparison. Where possible, it asks one engine for a rule that says what the other one means,
// and compares again.
type explanation struct {
	name, source string
	applies      func(c *comparison) bool
}

// tally counts comparisons.
type tally struct {
	reference   string
	explained   []explanation
	equal       int
	by          map[string]int
	skipped     map[string]int
	unexplained []string
}

// compare counts a comparison.
func (y *tally) compare(c *comparison) {
	switch {
	case c.theirs.silent:
		y.skipped[c.theirs.refused]++
		return
	case c.ours.equal(c.theirs):
		y.equal++
		return
	}
	for _, e := range y.explained {
		if e.applies(c) {
			y.by[e.name]++
			return
		}
	}
	y.unexplained = append(y.unexplained, fmt.Sprintf("%s in %s from %s\n  ours:   %s\n  theirs: %s", c.text, c.zone, c.start.Format(time.RFC3339), c.ours, c.theirs))
}

// report fails the test if a difference has no explanation, and logs the figures.
func (y *tally) report(t *testing.T) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d rules, %d equal", y.reference, *ruleCount, y.equal)
	for _, e := range y.explained {
		if n := y.by[e.name]; n > 0 {
			fmt.Fprintf(&b, "\n  %d explained: %s (%s)", n, e.name, e.source)
		} else if *ruleCount >= 5000 {
			fmt.Fprintf(&b, "\n  never applied: %s (%s)", e.name, e.source)
		}
	}
	for reason, n := range y.skipped {
		fmt.Fprintf(&b, "\n  %d not compared: %s", n, reason)
	}
	fmt.Fprintf(&b, "\n  %d unexplained", len(y.unexplained))
	t.Log(b.String())
	for i, text := range y.unexplained {
		if i == 10 {
			break
		}
		t.Errorf("%s differs without an explanation:\n%s", y.reference, text)
	}
}

func newTally(reference string, explained []explanation) *tally {
	return &tally{reference: reference, explained: explained, by: map[string]int{}, skipped: map[string]int{}}
}

// random returns the source of the rules of a reference: those of one kind are the same for all.
func random(kind schedule.Kind) *rand.Rand {
	seed := *ruleSeed
	for _, c := range string(kind) {
		seed = seed*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, 18))
}

// offset returns the seconds that the clocks of a zone are ahead of UTC.
func offset(zone *time.Location, at time.Time) int {
	_, seconds := at.In(zone).Zone()
	return seconds
}

// candidates returns the instants at which a wall clock shows a clock time: none in a gap, two in
// an overlap. A stamp is a clock time in UTC. before is the offset before the change, if there is
// one.
func candidates(zone *time.Location, stamp time.Time) (list []time.Time, before int) {
	before = offset(zone, stamp.Add(-30*time.Hour))
	for _, seconds := range []int{before, offset(zone, stamp.Add(30*time.Hour))} {
		at := stamp.Add(-time.Duration(seconds) * time.Second)
		if offset(zone, at) == seconds && !slices.ContainsFunc(list, at.Equal) {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list, before
}

// resolve maps ascending clock times to instants from a start on. shift moves clock times out of a
// gap, both takes both passes of an overlap. Instants that further clock times could precede are
// left out.
func resolve(zone *time.Location, stamps []time.Time, more, shift, both bool, start time.Time) answer {
	a := answer{more: more}
	for _, stamp := range stamps {
		found, before := candidates(zone, stamp)
		switch {
		case len(found) == 0 && shift:
			found = []time.Time{stamp.Add(-time.Duration(before) * time.Second)}
		case len(found) == 2 && !both:
			found = found[:1]
		}
		for _, at := range found {
			if !at.Before(start) {
				a.due = append(a.due, at.UTC())
			}
		}
	}
	slices.SortFunc(a.due, time.Time.Compare)
	a.due = slices.CompactFunc(a.due, time.Time.Equal)
	if more && len(stamps) > 0 {
		last := stamps[len(stamps)-1]
		ahead := max(offset(zone, last.Add(-30*time.Hour)), offset(zone, last.Add(30*time.Hour)))
		a = a.until(last.Add(-time.Duration(ahead) * time.Second))
	}
	return a
}

// wall returns the clock time of an instant in a zone, as a stamp.
func wall(zone *time.Location, at time.Time) time.Time {
	return at.Add(time.Duration(offset(zone, at)) * time.Second).UTC()
}

// nearChange reports whether the offset of a zone changes within a duration of an instant.
func nearChange(zone *time.Location, at time.Time, within time.Duration) bool {
	return offset(zone, at.Add(-within)) != offset(zone, at) || offset(zone, at.Add(within)) != offset(zone, at)
}
