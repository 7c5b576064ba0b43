// Package rewrite changes bound queries where SQLite's planner needs help, and answers questions
// about their rows. A rewritten query has the same rows; the random queries of package exec compare
// the two.
//
//	SELECT: bind ── [Prune] drops branches of UNION ALL that no row can come from
//	             ── [MergeApply] makes a join of a simple APPLY
//	        lower ── [WithLookups] makes an IN of an EXISTS without an index
//	              ── [WithDrivingTables] lets temporary tables drive a join
//	UPDATE: the same for its FROM; dml ── [FromNeedsPastRows]: no row without those of READPAST
package rewrite
