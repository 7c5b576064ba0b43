package issuer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/internal/hashed"
	"github.com/jobagent/jobagent/agent/rest/auth/signing"
	"github.com/jobagent/jobagent/agent/rest/internal/misses"
)

// PathUAA is the path below which tokens are issued. The name of a tenant follows it.
const PathUAA = "/uaa/"

// Lifetime is how long a token is valid: 12 hours less a second, as XSUAA has it.
const Lifetime = 43199 * time.Second

// Tenants looks up tenants of instances of the SAP surface. It is safe for concurrent use.
type Tenants interface {
	// Tenant returns the tenant of an instance with this ID or subdomain, and false if there is
	// none that has subscribed.
	Tenant(ctx context.Context, instance, name string) (t Tenant, found bool, err error)
}

// Tenant is a tenant.
type Tenant struct{ ID, Subdomain string }

// segment returns how the tenant is called in paths.
func (t Tenant) segment() string {
	if t.Subdomain != "" {
		return t.Subdomain
	}
	return t.ID
}

// Instance is an instance of the SAP surface.
type Instance struct {
	Name string
	// Tenant and Subdomain are those of the provider.
	Tenant, Subdomain string
	Clients           []Client
	Keys              *signing.Keys
}

// Client is a client that may get tokens.
type Client struct {
	ID           string
	SecretHashes []string
	Scopes       []string
	// Certificate reports whether a client certificate is the client's; nil means that the client
	// has none.
	Certificate func(*x509.Certificate) bool
}

// Audience returns the audience of tokens for an instance. Tokens for anything else, such as the
// token that a job carries to its endpoint, do not open the instance.
func Audience(instance string) string { return "job-scheduler:" + instance }

// UAA issues tokens to the clients of instances. It is a surface of the front.
type UAA struct {
	publicURL string
	clients   map[string]*known // by ID
	book      *hashed.Book
	guesses   misses.Counter
	tenants   Tenants
	now       func() time.Time
	keys      signing.Set
}

// known is a client with its instance.
type known struct {
	Client
	instance *Instance
}

// NewUAA returns the issuer of instances. Client IDs are unique over all of them: the ID names the
// instance. tenants may be nil.
func NewUAA(publicURL string, instances []Instance, tenants Tenants, now func() time.Time) (*UAA, error) {
	u := &UAA{publicURL: publicURL, clients: map[string]*known{}, tenants: tenants, now: now, keys: signing.Set{Keys: []signing.Key{}}}
	hashes := map[string][]hashed.Hash{}
	var errs []error
	for n := range instances {
		i := &instances[n]
		for _, key := range i.Keys.Set().Keys {
			if !slices.ContainsFunc(u.keys.Keys, func(k signing.Key) bool { return k.ID == key.ID }) {
				u.keys.Keys = append(u.keys.Keys, key)
			}
		}
		for _, c := range i.Clients {
			if _, taken := u.clients[c.ID]; taken {
				errs = append(errs, fmt.Errorf("the client %q is in two instances", c.ID))
			}
			u.clients[c.ID] = &known{Client: c, instance: i}
			for _, text := range c.SecretHashes {
				h, err := hashed.Parse(text)
				errs = append(errs, err)
				hashes[c.ID] = append(hashes[c.ID], h)
			}
		}
	}
	u.book = hashed.NewBook(hashes)
	return u, errors.Join(errs...)
}

// Issues reports whether there is a client that could get a token.
func (u *UAA) Issues() bool { return len(u.clients) > 0 }

// Name implements rest.Surface.
func (u *UAA) Name() string { return "uaa" }

// Check implements rest.Surface.
func (u *UAA) Check(*rest.Request) error { return nil }

// Failure implements rest.Surface.
func (u *UAA) Failure(_ *rest.Request, err error) *rest.Response { return answerFailure(err) }

// Operations implements rest.Surface.
func (u *UAA) Operations() []rest.Operation {
	keys := map[int]reflect.Type{http.StatusOK: reflect.TypeFor[signing.Set]()}
	return []rest.Operation{
		{
			ID: "UAA_Token", Method: http.MethodPost, Path: PathUAA + "{tenant}/oauth/token", Handle: u.token, MaxBody: maxForm,
			Summary: "Issues a token for client credentials.",
			Answers: map[int]reflect.Type{
				http.StatusOK: reflect.TypeFor[tokenBody](), http.StatusBadRequest: reflect.TypeFor[errorBody](),
				http.StatusUnauthorized: reflect.TypeFor[errorBody](),
			},
		},
		{
			ID: "UAA_Discovery", Method: http.MethodGet, Path: PathUAA + "{tenant}/.well-known/openid-configuration", Handle: u.discovery,
			Summary: "Describes the issuer of a tenant.", Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[discoveryBody]()},
		},
		{
			ID: "UAA_Keys", Method: http.MethodGet, Path: PathUAA + "{tenant}/token_keys", Handle: u.tokenKeys,
			Summary: "Lists the keys that verify tokens.", Answers: keys,
		},
		{
			ID: "UAA_AllKeys", Method: http.MethodGet, Path: PathUAA + "token_keys", Handle: u.tokenKeys,
			Summary: "Lists the keys that verify tokens.", Answers: keys,
		},
	}
}

// attributes is the claim ext_attr.
type attributes struct {
	Enhancer string `json:"enhancer"`
	ZoneName string `json:"zdn"`
}

// tokenClaims are the claims of a token (S-57).
type tokenClaims struct {
	jwt.RegisteredClaims
	Attributes attributes `json:"ext_attr"`
	ClientID   string     `json:"client_id"`
	Cid        string     `json:"cid"`
	Azp        string     `json:"azp"`
	GrantType  string     `json:"grant_type"`
	ZoneID     string     `json:"zid"`
	Scope      []string   `json:"scope"`
}

// token issues a token.
func (u *UAA) token(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	form, err := parseForm(r)
	if err != nil {
		return nil, err
	}
	if err := checkGrantType(form); err != nil {
		return nil, err
	}
	client, err := u.client(r.HTTP, form)
	if err != nil {
		return nil, err
	}
	scopes, err := client.grant(form)
	if err != nil {
		return nil, err
	}
	tenant, err := u.tenant(ctx, client.instance, r.Path["tenant"])
	if err != nil {
		return nil, err
	}
	return u.issue(client, tenant, scopes)
}

// checkGrantType refuses every grant but client credentials.
func checkGrantType(form url.Values) error {
	switch form.Get("grant_type") {
	case "client_credentials":
		return nil
	case "":
		return invalidRequest("The parameter grant_type is missing")
	default:
		return &failure{status: http.StatusBadRequest, code: "unsupported_grant_type", description: "Want the grant_type client_credentials"}
	}
}

// issue signs a token.
func (u *UAA) issue(client *known, tenant Tenant, scopes []string) (*rest.Response, error) {
	now := u.now().Truncate(time.Second)
	id := uuid.NewString()
	text, err := client.instance.Keys.Sign(tokenClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: u.publicURL + PathUAA + url.PathEscape(tenant.segment()), Subject: client.ID, ID: id,
			Audience: jwt.ClaimStrings{client.ID, Audience(client.instance.Name)},
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(Lifetime)),
		},
		Attributes: attributes{Enhancer: "XSUAA", ZoneName: tenant.segment()},
		ClientID:   client.ID, Cid: client.ID, Azp: client.ID, GrantType: "client_credentials", ZoneID: tenant.ID, Scope: scopes,
	})
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK, Header: noStore(), Body: tokenBody{
		AccessToken: text, TokenType: "bearer", ExpiresIn: int(Lifetime / time.Second), Scope: strings.Join(scopes, " "), ID: id,
	}}, nil
}

// client returns the client of a request, if its secret or its certificate is right.
func (u *UAA) client(h *http.Request, form url.Values) (*known, error) {
	in, err := parseLogin(h, form)
	if err != nil {
		return nil, err
	}
	now := u.now()
	secrets := [][2]string{{in.id, in.secret}}
	if id, secret := unescape(in.id), unescape(in.secret); id != in.id || secret != in.secret {
		secrets = append(secrets, [2]string{id, secret})
	}
	// Certificates and random secrets cannot be guessed: whoever has one is not refused because of
	// others.
	leaf, c := Leaf(h, now), u.clients[in.id]
	if !in.hasSecret && leaf != nil && c != nil && c.Certificate != nil && c.Certificate(leaf) {
		return c, nil
	}
	for _, one := range secrets {
		if in.hasSecret && u.book.Random(one[0], one[1]) {
			return u.clients[one[0]], nil
		}
	}
	if wait := u.guesses.Wait(h.RemoteAddr, in.id, now); wait > 0 {
		return nil, &rest.Error{
			Status: http.StatusTooManyRequests, Code: rest.CodeTooManyRequests, RetryAfter: wait,
			Message: "Too many failed logins from this address.",
		}
	}
	for _, one := range secrets {
		if in.hasSecret && u.book.Verify(h.Context(), h.RemoteAddr, one[0], one[1]) {
			u.guesses.Right(h.RemoteAddr, in.id)
			return u.clients[one[0]], nil
		}
	}
	if h.Context().Err() == nil { // a client that has gone away was not answered
		u.guesses.Add(h.RemoteAddr, in.id, now)
	}
	return nil, errClient
}

// grant returns the scopes that a client gets: those that it asks for, or all of its own.
func (c *known) grant(form url.Values) ([]string, error) {
	asked := strings.Fields(form.Get("scope"))
	if len(asked) == 0 {
		return c.Scopes, nil
	}
	for _, one := range asked {
		if !slices.Contains(c.Scopes, one) {
			return nil, &failure{status: http.StatusBadRequest, code: "invalid_scope", description: "The client may not ask for this scope"}
		}
	}
	slices.Sort(asked)
	return slices.Compact(asked), nil
}

// tenant returns the tenant that a path names, in an instance. The provider's tenant has not
// subscribed; it is in the configuration.
func (u *UAA) tenant(ctx context.Context, i *Instance, name string) (Tenant, error) {
	if name == i.Tenant || name != "" && strings.EqualFold(name, i.Subdomain) {
		return Tenant{ID: i.Tenant, Subdomain: i.Subdomain}, nil
	}
	if u.tenants != nil {
		t, found, err := u.tenants.Tenant(ctx, i.Name, name)
		if err != nil {
			return Tenant{}, err
		}
		if found {
			return t, nil
		}
	}
	// Only an authenticated client learns which tenants there are.
	return Tenant{}, &failure{status: http.StatusUnauthorized, code: "invalid_client", description: "No such tenant has subscribed"}
}

// discoveryBody is a discovery document (OpenID Connect Discovery 1.0, 3).
type discoveryBody struct {
	Issuer        string   `json:"issuer"`
	TokenEndpoint string   `json:"token_endpoint"`
	Authorization string   `json:"authorization_endpoint"`
	JWKSURI       string   `json:"jwks_uri"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	GrantTypes    []string `json:"grant_types_supported"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// discovery describes the issuer of a tenant. It does not look the tenant up: that would tell
// anyone which tenants there are.
func (u *UAA) discovery(_ context.Context, r *rest.Request) (*rest.Response, error) {
	base := u.publicURL + PathUAA + url.PathEscape(r.Path["tenant"])
	return &rest.Response{Status: http.StatusOK, Body: discoveryBody{
		Issuer: base, TokenEndpoint: base + "/oauth/token", Authorization: base + "/oauth/authorize", JWKSURI: base + "/token_keys",
		AuthMethods: []string{"client_secret_basic", "client_secret_post", "tls_client_auth"}, GrantTypes: []string{"client_credentials"},
		ResponseTypes: []string{"token"}, SubjectTypes: []string{"public"}, Algorithms: []string{"RS256"},
	}}, nil
}

// tokenKeys lists the public keys of all instances.
func (u *UAA) tokenKeys(context.Context, *rest.Request) (*rest.Response, error) {
	return &rest.Response{Status: http.StatusOK, Header: http.Header{"Cache-Control": {"public, max-age=900"}}, Body: u.keys}, nil
}
