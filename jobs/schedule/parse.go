package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options is what a specification does not say itself. What it does say wins.
type Options struct {
	// Start is the planned start (startTime, DTSTART, the anchor of an interval); zero: none. The offset
	// that it carries is the one in which azure-scheduler reads hours and days (D-A2).
	Start time.Time
	// Zone is the IANA name of the zone for clock times; empty: UTC, or for azure-scheduler the offset of
	// the start. An offset such as -08:00 is taken for azure-scheduler only.
	Zone string
	// Created is when the schedule was made; zero: unknown. What depends on it is said at the kinds:
	// "tomorrow at 4pm", a missing start, a time that had passed already.
	Created time.Time
	// Activated is when the schedule was switched on; zero: when it was created. What was due earlier is
	// dropped (D-P7, D-S16), but see SAP's repeatInterval.
	Activated time.Time
	// LastStarted is when the last run of SAP's repeatInterval really started; zero: no run yet. The next
	// is one interval later (D-S15).
	LastStarted time.Time
	// MinInterval refuses schedules of which two instants are closer together within a year (D-S6); 0: no limit.
	MinInterval time.Duration
	// Calendars are the calendars that blackouts may name, and BrokenCalendars the faults of those that cannot be read.
	Calendars       map[string]*Calendar
	BrokenCalendars map[string][]Fault
	// Uncounted leaves a count to the caller (Plan.Count): the plan goes on after it. It is for whoever
	// knows which instants became runs, since only those count (D-P3).
	Uncounted bool

	// assumed stands in for Created where a kind cannot do without; a preview takes its "after".
	assumed time.Time
	// today is when a preview is made that is told neither a start nor a moment to list from: a schedule is created then.
	today time.Time
	// probing: a proposal is tried out.
	probing bool
}

// Plan is a specification that was read: a schedule, and what was said beside it.
type Plan struct {
	// Kind is the kind that it was read as.
	Kind Kind
	// Zone is where its clock times are; for elapsed intervals only where they are shown.
	Zone *time.Location
	// Start is the planned start, in UTC; zero: none.
	Start time.Time
	// CatchUp is what happens to missed runs.
	CatchUp CatchUp
	// Jitter is the longest delay of a run after its due instant; see Delay.
	Jitter time.Duration
	// Count is how many runs the schedule makes; 0: no limit. The plan ends with the Count-th instant from its
	// start, as if each became a run, unless Options.Uncounted was given.
	Count int64
	// Warnings say what was read otherwise than people might think, one sentence each.
	Warnings []string

	schedule Schedule
	// repeat is set for SAP's repeatInterval whose grid moves with the actual starts.
	repeat *repeat
	// firstStarted is the actual start of the first run, for previews; zero: on time.
	firstStarted time.Time
	outage       *Outage
	// inclusive: a due instant was derived from Options.assumed, and so one equal to it counts.
	inclusive bool
	// end is the end that was given; zero: none.
	end time.Time
	// end, count and blackouts, kept to bound what follows from an actual start.
	wrap func(Schedule) Schedule
}

// Next is the earliest due instant strictly after after, in UTC.
func (p *Plan) Next(after time.Time) (time.Time, bool) { return p.schedule.Next(after) }

// Started is the plan after the run for the instant due really started at at. It differs from the plan
// only for SAP's repeatInterval, of which the next run is one interval after that moment (D-S15).
func (p *Plan) Started(due, at time.Time) *Plan {
	if p.repeat == nil || !at.After(due) {
		return p
	}
	moved := *p
	moved.repeat = p.repeat.startedAt(due, at)
	moved.schedule = p.wrap(moved.repeat)
	return &moved
}

// Moves says whether each run that starts late moves those after it: SAP's repeatInterval.
func (p *Plan) Moves() bool { return p.repeat != nil }

// Parse reads a specification of the given kind. The text is a JSON object in the form of its system,
// beside whose own elements stand ours (timeZone, gap, overlap, activatedAt, createdAt, outage, catchUp,
// jitter, blackouts); for the kinds of one line (cron5, cron6, quartz, rrule) also the bare line. The
// error is a *Error with every fault of the text.
func Parse(kind Kind, spec []byte, opts Options) (*Plan, error) {
	opts.Created, opts.Activated = opts.Created.Truncate(time.Second), opts.Activated.Truncate(time.Second)
	opts.assumed = opts.assumed.Truncate(time.Second)
	p := parser{kind: kind, opts: opts, faults: &faults{}, plan: &Plan{Kind: kind}, created: opts.Created, activated: opts.Activated}
	read, known := map[Kind]func(*parser) Schedule{
		KindElastic: (*parser).elastic, KindAzureScheduler: (*parser).azure, KindSAP: (*parser).sap,
		KindCron5: (*parser).cron, KindCron6: (*parser).cron, KindQuartz: (*parser).cron, KindRRule: (*parser).rrule,
	}[kind]
	if !known {
		p.faults.add("kind", quote(string(kind)), "one of "+strings.Join(kindNames(), ", "), nearest(string(kind), kindNames()))
		return nil, p.faults.err()
	}
	if err := p.open(spec); err != nil {
		return nil, err
	}
	p.beside()
	schedule := read(&p)
	names, meant := ownNames[kind], synonyms
	if kind == KindAzureScheduler && p.reader.has("recurrence") {
		names, meant = []string{"recurrence", "startTime"}, maps.Clone(synonyms)
		for _, name := range recurrenceNames {
			meant[strings.ToLower(name)] = "recurrence." + name
		}
	}
	p.reader.rest(slices.Concat(names, besideNames), meant)
	if schedule != nil && len(p.faults.list) == 0 {
		p.finish(schedule)
	}
	if err := p.faults.err(); err != nil {
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

// ownNames are the elements that each kind takes beside the common ones.
var ownNames = map[Kind][]string{
	KindElastic:        {"schedule_interval_type", "schedule_interval_count", "schedule_start_time", "schedule_end_time"},
	KindAzureScheduler: {"recurrence", "frequency", "interval", "count", "endTime", "schedule", "startTime"},
	KindSAP: {"cron", "repeatInterval", "repeatAt", "time", "startTime", "endTime", "anchor", "job", "firstRunStartedAt",
		"active", "data", "description", "count"},
	KindCron5:  {"cron", "startTime", "endTime", "count"},
	KindCron6:  {"cron", "startTime", "endTime", "count"},
	KindQuartz: {"cron", "startTime", "endTime", "count"},
	KindRRule:  {"rrule", "startTime", "endTime", "count"},
}

// recurrenceNames are the elements of Azure Scheduler's recurrence.
var recurrenceNames = []string{"frequency", "interval", "count", "endTime", "schedule"}

// besideNames are our elements, which every kind takes.
var besideNames = []string{"timeZone", "gap", "overlap", "createdAt", "activatedAt", "outage", "catchUp", "jitter", "blackouts"}

// synonyms are names of elements that are no misspellings of the right one, but mean it. Keys in lower case.
var synonyms = map[string]string{
	"timezone": "timeZone", "zone": "timeZone", "tz": "timeZone", "tzid": "timeZone", "start": "startTime", "dtstart": "startTime",
	"end": "endTime", "until": "endTime", "expression": "cron", "cronexpression": "cron", "rule": "rrule", "recurrencerule": "rrule",
	"minute": "minutes", "hour": "hours", "weekday": "weekDays", "daysofweek": "weekDays", "monthday": "monthDays",
	"months": "frequency Month with interval", "month": "frequency Month", "monthlyoccurrence": "monthlyOccurrences",
	"interval_type": "schedule_interval_type", "interval_count": "schedule_interval_count", "start_time": "schedule_start_time",
	"end_time": "schedule_end_time",
}

// parser reads one specification.
type parser struct {
	kind   Kind
	opts   Options
	faults *faults
	plan   *Plan
	reader reader

	zone *time.Location
	// zoneGiven: by the specification or by Options.Zone.
	zoneGiven bool
	gap       Gap     // empty: the default of the pattern
	overlap   Overlap // likewise

	start, end time.Time // zero: none
	created    time.Time // zero: unknown
	activated  time.Time // zero: when created
	count      int64     // 0: endless
	blackouts  *blackouts
}

// maxSpec is the longest specification in bytes; the largest job of Azure Scheduler has 16 KiB.
const maxSpec = 64 << 10

// open takes the text apart. The kinds of one line may be given bare or as a JSON string.
func (p *parser) open(spec []byte) error {
	if len(spec) > maxSpec {
		return &Error{Faults: []Fault{{Value: fmt.Sprint(len(spec)), Allowed: fmt.Sprintf("a text of at most %d bytes", maxSpec)}}}
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(spec), "\ufeff"))
	line := map[Kind]string{KindCron5: "cron", KindCron6: "cron", KindQuartz: "cron", KindRRule: "rrule"}[p.kind]
	object := &value{kind: '{', raw: "{}"}
	switch {
	case p.kind == KindAzureScheduler && (text == "" || text == "null" || text == "(no recurrence)"):
		// An Azure job without a recurrence.
	case line != "" && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`):
		object.members = []member{{name: line, value: &value{path: line, kind: '"', text: text, raw: quote(text)}}}
	default:
		v, err := readValue([]byte(text))
		if err != nil {
			return err
		}
		switch {
		case v.kind == '{':
			object = v
		case v.kind == '"' && line != "":
			v.path = line
			object.members = []member{{name: line, value: v}}
		default:
			return &Error{Faults: []Fault{{Value: v.raw, Allowed: "a JSON object with the elements " + strings.Join(ownNames[p.kind], ", ")}}}
		}
	}
	p.reader = reader{object: object, faults: p.faults}
	return nil
}

// beside reads the elements that are ours.
func (p *parser) beside() {
	p.readZone()
	if v := p.reader.take("gap"); v != nil {
		p.gap = Gap(oneOf(p, v, string(GapShift), string(GapSkip), string(GapAtEnd)))
	}
	if v := p.reader.take("overlap"); v != nil {
		p.overlap = Overlap(oneOf(p, v, string(OverlapFirst), string(OverlapSecond), string(OverlapBoth)))
	}
	p.created = p.instant("createdAt", p.created)
	p.activated = p.instant("activatedAt", p.activated)
	if v := p.reader.take("catchUp"); v != nil {
		if text, ok := p.reader.str(v, catchUpForms); ok {
			c, err := ParseCatchUp(text)
			p.mergeAt(v.path, err)
			p.plan.CatchUp = c
		}
	}
	if v := p.reader.take("outage"); v != nil {
		p.plan.outage = p.readOutage(v)
	}
	if v := p.reader.take("jitter"); v != nil {
		if text, ok := p.reader.str(v, durationForms); ok {
			d, err := parseDuration(text)
			if err != nil || d < 0 {
				p.faults.add(v.path, v.raw, durationForms, durationProposal(text))
			}
			p.plan.Jitter = d
		}
	}
	if v := p.reader.take("blackouts"); v != nil {
		p.blackouts = p.readBlackouts(v)
	}
}

func (p *parser) readZone() {
	p.zone = time.UTC
	name, path, raw := p.opts.Zone, "timeZone", quote(p.opts.Zone)
	if v := p.reader.take("timeZone"); v != nil {
		text, ok := p.reader.str(v, "the name of an IANA time zone, such as Europe/Berlin")
		if !ok {
			return
		}
		name, path, raw = text, v.path, v.raw
		if name == "" {
			p.faults.add(path, raw, "the name of an IANA time zone, such as Europe/Berlin", "UTC")
			return
		}
	} else if offset, err := parseOffset(name); err == nil && p.kind == KindAzureScheduler {
		// The column of a table that shows the offset of the start.
		p.zone, p.zoneGiven = fixed(offset), true
		return
	}
	if name == "" {
		return
	}
	zone, err := LoadZone(name)
	if err != nil {
		p.mergeAt(path, err)
		return
	}
	p.zone, p.zoneGiven = zone, true
}

// mergeAt takes over faults, and places those without a path of their own.
func (p *parser) mergeAt(path string, err error) {
	before := len(p.faults.list)
	p.faults.merge(path, err)
	for i := before; i < len(p.faults.list); i++ {
		if f := &p.faults.list[i]; f.Path == "" || f.Path == "timeZone" {
			f.Path = path
		}
	}
}

// instant is an element that holds a moment, or the value that stands for its absence.
func (p *parser) instant(name string, absent time.Time) time.Time {
	v := p.reader.take(name)
	if v == nil {
		return absent
	}
	return p.dateValue(v, absent)
}

// dateValue reads a text as a moment; without an offset it is in the schedule's zone.
func (p *parser) dateValue(v *value, bad time.Time) time.Time {
	text, ok := p.reader.str(v, dateForms)
	if !ok {
		return bad
	}
	m, err := parseDate(text)
	if err != nil {
		p.faults.add(v.path, v.raw, dateForms, dateProposal(text))
		return bad
	}
	return m.in(p.zone)
}

// oneOf is a text out of a closed list, in any case; empty after a fault.
func oneOf(p *parser, v *value, allowed ...string) string {
	what := "one of " + strings.Join(allowed, ", ")
	text, ok := p.reader.str(v, what)
	if !ok {
		return ""
	}
	for _, a := range allowed {
		if strings.EqualFold(a, text) {
			return a
		}
	}
	p.faults.add(v.path, v.raw, what, nearest(text, allowed))
	return ""
}

// now is the moment of creation; where it is unknown, the assumed one, which then counts itself. Zero:
// neither is known.
func (p *parser) now() time.Time {
	if !p.created.IsZero() {
		return p.created
	}
	if !p.activated.IsZero() {
		return p.activated
	}
	p.plan.inclusive = true
	return p.opts.assumed
}

// needNow is now for what means nothing without it.
func (p *parser) needNow(path string) time.Time {
	now := p.now()
	if now.IsZero() {
		p.faults.add(path, "null", "a start, or the moment at which the schedule is made", "")
	}
	return now
}

// readCount is the element count.
func (p *parser) readCount() {
	if v := p.reader.take("count"); v != nil {
		p.count, _ = p.reader.integer(v, 1, 1<<53, "a whole number from 1 on")
	}
}

// readBounds are startTime and endTime as texts.
func (p *parser) readBounds() {
	p.start = p.instant("startTime", p.opts.Start)
	p.end = p.instant("endTime", time.Time{})
	p.checkBounds("endTime")
}

// checkBounds refuses an end before the start.
func (p *parser) checkBounds(path string) {
	if !p.end.IsZero() && !p.start.IsZero() && p.end.Before(p.start) {
		p.faults.add(path, quote(p.end.Format(time.RFC3339)), "an instant not before the start "+p.start.Format(time.RFC3339), p.start.Format(time.RFC3339))
	}
}

// wall is a pattern on the clock of the schedule's zone. fixed: only fixed clock times, so that a gap
// shifts and an overlap counts once unless the specification says otherwise; else every instant counts
// that shows a matching time (D-Z6).
func (p *parser) wall(pattern pattern, fixed bool) *wall {
	w := &wall{pattern: pattern, zone: p.zone, gap: p.gap, overlap: p.overlap}
	if w.gap == "" {
		if w.gap = GapSkip; fixed {
			w.gap = GapShift
		}
	}
	if w.overlap == "" {
		if w.overlap = OverlapBoth; fixed {
			w.overlap = OverlapFirst
		}
	}
	return w
}

// finish puts the start, the blackouts, the count and the end around a schedule.
func (p *parser) finish(inner Schedule) {
	first := p.start
	if p.kind != KindElastic {
		for _, t := range []time.Time{p.created, p.activated} {
			if !t.IsZero() && t.After(first) {
				first = t
			}
		}
	}
	plan := p.plan
	plan.Zone, plan.Start = p.zone, p.start
	if !plan.Start.IsZero() {
		plan.Start = plan.Start.UTC()
	}
	first = firstWhole(first)
	end := p.end
	bound := func(s Schedule) Schedule {
		if !first.IsZero() || !end.IsZero() {
			s = bounded{inner: s, first: first, last: end}
		}
		if p.blackouts != nil {
			s = &blackedOut{inner: s, blackouts: p.blackouts, last: end}
		}
		return s
	}
	schedule := bound(inner)
	if p.blackouts != nil && !p.leavesSome(schedule, first) {
		p.faults.add("blackouts", quote("blackouts"), "windows that leave something of the schedule; these leave nothing", "")
		return
	}
	plan.Count, plan.end = p.count, end
	if p.count > 0 && !p.opts.Uncounted {
		from := first
		if from.IsZero() {
			if from = p.opts.assumed; from.IsZero() {
				p.faults.add("count", fmt.Sprint(p.count), "a count only together with a start, from which it is counted", "")
				return
			}
		}
		at, found, decided := nth(schedule, from, p.count)
		if !decided {
			p.faults.add("count", fmt.Sprint(p.count), fmt.Sprintf("at most %d for a schedule of this form", maxEnumerated), "")
			return
		}
		if found {
			end = at
			schedule = bound(inner)
		}
	}
	plan.schedule, plan.wrap = schedule, bound
	if plan.repeat != nil && !p.opts.LastStarted.IsZero() {
		plan.repeat = plan.repeat.startedAt(p.opts.LastStarted, p.opts.LastStarted)
		plan.schedule = bound(plan.repeat)
	}
	p.checkInterval()
}

// leavesSome says whether anything is due in spite of the blackouts; of a schedule without any beginning
// that is asked from 2000 on.
func (p *parser) leavesSome(s Schedule, first time.Time) bool {
	if first.IsZero() {
		if first = p.opts.assumed; first.IsZero() {
			first = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	if b, ok := s.(*blackedOut); ok {
		if _, due := b.inner.Next(first.Add(-time.Nanosecond)); !due {
			return true // over for other reasons
		}
	}
	_, due := s.Next(first.Add(-time.Nanosecond))
	return due
}

// firstWhole is the first whole second that is not before t.
func firstWhole(t time.Time) time.Time {
	if t.Nanosecond() == 0 {
		return t
	}
	return t.Truncate(time.Second).Add(time.Second)
}

// checkInterval is D-S6: no two instants of a year are closer together than allowed.
func (p *parser) checkInterval() {
	if p.opts.MinInterval <= 0 {
		return
	}
	after := p.plan.Start
	if after.IsZero() {
		if after = p.opts.assumed; after.IsZero() {
			after = p.created
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
			p.faults.add("", quote(gap.String()), fmt.Sprintf("at least %s between two runs; %s and %s are closer",
				p.opts.MinInterval, last.Format(time.RFC3339), next.Format(time.RFC3339)), "")
			return
		}
		last = next
	}
}
