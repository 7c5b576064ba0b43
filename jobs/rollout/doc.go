// Package rollout reads the plan by which the runs of a job are rolled out in waves. Its rules are
// those of jobs_internal.check_rollout_plan, which decides: this package tells the faults of a file
// before anything is changed, and writes plans for people, without members that have their
// defaults.
package rollout
