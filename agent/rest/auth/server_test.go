package auth

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/testenv/mitm"
)

// echo is a surface whose operations answer with the caller and the caller's role.
type echo struct {
	name string
	ops  []rest.Operation
}

// newEcho returns a surface with operations "METHOD /path" by least role.
func newEcho(name string, operations map[string]rest.Role) *echo {
	e := &echo{name: name}
	for at, role := range operations {
		method, path, _ := strings.Cut(at, " ")
		e.ops = append(e.ops, rest.Operation{ID: at, Method: method, Path: path, Role: role, Handle: e.handle})
	}
	return e
}

func (e *echo) Name() string                 { return e.name }
func (e *echo) Operations() []rest.Operation { return e.ops }
func (e *echo) Check(*rest.Request) error    { return nil }

func (e *echo) handle(_ context.Context, r *rest.Request) (*rest.Response, error) {
	return &rest.Response{Status: http.StatusOK, Body: map[string]any{
		"id": r.Principal.ID, "name": r.Principal.Name, "role": r.Role.String(), "tenant": r.Principal.Tenant,
		"instance": r.Principal.Instance, "scopes": r.Principal.Scopes,
	}}, nil
}

func (e *echo) Failure(_ *rest.Request, err error) *rest.Response {
	if e.name != surfaceSAP {
		return rest.ARMFailure(err)
	}
	status := http.StatusInternalServerError
	if known, ok := err.(*rest.Error); ok { //nolint:errorlint // a test
		status = known.Status
	}
	return &rest.Response{Status: status, Body: map[string]any{"code": status}}
}

// armOperations are operations in the places of the Elastic Jobs API.
var armOperations = map[string]rest.Role{
	"GET " + agentPath:                        rest.RoleReader,
	"PUT " + agentPath:                        rest.RoleAdmin,
	"PUT " + agentPath + "/jobs/{job}":        rest.RoleAuthor,
	"POST " + agentPath + "/jobs/{job}/start": rest.RoleOperator,
}

const (
	groupPath = "/subscriptions/{subscription}/resourceGroups/{resourceGroup}"
	agentPath = groupPath + "/providers/Microsoft.Sql/servers/{server}/jobAgents/{agent}"
)

// sapOperations are operations in the places of SAP's API.
var sapOperations = map[string]rest.Role{
	"GET /scheduler/jobs": rest.RoleReader, "POST /scheduler/jobs": rest.RoleAuthor, "DELETE /admin/tenants/{tenant}": rest.RoleAdmin,
}

// served is a front whose surfaces echo.
type served struct {
	url    string
	auth   *Auth
	client *http.Client
}

// serve starts a front. The listener asks for client certificates of the authority.
func serve(t *testing.T, cfg Config, options Options, authority *x509.CertPool) *served {
	t.Helper()
	return serveOn(t, httptest.NewUnstartedServer(nil), cfg, options, authority)
}

// serveDev starts a front with an issuer for development. The app role Jobs.Author is an author.
func serveDev(t *testing.T, audience string, clients ...issuer.DevClient) *served {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	dev, err := issuer.NewDev("https://"+server.Listener.Addr().String(), []string{audience}, clients, nil)
	require.NoError(t, err)
	return serveOn(t, server, Config{Grants: []Grant{{Principal: "role:Jobs.Author@dev", Role: "author", Scope: "/"}}}, Options{Dev: dev}, nil)
}

// serveOn starts a front on a server.
func serveOn(t *testing.T, server *httptest.Server, cfg Config, options Options, authority *x509.CertPool) *served {
	t.Helper()
	s := &served{url: "https://" + server.Listener.Addr().String()}
	if options.PublicURL == "" {
		options.PublicURL = s.url
	}
	var err error
	s.auth, err = New(cfg, options)
	require.NoError(t, err)
	mounts := []*rest.Mount{{Surface: newEcho("sql", armOperations), ARM: true}, {Surface: newEcho(surfaceSAP, sapOperations)}}
	for _, one := range s.auth.Surfaces() {
		mounts = append(mounts, &rest.Mount{Surface: one})
	}
	front, err := rest.New(rest.Config{Mounts: mounts, Authenticator: s.auth, Authorizer: s.auth, PublicURL: options.PublicURL, Log: zap.NewNop()})
	require.NoError(t, err)
	server.Config.Handler = front
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: authority}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.client = server.Client()
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// startServer starts a server for a front.
func startServer(t *testing.T, handler http.Handler) *served {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	client := server.Client()
	t.Cleanup(client.CloseIdleConnections)
	return &served{url: server.URL, client: client}
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

// do sends a request.
func (s *served) do(t *testing.T, method, path, authorization string, body ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(strings.Join(body, "&")))
	require.NoError(t, err)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	response, err := s.client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	a := answer{status: response.StatusCode, header: response.Header}
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &a.body), string(text))
	}
	return a
}

// authority is an authority of client certificates.
type authority struct {
	*mitm.Authority
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	signer, err := mitm.NewAuthority()
	require.NoError(t, err)
	block, _ := pem.Decode(signer.PEM())
	a := &authority{Authority: signer, pool: x509.NewCertPool()}
	a.cert, err = x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	a.pool.AddCert(a.cert)
	return a
}

// issue returns a client certificate and its thumbprint.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, string) {
	t.Helper()
	c, err := a.Sign(nil, func(template *x509.Certificate) {
		template.Subject, template.ExtKeyUsage = pkix.Name{CommonName: "client"}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		if change != nil {
			change(template)
		}
	})
	require.NoError(t, err)
	sum := sha256.Sum256(c.Certificate[0])
	return *c, hex.EncodeToString(sum[:])
}

// with returns the front as a client with a certificate sees it.
func (s *served) with(t *testing.T, certificate tls.Certificate) *served {
	t.Helper()
	transport, ok := s.client.Transport.(*http.Transport)
	require.True(t, ok)
	transport = transport.Clone()
	transport.TLSClientConfig.Certificates = []tls.Certificate{certificate}
	t.Cleanup(transport.CloseIdleConnections)
	return &served{url: s.url, auth: s.auth, client: &http.Client{Transport: transport}}
}

// mustURL parses a URL.
func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}
