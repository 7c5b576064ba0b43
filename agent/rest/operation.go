package rest

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"reflect"

	"github.com/jobagent/jobagent/controldb/caller"
)

// Role is what a caller may do at a scope. Each role includes the ones before it.
type Role int

// The roles. They are those of the control database, jobs_reader to jobs_admin.
const (
	RoleNone Role = iota
	RoleReader
	RoleOperator
	RoleAuthor
	RoleAdmin
)

// String returns the role's name as in the configuration.
func (r Role) String() string {
	return [...]string{"none", "reader", "operator", "author", "admin"}[r]
}

// DatabaseRole returns the role of the control database, or empty for RoleNone.
func (r Role) DatabaseRole() string {
	if r == RoleNone {
		return ""
	}
	return "jobs_" + r.String()
}

// Surface is one API of the front. Its methods are safe for concurrent use.
type Surface interface {
	// Name names the surface in paths of OpenAPI documents and in the log: sql, scheduler or sap.
	Name() string
	// Operations returns all operations. The result does not change.
	Operations() []Operation
	// Check checks a request before authentication: the version of the API, for example. It is
	// called with Request.Principal not set.
	Check(r *Request) error
	// Failure returns the answer to a request that failed with err: an *Error, an error of
	// controldb, or any other error, of which the answer shows nothing.
	Failure(r *Request, err error) *Response
}

// Operation is one operation of a surface.
type Operation struct {
	// ID is unique within the surface, as in "Jobs_CreateOrUpdate".
	ID string
	// Method is the HTTP method.
	Method string
	// Path is the template of the path: literal segments, and {name} for a parameter of one
	// segment. Literals match in any case. A path is split before its segments are unescaped.
	Path string
	// Role is the least role that may call the operation. RoleNone means that no authentication is
	// needed. A handler calls [Request.Require] if what the body asks for needs more.
	Role Role
	// Authenticated says that an operation of RoleNone needs a caller all the same. The handler
	// shows what the caller may see.
	Authenticated bool
	// Handle carries out the operation. ctx is the request's context, with the caller of the calls
	// of the control database. A panic is answered with status 500.
	Handle func(ctx context.Context, r *Request) (*Response, error)

	// The rest describes the operation in the OpenAPI document.

	// Summary is one sentence.
	Summary string
	// Query are the query parameters, without api-version.
	Query []Parameter
	// Body is the type of the JSON body; nil means none. It is decoded by the handler.
	Body reflect.Type
	// MaxBody bounds the body in bytes; 0 means the mount's limit.
	MaxBody int64
	// Answers are the types of the bodies by status; a nil type means an empty body.
	Answers map[int]reflect.Type
	// Failure is the type of the body of an answer about a failure; nil means that of Azure
	// Resource Manager on its surfaces, and any JSON on others.
	Failure reflect.Type
	// Headers are the headers that successful answers may have, beside those of every answer.
	Headers []string
	// RequestHeaders are the headers of a request that change what the operation does.
	RequestHeaders []string
}

// needsCaller reports whether the operation needs an authenticated caller.
func (o *Operation) needsCaller() bool { return o.Role != RoleNone || o.Authenticated }

// Parameter describes a query parameter.
type Parameter struct {
	Name, Description string
	// Type is string, integer or boolean.
	Type string
	// Words are the values that a string may have, separated by spaces; empty means any.
	Words    string
	Required bool
}

// Either is the type of a body that is an A or a B.
type Either[A, B any] struct{}

// OpenAPIAnyOf returns the types of which the body is one.
func (Either[A, B]) OpenAPIAnyOf() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[A](), reflect.TypeFor[B]()}
}

// Scope says what a request is about. Grants name scopes; empty fields of a grant match anything.
// The server takes a scope from the parameters of the path with these names, in any case of their
// values: subscription, resourceGroup, server, agent, collection, instance.
type Scope struct {
	Subscription, ResourceGroup, Server, Agent, Collection, Instance string
}

// String names the scope for people, as the id of a resource if it is one.
func (s Scope) String() string {
	text := ""
	for _, part := range []struct{ before, name string }{
		{"/subscriptions/", s.Subscription}, {"/resourceGroups/", s.ResourceGroup}, {"/providers/Microsoft.Sql/servers/", s.Server},
		{"/jobAgents/", s.Agent}, {"/providers/Microsoft.Scheduler/jobCollections/", s.Collection}, {"instance ", s.Instance},
	} {
		if part.name != "" {
			text += part.before + part.name
		}
	}
	return cmp.Or(text, "/")
}

// Principal is an authenticated caller.
type Principal struct {
	// ID identifies the caller in grants, limits and the audit log: "oid:…", "app:…", "sub:…",
	// "token:…", "cert:…", "kerberos:…" or "basic:…".
	ID string
	// Name is for people: a user name, or the ID.
	Name string
	// Groups are the groups and app roles that a token names, in the form of ID: "group:…",
	// "role:…".
	Groups []string
	// Tenant is the tenant claim of a token of the SAP surface; empty for none.
	Tenant string
	// Scopes are the scopes of a token of the SAP surface, such as "job-scheduler.read".
	Scopes []string
	// Instance is the instance of the SAP surface for which the token was issued, if the token
	// says it.
	Instance string
}

// Caller returns the principal as the control database knows callers, with the database role of a
// role. remote is the sender's host:port. The door is left to fill in.
func (p Principal) Caller(role Role, remote string) caller.Caller {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	return caller.Caller{Role: role.DatabaseRole(), Name: cmp.Or(p.Name, p.ID), Address: address}
}

// Response is the answer to a request.
type Response struct {
	// Status is the HTTP status.
	Status int
	// Header is added to the answer's header; nil means nothing.
	Header http.Header
	// Body is encoded as JSON; nil means an empty body. A []byte or a json.RawMessage is written as
	// it is, with the Content-Type of Header, or else that of JSON.
	Body any
	// Sent is called, if it is not nil, when the answer was handed to the operating system, or when
	// that failed: the client has not got the answer.
	Sent func(err error)
}

// Versioned returns an operation on something that has an ETag, with the headers that this means.
func Versioned(o Operation) Operation {
	switch o.Method {
	case http.MethodGet:
		o.Headers, o.RequestHeaders = []string{"ETag"}, []string{"If-None-Match"}
	case http.MethodPut:
		o.Headers, o.RequestHeaders = []string{"ETag"}, []string{"If-Match", "If-None-Match"}
	case http.MethodPatch:
		o.Headers, o.RequestHeaders = []string{"ETag"}, []string{"If-Match"}
	case http.MethodDelete:
		o.RequestHeaders = []string{"If-Match"}
	}
	return o
}
