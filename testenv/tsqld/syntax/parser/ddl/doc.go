// Package ddl reads definitions of tables, indexes, databases and other objects.
package ddl
