package mserr

import "strings"

// Errors of names, definitions and constraints.

// InvalidColumn is error 207.
func InvalidColumn(name string) *Error { return Of(207, name) }

// InvalidObject is error 208; name is the name in the statement, with its qualifiers. The state is
// 0 for a temporary table.
func InvalidObject(name string) *Error {
	return Of(208, name).stateIf(strings.HasPrefix(name, "#"), 0)
}

// AmbiguousColumn is error 209.
func AmbiguousColumn(name string) *Error { return Of(209, name) }

// ColumnCount is error 213.
func ColumnCount() *Error { return Of(213) }

// SystemCatalogUpdate is error 259.
func SystemCatalogUpdate() *Error { return Of(259) }

// NoTable is error 263: SELECT * without FROM.
func NoTable() *Error { return Of(263) }

// DuplicateSetColumn is error 264.
func DuplicateSetColumn(name string) *Error { return Of(264, name) }

// NotModifiable is error 271.
func NotModifiable(column string) *Error { return Of(271, column) }

// UpdateRowVersion is error 272.
func UpdateRowVersion() *Error { return Of(272) }

// InsertRowVersion is error 273.
func InsertRowVersion() *Error { return Of(273) }

// NewSequentialID is error 302.
func NewSequentialID() *Error { return Of(302) }

// UnknownIndexHint is error 308.
func UnknownIndexHint(index, table string) *Error { return Of(308, index, table) }

// OutputIntoReferenced is error 332.
func OutputIntoReferenced(table, constraint string) *Error { return Of(332, table, constraint) }

// OutputIntoChecked is error 333.
func OutputIntoChecked(table, constraint string) *Error { return Of(333, table, constraint) }

// ReadOnlyRequired is error 352.
func ReadOnlyRequired(parameter string) *Error { return Of(352, parameter) }

// NullInsert is error 515; table is its three-part name, statement is INSERT or UPDATE.
func NullInsert(column, table, statement string) *Error {
	return Of(515, column, table, statement)
}

// IdentityInsertOff is error 544.
func IdentityInsertOff(table string) *Error { return Of(544, table) }

// IdentityValueRequired is error 545.
func IdentityValueRequired(table string) *Error { return Of(545, table) }

// MostColumns is the maximum number of columns of a table or view.
const MostColumns = 1024

// TooManyColumns is error 1702, also of ALTER TABLE and SELECT INTO; column is the first one that
// is too many.
func TooManyColumns(column, table string) *Error { return Of(1702, column, table, MostColumns) }

// TooManyViewColumns is error 4505; column is the first one that is too many.
func TooManyViewColumns(column, view string) *Error { return Of(4505, column, view, MostColumns) }

// DuplicateColumn is error 2705.
func DuplicateColumn(column, table string) *Error { return Of(2705, column, table) }

// TemporaryView is error 4103.
func TemporaryView(name string) *Error { return Of(4103, name) }

// TemporaryInView is error 4508.
func TemporaryInView() *Error { return Of(4508) }

// DuplicateInStatement is error 8168: a statement names a constraint or column twice.
func DuplicateInStatement(name string) *Error { return Of(8168, name) }

// ObjectExists is error 2714.
func ObjectExists(name string) *Error { return Of(2714, name) }

// UnknownType is error 2715; n counts from 1.
func UnknownType(n int, name string) *Error { return Of(2715, n, name) }

// WidthNotAllowed is error 2716; n counts from 1.
func WidthNotAllowed(n int, name string) *Error { return Of(2716, n, name) }

// NoSuchIndex is error 2727.
func NoSuchIndex(name string) *Error { return Of(2727, name) }

// OneRowVersion is error 2738.
func OneRowVersion(table, column string) *Error { return Of(2738, table, column) }

// LOBVariable is error 2739.
func LOBVariable() *Error { return Of(2739) }

// MultipleIdentity is error 2744.
func MultipleIdentity(table string) *Error { return Of(2744, table) }

// InvalidIdentityType is error 2749.
func InvalidIdentityType(column string) *Error { return Of(2749, column) }

// InvalidIdentityValue is error 2756.
func InvalidIdentityValue(value string) *Error { return Of(2756, value, "IDENTITY") }

// PrecisionTooLarge is error 2750; n counts from 1.
func PrecisionTooLarge(n, precision, maximum int) *Error { return Of(2750, n, precision, maximum) }

// ScaleExceedsPrecision is error 2751; n counts from 1.
func ScaleExceedsPrecision(n, scale, precision int) *Error { return Of(2751, n, scale, precision) }

// InvalidSynonym is error 5313.
func InvalidSynonym(name string) *Error { return Of(5313, name) }

// CreateSchemaFailed is error 2759.
func CreateSchemaFailed() *Error { return Of(2759) }

// NoSuchSchema is error 2760.
func NoSuchSchema(name string) *Error { return Of(2760, name) }

// CannotDrop is error 3701; verb is drop, alter and the like, kind table, procedure...
func CannotDrop(verb, kind, name string) *Error { return Of(3701, verb, kind, name) }

// DatabaseInUse is error 3702.
func DatabaseInUse(name string) *Error { return Of(3702, name) }

// WrongDrop is error 3705.
func WrongDrop(statement, name, kind, use string) *Error {
	return Of(3705, statement, name, name, kind, use)
}

// SystemDrop is error 3708.
func SystemDrop(verb, kind, name string) *Error { return Of(3708, verb, kind, name, kind) }

// ConstraintIndex is error 3723; constraint is PRIMARY KEY, UNIQUE KEY or FOREIGN KEY.
func ConstraintIndex(index, constraint string) *Error { return Of(3723, index, constraint) }

// ConstraintReferenced is error 3725.
func ConstraintReferenced(constraint, table, foreignKey string) *Error {
	return Of(3725, constraint, table, foreignKey)
}

// ReferencedByForeignKey is error 3726.
func ReferencedByForeignKey(name string) *Error { return Of(3726, name) }

// DropConstraintFailed is error 3727.
func DropConstraintFailed() *Error { return Of(3727) }

// NotConstraint is error 3728.
func NotConstraint(name string) *Error { return Of(3728, name) }

// ReferencedByObject is error 3729.
func ReferencedByObject(verb, name, by string) *Error { return Of(3729, verb, name, by) }

// TypeReferenced is error 3732.
func TypeReferenced(name, by string) *Error { return Of(3732, name, by) }

// ConstraintElsewhere is error 3733.
func ConstraintElsewhere(constraint, table string) *Error { return Of(3733, constraint, table) }

// Unbound is error 4104.
func Unbound(name string) *Error { return Of(4104, name) }

// UnknownFunctionOrColumn is error 4121; function is the whole dotted name, column its first part.
func UnknownFunctionOrColumn(column, function string) *Error { return Of(4121, column, function) }

// ViewAggregates is error 4403.
func ViewAggregates(view string) *Error { return Of(4403, view) }

// ViewManyTables is error 4405.
func ViewManyTables(view string) *Error { return Of(4405, view) }

// ViewDerivedField is error 4406.
func ViewDerivedField(view string) *Error { return Of(4406, view) }

// NotModifiableObject is error 270.
func NotModifiableObject(name string) *Error { return Of(270, name) }

// ViewUnion is error 4426, or 4436 for a view whose only set operators are UNION ALL.
func ViewUnion(view string, all bool) *Error {
	if all {
		return Of(4436, view)
	}
	return Of(4426, view)
}

// ViewMoreColumns is error 4502.
func ViewMoreColumns(name string) *Error { return Of(4502, name) }

// ViewUnnamed is error 4511; n counts from 1.
func ViewUnnamed(n int) *Error { return Of(4511, n) }

// NoSuchTruncate is error 4701.
func NoSuchTruncate(name string) *Error { return Of(4701, name) }

// TruncateReferenced is error 4712.
func TruncateReferenced(name string) *Error { return Of(4712, name) }

// AddNotNull is error 4901.
func AddNotNull(column, table string) *Error { return Of(4901, column, table) }

// NoSuchAlter is error 4902.
func NoSuchAlter(name string) *Error { return Of(4902, name) }

// ColumnInUse is error 4922; statement is ALTER TABLE DROP COLUMN or ALTER TABLE ALTER COLUMN.
func ColumnInUse(statement, column string) *Error { return Of(4922, statement, column) }

// OnlyColumn is error 4923.
func OnlyColumn(column, table string) *Error { return Of(4923, column, table) }

// NoSuchAlterColumn is error 4924.
func NoSuchAlterColumn(statement, column, table string) *Error {
	return Of(4924, statement, column, table)
}

// CannotAlterColumn is error 4928; why is COMPUTED, timestamp and the like.
func CannotAlterColumn(column, why string) *Error { return Of(4928, column, why) }

// DependentObject is error 5074; it precedes 4922.
func DependentObject(kind, name, onKind, on string) *Error {
	return Of(5074, kind, name, onKind, on)
}

// IdentityColumnList is error 8101.
func IdentityColumnList(table string) *Error { return Of(8101, table) }

// UpdateIdentity is error 8102.
func UpdateIdentity(column string) *Error { return Of(8102, column) }

// NoIdentity is error 8106.
func NoIdentity(table string) *Error { return Of(8106, table) }

// IdentityInsertElsewhere is error 8107; on is a three-part name.
func IdentityInsertElsewhere(on, table string) *Error { return Of(8107, on, table) }

// MultiplePrimaryKeys is error 8110.
func MultiplePrimaryKeys(table string) *Error { return Of(8110, table) }

// NullablePrimaryKey is error 8111.
func NullablePrimaryKey(table string) *Error { return Of(8111, table) }

// MultipleClusteredConstraints is error 8112.
func MultipleClusteredConstraints(table string) *Error { return Of(8112, table) }

// NotGrouped is error 8120; column is qualified by its table or alias.
func NotGrouped(column string) *Error { return Of(8120, column) }

// NotGroupedHaving is error 8121.
func NotGroupedHaving(column string) *Error { return Of(8121, column) }

// NotGroupedOrder is error 8127.
func NotGroupedOrder(column string) *Error { return Of(8127, column) }

// ColumnConstraintReach is error 8141.
func ColumnConstraintReach(constraint, column, table string) *Error {
	return Of(8141, constraint, column, table)
}

// NullableIdentity is error 8147.
func NullableIdentity(column, table string) *Error { return Of(8147, column, table) }

// UnnamedColumn is error 8155; n counts from 1.
func UnnamedColumn(n int, object string) *Error { return Of(8155, n, object) }

// DuplicateColumnOf is error 8156.
func DuplicateColumnOf(column, object string) *Error { return Of(8156, column, object) }

// MoreColumnsThanListed is error 8158.
func MoreColumnsThanListed(object string) *Error { return Of(8158, object) }

// FewerColumnsThanListed is error 8159.
func FewerColumnsThanListed(object string) *Error { return Of(8159, object) }

// MergeTwice is error 8672.
func MergeTwice() *Error { return Of(8672) }

// DuplicateIndexKey is error 1505; key is in parentheses.
func DuplicateIndexKey(object, index, key string) *Error { return Of(1505, object, index, key) }

// ConstraintNotCreated is error 1750.
func ConstraintNotCreated() *Error { return Of(1750) }

// CascadePaths is error 1785.
func CascadePaths(constraint, table string) *Error { return Of(1785, constraint, table) }

// ForeignKeyTable is error 1767.
func ForeignKeyTable(constraint, table string) *Error { return Of(1767, constraint, table) }

// ForeignKeyOwnColumn is error 1769.
func ForeignKeyOwnColumn(constraint, column, table string) *Error {
	return Of(1769, constraint, column, table)
}

// ForeignKeyColumn is error 1770.
func ForeignKeyColumn(constraint, column, table string) *Error {
	return Of(1770, constraint, column, table)
}

// ForeignKeyCount is error 1774.
func ForeignKeyCount(constraint, table string) *Error { return Of(1774, constraint, table) }

// ForeignKeyNoKey is error 1776.
func ForeignKeyNoKey(table, constraint string) *Error { return Of(1776, table, constraint) }

// ForeignKeyType is error 1778; columns are qualified by their tables.
func ForeignKeyType(column, referencing, constraint string) *Error {
	return Of(1778, column, referencing, constraint)
}

// PrimaryKeyExists is error 1779.
func PrimaryKeyExists(table string) *Error { return Of(1779, table) }

// DefaultExists is error 1781.
func DefaultExists() *Error { return Of(1781) }

// DatabaseExists is error 1801.
func DatabaseExists(name string) *Error { return Of(1801, name) }

// ClusteredExists is error 1902; table has no schema.
func ClusteredExists(table, index string) *Error { return Of(1902, table, index) }

// DuplicateIndexColumn is error 1909.
func DuplicateIndexColumn(column string) *Error { return Of(1909, column) }

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

// NoSuchIndexColumn is error 1911.
func NoSuchIndexColumn(column string) *Error { return Of(1911, column) }

// IndexExists is error 1913; table has no schema.
func IndexExists(index, table string) *Error { return Of(1913, index, table) }

// InvalidKeyColumn is error 1919; table has no schema.
func InvalidKeyColumn(column, table string) *Error { return Of(1919, column, table) }

// IncompatibleAlter is error 2010.
func IncompatibleAlter(name string) *Error { return Of(2010, name) }

// DuplicateKeyRow is error 2601; key is in parentheses.
func DuplicateKeyRow(object, index, key string) *Error { return Of(2601, object, index, key) }

// DuplicateKey is error 2627; kind is PRIMARY KEY or UNIQUE KEY, key in parentheses.
func DuplicateKey(kind, constraint, object, key string) *Error {
	return Of(2627, kind, constraint, object, key)
}

// NotProcedure is error 2809; kind is table, view and the like.
func NotProcedure(name, kind string) *Error { return Of(2809, name, name, kind) }

// SequenceExhausted is error 11728.
func SequenceExhausted(name string) *Error { return Of(11728, name) }

// SequencePlace is error 11719.
func SequencePlace() *Error { return Of(11719) }

// SequenceSet is error 11721.
func SequenceSet() *Error { return Of(11721) }

// SequenceOrderBy is error 11723.
func SequenceOrderBy() *Error { return Of(11723) }

// SequenceTop is error 11739.
func SequenceTop() *Error { return Of(11739) }

// SequenceConditional is error 11741.
func SequenceConditional() *Error { return Of(11741) }

// NextValuePlace is error 11720.
func NextValuePlace() *Error { return Of(11720) }

// NotSequence is error 11726.
func NotSequence(name string) *Error { return Of(11726, name) }

// ConstraintConflict is error 547. statement is INSERT, UPDATE, DELETE, MERGE or ALTER TABLE; kind
// is CHECK, FOREIGN KEY, FOREIGN KEY SAME TABLE, REFERENCE or SAME TABLE REFERENCE; table is
// schema.table; an empty column leaves its part out, as for constraints over several columns.
func ConstraintConflict(statement, kind, constraint, database, table, column string) *Error {
	if column != "" {
		column = ", column '" + column + "'"
	}
	return Of(547, statement, kind, constraint, database, table, column)
}

// OptionNotSettable is error 5058.
func OptionNotSettable(option, database string) *Error { return Of(5058, option, database) }

// PropertyTooLong is error 15097.
func PropertyTooLong() *Error { return Of(15097) }

// NoPropertyOwner is error 15135.
func NoPropertyOwner(label string) *Error { return Of(15135, label) }

// NoProperty is error 15217.
func NoProperty(name, label string) *Error { return Of(15217, name, label) }

// PropertyExists is error 15233.
func PropertyExists(name, label string) *Error { return Of(15233, name, label) }

// NoConfiguration is error 15123.
func NoConfiguration(name string) *Error { return Of(15123, name) }

// AmbiguousConfiguration is error 15124.
func AmbiguousConfiguration(name string) *Error { return Of(15124, name) }

// InvalidConfiguration is error 15129.
func InvalidConfiguration(value int64, name string) *Error { return Of(15129, value, name) }
