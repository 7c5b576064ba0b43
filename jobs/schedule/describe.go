package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// Description is a schedule in English words, made from the parsed rule.
type Description struct {
	// Text says when the schedule is due: "At 02:00 and 14:00 on the first Monday of the month,
	// Europe/Berlin". It ends without a full stop. A rule without exact words has the text of its
	// specification instead.
	Text string
	// Exact reports whether Text is in words, and leaves nothing out.
	Exact bool
	// Clocks says what happens when clocks change; empty if it makes no difference.
	Clocks string
	// Notes says what may be misread, one sentence each.
	Notes []string
}

// Describe parses a specification and describes it. Calendars are named and not read, so that
// opts.Calendars is not needed. The error is a *Error.
func Describe(kind Kind, spec []byte, opts Options) (Description, error) {
	opts.Uncounted, opts.anyCalendar = true, true
	if opts.Created.IsZero() && opts.assumed.IsZero() {
		opts.assumed = opts.Start
	}
	plan, err := Parse(kind, spec, opts)
	if err != nil {
		return Description{}, err
	}
	return plan.Describe(), nil
}

// Describe describes the plan.
func (p *Plan) Describe() Description {
	if p.describe != nil {
		if d := p.describe(); d.Text != "" {
			d.Notes = slices.DeleteFunc(d.Notes, p.warned)
			return d
		}
	}
	return Description{Text: fmt.Sprintf("By the rule of the kind %s: %s, %s", p.Kind, p.text, words.Zone(p.Zone, time.Unix(0, 0)))}
}

// warned reports whether a warning of the plan says the same as a note.
func (p *Plan) warned(note string) bool {
	return (strings.HasPrefix(note, "Either is enough") || strings.HasPrefix(note, "Both must match")) &&
		slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "both") && strings.Contains(w, "day") })
}

// DescribeElastic describes the schedule of jobs.sp_add_job. All its times are in UTC. A Start in
// the year 1 means that the intervals are counted from an activation that is not known.
func DescribeElastic(e Elastic) Description {
	if e.Start.UTC().Year() <= 1 && e.Validate() == nil {
		unit := strings.ToLower(string(e.Interval))
		text := fmt.Sprintf("Every %d %s", e.Count, unit)
		if e.Count == 1 {
			text = "Every " + strings.TrimSuffix(unit, "s")
		}
		if e.Interval == Once {
			text = "Once, when it is enabled"
		} else {
			text += ", counted from the time at which it is enabled"
		}
		text += ", UTC"
		if !e.End.IsZero() {
			text += "; until " + words.Instant(e.End, time.UTC)
		}
		return Description{Text: text, Exact: true}
	}
	rule := e.Words()
	if rule == nil || e.Validate() != nil {
		return Description{Text: fmt.Sprintf("Every %d × %s (not a valid interval)", e.Count, e.Interval)}
	}
	return describe(rule, time.UTC, nil, bounds{end: e.End, start: e.Start})
}

// bounds are the limits of a schedule in a description.
type bounds struct {
	start, end time.Time
	count      int64
	blackouts  []string
	deferred   bool
	jitter     time.Duration
}

func describe(rule *words.Rule, zone *time.Location, wall *engine.Wall, b bounds) Description {
	text, exact := rule.Text(zone)
	if text == "" {
		return Description{}
	}
	d := Description{Exact: exact, Notes: rule.Notes()}
	if first := firstWhole(b.start); !b.start.IsZero() && !rule.Begins(first, zone) {
		text += "; from " + words.Instant(first, zone)
	}
	if !b.end.IsZero() {
		text += "; until " + words.Instant(b.end, zone)
	}
	switch {
	case b.count == 1:
		text += "; 1 run"
	case b.count > 1:
		text += fmt.Sprintf("; %d runs", b.count)
	}
	if len(b.blackouts) > 0 {
		what := "; not during "
		if b.deferred {
			what = "; put off to the end of "
		}
		text += what + words.Join(b.blackouts, "and")
	}
	if b.jitter > 0 {
		text += "; each run starts up to " + jitterWords(b.jitter) + " later"
	}
	d.Text = text
	switch {
	case wall != nil:
		d.Clocks = clocks(wall)
	case rule.Grid != nil && !fixedOffset(zone):
		d.Clocks = "The distance is elapsed time: a change of clocks does not alter it."
	}
	return d
}

// jitterWords returns a length of time, which may have a fraction of a second.
func jitterWords(d time.Duration) string {
	if d%time.Second != 0 {
		return d.String()
	}
	return words.Length(int64(d / time.Second))
}

// The changes of clocks that are searched for a clock time of a rule. Zones without listed changes
// repeat the same rule, of which the days of the week repeat within 28 years.
var (
	firstChange = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	lastChange  = time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// clocks says what a rule on the wall clock does at changes of clocks: with clock times that do not
// exist, and with those that occur twice, if the rule has any.
func clocks(wall *engine.Wall) string {
	if fixedOffset(wall.Zone) {
		return ""
	}
	skipped, repeated := wall.Touched(firstChange, lastChange)
	var said []string
	if skipped {
		said = append(said, "When clocks go forward, "+map[Gap]string{
			GapShift: "a clock time that does not exist is moved forward by as much as the clocks",
			GapSkip:  "a clock time that does not exist is left out",
			GapAtEnd: "clock times that do not exist become one run when the clocks have changed",
		}[wall.Gap]+".")
	}
	if repeated {
		said = append(said, "When they go back, "+map[Overlap]string{
			OverlapFirst:  "a clock time that occurs twice counts the first time",
			OverlapSecond: "a clock time that occurs twice counts the second time",
			OverlapBoth:   "a clock time that occurs twice counts both times",
		}[wall.Overlap]+".")
	}
	if !skipped && repeated {
		said[0] = strings.Replace(said[0], "they", "clocks", 1)
	}
	return strings.Join(said, " ")
}

// fixedOffset reports whether a zone is known to have one offset at all times.
func fixedOffset(zone *time.Location) bool {
	return zone == time.UTC || zone.String() == "" || zone.String() == "UTC" || strings.HasPrefix(zone.String(), "Etc/")
}

// prepareWords lets the plan describe itself when it is asked.
func (p *planner) prepareWords(spec []byte) {
	p.plan.text = strings.TrimSpace(string(spec))
	if p.Words == nil {
		return
	}
	b := bounds{start: p.Start, end: p.End, count: p.Count, jitter: p.plan.Jitter}
	if p.blackouts != nil {
		b.blackouts, b.deferred = p.blackouts.names, p.blackouts.deferred
	}
	switch counted := p.Count > 0 || p.Words.Runs > 0; {
	case !p.Words.Also.IsZero(), p.StartCreated && !counted:
		b.start = time.Time{} // the rule begins with that instant, or with its creation
	}
	zone := p.Zone
	if p.plan.Kind == KindElastic {
		zone = time.UTC
	}
	p.plan.describe = func() Description { return describe(p.Words, zone, p.OnWall, b) }
}
