package controldb

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Part is what a call of [Store.AdvancePart] advances: the runs, schedules or triggers of a range
// of ids.
type Part struct {
	// Kind is Run, Schedule or Trigger; "" means nothing of any kind, or with TriedAt everything.
	Kind  string `db:"kind"`
	First int64  `db:"first_id"`
	Last  int64  `db:"last_id"`
	// TriedAt is [Taken.TriedAt] of what is set aside and is tried again; zero: what is set aside
	// is left out.
	TriedAt time.Time
	// MaxTasks is how many tasks are claimed and given back.
	MaxTasks int
}

// AdvancePart makes the part of a pass that concerns p. Its error is what the pass would have
// failed with. skipped means that another session held the lock of passes, so nothing was tried.
// ranges are the ids that exist, by kind, if p is zero.
func (s *Store) AdvancePart(ctx context.Context, term TermID, p Part) (ranges []Part, skipped bool, err error) {
	c := ForTerm(call.New("jobs_internal.advance_part"), term).In("max_tasks", int64(p.MaxTasks))
	if p.Kind != "" {
		c.In("kind", p.Kind).In("first_id", p.First).In("last_id", p.Last)
	}
	if !p.TriedAt.IsZero() {
		c.In("tried_at", p.TriedAt)
	}
	err = s.conn.Query(ctx, "advance a part of the executions", c, call.ScanOne(&skipped), call.Into(&ranges))
	return ranges, skipped, err
}

// SetAside is what [Store.SetAside] has set aside.
type SetAside struct {
	JobName        string    `db:"job_name"`
	JobExecutionID uuid.UUID `db:"job_execution_id"` // of a run
	Name           string    `db:"name"`             // of a schedule or a trigger
	// Message says what was refused, what it means, and what to do.
	Message string `db:"message"`
}

// SetAside sets the run, schedule or trigger with the first id of p aside: passes leave it out.
// reason is the error of the control database.
func (s *Store) SetAside(ctx context.Context, term TermID, p Part, reason string) (SetAside, error) {
	var rows []SetAside
	err := s.conn.Query(ctx, "set an execution aside", ForTerm(call.New("jobs_internal.set_aside"), term).
		In("kind", p.Kind).In("id", p.First).In("error_message", reason), call.Into(&rows))
	if err != nil || len(rows) == 0 {
		return SetAside{}, err
	}
	return rows[0], nil
}

// Taken is a run, schedule or trigger that is set aside and is to be tried again.
type Taken struct {
	Kind    string    `db:"kind"`
	ID      int64     `db:"id"`
	TriedAt time.Time `db:"tried_at"`
}

// Part returns the argument of [Store.AdvancePart] that tries t again.
func (t Taken) Part() Part { return Part{Kind: t.Kind, First: t.ID, Last: t.ID, TriedAt: t.TriedAt} }

// TakeSetAsides takes what is to be tried again. If the caller does not come to it, it is taken
// again later.
func (s *Store) TakeSetAsides(ctx context.Context, term TermID) ([]Taken, error) {
	var rows []Taken
	err := s.conn.Query(ctx, "take what is set aside", ForTerm(call.New("jobs_internal.take_set_asides"), term), call.Into(&rows))
	return rows, err
}
