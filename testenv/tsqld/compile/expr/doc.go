// Package expr builds typed expressions of the bound tree: conversions, which are all explicit in
// the tree, collation labels, arithmetic, comparisons, CASE, and set operations of queries.
//
//	two nodes ─ common type and collation ─ conversions of both ─ one node ─ [Fold]: constants
//
// Its functions get bound operands. They resolve no names and know no catalog.
package expr
