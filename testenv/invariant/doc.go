// Package invariant checks the invariants of the design (I1 to I10) on any control database, at rest or in flight. Each
// file in checks is a query that returns one row per violation, with what is wrong in words, and must return none.
// Files whose names end in _at_rest hold only when nothing is active; those in the folder clock only where no procedure was given a
// time (@now). What no query can say are functions: [FindUnhandled] for I10, which needs a schedule's arithmetic, and
// [FindSecrets] for I9, which needs the secrets.
package invariant
