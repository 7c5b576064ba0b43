// Package search finds texts and LIKE patterns in texts, in a collation, without backtracking:
// CHARINDEX, REPLACE, PATINDEX and LIKE.
//
// [First] finds a [Sequence] of characters. A LIKE [Pattern] is a list of sequences between its %,
// each of which is searched once. The package needs a collation for the comparison of characters
// and a meter, which may be nil, for the cancellation of long searches.
package search
