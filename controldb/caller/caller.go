package caller

import (
	"context"
	"fmt"

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

// The doors.
const (
	DoorCLI  = "CLI"  // the command line
	DoorREST = "REST" // the REST front
	DoorWeb  = "Web"  // the dashboard
)

// roleUsers are the loginless users of the roles of callers; sql/users creates them.
var roleUsers = map[string]string{
	"jobs_reader":   "jobagent_reader",
	"jobs_operator": "jobagent_operator",
	"jobs_author":   "jobagent_author",
	"jobs_admin":    "jobagent_admin",
}

// User returns the database user of the caller's role, or "" for the login itself.
func (c Caller) User() (string, error) {
	if c.Role == "" {
		return "", nil
	}
	user, ok := roleUsers[c.Role]
	if !ok {
		return "", fmt.Errorf("invalid role of a caller %q: want jobs_reader, jobs_operator, jobs_author or jobs_admin", c.Role)
	}
	return user, nil
}

// callerKey is the key of the caller in a context.
type callerKey struct{}

// With returns a context whose calls are made for c.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Of returns the caller of a context, and whether there is one.
func Of(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
