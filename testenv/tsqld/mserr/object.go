package mserr

import "strings"

// Errors of names, definitions and constraints.
var (
	InvalidColumn       = of[func(name string) *Error](207)
	AmbiguousColumn     = of[func(name string) *Error](209)
	ColumnCount         = of[func() *Error](213)
	SystemCatalogUpdate = of[func() *Error](259)
	// NoTable: SELECT * without FROM.
	NoTable              = of[func() *Error](263)
	DuplicateSetColumn   = of[func(name string) *Error](264)
	NotModifiable        = of[func(column string) *Error](271)
	UpdateRowVersion     = of[func() *Error](272)
	InsertRowVersion     = of[func() *Error](273)
	NewSequentialID      = of[func() *Error](302)
	UnknownIndexHint     = of[func(index, table string) *Error](308)
	OutputIntoReferenced = of[func(table, constraint string) *Error](332)
	OutputIntoChecked    = of[func(table, constraint string) *Error](333)
	ReadOnlyRequired     = of[func(parameter string) *Error](352)
	// NullInsert: table is its three-part name, statement is INSERT or UPDATE.
	NullInsert            = of[func(column, table, statement string) *Error](515)
	IdentityInsertOff     = of[func(table string) *Error](544)
	IdentityValueRequired = of[func(table string) *Error](545)
	DuplicateColumn       = of[func(column, table string) *Error](2705)
	TemporaryView         = of[func(name string) *Error](4103)
	TemporaryInView       = of[func() *Error](4508)
	// DuplicateInStatement: a statement names a constraint or column twice.
	DuplicateInStatement  = of[func(name string) *Error](8168)
	ObjectExists          = of[func(name string) *Error](2714)
	UnknownType           = of[func(n int, name string) *Error](2715)
	WidthNotAllowed       = of[func(n int, name string) *Error](2716)
	NoSuchIndex           = of[func(name string) *Error](2727)
	OneRowVersion         = of[func(table, column string) *Error](2738)
	LOBVariable           = of[func() *Error](2739)
	MultipleIdentity      = of[func(table string) *Error](2744)
	InvalidIdentityType   = of[func(column string) *Error](2749)
	PrecisionTooLarge     = of[func(n, precision, maximum int) *Error](2750)
	ScaleExceedsPrecision = of[func(n, scale, precision int) *Error](2751)
	InvalidSynonym        = of[func(name string) *Error](5313)
	CreateSchemaFailed    = of[func() *Error](2759)
	NoSuchSchema          = of[func(name string) *Error](2760)
	// CannotDrop: verb is drop, alter and the like, kind table, procedure...
	CannotDrop    = of[func(verb, kind, name string) *Error](3701)
	DatabaseInUse = of[func(name string) *Error](3702)
	// ConstraintIndex: constraint is PRIMARY KEY, UNIQUE KEY or FOREIGN KEY.
	ConstraintIndex        = of[func(index, constraint string) *Error](3723)
	ConstraintReferenced   = of[func(constraint, table, foreignKey string) *Error](3725)
	ReferencedByForeignKey = of[func(name string) *Error](3726)
	DropConstraintFailed   = of[func() *Error](3727)
	NotConstraint          = of[func(name string) *Error](3728)
	ReferencedByObject     = of[func(verb, name, by string) *Error](3729)
	TypeReferenced         = of[func(name, by string) *Error](3732)
	ConstraintElsewhere    = of[func(constraint, table string) *Error](3733)
	Unbound                = of[func(name string) *Error](4104)
	// UnknownFunctionOrColumn: function is the whole dotted name, column its first part.
	UnknownFunctionOrColumn = of[func(column, function string) *Error](4121)
	ViewAggregates          = of[func(view string) *Error](4403)
	ViewManyTables          = of[func(view string) *Error](4405)
	ViewDerivedField        = of[func(view string) *Error](4406)
	NotModifiableObject     = of[func(name string) *Error](270)
	ViewMoreColumns         = of[func(name string) *Error](4502)
	ViewUnnamed             = of[func(n int) *Error](4511)
	NoSuchTruncate          = of[func(name string) *Error](4701)
	TruncateReferenced      = of[func(name string) *Error](4712)
	AddNotNull              = of[func(column, table string) *Error](4901)
	NoSuchAlter             = of[func(name string) *Error](4902)
	// ColumnInUse: statement is ALTER TABLE DROP COLUMN or ALTER TABLE ALTER COLUMN.
	ColumnInUse       = of[func(statement, column string) *Error](4922)
	OnlyColumn        = of[func(column, table string) *Error](4923)
	NoSuchAlterColumn = of[func(statement, column, table string) *Error](4924)
	// CannotAlterColumn: why is COMPUTED, timestamp and the like.
	CannotAlterColumn = of[func(column, why string) *Error](4928)
	// DependentObject precedes 4922.
	DependentObject    = of[func(kind, name, onKind, on string) *Error](5074)
	IdentityColumnList = of[func(table string) *Error](8101)
	UpdateIdentity     = of[func(column string) *Error](8102)
	NoIdentity         = of[func(table string) *Error](8106)
	// IdentityInsertElsewhere: on is a three-part name.
	IdentityInsertElsewhere      = of[func(on, table string) *Error](8107)
	MultiplePrimaryKeys          = of[func(table string) *Error](8110)
	NullablePrimaryKey           = of[func(table string) *Error](8111)
	MultipleClusteredConstraints = of[func(table string) *Error](8112)
	// NotGrouped: column is qualified by its table or alias.
	NotGrouped             = of[func(column string) *Error](8120)
	NotGroupedHaving       = of[func(column string) *Error](8121)
	NotGroupedOrder        = of[func(column string) *Error](8127)
	ColumnConstraintReach  = of[func(constraint, column, table string) *Error](8141)
	NullableIdentity       = of[func(column, table string) *Error](8147)
	UnnamedColumn          = of[func(n int, object string) *Error](8155)
	DuplicateColumnOf      = of[func(column, object string) *Error](8156)
	MoreColumnsThanListed  = of[func(object string) *Error](8158)
	FewerColumnsThanListed = of[func(object string) *Error](8159)
	MergeTwice             = of[func() *Error](8672)
	// DuplicateIndexKey: key is in parentheses.
	DuplicateIndexKey    = of[func(object, index, key string) *Error](1505)
	ConstraintNotCreated = of[func() *Error](1750)
	CascadePaths         = of[func(constraint, table string) *Error](1785)
	ForeignKeyTable      = of[func(constraint, table string) *Error](1767)
	ForeignKeyOwnColumn  = of[func(constraint, column, table string) *Error](1769)
	ForeignKeyColumn     = of[func(constraint, column, table string) *Error](1770)
	ForeignKeyCount      = of[func(constraint, table string) *Error](1774)
	ForeignKeyNoKey      = of[func(table, constraint string) *Error](1776)
	// ForeignKeyType: columns are qualified by their tables.
	ForeignKeyType   = of[func(column, referencing, constraint string) *Error](1778)
	PrimaryKeyExists = of[func(table string) *Error](1779)
	DefaultExists    = of[func() *Error](1781)
	DatabaseExists   = of[func(name string) *Error](1801)
	// ClusteredExists: table has no schema.
	ClusteredExists      = of[func(table, index string) *Error](1902)
	DuplicateIndexColumn = of[func(column string) *Error](1909)
	NoSuchIndexColumn    = of[func(column string) *Error](1911)
	// IndexExists: table has no schema.
	IndexExists = of[func(index, table string) *Error](1913)
	// InvalidKeyColumn: table has no schema.
	InvalidKeyColumn  = of[func(column, table string) *Error](1919)
	IncompatibleAlter = of[func(name string) *Error](2010)
	// DuplicateKeyRow: key is in parentheses.
	DuplicateKeyRow = of[func(object, index, key string) *Error](2601)
	// DuplicateKey: kind is PRIMARY KEY or UNIQUE KEY, key in parentheses.
	DuplicateKey           = of[func(kind, constraint, object, key string) *Error](2627)
	SequenceExhausted      = of[func(name string) *Error](11728)
	SequencePlace          = of[func() *Error](11719)
	SequenceSet            = of[func() *Error](11721)
	SequenceOrderBy        = of[func() *Error](11723)
	SequenceTop            = of[func() *Error](11739)
	SequenceConditional    = of[func() *Error](11741)
	NextValuePlace         = of[func() *Error](11720)
	NotSequence            = of[func(name string) *Error](11726)
	OptionNotSettable      = of[func(option, database string) *Error](5058)
	PropertyTooLong        = of[func() *Error](15097)
	NoPropertyOwner        = of[func(label string) *Error](15135)
	NoProperty             = of[func(name, label string) *Error](15217)
	PropertyExists         = of[func(name, label string) *Error](15233)
	NoConfiguration        = of[func(name string) *Error](15123)
	AmbiguousConfiguration = of[func(name string) *Error](15124)
	InvalidConfiguration   = of[func(value int64, name string) *Error](15129)
)

// InvalidObject is error 208; name is the name in the statement, with its qualifiers. The state is
// 0 for a temporary table.
func InvalidObject(name string) *Error {
	return Of(208, name).stateIf(strings.HasPrefix(name, "#"), 0)
}

// MostColumns is the maximum number of columns of a table or view.
const MostColumns = 1024

// TooManyColumns is error 1702, also of ALTER TABLE and SELECT INTO; column is the first one that
// is too many.
func TooManyColumns(column, table string) *Error { return Of(1702, column, table, MostColumns) }

// TooManyViewColumns is error 4505; column is the first one that is too many.
func TooManyViewColumns(column, view string) *Error { return Of(4505, column, view, MostColumns) }

// InvalidIdentityValue is error 2756.
func InvalidIdentityValue(value string) *Error { return Of(2756, value, "IDENTITY") }

// WrongDrop is error 3705.
func WrongDrop(statement, name, kind, use string) *Error {
	return Of(3705, statement, name, name, kind, use)
}

// SystemDrop is error 3708.
func SystemDrop(verb, kind, name string) *Error { return Of(3708, verb, kind, name, kind) }

// ViewUnion is error 4426, or 4436 for a view whose only set operators are UNION ALL.
func ViewUnion(view string, all bool) *Error {
	if all {
		return Of(4436, view)
	}
	return Of(4426, view)
}

// Limits of the indexes of a table ("Maximum capacity specifications for SQL Server").
const (
	MostIndexes    = 999 // nonclustered ones
	MostKeyColumns = 32  // of an index
)

// TooManyKeyColumns is error 1904; n is the number of columns.
func TooManyKeyColumns(index, table string, n int) *Error {
	return Of(1904, index, table, n, MostKeyColumns)
}

// TooManyIndexes is error 1910.
func TooManyIndexes(index string) *Error { return Of(1910, index, MostIndexes) }

// NotProcedure is error 2809; kind is table, view and the like.
func NotProcedure(name, kind string) *Error { return Of(2809, name, name, kind) }

// ConstraintConflict is error 547. statement is INSERT, UPDATE, DELETE, MERGE or ALTER TABLE; kind
// is CHECK, FOREIGN KEY, FOREIGN KEY SAME TABLE, REFERENCE or SAME TABLE REFERENCE; table is
// schema.table; an empty column leaves its part out, as for constraints over several columns.
func ConstraintConflict(statement, kind, constraint, database, table, column string) *Error {
	if column != "" {
		column = ", column '" + column + "'"
	}
	return Of(547, statement, kind, constraint, database, table, column)
}
