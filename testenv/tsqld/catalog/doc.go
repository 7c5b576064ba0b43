// Package catalog holds the definitions of the databases of a server as immutable snapshots:
// schemas, tables, modules, types, principals and permissions. Package catalog/sysviews computes
// the system views from them.
//
// A [Snapshot] is the state of the instance, its databases and logins. A [Database] is the state of
// one database. Both are immutable, together with everything reachable from them. A statement works
// on the snapshot with which it started. DDL opens an [Edit] of a Database, changes copies, and
// writes the changed rows through the session's SQLite connection, so that definitions and data are
// in one SQLite transaction. Until the commit only the session sees the edited Database. After the
// commit the session publishes it with [Catalog.Publish]; after a rollback the session discards it.
//
// # Layout of a SQLite file
//
// A T-SQL database is one SQLite file. User tables are STRICT rowid tables with the name t<object
// id>, columns c<column id> and indexes i<object id>_<index id>. CHECK constraints have the name
// k<object id>. T-SQL names are stored only in the catalog, so that a rename never changes SQLite's
// schema.
//
// A primary key on one non-nullable column of an integer type is SQLite's INTEGER PRIMARY KEY (the
// rowid) and has no index of its own. Every other key is a unique index. In SQL Server a unique key
// allows only one NULL; a second, partial index with the suffix _n implements this rule.
//
// The definitions are JSON in the table sys_def(kind, id, body) of the same file. The table
// sys_meta(key, value) has the format version and the counters. The row of kind "database"
// describes the database itself, so that a file is self-contained. The logins of the instance are
// rows of master.
//
// # Common mistakes
//
// Changing an object of a snapshot: other sessions read it at the same time. Clone the object first
// and give the copy to an Edit.
//
// Caching a value by the ID of a database alone: use the ID and the Version, which changes with
// every edit and is never reused.
package catalog
