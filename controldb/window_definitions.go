package controldb

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// TargetWindow is a row of the view jobs.target_windows: when attempts may start on databases.
type TargetWindow struct {
	Name string `db:"window_name"`
	// Target, Server and Database are zero if the window is that of the databases that match
	// TagFilter.
	Target    uuid.UUID `db:"target_id"`
	Server    string    `db:"server_name"`
	Database  string    `db:"database_name"`
	TagFilter string    `db:"tag_filter"`
	// The window is open while Calendar has a window, and Blackouts has none. One of them may be
	// empty.
	Calendar  string `db:"calendar_name"`
	Blackouts string `db:"blackouts"`
	// Zone is that of calendars that name none; empty means UTC. ZoneTag is a tag with the zone of
	// each database, or empty.
	Zone    string    `db:"time_zone"`
	ZoneTag string    `db:"time_zone_tag"`
	Created time.Time `db:"created_time"`
	Updated time.Time `db:"updated_time"`
}

const windowColumns = `SELECT window_name, target_id, server_name, database_name, tag_filter, calendar_name, blackouts, time_zone, time_zone_tag, created_time,
    updated_time
FROM jobs.target_windows`

// TargetWindow returns a window of databases. The error is [ErrTargetWindowNotFound] when none has
// this name.
func (s *Store) TargetWindow(ctx context.Context, name string) (TargetWindow, error) {
	list, err := selectAll[TargetWindow](ctx, s, "read the window of databases", windowColumns+"\nWHERE window_name = @p1;", name)
	return onlyRow(list, err, "read the window of databases", dberror.ErrTargetWindowNotFound)
}

// TargetWindows lists the windows of databases by their names.
func (s *Store) TargetWindows(ctx context.Context, p Page[string]) ([]TargetWindow, error) {
	w := p.filter("window_name", ">")
	return selectAll[TargetWindow](ctx, s, "list the windows of databases", windowColumns+w.text()+"\nORDER BY window_name"+p.text(w)+";", w.args...)
}

// SetTargetWindow adds or replaces a window of databases.
func (s *Store) SetTargetWindow(ctx context.Context, w TargetWindow) error {
	c := newCall("jobs.sp_set_target_window").in("window_name", w.Name).optText("calendar_name", w.Calendar).optText("blackouts", w.Blackouts).
		optText("tag_filter", w.TagFilter).optText("server_name", w.Server).optText("database_name", w.Database).
		optText("time_zone", w.Zone).optText("time_zone_tag", w.ZoneTag)
	if w.Target != uuid.Nil {
		c.in("target_id", w.Target)
	}
	return s.exec(ctx, "set the window of databases", c)
}

// DeleteTargetWindow deletes a window of databases. The error is [ErrTargetWindowNotFound] if none
// has this name.
func (s *Store) DeleteTargetWindow(ctx context.Context, name string) error {
	return s.exec(ctx, "delete the window of databases", newCall("jobs.sp_delete_target_window").in("window_name", name))
}
