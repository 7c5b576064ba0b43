package change

import (
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// violation returns SQL Server's message for a constraint error of SQLite.
func (x *Executor) violation(p *plan.DML, rt *tree.Run, err error) error {
	var ce *store.ConstraintError
	if !errors.As(err, &ce) {
		return err
	}
	t, d := p.Target, x.s.DatabaseByID(p.Database)
	if p.Into != nil && (t == nil || ce.Table == p.Into.SQLName) {
		t, d = p.Into, x.s.DatabaseByID(p.IntoDatabase)
	}
	switch {
	case ce.Kind == store.ForeignKey && d != nil:
		return x.foreignKeyMessage(p, rt, d, t, ce)
	case ce.Kind == store.Unique && p.Kind == "INSERT":
		if ix := session.ViolatedIndex(t, ce); ix != nil {
			return session.UniqueMessage(d, t, ix, x.insertedKey(p, rt, d, t, ix))
		}
	}
	return x.s.ConstraintMessage(p.Kind, d, t, ce)
}

// shadow is the name of the temporary table into which insertedKey repeats a failed INSERT.
const shadow = "shadow"

// insertedKey returns the duplicate key value of a failed INSERT. SQLite does not report the value,
// so that the INSERT is repeated into a temporary table.
func (x *Executor) insertedKey(
	p *plan.DML, rt *tree.Run, d *catalog.Database, t *catalog.Table, ix *catalog.Index,
) string {
	cols, ts := session.KeyColumns(t, ix)
	if cols == nil || t != p.Target {
		return session.UnknownKey
	}
	table := session.SQLTable(d, t)
	into := "INSERT INTO " + table
	steps := p.Apply
	if p.OutputRows {
		steps = []plan.Statement{p.Output.Statement}
	}
	at := slices.IndexFunc(steps, func(st plan.Statement) bool { return strings.HasPrefix(st.SQL, into) })
	if at < 0 {
		return session.UnknownKey
	}
	c, apply := x.s.Conn, steps[at]
	sql, _, _ := strings.Cut(apply.SQL, " RETURNING ")
	if p.IgnoreDups {
		sql, _, _ = strings.Cut(sql, " ON CONFLICT (")
	}
	args, err := apply.Args(x.frame, rt)
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
		if _, err := c.Exec(x.ctx, st.sql, st.args); err != nil {
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
	row, err := c.QueryRow(x.ctx,
		"SELECT "+pick+" FROM temp."+shadow+" a JOIN "+table+" b ON "+strings.Join(same, " AND ")+" LIMIT 1", nil)
	if err == nil && row == nil {
		row, err = c.QueryRow(x.ctx,
			"SELECT "+pick+" FROM temp."+shadow+" a JOIN temp."+shadow+" b ON a.rowid > b.rowid AND "+strings.Join(same, " AND ")+" LIMIT 1",
			nil)
	}
	text := session.UnknownKey
	if err == nil && row != nil {
		text = session.ShowKey(row, ts)
	}
	if _, err := c.Exec(x.ctx, "DROP TABLE temp."+shadow, nil); err != nil {
		return session.UnknownKey
	}
	return text
}

// foreignKeyMessage returns message 547 for a foreign key. SQLite does not report which key was
// violated, so that the failed statement is repeated with a deferred check.
func (x *Executor) foreignKeyMessage(
	p *plan.DML, rt *tree.Run, d *catalog.Database, t *catalog.Table, ce error,
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
		for i := range p.Apply {
			if _, err := x.step(&p.Apply[i], rt); err != nil {
				return err
			}
		}
		if p.OutputRows {
			_, err := x.step(&p.Output.Statement, rt)
			return err
		}
		return nil
	}
	child, _, index, err := store.FindForeignKey(x.ctx, x.s.Conn, d.ID, tables, again)
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
		if o != t || p.Kind == "DELETE" {
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
		return mserr.ConstraintConflict(p.Kind, kind, f.Name, d.Name, d.QualifiedName(at), column)
	}
	return ce
}
