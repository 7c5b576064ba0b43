package mserr

// definition is a row of sys.messages.
type definition struct {
	class uint8
	text  string
}

// definitions are SQL Server's messages that system procedures raise by number (documentation:
// "Database Engine events and errors"). Their placeholders are those of RAISERROR.
var definitions = map[int32]definition{
	11732: {16, "The requested range for sequence object '%s' exceeds the maximum or minimum limit. Retry with a smaller range."},
	15001: {16, "Object '%s' does not exist or is not a valid object for this operation."},
	15007: {16, "'%s' is not a valid login or you do not have permission."},
	15009: {16, "The object '%s' does not exist in database '%s' or is invalid for this operation."},
	15010: {16, "The database '%s' does not exist. Supply a valid database name. To see available databases, use sys.databases."},
	15015: {16, "The server '%s' does not exist. Use sp_helpserver to show available servers."},
	15165: {16, "Could not find object '%s' or you do not have permission."},
	15197: {16, "There is no text for object '%s'."},
	15198: {16, "The name supplied (%s) is not a user, role, or aliased login."},
	15234: {16, "Objects of this type have no space allocated."},
	15250: {16, "The database name component of the object qualifier must be the name of the current database."},
	15251: {16, "Invalid '%s' specified. It must be %s."},
	15252: {16, "The primary or foreign key table name must be given."},
	15305: {16, "The @TriggerType parameter value must be 'insert', 'update', or 'delete'."},
	15325: {16, "The current database does not contain a %s named '%s'."},
	15330: {11, "There are no matching rows on which to report."},
	15409: {11, "'%s' is not a role."},
	15459: {10, "In the current database, the specified object references the following:"},
	15460: {10, "In the current database, the specified object is referenced by the following:"},
	15461: {10, "Object does not reference any object, and no objects reference it."},
	15469: {10, "No constraints are defined on object '%s', or you do not have permissions."},
	15470: {10, "No foreign keys reference table '%s', or you do not have permissions on referencing tables."},
	15472: {10, "The object '%s' does not have any indexes, or you do not have permissions."},
	15574: {10, "This object does not have any statistics."},
	15600: {15, "An invalid parameter or option was specified for procedure '%s'."},
	15625: {10, "Option '%s' not recognized for '%s' parameter."},
}

// Definition finds a message of SQL Server by its number, for RAISERROR.
func Definition(number int64) (class uint8, text string, ok bool) {
	d, ok := definitions[int32(number)]
	return d.class, d.text, ok && number == int64(int32(number))
}
