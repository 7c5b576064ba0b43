package store

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// LocalSchema is SQLite's schema of the temporary tables of a connection, a temporary file.
// SQLite's own schema for them, temp, would be slower: each definition there makes SQLite prepare
// all statements of the connection again, and one in another schema only the statements that use
// it.
const LocalSchema = "main"

// LocalTable returns the qualified SQLite name of a temporary table.
func LocalTable(name string) string { return LocalSchema + "." + Quote(name) }

// Temps are the temporary tables of a connection that outlive its sessions, and values about the
// content of temporary tables.
type Temps struct {
	conn   *Conn
	tables map[string]spool    // see Ensure
	values map[string]any      // see Remember
	recent map[string]struct{} // keys of values that were kept in the transaction
}

// spool is a temporary table of Ensure. ddl creates it; it is empty for a table that survives a
// rollback.
type spool struct{ ddl string }

// Ensure runs ddl once per connection. ddl must create the temporary table called name, and succeed
// if the table exists. The table outlives the session, so that prepared statements on it stay
// valid; Release empties it but does not drop it. name must identify the table's shape.
func (t *Temps) Ensure(ctx context.Context, name, ddl string) error {
	if _, ok := t.tables[name]; ok {
		return nil
	}
	if _, err := t.conn.Exec(ctx, ddl, nil); err != nil {
		return err
	}
	if !t.conn.inTransaction {
		ddl = ""
	}
	t.tables[name] = spool{ddl}
	return nil
}

// Has reports whether Ensure has created a table.
func (t *Temps) Has(name string) bool {
	_, ok := t.tables[name]
	return ok
}

// Len returns the number of tables that Ensure has created.
func (t *Temps) Len() int { return len(t.tables) }

// Remember keeps a value with the connection until Release, for example the version of a temporary
// table's content. A rollback of the transaction, or to a savepoint, ends it if it was kept in the
// transaction.
func (t *Temps) Remember(key string, v any) {
	t.values[key] = v
	if t.conn.inTransaction {
		t.recent[key] = struct{}{}
	}
}

// Recall returns the value that Remember kept, or nil.
func (t *Temps) Recall(key string) any { return t.values[key] }

// created returns the tables that the transaction has created, and the statements that create them.
func (t *Temps) created() map[string]string {
	var created map[string]string
	for name, s := range t.tables {
		if s.ddl != "" {
			if created == nil {
				created = map[string]string{}
			}
			created[name] = s.ddl
		}
	}
	return created
}

// commit notes that the transaction has been committed.
func (t *Temps) commit() {
	for name := range t.created() {
		t.tables[name] = spool{}
	}
	clear(t.recent)
}

// forget removes the remembered values of objects that a rollback has undone.
func (t *Temps) forget() {
	for name := range t.created() {
		delete(t.tables, name)
	}
	for key := range t.recent {
		delete(t.values, key)
	}
	clear(t.recent)
}

// objects returns the statements that drop the session's temporary tables and empty those
// of Ensure.
func (t *Temps) objects(ctx context.Context) ([]string, error) {
	const query = "SELECT type, name FROM " + LocalSchema + ".sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
	var out []string
	err := t.conn.Each(ctx, query, nil, func(row []types.Value) error {
		kind, name := row[0].(string), row[1].(string)
		switch _, kept := t.tables[name]; {
		case name == rowsetName: // has no rows of its own
		case kept:
			out = append(out, "DELETE FROM "+LocalTable(name))
		default:
			out = append(out, "DROP "+kind+" "+LocalTable(name))
		}
		return nil
	})
	return out, err
}
