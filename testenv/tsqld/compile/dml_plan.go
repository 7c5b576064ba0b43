package compile

import "github.com/jobagent/jobagent/testenv/tsqld/catalog"

// DML is a compiled INSERT, UPDATE, DELETE or MERGE: SQLite statements to run in order. If there is more
// than one, they must be undone together when one fails.
//
// The interpreter calls store.Conn.EnsureTemp for the Spool if there is one, runs Prepare (which fills the
// spool), reserves identity values if Identity is set, runs Apply, then gets the rows of Output, if any,
// and runs Finish.
type DML struct {
	Needs
	// Kind is INSERT, UPDATE, DELETE or MERGE.
	Kind string
	// Database is where the target table lives, 0 for temporary tables and table variables. IntoDatabase is that of OUTPUT INTO's target.
	Database     int
	Target       *catalog.Table
	Into         *catalog.Table // target of OUTPUT … INTO; nil for none
	IntoDatabase int
	// IntoIdentity is set when Into has an identity column that the server fills; the first value has to be known before
	// Apply. IntoStep is the index in Apply of the statement that inserts, whose row count is the number of values taken.
	IntoIdentity *IdentityNeed
	IntoStep     int

	// Spool is the temporary table that the statements share; nil for none.
	Spool *Spool
	// Prepare fills the spool, or the target of OUTPUT … INTO where that is possible before the change. The row count of its last
	// statement is that of the T-SQL statement.
	Prepare []Statement
	// IntoFirst says that Prepare fills the target of OUTPUT … INTO, whose rows must be undone by themselves when the statement fails.
	IntoFirst bool
	// Apply changes the target. Without a spool it is one statement, whose row count counts.
	Apply []Statement
	// Identity is set when the target has an identity column that the server fills.
	Identity *IdentityNeed
	// IdentityGiven says that the statement inserts identity values of its own, under IDENTITY_INSERT: it passes each to LocalIdentity,
	// in the order of the rows.
	IdentityGiven bool
	// Output is the query of an OUTPUT clause to the client; nil for none.
	Output *Plan
	// OutputRows says that Output is to be run instead of Apply: it changes the target and yields the rows.
	OutputRows bool
	// Finish empties the spool.
	Finish []Statement
	// Assign are the variables set by UPDATE … SET @v = …; AssignFrom yields a row per changed row, in order, for them.
	Assign     []Assign
	AssignFrom Statement
	// IgnoreDups says that rows with duplicate keys are left out silently (IGNORE_DUP_KEY): fewer rows than tried mean message 3604.
	// Tried is their number if it is known beforehand; 0 means the row count of Prepare.
	IgnoreDups bool
	Tried      int
	// Nothing says that the statement changes nothing when the tables that it reads WITH (READPAST) have no rows for it. Otherwise PastPlan
	// is what to run when the locks of Past cannot be had; nil when the statement has to wait.
	Nothing  bool
	PastPlan *DML
}

// Spool is a temporary table for the rows of one running DML statement.
type Spool struct {
	Name string // in SQLite's temp schema
	DDL  string // for store.Conn.EnsureTemp
}

// IdentityNeed says how many identity values a statement takes: row i (from 0) gets Run.Identity + i*Increment.
type IdentityNeed struct {
	Column *catalog.Column
	catalog.Identity
	// Counted says that the statement takes them from store.CounterFunc.
	Counted bool
	// Rows is how many rows are inserted if that is known beforehand; -1 means the row count of the last statement
	// of Prepare, or with an empty Prepare that of Apply.
	Rows int
	// Step is the number, from 1, of the statement of Apply whose row count is that of the values taken; 0 for the count of the statement.
	Step int
}
