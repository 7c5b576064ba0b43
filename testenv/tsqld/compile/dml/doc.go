// Package dml compiles INSERT, UPDATE, DELETE, MERGE and TRUNCATE TABLE. It binds the target and
// the rows with package bind, and writes SQLite statements with package lower.
//
//	UPDATE: syntax.UpdateStmt ── [Update]
//	          ├─ modify: target and FROM (bind) ── sets, where: values and condition (bind)
//	          ├─ one statement of SQLite: updateDirect, updateFrom (lower), RETURNING for OUTPUT
//	          └─ or a spool: Prepare fills the spool with rowids and new values, Apply changes the
//	             target from the spool, Output reads the spool (updateSpooled)
//
// A change is one statement if SQLite can express it. It needs a spool for OUTPUT INTO, assignments
// to variables, changed keys, INSTEAD OF triggers, WITH CHECK OPTION and MERGE.
package dml
