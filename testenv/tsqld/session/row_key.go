package session

import (
	"math"
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// keysOf returns the locks that a change of a row needs: of the row, of its values in unique
// indexes before and after, and, shared, of the rows to which its foreign keys refer. own adds
// those by which [Parking.TryRows] finds rows that nobody else can see.
func (p *Parking) keysOf(d *catalog.Database, ch *store.RowChange, own bool) []RowLocked {
	t := recordedTable(d, ch.Table)
	if t == nil {
		return nil
	}
	var out []RowLocked
	add := func(mode lock.Mode, r lock.Resource) {
		if k := (RowLocked{r, mode}); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	switch {
	case t.RowIDColumn() != nil: // the key below is the row, too
		if ch.Op == store.RowUpdated && ch.Before == ch.After {
			add(lock.Exclusive, rowKey(d.ID, t, ch.Before))
		}
	case ch.Op == store.RowInserted && own:
		add(lock.Exclusive, ownRow(d.ID, t, p.s.id, ch.After))
	case ch.Op != store.RowInserted:
		add(lock.Exclusive, rowKey(d.ID, t, ch.Before))
	}
	for _, ix := range t.Indexes {
		if !ix.Unique || ix.Disabled {
			continue
		}
		ids := make([]int, len(ix.Columns))
		for i, k := range ix.Columns {
			ids[i] = k.ColumnID
		}
		before, after, changed := sides(t, ids, t, ids, ch, false)
		if !changed {
			continue
		}
		for _, name := range []string{before, after} {
			if name != "" {
				add(lock.Exclusive, lock.Row(d.ID, t.ObjectID, ix.ID, name))
			}
		}
	}
	for _, f := range t.ForeignKeys {
		parent := d.TableByID(f.Referenced)
		if f.Disabled || parent == nil {
			continue
		}
		ix := parent.IndexByID(f.RefIndexID)
		if ix == nil {
			continue
		}
		var ids, refs []int // in the order of the index
		for _, k := range ix.Columns {
			if i := slices.Index(f.RefColumns, k.ColumnID); i >= 0 {
				ids, refs = append(ids, f.Columns[i]), append(refs, k.ColumnID)
			}
		}
		before, after, changed := sides(t, ids, parent, refs, ch, true)
		if !changed {
			continue
		}
		for _, name := range []string{before, after} {
			if name != "" {
				add(lock.Shared, lock.Row(d.ID, parent.ObjectID, ix.ID, name))
			}
		}
	}
	return out
}

// rowKey returns the resource of a row by its rowid.
func rowKey(database int, t *catalog.Table, id int64) lock.Resource {
	for _, ix := range t.Indexes {
		if ix.RowID {
			c := t.ColumnByID(ix.Columns[0].ColumnID)
			return lock.Row(database, t.ObjectID, ix.ID, keyText([]types.Type{c.Type}, []types.Value{id}))
		}
	}
	return lock.Row(database, t.ObjectID, 0, strconv.FormatInt(id, 10))
}

// ownRow returns the resource of a row that a session has inserted. Its rowid may be that of
// another session's row, unless it is a key.
func ownRow(database int, t *catalog.Table, spid int, id int64) lock.Resource {
	return lock.Row(database, t.ObjectID, 0, strconv.Itoa(spid)+"+"+strconv.FormatInt(id, 10))
}

// sides returns the texts of the values of columns of t before and after a change, "" where there
// is no row, and whether they differ. The values are compared by the types of the columns refs of
// in, the table of the index. A NULL in a reference refers to nothing.
func sides(
	t *catalog.Table, ids []int, in *catalog.Table, refs []int, ch *store.RowChange, reference bool,
) (before, after string, changed bool) {
	kinds := make([]types.Type, len(ids))
	at := make([]int, len(ids))
	for i, id := range ids {
		kinds[i] = in.ColumnByID(refs[i]).Type
		at[i] = storedIndex(t, id)
	}
	text := func(row []types.Value) string {
		if row == nil {
			return ""
		}
		vals := make([]types.Value, len(at))
		for i, k := range at {
			if k < 0 || k >= len(row) {
				return "?" // not recordable; all rows have the same key
			}
			vals[i] = row[k]
			if vals[i] == nil && reference {
				return ""
			}
		}
		return keyText(kinds, vals)
	}
	before, after = text(ch.Old), text(ch.New)
	return before, after, before != after
}

// storedIndex returns the index of a column among the columns of SQLite's table, or -1.
func storedIndex(t *catalog.Table, id int) int {
	n := 0
	for _, c := range t.Columns {
		switch {
		case c.ID == id && c.SQLName != "":
			return n
		case c.SQLName != "":
			n++
		}
	}
	return -1
}

// keyText returns a text that is the same for keys that are equal in a unique index.
func keyText(kinds []types.Type, vals []types.Value) string {
	var b []byte
	for i, v := range vals {
		switch v := v.(type) {
		case nil:
			b = append(b, 'n')
		case int64:
			b = strconv.AppendInt(append(b, 'i'), v, 10)
		case float64:
			if v == 0 {
				v = 0 // not -0
			}
			b = strconv.AppendUint(append(b, 'f'), math.Float64bits(v), 16)
		case string:
			if kinds[i].IsCharacter() {
				v = types.CollationKey(v, kinds[i].Collation)
			}
			b = strconv.AppendQuote(append(b, 's'), v)
		case []byte:
			if kinds[i].ID == types.Variant {
				b = append(b, 'v') // equality of variants does not follow from the bytes
				break
			}
			b = strconv.AppendQuote(append(b, 'b'), string(v))
		}
		b = append(b, '|')
	}
	return string(b)
}
