package mserr

// Errors of cursors.
var (
	CursorOpen = of[func() *Error](16905)
	// FetchType: fetch is in lower case.
	FetchType     = of[func(fetch string) *Error](16911)
	CursorOptions = of[func(x, y string) *Error](1048)
	CursorExists  = of[func(name string) *Error](16915)
	NoCursor      = of[func(name string) *Error](16916)
	CursorNotOpen = of[func() *Error](16917)
	// NotAllowedIn: what is the beginning of the sentence, where the place.
	NotAllowedIn = of[func(what, where string) *Error](154)
	NotInCursor  = of[func(what string) *Error](16907)
	// FetchTypeDynamic: fetch begins with a capital letter.
	FetchTypeDynamic = of[func(fetch string) *Error](16925)
	CursorReadOnly   = of[func() *Error](16929)
	// CursorNoRow: the cursor is not on a row.
	CursorNoRow  = of[func() *Error](16931)
	CursorColumn = of[func() *Error](16932)
	CursorTable  = of[func() *Error](16933)
	// CursorRowChanged precedes error 16947.
	CursorRowChanged     = of[func() *Error](16934)
	CursorSchemaChanged  = of[func() *Error](16943)
	CursorRowGone        = of[func() *Error](16947)
	CursorConverted      = of[func() *Error](16956)
	UpdateReadOnlyCursor = of[func() *Error](16957)
	CursorFirstInstance  = of[func() *Error](16961)
	NotUpdatableByCursor = of[func() *Error](16962)
	FetchVariables       = of[func() *Error](16924)
	NoCursorAllocated    = of[func(variable string) *Error](16950)
)
