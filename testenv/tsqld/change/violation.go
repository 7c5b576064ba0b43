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
	case ce.Kind == store.Unique:
		if ix := session.ViolatedIndex(t, ce); ix != nil {
			return session.UniqueMessage(d, t, ix, x.violatedKey(p, rt, d, t, ix))
		}
	}
	return x.s.ConstraintMessage(p.Kind, d, t, ce)
}

// shadow is the name of the temporary table in which violatedKey repeats a failed statement.
const shadow = store.LocalSchema + ".shadow"

// violatedKey returns the duplicate key value of a failed statement. SQLite does not report the
// value, so that the statement is repeated in a temporary table: for INSERT with the new rows only,
// which are looked up in the target, else with a copy of the target. The copy has the rowids as
// ordinary values, by which statements find their rows.
func (x *Executor) violatedKey(
	p *plan.DML, rt *tree.Run, d *catalog.Database, t *catalog.Table, ix *catalog.Index,
) string {
	if t != p.Target {
		return session.UnknownKey
	}
	table, rows := session.SQLTable(d, t), ""
	if p.Kind == "INSERT" {
		rows = " WHERE 0"
	}
	steps := p.Apply
	if p.OutputRows {
		steps = []plan.Statement{p.Output.Statement}
	}
	again := []plan.Statement{
		{SQL: "DROP TABLE IF EXISTS " + shadow},
		{SQL: "CREATE TABLE " + shadow + " AS SELECT rowid AS rowid, * FROM " + table + rows},
	}
	for _, st := range steps {
		for _, verb := range []string{"INSERT INTO ", "UPDATE ", "DELETE FROM "} {
			if rest, ok := strings.CutPrefix(st.SQL, verb+table); ok {
				rest, _, _ = strings.Cut(rest, " RETURNING ")
				if p.IgnoreDups {
					rest, _, _ = strings.Cut(rest, " ON CONFLICT (")
				}
				st.SQL = verb + shadow + rest
				again = append(again, st)
			}
		}
	}
	defer func() { _, _ = x.s.Conn.Exec(x.ctx, again[0].SQL, nil) }()
	for i := range again {
		if _, err := x.step(&again[i], rt); err != nil {
			return session.UnknownKey
		}
	}
	if p.Kind == "INSERT" {
		if key := x.takenKey(table, t, ix); key != session.UnknownKey {
			return key
		}
	}
	return x.s.RepeatedKey(x.ctx, shadow, t, ix)
}

// takenKey returns the value of a key in the shadow that occurs in the target, too.
func (x *Executor) takenKey(table string, t *catalog.Table, ix *catalog.Index) string {
	var cols, same []string
	var ts []types.Type
	for _, ic := range ix.Columns {
		c := t.ColumnByID(ic.ColumnID)
		if c == nil || c.SQLName == "" {
			return session.UnknownKey
		}
		cols, ts = append(cols, "a."+c.SQLName), append(ts, c.Type)
		equal := c.KeySQL("a."+c.SQLName) + " IS " + c.KeySQL("b."+c.SQLName)
		if name := c.Type.CollationName(); name != "" {
			equal += " COLLATE " + name
		}
		same = append(same, equal)
	}
	row, err := x.s.Conn.QueryRow(x.ctx, "SELECT "+strings.Join(cols, ", ")+" FROM (SELECT * FROM "+session.Filtered(shadow, ix)+
		") a JOIN (SELECT * FROM "+session.Filtered(table, ix)+") b ON "+strings.Join(same, " AND ")+" LIMIT 1", nil)
	if err != nil || row == nil {
		return session.UnknownKey
	}
	return session.ShowKey(row, ts)
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
		sets := func(id int) bool { return slices.Contains(p.Updates, id) }
		action := f.OnUpdate
		if p.Kind == "DELETE" {
			action = f.OnDelete
		}
		switch {
		case action == catalog.SetDefault: // the default has no row in the referenced table
		case o != t || p.Kind == "DELETE" || slices.ContainsFunc(f.RefColumns, sets) && !slices.ContainsFunc(f.Columns, sets):
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
