// Package mssql runs T-SQL scripts on the databases of SQL Server and Azure SQL Database. It
// resolves the members of a target group into databases, connects to them, runs a script in
// batches, collects messages and rows, cancels, and classifies errors.
//
// [Servers] opens sessions with the agent's credentials. [Resolver] lists the databases of a target
// group. [Runner.Run] makes one attempt of a script on one database. DESIGN.md describes an
// attempt, its cancellation, and the limits for a hostile server.
//
// An attempt that ended with an error may have had an effect: a script that was sent may have done
// anything (see package targets). The login of the control database is never used on targets, which
// have credentials of their own.
package mssql
