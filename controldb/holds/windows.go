package holds

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Window is a row of the view jobs.target_windows: when attempts may start on databases.
type Window struct {
	Name string `db:"window_name" json:"window_name"`
	// Server, Database and Target are zero if the window is that of the databases that match
	// TagFilter.
	Server    string    `db:"server_name" json:"server_name,omitempty"`
	Database  string    `db:"database_name" json:"database_name,omitempty"`
	Target    uuid.UUID `db:"target_id" json:"target_id,omitzero"`
	TagFilter string    `db:"tag_filter" json:"tag_filter,omitempty"`
	// The window is open while Calendar has a window, and Blackouts has none. One of them may be
	// empty.
	Calendar  string `db:"calendar_name" json:"calendar_name,omitempty"`
	Blackouts string `db:"blackouts" json:"blackouts,omitempty"`
	// Zone is that of calendars that name none; empty means UTC. ZoneTag is a tag with the zone of
	// each database, or empty.
	Zone    string    `db:"time_zone" json:"time_zone,omitempty"`
	ZoneTag string    `db:"time_zone_tag" json:"time_zone_tag,omitempty"`
	Created time.Time `db:"created_time" json:"-"`
	Updated time.Time `db:"updated_time" json:"-"`
}

const windowColumns = `SELECT window_name, target_id, server_name, database_name, tag_filter, calendar_name, blackouts, time_zone, time_zone_tag, created_time,
    updated_time
FROM jobs.target_windows`

// Window returns a window of databases. The error is [dberror.ErrTargetWindowNotFound] when
// none has this name.
func (s Store) Window(ctx context.Context, name string) (Window, error) {
	list, err := call.SelectAll[Window](ctx, s.conn, "read the window of databases", windowColumns+"\nWHERE window_name = @p1;", name)
	return call.OnlyRow(list, err, "read the window of databases", dberror.ErrTargetWindowNotFound)
}

// Windows lists the windows of databases by their names.
func (s Store) Windows(ctx context.Context, p controldb.Page[string]) ([]Window, error) {
	w := p.Filter("window_name", ">")
	return call.SelectAll[Window](ctx, s.conn, "list the windows of databases", windowColumns+w.Text()+"\nORDER BY window_name"+p.Text(w)+";", w.Args...)
}

// SetWindow adds or replaces a window of databases.
func (s Store) SetWindow(ctx context.Context, w Window) error {
	c := call.New("jobs.sp_set_target_window").In("window_name", w.Name).OptText("calendar_name", w.Calendar).OptText("blackouts", w.Blackouts).
		OptText("tag_filter", w.TagFilter).OptText("server_name", w.Server).OptText("database_name", w.Database).
		OptText("time_zone", w.Zone).OptText("time_zone_tag", w.ZoneTag)
	if w.Target != uuid.Nil {
		c.In("target_id", w.Target)
	}
	return s.conn.Exec(ctx, "set the window of databases", c)
}

// DeleteWindow deletes a window of databases. The error is [dberror.ErrTargetWindowNotFound]
// if none has this name.
func (s Store) DeleteWindow(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete the window of databases", call.New("jobs.sp_delete_target_window").In("window_name", name))
}
