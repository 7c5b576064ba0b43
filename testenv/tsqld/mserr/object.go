package mserr

import "strings"

// Errors of names, definitions and constraints.

// InvalidColumn is error 207.
func InvalidColumn(name string) *Error {
	return New(207, 16, "Invalid column name '%s'.", name)
}

// InvalidObject is error 208; name is the name in the statement, with its qualifiers. The state is
// 0 for a temporary table.
func InvalidObject(name string) *Error {
	e := New(208, 16, "Invalid object name '%s'.", name)
	if strings.HasPrefix(name, "#") {
		return e.WithState(0)
	}
	return e
}

// AmbiguousColumn is error 209.
func AmbiguousColumn(name string) *Error {
	return New(209, 16, "Ambiguous column name '%s'.", name)
}

// ColumnCount is error 213.
func ColumnCount() *Error {
	return New(213, 16, "Column name or number of supplied values does not match table definition.")
}

// SystemCatalogUpdate is error 259.
func SystemCatalogUpdate() *Error {
	return New(259, 16, "Ad hoc updates to system catalogs are not allowed.")
}

// NoTable is error 263: SELECT * without FROM.
func NoTable() *Error {
	return New(263, 16, "Must specify table to select from.")
}

// DuplicateSetColumn is error 264.
func DuplicateSetColumn(name string) *Error {
	return New(264, 16, "The column name '%s' is specified more than once in the SET clause or "+
		"column list of an INSERT. A column cannot be assigned more than one value in the same "+
		"clause. Modify the clause to make sure that a column is updated only once. If this "+
		"statement updates or inserts columns into a view, column aliasing can conceal the "+
		"duplication in your code.", name)
}

// NotModifiable is error 271.
func NotModifiable(column string) *Error {
	return New(271, 16, "The column \"%s\" cannot be modified because it is either a computed column "+
		"or is the result of a UNION operator.", column)
}

// UpdateRowVersion is error 272.
func UpdateRowVersion() *Error {
	return New(272, 16, "Cannot update a timestamp column.")
}

// InsertRowVersion is error 273.
func InsertRowVersion() *Error {
	return New(273, 16, "Cannot insert an explicit value into a timestamp column. Use INSERT with a "+
		"column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column.")
}

// NewSequentialID is error 302.
func NewSequentialID() *Error {
	return New(302, 16, "The newsequentialid() built-in function can only be used in a DEFAULT "+
		"expression for a column of type 'uniqueidentifier' in a CREATE TABLE or ALTER TABLE "+
		"statement. It cannot be combined with other operators to form a complex scalar expression.").WithState(0)
}

// UnknownIndexHint is error 308.
func UnknownIndexHint(index, table string) *Error {
	return New(308, 16, "Index '%s' on table '%s' (specified in the FROM clause) does not exist.", index, table)
}

// OutputIntoReferenced is error 332.
func OutputIntoReferenced(table, constraint string) *Error {
	return New(332, 16, "The target table '%s' of the OUTPUT INTO clause cannot be on either side of "+
		"a (primary key, foreign key) relationship. Found reference constraint '%s'.", table, constraint)
}

// OutputIntoChecked is error 333.
func OutputIntoChecked(table, constraint string) *Error {
	return New(333, 16, "The target table '%s' of the OUTPUT INTO clause cannot have any enabled "+
		"check constraints or any enabled rules. Found check constraint or rule '%s'.", table, constraint)
}

// ReadOnlyRequired is error 352.
func ReadOnlyRequired(parameter string) *Error {
	return New(352, 15, "The table-valued parameter \"%s\" must be declared with the READONLY option.", parameter)
}

// NullInsert is error 515; table is its three-part name, statement is INSERT or UPDATE.
func NullInsert(column, table, statement string) *Error {
	return New(515, 16, "Cannot insert the value NULL into column '%s', table '%s'; column does not "+
		"allow nulls. %s fails.", column, table, statement).WithState(2)
}

// IdentityInsertOff is error 544.
func IdentityInsertOff(table string) *Error {
	return New(544, 16, "Cannot insert explicit value for identity column in table '%s' when "+
		"IDENTITY_INSERT is set to OFF.", table)
}

// IdentityValueRequired is error 545.
func IdentityValueRequired(table string) *Error {
	return New(545, 16, "Explicit value must be specified for identity column in table '%s' either "+
		"when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR "+
		"REPLICATION identity column.", table)
}

// MostColumns is the maximum number of columns of a table or view.
const MostColumns = 1024

// TooManyColumns is error 1702, also of ALTER TABLE and SELECT INTO; column is the first one that
// is too many.
func TooManyColumns(column, table string) *Error {
	return New(1702, 16, "CREATE TABLE failed because column '%s' in table '%s' exceeds the maximum "+
		"of %d columns.", column, table, MostColumns)
}

// TooManyViewColumns is error 4505; column is the first one that is too many.
func TooManyViewColumns(column, view string) *Error {
	return New(4505, 16, "CREATE VIEW failed because column '%s' in view '%s' exceeds the maximum of "+
		"%d columns.", column, view, MostColumns)
}

// DuplicateColumn is error 2705.
func DuplicateColumn(column, table string) *Error {
	return New(2705, 16, "Column names in each table must be unique. Column name '%s' in table '%s' "+
		"is specified more than once.", column, table).WithState(3)
}

// TemporaryView is error 4103.
func TemporaryView(name string) *Error {
	return New(4103, 15, "%s: Temporary views are not allowed.", name)
}

// TemporaryInView is error 4508.
func TemporaryInView() *Error {
	return New(4508, 16, "Views or functions are not allowed on temporary tables. Table names that begin "+
		"with '#' denote temporary tables.")
}

// ObjectExists is error 2714.
func ObjectExists(name string) *Error {
	return New(2714, 16, "There is already an object named '%s' in the database.", name)
}

// UnknownType is error 2715; n counts from 1.
func UnknownType(n int, name string) *Error {
	return New(2715, 16, "Column, parameter, or variable #%d: Cannot find data type %s.", n, name).WithState(6)
}

// WidthNotAllowed is error 2716; n counts from 1.
func WidthNotAllowed(n int, name string) *Error {
	return New(2716, 16, "Column, parameter, or variable #%d: Cannot specify a column width on data type %s.", n, name)
}

// NoSuchIndex is error 2727.
func NoSuchIndex(name string) *Error {
	return New(2727, 11, "Cannot find index '%s'.", name)
}

// OneRowVersion is error 2738.
func OneRowVersion(table, column string) *Error {
	return New(2738, 16, "A table can only have one timestamp column. Because table '%s' already has "+
		"one, the column '%s' cannot be added.", table, column).WithState(2)
}

// LOBVariable is error 2739.
func LOBVariable() *Error {
	return New(2739, 16, "The text, ntext, and image data types are invalid for local variables.")
}

// MultipleIdentity is error 2744.
func MultipleIdentity(table string) *Error {
	return New(2744, 16, "Multiple identity columns specified for table '%s'. Only one identity "+
		"column per table is allowed.", table).WithState(2)
}

// InvalidIdentityType is error 2749.
func InvalidIdentityType(column string) *Error {
	return New(2749, 16, "Identity column '%s' must be of data type int, bigint, smallint, tinyint, "+
		"or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable.", column).WithState(2)
}

// InvalidIdentityValue is error 2756.
func InvalidIdentityValue(value string) *Error {
	return New(2756, 16, "Invalid value %s for %s. The value must be a nonzero integer.", value, "IDENTITY")
}

// PrecisionTooLarge is error 2750; n counts from 1.
func PrecisionTooLarge(n, precision, maximum int) *Error {
	return New(2750, 16, "Column or parameter #%d: Specified column precision %d is greater than the "+
		"maximum precision of %d.", n, precision, maximum)
}

// ScaleExceedsPrecision is error 2751; n counts from 1.
func ScaleExceedsPrecision(n, scale, precision int) *Error {
	return New(2751, 16, "Column or parameter #%d: Specified column scale %d is greater than the "+
		"specified precision of %d.", n, scale, precision)
}

// InvalidSynonym is error 5313.
func InvalidSynonym(name string) *Error {
	return New(5313, 16, "Synonym '%s' refers to an invalid object.", name)
}

// CreateSchemaFailed is error 2759.
func CreateSchemaFailed() *Error {
	return New(2759, 16, "CREATE SCHEMA failed due to previous errors.")
}

// NoSuchSchema is error 2760.
func NoSuchSchema(name string) *Error {
	return New(2760, 16, "The specified schema name \"%s\" either does not exist or you do not have "+
		"permission to use it.", name)
}

// CannotDrop is error 3701; verb is drop, alter and the like, kind table, procedure...
func CannotDrop(verb, kind, name string) *Error {
	return New(3701, 11, "Cannot %s the %s '%s', because it does not exist or you do not have "+
		"permission.", verb, kind, name).WithState(5)
}

// DatabaseInUse is error 3702.
func DatabaseInUse(name string) *Error {
	return New(3702, 16, "Cannot drop database \"%s\" because it is currently in use.", name).WithState(3)
}

// WrongDrop is error 3705.
func WrongDrop(statement, name, kind, use string) *Error {
	return New(3705, 16, "Cannot use DROP %s with '%s' because '%s' is a %s. Use %s.", statement, name, name, kind, use)
}

// SystemDrop is error 3708.
func SystemDrop(verb, kind, name string) *Error {
	return New(3708, 16, "Cannot %s the %s '%s' because it is a system %s.", verb, kind, name, kind)
}

// ConstraintIndex is error 3723; constraint is PRIMARY KEY, UNIQUE KEY or FOREIGN KEY.
func ConstraintIndex(index, constraint string) *Error {
	return New(3723, 16, "An explicit DROP INDEX is not allowed on index '%s'. It is being used for "+
		"%s constraint enforcement.", index, constraint).WithState(4)
}

// ConstraintReferenced is error 3725.
func ConstraintReferenced(constraint, table, foreignKey string) *Error {
	return New(3725, 16, "The constraint '%s' is being referenced by table '%s', foreign key "+
		"constraint '%s'.", constraint, table, foreignKey).WithState(0)
}

// ReferencedByForeignKey is error 3726.
func ReferencedByForeignKey(name string) *Error {
	return New(3726, 16, "Could not drop object '%s' because it is referenced by a FOREIGN KEY constraint.", name)
}

// DropConstraintFailed is error 3727.
func DropConstraintFailed() *Error {
	return New(3727, 16, "Could not drop constraint. See previous errors.")
}

// NotConstraint is error 3728.
func NotConstraint(name string) *Error {
	return New(3728, 16, "'%s' is not a constraint.", name)
}

// ReferencedByObject is error 3729.
func ReferencedByObject(verb, name, by string) *Error {
	return New(3729, 16, "Cannot %s '%s' because it is being referenced by object '%s'.", verb, name, by)
}

// TypeReferenced is error 3732.
func TypeReferenced(name, by string) *Error {
	return New(3732, 16, "Cannot drop type '%s' because it is being referenced by object '%s'. There "+
		"may be other objects that reference this type.", name, by)
}

// ConstraintElsewhere is error 3733.
func ConstraintElsewhere(constraint, table string) *Error {
	return New(3733, 16, "Constraint '%s' does not belong to table '%s'.", constraint, table).WithState(2)
}

// Unbound is error 4104.
func Unbound(name string) *Error {
	return New(4104, 16, "The multi-part identifier \"%s\" could not be bound.", name)
}

// UnknownFunctionOrColumn is error 4121; function is the whole dotted name, column its first part.
func UnknownFunctionOrColumn(column, function string) *Error {
	return New(4121, 16, "Cannot find either column \"%s\" or the user-defined function or aggregate "+
		"\"%s\", or the name is ambiguous.", column, function)
}

// ViewAggregates is error 4403.
func ViewAggregates(view string) *Error {
	return New(4403, 16, "Cannot update the view or function '%s' because it contains aggregates, or "+
		"a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.", view)
}

// ViewManyTables is error 4405.
func ViewManyTables(view string) *Error {
	return New(4405, 16, "View or function '%s' is not updatable because the modification affects "+
		"multiple base tables.", view)
}

// ViewDerivedField is error 4406.
func ViewDerivedField(view string) *Error {
	return New(4406, 16, "Update or insert of view or function '%s' failed because it contains a "+
		"derived or constant field.", view)
}

// NotModifiableObject is error 270.
func NotModifiableObject(name string) *Error {
	return New(270, 16, "Object '%s' cannot be modified.", name)
}

// ViewUnion is error 4426, or 4436 for a view whose only set operators are UNION ALL.
func ViewUnion(view string, all bool) *Error {
	if all {
		return New(4436, 16, "UNION ALL view '%s' is not updatable because a partitioning column was not found.", view)
	}
	return New(4426, 16, "View '%s' is not updatable because the definition contains a UNION operator.", view)
}

// ViewMoreColumns is error 4502.
func ViewMoreColumns(name string) *Error {
	return New(4502, 16, "View or function '%s' has more column names specified than columns defined.", name)
}

// ViewUnnamed is error 4511; n counts from 1.
func ViewUnnamed(n int) *Error {
	return New(4511, 16, "Create View or Function failed because no column name was specified for column %d.", n)
}

// NoSuchTruncate is error 4701.
func NoSuchTruncate(name string) *Error {
	return New(4701, 16, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", name)
}

// TruncateReferenced is error 4712.
func TruncateReferenced(name string) *Error {
	return New(4712, 16, "Cannot truncate table '%s' because it is being referenced by a FOREIGN KEY constraint.", name)
}

// AddNotNull is error 4901.
func AddNotNull(column, table string) *Error {
	return New(4901, 16, "ALTER TABLE only allows columns to be added that can contain nulls, or "+
		"have a DEFAULT definition specified, or the column being added is an identity or timestamp "+
		"column, or alternatively if none of the previous conditions are satisfied the table must be "+
		"empty to allow addition of this column. Column '%s' cannot be added to non-empty table '%s' "+
		"because it does not satisfy these conditions.", column, table)
}

// NoSuchAlter is error 4902.
func NoSuchAlter(name string) *Error {
	return New(4902, 16, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", name)
}

// ColumnInUse is error 4922; statement is ALTER TABLE DROP COLUMN or ALTER TABLE ALTER COLUMN.
func ColumnInUse(statement, column string) *Error {
	return New(4922, 16, "%s %s failed because one or more objects access this column.", statement, column).WithState(9)
}

// OnlyColumn is error 4923.
func OnlyColumn(column, table string) *Error {
	return New(4923, 16, "ALTER TABLE DROP COLUMN failed because '%s' is the only data column in "+
		"table '%s'. A table must have at least one data column.", column, table)
}

// NoSuchAlterColumn is error 4924.
func NoSuchAlterColumn(statement, column, table string) *Error {
	return New(4924, 16, "%s failed because column '%s' does not exist in table '%s'.", statement, column, table)
}

// CannotAlterColumn is error 4928; why is COMPUTED, timestamp and the like.
func CannotAlterColumn(column, why string) *Error {
	return New(4928, 16, "Cannot alter column '%s' because it is '%s'.", column, why)
}

// DependentObject is error 5074; it precedes 4922.
func DependentObject(kind, name, onKind, on string) *Error {
	return New(5074, 16, "The %s '%s' is dependent on %s '%s'.", kind, name, onKind, on)
}

// IdentityColumnList is error 8101.
func IdentityColumnList(table string) *Error {
	return New(8101, 16, "An explicit value for the identity column in table '%s' can only be "+
		"specified when a column list is used and IDENTITY_INSERT is ON.", table)
}

// UpdateIdentity is error 8102.
func UpdateIdentity(column string) *Error {
	return New(8102, 16, "Cannot update identity column '%s'.", column)
}

// NoIdentity is error 8106.
func NoIdentity(table string) *Error {
	return New(8106, 16, "Table '%s' does not have the identity property. Cannot perform SET operation.", table)
}

// IdentityInsertElsewhere is error 8107; on is a three-part name.
func IdentityInsertElsewhere(on, table string) *Error {
	return New(8107, 16, "IDENTITY_INSERT is already ON for table '%s'. Cannot perform SET operation "+
		"for table '%s'.", on, table)
}

// MultiplePrimaryKeys is error 8110.
func MultiplePrimaryKeys(table string) *Error {
	return New(8110, 16, "Cannot add multiple PRIMARY KEY constraints to table '%s'.", table)
}

// NullablePrimaryKey is error 8111.
func NullablePrimaryKey(table string) *Error {
	return New(8111, 16, "Cannot define PRIMARY KEY constraint on nullable column in table '%s'.", table)
}

// MultipleClusteredConstraints is error 8112.
func MultipleClusteredConstraints(table string) *Error {
	return New(8112, 16, "Cannot add more than one clustered index for constraints on table '%s'.", table).WithState(0)
}

// NotGrouped is error 8120; column is qualified by its table or alias.
func NotGrouped(column string) *Error {
	return New(8120, 16, "Column '%s' is invalid in the select list because it is not contained in "+
		"either an aggregate function or the GROUP BY clause.", column)
}

// NotGroupedHaving is error 8121.
func NotGroupedHaving(column string) *Error {
	return New(8121, 16, "Column '%s' is invalid in the HAVING clause because it is not contained in "+
		"either an aggregate function or the GROUP BY clause.", column)
}

// NotGroupedOrder is error 8127.
func NotGroupedOrder(column string) *Error {
	return New(8127, 16, "Column \"%s\" is invalid in the ORDER BY clause because it is not "+
		"contained in either an aggregate function or the GROUP BY clause.", column)
}

// ColumnConstraintReach is error 8141.
func ColumnConstraintReach(constraint, column, table string) *Error {
	return New(8141, 16, "Column %s constraint for column '%s' references another column, table '%s'.", constraint, column, table).WithState(0)
}

// NullableIdentity is error 8147.
func NullableIdentity(column, table string) *Error {
	return New(8147, 16, "Could not create IDENTITY attribute on nullable column '%s', table '%s'.", column, table)
}

// UnnamedColumn is error 8155; n counts from 1.
func UnnamedColumn(n int, object string) *Error {
	return New(8155, 16, "No column name was specified for column %d of '%s'.", n, object).WithState(2)
}

// DuplicateColumnOf is error 8156.
func DuplicateColumnOf(column, object string) *Error {
	return New(8156, 16, "The column '%s' was specified multiple times for '%s'.", column, object)
}

// MoreColumnsThanListed is error 8158.
func MoreColumnsThanListed(object string) *Error {
	return New(8158, 16, "'%s' has more columns than were specified in the column list.", object)
}

// FewerColumnsThanListed is error 8159.
func FewerColumnsThanListed(object string) *Error {
	return New(8159, 16, "'%s' has fewer columns than were specified in the column list.", object)
}

// MergeTwice is error 8672.
func MergeTwice() *Error {
	return New(8672, 16, "The MERGE statement attempted to UPDATE or DELETE the same row more than "+
		"once. This happens when a target row matches more than one source row. A MERGE statement "+
		"cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause "+
		"to ensure a target row matches at most one source row, or use the GROUP BY clause to group "+
		"the source rows.")
}

// DuplicateIndexKey is error 1505; key is in parentheses.
func DuplicateIndexKey(object, index, key string) *Error {
	return New(1505, 16, "The CREATE UNIQUE INDEX statement terminated because a duplicate key was "+
		"found for the object name '%s' and the index name '%s'. The duplicate key value is %s.", object, index, key)
}

// ConstraintNotCreated is error 1750.
func ConstraintNotCreated() *Error {
	return New(1750, 16, "Could not create constraint or index. See previous errors.")
}

// CascadePaths is error 1785.
func CascadePaths(constraint, table string) *Error {
	return New(1785, 16, "Introducing FOREIGN KEY constraint '%s' on table '%s' may cause cycles or multiple cascade paths. "+
		"Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or modify other FOREIGN KEY constraints.", constraint, table).WithState(0)
}

// ForeignKeyTable is error 1767.
func ForeignKeyTable(constraint, table string) *Error {
	return New(1767, 16, "Foreign key '%s' references invalid table '%s'.", constraint, table)
}

// ForeignKeyOwnColumn is error 1769.
func ForeignKeyOwnColumn(constraint, column, table string) *Error {
	return New(1769, 16, "Foreign key '%s' references invalid column '%s' in referencing table '%s'.", constraint, column, table)
}

// ForeignKeyColumn is error 1770.
func ForeignKeyColumn(constraint, column, table string) *Error {
	return New(1770, 16, "Foreign key '%s' references invalid column '%s' in referenced table '%s'.", constraint, column, table)
}

// ForeignKeyCount is error 1774.
func ForeignKeyCount(constraint, table string) *Error {
	return New(1774, 16, "The number of columns in the referencing column list for foreign key '%s' "+
		"does not match those of the primary key in the referenced table '%s'.", constraint, table)
}

// ForeignKeyNoKey is error 1776.
func ForeignKeyNoKey(table, constraint string) *Error {
	return New(1776, 16, "There are no primary or candidate keys in the referenced table '%s' that "+
		"match the referencing column list in the foreign key '%s'.", table, constraint)
}

// ForeignKeyType is error 1778; columns are qualified by their tables.
func ForeignKeyType(column, referencing, constraint string) *Error {
	return New(1778, 16, "Column '%s' is not the same data type as referencing column '%s' in "+
		"foreign key '%s'.", column, referencing, constraint)
}

// PrimaryKeyExists is error 1779.
func PrimaryKeyExists(table string) *Error {
	return New(1779, 16, "Table '%s' already has a primary key defined on it.", table).WithState(0)
}

// DefaultExists is error 1781.
func DefaultExists() *Error {
	return New(1781, 16, "Column already has a DEFAULT bound to it.")
}

// DatabaseExists is error 1801.
func DatabaseExists(name string) *Error {
	return New(1801, 16, "Database '%s' already exists. Choose a different database name.", name).WithState(3)
}

// ClusteredExists is error 1902; table has no schema.
func ClusteredExists(table, index string) *Error {
	return New(1902, 16, "Cannot create more than one clustered index on table '%s'. Drop the existing "+
		"clustered index '%s' before creating another.", table, index).WithState(3)
}

// DuplicateIndexColumn is error 1909.
func DuplicateIndexColumn(column string) *Error {
	return New(1909, 16, "Cannot use duplicate column names in index. Column name '%s' listed more than once.", column)
}

// Limits of the indexes of a table ("Maximum capacity specifications for SQL Server").
const (
	MostIndexes    = 999 // nonclustered ones
	MostKeyColumns = 32  // of an index
)

// TooManyKeyColumns is error 1904; n is the number of columns.
func TooManyKeyColumns(index, table string, n int) *Error {
	return New(1904, 16, "The index '%s' on table '%s' has %d column names in index key list. The "+
		"maximum limit for index or statistics key column list is %d.", index, table, n, MostKeyColumns)
}

// TooManyIndexes is error 1910.
func TooManyIndexes(index string) *Error {
	return New(1910, 16, "Could not create nonclustered index '%s' because it exceeds the maximum of "+
		"%d allowed per table or view.", index, MostIndexes)
}

// NoSuchIndexColumn is error 1911.
func NoSuchIndexColumn(column string) *Error {
	return New(1911, 16, "Column name '%s' does not exist in the target table, index or view.", column)
}

// IndexExists is error 1913; table has no schema.
func IndexExists(index, table string) *Error {
	return New(1913, 16, "The operation failed because an index or statistics with name '%s' already "+
		"exists on table '%s'.", index, table)
}

// InvalidKeyColumn is error 1919; table has no schema.
func InvalidKeyColumn(column, table string) *Error {
	return New(1919, 16, "Column '%s' in table '%s' is of a type that is invalid for use as a key "+
		"column in an index.", column, table)
}

// IncompatibleAlter is error 2010.
func IncompatibleAlter(name string) *Error {
	return New(2010, 16, "Cannot perform alter on '%s' because it is an incompatible object type.", name)
}

// DuplicateKeyRow is error 2601; key is in parentheses.
func DuplicateKeyRow(object, index, key string) *Error {
	return New(2601, 14, "Cannot insert duplicate key row in object '%s' with unique index '%s'. The "+
		"duplicate key value is %s.", object, index, key)
}

// DuplicateKey is error 2627; kind is PRIMARY KEY or UNIQUE KEY, key in parentheses.
func DuplicateKey(kind, constraint, object, key string) *Error {
	return New(2627, 14, "Violation of %s constraint '%s'. Cannot insert duplicate key in object "+
		"'%s'. The duplicate key value is %s.", kind, constraint, object, key)
}

// NotProcedure is error 2809; kind is table, view and the like.
func NotProcedure(name, kind string) *Error {
	return New(2809, 18, "The request for procedure '%s' failed because '%s' is a %s object.", name, name, kind)
}

// SequenceExhausted is error 11728.
func SequenceExhausted(name string) *Error {
	return New(11728, 16, "The sequence object '%s' has reached its minimum or maximum value. "+
		"Restart the sequence object to allow new values to be generated.", name)
}

// SequencePlace is error 11719.
func SequencePlace() *Error {
	return New(11719, 15, "NEXT VALUE FOR function is not allowed in check constraints, default "+
		"objects, computed columns, views, user-defined functions, user-defined aggregates, "+
		"user-defined table types, sub-queries, common table expressions, derived tables or return "+
		"statements.")
}

// SequenceSet is error 11721.
func SequenceSet() *Error {
	return New(11721, 15, "NEXT VALUE FOR function cannot be used directly in a statement that uses "+
		"a DISTINCT, UNION, UNION ALL, EXCEPT or INTERSECT operator.")
}

// SequenceOrderBy is error 11723.
func SequenceOrderBy() *Error {
	return New(11723, 15, "NEXT VALUE FOR function cannot be used directly in a statement that "+
		"contains an ORDER BY clause unless the OVER clause is specified.")
}

// SequenceTop is error 11739.
func SequenceTop() *Error {
	return New(11739, 15, "NEXT VALUE FOR function cannot be used if ROWCOUNT option has been set, "+
		"or the query contains TOP or OFFSET.")
}

// SequenceConditional is error 11741.
func SequenceConditional() *Error {
	return New(11741, 15, "NEXT VALUE FOR function cannot be used within CASE, CHOOSE, COALESCE, IIF, ISNULL and NULLIF.")
}

// NextValuePlace is error 11720.
func NextValuePlace() *Error {
	return New(11720, 15, "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, "+
		"WHERE, GROUP BY, HAVING, or ORDER BY clauses.")
}

// NotSequence is error 11726.
func NotSequence(name string) *Error {
	return New(11726, 16, "Object '%s' is not a sequence object.", name)
}

// ConstraintConflict is error 547. statement is INSERT, UPDATE, DELETE, MERGE or ALTER TABLE; kind
// is CHECK, FOREIGN KEY, FOREIGN KEY SAME TABLE, REFERENCE or SAME TABLE REFERENCE; table is
// schema.table; an empty column leaves its part out, as for constraints over several columns.
func ConstraintConflict(statement, kind, constraint, database, table, column string) *Error {
	if column != "" {
		column = ", column '" + column + "'"
	}
	return New(547, 16, "The %s statement conflicted with the %s constraint \"%s\". The conflict occurred in database \"%s\", table \"%s\"%s.",
		statement, kind, constraint, database, table, column).WithState(0)
}

// OptionNotSettable is error 5058.
func OptionNotSettable(option, database string) *Error {
	return New(5058, 16, "Option '%s' cannot be set in database '%s'.", option, database).WithState(5)
}

// PropertyTooLong is error 15097.
func PropertyTooLong() *Error {
	return New(15097, 16, "The size associated with an extended property cannot be more than 7,500 bytes.")
}

// NoPropertyOwner is error 15135.
func NoPropertyOwner(label string) *Error {
	return New(15135, 16, "Object is invalid. Extended properties are not permitted on '%s', or the "+
		"object does not exist.", label)
}

// NoProperty is error 15217.
func NoProperty(name, label string) *Error {
	return New(15217, 16, "Property cannot be updated or deleted. Property '%s' does not exist for '%s'.", name, label)
}

// PropertyExists is error 15233.
func PropertyExists(name, label string) *Error {
	return New(15233, 16, "Property cannot be added. Property '%s' already exists for '%s'.", name, label)
}

// NoConfiguration is error 15123.
func NoConfiguration(name string) *Error {
	return New(15123, 16, "The configuration option '%s' does not exist, or it may be an advanced option.", name)
}

// AmbiguousConfiguration is error 15124.
func AmbiguousConfiguration(name string) *Error {
	return New(15124, 16, "The configuration option '%s' is not unique.", name)
}

// InvalidConfiguration is error 15129.
func InvalidConfiguration(value int64, name string) *Error {
	return New(15129, 16, "'%d' is not a valid value for configuration option '%s'.", value, name)
}
