// Package action defines commands of steps other than T-SQL: calls of HTTP(S) endpoints, messages
// to queues, and processes. A definition is the JSON text of a step's command. The package decodes
// and validates it, with all faults at once and the path of each, and expands its templates. It is
// pure: the packages targets/http, targets/queue and targets/process carry definitions out.
package action
