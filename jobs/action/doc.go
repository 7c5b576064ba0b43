// Package action defines what a step may do beside T-SQL: call an HTTP(S) endpoint, put a message
// on a queue, or run a process. A definition is the JSON text of a step's command. The package
// decodes and validates it, with all faults at once and the path of each, and expands its
// templates. It is pure: the packages targets/http, targets/queue and targets/process carry
// definitions out.
package action
