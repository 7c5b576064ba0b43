// Package sysfunc computes the built-in functions whose values come from the session and its
// catalog: metadata functions (OBJECT_ID, COL_NAME, DATABASEPROPERTYEX), security functions
// (USER_NAME, HAS_PERMS_BY_NAME), and functions and global variables over the connection and the
// session's state (SERVERPROPERTY, @@ROWCOUNT, APPLOCK_MODE).
//
// [Functions] has most methods of builtin.Env. Package exec embeds it and adds the functions over
// activations and cursors:
//
//	type env struct {
//		sysfunc.Functions
//		r *run
//	}
//
// An [Objects] and a [Security] look names up from the [Caller], the running activation.
//
// # Common mistakes
//
// Showing an object without [Objects.Visible]: functions return NULL for objects on which the
// session has no permission.
package sysfunc
