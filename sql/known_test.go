package sqlfs

// knownJoins lists objects with unanswered findings of rule "plan" about joins of table variables.
// The list only shrinks.
var knownJoins = map[string]bool{}

// knownOrders lists objects with unanswered findings of rule "order". The list only shrinks.
var knownOrders = map[string]bool{}
