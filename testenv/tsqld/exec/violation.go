package exec

import (
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// violation returns SQL Server's message for a constraint error of SQLite.
func (r rowChanges) violation(dml *compile.DML, rt *compile.Run, err error) error {
	var ce *store.ConstraintError
	if !errors.As(err, &ce) {
		return err
	}
	t, d := dml.Target, r.s.DatabaseByID(dml.Database)
	if dml.Into != nil && (t == nil || ce.Table == dml.Into.SQLName) {
		t, d = dml.Into, r.s.DatabaseByID(dml.IntoDatabase)
	}
	switch {
	case ce.Kind == store.ForeignKey && d != nil:
		return r.foreignKeyMessage(dml, rt, d, t, ce)
	case ce.Kind == store.Unique && dml.Kind == "INSERT":
		if ix := session.ViolatedIndex(t, ce); ix != nil {
			return session.UniqueMessage(d, t, ix, r.insertedKey(dml, rt, d, t, ix))
		}
	}
	return r.s.ConstraintMessage(dml.Kind, d, t, ce)
}

// shadow is the name of the temporary table into which insertedKey repeats a failed INSERT.
const shadow = "shadow"

// insertedKey returns the duplicate key value of a failed INSERT. SQLite does not report the value,
// so that the INSERT is repeated into a temporary table.
func (r rowChanges) insertedKey(
	dml *compile.DML, rt *compile.Run, d *catalog.Database, t *catalog.Table, ix *catalog.Index,
) string {
	cols, ts := session.KeyColumns(t, ix)
	if cols == nil || t != dml.Target {
		return session.UnknownKey
	}
	table := session.SQLTable(d, t)
	into := "INSERT INTO " + table
	steps := dml.Apply
	if dml.OutputRows {
		steps = []compile.Statement{dml.Output.Statement}
	}
	at := slices.IndexFunc(steps, func(st compile.Statement) bool { return strings.HasPrefix(st.SQL, into) })
	if at < 0 {
		return session.UnknownKey
	}
	c, apply := r.s.Conn, steps[at]
	sql, _, _ := strings.Cut(apply.SQL, " RETURNING ")
	if dml.IgnoreDups {
		sql, _, _ = strings.Cut(sql, " ON CONFLICT (")
	}
	args, err := apply.Args(r.run, rt)
	if err != nil {
		return session.UnknownKey
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
			return session.UnknownKey
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
	text := session.UnknownKey
	if err == nil && row != nil {
		text = session.ShowKey(row, ts)
	}
	if _, err := c.Exec(r.ctx, "DROP TABLE temp."+shadow, nil); err != nil {
		return session.UnknownKey
	}
	return text
}

// foreignKeyMessage returns message 547 for a foreign key. SQLite does not report which key was
// violated, so that the failed statement is repeated with a deferred check.
func (r rowChanges) foreignKeyMessage(
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
	child, _, index, err := r.s.Conn.FindForeignKey(r.ctx, d.ID, tables, again)
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
