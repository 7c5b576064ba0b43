package firing

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// runsPerFiring is the largest number of due instants of one schedule that become runs in one
// transaction. The next transaction follows at once with the rest.
const runsPerFiring = 100

// Round holds the time at which due instants are handled, and the periods in which agents worked.
type Round struct {
	// Now is the database's time.
	Now time.Time
	// WorkingSince is the beginning of the current period in which agents work. LastWorked is the
	// end of the period before it; zero means there was none.
	WorkingSince, LastWorked time.Time
	// MissedAfter is the largest delay of a run that does not count as missed.
	MissedAfter time.Duration
}

// missedBefore returns the instant before which every start is missed, because no agent worked or
// because the start would be too late.
func (m Round) missedBefore() time.Time {
	if late := m.Now.Add(-m.MissedAfter); late.After(m.WorkingSince) {
		return late
	}
	return m.WorkingSince
}

// outage returns how long no agent worked before an instant was handled. It returns 0 if there was
// no outage.
func (m Round) outage(due time.Time) time.Duration {
	switch {
	case !due.Before(m.WorkingSince):
		return 0
	case m.LastWorked.IsZero():
		return m.WorkingSince.Sub(due)
	}
	return m.WorkingSince.Sub(m.LastWorked)
}

// Skip is a sequence of due instants that do not run (I10).
type Skip struct {
	// Due and Last are the first and the last of the instants.
	Due, Last time.Time
	// Count is the number of instants.
	Count int
	// Reason is one sentence that says why the instants do not run.
	Reason string
}

// Decision is the result of Decide for a schedule's due instants.
type Decision struct {
	// Runs are the instants to run, ascending.
	Runs []time.Time
	// Skips are the instants that a catch-up policy skips.
	Skips []Skip
	// Next is the first undecided instant, and Fire is the start of its run. Both are zero if the
	// schedule has no more instants. If Next has already passed, Decide must be called again at
	// once.
	Next, Fire time.Time
	// Upcoming are Next and the instants after it.
	Upcoming []time.Time
	// Limit is the largest number of runs of the schedule; 0 means no limit. The database counts
	// the runs (D-P3).
	Limit int64
}

// Last returns the last decided instant. It returns the zero time if there is none.
func (f Decision) Last() (at time.Time) {
	if n := len(f.Skips); n > 0 {
		at = f.Skips[n-1].Last
	}
	if n := len(f.Runs); n > 0 && f.Runs[n-1].After(at) {
		at = f.Runs[n-1]
	}
	return at
}

// Decide decides on the due instants of a definition from d.Due until m.Now. At most runsPerFiring
// instants become runs; call Decide again for the rest. The error is ErrUnknownKind or a
// *schedule.Error.
func Decide(d Definition, named Calendars, m Round) (Decision, error) {
	r, err := d.read(named)
	if err != nil {
		return Decision{}, err
	}
	if d.Job != nil {
		return r.once(d.Due, m.Now), nil
	}
	f := Decision{Limit: r.plan.Count}
	if r.left == 0 {
		return f, nil
	}
	next, more := f.recover(&r, d.Due, m)
	for more && len(f.Runs) < runsPerFiring {
		if at := r.fire(next); at.After(m.Now) || at.Before(m.missedBefore()) {
			break // not due yet, or missed as well: the next call applies the policy again
		}
		f.Runs = append(f.Runs, next)
		next, more = r.started(next, m.Now)
	}
	if most := runsPerFiring; len(f.Runs) > most {
		next, more = f.Runs[most], true
		f.Runs = f.Runs[:most]
	}
	// The database may omit a run because an earlier one is still active. The instants after the
	// last permitted run are therefore decided by a later call, when the number of runs is known.
	if r.left > 0 && int64(len(f.Runs)) > r.left {
		next, more = f.Runs[r.left], true
		f.Runs = f.Runs[:r.left]
	}
	if more {
		left := r.left
		if left > 0 {
			left -= int64(len(f.Runs))
		}
		f.Next, f.Fire, f.Upcoming = next, r.fire(next), r.upcoming(next, left)
	}
	return f, nil
}

// once applies decision 11 to the schedule of jobs.sp_add_job: the due instant runs and replaces
// all missed instants after it. The number of missed instants is always exact. Counting a million
// takes some tens of milliseconds.
func (r rule) once(due, now time.Time) Decision {
	f := Decision{Runs: []time.Time{due}}
	next, more := r.Next(due)
	first, last, missed := next, next, 0
	for more && !next.After(now) {
		last = next
		missed++
		next, more = r.Next(next)
	}
	if missed > 0 {
		f.Skips = []Skip{{Due: first, Last: last, Count: missed, Reason: "missed: no agent was running when it was due; the catch-up run stands for it"}}
	}
	if more {
		f.Next, f.Fire, f.Upcoming = next, next, r.upcoming(next, -1)
	}
	return f
}

// started returns the due instant that follows a run for due that starts at now.
func (r *rule) started(due, now time.Time) (time.Time, bool) {
	if r.plan.Moves() {
		r.plan = r.plan.Started(due, now)
		r.Schedule = r.plan
	}
	return r.Next(due)
}

// recover applies the catch-up policy to the missed instants from due on. It returns the first
// instant that is not missed. If there are too many instants for one call, it returns the first one
// that is undecided.
func (f *Decision) recover(r *rule, due time.Time, m Round) (next time.Time, more bool) {
	until := m.missedBefore()
	if r.fire(due).Compare(until) >= 0 {
		return due, true
	}
	if mode := r.catchUp.Mode; r.plan.Moves() && mode != schedule.CatchUpNone && mode != schedule.CatchUpWindow {
		// A run moves the instants after it, so that no other instant was missed (D-S15).
		until = due.Add(time.Second)
	}
	found := r.catchUp.Recover(r, due, until, m.Now, m.outage(due))
	if r.plan.Jitter > 0 {
		// Jitter is shorter than the distance between instants. So only the last instant can be due
		// before the limit and start after it.
		last := due
		for _, list := range [][]time.Time{found.Dropped, found.Run} {
			if len(list) > 0 {
				last = list[len(list)-1]
			}
		}
		if last.After(due) && !r.fire(last).Before(m.missedBefore()) {
			found = r.catchUp.Recover(r, due, last, m.Now, m.outage(due))
		}
	}
	if n := len(found.Dropped); n > 0 {
		f.Skips = append(f.Skips, Skip{Due: found.Dropped[0], Last: found.Dropped[n-1], Count: n, Reason: found.Reason})
	}
	f.Runs = found.Run
	if r.plan.Moves() && len(f.Runs) > 0 {
		f.Runs = f.Runs[:1]
		return r.started(f.Runs[0], m.Now)
	}
	return found.Next, found.More
}

// Backfill returns the next due instants to run in a range, both ends included: at most
// runsPerFiring. next is the instant after them, or zero if none is left. The error is
// ErrUnknownKind or a *schedule.Error.
func Backfill(d Definition, named Calendars, from, to time.Time) (runs []time.Time, next time.Time, err error) {
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
