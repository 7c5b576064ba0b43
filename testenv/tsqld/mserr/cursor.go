package mserr

// Errors of cursors.

// CursorOpen is error 16905.
func CursorOpen() *Error { return Of(16905) }

// FetchType is error 16911; fetch is in lower case.
func FetchType(fetch string) *Error { return Of(16911, fetch) }

// CursorOptions is error 1048.
func CursorOptions(x, y string) *Error { return Of(1048, x, y) }

// CursorExists is error 16915.
func CursorExists(name string) *Error { return Of(16915, name) }

// NoCursor is error 16916.
func NoCursor(name string) *Error { return Of(16916, name) }

// CursorNotOpen is error 16917.
func CursorNotOpen() *Error { return Of(16917) }

// NotAllowedIn is error 154: what is the beginning of the sentence, where the place.
func NotAllowedIn(what, where string) *Error { return Of(154, what, where) }

// NotInCursor is error 16907.
func NotInCursor(what string) *Error { return Of(16907, what) }

// FetchTypeDynamic is error 16925; fetch begins with a capital letter.
func FetchTypeDynamic(fetch string) *Error { return Of(16925, fetch) }

// CursorReadOnly is error 16929.
func CursorReadOnly() *Error { return Of(16929) }

// CursorNoRow is error 16931, of a cursor that is not on a row.
func CursorNoRow() *Error { return Of(16931) }

// CursorColumn is error 16932.
func CursorColumn() *Error { return Of(16932) }

// CursorTable is error 16933.
func CursorTable() *Error { return Of(16933) }

// CursorRowChanged is message 16934, which precedes error 16947.
func CursorRowChanged() *Error { return Of(16934) }

// CursorSchemaChanged is error 16943.
func CursorSchemaChanged() *Error { return Of(16943) }

// CursorRowGone is error 16947.
func CursorRowGone() *Error { return Of(16947) }

// CursorConverted is message 16956.
func CursorConverted() *Error { return Of(16956) }

// UpdateReadOnlyCursor is error 16957.
func UpdateReadOnlyCursor() *Error { return Of(16957) }

// CursorFirstInstance is message 16961.
func CursorFirstInstance() *Error { return Of(16961) }

// NotUpdatableByCursor is error 16962.
func NotUpdatableByCursor() *Error { return Of(16962) }

// FetchVariables is error 16924.
func FetchVariables() *Error { return Of(16924) }

// NoCursorAllocated is error 16950.
func NoCursorAllocated(variable string) *Error { return Of(16950, variable) }
