package sqlfs

// knownJoins lists objects with unanswered findings of rule "plan" about joins of table variables.
// The list only shrinks.
var knownJoins = map[string]bool{}

// knownOrders lists objects with unanswered findings of rule "order". The list only shrinks.
var knownOrders = map[string]bool{}

// knownTexts lists objects whose findings of text rules are being mended, by rule. The list only
// shrinks.
var knownTexts = map[string][]string{
	"batch":  {"jobs_internal.purge_history"},
	"output": {"jobs_internal.start_term"},
	"rows":   {"jobs_internal.complete_resolution", "jobs_internal.delete_audit_entries", "jobs.sp_purge_jobhistory"},
}
