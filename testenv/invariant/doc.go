// Package invariant checks the invariants of the design (I1 to I10) on any control database, at rest or in flight: each
// file in checks is a query that returns one row per violation, with what is wrong in words, and must return none.
// Files whose names end in _at_rest hold only when nothing is active.
package invariant
