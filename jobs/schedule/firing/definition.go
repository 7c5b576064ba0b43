package firing

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// Definition holds the properties of a stored schedule that affect its due instants.
type Definition struct {
	// ID is the schedule's number; jitter depends on it.
	ID int64
	// Kind, Spec, Zone and CatchUp are the parameters of jobs.sp_add_schedule. Empty means not
	// given.
	Kind, Spec, Zone, CatchUp string
	// Job is the schedule of jobs.sp_add_job, which has no name. It is nil for all other schedules.
	// Decision 11 applies to it: the first missed instant runs and replaces the missed instants
	// after it.
	Job *schedule.Elastic
	// Defined is the time at which Kind and Spec were set. Activated is the time at which the
	// schedule was last changed or enabled.
	Defined, Activated time.Time
	// Due is the first instant that was not handled; zero if unknown.
	Due time.Time
	// LastDue is the last instant that was handled; zero if there is none.
	LastDue time.Time
	// MinInterval is the minimum interval between two instants, which Validate requires (D-S6); 0
	// means that any interval is valid.
	MinInterval time.Duration
	// Executions is the number of runs that the schedule has started.
	Executions int64
}

// ErrUnknownKind marks a schedule of a kind that this version of the program does not support. A
// newer version may support it.
var ErrUnknownKind = errors.New("unknown kind of schedule: a newer agent may know it")

// rule is a parsed definition.
type rule struct {
	schedule.Schedule
	// plan is nil for the schedule of jobs.sp_add_job.
	plan    *schedule.Plan
	catchUp schedule.CatchUp
	id      string
	// left is the number of runs that the schedule may still start; negative means no limit (D-P3).
	left int64
}

// Calendars holds the blackout calendars of the database by name.
type Calendars struct {
	known map[string]*schedule.Calendar
	// broken holds the faults of the calendars that cannot be parsed.
	broken map[string][]schedule.Fault
}

// read parses a definition. The error is ErrUnknownKind, or a *schedule.Error with every fault.
func (d Definition) read(named Calendars) (rule, error) {
	r := rule{id: strconv.FormatInt(d.ID, 10), left: -1}
	if d.Job != nil {
		r.Schedule = *d.Job
		return r, d.Job.Validate()
	}
	if slices.ContainsFunc(schedule.Forms(), func(f schedule.Form) bool { return strings.EqualFold(string(f), d.Kind) }) {
		// Forms are not stored: the fault has the translation. No newer agent would run it.
		_, err := schedule.Parse(schedule.Kind(d.Kind), []byte(d.Spec), schedule.Options{Zone: d.Zone})
		return r, err
	}
	if !slices.Contains(schedule.Kinds(), schedule.Kind(d.Kind)) {
		return r, fmt.Errorf("%w: %q", ErrUnknownKind, d.Kind)
	}
	opts := schedule.Options{Zone: d.Zone, Created: d.Defined, LastStarted: d.Due, MinInterval: d.MinInterval, Uncounted: true}
	if d.Activated.After(d.Defined) {
		opts.Activated = d.Activated // otherwise a time before the creation would be dropped
	}
	err := r.parse(d, opts, named)
	if r.plan != nil && r.plan.Count > 0 {
		r.left = max(0, r.plan.Count-d.Executions)
	}
	return r, err
}

// accepted reports whether an agent has validated this definition before: it has a due instant or
// runs. A change of its text removes both.
func (d Definition) accepted() bool {
	return !d.Due.IsZero() || d.Executions > 0 || d.LastDue.After(d.Defined)
}

// readRange parses a definition for a backfill, whose range may begin before the schedule was
// created. Only the start in the specification bounds the instants, unless the instants depend on
// the creation. Earlier runs and the current activation are ignored.
func (d Definition) readRange(named Calendars) (rule, error) {
	if d.Job != nil || !slices.Contains(schedule.Kinds(), schedule.Kind(d.Kind)) {
		return d.read(named)
	}
	made := rule{id: strconv.FormatInt(d.ID, 10), left: -1}
	free := made
	if err := made.parse(d, schedule.Options{Zone: d.Zone, Created: d.Defined, Uncounted: true, Stored: true}, named); err != nil {
		return made, err
	}
	if free.parse(d, schedule.Options{Zone: d.Zone, Uncounted: true, Stored: true}, named) != nil {
		return made, nil
	}
	from := d.Defined.Truncate(time.Second).Add(-time.Nanosecond)
	if !slices.Equal(schedule.Preview(free, from, shownInstants), schedule.Preview(made, from, shownInstants)) {
		return made, nil
	}
	return free, nil
}

// parse sets the plan, the schedule and the catch-up policy of the rule.
func (r *rule) parse(d Definition, opts schedule.Options, named Calendars) error {
	opts.Stored = opts.Stored || d.accepted()
	opts.Calendars, opts.BrokenCalendars = named.known, named.broken
	plan, err := schedule.Parse(schedule.Kind(d.Kind), []byte(d.Spec), opts)
	var faults []schedule.Fault
	var all *schedule.Error
	if errors.As(err, &all) {
		faults = append(faults, all.Faults...)
	}
	policy, err := schedule.ParseCatchUp(d.CatchUp)
	if errors.As(err, &all) {
		faults = append(faults, all.Faults...)
	}
	if len(faults) > 0 {
		return &schedule.Error{Faults: faults}
	}
	r.plan, r.Schedule, r.catchUp = plan, plan, policy
	if d.CatchUp == "" {
		r.catchUp = plan.CatchUp
	}
	return nil
}

// ReadCalendars parses calendars by their names. One call serves all schedules of a round.
func ReadCalendars(texts map[string]string) Calendars {
	var c Calendars
	c.known, c.broken = schedule.ReadCalendars(texts)
	return c
}

// fire returns the start of the run for a due instant: the instant plus its jitter (D-P4).
func (r rule) fire(due time.Time) time.Time {
	if r.plan == nil || r.plan.Jitter <= 0 {
		return due
	}
	next, _ := r.Next(due)
	return due.Add(schedule.Delay(r.id, due, next, r.plan.Jitter))
}

// shownInstants is the number of due instants that are stored for the views.
const shownInstants = 10

// upcoming returns the first due instants from due on: at most shownInstants, and at most left if
// left is not negative.
func (r rule) upcoming(due time.Time, left int64) []time.Time {
	n := int64(shownInstants)
	if left >= 0 {
		n = min(n, left)
	}
	if n == 0 {
		return nil
	}
	return append([]time.Time{due}, schedule.Preview(r, due, int(n-1))...)
}

// Validation is the result of Validate: the next due instants of a definition, or its faults.
type Validation struct {
	// Faults is a *schedule.Error if the definition is invalid. Such a schedule never runs.
	Faults error
	// Zone is the name of the schedule's zone, or its offset.
	Zone string
	// Warnings are the warnings of the schedule.Plan, with those about the next changes of clocks.
	Warnings []string
	// RecheckAt is when Warnings must be renewed; zero means never.
	RecheckAt time.Time
	// Description is the schedule in words.
	Description string
	// Next is the first due instant, and Fire is the start of its run. Both are zero if nothing is
	// due any more.
	Next, Fire time.Time
	// Upcoming are Next and the instants after it.
	Upcoming []time.Time
}

// Validate returns the validation of a definition. Instants before the last change or activation
// are dropped (D-P7). Both times are truncated to whole seconds, as instants are (D-A15). The error
// is ErrUnknownKind; faults of the definition are in the validation.
func Validate(d Definition, named Calendars, now time.Time) (Validation, error) {
	r, err := d.read(named)
	if errors.Is(err, ErrUnknownKind) {
		return Validation{}, err
	} else if err != nil {
		return Validation{Faults: err}, nil
	}
	v := Validation{Zone: "UTC"}
	if d.Job != nil {
		v.Description = schedule.DescribeElastic(*d.Job).Text
	}
	if r.plan != nil {
		v.Warnings = r.plan.Warnings
		v.Description = r.plan.Describe().Text
		if v.Zone = r.plan.Zone.String(); v.Zone == "" { // a fixed offset
			v.Zone = now.In(r.plan.Zone).Format("-07:00")
		}
	}
	if r.left == 0 {
		return v, nil
	}
	from := d.Defined
	if d.Activated.After(from) {
		from = d.Activated
	}
	from = from.Truncate(time.Second)
	if !d.Due.IsZero() {
		// The definition is validated again, for example with other zone data. Instants before the
		// stored one were already handled. If the stored instant is in the future, all earlier
		// instants were handled.
		if from = d.Due; from.After(now) {
			from = now.Truncate(time.Second).Add(time.Second)
		}
	}
	from = from.Add(-time.Nanosecond)
	if d.LastDue.After(from) {
		from = d.LastDue
	}
	next, more := r.Next(from)
	if !more {
		return v, nil
	}
	v.Next, v.Fire, v.Upcoming = next, r.fire(next), r.upcoming(next, r.left)
	if r.plan != nil {
		var last time.Time
		if n := len(v.Upcoming); int64(n) == r.left || n < shownInstants {
			last = v.Upcoming[n-1]
		}
		v.Warnings, v.RecheckAt = r.plan.WarningsUntil(now, last)
	}
	return v, nil
}
