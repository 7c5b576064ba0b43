package plan

import "github.com/jobagent/jobagent/testenv/tsqld/catalog"

// Instead is an INSTEAD OF trigger that runs in place of a change. The plan then changes nothing:
// it only computes the rows of inserted and deleted.
type Instead struct {
	Object  catalog.Object // the table or view
	Trigger *catalog.Trigger
	Event   string
	// Shape has the columns of inserted and deleted.
	Shape *catalog.Table
	// Inserted and Deleted return the rows, in the columns of [catalog.Table.Captured], after
	// Prepare. One without text returns no rows.
	Inserted, Deleted Statement
}
