package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SQLName returns the SQLite alias of a database.
func SQLName(databaseID int) string { return "d" + strconv.Itoa(databaseID) }

// Table is a user table, a temporary table, or the shape of a table variable or table type.
type Table struct {
	Header
	Columns      []*Column // by column_id; dropped columns leave gaps
	Indexes      []*Index  // by ID, including the indexes of keys
	ForeignKeys  []*ForeignKey
	Checks       []*Check
	Triggers     []*Trigger
	NextColumnID int
	NextIndexID  int
	// LockEscalation is the value of ALTER TABLE SET (LOCK_ESCALATION): 0 TABLE, 1 DISABLE, 2 AUTO.
	// Only sys.tables shows it: locks of rows do not escalate.
	LockEscalation int
	// SQLName is the name of the SQLite table without its schema. It needs no quotes. In a database
	// it is t<ObjectID>. For temporary tables and table variables, which are in the
	// schema store.LocalSchema, exec chooses the name.
	SQLName   string
	Temporary bool
	// Creator is the number of the session that has created a global temporary table, otherwise 0.
	Creator int64 `json:",omitempty"`
	// Exact is set if the names of columns and indexes distinguish case: that of the database's
	// [Names] when the table was created.
	Exact bool `json:",omitempty"`
}

// Column is a column of a table.
type Column struct {
	types.Column     // for clients; Identity and Computed agree with the fields below
	ID           int // column_id, from 1
	// SQLite column: c<ID>, or c<ID>_<n> after a change of its storage class; "" for a computed
	// column that is not stored in SQLite
	SQLName    string
	Collation  string // collation_name of character types, "" for others
	UserTypeID int    // of an alias type (256 for sysname); 0 for a system type
	Auto       *Identity
	Default    *Default
	Formula    *Formula
	RowGUID    bool
	Sparse     bool
}

// Identity is IDENTITY(Seed, Increment). Identity columns of type decimal hold integers, and int64
// covers all values that SQLite's counters can reach.
type Identity struct {
	Seed, Increment int64
}

// Default is a DEFAULT constraint.
type Default struct {
	ObjectID   int32
	Name       string
	System     bool   // the name was generated
	Text       string // as in sys.default_constraints, in parentheses
	SQL        string // SQLite text of a constant in the column's type, for SET DEFAULT; else ""
	Created    int64
	Memo       Memo `json:"-"`
	References Memo `json:"-"` // cached names in the text
}

// Formula is the expression of a computed column.
type Formula struct {
	Text      string // as in sys.computed_columns, in parentheses
	Persisted bool
	// SQL is the expression of a generated column in SQLite. It is "" for an expression that is not
	// deterministic; such an expression is evaluated where the column is used.
	SQL        string
	Memo       Memo `json:"-"`
	References Memo `json:"-"` // cached names in the text
}

// Index is an index, including those that implement PRIMARY KEY and UNIQUE.
type Index struct {
	ID         int // index_id: 1 for the clustered index, 2 and up for others
	Name       string
	Unique     bool
	Clustered  bool
	Disabled   bool
	Columns    []IndexColumn
	Included   []int  // column IDs
	Filter     string // text of WHERE, in parentheses; "" without WHERE
	FilterSQL  string // filter in SQLite's SQL
	IgnoreDups bool   // IGNORE_DUP_KEY = ON
	FillFactor int
	// Options that only the catalog views show.
	Padded      bool // PAD_INDEX
	NoRowLocks  bool // ALLOW_ROW_LOCKS = OFF
	NoPageLocks bool // ALLOW_PAGE_LOCKS = OFF
	NoRecompute bool // STATISTICS_NORECOMPUTE
	Sequential  bool // OPTIMIZE_FOR_SEQUENTIAL_KEY
	Key         *Key // set if the index implements a constraint
	// RowID is set if the index is SQLite's rowid (INTEGER PRIMARY KEY), without a SQLite index.
	RowID bool
}

// IndexColumn is a key column of an index.
type IndexColumn struct {
	ColumnID int
	Desc     bool
}

// Key is a PRIMARY KEY or UNIQUE constraint.
type Key struct {
	ObjectID int32
	Name     string // name of the index
	Primary  bool
	System   bool // the name was generated
	Created  int64
}

// Action is the action of a foreign key when the referenced row is deleted or updated.
type Action uint8

// Actions as in sys.foreign_keys.delete_referential_action.
const (
	NoAction Action = iota
	Cascade
	SetNull
	SetDefault
)

// ForeignKey is a FOREIGN KEY constraint. Both tables are in the same database.
type ForeignKey struct {
	ObjectID   int32
	Name       string
	System     bool
	Columns    []int // column IDs of this table
	Referenced int32 // object ID
	RefColumns []int // column IDs of the referenced table
	RefIndexID int   // key_index_id: the referenced unique index
	OnDelete   Action
	OnUpdate   Action
	Disabled   bool // NOCHECK CONSTRAINT
	NotTrusted bool // added WITH NOCHECK
	Created    int64
}

// Check is a CHECK constraint.
type Check struct {
	ObjectID   int32
	Name       string
	System     bool
	ColumnID   int    // parent_column_id of a column constraint, otherwise 0
	Text       string // as in sys.check_constraints, in parentheses
	SQL        string // condition in SQLite's SQL
	Disabled   bool
	NotTrusted bool
	Created    int64
	References Memo `json:"-"` // cached names in the text
}

// Trigger is a DML trigger.
type Trigger struct {
	ObjectID      int32
	Name          string
	Text          string
	InsteadOf     bool
	Events        []string // INSERT, UPDATE, DELETE
	Disabled      bool
	QuotedOff     bool // created under SET QUOTED_IDENTIFIER OFF
	AnsiNullsOff  bool // created under SET ANSI_NULLS OFF
	NotReplicated bool // NOT FOR REPLICATION
	Encrypted     bool
	ExecuteAs     string // as in [Module]
	ExecuteAsID   int
	First, Last   []string // events for which sp_settriggerorder has made the trigger the first or last one
	Created       int64
	Modified      int64
	Memo          Memo `json:"-"` // parsed form, cached by exec
}

// Module returns the trigger as a module.
func (tr *Trigger) Module() *Module {
	return &Module{
		Text: tr.Text, AnsiNulls: !tr.AnsiNullsOff, QuotedIdentifier: !tr.QuotedOff, Encrypted: tr.Encrypted,
		ExecuteAs: tr.ExecuteAs, ExecuteAsID: tr.ExecuteAsID,
	}
}

// Trigger returns the trigger with an object ID and its table or view; nil if there is none.
func (d *Database) Trigger(id int32) (*Trigger, Object) {
	c, ok := d.ConstraintByID(id)
	if !ok || c.Kind != KindTrigger {
		return nil, nil
	}
	o := d.ObjectByID(c.Table)
	for _, tr := range Triggers(o) {
		if tr.ObjectID == id {
			return tr, o
		}
	}
	return nil, nil
}

// Fires reports whether a trigger is enabled and has an event.
func (tr *Trigger) Fires(event string) bool { return !tr.Disabled && slices.Contains(tr.Events, event) }

// Instead returns the enabled INSTEAD OF trigger of an object for an event, or nil.
func Instead(o Object, event string) *Trigger {
	return first(Triggers(o), func(tr *Trigger) bool { return tr.InsteadOf && tr.Fires(event) })
}

// After returns the enabled AFTER triggers of a table for an event, in the order in which they
// fire: the first one of sp_settriggerorder, the others in the order of their creation, and the
// last one (documentation of sp_settriggerorder).
func (t *Table) After(event string) []*Trigger {
	var out []*Trigger
	for _, tr := range t.Triggers {
		if !tr.InsteadOf && tr.Fires(event) {
			out = append(out, tr)
		}
	}
	rank := func(tr *Trigger) int {
		switch {
		case slices.Contains(tr.First, event):
			return -1
		case slices.Contains(tr.Last, event):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b *Trigger) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.ObjectID, b.ObjectID))
	})
	return out
}

// Triggers returns the triggers of a table or view.
func Triggers(o Object) []*Trigger {
	switch o := o.(type) {
	case *Table:
		return o.Triggers
	case *View:
		return o.Triggers
	}
	return nil
}

// Constraint identifies a constraint of a table, or a trigger of a table or view.
type Constraint struct {
	Table    int32 // object ID of the table or view
	ObjectID int32
	Name     string
	Kind     Kind // KindPrimaryKey, KindUnique, KindForeignKey, KindCheck, KindDefault or KindTrigger
}

// Constraint returns the constraint or trigger with a schema and a name. Constraints and objects
// share a namespace.
func (d *Database) Constraint(schema, name string) (Constraint, bool) {
	s := d.Schema(schema)
	if s == nil {
		return Constraint{}, false
	}
	c, ok := d.conByName[objectKey{s.ID, d.names.Fold(name)}]
	return c, ok
}

// ConstraintByID returns the constraint with an object ID, for messages about violations.
func (d *Database) ConstraintByID(id int32) (Constraint, bool) {
	c, ok := d.constraints[id]
	return c, ok
}

// Taken reports whether an object or constraint of a schema has a name. CREATE fails with error
// 2714 then.
func (d *Database) Taken(schema, name string) bool {
	_, constraint := d.Constraint(schema, name)
	return constraint || d.Object(schema, name) != nil
}

// Names returns the rule for the names of columns and indexes.
func (t *Table) Names() Names { return Names{exact: t.Exact} }

// Column finds a column by name; nil if there is none.
func (t *Table) Column(name string) *Column {
	return first(t.Columns, func(c *Column) bool { return t.Names().Equal(c.Name, name) })
}

// ColumnByID finds a column by column_id; nil if there is none.
func (t *Table) ColumnByID(id int) *Column {
	return first(t.Columns, func(c *Column) bool { return c.ID == id })
}

// ColumnBySQLName returns the column with a name in SQLite's messages, or nil.
func (t *Table) ColumnBySQLName(name string) *Column {
	return first(t.Columns, func(c *Column) bool { return c.SQLName == name })
}

// IdentityColumn returns the column with IDENTITY, or nil.
func (t *Table) IdentityColumn() *Column {
	return first(t.Columns, func(c *Column) bool { return c.Auto != nil })
}

// RowVersionColumn returns the rowversion column, or nil.
func (t *Table) RowVersionColumn() *Column {
	return first(t.Columns, func(c *Column) bool { return c.Type.ID == types.RowVersion })
}

// PrimaryKey returns the index of the primary key, or nil.
func (t *Table) PrimaryKey() *Index {
	return first(t.Indexes, func(ix *Index) bool { return ix.Key != nil && ix.Key.Primary })
}

// RowIDColumn returns the column that is SQLite's rowid, or nil. SQLite replaces a NULL in this
// column by a generated value, so that INSERT statements must check for NULL themselves.
func (t *Table) RowIDColumn() *Column {
	for _, ix := range t.Indexes {
		if ix.RowID {
			return t.ColumnByID(ix.Columns[0].ColumnID)
		}
	}
	return nil
}

// Index finds an index by name; nil if there is none.
func (t *Table) Index(name string) *Index {
	return first(t.Indexes, func(ix *Index) bool { return t.Names().Equal(ix.Name, name) })
}

// IndexByID finds an index by index_id; nil if there is none.
func (t *Table) IndexByID(id int) *Index {
	return first(t.Indexes, func(ix *Index) bool { return ix.ID == id })
}

// SQLIndex returns the name of the SQLite index of ix, or "" if ix is the rowid.
func (t *Table) SQLIndex(ix *Index) string {
	if ix.RowID {
		return ""
	}
	if t.SQLName == tableName(t.ObjectID) {
		return fmt.Sprintf("i%d_%d", t.ObjectID, ix.ID)
	}
	return fmt.Sprintf("i_%s_%d", t.SQLName, ix.ID)
}

// ForeignKeyAt returns the foreign key with an index of [store.FindForeignKey], or nil. SQLite
// numbers the foreign keys of a table from the last to the first.
func (t *Table) ForeignKeyAt(index int) *ForeignKey {
	for i := len(t.ForeignKeys) - 1; i >= 0; i-- {
		if t.ForeignKeys[i].Disabled {
			continue
		}
		if index == 0 {
			return t.ForeignKeys[i]
		}
		index--
	}
	return nil
}

// NeedsOptions reports whether the table has an index on a computed column or a filtered index.
// Their keys depend on SET options, so that statements that change the table need the right options
// (error 1934).
func (t *Table) NeedsOptions() bool {
	for _, ix := range t.Indexes {
		if ix.Disabled {
			continue
		}
		if ix.Filter != "" {
			return true
		}
		for _, k := range ix.Columns {
			if c := t.ColumnByID(k.ColumnID); c != nil && c.Formula != nil {
				return true
			}
		}
	}
	return false
}

// Shape returns the columns as clients see them, for SELECT * and table-valued results.
func (t *Table) Shape() []types.Column {
	out := make([]types.Column, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Column
	}
	return out
}

// first returns the first element for which ok is true, or nil.
func first[T any](list []*T, ok func(*T) bool) *T {
	if i := slices.IndexFunc(list, ok); i >= 0 {
		return list[i]
	}
	return nil
}
