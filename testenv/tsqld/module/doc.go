// Package module has the static rules for the texts of batches and modules: procedures, functions,
// views and triggers. It needs no session and executes nothing.
//
//   - [Check] finds the errors that SQL Server reports before the first statement runs.
//   - [CheckFunction], [CheckSideEffects] and [AllowedInFunction] are the rules for functions.
//   - [CheckBinding] is that for WITH SCHEMABINDING.
//   - [Dependent] finds what prevents a change of an object.
//   - [Parse] parses the text of a stored module once.
//
// For example, CREATE PROCEDURE checks the body before it stores the text:
//
//	if _, err := module.Check(nil, st.Params, "", true, st.Body); err != nil {
//		return err
//	}
//
// # Common mistakes
//
// Changing a tree that Parse returned: all sessions share it.
package module
