// Package syntax is the syntax tree of T-SQL, and the walk over it. The rooms below it read and
// write the tree:
//
//	text ─ scanner ─ tokens ─ parser ─ tree (this package) ─ printer ─ text
//
// The tree records the source only: names are not resolved, types are names with arguments
// ([TypeRef]), numbers keep their digits. A tree must not be changed after parsing, so that
// sessions can share the tree of a procedure without a lock.
//
// T-SQL has no boolean type, and neither has the tree: an [Expr] has a value, a [Cond] is true,
// false or unknown.
package syntax
