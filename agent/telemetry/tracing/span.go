package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// span is a span that has ended. The SDK's own spans cannot be used: they read their IDs from a
// generator and their parents from contexts, and a span of a run may be recorded by another process
// than its children.
type span struct {
	trace      trace.TraceID
	id, parent trace.SpanID // no parent: zero
	name       string
	kind       trace.SpanKind
	start, end time.Time
	attributes []attribute.KeyValue
	links      []sdktrace.Link
	status     sdktrace.Status
}

// scope names this package as the source of spans.
var scope = instrumentation.Scope{Name: "github.com/jobagent/jobagent/agent/telemetry/tracing"}

// readOnly returns the span as the exporter reads it.
func (s span) readOnly(res *resource.Resource) sdktrace.ReadOnlySpan {
	if s.end.Before(s.start) { // clocks differ: an end before the start breaks some receivers
		s.end = s.start
	}
	return endedSpan{span: s, resource: res}
}

// endedSpan implements sdktrace.ReadOnlySpan.
type endedSpan struct {
	sdktrace.ReadOnlySpan // its unexported method; all others are below
	span                  span
	resource              *resource.Resource
}

func (e endedSpan) context(id trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: e.span.trace, SpanID: id, TraceFlags: trace.FlagsSampled})
}

// Name is the span's name.
func (e endedSpan) Name() string { return e.span.name }

// SpanContext has the IDs of the span.
func (e endedSpan) SpanContext() trace.SpanContext { return e.context(e.span.id) }

// Parent has the IDs of the parent; invalid for the span of a run.
func (e endedSpan) Parent() trace.SpanContext {
	if !e.span.parent.IsValid() {
		return trace.SpanContext{}
	}
	return e.context(e.span.parent)
}

// SpanKind is the span's kind.
func (e endedSpan) SpanKind() trace.SpanKind { return e.span.kind }

// StartTime is when it began.
func (e endedSpan) StartTime() time.Time { return e.span.start }

// EndTime is when it ended.
func (e endedSpan) EndTime() time.Time { return e.span.end }

// Attributes are the span's attributes.
func (e endedSpan) Attributes() []attribute.KeyValue { return e.span.attributes }

// Links are the runs and requests from which a run comes.
func (e endedSpan) Links() []sdktrace.Link { return e.span.links }

// Events are none.
func (e endedSpan) Events() []sdktrace.Event { return nil }

// Status is an error, or unset.
func (e endedSpan) Status() sdktrace.Status { return e.span.status }

// InstrumentationScope names this package.
func (e endedSpan) InstrumentationScope() instrumentation.Scope { return scope }

// InstrumentationLibrary is the older name of InstrumentationScope.
func (e endedSpan) InstrumentationLibrary() instrumentation.Library { //nolint:staticcheck // of the interface
	return scope
}

// Resource describes the process.
func (e endedSpan) Resource() *resource.Resource { return e.resource }

// DroppedAttributes is 0.
func (e endedSpan) DroppedAttributes() int { return 0 }

// DroppedLinks is 0.
func (e endedSpan) DroppedLinks() int { return 0 }

// DroppedEvents is 0.
func (e endedSpan) DroppedEvents() int { return 0 }

// ChildSpanCount is not known: other processes record children.
func (e endedSpan) ChildSpanCount() int { return 0 }

// failed returns the status of a span with an error.
func failed(description string) sdktrace.Status {
	return sdktrace.Status{Code: codes.Error, Description: description}
}
