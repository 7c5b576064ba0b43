package plan

import "github.com/jobagent/jobagent/testenv/tsqld/catalog"

// DML is a compiled INSERT, UPDATE, DELETE or MERGE: SQLite statements to run in order. If one of
// several statements fails, the changes of all must be rolled back.
//
// The interpreter calls store.Temps.Ensure for the Spool if there is one, runs Prepare (which fills
// the spool), reserves identity values if Identity is set, runs Apply, then reads the rows of
// Output, if any, and runs Finish.
type DML struct {
	Needs
	// Kind is INSERT, UPDATE, DELETE or MERGE.
	Kind string
	// Database is the database of the target, 0 for temporary tables and table variables.
	// IntoDatabase is that of OUTPUT INTO's target.
	Database     int
	Target       *catalog.Table
	Into         *catalog.Table // target of OUTPUT … INTO, or nil
	IntoDatabase int
	// IntoIdentity is set if Into has an identity column that the server fills; the first value
	// must be known before Apply. IntoStep is the index in Apply of the statement that inserts into
	// Into; its row count is the number of values taken.
	IntoIdentity *IdentityNeed
	IntoStep     int

	// Actions are the events of triggers that the statement raises, whether or not it changes rows.
	// Fires is set if AFTER triggers may run: those of the target, or of tables that foreign keys
	// change. Updates are the IDs of the columns that the statement assigns in existing rows.
	Actions []string
	Fires   bool
	Updates []int

	// Instead are the INSTEAD OF triggers that run in place of the change, one for each action.
	Instead []*Instead

	// Position is set for WHERE CURRENT OF.
	Position *Position

	// Spool is the temporary table that the statements share, or nil.
	Spool *Spool
	// Prepare fills the spool, or the target of OUTPUT … INTO if that is possible before the
	// change. The row count of its last statement is that of the T-SQL statement.
	Prepare []Statement
	// IntoFirst is set if Prepare fills the target of OUTPUT … INTO. These rows must be rolled
	// back separately when the statement fails.
	IntoFirst bool
	// Apply changes the target. Without a spool it is one statement, whose row count is that of the
	// T-SQL statement.
	Apply []Statement
	// Shift is the number, from 1, of the statement of Apply that gives keys temporary values; the
	// next one gives them their new values. 0 for none. Deferred is set if foreign keys may be
	// violated between the two.
	Shift    int
	Deferred bool
	// Identity is set if the target has an identity column that the server fills.
	Identity *IdentityNeed
	// IdentityGiven is set if the statement inserts explicit identity values, under
	// IDENTITY_INSERT. The SQL passes each value to LocalIdentity, in the order of the rows.
	IdentityGiven bool
	// Output is the query of an OUTPUT clause that returns rows to the client, or nil.
	Output *Plan
	// OutputRows is set if Output must be run instead of Apply: it changes the target and returns
	// the rows.
	OutputRows bool
	// Finish empties the spool.
	Finish []Statement
	// Assign are the assignments of UPDATE … SET @v = …. AssignFrom returns one row for each
	// changed row, in order, from which they are computed.
	Assign     []Assign
	AssignFrom Statement
	// IgnoreDups is set if rows with duplicate keys are skipped (IGNORE_DUP_KEY): if fewer rows are
	// inserted than tried, message 3604 is sent. Tried is the number of rows to insert if it is
	// known in advance; 0 means the row count of Prepare.
	IgnoreDups bool
	Tried      int
	// NeedsPastRows is set if the statement changes no row when the tables that it reads WITH
	// (READPAST) are empty. Otherwise PastPlan is the plan to run when the locks of ReadPast are
	// not available, or nil if the statement has to wait for them.
	NeedsPastRows bool
	PastPlan      *DML
}

// Spool is a temporary table for the rows of one running DML statement.
type Spool struct {
	Name string // in the schema store.LocalSchema
	DDL  string // for store.Temps.Ensure
}

// IdentityNeed describes the identity values that a statement takes: row i (from 0) gets
// tree.Run.Identity + i*Increment.
type IdentityNeed struct {
	Column *catalog.Column
	catalog.Identity
	// Counted is set if the statement reads the values from store.CounterFunc.
	Counted bool
	// Rows is the number of rows to insert if it is known in advance. -1 means the row count of the
	// last statement of Prepare, or of Apply if Prepare is empty.
	Rows int
	// Step is the number, from 1, of the statement of Apply whose row count is the number of values
	// taken; 0 means the row count of the T-SQL statement.
	Step int
}
