// Package metrics defines the metrics of agents and fronts, in Prometheus' terms. Names and units
// follow Prometheus' conventions. No label has a value that grows with the number of jobs, targets
// or callers.
//
// A process has one [Metrics], with a registry of its own. Each control database that the process
// serves has a [Database] in it, whose label control_database is the name of the entry in the
// configuration. The instruments are structs of metrics whose labels are resolved in advance: an
// event costs a few atomic additions and no allocation.
//
// All methods of all types can be called with a nil receiver, and then do nothing: a process
// without metrics passes nil everywhere.
//
// Common mistakes:
//
//   - To use a name of a job, a target, a server or a caller as a label. See DESIGN.md in the
//     folder above.
//   - To sum jobagent_runs_total over processes. Each process that is scraped counts all runs of
//     the control database; take the maximum.
package metrics
