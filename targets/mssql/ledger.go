package mssql

import "strings"

// LedgerTable returns T-SQL that creates the table of scripts that run at most once,
// jobagent.executed_scripts, unless the table exists. An attempt of such a script runs the same
// text if its login may create tables. An owner of the database may run the text before the first
// attempt.
func LedgerTable() string {
	text := onceBegin
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
	}
	// The first paragraph creates the table.
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
	return strings.TrimSpace(text)
}
