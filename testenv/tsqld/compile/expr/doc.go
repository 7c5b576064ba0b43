// Package expr builds typed expressions of the bound tree: conversions, which are all explicit in
// the tree, collation labels, arithmetic, comparisons, CASE, and set operations of queries.
//
//	SELECT … WHERE price >= @min:   [Compare] ── the common type, [ConvertOperand] ── one node
//	UPDATE … SET price = price * 2: [Arith] ── one node ── [Convert] to the type of the column
//
// Its functions get bound operands. They resolve no names and know no catalog. Operations on
// constants become constants ([Fold]).
package expr
