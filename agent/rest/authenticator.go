package rest

import "net/http"

// Authenticator tells who sends a request. Package auth has the implementation. Its methods are
// safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the caller of a request to the surface with this name. For the surface
	// sap, Principal.Instance and Principal.Tenant are always set: the tenant is the provider's if
	// the credentials name none. The scope of a request of that surface is this instance.
	//
	// The error is an *Error: status 401 with a challenge, 403 if the request names an instance
	// that is not the caller's, 429 after too many failures from an address, or 503 if the keys of
	// an issuer cannot be read now.
	Authenticate(r *http.Request, surface string) (Principal, error)
}

// Authorizer knows who has which role. Its methods are safe for concurrent use.
type Authorizer interface {
	// Role returns the greatest role that p has at a scope; RoleNone if it has none.
	Role(p Principal, scope Scope) Role
	// Sees reports whether p has some role at the scope or at something within it. A caller that
	// does not see the server of a request gets 404 instead of 403, and lists of parents
	// show what a caller sees.
	Sees(p Principal, scope Scope) bool
}
