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

// ErrNoEvents means that the server has no Extended Events: it is the embedded one.
var ErrNoEvents = errors.New("the server has no session system_health: deadlocks and lock escalations are not watched")

// Event is a deadlock or a lock escalation.
type Event struct {
	// Kind is Deadlock or Escalation.
	Kind string
	// At is when it happened, by the server's clock.
	At time.Time
	// Summary is one line: for an escalation the table's id, the number of locks and the statement; empty for a deadlock.
	Summary string
	// XML is the event as the server wrote it: for a deadlock the graph.
	XML string
}

// Watched reports whether the server can be watched: ErrNoEvents when it cannot.
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

// Now is the server's time, from which on events are of interest.
func Now(ctx context.Context, db *sql.DB) (now time.Time, err error) {
	err = db.QueryRowContext(ctx, "SELECT SYSUTCDATETIME();").Scan(&now)
	return now, err
}

// Start begins to watch for lock escalations, in place of an earlier watch. Deadlocks are always watched.
func Start(ctx context.Context, db *sql.DB) error {
	if err := Watched(ctx, db); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, startSQL)
	return err
}

// Stop ends the watch.
func Stop(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, stopSQL)
	return err
}

// Events are the events since a time, oldest first. The server writes an event to its file after a second or, for system_health, some more;
// whoever has just ended a load waits for SettleEscalations or SettleDeadlocks before.
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
		var kind, text string
		if err := rows.Scan(&kind, &text); err != nil {
			return nil, err
		}
		e, err := parseEvent(kind, text)
		if err != nil {
			return nil, err
		}
		if !e.At.Before(since) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Event) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	return list, rows.Err()
}

// parseEvent reads the XML of an event.
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

// value is the text of a field, or its value when it has no text; "?" when it is missing.
func value(list []field, name string) string {
	for _, f := range list {
		if f.Name == name {
			return cmp.Or(f.Text, f.Value, "?")
		}
	}
	return "?"
}

// SettleEscalations and SettleDeadlocks are how long the server may take until an event stands in its file: system_health dispatches within 120 s, ours within one
// (sys.server_event_sessions.max_dispatch_latency).
const (
	SettleEscalations = 3 * time.Second
	SettleDeadlocks   = 125 * time.Second
)
