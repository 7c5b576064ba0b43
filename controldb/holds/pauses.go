package holds

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Pause is a row of the view jobs.target_pauses: a database on which no attempt starts.
type Pause struct {
	Server   string `db:"server_name" json:"server_name"`
	Database string `db:"database_name" json:"database_name"`
	// Reason may be empty.
	Reason string    `db:"reason" json:"reason,omitempty"`
	Since  time.Time `db:"paused_time" json:"paused_time,omitzero"`
	By     string    `db:"paused_by" json:"paused_by,omitempty"`
	// Until is when the pause ends by itself; zero means that somebody has to end it.
	Until  time.Time `db:"end_time" json:"end_time,omitzero"`
	Target uuid.UUID `db:"target_id" json:"target_id"`
}

const pauseColumns = `SELECT target_id, server_name, database_name, reason, paused_time, paused_by, end_time
FROM jobs.target_pauses`

// Pause returns the pause of a database. The error is [dberror.ErrTargetNotPaused] if it is
// not paused.
func (s Store) Pause(ctx context.Context, target uuid.UUID) (Pause, error) {
	list, err := call.SelectAll[Pause](ctx, s.conn, "read the pause of a database", pauseColumns+"\nWHERE target_id = @p1;", target)
	return call.OnlyRow(list, err, "read the pause of a database", dberror.ErrTargetNotPaused)
}

// Pauses lists the databases that are paused now, in the order of their IDs.
func (s Store) Pauses(ctx context.Context, p controldb.Page[uuid.UUID]) ([]Pause, error) {
	w := p.Filter("target_id", ">")
	return call.SelectAll[Pause](ctx, s.conn, "list the paused databases", pauseColumns+w.Text()+"\nORDER BY target_id"+p.Text(w)+";", w.Args...)
}

// SetPause pauses a database until a time, or until somebody ends the pause (zero). The database
// need not be known; without Target, its names are of ASCII, or it is known. A database that is
// paused already gets the new reason and end.
func (s Store) SetPause(ctx context.Context, p Pause) error {
	return s.pauseTarget(ctx, p, 0)
}

// PauseTargetFor is [Store.SetPause] for a duration in whole seconds, 1 s to 366 days, by the
// clock of the control database. Until of p is zero.
func (s Store) PauseTargetFor(ctx context.Context, p Pause, d time.Duration) error {
	return s.pauseTarget(ctx, p, d)
}

// pauseTarget pauses a database, until p.Until or for d unless it is 0.
func (s Store) pauseTarget(ctx context.Context, p Pause, d time.Duration) error {
	c := call.New("jobs.sp_pause_target").In("server_name", p.Server).In("database_name", p.Database).
		OptText("reason", p.Reason).OptTime("end_time", p.Until)
	if p.Target != uuid.Nil {
		c.In("target_id", p.Target)
	}
	if d != 0 {
		c.In("seconds", int64(d/time.Second))
	}
	return s.conn.Exec(ctx, "pause the database", c)
}

// Resume ends the pause of a database. The error is [dberror.ErrTargetNotPaused] if it is not
// paused.
func (s Store) Resume(ctx context.Context, server, database string, target uuid.UUID) error {
	return s.conn.Exec(ctx, "end the pause of the database",
		call.New("jobs.sp_resume_target").In("server_name", server).In("database_name", database).In("target_id", target))
}
