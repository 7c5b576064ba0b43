package rest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// Request is a request whose operation is known.
type Request struct {
	// HTTP is the request. Its body has been read.
	HTTP *http.Request
	// Mount is the surface that answers.
	Mount *Mount
	// Operation is the operation that the path and the method name. It is nil if there is none:
	// then the request only passes through Failure.
	Operation *Operation
	// Path holds the parameters of the path, unescaped.
	Path map[string]string
	// Query holds the query parameters (S-5).
	Query Query
	// Body is the body, at most as long as the operation allows.
	Body []byte
	// Principal is the caller; it is the zero value for operations without authentication.
	Principal Principal
	// Proof is the header WWW-Authenticate of the answer that proves the front to a caller with a
	// Kerberos ticket; empty: none.
	Proof string
	// Role is the caller's role at Scope.
	Role  Role
	Scope Scope
	// RequestID is new for each request. CorrelationID is taken from the request if it has one.
	RequestID, CorrelationID uuid.UUID
	// ClientRequestID is the header x-ms-client-request-id if it is a GUID; else zero.
	ClientRequestID uuid.UUID
	// PublicURL is the front's address as seen by clients, without a slash at the end.
	PublicURL string

	received time.Time
}

// Require returns an error if the caller's role does not include role.
func (r *Request) Require(role Role) error {
	if r.Role >= role {
		return nil
	}
	return &Error{
		Status: http.StatusForbidden, Code: CodeForbidden,
		Message: fmt.Sprintf("%s may not perform %s at the scope %s: it needs the role %s, and has the role %s.",
			r.Principal.Name, r.action(), r.Scope, role, r.Role),
	}
}

// action names what a request does.
func (r *Request) action() string {
	if r.Operation == nil {
		return "this"
	}
	return r.Operation.ID
}

// Query holds query parameters in the order in which they came.
type Query []QueryValue

// QueryValue is one query parameter, unescaped.
type QueryValue struct{ Name, Value string }

// Get returns the value of a parameter, and whether it is there. Names are compared exactly. The
// server refuses requests that have a parameter twice.
func (q Query) Get(name string) (string, bool) {
	for _, one := range q {
		if one.Name == name {
			return one.Value, true
		}
	}
	return "", false
}
