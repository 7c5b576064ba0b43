// Package tracing exports runs as OpenTelemetry traces: run, step, target, attempt. The trace ID of
// a run is its job_execution_id, so a trace is found without a search. All span IDs are computed
// from the run (DESIGN.md, "Identifiers"), so that any agent, and T-SQL, knows the parent of a span
// without asking, and so that a span which is sent twice is the same span.
package tracing
