package plan

import "github.com/jobagent/jobagent/testenv/tsqld/syntax"

// CursorKind tells which changes of the tables a cursor shows.
type CursorKind uint8

// The kinds of cursors. A static cursor shows the rows as they are at OPEN. A keyset cursor shows
// the current values of the rows that exist at OPEN. A dynamic cursor shows the current rows.
const (
	CursorStatic CursorKind = iota
	CursorKeyset
	CursorDynamic
)

// CursorStep is the part of a cursor's rows that a plan reads.
type CursorStep uint8

// The steps. A plan of CursorOpen reads all rows. The other plans read one row. CursorFirst and
// CursorLast count from an end of the rows, CursorNext and CursorPrior from the row in
// tree.Run.Row; all four skip tree.Run.Skip rows. CursorCurrent reads the row in tree.Run.Row
// again.
const (
	CursorOpen CursorStep = iota
	CursorFirst
	CursorLast
	CursorNext
	CursorPrior
	CursorCurrent
)

// CursorPart limits CursorNext and CursorPrior to some of the rows. SQLite finds a row of a part by
// an index whose first column allows NULL, but not a row of all parts.
type CursorPart uint8

// The parts by the first term of ORDER BY: all rows; the rows with a value, from that of the place
// on; the rows with NULL, from the place on; all rows with a value; all rows with NULL.
const (
	CursorWhole CursorPart = iota
	CursorValues
	CursorNulls
	CursorAllValues
	CursorAllNulls
)

// CursorUse is the request for a plan of a cursor.
type CursorUse struct {
	Kind    CursorKind     // as declared
	Step    CursorStep     // what the plan reads
	Part    CursorPart     // CursorWhole unless CursorPlan.Parts is set
	Columns []syntax.Ident // FOR UPDATE OF; empty for all columns
	Locks   bool           // SCROLL_LOCKS: FETCH locks like UPDLOCK
}

// CursorPlan is the plan of one step of a cursor. A row of the plan has the values of Columns, then
// those of ORDER BY for a dynamic cursor, and then those that identify the rows of Tables. The
// values after Columns, together, are a place: tree.Run.Row of other steps.
type CursorPlan struct {
	Plan
	Kind   CursorKind // after the conversions that the query requires
	Tables []CursorTable
	// Parts is set for a dynamic cursor whose first term of ORDER BY may be NULL, and Down if that
	// term is descending.
	Parts, Down bool
}

// CursorTable is a table whose rows a cursor returns.
type CursorTable struct {
	// DatabaseID and ObjectID are those of the table, or of the outermost view through which the
	// cursor reads the table. UPDATE and DELETE must name the same one.
	DatabaseID int
	ObjectID   int32
	// Identity lists the columns that identify a version of a row, after the rowid.
	Identity []int
	At       int // index of the rowid in a place
	Updates  bool
}

// Position describes an UPDATE or DELETE WHERE CURRENT OF. tree.Run.Row has the identity of the
// row: the rowid and the columns of Identity. The values are compared if Checked is set.
type Position struct {
	DatabaseID int
	ObjectID   int32
	Identity   []int
	Checked    bool
	// Read reads the identity of the row with the rowid in tree.Run.Row.
	Read Statement
	// NewRowID returns the rowid that the row will have, if the statement changes the rowid;
	// otherwise its SQL is "".
	NewRowID Statement
}
