package words

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// Text returns the rule in words, with the name of its zone at the end. exact is false if a part of
// it is too long for words: then the text says how many items it has. The text is empty if the rule
// has no instants.
func (r *Rule) Text(zone *time.Location) (text string, exact bool) {
	at := r.At
	switch exact = true; {
	case !r.At.IsZero():
		text = "Once, on " + Instant(r.At, zone)
	case r.Grid != nil && r.OnClock:
		text, exact = r.elapsed(time.UTC) // Base is a clock time
	case r.Grid != nil:
		text, exact = r.elapsed(zone)
		at = time.Unix(r.Grid.Base, 0)
	case r.OnlyWith:
		all, ok := instants(r.With, zone)
		if len(r.With) > 1 {
			all = "On these dates: " + all
		} else {
			all = "Once, on " + all
		}
		text, exact = all, ok
	default:
		text, exact = r.wall()
	}
	if text == "" {
		return "", false
	}
	if !r.Until.IsZero() {
		text += ", ending with " + Instant(r.Until, zone)
	}
	switch {
	case r.Runs == 1:
		text += ", ending after 1 instant"
	case r.Runs > 1:
		text += fmt.Sprintf(", ending after %d instants", r.Runs)
	}
	if !r.Also.IsZero() {
		text += ", and once on " + Instant(r.Also, zone)
		at = r.Also
	}
	if len(r.With) > 0 && !r.OnlyWith {
		all, ok := instants(r.With, zone)
		text, exact = text+", and also on "+all, exact && ok
	}
	if len(r.Without) > 0 {
		all, ok := instants(r.Without, zone)
		text, exact = text+", but not on "+all, exact && ok
	}
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	return text + ", " + Zone(zone, at), exact
}

// wall returns a rule on the wall clock.
func (r *Rule) wall() (text string, exact bool) {
	text, listed, exact := times(r.Times)
	if text == "" {
		return "", false
	}
	if r.Positions != nil {
		if days, ok := r.chosenDays(); ok {
			return text + days, exact
		}
	}
	head, days := r.Days.text()
	if listed && !r.Days.Every.days() && (days == "" || !strings.HasPrefix(days, " on ")) {
		days = " every day" + days
	}
	if text += days; head != "" {
		text = head + ": " + lowered(text)
	}
	if r.Positions == nil {
		return text, exact
	}
	var places []string
	for _, n := range inOrder(r.Positions) {
		places = append(places, nth(n))
	}
	text = "Only the " + Join(places, "and") + " of these times in each " + r.Period + ": " + lowered(text)
	if r.Period == "week" && r.Days.WeekStart != 0 {
		text += " (weeks begin on " + civil.WeekdayNames[r.Days.WeekStart] + ")"
	}
	return text, exact
}

// days reports whether the distance is one of days.
func (e Every) days() bool { return e.N > 1 && e.Unit == "day" }

// lowered returns a sentence for the middle of another one.
func lowered(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// elapsed returns a rule of elapsed time, or of steps on the wall clock.
func (r *Rule) elapsed(zone *time.Location) (text string, exact bool) {
	g := r.Grid
	if r.Moving {
		return "Every " + each(g.Step) + ", counted from the start of the run before, first on " + Instant(time.Unix(g.Base, 0), zone), true
	}
	g = simplified(g)
	base := time.Unix(g.Base, 0)
	text = "Every " + each(g.Step)
	if r.OnClock {
		text += " on the clock"
	} else if zone != time.UTC && g.Step%civil.DaySeconds == 0 {
		text = fmt.Sprintf("Every %d hours", g.Step/3600) // a day may have 23 or 25
	}
	text += ", counted from " + Instant(base, zone)
	if len(g.Offsets) > 0 {
		var list []string
		for _, o := range g.Offsets {
			list = append(list, after(o))
		}
		if len(list) > maxListed {
			list = []string{fmt.Sprintf("%d times", len(list))}
			text += ", each time repeated " + list[0] + " (see the instants)"
			return text, false
		}
		text += ", each time " + Join(list, "and") + " later"
	}
	head, days := r.Days.text()
	if head != "" {
		return "", false
	}
	var only []string
	for _, u := range []struct {
		name      string
		mask, all uint64
	}{{"hour", uint64(r.Hours), uint64(allHours)}, {"minute", r.Minutes, allMinutes}, {"second", r.Seconds, allMinutes}} {
		if u.mask != 0 && u.mask != u.all {
			only = append(only, unit(u.name, u.mask, u.all))
		}
	}
	if len(only) > 0 {
		text += ", only in " + strings.Join(only, " and in ") + " of the clock"
	}
	if days != "" {
		text += ", only" + days
	}
	return text, true
}

// simplified returns a grid without offsets if they only divide its step, or if there is one.
func simplified(g *engine.Grid) *engine.Grid {
	n := int64(len(g.Offsets))
	if n == 0 || g.Step%n != 0 {
		return g
	}
	step := g.Step / n
	for i, o := range g.Offsets {
		if o != g.Offsets[0]+int64(i)*step {
			return g
		}
	}
	return &engine.Grid{Base: g.Base + g.Offsets[0], Step: step, From: g.From}
}

// after returns a length of time after the beginning of a step: "5 minutes", or "5 minutes 40
// seconds".
func after(seconds int64) string {
	if seconds > 60 && seconds%60 != 0 {
		return Length(seconds/60*60) + " " + Length(seconds%60)
	}
	return Length(seconds)
}

// each returns a length of time behind "every": "hour", "2 hours".
func each(seconds int64) string { return strings.TrimPrefix(Length(seconds), "1 ") }

// units are the units of a length of time, the longest first.
var units = []struct {
	name    string
	seconds int64
}{{"week", 7 * civil.DaySeconds}, {"day", civil.DaySeconds}, {"hour", 3600}, {"minute", 60}, {"second", 1}}

// Length returns a length of time in the longest unit that divides it: "90 minutes".
func Length(seconds int64) string {
	if seconds == 0 {
		return "0 minutes"
	}
	for _, u := range units {
		if seconds%u.seconds == 0 {
			if seconds == u.seconds {
				return "1 " + u.name
			}
			return fmt.Sprintf("%d %ss", seconds/u.seconds, u.name)
		}
	}
	return ""
}

// Hours returns a length of time, in hours if it is whole hours: "24 hours".
func Hours(seconds int64) string {
	if seconds%3600 == 0 && seconds > 3600 {
		return fmt.Sprintf("%d hours", seconds/3600)
	}
	return Length(seconds)
}

// Steps returns the rule of a clock time every few months (engine.Steps).
func Steps(p *engine.Steps) *Rule {
	w := &Rule{
		Times: engine.Times{List: []int32{int32(p.Second)}},
		Days:  Days{MonthDays: Values([]int{p.Start.Day}), OrLast: true, Every: Every{N: int64(p.Months), Unit: "month", From: p.Start}},
	}
	if p.Months%12 == 0 {
		w.Days.Months, w.Days.OrLast = 1<<p.Start.Month, p.Start.Month == time.February && p.Start.Day == 29
		w.Days.Every.N, w.Days.Every.Unit = int64(p.Months/12), "year"
	}
	return w
}

// DaysApart returns the rule of a clock time every n days in UTC.
func DaysApart(start time.Time, n int64) *Rule {
	day := civil.FloorDiv(start.Unix(), civil.DaySeconds)
	w := &Rule{
		Times: engine.Times{List: []int32{int32(civil.FloorMod(start.Unix(), civil.DaySeconds))}},
		Days:  Days{Every: Every{N: n, Unit: "day", From: civil.DateOf(day)}},
	}
	if n%7 == 0 {
		weekday := civil.Weekday(day)
		w.Days.Weekdays = 1 << weekday
		w.Days.Every = Every{N: n / 7, Unit: "week", From: civil.DateOf(day - int64(weekday))}
	}
	return w
}

// Begins reports whether the text says from when the rule holds, so that a start need not be said:
// its days or steps are counted from it.
func (r *Rule) Begins(start time.Time, zone *time.Location) bool {
	switch at := start.Unix(); {
	case !r.At.IsZero() || r.OnlyWith:
		return true
	case r.Grid != nil && !r.OnClock:
		return at <= simplified(r.Grid).Base
	case r.Grid != nil:
		return civil.Seconds(start.In(zone)) <= simplified(r.Grid).Base
	}
	if !r.Days.Every.days() {
		return false
	}
	now := civil.Seconds(start.In(zone))
	all := r.Times.All()
	return len(all) > 0 && r.Days.Every.From.DayNumber()*civil.DaySeconds+int64(slices.Min(all)) >= now
}
