package tracing

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
)

// TraceID is the trace of a run: the 16 bytes of its job_execution_id, in the order of its text.
func TraceID(run uuid.UUID) trace.TraceID { return trace.TraceID(run) }

// spanID returns the first 8 bytes of the SHA-256 of a text. jobs.job_execution_traces computes the
// same with HASHBYTES.
func spanID(text string) trace.SpanID {
	sum := sha256.Sum256([]byte(text))
	return trace.SpanID(sum[:8])
}

// text returns a GUID as SQL Server writes it.
func text(id uuid.UUID) string { return strings.ToUpper(id.String()) }

// RunSpan returns the ID of the root span of a run.
func RunSpan(run uuid.UUID) trace.SpanID { return spanID("run:" + text(run)) }

// StepSpan returns the ID of the span of a step of a run.
func StepSpan(run uuid.UUID, step int) trace.SpanID {
	return spanID("step:" + text(run) + ":" + strconv.Itoa(step))
}

// ResolutionSpan returns the ID of the span of an attempt to list a step's targets.
func ResolutionSpan(run uuid.UUID, step, attempt int) trace.SpanID {
	return spanID("resolution:" + text(run) + ":" + strconv.Itoa(step) + ":" + strconv.Itoa(attempt))
}

// TargetSpan returns the ID of the span of a target execution. A rerun keeps the ID of a target
// execution; so the run is part of the text.
func TargetSpan(run, target uuid.UUID) trace.SpanID {
	return spanID("target:" + text(run) + ":" + text(target))
}

// AttemptSpan returns the ID of the span of an attempt on a target.
func AttemptSpan(run, target uuid.UUID, attempt int) trace.SpanID {
	return spanID("attempt:" + text(run) + ":" + text(target) + ":" + strconv.Itoa(attempt))
}

// phaseSpan returns the ID of the span of a part of an attempt.
func phaseSpan(attempt trace.SpanID, name string) trace.SpanID {
	return spanID("phase:" + attempt.String() + ":" + name)
}

// RequestPhase is the part of an attempt in which an action sends its request. Its span is the
// parent that the endpoint sees (traceparent).
const RequestPhase = "request"

// TraceParent returns the header traceparent (https://www.w3.org/TR/trace-context/) of the request
// of an attempt. Without a recorder, the receiver decides whether to record.
func (r *Recorder) TraceParent(run, target uuid.UUID, attempt int) string {
	flags := "01"
	if r != nil && !r.sampled(run) {
		flags = "00"
	}
	return fmt.Sprintf("00-%s-%s-%s", TraceID(run), phaseSpan(AttemptSpan(run, target, attempt), RequestPhase), flags)
}

// sampled reports whether the spans of a run are exported: all or none of them, whichever agents
// work on the run. It hashes the trace ID, because the bits of a UUID are not all random.
func (r *Recorder) sampled(run uuid.UUID) bool {
	switch {
	case r.ratio >= 1:
		return true
	case r.ratio <= 0:
		return false
	}
	sum := sha256.Sum256(run[:])
	return float64(binary.BigEndian.Uint64(sum[8:16])) < r.ratio*math.MaxUint64
}

// parseTraceParent returns the trace and the span that a header traceparent names.
func parseTraceParent(text string) (trace.SpanContext, bool) {
	// 00-<32 hexadecimal digits>-<16 hexadecimal digits>-<2 hexadecimal digits>
	if len(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:2] == "ff" {
		return trace.SpanContext{}, false
	}
	id, err := trace.TraceIDFromHex(text[3:35])
	if err != nil {
		return trace.SpanContext{}, false
	}
	span, err := trace.SpanIDFromHex(text[36:52])
	if err != nil {
		return trace.SpanContext{}, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, Remote: true}), true
}
