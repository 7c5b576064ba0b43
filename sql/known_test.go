package sqlfs

// knownJoins are objects with joins of table variables that rule "plan" finds and that are not answered yet. Objects go from here only.
var knownJoins = map[string]bool{}

// knownOrders are objects with locks that rule "order" finds and that are not answered yet. Objects go from here only.
var knownOrders = map[string]bool{}
