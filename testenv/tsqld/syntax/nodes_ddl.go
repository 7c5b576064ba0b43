package syntax

// NullSpec is NULL or NOT NULL on a column, parameter or type.
type NullSpec uint8

// Null specifications.
const (
	NullUnspecified NullSpec = iota
	NullAllowed
	NotNull
)

// Verb is the verb with which a module is defined.
type Verb uint8

// The verbs.
const (
	Create Verb = iota
	Alter
	CreateOrAlter
)

// String returns the verb as T-SQL writes it.
func (v Verb) String() string {
	return map[Verb]string{Create: "CREATE", Alter: "ALTER", CreateOrAlter: "CREATE OR ALTER"}[v]
}

// TableDef is the definition in the parentheses of CREATE TABLE, of a table variable or table type,
// or after ALTER TABLE ... ADD.
type TableDef struct {
	At
	Columns     []*ColumnDef
	Constraints []Constraint // of the table; those written on a column are in ColumnDef
	Indexes     []*IndexDef
}

// ColumnDef is a column.
type ColumnDef struct {
	At
	Name        Ident
	Type        *TypeRef // nil for a computed column, and for a column named timestamp without a type
	Computed    Expr     // nil for an ordinary column
	Persisted   bool
	Collation   string // "" if none
	Null        NullSpec
	Identity    *IdentitySpec      // nil if none
	Default     *DefaultConstraint // nil if none; its Column is zero
	RowGUIDCol  bool
	Sparse      bool
	Constraints []Constraint // keys, checks and foreign keys on the column; their own column lists are empty
	Index       *IndexDef    // inline INDEX; its Columns are empty
}

// IdentitySpec is IDENTITY(seed, increment).
type IdentitySpec struct {
	At
	Seed, Increment   string // decimal integers with sign; "1" when left out
	NotForReplication bool
}

// Constraint is a *[KeyConstraint], *[ForeignKeyConstraint], *[CheckConstraint] or
// *[DefaultConstraint].
type Constraint interface {
	Node
	// ConstraintName returns the name given by CONSTRAINT; it is zero if SQL Server generates the
	// name.
	ConstraintName() Ident
}

// ConstraintBase is embedded in every [Constraint].
type ConstraintBase struct {
	At
	Name Ident // zero if the statement gives none
}

// ConstraintName implements [Constraint].
func (c *ConstraintBase) ConstraintName() Ident { return c.Name }

// Clustering is CLUSTERED or NONCLUSTERED.
type Clustering uint8

// The clusterings.
const (
	ClusteringDefault Clustering = iota // not written: clustered for a primary key, otherwise nonclustered
	Clustered
	NonClustered
)

// KeyConstraint is PRIMARY KEY or UNIQUE.
type KeyConstraint struct {
	ConstraintBase
	Primary    bool
	Clustering Clustering
	Columns    []*IndexColumn // empty when written on a column
	Options    []*Option      // WITH (...)
	On         Ident          // filegroup; zero if none
}

// ForeignKeyConstraint is FOREIGN KEY ... REFERENCES.
type ForeignKeyConstraint struct {
	ConstraintBase
	Columns           []Ident // empty when written on a column
	RefTable          *ObjectName
	RefColumns        []Ident // empty: those of the primary key
	OnDelete          RefAction
	OnUpdate          RefAction
	NotForReplication bool
}

// RefAction is the action of a foreign key when the referenced row changes.
type RefAction uint8

// The actions of foreign keys.
const (
	NoAction RefAction = iota // also when not written
	Cascade
	SetNull
	SetDefault
)

// CheckConstraint is CHECK (Cond).
type CheckConstraint struct {
	ConstraintBase
	Cond              Cond
	NotForReplication bool
}

// DefaultConstraint is DEFAULT Value.
type DefaultConstraint struct {
	ConstraintBase
	Value      Expr
	Column     Ident // FOR column of ALTER TABLE ADD; zero otherwise
	WithValues bool
}

// IndexDef is an index inside a table definition.
type IndexDef struct {
	At
	Name       Ident
	Unique     bool
	Clustering Clustering
	Columns    []*IndexColumn // empty when written on a column
	Include    []Ident
	Where      Cond // nil if none
	Options    []*Option
	On         Ident
}

// IndexColumn is a column of a key or index.
type IndexColumn struct {
	At
	Name Ident
	Desc bool
}

// CreateTableStmt is CREATE TABLE.
type CreateTableStmt struct {
	stmt
	Name        *ObjectName
	Def         *TableDef
	On          Ident // filegroup; zero if none
	TextImageOn Ident
	Options     []*Option // WITH (...)
}

// AlterTableStmt is ALTER TABLE.
type AlterTableStmt struct {
	stmt
	Table  *ObjectName
	Action AlterTableAction
}

// AlterTableAction is an *[AlterAdd], *[AlterDrop], *[AlterColumn], *[AlterCheck], *[AlterTrigger],
// *[AlterSet] or *[AlterRebuild].
type AlterTableAction interface {
	Node
	alterTableActionNode()
}

// alterTableAction marks actions of ALTER TABLE.
type alterTableAction struct{}

// alterTableActionNode implements [AlterTableAction].
func (alterTableAction) alterTableActionNode() {}

// CheckMode is WITH CHECK or WITH NOCHECK.
type CheckMode uint8

// Check modes.
const (
	CheckDefault CheckMode = iota // not written: new constraints are checked, enabled ones are not
	WithCheck
	WithNoCheck
)

// AlterAdd is ADD of columns, constraints and indexes.
type AlterAdd struct {
	At
	alterTableAction
	Mode CheckMode
	Def  *TableDef
}

// AlterDrop is DROP COLUMN and DROP CONSTRAINT, in any mixture.
type AlterDrop struct {
	At
	alterTableAction
	Items []*AlterDropItem
}

// AlterDropItem is one column or constraint to drop.
type AlterDropItem struct {
	At
	Column   bool // COLUMN, else CONSTRAINT
	IfExists bool
	Name     Ident
}

// AlterColumn is ALTER COLUMN.
type AlterColumn struct {
	At
	alterTableAction
	Column *ColumnDef // Name, Type, Collation and Null are set; Type is nil for the ADD/DROP forms
	Add    string     // property after ADD: "ROWGUIDCOL", "PERSISTED", "SPARSE", "NOT FOR REPLICATION"; "" otherwise
	Drop   string     // property after DROP, likewise
}

// AlterCheck is [WITH CHECK|NOCHECK] CHECK|NOCHECK CONSTRAINT ALL|names.
type AlterCheck struct {
	At
	alterTableAction
	Mode   CheckMode
	Enable bool    // CHECK, else NOCHECK
	Names  []Ident // empty for ALL
}

// AlterTrigger is ENABLE|DISABLE TRIGGER ALL|names.
type AlterTrigger struct {
	At
	alterTableAction
	Enable bool
	Names  []Ident // empty for ALL
}

// AlterSet is SET (options).
type AlterSet struct {
	At
	alterTableAction
	Options []*Option
}

// AlterRebuild is REBUILD.
type AlterRebuild struct {
	At
	alterTableAction
	Partition Expr // number, or *Keyword ALL; nil if none
	Options   []*Option
}

// TriggerStmt is ENABLE TRIGGER ... ON, DISABLE TRIGGER ... ON.
type TriggerStmt struct {
	stmt
	Enable bool
	Names  []*ObjectName // empty for ALL
	Table  *ObjectName
}

// CreateIndexStmt is CREATE INDEX.
type CreateIndexStmt struct {
	stmt
	Table *ObjectName
	Def   *IndexDef // Name is always set
}

// AlterIndexStmt is ALTER INDEX.
type AlterIndexStmt struct {
	stmt
	Name      Ident // zero for ALL
	Table     *ObjectName
	Action    string // "REBUILD", "REORGANIZE", "DISABLE", "SET", "RESUME", "PAUSE", "ABORT"
	Partition Expr   // number, or *Keyword ALL; nil if none
	Options   []*Option
}

// DropIndexStmt is DROP INDEX in the current or the old form.
type DropIndexStmt struct {
	stmt
	IfExists bool
	Items    []*DropIndexItem
}

// DropIndexItem is one index to drop.
type DropIndexItem struct {
	At
	Index   Ident
	Table   *ObjectName
	Options []*Option
}

// DropStmt is DROP of objects that are identified by their names alone.
type DropStmt struct {
	stmt
	Kind     string // in capitals: "TABLE", "VIEW", "ROLE", ...
	IfExists bool
	Names    []*ObjectName
}

// Param is a parameter of a procedure or function.
type Param struct {
	At
	Name     string // with @
	Type     *TypeRef
	Null     NullSpec
	Default  Expr // nil if none
	Output   bool
	ReadOnly bool
}

// ModuleOptions are the options after WITH of a procedure, function, view or trigger.
type ModuleOptions struct {
	Encryption       bool
	SchemaBinding    bool
	Recompile        bool
	ViewMetadata     bool
	ReturnsNull      bool   // RETURNS NULL ON NULL INPUT
	CalledOnNull     bool   // CALLED ON NULL INPUT
	Inline           string // INLINE = ON|OFF of a function; "" if not written
	ExecuteAs        string // "CALLER", "SELF", "OWNER" or a user name (ExecuteAsUser); "" if not written
	ExecuteAsIsQuote bool   // the name was written as a string, so 'OWNER' is a user
}

// CreateProcedureStmt is CREATE, ALTER or CREATE OR ALTER PROCEDURE.
type CreateProcedureStmt struct {
	stmt
	Verb    Verb
	Name    *ObjectName
	Params  []*Param
	Options ModuleOptions
	Body    []Stmt // possibly one BlockStmt; empty for an empty body
}

// CreateFunctionStmt is CREATE, ALTER or CREATE OR ALTER FUNCTION in one of its three forms.
type CreateFunctionStmt struct {
	stmt
	Verb     Verb
	Name     *ObjectName
	Params   []*Param
	Returns  *TypeRef  // for a scalar function; otherwise nil
	Query    *Query    // for an inline table-valued function; otherwise nil
	TableVar string    // for a multi-statement table-valued function: the variable, with @; otherwise ""
	Table    *TableDef // with TableVar
	Options  ModuleOptions
	Body     []Stmt // statements between BEGIN and END; nil for the inline form
}

// CreateViewStmt is CREATE, ALTER or CREATE OR ALTER VIEW.
type CreateViewStmt struct {
	stmt
	Verb        Verb
	Name        *ObjectName
	Columns     []Ident
	Options     ModuleOptions
	Query       *Query
	CheckOption bool
}

// CreateTriggerStmt is CREATE, ALTER or CREATE OR ALTER TRIGGER.
type CreateTriggerStmt struct {
	stmt
	Verb              Verb
	Name              *ObjectName
	Table             *ObjectName
	InsteadOf         bool     // otherwise AFTER, or FOR with the same meaning
	Events            []string // capitals: "INSERT", "UPDATE", "DELETE"
	Options           ModuleOptions
	NotForReplication bool
	Body              []Stmt
}

// CreateTypeStmt is CREATE TYPE: an alias or a table type.
type CreateTypeStmt struct {
	stmt
	Name  *ObjectName
	From  *TypeRef // for an alias type; otherwise nil
	Null  NullSpec // alias
	Table *TableDef
}

// SequenceStmt is CREATE or ALTER SEQUENCE.
type SequenceStmt struct {
	stmt
	Verb      Verb // Create or Alter
	Name      *ObjectName
	Type      *TypeRef // nil: bigint
	StartWith string   // START WITH; decimal integer with sign; "" if not written
	Restart   bool     // ALTER: RESTART [WITH StartWith]
	Step      string   // INCREMENT BY
	Min       string   // MINVALUE
	NoMin     bool
	Max       string // MAXVALUE
	NoMax     bool
	Cycle     bool
	NoCycle   bool
	Cache     string // size; "" if not written
	HasCache  bool   // CACHE was written, with or without a size
	NoCache   bool
}

// CreateSynonymStmt is CREATE SYNONYM Name FOR Target.
type CreateSynonymStmt struct {
	stmt
	Name   *ObjectName
	Target *ObjectName
}

// CreateSchemaStmt is CREATE SCHEMA.
type CreateSchemaStmt struct {
	stmt
	Name          Ident  // zero for CREATE SCHEMA AUTHORIZATION x
	Authorization Ident  // zero if none
	Elements      []Stmt // the CREATE TABLE, CREATE VIEW, GRANT, DENY and REVOKE inside
}

// AlterSchemaStmt is ALTER SCHEMA Name TRANSFER [Class::] Object.
type AlterSchemaStmt struct {
	stmt
	Name   Ident
	Class  string // "OBJECT", "TYPE"; "" if not written
	Object *ObjectName
}

// CreateDatabaseStmt is CREATE DATABASE.
type CreateDatabaseStmt struct {
	stmt
	Name        Ident
	Containment string    // "NONE", "PARTIAL"; "" if not written
	Collation   string    // "" if none
	Files       bool      // ON (...) or LOG ON (...) was written; the tree does not keep the files
	Options     []*Option // WITH ..., and Azure's (EDITION = ...)
}

// AlterDatabaseStmt is ALTER DATABASE; exactly one of the forms is set.
type AlterDatabaseStmt struct {
	stmt
	Name        Ident     // zero for CURRENT
	Set         []*Option // SET options
	Termination string    // WITH "ROLLBACK IMMEDIATE", "ROLLBACK AFTER", "NO_WAIT"; "" if none
	After       int       // of ROLLBACK AFTER, in seconds
	NewName     Ident     // MODIFY NAME =
	Modify      []*Option // Azure's MODIFY (EDITION = ...)
	Scoped      bool      // ALTER DATABASE SCOPED CONFIGURATION SET; options in Set, "CLEAR x" for CLEAR
}

// NoEffectStmt is a statement that is accepted and has no effect here, such as CREATE STATISTICS,
// OPEN MASTER KEY and CHECKPOINT.
type NoEffectStmt struct {
	stmt
	Text string // the statement as written
}
