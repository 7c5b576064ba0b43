// Package jobs holds the domain of the job agent as pure code: no I/O, no clock, no logger.
//
// Vocabulary. A job has numbered, immutable versions; a version is an ordered list of steps. A run of
// a job makes a tree of executions: one for the job (the root), one per step, one per step and target
// database, and, inside the agent, one task per attempt. Each of the first three has a [Lifecycle].
//
// What a newcomer gets wrong: nothing here decides anything in production. The procedures of the
// control database (folder sql) advance lifecycles, count attempts and compute waits, because only
// they see all agents at once and only the database's clock may be stored. This package says the same
// thing once more, in a form that is easy to read and to enumerate: tests hold the procedures against
// it, and the command line explains executions with it. The due times of schedules are the exception:
// package jobs/schedule computes them, and the database stores what it is told.
package jobs
