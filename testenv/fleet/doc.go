// Package fleet is a fleet of target databases that hold nothing: a server that accepts every login
// on every database name, answers the queries that an agent sends before a script, and ends each
// script after a delay, with or without an error.
//
// It is for measurements of agents on more databases than the embedded server could hold. A target
// costs nothing until it is called: what the fleet keeps is bounded by the open connections. Names
// of databases are made when a server is listed. Delays and failures are drawn from the database's
// name and the number of the connection: for the same order of connections, fleets of one seed
// behave the same.
//
// The embedded server is not used with a stub behind. It does for each login what a real server
// does: lockouts, admission, MARS, memory limits, a session in the catalog. Here one goroutine and
// some 10 KB serve a connection. The bytes on the wire are those of package tds, which
// the embedded server uses, too. Connections are not encrypted: agents need the setting
// targets.encrypt = disable.
package fleet
