package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// ConstraintMessage returns the message for a violated constraint of a table. d is nil for
// temporary tables.
func (s *View) ConstraintMessage(verb string, d *catalog.Database, t *catalog.Table, ce *store.ConstraintError) error {
	if t == nil {
		return ce
	}
	object := objectLabel(d, t)
	switch ce.Kind {
	case store.Unique:
		if ix := ViolatedIndex(t, ce); ix != nil {
			return UniqueMessage(d, t, ix, UnknownKey)
		}
	case store.NotNull:
		if len(ce.Columns) > 0 {
			if c := t.ColumnBySQLName(ce.Columns[0]); c != nil {
				if verb == "ALTER TABLE" {
					verb = "UPDATE" // SQL Server's message for ALTER COLUMN ... NOT NULL says UPDATE
				}
				return mserr.NullInsert(c.Name, FullLabel(d, t), verb)
			}
		}
	case store.Check:
		for _, k := range t.Checks {
			if ce.Constraint == constraintSQL(k.ObjectID) {
				column := ""
				if c := t.ColumnByID(k.ColumnID); c != nil {
					column = c.Name
				}
				return mserr.ConstraintConflict(verb, "CHECK", k.Name, databaseLabel(d), object, column)
			}
		}
	}
	return ce
}

// DefinitionError returns the message for a constraint error of SQLite during a change of a table.
func (s *View) DefinitionError(ctx context.Context, verb string, d *catalog.Database, t *catalog.Table, err error) error {
	var ce *store.ConstraintError
	if !errors.As(err, &ce) {
		return err
	}
	if ce.Kind == store.ForeignKey || ce.Kind == store.Check {
		for _, f := range t.ForeignKeys {
			if ce.Constraint == constraintSQL(f.ObjectID) {
				ref, column := "", ""
				if o := d.TableByID(f.Referenced); o != nil {
					ref = d.QualifiedName(o)
					if len(f.RefColumns) == 1 {
						if c := o.ColumnByID(f.RefColumns[0]); c != nil {
							column = c.Name
						}
					}
				}
				return mserr.ConstraintConflict(verb, "FOREIGN KEY", f.Name, d.Name, ref, column)
			}
		}
	}
	if ce.Kind == store.Unique {
		ix := ViolatedIndex(t, ce)
		if ix == nil {
			return ce
		}
		return mserr.DuplicateIndexKey(objectLabel(d, t), ix.Name, s.duplicateKey(ctx, d, t, ix))
	}
	return s.ConstraintMessage(verb, d, t, ce)
}

// duplicateKey returns a key value that occurs twice in a table, after the creation of a unique
// index has failed.
func (s *View) duplicateKey(ctx context.Context, d *catalog.Database, t *catalog.Table, ix *catalog.Index) string {
	cols, ts := KeyColumns(t, ix)
	if cols == nil || d != nil && s.Conn.Databases.Attach(ctx, d.ID) != nil {
		return UnknownKey
	}
	list := strings.Join(cols, ", ")
	row, err := s.Conn.QueryRow(ctx,
		"SELECT "+list+" FROM "+SQLTable(d, t)+" GROUP BY "+list+" HAVING count(*) > 1 LIMIT 1", nil)
	if err != nil || row == nil {
		return UnknownKey
	}
	return ShowKey(row, ts)
}

// objectLabel returns schema.table for messages.
func objectLabel(d *catalog.Database, t *catalog.Table) string {
	if d != nil {
		return d.QualifiedName(t)
	}
	return "dbo." + t.Name
}

// databaseLabel returns the name of a database for messages. Temporary tables are in tempdb.
func databaseLabel(d *catalog.Database) string {
	if d == nil {
		return "tempdb"
	}
	return d.Name
}

// FullLabel returns database.schema.table for message 515.
func FullLabel(d *catalog.Database, t *catalog.Table) string {
	if d == nil && strings.HasPrefix(t.Name, "@") {
		return t.Name
	}
	return databaseLabel(d) + "." + objectLabel(d, t)
}

// UniqueMessage returns message 2627 or 2601. key is the duplicate key value in parentheses.
func UniqueMessage(d *catalog.Database, t *catalog.Table, ix *catalog.Index, key string) error {
	object := objectLabel(d, t)
	if ix.Key == nil {
		return mserr.DuplicateKeyRow(object, ix.Name, key)
	}
	kind := "UNIQUE KEY"
	if ix.Key.Primary {
		kind = "PRIMARY KEY"
	}
	return mserr.DuplicateKey(kind, ix.Key.Name, object, key)
}

// ViolatedIndex returns the index to which a message of SQLite refers.
func ViolatedIndex(t *catalog.Table, ce *store.ConstraintError) *catalog.Index {
	if ce.Constraint != "" {
		for _, ix := range t.Indexes {
			if name := t.SQLIndex(ix); name != "" && (name == ce.Constraint || name+"_n" == ce.Constraint) {
				return ix
			}
		}
	}
	for _, ix := range t.Indexes {
		if !ix.Unique || len(ix.Columns) != len(ce.Columns) {
			continue
		}
		same := true
		for i, ic := range ix.Columns {
			c := t.ColumnByID(ic.ColumnID)
			same = same && c != nil && (c.SQLName == ce.Columns[i] || ix.RowID && ce.Columns[i] == "rowid")
		}
		if same {
			return ix
		}
	}
	return nil
}

// UnknownKey replaces a duplicate key value that could not be determined.
const UnknownKey = "(unknown)"

// KeyColumns returns the SQLite columns and the types of an index.
func KeyColumns(t *catalog.Table, ix *catalog.Index) (cols []string, ts []types.Type) {
	for _, ic := range ix.Columns {
		c := t.ColumnByID(ic.ColumnID)
		if c == nil || c.SQLName == "" {
			return nil, nil
		}
		cols = append(cols, store.Quote(c.SQLName))
		ts = append(ts, c.Type)
	}
	return cols, ts
}

// ShowKey formats a key value for messages 2601, 2627 and 1505.
func ShowKey(row []types.Value, ts []types.Type) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = "<NULL>"
		if row[i] == nil {
			continue
		}
		v, err := types.Convert(row[i], t, types.NVarCharMax, 0)
		if err != nil {
			return UnknownKey
		}
		parts[i] = v.(string)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// constraintSQL returns the name of a CHECK constraint in SQLite.
func constraintSQL(id int32) string { return fmt.Sprintf("k%d", id) }

// SQLTable returns the qualified name of a table in SQLite.
func SQLTable(d *catalog.Database, t *catalog.Table) string {
	schema := "temp."
	if !t.Temporary {
		schema = d.SQLName() + "."
	}
	return schema + store.Quote(t.SQLName)
}
