package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/jobs/wording"
)

const (
	// signInTime is how long a person may take to sign in at an issuer.
	signInTime = 10 * time.Minute
	// issuerTime bounds the requests to an issuer.
	issuerTime = 15 * time.Second
)

// ErrNoIssuer means that there is no issuer of this name at which people can sign in.
var ErrNoIssuer = errors.New("the issuer does not exist")

// attempt is what the cookie holds while a person signs in at an issuer. Without the cookie, the
// issuer's answer is worth nothing, so nobody can sign in somebody else's browser.
type attempt struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	To       string `json:"t"`
	Begun    int64  `json:"b"` // Unix seconds
}

// Logins returns the issuers at which people can sign in.
func (s *Sessions) Logins() []*auth.Login { return s.cfg.Logins }

// login returns an issuer.
func (s *Sessions) login(name string) (*auth.Login, error) {
	for _, l := range s.cfg.Logins {
		if l.Name == name {
			return l, nil
		}
	}
	return nil, ErrNoIssuer
}

// client returns the client of the dashboard at an issuer.
func (s *Sessions) client(ctx context.Context, l *auth.Login) (*oauth2.Config, error) {
	authorize, token, err := l.Endpoints(ctx)
	if err != nil {
		return nil, fmt.Errorf("issuer %s: %w", l.Name, err)
	}
	c := &oauth2.Config{
		ClientID: l.ClientID, RedirectURL: s.cfg.CallbackURL, Scopes: []string{oidc.ScopeOpenID, "profile"},
		Endpoint: oauth2.Endpoint{AuthURL: authorize, TokenURL: token},
	}
	if l.Secret != nil {
		if c.ClientSecret, err = l.Secret(); err != nil {
			return nil, fmt.Errorf("issuer %s: client secret: %w", l.Name, err)
		}
	} else {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client has nothing for a header
	}
	return c, nil
}

// StartLogin returns the address of an issuer at which a person signs in. to is the page to open
// afterwards.
func (s *Sessions) StartLogin(w http.ResponseWriter, r *http.Request, name, to string) (string, error) {
	l, err := s.login(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(r.Context(), issuerTime)
	defer cancel()
	c, err := s.client(ctx, l)
	if err != nil {
		return "", err
	}
	a := attempt{
		Provider: name, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: s.Own(to), Begun: s.cfg.Now().Unix(),
	}
	value, err := s.seal(signInCookie, a)
	if err != nil {
		return "", err
	}
	s.set(w, signInCookie, value, signInTime)
	return c.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oidc.Nonce(a.Nonce)), nil
}

// FinishLogin returns the person who comes back from an issuer, and the page to open. Errors of
// type *rest.Error are for the person.
func (s *Sessions) FinishLogin(w http.ResponseWriter, r *http.Request) (p rest.Principal, to string, err error) {
	var a attempt
	known := s.open(r, signInCookie, &a)
	s.set(w, signInCookie, "", -1)
	query := r.URL.Query()
	if !known || s.cfg.Now().After(time.Unix(a.Begun, 0).Add(signInTime)) ||
		subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(a.State)) != 1 {
		return p, "", refused("Signing in took too long, or was begun in another window. Try again.")
	}
	l, err := s.login(a.Provider)
	if err != nil {
		return p, "", err
	}
	if from := query.Get("iss"); from != "" && l.Issuer != "" && from != l.Issuer {
		return p, "", refused("The answer is of another issuer.")
	}
	if code := query.Get("error"); code != "" {
		return p, "", refused("The issuer refused to sign you in: " + short(code) + ". " + short(query.Get("error_description")))
	}
	ctx, cancel := context.WithTimeout(r.Context(), issuerTime)
	defer cancel()
	// Failures are counted here only. An answer without the cookie costs nothing, and any other
	// site can make a browser send one.
	leave, err := s.cfg.Authenticator.EnterSignIn(ctx, r.RemoteAddr)
	if err != nil {
		return p, "", err
	}
	defer func() { leave(err != nil) }()
	if p, err = s.exchange(ctx, l, a, query.Get("code")); err != nil {
		return p, "", err
	}
	return p, a.To, nil
}

// exchange exchanges an authorization code for the person's ID token.
func (s *Sessions) exchange(ctx context.Context, l *auth.Login, a attempt, code string) (p rest.Principal, err error) {
	c, err := s.client(ctx, l)
	if err != nil {
		return p, err
	}
	token, err := c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, l.Client), code, oauth2.VerifierOption(a.Verifier))
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		if answer.ErrorCode == "invalid_grant" {
			return p, refused("The issuer did not accept the answer. Try again.")
		}
		// The body is not shown or logged: it may hold a secret.
		return p, fmt.Errorf("issuer %s refused the client of the dashboard: %s", l.Name, short(answer.ErrorCode))
	}
	if err != nil {
		return p, fmt.Errorf("issuer %s: %w", l.Name, err)
	}
	text, ok := token.Extra("id_token").(string)
	if !ok {
		return p, fmt.Errorf("issuer %s gave no ID token", l.Name)
	}
	if p, err = l.Verify(ctx, text, a.Nonce); err != nil {
		return p, fmt.Errorf("issuer %s: %w", l.Name, err)
	}
	return p, nil
}

// refused returns an error for a person who could not sign in.
func refused(message string) error {
	return &rest.Error{Status: http.StatusUnauthorized, Code: rest.CodeUnauthenticated, Message: message}
}

// short returns the beginning of an issuer's text.
func short(text string) string { return wording.Clip(text, 300, wording.Characters) }
