// Package agent is the daemon: it creates the executions that are due, claims tasks, runs them on their targets, and
// writes every outcome back. The control database is the only truth (I1); everything here may be dropped at any instant.
//
// Its parts, in the order in which they start (they stop in reverse), bear the names of the design:
//
//	lease         holds the agent's term and gives it back last
//	communicator  task queue, cancel functions, outcomes on their way to the database
//	taskHost      JobTaskHost: the pool of workers
//	maintainer    system jobs
//	scheduler     due instants become executions
//	controller    the pass: advance, claim, cancel signals, drift
//
// [Hosting] runs them under one term, the core, and starts the core afresh when a part fails, the term is lost, or
// memory and database drift apart. See DESIGN.md for who owns which row when, and for the failure table.
//
// What a newcomer gets wrong: a task's context does not derive from the services' contexts but from the term's. A service
// that is told to stop lets running scripts go on for the grace period; a lost term ends them at once.
package agent
