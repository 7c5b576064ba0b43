// Package model declares the kinds of objects that people define: for each field its name in
// T-SQL, JSON and YAML, its flag, its type, limits, default and words. The control database, the
// command line, the dashboard and the files of jobagent apply read these declarations, so that a
// field is written once. Behaviour is not here: it is in the procedures of package sql.
package model
