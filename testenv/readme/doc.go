// Package readme tests the documents: it runs the commands, T-SQL and configuration of README.md as
// a user would, and follows the links of all documents.
package readme
