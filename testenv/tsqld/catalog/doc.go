// Package catalog holds what a server knows about its databases: schemas, tables, modules, types,
// principals and permissions, as immutable snapshots.
//
// A [Snapshot] is the instance (its databases and logins), a [Database] one database. Nothing that can
// be reached from either is ever changed; a statement works on the snapshot that it started with. DDL
// opens an [Edit] on a Database, changes copies, and writes the changed rows through the session's
// SQLite connection, so that definition and data are in one SQLite transaction. The session keeps the
// edited Database to itself until it commits, and then publishes it by [Catalog.Publish]; after a
// rollback it just forgets it.
//
// # Layout of a SQLite file
//
// A T-SQL database is one SQLite file. Its user tables are STRICT rowid tables named t<object id> with
// columns c<column id>, indexes i<object id>_<index id>; CHECK constraints are named k<object id>.
// Because names are in the catalog only, renaming never touches SQLite. A primary key on one
// non-nullable column of an integer type is SQLite's INTEGER PRIMARY KEY (the rowid) and has no index
// of its own. Every other key is a unique index; SQL Server's rule that a unique key admits NULL once is
// kept by a second, partial index with the suffix _n.
//
// The definitions stand as JSON in the table sys_def(kind, id, name, body) of the same file, next to
// sys_meta(key, value), which holds the format version and the counters. A row of kind
// "database" describes the database itself, so that a file says everything about it; the logins of the instance are rows of master.
package catalog
