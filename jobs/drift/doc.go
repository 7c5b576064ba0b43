// Package drift compares the schemas of databases: of each object a hash, so that thousands of
// databases fit into memory, and of objects that differ what differs, in words and, where it is
// certain, as T-SQL. It does no I/O: targets/schema reads databases. The decisions are in
// DESIGN.md.
package drift
