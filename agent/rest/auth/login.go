package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/targets/secretref"
)

// endpointsAge is how long the addresses of an issuer's discovery are used.
const endpointsAge = time.Hour

const (
	// maxSignIns is how many answers of issuers are exchanged at a time. Senders who have failed
	// signInMisses times lately share fewSignIns of them.
	maxSignIns, fewSignIns = 16, 2
	signInMisses           = 10
)

// Login is an issuer at which people sign in at the dashboard, by the authorization code flow of
// OpenID Connect. It is safe for concurrent use.
type Login struct {
	// Name is unique among the logins; Title is for people.
	Name, Title string
	// Issuer is the claim iss, to compare with that of RFC 9207; empty if it is a pattern.
	Issuer   string
	ClientID string
	// Secret reads the client's secret; nil means a public client.
	Secret func() (string, error)
	// Client sends requests to the issuer.
	Client *http.Client

	trusted  trusted
	now      func() time.Time
	discover func(context.Context) (endpoints, error)

	mu    sync.Mutex
	known endpoints
	read  time.Time
}

// endpoints are addresses of an issuer.
type endpoints struct {
	Authorize string `json:"authorization_endpoint"`
	Token     string `json:"token_endpoint"`
}

// Logins returns the issuers that have a client for the dashboard.
func (a *Auth) Logins() []*Login { return a.logins }

// addLogin adds an issuer at which people sign in.
func (a *Auth) addLogin(one Issuer, keys *remoteKeys) {
	l := &Login{
		Name: one.Name, Title: one.Title, ClientID: one.ClientID, Issuer: one.Issuer, Client: keys.client, now: a.options.Now,
		discover: keys.endpoints, trusted: trusted{Issuer: one, keys: keys},
	}
	if l.Name == "" {
		l.Name = "oidc"
	}
	if l.Title == "" {
		l.Title = l.Name
	}
	if strings.Contains(one.Issuer, tenantMark) {
		l.Issuer = ""
	}
	// The audience of an ID token is the client: a token for another API does not sign a person in.
	l.trusted.Audiences = []string{one.ClientID}
	if one.ClientSecret != "" {
		l.Secret = func() (string, error) { return secretref.Read(one.ClientSecret) }
	}
	a.logins = append(a.logins, l)
}

// addDevLogin adds the issuer for development, which is this process.
func (a *Auth) addDevLogin(dev *issuer.Dev) {
	client, ok := dev.Browser()
	if !ok {
		return
	}
	authorize, token := dev.Endpoints()
	a.logins = append(a.logins, &Login{
		Name: issuer.DevName, Title: "the issuer for development", ClientID: client.ID, Issuer: dev.Issuer(), now: a.options.Now,
		Secret: func() (string, error) { return client.Secret, nil }, Client: &http.Client{Transport: dev},
		discover: func(context.Context) (endpoints, error) { return endpoints{Authorize: authorize, Token: token}, nil },
		trusted: trusted{
			Issuer: Issuer{Name: issuer.DevName, Issuer: dev.Issuer(), Audiences: []string{client.ID}}, keys: localKeys{dev.Keys()},
		},
	})
}

// endpoints reads the discovery document of an issuer.
func (k *remoteKeys) endpoints(ctx context.Context) (e endpoints, err error) {
	provider, err := k.provider(ctx)
	if err != nil {
		return e, fmt.Errorf("discover endpoints: %w", err)
	}
	if err := provider.Claims(&e); err != nil {
		return e, fmt.Errorf("discover endpoints: %w", err)
	}
	if err := errors.Join(checkURL(e.Authorize), checkURL(e.Token)); err != nil {
		return e, fmt.Errorf("discover endpoints: %w", err)
	}
	return e, nil
}

// Endpoints returns the addresses to authorize and to get a token.
func (l *Login) Endpoints(ctx context.Context) (authorize, token string, err error) {
	l.mu.Lock()
	known, read := l.known, l.read
	l.mu.Unlock()
	if !read.IsZero() && l.now().Sub(read) < endpointsAge {
		return known.Authorize, known.Token, nil
	}
	e, err := l.discover(ctx)
	if err != nil {
		return "", "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.read = e, l.now()
	return e.Authorize, e.Token, nil
}

// Verify returns the person whom an ID token names. nonce is that of the request to authorize. The
// errors do not repeat anything of the token.
func (l *Login) Verify(ctx context.Context, idToken, nonce string) (rest.Principal, error) {
	v := verifier{issuers: []trusted{l.trusted}, now: l.now}
	c, from, err := v.verify(ctx, idToken)
	if err != nil {
		return rest.Principal{}, fmt.Errorf("the ID token is invalid: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(nonce)) != 1 || nonce == "" {
		return rest.Principal{}, errors.New("the ID token is invalid: it was issued for another sign-in")
	}
	if len(c.Audience) > 1 && c.AuthorizedP != l.ClientID {
		return rest.Principal{}, errors.New("the ID token is invalid: it was issued for another client")
	}
	p, err := c.principal(from)
	if err != nil {
		return rest.Principal{}, fmt.Errorf("the ID token is invalid: %w", err)
	}
	if strings.HasPrefix(p.ID, "app:") {
		return rest.Principal{}, errors.New("the ID token is invalid: it lacks the name of a person")
	}
	p.Groups = slices.DeleteFunc(p.Groups, func(g string) bool { return strings.HasPrefix(g, "app:") })
	return p, nil
}

// checkLogin returns the faults of an issuer's settings for the dashboard.
func (i Issuer) checkLogin() error {
	if i.ClientID == "" {
		if i.ClientSecret != "" || i.Title != "" {
			return errors.New("client_secret and title need client_id")
		}
		return nil
	}
	var f faults
	if i.ClientSecret != "" && !secretref.IsReference(i.ClientSecret) {
		f.add("client_secret", secretref.ErrInvalid)
	}
	if strings.Contains(i.Issuer, "://*.") {
		f.add("client_id", errors.New("want an issuer that is not a pattern"))
	}
	if i.JWKSURI != "" {
		f.add("client_id", errors.New("it needs discovery, which jwks_uri excludes"))
	}
	return errors.Join(f.errs...)
}

// EnterSignIn waits until an answer of an issuer may be exchanged, which costs requests to the
// issuer. remote is the sender's host:port. The caller calls leave with true if the exchange
// failed: senders with many failures wait for each other, and nobody is refused. The error is of
// type *rest.Error.
func (a *Auth) EnterSignIn(ctx context.Context, remote string) (leave func(failed bool), err error) {
	leave, err = a.signIns.Enter(ctx, remote)
	if err != nil {
		return nil, unavailable("Too many people sign in now. Try again later.")
	}
	return leave, nil
}
