// Package metrics defines the metrics of agents and fronts, in Prometheus' terms. Names and units
// follow Prometheus' conventions. No label has a value that grows with the number of jobs, targets
// or callers.
package metrics
