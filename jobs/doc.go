// Package jobs holds the domain of the job agent as pure code: no I/O, no clock, no logger.
//
// Vocabulary. A job has numbered, immutable versions; a version is an ordered list of steps. A run
// of a job creates a tree of executions: one for the job (the root), one per step, one per step and
// target database, and, inside the agent, one task per attempt. Each of the first three has a
// [Lifecycle].
//
// Common mistakes: looking here for the rules that change a lifecycle. The procedures of the
// control database (folder sql) advance lifecycles, count attempts and compute waits, because only
// the database sees all agents at once and only its clock may be stored. testenv/oracle contains
// the same rules in Go, for tests. The due times of schedules are the exception: package
// jobs/schedule computes them, and the database stores the result.
package jobs
