package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SQLName is the SQLite alias of the database with the given id.
func SQLName(databaseID int) string { return "d" + strconv.Itoa(databaseID) }

// Table is a user table, a temporary table, the shape of a table variable or of a table type.
type Table struct {
	Header
	Columns      []*Column // in order of column_id, which has gaps where columns were dropped
	Indexes      []*Index  // by IndexID, those of keys included
	ForeignKeys  []*ForeignKey
	Checks       []*Check
	Triggers     []*Trigger
	NextColumnID int
	NextIndexID  int
	// LockEscalation is what ALTER TABLE SET (LOCK_ESCALATION) said: 0 TABLE, 1 DISABLE, 2 AUTO. There are no row locks that
	// could escalate, so it is shown in sys.tables and has no other effect.
	LockEscalation int
	// SQLName is the SQLite table without its schema, a name that needs no quotes. It is t<ObjectID> in a
	// database; exec chooses it for temporary tables and table variables, which live in SQLite's temp schema.
	SQLName   string
	Temporary bool
	Memo      Memo `json:"-"`
}

// Column is a column of a table.
type Column struct {
	types.Column        // as clients see it; Identity and Computed agree with the fields below
	ID           int    // column_id, from 1
	SQLName      string // SQLite column: c<ID>, or c<ID>_<n> after its storage class changed; "" for a computed column that SQLite does not hold
	Collation    string // collation_name of character types, "" for others
	UserTypeID   int    // of an alias type, sysname being 256; 0 for a system type
	Auto         *Identity
	Default      *Default
	Formula      *Formula
	RowGUID      bool
	Sparse       bool
}

// Identity is IDENTITY(Seed, Increment). Decimal columns have whole numbers only, so int64 is enough for
// all values that SQLite's counters can reach.
type Identity struct {
	Seed, Increment int64
}

// Default is a DEFAULT constraint.
type Default struct {
	ObjectID   int32
	Name       string
	System     bool   // SQL Server made up the name
	Text       string // as sys.default_constraints shows it, in parentheses
	Created    int64
	Memo       Memo `json:"-"`
	References Memo `json:"-"` // the names in the text
}

// Formula makes a column computed.
type Formula struct {
	Text      string // as sys.computed_columns shows it, in parentheses
	Persisted bool
	// SQL is the lowered expression of a generated SQLite column; "" when the expression is expanded
	// where the column is used, because it is not deterministic.
	SQL        string
	Memo       Memo `json:"-"`
	References Memo `json:"-"` // the names in the text
}

// Index is an index, including those that implement PRIMARY KEY and UNIQUE.
type Index struct {
	ID         int // index_id: 1 clustered, 2 and up the others
	Name       string
	Unique     bool
	Clustered  bool
	Disabled   bool
	Columns    []IndexColumn
	Included   []int  // column ids
	Filter     string // text of WHERE, in parentheses; "" without
	FilterSQL  string // lowered text
	IgnoreDups bool   // IGNORE_DUP_KEY = ON
	FillFactor int
	// Options that nothing reads but the catalog views.
	Padded      bool // PAD_INDEX
	NoRowLocks  bool // ALLOW_ROW_LOCKS = OFF
	NoPageLocks bool // ALLOW_PAGE_LOCKS = OFF
	NoRecompute bool // STATISTICS_NORECOMPUTE
	Sequential  bool // OPTIMIZE_FOR_SEQUENTIAL_KEY
	Key         *Key // set when it implements a constraint
	// RowID says that the index is the SQLite rowid (INTEGER PRIMARY KEY) and no SQLite index exists.
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
	Name     string // the same as that of the index
	Primary  bool
	System   bool // SQL Server made up the name
	Created  int64
}

// Action is what a foreign key does when the referenced row goes or changes.
type Action uint8

// Actions, numbered as sys.foreign_keys.delete_referential_action.
const (
	NoAction Action = iota
	Cascade
	SetNull
	SetDefault
)

// ForeignKey is a FOREIGN KEY constraint; both tables are in the same database.
type ForeignKey struct {
	ObjectID   int32
	Name       string
	System     bool
	Columns    []int // column ids of this table
	Referenced int32 // object id
	RefColumns []int // column ids of the referenced table
	RefIndexID int   // key_index_id: the unique index that it relies on
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
	ColumnID   int    // parent_column_id of a constraint written on one column, else 0
	Text       string // as sys.check_constraints shows it, in parentheses
	SQL        string // lowered text; SQLite evaluates it
	Disabled   bool
	NotTrusted bool
	Created    int64
	Memo       Memo `json:"-"`
	References Memo `json:"-"` // the names in the text
}

// Trigger is a DML trigger. The server keeps its definition and refuses statements that would fire it.
type Trigger struct {
	ObjectID  int32
	Name      string
	Text      string
	InsteadOf bool
	Events    []string // INSERT, UPDATE, DELETE
	Disabled  bool
	QuotedOff bool // created under SET QUOTED_IDENTIFIER OFF
	Created   int64
	Modified  int64
}

// Constraint is a constraint of a table as found by name or id.
type Constraint struct {
	Table    int32 // object id
	ObjectID int32
	Name     string
	Kind     Kind // KindPrimaryKey, KindUnique, KindForeignKey, KindCheck, KindDefault or KindTrigger
}

// Constraint finds a constraint or trigger, which share the namespace of objects; ok is false if there is none.
func (d *Database) Constraint(schema, name string) (Constraint, bool) {
	s := d.Schema(schema)
	if s == nil {
		return Constraint{}, false
	}
	c, ok := d.conByName[objectKey{s.ID, Fold(name)}]
	return c, ok
}

// ConstraintByID finds a constraint by object id, for messages about violations.
func (d *Database) ConstraintByID(id int32) (Constraint, bool) {
	c, ok := d.constraints[id]
	return c, ok
}

// Taken reports whether a name is in use by an object or constraint of a schema, so that CREATE must
// answer 2714.
func (d *Database) Taken(schema, name string) bool {
	_, constraint := d.Constraint(schema, name)
	return constraint || d.Object(schema, name) != nil
}

// Column finds a column by name; nil if there is none.
func (t *Table) Column(name string) *Column {
	key := Fold(name)
	for _, c := range t.Columns {
		if Fold(c.Name) == key {
			return c
		}
	}
	return nil
}

// ColumnByID finds a column by column_id; nil if there is none.
func (t *Table) ColumnByID(id int) *Column {
	for _, c := range t.Columns {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// ColumnBySQLName finds a column by the name that SQLite's messages use; nil if there is none.
func (t *Table) ColumnBySQLName(name string) *Column {
	for _, c := range t.Columns {
		if c.SQLName == name {
			return c
		}
	}
	return nil
}

// IdentityColumn is the column with IDENTITY; nil if there is none.
func (t *Table) IdentityColumn() *Column {
	for _, c := range t.Columns {
		if c.Auto != nil {
			return c
		}
	}
	return nil
}

// RowVersionColumn is the rowversion column; nil if there is none.
func (t *Table) RowVersionColumn() *Column {
	for _, c := range t.Columns {
		if c.Type.ID == types.RowVersion {
			return c
		}
	}
	return nil
}

// PrimaryKey is the index of the primary key; nil if there is none.
func (t *Table) PrimaryKey() *Index {
	for _, ix := range t.Indexes {
		if ix.Key != nil && ix.Key.Primary {
			return ix
		}
	}
	return nil
}

// RowIDColumn is the column that is SQLite's rowid, or nil. SQLite would make up a value where NULL is
// inserted into it, so that inserting statements must check for NULL themselves.
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
	key := Fold(name)
	for _, ix := range t.Indexes {
		if Fold(ix.Name) == key {
			return ix
		}
	}
	return nil
}

// IndexByID finds an index by index_id; nil if there is none.
func (t *Table) IndexByID(id int) *Index {
	for _, ix := range t.Indexes {
		if ix.ID == id {
			return ix
		}
	}
	return nil
}

// SQLIndex is the name of the SQLite index of ix; "" when the rowid does its work.
func (t *Table) SQLIndex(ix *Index) string {
	if ix.RowID {
		return ""
	}
	if t.SQLName == tableName(t.ObjectID) {
		return fmt.Sprintf("i%d_%d", t.ObjectID, ix.ID)
	}
	return fmt.Sprintf("i_%s_%d", t.SQLName, ix.ID)
}

// ForeignKeyAt is the foreign key that SQLite knows under a number, as [store.Conn.FindForeignKey] returns it:
// SQLite numbers those of a table from the last one; nil if there is none.
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

// TableBySQLName finds the table that SQLite calls t<object id>; nil if there is none.
func (d *Database) TableBySQLName(name string) *Table {
	digits, ok := strings.CutPrefix(name, "t")
	if !ok {
		return nil
	}
	id, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return nil
	}
	return d.TableByID(int32(id))
}

// NeedsOptions reports an index on a computed column or a filtered one, whose keys depend on SET options: statements that change the table
// need the right ones (error 1934).
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
