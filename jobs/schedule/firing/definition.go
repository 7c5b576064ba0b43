package firing

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// Definition is a stored schedule, as far as its due instants depend on it.
type Definition struct {
	// ID is the schedule's number; jitter depends on it.
	ID int64
	// Kind, Spec, Zone and CatchUp are the texts of jobs.sp_add_schedule; empty: not given.
	Kind, Spec, Zone, CatchUp string
	// Job holds the schedule of jobs.sp_add_job, which has no name; nil for all others. Decision 11
	// applies to it: the first missed instant runs, and stands for those after it.
	Job *schedule.Elastic
	// Defined and Activated are when kind and spec were given, and when the schedule was last
	// changed or switched on.
	Defined, Activated time.Time
	// Due is the first instant that was not handled; zero: none is known.
	Due time.Time
	// LastDue is the last instant that was handled; zero: none.
	LastDue time.Time
	// MinInterval is the minimum interval between two instants, which Validate requires (D-S6); 0
	// means that any interval is valid.
	MinInterval time.Duration
	// Executions is how many runs the schedule has started.
	Executions int64
}

// ErrUnknownKind marks a schedule of a kind that this program does not know, and a newer one may.
var ErrUnknownKind = errors.New("unknown kind of schedule: a newer agent may know it")

// rule is a definition that was read.
type rule struct {
	schedule.Schedule
	// plan is nil for the schedule of jobs.sp_add_job.
	plan    *schedule.Plan
	catchUp schedule.CatchUp
	id      string
	// left is how many runs it may still start; negative: no limit (D-P3).
	left int64
}

// Calendars are the blackout calendars of the database, by name.
type Calendars struct {
	known map[string]*schedule.Calendar
	// broken are the faults of those that cannot be read.
	broken map[string][]schedule.Fault
}

// read parses a definition. The error is ErrUnknownKind, or a *schedule.Error with every fault.
func (d Definition) read(named Calendars) (rule, error) {
	r := rule{id: strconv.FormatInt(d.ID, 10), left: -1}
	if d.Job != nil {
		r.Schedule = *d.Job
		return r, d.Job.Validate()
	}
	if !slices.Contains(schedule.Kinds(), schedule.Kind(d.Kind)) {
		return r, fmt.Errorf("%w: %q", ErrUnknownKind, d.Kind)
	}
	opts := schedule.Options{Zone: d.Zone, Created: d.Defined, LastStarted: d.Due, MinInterval: d.MinInterval, Uncounted: true}
	if d.Activated.After(d.Defined) {
		opts.Activated = d.Activated // otherwise what had passed when it was made would be dropped (b.7)
	}
	err := r.parse(d, opts, named)
	if r.plan != nil && r.plan.Count > 0 {
		r.left = max(0, r.plan.Count-d.Executions)
	}
	return r, err
}

// readRange is read for a backfill, which may begin before the schedule was made: only its own
// start bounds it, unless what it gives depends on when it was made. Nothing that depends on runs
// or on the present activation counts.
func (d Definition) readRange(named Calendars) (rule, error) {
	if d.Job != nil || !slices.Contains(schedule.Kinds(), schedule.Kind(d.Kind)) {
		return d.read(named)
	}
	made := rule{id: strconv.FormatInt(d.ID, 10), left: -1}
	free := made
	if err := made.parse(d, schedule.Options{Zone: d.Zone, Created: d.Defined, Uncounted: true}, named); err != nil {
		return made, err
	}
	if free.parse(d, schedule.Options{Zone: d.Zone, Uncounted: true}, named) != nil {
		return made, nil
	}
	from := d.Defined.Truncate(time.Second).Add(-time.Nanosecond)
	if !slices.Equal(schedule.Preview(free, from, shownInstants), schedule.Preview(made, from, shownInstants)) {
		return made, nil
	}
	return free, nil
}

// parse fills in the rule.
func (r *rule) parse(d Definition, opts schedule.Options, named Calendars) error {
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

// ReadCalendars parses calendars, by their names, once for all schedules of a round.
func ReadCalendars(texts map[string]string) Calendars {
	var c Calendars
	c.known, c.broken = schedule.ReadCalendars(texts)
	return c
}

// fire is when the run for a due instant starts: with jitter somewhat later (D-P4).
func (r rule) fire(due time.Time) time.Time {
	if r.plan == nil || r.plan.Jitter <= 0 {
		return due
	}
	next, _ := r.Next(due)
	return due.Add(schedule.Delay(r.id, due, next, r.plan.Jitter))
}

// shownInstants is how many due instants are stored for the views.
const shownInstants = 10

// upcoming are the first instants from due on, as many as runs are left.
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
	// Faults is a *schedule.Error when the definition cannot be read; the schedule never runs then.
	Faults error
	// Zone is the name of the zone of the schedule, or its offset.
	Zone string
	// Warnings are those of schedule.Plan.
	Warnings []string
	// Next is the first due instant, and Fire when its run starts; zero: nothing is due any more.
	Next, Fire time.Time
	// Upcoming are Next and the instants after it.
	Upcoming []time.Time
}

// Validate computes the validation of a definition. Instants before the last change or activation
// are dropped (D-P7); both times are cut to whole seconds, as instants are (D-A15). The error is
// ErrUnknownKind. Faults of the definition are in the validation.
func Validate(d Definition, named Calendars, now time.Time) (Validation, error) {
	r, err := d.read(named)
	if errors.Is(err, ErrUnknownKind) {
		return Validation{}, err
	} else if err != nil {
		return Validation{Faults: err}, nil
	}
	v := Validation{Zone: "UTC"}
	if r.plan != nil {
		v.Warnings = r.plan.Warnings
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
		// The definition is validated again, with other zone data, for example. Instants before the
		// stored one were handled. If the stored instant lies in the future, all earlier instants
		// were handled.
		if from = d.Due; from.After(now) {
			from = now.Truncate(time.Second).Add(time.Second)
		}
	}
	from = from.Add(-time.Nanosecond)
	if d.LastDue.After(from) {
		from = d.LastDue
	}
	next, more := r.Next(from)
	if more {
		v.Next, v.Fire, v.Upcoming = next, r.fire(next), r.upcoming(next, r.left)
	}
	return v, nil
}
