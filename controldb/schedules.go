package controldb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
)

// ScheduleID identifies a schedule.
type ScheduleID int64

// DueSchedule is a schedule whose stored due instant has passed.
type DueSchedule struct {
	ID      ScheduleID
	JobID   uuid.UUID
	JobName string
	// Name is empty for the schedule that the job's own definition holds.
	Name string
	// Kind decides which of the following fields define the schedule; "elastic" uses the interval's.
	Kind string
	// Spec is the definition's text for kinds other than "elastic".
	Spec string
	// IntervalType is Once, Minutes, Hours, Days, Weeks or Months.
	IntervalType  string
	IntervalCount int
	// Start and End bound the due instants.
	Start, End time.Time
	// Anchor is where the grid of due instants begins: Start, or the moment of activation when Start is
	// the year 1 (decision 10).
	Anchor time.Time
	// TimeZone is an IANA name; "UTC" for "elastic".
	TimeZone string
	// DueAt is the stored due instant that has passed.
	DueAt time.Time
	// LastDueAt is the one before it; zero: none.
	LastDueAt time.Time
}

// DueSchedules is the answer of Store.DueSchedules.
type DueSchedules struct {
	// Now is the database's time.
	Now time.Time
	// NextDueAt is the earliest due instant that has not passed; zero: none is stored.
	NextDueAt time.Time
	// Schedules are due, earliest first.
	Schedules []DueSchedule
}

// DueSchedules lists at most limit schedules that are due. It changes nothing: FireSchedules does.
func (s *Store) DueSchedules(ctx context.Context, limit int) (DueSchedules, error) {
	var (
		res          DueSchedules
		now, nextDue nullTime
		rows         []struct {
			ID            ScheduleID `db:"schedule_id"`
			JobID         nullGUID   `db:"job_id"`
			JobName       string     `db:"job_name"`
			Name          string     `db:"schedule_name"`
			Kind          string     `db:"kind"`
			Spec          nullText   `db:"spec"`
			IntervalType  nullText   `db:"interval_type"`
			IntervalCount *int       `db:"interval_count"`
			Start         nullTime   `db:"start_time"`
			End           nullTime   `db:"end_time"`
			Anchor        nullTime   `db:"anchor_at"`
			TimeZone      string     `db:"time_zone"`
			DueAt         nullTime   `db:"next_due_at"`
			LastDueAt     nullTime   `db:"last_due_at"`
		}
	)
	err := s.query(ctx, "list due schedules", newCall("jobs_internal.due_schedules").in("max", int64(limit)),
		scanOne(&now, &nextDue), into(&rows))
	if err != nil {
		return DueSchedules{}, err
	}
	res.Now, res.NextDueAt = now.Time, nextDue.Time
	for _, r := range rows {
		d := DueSchedule{
			ID: r.ID, JobID: r.JobID.UUID, JobName: r.JobName, Name: r.Name, Kind: r.Kind, Spec: string(r.Spec),
			IntervalType: string(r.IntervalType), Start: r.Start.Time, End: r.End.Time, Anchor: r.Anchor.Time,
			TimeZone: r.TimeZone, DueAt: r.DueAt.Time, LastDueAt: r.LastDueAt.Time,
		}
		if r.IntervalCount != nil {
			d.IntervalCount = *r.IntervalCount
		}
		res.Schedules = append(res.Schedules, d)
	}
	return res, nil
}

// Skip records due instants that are not run (I10).
type Skip struct {
	// DueAt is the first of them, and Count how many there are.
	DueAt  time.Time
	Count  int
	Reason string
}

// Firing asks for the execution of one due instant.
type Firing struct {
	Schedule ScheduleID
	// DueAt is the instant as DueSchedules gave it; if the stored one differs, somebody was faster, and
	// nothing happens.
	DueAt time.Time
	// NextDueAt is the instant to store; zero: the schedule has no more, and is completed.
	NextDueAt time.Time
	// Skips are instants between DueAt and NextDueAt that are not caught up.
	Skips []Skip
	// SkipReason, when not empty, records DueAt itself as skipped instead of running it: no instant may run
	// any more, as after the schedule's end.
	SkipReason string
}

// The values of FiredExecution.Result.
const (
	// FiredStarted means that an execution was created.
	FiredStarted = "Started"
	// FiredSkipped means that the instant was recorded as skipped, with its reason.
	FiredSkipped = "Skipped"
	// FiredStale means that somebody else had moved the schedule on; nothing happened.
	FiredStale = "Stale"
)

// FiredExecution is what became of a firing.
type FiredExecution struct {
	Schedule ScheduleID
	JobName  string
	// JobExecutionID is nil unless Result is FiredStarted.
	JobExecutionID uuid.UUID
	DueAt          time.Time
	Result         string
	// Reason says why it was skipped.
	Reason string
}

// firingJSON is the form of a firing in fire_schedules' argument.
type firingJSON struct {
	ScheduleID ScheduleID `json:"schedule_id"`
	DueAt      string     `json:"due_at"`
	NextDueAt  *string    `json:"next_due_at,omitempty"`
	SkipReason string     `json:"skip_reason,omitempty"`
	Skips      []skipJSON `json:"skips,omitempty"`
}

// skipJSON is the form of a Skip in it.
type skipJSON struct {
	DueAt  string `json:"due_at"`
	Count  int    `json:"count"`
	Reason string `json:"reason"`
}

// FireSchedules creates the executions of due instants and moves the schedules on, in one transaction. One
// due instant of one schedule creates exactly one execution, whoever calls how often (I2). It returns
// [ErrTermEnded] when the term has ended.
func (s *Store) FireSchedules(ctx context.Context, term TermID, firings []Firing) ([]FiredExecution, error) {
	if len(firings) == 0 {
		return nil, nil
	}
	list := make([]firingJSON, 0, len(firings))
	for _, f := range firings {
		j := firingJSON{ScheduleID: f.Schedule, DueAt: datetime2(f.DueAt), SkipReason: f.SkipReason}
		if !f.NextDueAt.IsZero() {
			next := datetime2(f.NextDueAt)
			j.NextDueAt = &next
		}
		for _, skip := range f.Skips {
			j.Skips = append(j.Skips, skipJSON{DueAt: datetime2(skip.DueAt), Count: skip.Count, Reason: skip.Reason})
		}
		list = append(list, j)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("fire schedules: write firings as JSON: %w", err)
	}
	var fired []FiredExecution
	err = s.query(ctx, "fire schedules",
		newCall("jobs_internal.fire_schedules").in("term_id", int64(term)).in("firings", string(text)),
		func(rows *sqlx.Rows) error {
			var (
				f         FiredExecution
				name      nullText
				execution nullGUID
				dueAt     nullTime
				reason    nullText
			)
			if err := rows.Scan(&f.Schedule, &name, &execution, &dueAt, &f.Result, &reason); err != nil {
				return err
			}
			f.JobName, f.JobExecutionID, f.DueAt, f.Reason = string(name), execution.UUID, dueAt.Time, string(reason)
			fired = append(fired, f)
			return nil
		})
	return fired, err
}
