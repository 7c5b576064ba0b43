package controldb

import (
	"context"

	"github.com/google/uuid"
)

// Caller says for whom a call is made. The control database records it in the audit log.
type Caller struct {
	// Role is the role whose database user makes the call: jobs_reader, jobs_operator, jobs_author
	// or jobs_admin. Empty means the login of the store.
	Role string
	// Name names the person or program, such as a user principal name.
	Name string
	// Door is the way by which the call came: CLI, REST or Web. Empty means T-SQL.
	Door string
	// Address is the network address of the client; empty if it is not known.
	Address string
	// CorrelationID joins the entries of one request.
	CorrelationID uuid.UUID
	// TraceParent is the header traceparent of the request, which becomes a link of the traces of
	// runs that the call starts; empty means none.
	TraceParent string
}

// callerKey is the key of the caller in a context.
type callerKey struct{}

// WithCaller returns a context whose calls are made for c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerOf returns the caller of a context, and whether there is one.
func callerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
