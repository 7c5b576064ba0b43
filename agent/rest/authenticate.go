package rest

// Authenticator authenticates callers. Package auth implements it. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the caller of a request. Request.Mount names the surface, Request.Scope
	// is what the path says, and the body has not been read. A request that cannot be authenticated
	// fails with an *[Error] of status 401, whose Header has WWW-Authenticate.
	Authenticate(r *Request) (Principal, error)
}

// Authorizer says what callers may do. Package auth implements it. It is safe for concurrent use.
type Authorizer interface {
	// Role returns the highest role that a caller has at a scope, or RoleNone. surface is the name
	// of the surface.
	Role(p Principal, surface string, s Scope) Role
	// Sees reports whether a caller has some role at a scope, or at something within it. A caller
	// that does not see the server of a request gets 404 instead of 403.
	Sees(p Principal, surface string, s Scope) bool
}
