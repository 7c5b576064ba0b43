package agent

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// runsPerFiring is how many due instants of one schedule become runs in one transaction; what is left follows at once.
const runsPerFiring = 100

// moment is when due instants are handled, and since when somebody has been there to do it.
type moment struct {
	// now is the database's time.
	now time.Time
	// workingSince is when the present stretch began in which agents work, and lastWorked when the one before ended;
	// zero: there was none.
	workingSince, lastWorked time.Time
	// threshold is how late a run may begin and still not count as missed.
	threshold time.Duration
}

// missedBefore is the instant before which everything that was to start is missed: nobody was there, or too late.
func (m moment) missedBefore() time.Time {
	if late := m.now.Add(-m.threshold); late.After(m.workingSince) {
		return late
	}
	return m.workingSince
}

// outage is how long nobody worked before an instant was handled; 0: somebody did all the time.
func (m moment) outage(due time.Time) time.Duration {
	switch {
	case !due.Before(m.workingSince):
		return 0
	case m.lastWorked.IsZero():
		return m.workingSince.Sub(due)
	}
	return m.workingSince.Sub(m.lastWorked)
}

// skip is a number of successive due instants that are not run (I10).
type skip struct {
	due, last time.Time // the first and the last of them
	count     int
	reason    string
}

// firing is what becomes of a schedule's due instants.
type firing struct {
	// runs are those to run, ascending.
	runs []time.Time
	// skips are those that a catch-up policy gives up.
	skips []skip
	// next is the first instant that was not looked at, fire when its run starts; zero: the schedule has no more. It
	// may have passed already: then there is more to do at once.
	next, fire time.Time
	// upcoming are next and those after it.
	upcoming []time.Time
	// limit is how many runs the schedule may start in all; 0: any number. The database counts them (D-P3).
	limit int64
}

// last is the last instant that was decided on; zero: none was.
func (f firing) last() (at time.Time) {
	if n := len(f.skips); n > 0 {
		at = f.skips[n-1].last
	}
	if n := len(f.runs); n > 0 && f.runs[n-1].After(at) {
		at = f.runs[n-1]
	}
	return at
}

// plan decides what becomes of the due instants of a definition from its stored one on, up to now.
func plan(d definition, named calendars, m moment) (firing, error) {
	r, err := d.read(named)
	if err != nil {
		return firing{}, err
	}
	if d.job != nil {
		return r.once(d.due, m.now), nil
	}
	f := firing{limit: r.plan.Count}
	if r.left == 0 {
		return f, nil
	}
	next, more := f.recover(&r, d.due, m)
	for more && len(f.runs) < runsPerFiring {
		if at := r.fire(next); at.After(m.now) || at.Before(m.missedBefore()) {
			break // not yet, or missed as well: the policy is asked again with the next call
		}
		f.runs = append(f.runs, next)
		next, more = r.started(next, m.now)
	}
	if most := runsPerFiring; len(f.runs) > most {
		next, more = f.runs[most], true
		f.runs = f.runs[:most]
	}
	// A run may turn out not to be made, because an earlier one is still active. So what follows the last one that
	// is allowed is looked at again when it is known.
	if r.left > 0 && int64(len(f.runs)) > r.left {
		next, more = f.runs[r.left], true
		f.runs = f.runs[:r.left]
	}
	if more {
		left := r.left
		if left > 0 {
			left -= int64(len(f.runs))
		}
		f.next, f.fire, f.upcoming = next, r.fire(next), r.upcoming(next, left)
	}
	return f, nil
}

// once is decision 11 for the schedule of jobs.sp_add_job: the due instant runs, and stands for all that were missed after it.
// Their number is exact however many they are: a million takes some tens of milliseconds.
func (r rule) once(due, now time.Time) firing {
	f := firing{runs: []time.Time{due}}
	next, more := r.Next(due)
	first, last, missed := next, next, 0
	for more && !next.After(now) {
		last = next
		missed++
		next, more = r.Next(next)
	}
	if missed > 0 {
		f.skips = []skip{{first, last, missed, "missed: no agent was running when it was due; the catch-up run stands for it"}}
	}
	if more {
		f.next, f.fire, f.upcoming = next, next, r.upcoming(next, -1)
	}
	return f
}

// started is what follows a run for a due instant that starts at now.
func (r *rule) started(due, now time.Time) (time.Time, bool) {
	if r.plan.Moves() {
		r.plan = r.plan.Started(due, now)
		r.Schedule = r.plan
	}
	return r.Next(due)
}

// recover lets the catch-up policy decide on the missed instants from due on, and returns the first one that was not missed,
// or, when there are too many for one call, not looked at.
func (f *firing) recover(r *rule, due time.Time, m moment) (next time.Time, more bool) {
	until := m.missedBefore()
	if r.fire(due).Compare(until) >= 0 {
		return due, true
	}
	if mode := r.catchUp.Mode; r.plan.Moves() && mode != schedule.CatchUpNone && mode != schedule.CatchUpWindow {
		// What follows is counted from the start of this one, so that no other was missed (D-S15).
		until = due.Add(time.Second)
	}
	found := r.catchUp.Recover(r, due, until, m.now, m.outage(due))
	if r.plan.Jitter > 0 {
		// Only the last one can have been due before, and start later.
		last := due
		for _, list := range [][]time.Time{found.Dropped, found.Run} {
			if len(list) > 0 {
				last = list[len(list)-1]
			}
		}
		if last.After(due) && !r.fire(last).Before(m.missedBefore()) {
			found = r.catchUp.Recover(r, due, last, m.now, m.outage(due))
		}
	}
	if n := len(found.Dropped); n > 0 {
		f.skips = append(f.skips, skip{found.Dropped[0], found.Dropped[n-1], n, found.Reason})
	}
	f.runs = found.Run
	if r.plan.Moves() && len(f.runs) > 0 {
		f.runs = f.runs[:1]
		return r.started(f.runs[0], m.now)
	}
	return found.Next, found.More
}

// backfill lists the due instants of a range that are to run next, at most runsPerFiring. next is the one after them; zero: none
// is left.
func backfill(d definition, named calendars, from, to time.Time) (runs []time.Time, next time.Time, err error) {
	r, err := d.readRange(named)
	if err != nil {
		return nil, time.Time{}, err
	}
	next, more := r.Next(from.Add(-time.Nanosecond))
	for more && !next.After(to) {
		if len(runs) == runsPerFiring {
			return runs, next, nil
		}
		runs = append(runs, next)
		next, more = r.Next(next)
	}
	return runs, time.Time{}, nil
}
