// Package agent is the daemon. It creates the executions that are due, claims tasks, runs them on
// their targets, and writes every outcome to the control database. The control database is the only
// truth (I1); the agent's memory is a cache and may be dropped at any instant.
//
// These are its services, in the order in which they start. They stop in reverse order.
//
//	lease         renews the agent's term; ends it last
//	communicator  registry of tasks, queue for workers, outbox of reports
//	taskHost      the pool of workers (JobTaskHost in the design)
//	maintainer    the system jobs
//	registrar     registers the databases to which target groups were resolved
//	cleaner       deletes rows of purged executions
//	scheduler     creates executions at due instants
//	controller    makes passes: advance executions, claim tasks, cancel tasks, detect drift
//
// [Hosting] runs all services under one term. Together they are the core. Hosting restarts the core
// if a service fails, if the term is lost, or if memory and database drift apart. DESIGN.md says
// which part owns which row, and has a table of failures.
//
// Common mistakes: deriving a task's context from the context of a service. It derives from the
// context of the term. When a service is stopped, running scripts continue for the grace period;
// when the term is lost, they are canceled at once.
package agent
