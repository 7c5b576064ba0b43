// Package caller says for whom the calls of a context are made: a person or program behind a door,
// with the role that the door has given. The control database records it in the audit log.
package caller
