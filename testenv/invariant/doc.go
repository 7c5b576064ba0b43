// Package invariant checks the invariants of the design (I1 to I12) on any control database, at
// rest or in flight. Each file in checks is a query that returns one row for each violation, with a
// description. Files whose names end in _at_rest hold only while no execution is active. Files in
// the folder clock hold only if no procedure was called with a time (@now).
//
// Two invariants need more than a query: [FindUnhandled] checks I10, which needs the arithmetic of
// schedules, and [FindSecrets] checks I9, which needs the secrets.
package invariant
