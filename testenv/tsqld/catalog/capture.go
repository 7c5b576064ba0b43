package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// TriggerEvents are the events of DML triggers.
var TriggerEvents = []string{"INSERT", "UPDATE", "DELETE"}

// CapturePrefix begins the keys of the function that a SQLite trigger calls for each changed row of
// a table with AFTER triggers. [ParseCapture] reads the rest of a key. The arguments are values of
// the row, in the order of the table's columns, without computed columns. SQLite limits the number
// of arguments, so a wide row needs several calls.
const CapturePrefix = "capture|"

// captureColumns is the most columns in one call: SQLite allows 127 arguments.
const captureColumns = 100

// Capture is a key of the function that SQLite triggers call.
type Capture struct {
	Table    int32
	Event    string // INSERT, UPDATE or DELETE
	Inserted bool   // the row after the change; otherwise the row before
	First    bool   // the call has the first columns of a row
}

// key returns the text of the key.
func (c Capture) key() string {
	bit := map[bool]string{true: "1", false: "0"}
	return CapturePrefix + c.Event[:1] + bit[c.Inserted] + bit[c.First] + strconv.Itoa(int(c.Table))
}

// ParseCapture reads a key that begins with [CapturePrefix].
func ParseCapture(key string) (Capture, error) {
	rest := strings.TrimPrefix(key, CapturePrefix)
	if len(rest) < 4 {
		return Capture{}, fmt.Errorf("catalog: capture key %q", key)
	}
	id, err := strconv.ParseInt(rest[3:], 10, 32)
	c := Capture{Table: int32(id), Inserted: rest[1] == '1', First: rest[2] == '1'}
	for _, e := range TriggerEvents {
		if e[0] == rest[0] {
			c.Event = e
		}
	}
	return c, err
}

// Captured returns the columns whose values SQLite triggers pass on: all but computed columns.
func (t *Table) Captured() []*Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool { return c.Formula != nil })
}

// HasAfter reports whether a table has AFTER triggers for an event.
func (t *Table) HasAfter(event string) bool {
	return slices.ContainsFunc(t.Triggers, func(tr *Trigger) bool {
		return !tr.InsteadOf && slices.Contains(tr.Events, event)
	})
}

// captureSQL returns the SQLite triggers of a table: one for each event for which the table has
// AFTER triggers, disabled ones included. A SQLite trigger only reports the rows. It also reports
// rows that a foreign key changes.
func captureSQL(schema string, t *Table) []string {
	var out []string
	for _, event := range TriggerEvents {
		if !t.HasAfter(event) {
			continue
		}
		var calls []string
		if event != "INSERT" {
			calls = append(calls, captureCalls(t, event, "OLD", false)...)
		}
		if event != "DELETE" {
			calls = append(calls, captureCalls(t, event, "NEW", true)...)
		}
		out = append(out, fmt.Sprintf("CREATE TRIGGER IF NOT EXISTS %s.%s AFTER %s ON %s BEGIN SELECT %s; END",
			schema, captureName(t, event), event, t.SQLName, strings.Join(calls, ", ")))
	}
	return out
}

// captureName returns the name of a SQLite trigger.
func captureName(t *Table, event string) string {
	return fmt.Sprintf("tr%d_%s", t.ObjectID, strings.ToLower(event))
}

// captureCalls returns the calls that report one side of a change.
func captureCalls(t *Table, event, row string, inserted bool) []string {
	var out []string
	first := true
	columns := t.Captured()
	for len(columns) > 0 || first {
		n := min(len(columns), captureColumns)
		args := []string{store.Literal(Capture{Table: t.ObjectID, Event: event, Inserted: inserted, First: first}.key())}
		for _, c := range columns[:n] {
			args = append(args, row+"."+c.SQLName)
		}
		out = append(out, "fnv("+strings.Join(args, ", ")+")")
		columns, first = columns[n:], false
	}
	return out
}

// replaceCapture replaces the SQLite triggers of a changed table. gone is set if SQLite has dropped
// the old ones with the table.
func (s *script) replaceCapture(old, changed *Table, gone bool) {
	schema := s.db.SQLName()
	before, after := captureSQL(schema, old), captureSQL(schema, changed)
	if !gone && slices.Equal(before, after) {
		return
	}
	if !gone {
		for _, event := range TriggerEvents {
			if old.HasAfter(event) {
				s.add("DROP TRIGGER IF EXISTS " + schema + "." + captureName(old, event))
			}
		}
	}
	for _, sql := range after {
		s.add(sql)
	}
}

// repairCapture creates missing SQLite triggers. Files of versions that did not run triggers have
// none.
func repairCapture(ctx context.Context, d *Database, c *store.Conn) error {
	for _, t := range d.Tables() {
		for _, sql := range captureSQL(d.SQLName(), t) {
			if _, err := c.Exec(ctx, sql, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
