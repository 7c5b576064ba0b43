// Package tree declares the bound tree: queries, sources of rows and expressions whose names are
// resolved and whose types are known. Package bind builds the tree, package rewrite changes it, and
// package lower writes it as SQL.
//
//	Query ── Core ┬─ Items, Where, Group, Having: Node ── Args: Node, Query: a subquery
//	              └─ From: Source or Join
//	Source ── a table, a Query (a derived table) or a Rowset (a Node)
//
// The functions of this package build, compare and visit trees, and know nothing of T-SQL's text or
// SQLite's.
//
// # Common mistakes
//
// Changing a node: nodes are shared between expressions, so a change needs a copy.
package tree
