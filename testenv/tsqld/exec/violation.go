package exec

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// violation returns SQL Server's message for a constraint error of SQLite.
func (r *run) violation(dml *compile.DML, rt *compile.Run, err error) error {
	var ce *store.ConstraintError
	if !errors.As(err, &ce) {
		return err
	}
	t, d := dml.Target, r.s.databaseByID(dml.Database)
	if dml.Into != nil && (t == nil || ce.Table == dml.Into.SQLName) {
		t, d = dml.Into, r.s.databaseByID(dml.IntoDatabase)
	}
	switch {
	case ce.Kind == store.ForeignKey && d != nil:
		return r.foreignKeyMessage(dml, rt, d, t, ce)
	case ce.Kind == store.Unique && dml.Kind == "INSERT":
		if ix := violatedIndex(t, ce); ix != nil {
			return uniqueMessage(d, t, ix, r.insertedKey(dml, rt, d, t, ix))
		}
	}
	return r.s.constraintMessage(dml.Kind, d, t, ce)
}

// constraintMessage returns the message for a violated constraint of a table. d is nil for
// temporary tables.
func (s *core) constraintMessage(verb string, d *catalog.Database, t *catalog.Table, ce *store.ConstraintError) error {
	if t == nil {
		return ce
	}
	object := objectLabel(d, t)
	switch ce.Kind {
	case store.Unique:
		if ix := violatedIndex(t, ce); ix != nil {
			return uniqueMessage(d, t, ix, unknownKey)
		}
	case store.NotNull:
		if len(ce.Columns) > 0 {
			if c := t.ColumnBySQLName(ce.Columns[0]); c != nil {
				if verb == "ALTER TABLE" {
					verb = "UPDATE" // SQL Server's message for ALTER COLUMN ... NOT NULL says UPDATE
				}
				return mserr.NullInsert(c.Name, fullLabel(d, t), verb)
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

// fullLabel returns database.schema.table for message 515.
func fullLabel(d *catalog.Database, t *catalog.Table) string {
	if d == nil && strings.HasPrefix(t.Name, "@") {
		return t.Name
	}
	return databaseLabel(d) + "." + objectLabel(d, t)
}

// uniqueMessage returns message 2627 or 2601. key is the duplicate key value in parentheses.
func uniqueMessage(d *catalog.Database, t *catalog.Table, ix *catalog.Index, key string) error {
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

// violatedIndex returns the index to which a message of SQLite refers.
func violatedIndex(t *catalog.Table, ce *store.ConstraintError) *catalog.Index {
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

// unknownKey replaces a duplicate key value that could not be determined.
const unknownKey = "(unknown)"

// keyColumns returns the SQLite columns and the types of an index.
func keyColumns(t *catalog.Table, ix *catalog.Index) (cols []string, ts []types.Type) {
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

// showKey formats a key value for messages 2601, 2627 and 1505.
func showKey(row []types.Value, ts []types.Type) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = "<NULL>"
		if row[i] == nil {
			continue
		}
		v, err := types.Convert(row[i], t, types.NVarCharMax, 0)
		if err != nil {
			return unknownKey
		}
		parts[i] = v.(string)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// duplicateKey returns a key value that occurs twice in a table, after the creation of a unique
// index has failed.
func (s *core) duplicateKey(ctx context.Context, d *catalog.Database, t *catalog.Table, ix *catalog.Index) string {
	cols, ts := keyColumns(t, ix)
	if cols == nil || d != nil && s.conn.Use(ctx, d.ID) != nil {
		return unknownKey
	}
	list := strings.Join(cols, ", ")
	row, err := s.conn.QueryRow(ctx,
		"SELECT "+list+" FROM "+sqlTable(d, t)+" GROUP BY "+list+" HAVING count(*) > 1 LIMIT 1", nil)
	if err != nil || row == nil {
		return unknownKey
	}
	return showKey(row, ts)
}

// shadow is the name of the temporary table into which insertedKey repeats a failed INSERT.
const shadow = "shadow"

// insertedKey returns the duplicate key value of a failed INSERT. SQLite does not report the value,
// so that the INSERT is repeated into a temporary table.
func (r *run) insertedKey(
	dml *compile.DML, rt *compile.Run, d *catalog.Database, t *catalog.Table, ix *catalog.Index,
) string {
	cols, ts := keyColumns(t, ix)
	if cols == nil || t != dml.Target {
		return unknownKey
	}
	table := sqlTable(d, t)
	into := "INSERT INTO " + table
	steps := dml.Apply
	if dml.OutputRows {
		steps = []compile.Statement{dml.Output.Statement}
	}
	at := slices.IndexFunc(steps, func(st compile.Statement) bool { return strings.HasPrefix(st.SQL, into) })
	if at < 0 {
		return unknownKey
	}
	c, apply := r.s.conn, steps[at]
	sql, _, _ := strings.Cut(apply.SQL, " RETURNING ")
	if dml.IgnoreDups {
		sql, _, _ = strings.Cut(sql, " ON CONFLICT (")
	}
	args, err := apply.Args(r, rt)
	if err != nil {
		return unknownKey
	}
	again := []struct {
		sql  string
		args []types.Value
	}{
		{sql: "DROP TABLE IF EXISTS temp." + shadow},
		{sql: "CREATE TEMP TABLE " + shadow + " AS SELECT * FROM " + table + " WHERE 0"},
		{sql: "INSERT INTO temp." + shadow + sql[len(into):], args: args},
	}
	for _, st := range again {
		if _, err := c.Exec(r.ctx, st.sql, st.args); err != nil {
			return unknownKey
		}
	}
	same := make([]string, len(cols))
	for i, col := range cols {
		same[i] = "a." + col + " IS b." + col
		if name := ts[i].CollationName(); name != "" {
			same[i] += " COLLATE " + name
		}
	}
	pick := "a." + strings.Join(cols, ", a.")
	row, err := c.QueryRow(r.ctx,
		"SELECT "+pick+" FROM temp."+shadow+" a JOIN "+table+" b ON "+strings.Join(same, " AND ")+" LIMIT 1", nil)
	if err == nil && row == nil {
		row, err = c.QueryRow(r.ctx,
			"SELECT "+pick+" FROM temp."+shadow+" a JOIN temp."+shadow+" b ON a.rowid > b.rowid AND "+strings.Join(same, " AND ")+" LIMIT 1",
			nil)
	}
	text := unknownKey
	if err == nil && row != nil {
		text = showKey(row, ts)
	}
	if _, err := c.Exec(r.ctx, "DROP TABLE temp."+shadow, nil); err != nil {
		return unknownKey
	}
	return text
}

// foreignKeyMessage returns message 547 for a foreign key. SQLite does not report which key was
// violated, so that the failed statement is repeated with a deferred check.
func (r *run) foreignKeyMessage(
	dml *compile.DML, rt *compile.Run, d *catalog.Database, t *catalog.Table, ce error,
) error {
	tables := []string{t.SQLName}
	for _, o := range d.Tables() {
		for _, f := range o.ForeignKeys {
			if o != t &&
				(f.Referenced == t.ObjectID || f.OnDelete != catalog.NoAction || f.OnUpdate != catalog.NoAction) {
				tables = append(tables, o.SQLName)
				break
			}
		}
	}
	again := func() error {
		for i := range dml.Apply {
			if _, err := r.step(&dml.Apply[i], rt); err != nil {
				return err
			}
		}
		if dml.OutputRows {
			_, err := r.step(&dml.Output.Statement, rt)
			return err
		}
		return nil
	}
	child, _, index, err := r.s.conn.FindForeignKey(r.ctx, d.ID, tables, again)
	if err != nil || child == "" {
		return errors.Join(ce, err)
	}
	for _, o := range d.Tables() {
		if o.SQLName != child {
			continue
		}
		f := o.ForeignKeyAt(index)
		if f == nil {
			break
		}
		// The message names the referenced table if a referenced row is missing, and the
		// referencing table if a row still refers to a deleted one.
		kind, at, ids := "FOREIGN KEY", d.TableByID(f.Referenced), f.RefColumns
		if o != t || dml.Kind == "DELETE" {
			kind, at, ids = "REFERENCE", o, f.Columns
		}
		column := ""
		if len(ids) == 1 {
			if c := at.ColumnByID(ids[0]); c != nil {
				column = c.Name
			}
		}
		if o == t && f.Referenced == t.ObjectID {
			kind += " SAME TABLE"
			if strings.HasPrefix(kind, "REFERENCE") {
				kind = "SAME TABLE REFERENCE"
			}
		}
		return mserr.ConstraintConflict(dml.Kind, kind, f.Name, d.Name, d.QualifiedName(at), column)
	}
	return ce
}
