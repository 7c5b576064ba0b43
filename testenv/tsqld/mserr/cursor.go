package mserr

// Errors of cursors.

// CursorOpen is error 16905.
func CursorOpen() *Error { return message(16905) }

// FetchType is error 16911; fetch is in lower case.
func FetchType(fetch string) *Error { return message(16911, fetch) }

// CursorOptions is error 1048.
func CursorOptions(x, y string) *Error { return message(1048, x, y) }

// CursorExists is error 16915.
func CursorExists(name string) *Error { return message(16915, name) }

// NoCursor is error 16916.
func NoCursor(name string) *Error { return message(16916, name) }

// CursorNotOpen is error 16917.
func CursorNotOpen() *Error { return message(16917) }

// NotAllowedIn is error 154: what is the beginning of the sentence, where the place.
func NotAllowedIn(what, where string) *Error { return message(154, what, where) }

// NotInCursor is error 16907.
func NotInCursor(what string) *Error { return message(16907, what) }

// FetchTypeDynamic is error 16925; fetch begins with a capital letter.
func FetchTypeDynamic(fetch string) *Error { return message(16925, fetch) }

// CursorReadOnly is error 16929.
func CursorReadOnly() *Error { return message(16929) }

// CursorNoRow is error 16931, of a cursor that is not on a row.
func CursorNoRow() *Error { return message(16931) }

// CursorColumn is error 16932.
func CursorColumn() *Error { return message(16932) }

// CursorTable is error 16933.
func CursorTable() *Error { return message(16933) }

// CursorRowChanged is message 16934, which precedes error 16947.
func CursorRowChanged() *Error { return message(16934) }

// CursorSchemaChanged is error 16943.
func CursorSchemaChanged() *Error { return message(16943) }

// CursorRowGone is error 16947.
func CursorRowGone() *Error { return message(16947) }

// CursorConverted is message 16956.
func CursorConverted() *Error { return message(16956) }

// UpdateReadOnlyCursor is error 16957.
func UpdateReadOnlyCursor() *Error { return message(16957) }

// CursorFirstInstance is message 16961.
func CursorFirstInstance() *Error { return message(16961) }

// NotUpdatableByCursor is error 16962.
func NotUpdatableByCursor() *Error { return message(16962) }

// FetchVariables is error 16924.
func FetchVariables() *Error { return message(16924) }

// NoCursorAllocated is error 16950.
func NoCursorAllocated(variable string) *Error { return message(16950, variable) }
