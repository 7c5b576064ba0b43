// Package tree declares the bound tree: queries, sources of rows and expressions whose names are
// resolved and whose types are known.
//
//	Query ── Core ┬─ Items, Where, Group, Having: Node ── Args: Node, Query: a subquery
//	              └─ From: Source or Join
//	Source ── a table, a Query (a derived table) or a Rowset (a Node)
//
//	SELECT: bind ── Query, changed by rewrite ── lower
//	UPDATE: dml, bind ── a Source of the target, Nodes of the values and of WHERE ── lower
//
// The functions of this package build, compare and visit trees. They know nothing of T-SQL's text.
//
// # Common mistakes
//
// Changing a node: nodes are shared between expressions, so a change needs a copy.
package tree
