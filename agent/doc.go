// Package agent is the daemon. It creates the executions that are due, claims tasks, runs them on
// their targets, and writes every outcome to the control database. The control database is the only
// source of truth (I1); the agent's memory is a cache and may be dropped at any instant.
//
// These are its services, in the order in which they start. They stop in reverse order.
//
//	lease         renews the agent's term; ends it last
//	traceFeed     records the spans of ended runs, if traces are exported
//	communicator  registry of tasks, queue for workers, outbox of reports
//	sendGate      asks for permission before the first byte of an action
//	taskHost      the pool of workers
//	maintainer    creates and restores the system jobs
//	registrar     registers the databases to which target groups were resolved
//	cleaner       deletes rows of purged executions
//	questions     runs the queries that people have asked
//	scheduler     creates executions at due instants
//	controller    makes passes: advance executions, claim tasks, cancel tasks, detect drift
//
// [Hosting] runs all services under one term. Together they are the core. Hosting restarts the core
// if a service fails, if the term is lost, or if memory and database drift apart. DESIGN.md says
// which part owns which row, and has a table of failures.
//
// A task's context derives from the context of the term, not from that of a service. When a service
// is stopped, running scripts continue for the grace period; when the term is lost, they are
// canceled at once.
package agent
