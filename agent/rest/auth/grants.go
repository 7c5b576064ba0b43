package auth

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
)

// Grant gives a caller a role at a scope.
type Grant struct {
	// Principal names callers: "oid:<object ID>" or "sub:<subject>" of a token, "app:<client ID>"
	// of a token that an application got for itself, "group:<ID>", "role:<app role>", "token:<ID>"
	// of a static token, "cert:<name>", "kerberos:<user>@<REALM>", or "basic:<user>@<instance>".
	// With @<name> behind one of the others, the caller is one of the issuer with this name.
	Principal string `json:"principal"`
	// Role is reader, operator, author or admin.
	Role string `json:"role"`
	// Scope is where the role holds: see ParseScope.
	Scope string `json:"scope"`
}

// grant is a checked Grant.
type grant struct {
	principal string
	role      rest.Role
	scope     rest.Scope
	// instance is the instance of the SAP surface whose issuer names the principal; empty for an
	// issuer of the ARM surfaces, and for principals that no token names.
	instance string
}

// principalKinds are the kinds of callers.
var principalKinds = []string{"oid", "sub", "app", "group", "role", "token", "cert", "kerberos", "basic"}

// parse checks a grant. issuers are the issuers that have a name; named says that those of the ARM
// surfaces have one.
func (g Grant) parse(issuers []trusted, named bool) (grant, error) {
	var errs []error
	instance := ""
	kind, value, ok := strings.Cut(g.Principal, ":")
	if !ok || value == "" || !slices.Contains(principalKinds, kind) {
		errs = append(errs, fmt.Errorf("invalid principal %q: want one of %s, a colon and a value", g.Principal, strings.Join(principalKinds, ", ")))
	} else if byToken(g.Principal) {
		// A name of an issuer has no @, so that the text behind the last one is the issuer's.
		name := value[strings.LastIndex(value, "@")+1:]
		at := slices.IndexFunc(issuers, func(t trusted) bool { return t.Name == name })
		switch {
		case strings.Contains(value, "@") && at >= 0:
			instance = issuers[at].instance
		case named:
			errs = append(errs, fmt.Errorf("invalid principal %q: want @ and the name of its issuer at the end", g.Principal))
		}
	}
	role, err := ParseRole(g.Role)
	scope, err2 := ParseScope(g.Scope)
	errs = append(errs, err, err2)
	return grant{principal: foldID(g.Principal), role: role, scope: scope, instance: instance}, errors.Join(errs...)
}

// ParseRole parses the name of a role.
func ParseRole(name string) (rest.Role, error) {
	for r := rest.RoleReader; r <= rest.RoleAdmin; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return rest.RoleNone, fmt.Errorf("invalid role %q: want reader, operator, author or admin", name)
}

// errScope describes the texts that ParseScope accepts.
var errScope = errors.New("want /, /subscriptions/ID, …/resourceGroups/NAME, …/providers/Microsoft.Sql/servers/NAME, …/jobAgents/NAME, " +
	"…/providers/Microsoft.Scheduler/jobCollections/NAME below the group, or /instances/NAME")

// ParseScope parses the text of a scope, which has the form of a resource's ID:
//
//	/                                                       everything
//	/subscriptions/S                                        a subscription
//	/subscriptions/S/resourceGroups/G                       a resource group
//	…/resourceGroups/G/providers/Microsoft.Sql/servers/V    a server with all its agents
//	…/servers/V/jobAgents/A                                 a job agent
//	…/resourceGroups/G/providers/Microsoft.Scheduler/jobCollections/C
//	/instances/I                                            an instance of the SAP surface
//
// Names are escaped as in URLs; the fixed parts match in any case.
func ParseScope(text string) (rest.Scope, error) {
	var s rest.Scope
	if text == "/" {
		return s, nil
	}
	invalid := fmt.Errorf("invalid scope %q: %w", text, errScope)
	rest1, ok := strings.CutPrefix(text, "/")
	if !ok {
		return s, invalid
	}
	segments := strings.Split(rest1, "/")
	// next takes a fixed part and the name behind it.
	next := func(name *string, fixed ...string) bool {
		if len(segments) <= len(fixed) {
			return false
		}
		for i, one := range fixed {
			if !strings.EqualFold(segments[i], one) {
				return false
			}
		}
		value, err := url.PathUnescape(segments[len(fixed)])
		if err != nil || value == "" {
			return false
		}
		*name, segments = value, segments[len(fixed)+1:]
		return true
	}
	switch {
	case next(&s.Instance, "instances"):
	case !next(&s.Subscription, "subscriptions"):
		return rest.Scope{}, invalid
	case len(segments) == 0:
	case !next(&s.ResourceGroup, "resourceGroups"):
		return rest.Scope{}, invalid
	case len(segments) == 0:
	case next(&s.Collection, "providers", "Microsoft.Scheduler", "jobCollections"):
	case !next(&s.Server, "providers", "Microsoft.Sql", "servers"):
		return rest.Scope{}, invalid
	case len(segments) == 0:
	case !next(&s.Agent, "jobAgents"):
		return rest.Scope{}, invalid
	}
	if len(segments) > 0 {
		return rest.Scope{}, invalid
	}
	return s, nil
}

// parts returns the names of a scope from the outermost to the innermost.
func parts(s rest.Scope) [6]string {
	return [6]string{s.Subscription, s.ResourceGroup, s.Server, s.Agent, s.Collection, s.Instance}
}

// covers reports whether outer is inner, or holds it. Empty names of outer match anything.
func covers(outer, inner rest.Scope) bool {
	a, b := parts(outer), parts(inner)
	for i := range a {
		if a[i] != "" && !strings.EqualFold(a[i], b[i]) {
			return false
		}
	}
	return true
}

// overlaps reports whether one of two scopes is within the other one.
func overlaps(one, other rest.Scope) bool { return covers(one, other) || covers(other, one) }

// grantsOf calls fn for each grant of a caller, until fn returns false. Tokens of the ARM surfaces
// and tokens of an instance never share a grant, whatever their claims say.
func (a *Auth) grantsOf(p rest.Principal, fn func(grant) bool) {
	each := func(list []grant) bool {
		for _, g := range list {
			if byToken(g.principal) && g.instance != p.Instance {
				continue
			}
			if !fn(g) {
				return false
			}
		}
		return true
	}
	if !each(a.grants[foldID(p.ID)]) || !each(a.tokenGrants(p.ID)) {
		return
	}
	for _, id := range p.Groups {
		if !each(a.grants[foldID(id)]) {
			return
		}
	}
}

// byToken reports whether an ID is of a caller that the token of an issuer names.
func byToken(id string) bool {
	return !strings.HasPrefix(id, tokenKind) && !strings.HasPrefix(id, certKind) && !strings.HasPrefix(id, kerberosKind) && !strings.HasPrefix(id, basicKind)
}

// tokenGrants returns the grant that a static token holds itself.
func (a *Auth) tokenGrants(id string) []grant {
	id, ok := strings.CutPrefix(id, tokenKind)
	if !ok {
		return nil
	}
	t, found, err := a.token(id)
	if err != nil || !found || t.Role == "" {
		return nil
	}
	g, err := Grant{Principal: tokenKind + id, Role: t.Role, Scope: t.Scope}.parse(nil, false)
	if err != nil {
		return nil // the token was checked when it was read; a file that became faulty grants nothing
	}
	return []grant{g}
}

// Role implements rest.Authorizer.
func (a *Auth) Role(p rest.Principal, surface string, scope rest.Scope) rest.Role {
	role := rest.RoleNone
	if surface == surfaceSAP && p.Instance != "" && strings.EqualFold(p.Instance, scope.Instance) {
		role = roleOfScopes(p.Scopes)
	}
	a.grantsOf(p, func(g grant) bool {
		if g.role > role && covers(g.scope, scope) {
			role = g.role
		}
		return role < rest.RoleAdmin
	})
	return role
}

// Sees implements rest.Authorizer.
func (a *Auth) Sees(p rest.Principal, surface string, scope rest.Scope) bool {
	if a.Role(p, surface, scope) > rest.RoleNone {
		return true
	}
	sees := false
	a.grantsOf(p, func(g grant) bool {
		sees = overlaps(g.scope, scope)
		return !sees
	})
	return sees
}

// roleOfScopes returns the role that the scopes of a token of the SAP surface give.
func roleOfScopes(scopes []string) rest.Role {
	switch {
	case slices.Contains(scopes, ScopeAdmin):
		return rest.RoleAdmin
	case slices.Contains(scopes, ScopeWrite):
		return rest.RoleAuthor
	case slices.Contains(scopes, ScopeRead):
		return rest.RoleReader
	default:
		return rest.RoleNone
	}
}
