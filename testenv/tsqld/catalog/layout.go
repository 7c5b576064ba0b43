package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Fill is the value of a column in existing rows after a change of the table. It is a SQLite
// expression over the old columns. Each ? in it is the next of Args.
type Fill struct {
	SQL  string
	Args []types.Value
}

// AddTable creates a table. It assigns missing object IDs, column and index IDs and SQLite names.
// Constraints must have names ([SystemName]).
func (e *Edit) AddTable(t *Table) {
	t.Kind = KindTable
	e.put(t) // assigns the object ID
	e.unlink(t)
	t.SQLName = tableName(t.ObjectID)
	e.complete(t)
	e.db.link(t)
	e.script.add(createTable(e.db.SQLName()+"."+t.SQLName, t, e.db.TableByID))
	for _, ix := range t.Indexes {
		e.script.createIndex(t, ix)
	}
	if t.IdentityColumn() != nil {
		e.script.add("INSERT INTO "+e.db.SQLName()+"."+IdentityTable+"(object_id, last) VALUES (?1, NULL)", int64(t.ObjectID))
	}
}

// complete assigns missing IDs and SQLite names.
func (e *Edit) complete(t *Table) {
	Number(t)
	for _, c := range t.Columns {
		if c.Default != nil && c.Default.ObjectID == 0 {
			c.Default.ObjectID, c.Default.Created = e.NewID(), e.now
		}
	}
	for _, ix := range t.Indexes {
		if ix.Key != nil && ix.Key.ObjectID == 0 {
			ix.Key.ObjectID, ix.Key.Created = e.NewID(), e.now
		}
	}
	for _, f := range t.ForeignKeys {
		if f.ObjectID == 0 {
			f.ObjectID, f.Created = e.NewID(), e.now
		}
		if f.Referenced == 0 { // refers to its own table
			f.Referenced = t.ObjectID
		}
	}
	for _, c := range t.Checks {
		if c.ObjectID == 0 {
			c.ObjectID, c.Created = e.NewID(), e.now
		}
	}
	e.completeTriggers(t.Triggers)
}

// completeTriggers assigns the IDs of new triggers.
func (e *Edit) completeTriggers(all []*Trigger) {
	for _, tr := range all {
		if tr.ObjectID == 0 {
			tr.ObjectID, tr.Created = e.NewID(), e.now
			tr.Modified = e.now
		}
	}
}

// Number assigns missing column IDs, index IDs and SQLite column names in order, and decides which
// index is the rowid. It is also for tables outside the catalog: temporary tables, table variables,
// and the tables of types and functions.
func Number(t *Table) {
	for _, c := range t.Columns {
		t.NextColumnID = max(t.NextColumnID, c.ID)
	}
	for _, c := range t.Columns {
		if c.ID == 0 {
			t.NextColumnID++
			c.ID = t.NextColumnID
		}
		if c.SQLName == "" && (c.Formula == nil || c.Formula.SQL != "") {
			c.SQLName = fmt.Sprintf("c%d", c.ID)
		}
	}
	fresh := len(t.Indexes) > 0
	for _, ix := range t.Indexes {
		t.NextIndexID = max(t.NextIndexID, ix.ID, 1)
		fresh = fresh && ix.ID == 0
	}
	for _, ix := range t.Indexes {
		if ix.ID != 0 {
			continue
		}
		if ix.Clustered {
			ix.ID = 1
		} else {
			t.NextIndexID++
			ix.ID = t.NextIndexID
		}
		if fresh {
			ix.RowID = isRowID(t, ix)
		}
	}
	slices.SortFunc(t.Indexes, func(a, b *Index) int { return a.ID - b.ID })
}

// isRowID reports whether the primary key of a new table can be SQLite's rowid, which needs no
// index.
func isRowID(t *Table, ix *Index) bool {
	if ix.Key == nil || !ix.Key.Primary || len(ix.Columns) != 1 {
		return false
	}
	c := t.ColumnByID(ix.Columns[0].ColumnID)
	return c != nil && !c.Nullable && c.Formula == nil && integerKey(c.Type)
}

// CreateSQL returns the SQLite statements that create a table outside the catalog as
// schema.SQLName. schema is [store.LocalSchema], and [Number] must have been called. Foreign keys
// are left out, as in SQL Server for temporary tables.
func CreateSQL(schema string, t *Table) []string {
	unique, inline := inlineUnique(t)
	out := []string{createTable(schema+"."+store.Quote(t.SQLName), t.withoutForeignKeys(), nil, unique...)}
	for _, ix := range t.Indexes {
		if !ix.Unique || !inline {
			out = append(out, indexSQL(schema, t, ix)...)
		}
	}
	return out
}

// inlineUnique returns the UNIQUE constraints of SQLite that are the unique indexes of a table
// variable. CREATE INDEX makes SQLite prepare all statements of the connection again, and the
// constraints do not. ok is false if constraints cannot replace all of the indexes: then none is
// replaced, so that SQLite checks them in their order. Indexes of other tables can be dropped, and
// need names.
func inlineUnique(t *Table) (constraints []string, ok bool) {
	if !strings.HasPrefix(t.Name, "@") {
		return nil, false
	}
	for _, ix := range t.Indexes {
		if !ix.Unique {
			continue
		}
		indexes := sqlIndexes(t, ix)
		for _, x := range indexes {
			if len(indexes) > 1 || x.where != "" || !slices.Equal(x.keys, storedNames(t, ix)) {
				return nil, false
			}
			constraints = append(constraints, "UNIQUE ("+x.columns()+")")
		}
	}
	return constraints, true
}

// storedNames returns the SQLite columns of an index's key.
func storedNames(t *Table, ix *Index) []string {
	var names []string
	for _, k := range ix.Columns {
		names = append(names, t.ColumnByID(k.ColumnID).SQLName)
	}
	return names
}

// withoutForeignKeys returns a shallow copy without foreign keys.
func (t *Table) withoutForeignKeys() *Table {
	return &Table{
		Header: t.Header, Columns: t.Columns, Indexes: t.Indexes, Checks: t.Checks, SQLName: t.SQLName,
		Temporary: t.Temporary,
	}
}

// createTable returns the CREATE TABLE statement. lookup returns referenced tables; constraints are
// added to those of the table.
func createTable(name string, t *Table, lookup func(int32) *Table, constraints ...string) string {
	parts := append([]string{tableBody(t, lookup)}, constraints...)
	return fmt.Sprintf("CREATE TABLE %s(%s) STRICT", name, strings.Join(parts, ", "))
}

// tableBody returns the text between the parentheses of CREATE TABLE: columns, checks and foreign
// keys.
func tableBody(t *Table, lookup func(int32) *Table) string {
	var parts []string
	rowid := t.RowIDColumn()
	for _, c := range t.Columns {
		if c.SQLName != "" {
			parts = append(parts, columnSQL(c, c == rowid)+t.foreignDefault(c))
		}
	}
	if len(parts) == 0 { // only computed columns that are not stored in SQLite
		parts = append(parts, "c0 INTEGER")
	}
	for _, c := range t.Checks {
		if !c.Disabled {
			parts = append(parts, fmt.Sprintf("CONSTRAINT \"k%d\" CHECK (%s)", c.ObjectID, c.SQL))
		}
	}
	for _, f := range t.ForeignKeys {
		if f.Disabled {
			continue
		}
		ref := t
		if f.Referenced != t.ObjectID {
			ref = lookup(f.Referenced)
		}
		parts = append(parts, fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s(%s) ON DELETE %s ON UPDATE %s",
			columnNames(t, f.Columns), ref.SQLName, columnNames(ref, f.RefColumns), f.OnDelete, f.OnUpdate))
	}
	return strings.Join(parts, ", ")
}

// foreignDefault returns the DEFAULT of a column to which a foreign key sets it, else "".
func (t *Table) foreignDefault(c *Column) string {
	if c.Default == nil || c.Default.SQL == "" || !slices.ContainsFunc(t.ForeignKeys, func(f *ForeignKey) bool {
		return slices.Contains(f.Columns, c.ID) && (f.OnDelete == SetDefault || f.OnUpdate == SetDefault)
	}) {
		return ""
	}
	return " DEFAULT (" + c.Default.SQL + ")"
}

// String returns the action in SQL. SQLite uses the same words.
func (a Action) String() string {
	return [...]string{"NO ACTION", "CASCADE", "SET NULL", "SET DEFAULT"}[a]
}

// columnNames returns the SQLite columns with the given IDs as a list.
func columnNames(t *Table, ids []int) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = t.ColumnByID(id).SQLName
	}
	return strings.Join(names, ", ")
}

// columnSQL returns the definition of one column.
func columnSQL(c *Column, rowid bool) string {
	s := c.SQLName + " " + c.Type.Storage()
	if rowid {
		s += " PRIMARY KEY"
	}
	if col := c.Type.CollationName(); col != "" {
		s += " COLLATE " + col
	}
	if !c.Nullable {
		s += " NOT NULL"
	}
	if c.Formula != nil {
		s += " GENERATED ALWAYS AS (" + c.Formula.SQL + ")"
		if c.Formula.Persisted {
			s += " STORED"
		} else {
			s += " VIRTUAL"
		}
	}
	return s
}

// createIndex appends the statements for one index.
func (s *script) createIndex(t *Table, ix *Index) {
	for _, sql := range indexSQL(s.db.SQLName(), t, ix) {
		s.add(sql)
	}
}

// nullsIndex is the suffix of the index that allows only one NULL.
const nullsIndex = "_n"

// sqlIndex is one of the SQLite indexes that implement an index.
type sqlIndex struct {
	suffix string // of the name
	keys   []string
	desc   []bool
	where  string // condition of a partial index; "" without one
}

// sqlIndexes returns the SQLite indexes of an index: none for the rowid and for disabled indexes,
// two for unique indexes with nullable columns, because SQLite treats NULLs as different.
//
// Included columns are left out. SQLite does not support them, and as key columns they would move
// the index entry on every change.
func sqlIndexes(t *Table, ix *Index) []sqlIndex {
	if ix.RowID || ix.Disabled {
		return nil
	}
	main := sqlIndex{where: ix.FilterSQL}
	if ix.Filter == "" {
		main.where = ""
	}
	nulls := sqlIndex{suffix: nullsIndex}
	var conds []string
	for _, k := range ix.Columns {
		c := t.ColumnByID(k.ColumnID)
		key := c.KeySQL(c.SQLName)
		main.keys, main.desc = append(main.keys, key), append(main.desc, k.Desc)
		if c.Nullable {
			conds = append(conds, c.SQLName+" IS NULL")
			nulls.keys = append(nulls.keys, "("+c.SQLName+" IS NULL)", "ifnull("+key+", 0)"+collate(c))
		} else {
			nulls.keys = append(nulls.keys, key)
		}
	}
	if !ix.Unique || len(conds) == 0 {
		return []sqlIndex{main}
	}
	nulls.where = "(" + strings.Join(conds, " OR ") + ")"
	if ix.Filter != "" {
		nulls.where += " AND (" + ix.FilterSQL + ")"
	}
	return []sqlIndex{main, nulls}
}

// name returns the quoted name of the SQLite index of an index of a table.
func (x sqlIndex) name(schema string, t *Table, ix *Index) string {
	return schema + "." + store.Quote(t.SQLIndex(ix)+x.suffix)
}

// columns returns the key of the index: columns and expressions with their directions.
func (x sqlIndex) columns() string {
	keys := slices.Clone(x.keys)
	for i, desc := range x.desc {
		if desc {
			keys[i] += " DESC"
		}
	}
	return strings.Join(keys, ", ")
}

// indexSQL returns the statements that create an index.
func indexSQL(schema string, t *Table, ix *Index) []string {
	var out []string
	for _, x := range sqlIndexes(t, ix) {
		var b strings.Builder
		b.WriteString("CREATE ")
		if ix.Unique {
			b.WriteString("UNIQUE ")
		}
		fmt.Fprintf(&b, "INDEX %s ON %s(%s)", x.name(schema, t, ix), store.Quote(t.SQLName), x.columns())
		if x.where != "" {
			b.WriteString(" WHERE " + x.where)
		}
		out = append(out, b.String())
	}
	return out
}

// Conflicts returns the conflict targets for a unique index: the texts between ON CONFLICT and DO.
func (t *Table) Conflicts(ix *Index) []string {
	if ix.RowID {
		return []string{"(" + t.ColumnByID(ix.Columns[0].ColumnID).SQLName + ")"}
	}
	var out []string
	for _, x := range sqlIndexes(t, ix) {
		target := "(" + strings.Join(x.keys, ", ") + ")"
		if x.where != "" {
			target += " WHERE " + x.where
		}
		out = append(out, target)
	}
	return out
}

// KeySQL returns the SQLite expression that unique indexes compare for a column; name is its SQLite
// name, with or without a table. A datetimeoffset is compared by its instant, as by comparisons in
// queries, which so can use the index.
func (c *Column) KeySQL(name string) string {
	if c.Type.ID == types.DateTimeOffset {
		return "substr(" + name + ", 1, 8)"
	}
	return name
}

// collate returns the COLLATE clause for an expression over a column.
func collate(c *Column) string {
	if col := c.Type.CollationName(); col != "" {
		return " COLLATE " + col
	}
	return ""
}

// dropIndexSQL returns the statements that drop the indexes of indexSQL.
func dropIndexSQL(schema string, t *Table, ix *Index) []string {
	var out []string
	for _, x := range sqlIndexes(t, ix) {
		out = append(out, "DROP INDEX "+x.name(schema, t, ix))
	}
	return out
}

// ReplaceTable replaces a table by a changed clone. If possible (nullable columns at the end,
// indexes), SQLite's table is altered in place; otherwise it is rebuilt. fill has the values of
// columns in existing rows, by column ID. Without a fill an existing column keeps its values, and a
// new column is NULL.
//
// A column whose storage class changes gets a new SQLite name.
func (e *Edit) ReplaceTable(changed *Table, fill map[int]Fill) error {
	old := e.db.TableByID(changed.ObjectID)
	if old == nil {
		return fmt.Errorf("catalog: replace table %q: no table with id %d", changed.Name, changed.ObjectID)
	}
	e.complete(changed)
	e.put(changed)
	if old.IdentityColumn() == nil && changed.IdentityColumn() != nil {
		e.script.add(
			"INSERT INTO "+e.db.SQLName()+"."+IdentityTable+"(object_id, last) VALUES (?1, NULL) ON CONFLICT DO NOTHING",
			int64(changed.ObjectID))
	}
	before, after := tableBody(old, e.db.TableByID), tableBody(changed, e.db.TableByID)
	switch {
	case before == after && len(fill) == 0, e.script.addColumns(old, changed, fill):
		for _, sql := range indexChanges(e.db.SQLName(), old, changed) {
			e.script.add(sql)
		}
		e.script.verifyTrusted(old, changed)
		e.script.replaceCapture(old, changed, false)
	default:
		e.script.rebuild(old, changed, fill)
		e.script.replaceCapture(old, changed, true)
	}
	return nil
}

// indexChanges returns the statements that drop and create the indexes that have changed.
func indexChanges(schema string, old, changed *Table) []string {
	var out []string
	same := func(a, b *Index) bool {
		return a != nil && b != nil && slices.Equal(indexSQL(schema, old, a), indexSQL(schema, changed, b))
	}
	for _, ix := range old.Indexes {
		if !same(ix, changed.IndexByID(ix.ID)) {
			out = append(out, dropIndexSQL(schema, old, ix)...)
		}
	}
	for _, ix := range changed.Indexes {
		if !same(old.IndexByID(ix.ID), ix) {
			out = append(out, indexSQL(schema, changed, ix)...)
		}
	}
	return out
}

// IndexChanges returns the SQLite statements that change a table of [CreateSQL] into another one
// that differs in its indexes only. ok is false if other parts differ. Foreign keys do not count.
func IndexChanges(schema string, old, changed *Table) (sql []string, ok bool) {
	if old.SQLName != changed.SQLName ||
		tableBody(old.withoutForeignKeys(), nil) != tableBody(changed.withoutForeignKeys(), nil) {
		return nil, false
	}
	return indexChanges(schema, old, changed), true
}

// addColumns uses ALTER TABLE ADD COLUMN if the only changes are new columns that SQLite can add.
// It reports whether it did.
func (s *script) addColumns(old, changed *Table, fill map[int]Fill) bool {
	var added []*Column
	for _, c := range changed.Columns {
		if old.ColumnByID(c.ID) != nil {
			continue
		}
		if c.SQLName != "" && (!c.Nullable || c.Formula != nil && c.Formula.Persisted) {
			return false
		}
		added = append(added, c)
	}
	for id := range fill {
		if !slices.ContainsFunc(added, func(c *Column) bool { return c.ID == id }) {
			return false
		}
	}
	without := changed.withoutForeignKeys()
	without.ForeignKeys = changed.ForeignKeys
	without.Columns = slices.DeleteFunc(slices.Clone(changed.Columns), func(c *Column) bool {
		return slices.Contains(added, c)
	})
	for _, f := range changed.ForeignKeys {
		for _, id := range f.Columns {
			if without.ColumnByID(id) == nil {
				return false
			}
		}
	}
	if !slices.Equal(changed.Columns[:len(without.Columns)], without.Columns) ||
		tableBody(without, s.db.TableByID) != tableBody(old, s.db.TableByID) {
		return false
	}
	for _, c := range added {
		if c.SQLName == "" {
			continue
		}
		s.add("ALTER TABLE " + s.db.SQLName() + "." + changed.SQLName + " ADD COLUMN " + columnSQL(c, false))
		if f, ok := fill[c.ID]; ok {
			s.add("UPDATE "+s.db.SQLName()+"."+changed.SQLName+" SET "+c.SQLName+" = "+f.SQL, f.Args...)
		}
	}
	return true
}

// rebuild copies the rows to a temporary table, creates the table again, and copies the rows back,
// in one transaction. Foreign keys of other tables stay valid, because the rows keep their keys.
func (s *script) rebuild(old, changed *Table, fill map[int]Fill) {
	db := s.db.SQLName()
	copied := store.LocalTable("rebuild_" + changed.SQLName)
	var exprs, targets []string
	var args []types.Value
	for _, c := range changed.Columns {
		if c.SQLName == "" || c.Formula != nil {
			continue
		}
		f, ok := fill[c.ID]
		was := old.ColumnByID(c.ID)
		switch {
		case ok:
			exprs = append(exprs, f.SQL)
			args = append(args, f.Args...)
		case was != nil && was.SQLName != "":
			exprs = append(exprs, was.SQLName)
		default:
			exprs = append(exprs, "NULL")
		}
		targets = append(targets, c.SQLName)
	}
	holders := make([]string, len(targets))
	sources := make([]string, len(targets))
	for i := range targets {
		holders[i] = fmt.Sprintf("%s AS x%d", exprs[i], i)
		sources[i] = fmt.Sprintf("x%d", i)
	}
	untrusted := slices.ContainsFunc(changed.Checks, func(c *Check) bool { return c.NotTrusted && !c.Disabled })
	hold := append([]string{"rowid AS r"}, holders...)
	s.add(fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM %s.%s", copied, strings.Join(hold, ", "), db, old.SQLName),
		args...)
	s.steps = append(s.steps, step{sql: "DROP TABLE " + db + "." + old.SQLName, unchecked: true})
	s.add("PRAGMA defer_foreign_keys=ON") // a row may refer to a later row of the same table
	if untrusted {
		s.add("PRAGMA ignore_check_constraints=ON")
	}
	s.add(createTable(db+"."+changed.SQLName, changed, s.db.TableByID))
	for _, ix := range changed.Indexes {
		if ix.Unique { // foreign keys need it before the rows are inserted
			s.createIndex(changed, ix)
		}
	}
	if len(targets) > 0 {
		if changed.RowIDColumn() == nil {
			targets, sources = append(targets, "rowid"), append(sources, "r")
		}
		s.add(fmt.Sprintf("INSERT INTO %s.%s(%s) SELECT %s FROM %s ORDER BY r", db, changed.SQLName,
			strings.Join(targets, ", "), strings.Join(sources, ", "), copied))
	}
	for _, ix := range changed.Indexes {
		if !ix.Unique {
			s.createIndex(changed, ix)
		}
	}
	s.add("DROP TABLE " + copied)
	if untrusted {
		s.add("PRAGMA ignore_check_constraints=OFF")
		for _, c := range changed.Checks {
			if !c.NotTrusted && !c.Disabled {
				s.verify(changed, c)
			}
		}
	}
	for _, f := range changed.ForeignKeys {
		if !f.Disabled && !f.NotTrusted {
			s.verifyForeignKey(changed, f)
		}
	}
	s.add("PRAGMA defer_foreign_keys=OFF")
}

// verifyTrusted checks existing rows against constraints that become trusted: WITH CHECK CHECK
// CONSTRAINT.
func (s *script) verifyTrusted(old, changed *Table) {
	for _, c := range changed.Checks {
		if c.NotTrusted || c.Disabled {
			continue
		}
		if slices.ContainsFunc(old.Checks, func(o *Check) bool { return o.ObjectID == c.ObjectID && o.NotTrusted }) {
			s.verify(changed, c)
		}
	}
	for _, f := range changed.ForeignKeys {
		if f.NotTrusted || f.Disabled {
			continue
		}
		if slices.ContainsFunc(old.ForeignKeys, func(o *ForeignKey) bool {
			return o.ObjectID == f.ObjectID && o.NotTrusted
		}) {
			s.verifyForeignKey(changed, f)
		}
	}
}

// verify appends a statement that fails if existing rows violate a check.
func (s *script) verify(t *Table, c *Check) {
	s.steps = append(s.steps, step{
		sql: fmt.Sprintf("SELECT 1 FROM %s.%s WHERE NOT (%s) LIMIT 1", s.db.SQLName(), t.SQLName, c.SQL),
		violated: &store.ConstraintError{
			Kind: store.Check, Table: t.SQLName, Constraint: fmt.Sprintf("k%d", c.ObjectID),
		},
	})
}

// verifyForeignKey appends a statement that fails if existing rows violate a foreign key.
func (s *script) verifyForeignKey(t *Table, f *ForeignKey) {
	ref := t
	if f.Referenced != t.ObjectID {
		ref = s.db.TableByID(f.Referenced)
	}
	var present, match []string
	for i, id := range f.Columns {
		c, r := t.ColumnByID(id), ref.ColumnByID(f.RefColumns[i])
		present = append(present, "a."+c.SQLName+" IS NOT NULL")
		match = append(match, "b."+r.SQLName+" = a."+c.SQLName)
	}
	s.steps = append(s.steps, step{
		sql: fmt.Sprintf("SELECT 1 FROM %[1]s.%[2]s a WHERE %[3]s AND NOT EXISTS (SELECT 1 FROM %[1]s.%[4]s b WHERE %[5]s) LIMIT 1",
			s.db.SQLName(), t.SQLName, strings.Join(present, " AND "), ref.SQLName, strings.Join(match, " AND ")),
		violated: &store.ConstraintError{
			Kind: store.ForeignKey, Table: t.SQLName, Constraint: fmt.Sprintf("k%d", f.ObjectID),
		},
	})
}
