package agent

import (
	"fmt"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// firing decides what follows a due instant: the instant to store next, and the missed ones that its run stands for
// (decision 11: one catch-up run, then the grid). now is the database's.
func firing(due controldb.DueSchedule, now time.Time) controldb.Firing {
	f := controldb.Firing{Schedule: due.ID, DueAt: due.DueAt}
	spec, err := specOf(due)
	if err != nil {
		// Nothing runs because a definition could not be read; the instant is recorded, and no other is stored.
		f.SkipReason = err.Error()
		return f
	}
	next, more, missed := schedule.Advance(spec, due.DueAt, now)
	if more {
		f.NextDueAt = next
	}
	if missed > 0 {
		first, _ := spec.Next(due.DueAt)
		f.Skips = []controldb.Skip{{DueAt: first, Count: missed, Reason: "missed: no agent was running when it was due; the catch-up run stands for it"}}
	}
	if !due.End.IsZero() && due.DueAt.After(due.End) {
		f.SkipReason = "the schedule had ended"
	}
	return f
}

// specOf reads the definition of a schedule.
func specOf(due controldb.DueSchedule) (schedule.Schedule, error) {
	switch kind := schedule.Kind(due.Kind); kind {
	case schedule.KindElastic:
		interval, err := schedule.ParseInterval(due.IntervalType)
		if err != nil {
			return nil, err
		}
		spec := schedule.Elastic{Interval: interval, Count: due.IntervalCount, Start: due.Anchor, End: due.End}
		return spec, spec.Validate()
	default:
		return nil, fmt.Errorf("this agent (an older one?) does not know schedules of kind %q", kind)
	}
}
