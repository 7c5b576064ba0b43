// Package jobs holds the domain of the job agent as pure code: no I/O, no clock, no logger.
//
// A job has numbered, immutable versions; a version is an ordered list of steps. A run of a job
// creates a tree of executions: one for the job (the root), one for each step, one for each step
// and target database, and, inside the agent, one task for each attempt. The first three have a
// [Lifecycle].
//
// The rules that change a lifecycle are not here. The procedures of the control database (folder
// sql) advance lifecycles, count attempts and compute waits, because only the database sees all
// agents at once and only its clock may be stored. testenv/oracle contains the same rules in Go,
// for tests. The due times of schedules are the exception: package jobs/schedule computes them, and
// the database stores the result.
package jobs
