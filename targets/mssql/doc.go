// Package mssql runs T-SQL scripts on the databases of SQL Server and Azure SQL Database. It
// resolves the members of a target group into databases, connects to them, runs a script in
// batches, collects messages and rows, cancels, and classifies errors.
//
// [Servers] opens sessions with the agent's credentials. [Resolver] lists the databases of a target
// group. [Runner.Run] makes one attempt of a script on one database. DESIGN.md has the protocol of
// an attempt, of its cancellation, and the limits that a hostile server meets.
//
// Common mistakes:
//
//   - To assume that an attempt which ended with an error had no effect. A script that was sent may
//     have done anything; see package targets.
//   - To use the login of the control database on targets. Targets have credentials of their own.
package mssql
