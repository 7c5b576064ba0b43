package mserr

// Errors of cursors.

// CursorOpen is error 16905.
func CursorOpen() *Error {
	return New(16905, 16, "The cursor is already open.")
}

// FetchType is error 16911; fetch is in lower case.
func FetchType(fetch string) *Error {
	return New(16911, 16, "fetch: The fetch type %s cannot be used with forward only cursors.", fetch)
}

// CursorOptions is error 1048.
func CursorOptions(x, y string) *Error {
	return New(1048, 15, "Conflicting cursor options %s and %s.", x, y)
}

// CursorExists is error 16915.
func CursorExists(name string) *Error {
	return New(16915, 16, "A cursor with the name '%s' already exists.", name)
}

// NoCursor is error 16916.
func NoCursor(name string) *Error {
	return New(16916, 16, "A cursor with the name '%s' does not exist.", name)
}

// CursorNotOpen is error 16917.
func CursorNotOpen() *Error {
	return New(16917, 16, "Cursor is not open.")
}

// NotAllowedIn is error 154: what is the beginning of the sentence, where the place.
func NotAllowedIn(what, where string) *Error {
	return New(154, 15, "%s is not allowed in a %s.", what, where)
}

// NotInCursor is error 16907.
func NotInCursor(what string) *Error {
	return New(16907, 16, "%s is not allowed in cursor statements.", what)
}

// FetchTypeDynamic is error 16925; fetch begins with a capital letter.
func FetchTypeDynamic(fetch string) *Error {
	return New(16925, 16, "The fetch type %s cannot be used with dynamic cursors.", fetch)
}

// CursorReadOnly is error 16929.
func CursorReadOnly() *Error { return New(16929, 16, "The cursor is READ ONLY.") }

// CursorNoRow is error 16931, of a cursor that is not on a row.
func CursorNoRow() *Error { return New(16931, 16, "There are no rows in the current fetch buffer.") }

// CursorColumn is error 16932.
func CursorColumn() *Error {
	return New(16932, 16, "The cursor has a FOR UPDATE list and the requested column to be updated is not in this list.")
}

// CursorTable is error 16933.
func CursorTable() *Error {
	return New(16933, 16, "The cursor does not include the table being modified or the table is not "+
		"updatable through the cursor.")
}

// CursorRowChanged is message 16934, which precedes error 16947.
func CursorRowChanged() *Error {
	return New(16934, 10, "Optimistic concurrency check failed. The row was modified outside of this cursor.")
}

// CursorSchemaChanged is error 16943.
func CursorSchemaChanged() *Error {
	return New(16943, 16, "Could not complete cursor operation because the table schema changed after "+
		"the cursor was declared.")
}

// CursorRowGone is error 16947.
func CursorRowGone() *Error { return New(16947, 16, "No rows were updated or deleted.") }

// CursorConverted is message 16956.
func CursorConverted() *Error {
	return New(16956, 10, "The created cursor is not of the requested type.")
}

// UpdateReadOnlyCursor is error 16957.
func UpdateReadOnlyCursor() *Error {
	return New(16957, 16, "FOR UPDATE cannot be specified on a READ ONLY cursor.")
}

// CursorFirstInstance is message 16961.
func CursorFirstInstance() *Error {
	return New(16961, 10, "One or more FOR UPDATE columns have been adjusted to the first instance of "+
		"their table in the query.")
}

// NotUpdatableByCursor is error 16962.
func NotUpdatableByCursor() *Error {
	return New(16962, 16, "The target object type is not updatable through a cursor.")
}

// FetchVariables is error 16924.
func FetchVariables() *Error {
	return New(16924, 16, "Cursorfetch: The number of variables declared in the INTO list must match "+
		"that of selected columns.")
}

// NoCursorAllocated is error 16950.
func NoCursorAllocated(variable string) *Error {
	return New(16950, 16, "The variable '%s' does not currently have a cursor allocated to it.", variable).WithState(2)
}
