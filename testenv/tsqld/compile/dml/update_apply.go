package dml

import (
	"iter"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
)

// applyUpdate adds the statement that updates the target from the spool. only, if not nil,
// restricts it to some rows of the spool.
func (m *modification) applyUpdate(
	d *plan.DML,
	sp *spool,
	rid *tree.Node,
	values []setting,
	newValues map[*catalog.Column]*tree.Node,
	only *tree.Node,
) error {
	if len(values) == 0 {
		return nil
	}
	write := func(values []setting, value func(*lower.Renderer, *catalog.Column), row func(*lower.Renderer)) error {
		r := &lower.Renderer{}
		r.WriteString("UPDATE " + m.sql() + " AS u SET ")
		for i, v := range values {
			if i > 0 {
				r.WriteString(", ")
			}
			r.WriteString(v.c.SQLName + " = ")
			value(r, v.c)
		}
		r.WriteString(" FROM " + sp.src.Table + " AS " + sp.src.Alias + " WHERE u.rowid = ")
		row(r)
		if only != nil {
			r.WriteString(" AND ")
			r.Node(only)
		}
		st, err := r.Statement()
		d.Apply = append(d.Apply, st)
		return err
	}
	row := func(r *lower.Renderer) { r.Node(rid) }
	if shifted := m.rekeyed(values); len(shifted) > 0 {
		temporary := func(r *lower.Renderer, c *catalog.Column) { r.WriteString(temporaryKey(c, sp.src.Alias+"."+rowNumber)) }
		d.Shift = len(d.Apply) + 1
		d.Deferred = slices.ContainsFunc(shifted, func(v setting) bool { return m.isForeign(v.c) })
		if err := write(shifted, temporary, row); err != nil {
			return err
		}
		for _, v := range shifted {
			if v.c == m.table.RowIDColumn() {
				row = func(r *lower.Renderer) { temporary(r, v.c) }
			}
		}
	}
	return write(values, func(r *lower.Renderer, c *catalog.Column) { r.Node(newValues[c]) }, row)
}

// rekeyed returns the settings of key columns that may exchange values between rows, as in SET id =
// id + 1. SQL Server checks unique keys after all rows are changed, SQLite after each row;
// therefore such columns first get temporary values that no row has. A column whose constraints may
// refuse the temporary values is left out; for such a column SQLite may report a duplicate key that
// SQL Server would not report.
func (m *modification) rekeyed(values []setting) []setting {
	var out []setting
	for _, v := range values {
		if v.n.Traits&tree.HasColumn != 0 && m.isKey(v.c) && !m.isConstrained(v.c) {
			out = append(out, v)
		}
	}
	return out
}

// isKey reports whether a column is part of a unique index.
func (m *modification) isKey(c *catalog.Column) bool {
	for _, ix := range m.table.Indexes {
		for _, k := range ix.Columns {
			if ix.Unique && !ix.Disabled && k.ColumnID == c.ID {
				return true
			}
		}
	}
	return false
}

// isConstrained reports whether constraints may refuse temporary values of a column: those of the
// table, or of tables to which foreign keys carry the values, or whether triggers would see them.
func (m *modification) isConstrained(c *catalog.Column) bool {
	if len(m.table.Checks) > 0 {
		return true
	}
	for t, f := range m.references(c) {
		if f.OnUpdate == catalog.NoAction || f.Disabled {
			continue
		}
		further := modification{target: target{db: m.db, table: t}}
		if t == m.table || len(t.Checks) > 0 || len(t.Triggers) > 0 || slices.ContainsFunc(f.Columns, func(id int) bool {
			return further.isReferenced(t.ColumnByID(id)) || further.isKey(t.ColumnByID(id))
		}) {
			return true
		}
	}
	return false
}

// isReferenced reports whether foreign keys refer to a column of the target.
func (m *modification) isReferenced(c *catalog.Column) bool {
	for range m.references(c) {
		return true
	}
	return false
}

// isForeign reports whether a column is part of a foreign key, on either side.
func (m *modification) isForeign(c *catalog.Column) bool {
	return m.isReferenced(c) || slices.ContainsFunc(m.table.ForeignKeys, func(f *catalog.ForeignKey) bool {
		return slices.Contains(f.Columns, c.ID)
	})
}

// references returns the foreign keys that refer to a column of the target, and their tables.
func (m *modification) references(c *catalog.Column) iter.Seq2[*catalog.Table, *catalog.ForeignKey] {
	return func(yield func(*catalog.Table, *catalog.ForeignKey) bool) {
		if m.db == nil {
			return
		}
		for _, t := range m.db.Tables() {
			for _, f := range t.ForeignKeys {
				if f.Referenced == m.table.ObjectID && slices.Contains(f.RefColumns, c.ID) && !yield(t, f) {
					return
				}
			}
		}
	}
}

// temporaryKey returns SQL for a value in the column's storage class, unique for each row number
// and far from the values in real tables.
func temporaryKey(c *catalog.Column, number string) string {
	switch c.Type.Storage() {
	case "REAL":
		return "(-1e300 * (1 + " + number + "))"
	case "TEXT":
		if c.Type.IsDecimalText() {
			return "('-9999999999999999999999999999' || (1000000000 + " + number + "))"
		}
		return "(char(1) || " + number + ")"
	case "BLOB":
		return "CAST(char(1) || " + number + " AS BLOB)"
	}
	return "(-9000000000000000000 + " + number + ")"
}
