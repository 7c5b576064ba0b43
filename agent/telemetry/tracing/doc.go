// Package tracing exports runs as OpenTelemetry traces: run, step, target, attempt. The trace ID of
// a run is its job_execution_id, so a trace is found without a search.
package tracing
