package issuer

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
)

const (
	// codeLifetime is how long an authorization code can be exchanged.
	codeLifetime = time.Minute
	// maxCodes bounds the codes that were issued and not exchanged.
	maxCodes = 1000
)

// DevUser is a person whom the issuer for development signs in, without a password.
type DevUser struct {
	// Name is the user name, and is unique.
	Name string
	// Roles and Groups are claims of the user's tokens. Grants give them rights.
	Roles, Groups []string
}

// devCode is what an authorization code stands for.
type devCode struct {
	client, redirect, challenge, nonce string
	user                               DevUser
	until                              time.Time
}

// AddUsers adds people. It is called before the issuer serves.
func (d *Dev) AddUsers(users ...DevUser) { d.users = append(d.users, users...) }

// Browser returns the client by which people sign in, and false if there is none.
func (d *Dev) Browser() (DevClient, bool) {
	for _, c := range d.clients {
		if len(c.RedirectURIs) > 0 && len(d.users) > 0 {
			return c, true
		}
	}
	return DevClient{}, false
}

// Endpoints returns the addresses to authorize and to get a token.
func (d *Dev) Endpoints() (authorize, token string) {
	return d.AuthorizationURI() + "/oauth2/v2.0/authorize", d.AuthorizationURI() + "/oauth2/v2.0/token"
}

// users shows the people who can sign in.
var users = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Issuer for development</title></head>
<body><h1>Issuer for development</h1><p>Sign in as:</p><ul>{{range .}}<li><a href="{{.Href}}">{{.Name}}</a></li>{{end}}</ul></body></html>
`))

// authorize lets a person choose a user, and sends the person back with a code. The parameter
// login_hint chooses without asking.
func (d *Dev) authorize(_ context.Context, r *rest.Request) (*rest.Response, error) {
	get := func(name string) string { value, _ := r.Query.Get(name); return value }
	client, ok := d.clients[get("client_id")]
	redirect := get("redirect_uri")
	if !ok || !slices.Contains(client.RedirectURIs, redirect) { // nobody is sent to an unknown address
		return nil, invalidRequest("Unknown client_id or redirect_uri")
	}
	if get("response_type") != "code" || !slices.Contains(strings.Fields(get("scope")), "openid") ||
		get("code_challenge_method") != "S256" || len(get("code_challenge")) != 43 {
		return back(redirect, url.Values{"error": {"invalid_request"}, "error_description": {"Want response_type code, scope openid and PKCE with S256"}, "state": {get("state")}}), nil
	}
	at := slices.IndexFunc(d.users, func(u DevUser) bool { return u.Name == get("login_hint") })
	if at < 0 {
		return d.chooseUser(r)
	}
	code := rand.Text()
	now := d.now()
	d.mu.Lock()
	for old, c := range d.codes {
		if now.After(c.until) || len(d.codes) >= maxCodes {
			delete(d.codes, old)
		}
	}
	d.codes[code] = devCode{
		client: client.ID, redirect: redirect, challenge: get("code_challenge"), nonce: get("nonce"), user: d.users[at], until: now.Add(codeLifetime),
	}
	d.mu.Unlock()
	return back(redirect, url.Values{"code": {code}, "state": {get("state")}, "iss": {d.Issuer()}}), nil
}

// chooseUser shows the users.
func (d *Dev) chooseUser(r *rest.Request) (*rest.Response, error) {
	type choice struct{ Name, Href string }
	var list []choice
	for _, u := range d.users {
		query := url.Values{}
		for _, v := range r.Query {
			query.Set(v.Name, v.Value)
		}
		query.Set("login_hint", u.Name)
		list = append(list, choice{Name: u.Name, Href: "?" + query.Encode()})
	}
	var text bytes.Buffer
	if err := users.Execute(&text, list); err != nil {
		return nil, fmt.Errorf("render users: %w", err)
	}
	header := noStore()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	return &rest.Response{Status: http.StatusOK, Header: header, Body: text.Bytes()}, nil
}

// back sends a person back to the client.
func back(redirect string, query url.Values) *rest.Response {
	header := noStore()
	header.Set("Location", redirect+"?"+query.Encode())
	return &rest.Response{Status: http.StatusFound, Header: header}
}

// errCode is the same for each reason.
var errCode error = &failure{status: http.StatusBadRequest, code: "invalid_grant", description: "The authorization code is invalid"}

// idClaims are the claims of an ID token.
type idClaims struct {
	jwt.RegisteredClaims
	Nonce    string   `json:"nonce,omitempty"`
	IDType   string   `json:"idtyp"`
	ObjectID string   `json:"oid"`
	TenantID string   `json:"tid"`
	Username string   `json:"preferred_username"`
	Roles    []string `json:"roles,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Version  string   `json:"ver"`
}

// exchange issues the tokens of an authorization code. A code can be used once.
func (d *Dev) exchange(in login, form url.Values) (*rest.Response, error) {
	client, ok := d.client(in)
	if !ok {
		return nil, errClient
	}
	d.mu.Lock()
	code, ok := d.codes[form.Get("code")]
	delete(d.codes, form.Get("code"))
	d.mu.Unlock()
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	if !ok || d.now().After(code.until) || code.client != client.ID || code.redirect != form.Get("redirect_uri") ||
		subtle.ConstantTimeCompare([]byte(challenge), []byte(code.challenge)) != 1 {
		return nil, errCode
	}
	now := d.now().Truncate(time.Second)
	object := uuid.NewSHA1(uuid.NameSpaceURL, []byte(d.Issuer()+"/users/"+code.user.Name)).String()
	text, err := d.keys.Sign(idClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: d.Issuer(), Subject: "user-" + object, Audience: jwt.ClaimStrings{client.ID}, ID: uuid.NewString(),
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(devLifetime)),
		},
		Nonce: code.nonce, IDType: "user", ObjectID: object, TenantID: DevTenant, Username: code.user.Name, Version: "2.0",
		Roles: code.user.Roles, Groups: code.user.Groups,
	})
	if err != nil {
		return nil, err
	}
	seconds := int(devLifetime / time.Second)
	// The access token opens nothing: the dashboard needs the ID token only.
	return &rest.Response{Status: http.StatusOK, Header: noStore(), Body: tokenBody{
		AccessToken: rand.Text(), IDToken: text, TokenType: "Bearer", ExpiresIn: seconds, ExtExpires: seconds, Scope: "openid profile",
	}}, nil
}

// RoundTrip answers requests of this process to the issuer, which has a certificate that the
// process does not trust. It implements http.RoundTripper, for the address of tokens.
func (d *Dev) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxForm)); err != nil {
			return nil, err
		}
	}
	answer, err := d.token(r.Context(), &rest.Request{HTTP: r, Body: body})
	if err != nil {
		answer = answerFailure(err)
	}
	text, err := json.Marshal(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	answer.Header.Set("Content-Type", "application/json")
	return &http.Response{
		StatusCode: answer.Status, Status: http.StatusText(answer.Status), Header: answer.Header, Request: r,
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}
