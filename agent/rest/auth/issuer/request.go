package issuer

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
)

// maxForm bounds the body of a request for a token, in bytes.
const maxForm = 16 << 10

// failure is the error of a request for a token (RFC 6749, 5.2).
type failure struct {
	status      int
	code        string // error
	description string
	challenge   string
}

// Error implements error.
func (f *failure) Error() string { return f.description }

// invalidRequest returns the error about a request that does not have the form of RFC 6749.
func invalidRequest(description string) error {
	return &failure{status: http.StatusBadRequest, code: "invalid_request", description: description}
}

// errClient is the same for each reason, so that it does not tell which clients exist.
var errClient error = &failure{
	status: http.StatusUnauthorized, code: "invalid_client", description: "Bad credentials", challenge: `Basic realm="UAA/client"`,
}

// errorBody is the body of a failure.
type errorBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// tokenBody is the body of an answer with a token.
type tokenBody struct {
	AccessToken string `json:"access_token"`
	IDToken     string `json:"id_token,omitempty"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in"`
	ExtExpires  int    `json:"ext_expires_in,omitempty"`
	Scope       string `json:"scope,omitempty"`
	ID          string `json:"jti,omitempty"`
}

// noStore returns the header of answers about tokens (RFC 6749, 5.1).
func noStore() http.Header {
	return http.Header{"Cache-Control": {"no-store"}, "Pragma": {"no-cache"}}
}

// answerFailure returns the answer to a request that failed.
func answerFailure(err error) *rest.Response {
	header := noStore()
	var f *failure
	var known *rest.Error
	switch {
	case errors.As(err, &f):
	case errors.As(err, &known):
		f = &failure{status: known.Status, code: "invalid_request", description: known.Message}
		if known.Status >= http.StatusInternalServerError {
			f.code = "temporarily_unavailable"
		}
	default:
		f = &failure{status: http.StatusInternalServerError, code: "server_error", description: "Internal error."}
	}
	if f.challenge != "" {
		header.Set("Www-Authenticate", f.challenge)
	}
	return &rest.Response{Status: f.status, Header: header, Body: errorBody{Error: f.code, Description: f.description}}
}

// login is what a request for a token says about its client.
type login struct {
	id, secret string
	hasSecret  bool // tells an absent secret from an empty one
}

// parseForm parses the form of a request for a token.
func parseForm(r *rest.Request) (url.Values, error) {
	kind, _, _ := strings.Cut(r.HTTP.Header.Get("Content-Type"), ";")
	if kind = strings.TrimSpace(kind); kind != "" && !strings.EqualFold(kind, "application/x-www-form-urlencoded") {
		return nil, invalidRequest("The body must be a form: application/x-www-form-urlencoded")
	}
	return parseValues(string(r.Body))
}

// parseValues parses the text of a form. A parameter that is there twice is refused (RFC 6749,
// 3.2).
func parseValues(text string) (url.Values, error) {
	form, err := url.ParseQuery(text)
	if err != nil {
		return nil, invalidRequest("The form cannot be read")
	}
	for _, values := range form {
		if len(values) > 1 {
			return nil, invalidRequest("A parameter is there twice")
		}
	}
	return form, nil
}

// parseLogin returns the client that a request for a token names, by Basic or in the form, but not
// by both (RFC 6749, 2.3).
func parseLogin(h *http.Request, form url.Values) (login, error) {
	in := login{id: form.Get("client_id"), secret: form.Get("client_secret"), hasSecret: form.Has("client_secret")}
	values := h.Header.Values("Authorization")
	if len(values) == 0 {
		return in, nil
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Basic") {
		return login{}, errClient
	}
	b, err := base64.StdEncoding.DecodeString(strings.Trim(text, " "))
	id, secret, ok := strings.Cut(string(b), ":")
	if err != nil || !ok {
		return login{}, errClient
	}
	if in.hasSecret || in.id != "" && in.id != id && in.id != unescape(id) {
		return login{}, invalidRequest("The client authenticates in two ways")
	}
	return login{id: id, secret: secret, hasSecret: true}, nil
}

// unescape undoes the form encoding that RFC 6749, 2.3.1, asks of Basic. Most clients, SAP's among
// them, do not encode, so both forms are tried.
func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// Leaf returns the verified and valid client certificate of a request, or nil. A connection may
// outlive its certificate.
func Leaf(h *http.Request, now time.Time) *x509.Certificate {
	if h.TLS == nil || len(h.TLS.VerifiedChains) == 0 || len(h.TLS.PeerCertificates) == 0 {
		return nil
	}
	leaf := h.TLS.PeerCertificates[0]
	if now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return nil
	}
	return leaf
}
