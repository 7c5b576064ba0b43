package agent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// definition is a schedule as the database stores it, as far as its due instants depend on it.
type definition struct {
	id int64
	// kind, spec, zone and catchUp are the texts of jobs.sp_add_schedule; empty: not given.
	kind, spec, zone, catchUp string
	// job holds the schedule of jobs.sp_add_job, whose name is empty; nil for all others. It keeps decision 11: the
	// first missed instant runs, and stands for those after it.
	job *schedule.Elastic
	// defined and activated are when kind and spec were given, and when it was last changed or switched on.
	defined, activated time.Time
	// due is the first instant that was not handled; zero: none is known.
	due time.Time
	// lastDue is the last one that was; zero: none.
	lastDue time.Time
	// minInterval is the shortest time that may lie between two instants, for a verdict (D-S6); 0: any.
	minInterval time.Duration
	// executions is how many runs it has started.
	executions int64
}

// errOtherVersion marks a schedule that this agent cannot judge, and another may.
var errOtherVersion = errors.New("this agent (an older one?) does not know its kind")

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

// calendars are the blackout calendars of the database, by name.
type calendars struct {
	known map[string]*schedule.Calendar
	// broken are the faults of those that cannot be read.
	broken map[string][]schedule.Fault
}

// read parses a definition. The error is errOtherVersion, or a *schedule.Error with every fault.
func (d definition) read(named calendars) (rule, error) {
	r := rule{id: strconv.FormatInt(d.id, 10), left: -1}
	if d.job != nil {
		r.Schedule = *d.job
		return r, d.job.Validate()
	}
	if !slices.Contains(schedule.Kinds(), schedule.Kind(d.kind)) {
		return r, fmt.Errorf("%w: %q", errOtherVersion, d.kind)
	}
	opts := schedule.Options{Zone: d.zone, Created: d.defined, LastStarted: d.due, MinInterval: d.minInterval, Uncounted: true}
	if d.activated.After(d.defined) {
		opts.Activated = d.activated // otherwise what had passed when it was made would be dropped (b.7)
	}
	err := r.parse(d, opts, named)
	if r.plan != nil && r.plan.Count > 0 {
		r.left = max(0, r.plan.Count-d.executions)
	}
	return r, err
}

// readRange is read for a backfill, which may begin before the schedule was made: only its own start bounds it, unless what it gives
// depends on when it was made. Nothing that depends on runs or on the present activation counts.
func (d definition) readRange(named calendars) (rule, error) {
	if d.job != nil || !slices.Contains(schedule.Kinds(), schedule.Kind(d.kind)) {
		return d.read(named)
	}
	made := rule{id: strconv.FormatInt(d.id, 10), left: -1}
	free := made
	if err := made.parse(d, schedule.Options{Zone: d.zone, Created: d.defined, Uncounted: true}, named); err != nil {
		return made, err
	}
	if free.parse(d, schedule.Options{Zone: d.zone, Uncounted: true}, named) != nil {
		return made, nil
	}
	from := d.defined.Truncate(time.Second).Add(-time.Nanosecond)
	if !slices.Equal(schedule.Preview(free, from, shownInstants), schedule.Preview(made, from, shownInstants)) {
		return made, nil
	}
	return free, nil
}

// parse fills in the rule.
func (r *rule) parse(d definition, opts schedule.Options, named calendars) error {
	opts.Calendars, opts.BrokenCalendars = named.known, named.broken
	plan, err := schedule.Parse(schedule.Kind(d.kind), []byte(d.spec), opts)
	var faults []schedule.Fault
	var all *schedule.Error
	if errors.As(err, &all) {
		faults = append(faults, all.Faults...)
	}
	policy, err := schedule.ParseCatchUp(d.catchUp)
	if errors.As(err, &all) {
		faults = append(faults, all.Faults...)
	}
	if len(faults) > 0 {
		return &schedule.Error{Faults: faults}
	}
	r.plan, r.Schedule, r.catchUp = plan, plan, policy
	if d.catchUp == "" {
		r.catchUp = plan.CatchUp
	}
	return nil
}

// readCalendars parses the calendars of the database, once for all schedules of a round.
func readCalendars(texts []controldb.CalendarText) calendars {
	specs := map[string]string{}
	for _, text := range texts {
		specs[text.Name] = text.Spec
	}
	var c calendars
	c.known, c.broken = schedule.ReadCalendars(specs)
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

// shownInstants is how many due instants are stored for people to see.
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

// verdict is what an agent found out about a definition.
type verdict struct {
	// faults is not nil when it cannot be read; it then never runs.
	faults error
	// zone and warnings are what the specification turned out to mean.
	zone     string
	warnings []string
	// next is the first due instant, fire when its run starts; zero: nothing is due any more.
	next, fire time.Time
	// upcoming are next and those after it.
	upcoming []time.Time
}

// judge computes the verdict on a definition. What was due before it was changed or switched on is dropped (D-P7);
// instants are whole seconds, and so is that moment (D-A15). errOtherVersion: another agent has to.
func judge(d definition, named calendars, now time.Time) (verdict, error) {
	r, err := d.read(named)
	if errors.Is(err, errOtherVersion) {
		return verdict{}, err
	} else if err != nil {
		return verdict{faults: err}, nil
	}
	v := verdict{zone: "UTC"}
	if r.plan != nil {
		v.warnings = r.plan.Warnings
		if v.zone = r.plan.Zone.String(); v.zone == "" { // a fixed offset
			v.zone = now.In(r.plan.Zone).Format("-07:00")
		}
	}
	if r.left == 0 {
		return v, nil
	}
	from := d.defined
	if d.activated.After(from) {
		from = d.activated
	}
	from = from.Truncate(time.Second)
	if !d.due.IsZero() {
		// Judged again under other rules: what lies before the stored instant was handled, and so was what has passed.
		if from = d.due; from.After(now) {
			from = now.Truncate(time.Second).Add(time.Second)
		}
	}
	from = from.Add(-time.Nanosecond)
	if d.lastDue.After(from) {
		from = d.lastDue
	}
	next, more := r.Next(from)
	if more {
		v.next, v.fire, v.upcoming = next, r.fire(next), r.upcoming(next, r.left)
	}
	return v, nil
}
