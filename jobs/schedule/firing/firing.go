package firing

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// runsPerFiring is how many due instants of one schedule become runs in one transaction; what is
// left follows at once.
const runsPerFiring = 100

// Round is when due instants are handled, and since when agents have worked.
type Round struct {
	// Now is the database's time.
	Now time.Time
	// WorkingSince is when the present stretch began in which agents work, and LastWorked is when
	// the stretch before it ended; zero: there was none.
	WorkingSince, LastWorked time.Time
	// MissedAfter is how late a run may begin and still not count as missed.
	MissedAfter time.Duration
}

// missedBefore is the instant before which every start is missed: no agent worked, or the start
// would be too late.
func (m Round) missedBefore() time.Time {
	if late := m.Now.Add(-m.MissedAfter); late.After(m.WorkingSince) {
		return late
	}
	return m.WorkingSince
}

// outage is how long no agent worked before an instant was handled; 0: one worked all the time.
func (m Round) outage(due time.Time) time.Duration {
	switch {
	case !due.Before(m.WorkingSince):
		return 0
	case m.LastWorked.IsZero():
		return m.WorkingSince.Sub(due)
	}
	return m.WorkingSince.Sub(m.LastWorked)
}

// Skip is a number of successive due instants that are not run (I10).
type Skip struct {
	// Due and Last are the first and the last of the instants.
	Due, Last time.Time
	// Count is how many there are.
	Count int
	// Reason says why they are not run, in one sentence.
	Reason string
}

// Decision says what becomes of a schedule's due instants.
type Decision struct {
	// Runs are the instants to run, ascending.
	Runs []time.Time
	// Skips are the instants that a catch-up policy gives up.
	Skips []Skip
	// Next is the first instant that was not decided on, and Fire is when its run starts; zero: the
	// schedule has no more. Next may have passed already: there is more to decide at once then.
	Next, Fire time.Time
	// Upcoming are Next and the instants after it.
	Upcoming []time.Time
	// Limit is how many runs the schedule may start in all; 0: any number. The database counts them
	// (D-P3).
	Limit int64
}

// Last returns the last instant that was decided on; zero: none was.
func (f Decision) Last() (at time.Time) {
	if n := len(f.Skips); n > 0 {
		at = f.Skips[n-1].Last
	}
	if n := len(f.Runs); n > 0 && f.Runs[n-1].After(at) {
		at = f.Runs[n-1]
	}
	return at
}

// Decide decides what becomes of the due instants of a definition, from d.Due until m.Now. At most
// runsPerFiring instants become runs; call Decide again with the rest. The error is ErrUnknownKind,
// or a *schedule.Error.
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
			break // not yet, or missed as well: the policy is asked again with the next call
		}
		f.Runs = append(f.Runs, next)
		next, more = r.started(next, m.Now)
	}
	if most := runsPerFiring; len(f.Runs) > most {
		next, more = f.Runs[most], true
		f.Runs = f.Runs[:most]
	}
	// A run may turn out not to be made, because an earlier one is still active. So what follows
	// the last one that is allowed is looked at again when it is known.
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

// once is decision 11 for the schedule of jobs.sp_add_job: the due instant runs, and stands for all
// that were missed after it. Their number is exact however many they are: a million takes some tens
// of milliseconds.
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

// started is what follows a run for a due instant that starts at now.
func (r *rule) started(due, now time.Time) (time.Time, bool) {
	if r.plan.Moves() {
		r.plan = r.plan.Started(due, now)
		r.Schedule = r.plan
	}
	return r.Next(due)
}

// recover lets the catch-up policy decide on the missed instants from due on, and returns the first
// one that was not missed, or, when there are too many for one call, not looked at.
func (f *Decision) recover(r *rule, due time.Time, m Round) (next time.Time, more bool) {
	until := m.missedBefore()
	if r.fire(due).Compare(until) >= 0 {
		return due, true
	}
	if mode := r.catchUp.Mode; r.plan.Moves() && mode != schedule.CatchUpNone && mode != schedule.CatchUpWindow {
		// What follows is counted from the start of this one, so that no other was missed (D-S15).
		until = due.Add(time.Second)
	}
	found := r.catchUp.Recover(r, due, until, m.Now, m.outage(due))
	if r.plan.Jitter > 0 {
		// Only the last one can have been due before, and start later.
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

// Backfill lists the due instants of a range, both ends included, that are to run next: at most
// runsPerFiring. next is the instant after them; zero: none is left. The error is ErrUnknownKind,
// or a *schedule.Error.
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
