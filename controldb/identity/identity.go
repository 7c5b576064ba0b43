package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Identity is the row of the view jobs.control_database: which control database this is, and
// whether it is paused.
type Identity struct {
	// DatabaseID is made at the installation. A copy has the same.
	DatabaseID uuid.UUID `db:"database_id"`
	// Incarnation changes with each call of AfterRestore (I16).
	Incarnation uuid.UUID `db:"incarnation"`
	// PausedAt is zero if the control database is not paused.
	PausedAt    time.Time `db:"paused_time"`
	PausedBy    string    `db:"paused_by"`
	PauseReason string    `db:"pause_reason"`
	// SkipUntil is the time before which instants of schedules are recorded as skipped; zero: none.
	SkipUntil time.Time `db:"skip_until"`
}

// Paused reports whether the control database is paused.
func (i Identity) Paused() bool { return !i.PausedAt.IsZero() }

// SinceVersion is the version of the schema that has incarnations and pauses first.
const SinceVersion = 29

// ReadText reads an [Identity].
const ReadText = `SELECT c.database_id, c.incarnation, c.paused_time, c.paused_by, c.pause_reason, c.skip_until
FROM jobs.control_database AS c;`

// Read reads the identity of the control database. With an earlier schema it is the zero value.
func (s Store) Read(ctx context.Context) (Identity, error) {
	list, err := call.SelectAll[Identity](ctx, s.conn, "read the identity of the control database", ReadText)
	if dberror.NumberOf(err) != 0 {
		version, versionErr := s.installed.Version(ctx)
		switch {
		case errors.Is(versionErr, dberror.ErrNotInstalled):
			return Identity{}, versionErr
		case versionErr == nil && version < SinceVersion:
			return Identity{}, nil
		}
	}
	if err != nil {
		return Identity{}, err
	}
	if len(list) != 1 {
		return Identity{}, fmt.Errorf("read the identity of the control database: got %d rows, want 1", len(list))
	}
	return list[0], nil
}

// Pause pauses the control database: nothing starts and nothing is claimed, and attempts in flight
// end. A second call with a reason changes the reason.
func (s Store) Pause(ctx context.Context, reason string) error {
	return s.sinceIncarnations(ctx,
		s.conn.Exec(ctx, "pause the control database", call.New("jobs.sp_pause_control_database").OptText("reason", reason)))
}

// Resume ends a pause. Instants of schedules before skipUntil will be recorded as skipped instead
// of run; zero skips none for this reason.
func (s Store) Resume(ctx context.Context, skipUntil time.Time) error {
	c := call.New("jobs.sp_resume_control_database")
	if !skipUntil.IsZero() {
		c.In("skip_until", skipUntil.UTC())
	}
	return s.sinceIncarnations(ctx, s.conn.Exec(ctx, "resume the control database", c))
}

// Restored is the document of `jobagent db after-restore`.
type Restored struct {
	Incarnation uuid.UUID `json:"incarnation"`
	PausedAt    time.Time `json:"paused_time"`
	PauseReason string    `json:"-"`
	// Terms is the number of terms that the call has ended.
	Terms int `json:"ended_terms"`
	// DueSchedules and ActiveRuns are the numbers of all, of which the lists have the first.
	DueSchedules int                `json:"due_schedules"`
	ActiveRuns   int                `json:"active_runs"`
	Due          []RestoredSchedule `json:"due"`
	Runs         []RestoredRun      `json:"runs"`
}

// RestoredSchedule is a schedule that is due when the control database is resumed.
type RestoredSchedule struct {
	JobName  string    `db:"job_name" json:"job_name"`
	Schedule string    `db:"schedule_name" json:"schedule_name"`
	DueAt    time.Time `db:"due_time" json:"due_time"`
	// CatchUp is empty for the default of the schedule's text.
	CatchUp string `db:"catch_up" json:"catch_up"`
	Overlap string `db:"overlap" json:"overlap"`
}

// RestoredRun is a run that goes on when the control database is resumed.
type RestoredRun struct {
	ID        uuid.UUID `db:"job_execution_id" json:"job_execution_id"`
	JobName   string    `db:"job_name" json:"job_name"`
	Lifecycle string    `db:"lifecycle" json:"lifecycle"`
	CreatedAt time.Time `db:"create_time" json:"create_time"`
	Targets   int       `db:"targets" json:"targets"`
	Succeeded int       `db:"succeeded" json:"succeeded"`
	Failed    int       `db:"failed" json:"failed"`
	// Unknown counts targets whose latest attempt may have run or not.
	Unknown int    `db:"unknown" json:"unknown"`
	Message string `db:"last_message" json:"last_message"`
}

// AfterRestore pauses a control database that was restored, gives it a new incarnation, and ends
// all terms. It lists at most limit schedules and runs that would go on.
func (s Store) AfterRestore(ctx context.Context, limit int) (Restored, error) {
	r := Restored{Due: []RestoredSchedule{}, Runs: []RestoredRun{}}
	err := s.conn.Query(ctx, "make the restored control database safe", call.New("jobs.sp_after_restore").In("max", int64(limit)),
		call.ScanOne(&r.Incarnation, &r.PausedAt, &r.PauseReason, &r.Terms, &r.DueSchedules, &r.ActiveRuns),
		call.Into(&r.Due), call.Into(&r.Runs))
	return r, s.sinceIncarnations(ctx, err)
}

// sinceIncarnations returns the error of a call, which is a *[dberror.SchemaVersionError] if the
// schema is too old for the procedure: a restored backup may have the schema of an earlier release.
func (s Store) sinceIncarnations(ctx context.Context, err error) error {
	if !errors.Is(err, dberror.ErrNotInstalled) {
		return err
	}
	if version, versionErr := s.installed.Version(ctx); versionErr == nil && version < SinceVersion {
		return &dberror.SchemaVersionError{Have: version, Want: installed.SchemaVersion()}
	}
	return err
}
