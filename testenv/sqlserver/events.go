package sqlserver

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"time"
)

// T-SQL of the watch.
var (
	//go:embed start.sql
	startSQL string
	//go:embed stop.sql
	stopSQL string
	//go:embed events.sql
	eventsSQL string
)

// Kinds of events.
const (
	Deadlock   = "xml_deadlock_report"
	Escalation = "lock_escalation"
)

// ErrNoEvents means that the server has no Extended Events, as the embedded server.
var ErrNoEvents = errors.New("the server has no session system_health: deadlocks and lock escalations are not watched")

// The Extended Events sessions that Events reads.
const (
	// Own is the session that start.sql creates. It writes an event to its file within SettleOwn.
	Own = "jobagent_tests"
	// SystemHealth is the session of SQL Server itself. It writes an event to its file within
	// SettleSystemHealth.
	SystemHealth = "system_health"
)

// Event is a deadlock or a lock escalation.
type Event struct {
	// Session is Own or SystemHealth. Both sessions record a deadlock.
	Session string
	// Kind is Deadlock or Escalation.
	Kind string
	// At is the time of the event by the server's clock.
	At time.Time
	// Summary is one line: for an escalation the table's ID, the number of locks and the statement;
	// empty for a deadlock.
	Summary string
	// XML is the event in the server's format: for a deadlock the graph.
	XML string
}

// Watched returns ErrNoEvents if the server cannot be watched.
func Watched(ctx context.Context, db *sql.DB) error {
	var name string
	err := db.QueryRowContext(ctx, "SELECT name FROM sys.server_event_sessions WHERE name = N'system_health';").Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoEvents
	}
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrNoEvents, err)
	}
	return nil
}

// Now returns the server's time.
func Now(ctx context.Context, db *sql.DB) (now time.Time, err error) {
	err = db.QueryRowContext(ctx, "SELECT SYSUTCDATETIME();").Scan(&now)
	return now, err
}

// Start starts the watch, and replaces an earlier one.
func Start(ctx context.Context, db *sql.DB) error {
	if err := Watched(ctx, db); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, startSQL)
	return err
}

// Ensure starts the watch unless it is running.
func Ensure(ctx context.Context, db *sql.DB) error {
	if err := Watched(ctx, db); err != nil {
		return err
	}
	var n int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = N'"+Own+"';").Scan(&n)
	if err != nil || n > 0 {
		return err
	}
	return Start(ctx, db)
}

// Stop stops the watch.
func Stop(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, stopSQL)
	return err
}

// Events returns the events since a time, oldest first. The server writes events to its files with
// a delay, so wait for SettleOwn or SettleSystemHealth after the load.
func Events(ctx context.Context, db *sql.DB, since time.Time) ([]Event, error) {
	if err := Watched(ctx, db); err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, eventsSQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Event
	for rows.Next() {
		var session, kind, text string
		if err := rows.Scan(&session, &kind, &text); err != nil {
			return nil, err
		}
		e, err := parseEvent(kind, text)
		if err != nil {
			return nil, err
		}
		if e.Session = session; !e.At.Before(since) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Event) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	return list, rows.Err()
}

// parseEvent parses the XML of an event.
func parseEvent(kind, text string) (Event, error) {
	var x struct {
		Timestamp time.Time `xml:"timestamp,attr"`
		Data      []field   `xml:"data"`
		Action    []field   `xml:"action"`
	}
	if err := xml.Unmarshal([]byte(text), &x); err != nil {
		return Event{}, fmt.Errorf("read an event %s: %w", kind, err)
	}
	e := Event{Kind: kind, At: x.Timestamp, XML: text}
	if kind == Escalation {
		all := slices.Concat(x.Data, x.Action)
		e.Summary = fmt.Sprintf("database %s, object %s, mode %s, %s locks (%s), by %s: %.300s", value(all, "database_name"), value(all, "object_id"),
			value(all, "mode"), value(all, "escalated_lock_count"), value(all, "escalation_cause"), value(all, "client_app_name"), value(all, "sql_text"))
	}
	return e, nil
}

// field is a value of an event.
type field struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value"`
	Text  string `xml:"text"`
}

// value returns the text of the first named field that has one, or its value, or "?" without such a
// field. A field and an action can have the same name.
func value(list []field, name string) string {
	for _, f := range list {
		if found := cmp.Or(f.Text, f.Value); f.Name == name && found != "" {
			return found
		}
	}
	return "?"
}

// SettleOwn and SettleSystemHealth are the times until the server has written an event to the file
// of a session (sys.server_event_sessions.max_dispatch_latency, plus a margin).
const (
	SettleOwn          = 3 * time.Second
	SettleSystemHealth = 125 * time.Second
)
