package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/azurescheduler"
	"github.com/jobagent/jobagent/jobs/schedule/internal/cron"
	"github.com/jobagent/jobagent/jobs/schedule/internal/elastic"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/rrule"
	"github.com/jobagent/jobagent/jobs/schedule/internal/sap"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Options holds values that a specification may omit. An element of the specification takes
// precedence.
type Options struct {
	// Start is the planned start (startTime, DTSTART, the anchor of an interval); zero means none.
	// azure-scheduler reads hours and days in the offset of Start (D-A2).
	Start time.Time
	// Zone is the IANA name of the zone for clock times. Empty means UTC, or for azure-scheduler
	// the offset of the start. Only azure-scheduler accepts an offset such as -08:00.
	Zone string
	// Created is the time at which the schedule was created; zero if unknown. "tomorrow at 4pm", a
	// missing start and a time that had already passed depend on it.
	Created time.Time
	// Activated is the time at which the schedule was enabled. Zero means at its creation. Earlier
	// due instants are dropped (D-P7, D-S16). SAP's repeatInterval runs once at the activation.
	Activated time.Time
	// LastStarted is the actual start of the last run of SAP's repeatInterval; zero means no run
	// yet. The next run is one interval later (D-S15).
	LastStarted time.Time
	// MinInterval is the smallest allowed distance between two instants within a year (D-S6). Zero
	// means no limit.
	MinInterval time.Duration
	// Calendars holds the calendars that blackouts may name. BrokenCalendars holds the faults of
	// the calendars that cannot be parsed.
	Calendars       map[string]*Calendar
	BrokenCalendars map[string][]Fault
	// Uncounted means that the plan does not end at its count. The caller enforces Plan.Count,
	// because only instants that became runs count (D-P3).
	Uncounted bool
	// Stored means that an agent has accepted the specification before, perhaps one of an older
	// release. Values that contradict each other are then warnings: the schedule goes on with the
	// value that the older release used.
	Stored bool

	// assumed replaces Created where a kind needs one; a preview sets it to its "after".
	assumed time.Time
	// today is the creation time assumed by a preview that has neither a start nor an "after".
	today time.Time
	// anyCalendar means that calendars are taken as they are named, without their windows.
	anyCalendar bool
	// probing reports whether the text is a proposal under test.
	probing bool
}

// Plan is a parsed specification: a schedule and its policies.
type Plan struct {
	// Kind is the kind of the specification.
	Kind Kind
	// Zone is the zone of clock times. Elapsed intervals use it only for display.
	Zone *time.Location
	// Start is the planned start, in UTC; zero means none.
	Start time.Time
	// CatchUp is the policy for missed runs.
	CatchUp CatchUp
	// Jitter is the longest delay of a run after its due instant; see Delay.
	Jitter time.Duration
	// Count is the number of runs of the schedule; 0 means no limit. Without Options.Uncounted, the
	// plan ends with the Count-th instant from its start, as if each instant became a run.
	Count int64
	// Warnings names parts of the specification with a meaning that may surprise the reader, one
	// sentence each.
	Warnings []string
	// Assumptions says what was taken for parts that the text leaves open, one sentence each.
	Assumptions []string

	schedule Schedule
	// mover is the inner schedule if a late run moves the runs after it. It is nil for all other
	// schedules.
	mover engine.Mover
	// firstStarted is the actual start of the first run, for previews; zero means on time.
	firstStarted time.Time
	outage       *Outage
	// inclusive reports whether a due instant was derived from Options.assumed. An instant equal to
	// assumed is then due.
	inclusive bool
	// end is the end in the specification; zero means none.
	end time.Time
	// describe returns the description; nil if there is none. text is the specification.
	describe func() Description
	text     string
	// walls are its rules on wall clocks.
	walls []wallPart
	// blackouts are the times at which no run starts; nil means none.
	blackouts *blackouts
	// bound applies the bounds, the blackouts and the end by count to the schedule that follows
	// from an actual start.
	bound func(Schedule) Schedule
}

// Next returns the earliest due instant strictly after the given one, in UTC. It returns false if
// there is none.
func (p *Plan) Next(after time.Time) (time.Time, bool) { return p.schedule.Next(after) }

// Started returns the plan that follows from the actual start, at, of the run for the instant due.
// The result differs from p only for SAP's repeatInterval, whose next run is one interval after at
// (D-S15).
func (p *Plan) Started(due, at time.Time) *Plan {
	if p.mover == nil || !at.After(due) {
		return p
	}
	moved := *p
	moved.mover = p.mover.StartedAt(due, at)
	moved.schedule = p.bound(moved.mover)
	return &moved
}

// Moves reports whether a run that starts late moves the runs after it, as SAP's repeatInterval
// does.
func (p *Plan) Moves() bool { return p.mover != nil }

// Parse parses a specification of the given kind. The text is a JSON object in the form of its
// system. It may also contain the elements that are common to all kinds: timeZone, gap, overlap,
// activatedAt, createdAt, outage, catchUp, jitter, blackouts. The kinds of one line (cron5, cron6,
// quartz, rrule) also accept the bare line. The error is a *Error with every fault of the text. A
// text of another kind or language has one fault, which names it; see Recognize.
func Parse(kind Kind, spec []byte, opts Options) (*Plan, error) {
	plan, err := parse(kind, spec, opts)
	if err != nil && !opts.probing {
		if fault, ok := recognized(kind, spec, opts, err); ok {
			return nil, &Error{Faults: []Fault{fault}}
		}
	}
	return plan, err
}

// parse parses a specification without recognition of other languages.
func parse(kind Kind, spec []byte, opts Options) (*Plan, error) {
	p, err := newPlanner(kind, spec, opts)
	if err != nil {
		return nil, err
	}
	p.readCommon()
	inner := p.dialect.Read(p.Parser)
	names, words := p.dialect.Elements, syntax.Synonyms
	if p.dialect.Names != nil {
		names, words = p.dialect.Names(p.Reader)
	}
	p.Reader.RefuseOthers(slices.Concat(names, commonElements), words)
	if inner != nil && len(p.Faults.List) == 0 {
		if !opts.probing {
			p.prepareWords(spec)
		}
		p.finish(inner)
	}
	if err := p.Faults.Err(); err != nil {
		if !opts.probing {
			err = verified(kind, spec, opts, err)
		}
		return nil, err
	}
	return p.plan, nil
}

func kindNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return names
}

// dialects holds the dialect of each kind.
var dialects = map[Kind]*syntax.Dialect{
	KindElastic: &elastic.Dialect, KindAzureScheduler: &azurescheduler.Dialect, KindSAP: &sap.Dialect,
	KindCron5: &cron.Cron5, KindCron6: &cron.Cron6, KindQuartz: &cron.Quartz, KindRRule: &rrule.Dialect,
}

// commonElements are the elements that every kind accepts in addition to its own.
var commonElements = []string{"timeZone", "gap", "overlap", "createdAt", "activatedAt", "outage", "catchUp", "jitter", "blackouts"}

// planner turns a specification into a plan. It parses the common elements, lets the dialect parse
// the others, and applies bounds, blackouts and the count to the result.
type planner struct {
	*syntax.Parser
	dialect   *syntax.Dialect
	opts      Options
	plan      *Plan
	blackouts *blackouts
}

// newPlanner parses the JSON of a specification. The error is a *Error.
func newPlanner(kind Kind, spec []byte, opts Options) (*planner, error) {
	opts.Created, opts.Activated = opts.Created.Truncate(time.Second), opts.Activated.Truncate(time.Second)
	opts.assumed = opts.assumed.Truncate(time.Second)
	p := &planner{dialect: dialects[kind], opts: opts, plan: &Plan{Kind: kind}, Parser: &syntax.Parser{
		Faults: &syntax.Faults{}, PlannedStart: opts.Start, Created: opts.Created, Activated: opts.Activated, Assumed: opts.assumed, Today: opts.today, Stored: opts.Stored,
	}}
	if p.dialect == nil {
		p.Faults.Add("kind", syntax.Quote(string(kind)), "one of "+strings.Join(kindNames(), ", "), suggest.Nearest(string(kind), kindNames()))
		return nil, p.Faults.Err()
	}
	object, err := p.dialect.Open(spec)
	if err != nil {
		return nil, err
	}
	p.Reader = syntax.Reader{Object: object, Faults: p.Faults}
	if !opts.probing {
		p.Try, p.OtherKinds = p.tryAs(kind), otherKinds(kind, opts)
	}
	return p, nil
}

// tryAs returns the function Parser.Try for a kind. It uses the start that is known at the time of
// the call.
func (p *planner) tryAs(kind Kind) func(element, text string) bool {
	return func(element, text string) bool {
		_, err := Parse(kind, []byte("{"+syntax.Quote(element)+":"+syntax.Quote(text)+"}"), Options{Start: p.Start, probing: true})
		return err == nil
	}
}

// readCommon parses the elements that every kind accepts.
func (p *planner) readCommon() {
	p.ReadZone(p.opts.Zone, p.dialect.TakesOffset)
	if v := p.Reader.Take("gap"); v != nil {
		p.Gap = Gap(p.OneOf(v, string(GapShift), string(GapSkip), string(GapAtEnd)))
	}
	if v := p.Reader.Take("overlap"); v != nil {
		p.Overlap = Overlap(p.OneOf(v, string(OverlapFirst), string(OverlapSecond), string(OverlapBoth)))
	}
	p.Created = p.Instant("createdAt", p.Created)
	p.Activated = p.Instant("activatedAt", p.Activated)
	if v := p.Reader.Take("catchUp"); v != nil {
		if text, ok := p.Reader.Text(v, catchUpForms); ok {
			c, err := ParseCatchUp(text)
			p.MergeAt(v.Path(), err)
			p.plan.CatchUp = c
		}
	}
	if v := p.Reader.Take("outage"); v != nil {
		p.plan.outage = p.readOutage(v)
	}
	if v := p.Reader.Take("jitter"); v != nil {
		if text, ok := p.Reader.Text(v, syntax.DurationForms); ok {
			d, err := syntax.ParseDuration(text)
			if err != nil || d < 0 {
				p.Faults.Add(v.Path(), v.JSON(), syntax.DurationForms, syntax.DurationProposal(text))
			}
			p.plan.Jitter = d
		}
	}
	if v := p.Reader.Take("blackouts"); v != nil {
		p.blackouts = p.readBlackouts(v)
	}
}

// finish bounds a schedule by its start, blackouts, count and end, and completes the plan.
func (p *planner) finish(inner Schedule) {
	first := p.Start
	if !p.dialect.KeepsPast {
		for _, t := range []time.Time{p.Created, p.Activated} {
			if !t.IsZero() && t.After(first) {
				first = t
			}
		}
	}
	plan := p.plan
	plan.Zone, plan.Start, plan.blackouts = p.Zone, p.Start, p.blackouts
	if !plan.Start.IsZero() {
		plan.Start = plan.Start.UTC()
	}
	first = firstWhole(first)
	end := p.End
	bound := func(s Schedule) Schedule {
		if !first.IsZero() || !end.IsZero() {
			s = engine.Bounded{Inner: s, First: first, Last: end}
		}
		if p.blackouts != nil {
			s = &blackedOut{inner: s, blackouts: p.blackouts, last: end}
		}
		return s
	}
	schedule := bound(inner)
	if p.blackouts != nil && !p.leavesSome(schedule, first) {
		p.Faults.Add("blackouts", syntax.Quote("blackouts"), "windows that leave a due instant; these leave none", "")
		return
	}
	plan.Count, plan.end, plan.Warnings = p.Count, end, fewWarnings(p.Warnings, maxWarnings)
	plan.Assumptions = p.Assumptions
	plan.firstStarted, plan.inclusive = p.FirstStarted, p.AssumedUsed
	if p.Count > 0 && !p.opts.Uncounted {
		from := first
		if from.IsZero() {
			if from = p.opts.assumed; from.IsZero() {
				p.Faults.Add("count", fmt.Sprint(p.Count), "a count with a start, from which the runs are counted", "")
				return
			}
		}
		if !engine.Countable(schedule, from, end, p.Count) {
			p.Faults.Add("count", fmt.Sprint(p.Count), fmt.Sprintf("at most %d for a schedule of this form", engine.MaxEnumerated), "")
			return
		}
		counted, uncounted := engine.First(schedule, from, p.Count), bound
		schedule = counted
		bound = func(s Schedule) Schedule { return engine.Cut{Inner: uncounted(s), Count: counted} }
	}
	plan.schedule, plan.bound = schedule, bound
	plan.walls = wallsOf(inner, bound)
	plan.mover, _ = inner.(engine.Mover)
	if plan.mover != nil && !p.opts.LastStarted.IsZero() {
		plan.mover = plan.mover.StartedAt(p.opts.LastStarted, p.opts.LastStarted)
		plan.schedule = bound(plan.mover)
	}
	p.checkInterval()
}

// leavesSome reports whether any instant is due outside of the blackouts. A schedule without a
// start is searched from the year 2000.
func (p *planner) leavesSome(s Schedule, first time.Time) bool {
	if first.IsZero() {
		if first = p.opts.assumed; first.IsZero() {
			first = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	if b, ok := s.(*blackedOut); ok {
		if _, due := b.inner.Next(first.Add(-time.Nanosecond)); !due {
			return true // the schedule ends even without the blackouts
		}
	}
	_, due := s.Next(first.Add(-time.Nanosecond))
	return due
}

// firstWhole returns the first whole second at or after t.
func firstWhole(t time.Time) time.Time {
	if t.Nanosecond() == 0 {
		return t
	}
	return t.Truncate(time.Second).Add(time.Second)
}

// checkInterval checks that no two instants within a year are closer together than MinInterval
// (D-S6).
func (p *planner) checkInterval() {
	if p.opts.MinInterval <= 0 {
		return
	}
	after := p.plan.Start
	if after.IsZero() {
		if after = p.opts.assumed; after.IsZero() {
			after = p.Created
		}
	}
	last, ok := p.plan.Next(after.Add(-time.Nanosecond))
	if !ok {
		return
	}
	for end := last.AddDate(1, 0, 0); last.Before(end); {
		next, ok := p.plan.Next(last)
		if !ok {
			return
		}
		if gap := next.Sub(last); gap < p.opts.MinInterval {
			p.Faults.Add("", syntax.Quote(gap.String()), fmt.Sprintf("at least %s between two runs; %s and %s are closer",
				p.opts.MinInterval, last.Format(time.RFC3339), next.Format(time.RFC3339)), "")
			return
		}
		last = next
	}
}
