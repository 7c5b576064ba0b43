package mssql

import "strings"

// LedgerTable is T-SQL that makes the table of scripts that run at most once, jobagent.executed_scripts, unless it is there: what an attempt
// of such a script does itself where its login may. An owner of the database may run it beforehand.
func LedgerTable() string {
	text := onceBegin
	for strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "\n")
	}
	// The first paragraph.
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
	return strings.TrimSpace(text)
}
