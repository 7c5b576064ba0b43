package front

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
)

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// JSON decodes the body into a map.
func (a Answer) JSON(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.Body), &m), a.Body)
	return m
}

// Into decodes the body.
func (a Answer) Into(t testing.TB, dst any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.Body), dst), a.Body)
}

// At returns the value at a path such as "properties.members.0.type"; nil if there is none.
func (a Answer) At(t testing.TB, path string) any {
	t.Helper()
	var v any
	a.Into(t, &v)
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// Code returns error.code of the body.
func (a Answer) Code(t testing.TB) any {
	t.Helper()
	return a.At(t, "error.code")
}

// Do sends a request with the token of the role admin. body is text, or is encoded as JSON; nil
// means none. Each header is "Name: value"; a header Authorization replaces the token, and an empty
// one removes it.
func (f *Front) Do(t testing.TB, method, path string, body any, headers ...string) Answer {
	t.Helper()
	return f.DoAs(t, rest.RoleAdmin, method, path, body, headers...)
}

// DoAs is Do with the token of another role.
func (f *Front) DoAs(t testing.TB, role rest.Role, method, path string, body any, headers ...string) Answer {
	t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		require.NoError(t, err)
		reader = bytes.NewReader(text)
	}
	if !strings.HasPrefix(path, "https://") {
		path = f.URL + path
	}
	r, err := http.NewRequestWithContext(t.Context(), method, path, reader)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+f.Tokens.Of(role))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		if value = strings.TrimSpace(value); value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	response, err := f.HTTP.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	a := Answer{response.StatusCode, response.Header, string(text)}
	f.check(t, method, path, a)
	return a
}

// Tokens are static tokens for tests.
type Tokens struct {
	mu     sync.Mutex
	known  map[string]rest.Principal
	grants map[string]func(surface string, s rest.Scope) rest.Role // by Principal.ID
}

func newTokens() *Tokens {
	t := &Tokens{known: map[string]rest.Principal{}, grants: map[string]func(string, rest.Scope) rest.Role{}}
	for role := rest.RoleNone; role <= rest.RoleAdmin; role++ {
		t.Add(t.Of(role), rest.Principal{ID: "token:" + role.String(), Name: role.String()},
			func(string, rest.Scope) rest.Role { return role })
	}
	return t
}

// Of returns the token of a role that is granted everywhere.
func (*Tokens) Of(role rest.Role) string { return "test-token-" + role.String() }

// Add adds a token. grant returns the role of its principal at a scope.
func (t *Tokens) Add(token string, p rest.Principal, grant func(surface string, s rest.Scope) rest.Role) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[token], t.grants[p.ID] = p, grant
}

// Authenticate implements rest.Authenticator.
func (t *Tokens) Authenticate(r *rest.Request) (rest.Principal, error) {
	scheme, token, _ := strings.Cut(r.HTTP.Header.Get("Authorization"), " ")
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.known[token]
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return p, &rest.Error{
			Status: http.StatusUnauthorized, Code: rest.CodeUnauthenticated, Message: "The token is not known.",
			Header: http.Header{"Www-Authenticate": {`Bearer authorization_uri="https://issuer.example", error="invalid_token"`}},
		}
	}
	return p, nil
}

// Role implements rest.Authorizer.
func (t *Tokens) Role(p rest.Principal, surface string, s rest.Scope) rest.Role {
	t.mu.Lock()
	grant := t.grants[p.ID]
	t.mu.Unlock()
	if grant == nil {
		return rest.RoleNone
	}
	return grant(surface, s)
}

// Sees implements rest.Authorizer: the tokens of the roles see everything.
func (t *Tokens) Sees(p rest.Principal, surface string, s rest.Scope) bool {
	return t.Role(p, surface, s) > rest.RoleNone
}

// Buffer collects a log. It is safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// Sync implements zapcore.WriteSyncer.
func (*Buffer) Sync() error { return nil }

// String returns the text.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Received is a request that an [Endpoint] has received.
type Received struct {
	Method, Path string // Path has the query
	Header       http.Header
	Body         string
}

// Endpoint is an HTTP endpoint on a loopback address.
type Endpoint struct {
	// URL is its address, without a slash at the end.
	URL string

	mu       sync.Mutex
	requests []Received
	handlers map[string]http.HandlerFunc
}

// startEndpoint starts an endpoint, which answers 200 and "ok" unless Handle says otherwise.
func startEndpoint(t testing.TB) *Endpoint {
	e := &Endpoint{handlers: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(http.HandlerFunc(e.serve))
	e.URL = server.URL
	t.Cleanup(server.Close)
	return e
}

// Handle sets the handler of a path.
func (e *Endpoint) Handle(path string, handler http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers[path] = handler
}

// Forget removes the handler of a path and the requests that it has received.
func (e *Endpoint) Forget(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.handlers, path)
	e.requests = slices.DeleteFunc(e.requests, func(r Received) bool {
		p, _, _ := strings.Cut(r.Path, "?")
		return p == path
	})
}

// Requests returns the requests whose path, without the query, is path.
func (e *Endpoint) Requests(path string) (list []Received) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.requests {
		if p, _, _ := strings.Cut(r.Path, "?"); p == path {
			list = append(list, r)
		}
	}
	return list
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	e.mu.Lock()
	e.requests = append(e.requests, Received{r.Method, r.URL.RequestURI(), r.Header, string(body)})
	handler := e.handlers[r.URL.Path]
	e.mu.Unlock()
	if handler == nil {
		_, _ = io.WriteString(w, "ok")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	handler(w, r)
}
