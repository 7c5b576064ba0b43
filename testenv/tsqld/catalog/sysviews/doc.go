// Package sysviews has the system views: catalog views, compatibility views, INFORMATION_SCHEMA,
// dynamic management views, and the table-valued system functions.
//
// A [SystemTable] is a view whose rows the server computes from an [Env]: snapshots of the catalog
// and the sessions. columns.txt has the columns; a file for each subject (object.go, index.go,
// server.go…) computes the rows. Before a query reads a SystemTable, [SystemTable.Materialize]
// writes the rows to a temporary table of SQLite. A [SystemView] is a view in T-SQL over these
// tables, in a file SCHEMA.NAME.sql; a system function is one in sysfuncs. The views in absent.txt
// are always empty. All are parsed at their first use, so that a server starts fast.
//
// COMPAT.md lists the differences from SQL Server.
package sysviews
