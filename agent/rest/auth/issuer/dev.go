package issuer

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/signing"
)

// DevTenant is the tenant of the issuer for development.
const DevTenant = "00000000-0000-4000-8000-00000000de70"

// DevName is the name of the issuer in IDs of callers, as in "app:ID@dev".
const DevName = "dev"

// devLifetime is how long its tokens are valid.
const devLifetime = time.Hour

// Dev issues tokens in the form of Microsoft Entra ID to static clients, so that azidentity
// can log in. Its key lasts as long as the process. It is a surface of the front, for loopback
// addresses only.
type Dev struct {
	publicURL string
	audiences []string
	clients   map[string]DevClient
	keys      *signing.Keys
	now       func() time.Time
	users     []DevUser

	mu    sync.Mutex
	codes map[string]devCode // that were issued and not exchanged
}

// DevClient is a client of the issuer for development.
type DevClient struct {
	ID, Secret string
	// Roles and Groups are claims of the client's tokens. Grants give them rights.
	Roles, Groups []string
	// RedirectURIs are the addresses to which people are sent who sign in by this client.
	RedirectURIs []string
}

// NewDev returns an issuer for development. publicURL has no path, because Microsoft's libraries
// take the first part of an authority's path for the tenant. now may be nil.
func NewDev(publicURL string, audiences []string, clients []DevClient, now func() time.Time) (*Dev, error) {
	u, err := url.Parse(publicURL)
	if err != nil || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("invalid public URL %q for the issuer for development: want one without path", publicURL)
	}
	if host := u.Hostname(); host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return nil, fmt.Errorf("invalid public URL %q for the issuer for development: want a loopback address", publicURL)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if now == nil {
		now = time.Now
	}
	d := &Dev{
		publicURL: strings.TrimSuffix(publicURL, "/"), audiences: audiences, clients: map[string]DevClient{}, keys: &signing.Keys{}, now: now,
		codes: map[string]devCode{},
	}
	for _, c := range clients {
		if c.ID == "" || c.Secret == "" {
			return nil, errors.New("invalid client of the issuer for development: want ID and secret")
		}
		d.clients[c.ID] = c
	}
	return d, d.keys.AddKey(key)
}

// Issuer returns the claim iss of the tokens.
func (d *Dev) Issuer() string { return d.AuthorizationURI() + "/v2.0" }

// AuthorizationURI returns the authority that tools are given.
func (d *Dev) AuthorizationURI() string { return d.publicURL + "/" + DevTenant }

// Audiences returns the audiences that tokens may have.
func (d *Dev) Audiences() []string { return d.audiences }

// Keys returns the keys.
func (d *Dev) Keys() *signing.Keys { return d.keys }

// Name implements rest.Surface.
func (d *Dev) Name() string { return "dev" }

// Check implements rest.Surface.
func (d *Dev) Check(*rest.Request) error { return nil }

// Failure implements rest.Surface.
func (d *Dev) Failure(_ *rest.Request, err error) *rest.Response { return answerFailure(err) }

// Operations implements rest.Surface.
func (d *Dev) Operations() []rest.Operation {
	base := "/" + DevTenant
	return []rest.Operation{
		{
			ID: "Dev_Token", Method: http.MethodPost, Path: base + "/oauth2/v2.0/token", Handle: d.token, MaxBody: maxForm,
			Summary: "Issues a token for client credentials.", Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[tokenBody]()},
		},
		{
			ID: "Dev_Authorize", Method: http.MethodGet, Path: base + "/oauth2/v2.0/authorize", Handle: d.authorize,
			Summary: "Lets a person choose a user, and issues an authorization code.", Answers: map[int]reflect.Type{http.StatusOK: nil, http.StatusFound: nil},
		},
		{
			ID: "Dev_Discovery", Method: http.MethodGet, Path: base + "/v2.0/.well-known/openid-configuration", Handle: d.discovery,
			Summary: "Describes the issuer.", Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[discoveryBody]()},
		},
		{
			ID: "Dev_Keys", Method: http.MethodGet, Path: base + "/discovery/v2.0/keys", Handle: d.tokenKeys,
			Summary: "Lists the keys that verify tokens.", Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[signing.Set]()},
		},
	}
}

// devClaims are the claims of a token.
type devClaims struct {
	jwt.RegisteredClaims
	AppID    string   `json:"appid"`
	Azp      string   `json:"azp"`
	IDType   string   `json:"idtyp"`
	ObjectID string   `json:"oid"`
	TenantID string   `json:"tid"`
	Roles    []string `json:"roles,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Version  string   `json:"ver"`
}

// token issues a token.
func (d *Dev) token(_ context.Context, r *rest.Request) (*rest.Response, error) {
	form, err := parseForm(r)
	if err != nil {
		return nil, err
	}
	in, err := parseLogin(r.HTTP, form)
	if err != nil {
		return nil, err
	}
	if form.Get("grant_type") == "authorization_code" {
		return d.exchange(in, form)
	}
	if err := checkGrantType(form); err != nil {
		return nil, err
	}
	client, ok := d.client(in)
	if !ok {
		return nil, errClient
	}
	audience := ""
	for one := range strings.FieldsSeq(form.Get("scope")) { // azidentity asks for openid and others as well
		if name, ok := strings.CutSuffix(one, "/.default"); ok {
			audience = name
		}
	}
	if !d.knows(audience) {
		return nil, &failure{
			status: http.StatusBadRequest, code: "invalid_scope", description: "Want the scope of one of the front's audiences with /.default",
		}
	}
	return d.issue(client, audience)
}

// issue signs a token.
func (d *Dev) issue(client DevClient, audience string) (*rest.Response, error) {
	now := d.now().Truncate(time.Second)
	object := uuid.NewSHA1(uuid.NameSpaceURL, []byte(d.Issuer()+"/"+client.ID)).String()
	text, err := d.keys.Sign(devClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: d.Issuer(), Subject: object, Audience: jwt.ClaimStrings{audience}, ID: uuid.NewString(),
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(devLifetime)),
		},
		AppID: client.ID, Azp: client.ID, IDType: "app", ObjectID: object, TenantID: DevTenant, Version: "2.0",
		Roles: client.Roles, Groups: client.Groups,
	})
	if err != nil {
		return nil, err
	}
	seconds := int(devLifetime / time.Second)
	return &rest.Response{Status: http.StatusOK, Header: noStore(), Body: tokenBody{
		AccessToken: text, TokenType: "Bearer", ExpiresIn: seconds, ExtExpires: seconds,
	}}, nil
}

func (d *Dev) client(in login) (DevClient, bool) {
	for _, one := range []login{in, {id: unescape(in.id), secret: unescape(in.secret)}} {
		c, known := d.clients[one.id]
		// Hashes have the same length, so that the comparison does not tell that of the secret.
		got, want := sha256.Sum256([]byte(one.secret)), sha256.Sum256([]byte(c.Secret))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && known {
			return c, true
		}
	}
	return DevClient{}, false
}

// knows reports whether an audience is one of the front's.
func (d *Dev) knows(audience string) bool {
	for _, one := range d.audiences {
		if audience != "" && strings.TrimSuffix(one, "/") == strings.TrimSuffix(audience, "/") {
			return true
		}
	}
	return false
}

// discovery describes the issuer.
func (d *Dev) discovery(context.Context, *rest.Request) (*rest.Response, error) {
	base := d.AuthorizationURI()
	return &rest.Response{Status: http.StatusOK, Body: discoveryBody{
		Issuer: d.Issuer(), TokenEndpoint: base + "/oauth2/v2.0/token", Authorization: base + "/oauth2/v2.0/authorize",
		JWKSURI: base + "/discovery/v2.0/keys", AuthMethods: []string{"client_secret_post", "client_secret_basic"},
		GrantTypes: []string{"authorization_code", "client_credentials"}, ResponseTypes: []string{"code", "id_token", "token"}, SubjectTypes: []string{"pairwise"},
		Algorithms: []string{"RS256"},
	}}, nil
}

// tokenKeys lists the public keys.
func (d *Dev) tokenKeys(context.Context, *rest.Request) (*rest.Response, error) {
	return &rest.Response{Status: http.StatusOK, Body: d.keys.Set()}, nil
}
