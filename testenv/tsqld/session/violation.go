package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
				if verb == "ALTER TABLE" || verb == "MERGE" {
					verb = "UPDATE" // as SQL Server says for ALTER COLUMN ... NOT NULL and all actions of MERGE
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
				if d == nil {
					object = t.Name
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
		newest := slices.Clone(t.Indexes)
		slices.Reverse(newest)
		ix := violated(t, newest, ce)
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
	if d != nil && s.Conn.Databases.Attach(ctx, d.ID) != nil {
		return UnknownKey
	}
	return s.RepeatedKey(ctx, SQLTable(d, t), t, ix)
}

// RepeatedKey returns the value of a key that occurs twice in from, a SQLite table with the columns
// of t.
func (s *View) RepeatedKey(ctx context.Context, from string, t *catalog.Table, ix *catalog.Index) string {
	var cols, keys []string
	var ts []types.Type
	for _, ic := range ix.Columns {
		c := t.ColumnByID(ic.ColumnID)
		if c == nil || c.SQLName == "" {
			return UnknownKey
		}
		cols, keys, ts = append(cols, c.SQLName), append(keys, c.KeySQL(c.SQLName)), append(ts, c.Type)
		if name := c.Type.CollationName(); name != "" {
			keys[len(keys)-1] += " COLLATE " + name
		}
	}
	row, err := s.Conn.QueryRow(ctx, "SELECT "+strings.Join(cols, ", ")+", max(rowid) FROM "+Filtered(from, ix)+
		" GROUP BY "+strings.Join(keys, ", ")+" HAVING count(*) > 1 LIMIT 1", nil)
	if err != nil || row == nil {
		return UnknownKey
	}
	return ShowKey(row, ts)
}

// Filtered adds the condition of a filtered index to a SQLite table.
func Filtered(from string, ix *catalog.Index) string {
	if ix.Filter != "" {
		from += " WHERE " + ix.FilterSQL
	}
	return from
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
	return violated(t, t.Indexes, ce)
}

// violated returns the first of some indexes of a table to which a message may refer.
func violated(t *catalog.Table, indexes []*catalog.Index, ce *store.ConstraintError) *catalog.Index {
	if ce.Constraint != "" {
		for _, ix := range indexes {
			if name := t.SQLIndex(ix); name != "" && (name == ce.Constraint || name+"_n" == ce.Constraint) {
				return ix
			}
		}
	}
	for _, ix := range indexes {
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

// ShowKey formats a key value for messages 2601, 2627 and 1505. It prints dates and times as style
// 121, except datetime and smalldatetime, and bytes and uniqueidentifier in lower case (SQL Server
// 2025, recorded).
func ShowKey(row []types.Value, ts []types.Type) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = "<NULL>"
		if row[i] == nil {
			continue
		}
		style := 0
		switch {
		case t.IsBinary():
			style = 1
		case t.ID != types.DateTime && t.ID != types.SmallDateTime && t.IsTemporal():
			style = 121
		}
		v, err := types.Convert(row[i], t, types.NVarCharMax, style)
		if err != nil {
			return UnknownKey
		}
		parts[i] = v.(string)
		if t.IsBinary() || t.ID == types.UniqueIdentifier {
			parts[i] = strings.ToLower(parts[i])
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// constraintSQL returns the name of a CHECK constraint in SQLite.
func constraintSQL(id int32) string { return fmt.Sprintf("k%d", id) }

// SQLTable returns the qualified name of a table in SQLite.
func SQLTable(d *catalog.Database, t *catalog.Table) string {
	if t.Temporary {
		return store.LocalTable(t.SQLName)
	}
	return d.SQLName() + "." + store.Quote(t.SQLName)
}
