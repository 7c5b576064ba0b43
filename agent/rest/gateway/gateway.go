// Package gateway has what surrounds the APIs: health, the addresses that tools of Azure ask for,
// the OpenAPI documents, and the parents of the resources, such as subscriptions and servers.
package gateway

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/installed"
)

// Config configures a [Gateway].
type Config struct {
	Directory *rest.Directory
	// Authorizer says what a caller sees of the parents.
	Authorizer rest.Authorizer
	// PublicURL is the front's address as seen by clients.
	PublicURL string
	// Audiences are the audiences of tokens; without any, clients are told the public URL.
	Audiences []string
	// LoginEndpoint is the address at which clients get tokens; empty means the public URL.
	LoginEndpoint string
	// TenantID is the GUID of the only tenant.
	TenantID string
	// Documented are the mounts that have an OpenAPI document.
	Documented []*rest.Mount
}

// Gateway is a surface. Its operations belong to no API of jobs.
type Gateway struct {
	cfg       Config
	documents sync.Map // of the surfaces by name: func() ([]byte, error)
	readiness readiness
}

// New returns a gateway.
func New(cfg Config) *Gateway {
	cfg.PublicURL = strings.TrimSuffix(cfg.PublicURL, "/")
	if len(cfg.Audiences) == 0 {
		cfg.Audiences = []string{cfg.PublicURL}
	}
	if cfg.LoginEndpoint == "" {
		cfg.LoginEndpoint = cfg.PublicURL
	}
	g := &Gateway{cfg: cfg}
	for _, m := range cfg.Documented {
		g.documents.Store(m.Surface.Name(), sync.OnceValues(func() ([]byte, error) { return Document(m, cfg.PublicURL) }))
	}
	return g
}

// Name implements rest.Surface.
func (*Gateway) Name() string { return "gateway" }

// Failure implements rest.Surface.
func (*Gateway) Failure(_ *rest.Request, err error) *rest.Response { return rest.ARMFailure(err) }

// versionForm is the form of api-versions.
var versionForm = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2}(-[a-z]+)?|1\.0)$`)

// Check implements rest.Surface. The parents accept any version.
func (*Gateway) Check(r *rest.Request) error {
	if strings.HasPrefix(r.Operation.ID, "Front_") {
		return nil
	}
	version, ok := r.Query.Get("api-version")
	switch {
	case !ok || version == "":
		return &rest.Error{
			Status: http.StatusBadRequest, Code: "MissingApiVersionParameter",
			Message: "The api-version query parameter (?api-version=) is required for all requests.",
		}
	case !versionForm.MatchString(version):
		return &rest.Error{
			Status: http.StatusBadRequest, Code: "InvalidApiVersionParameter", Target: "api-version",
			Message: "The api-version query parameter is invalid: want a date such as 2022-09-01.",
		}
	}
	return nil
}

// Operations implements rest.Surface.
func (g *Gateway) Operations() []rest.Operation {
	open := func(id, path, summary string, handle func(context.Context, *rest.Request) (*rest.Response, error)) rest.Operation {
		return rest.Operation{ID: id, Method: http.MethodGet, Path: path, Summary: summary, Handle: handle}
	}
	return append([]rest.Operation{
		open("Front_Health", "/healthz", "The process answers.", g.health),
		open("Front_Readiness", "/readyz", "The control databases can be used.", g.ready),
		open("Front_OpenAPI", "/openapi/{document}", "The OpenAPI document of a surface.", g.openAPI),
		open("Metadata_Endpoints", "/metadata/endpoints", "The addresses of this cloud.", g.metadata),
	}, g.parents()...)
}

// health answers that the process runs.
func (*Gateway) health(context.Context, *rest.Request) (*rest.Response, error) {
	return &rest.Response{Status: http.StatusOK, Body: map[string]string{"status": "ok"}}, nil
}

const (
	// readyTime bounds the check of the control databases.
	readyTime = 5 * time.Second
	// readyFor is how long a result is used, so that callers without a token cannot load the
	// databases.
	readyFor = time.Second
)

// readiness is the latest check of the control databases.
type readiness struct {
	mu      sync.Mutex
	checked time.Time
	usable  int
}

// ready answers whether a control database can be used: it is reachable, and its schema is
// understood.
func (g *Gateway) ready(ctx context.Context, _ *rest.Request) (*rest.Response, error) {
	usable := g.usable(ctx)
	body := map[string]any{"status": "ready", "control_databases": len(g.cfg.Directory.Entries()), "usable": usable}
	if usable == 0 {
		body["status"] = "not ready"
		return &rest.Response{Status: http.StatusServiceUnavailable, Body: body, Header: http.Header{"Retry-After": {"5"}}}, nil
	}
	return &rest.Response{Status: http.StatusOK, Body: body}, nil
}

// usable counts the control databases that can be used. Requests that come meanwhile wait for the
// result.
func (g *Gateway) usable(ctx context.Context) int {
	r := &g.readiness
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.checked) < readyFor {
		return r.usable
	}
	// Another caller may use the result, so this one's end does not end the check.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
	defer cancel()
	entries := g.cfg.Directory.Entries()
	results := make(chan bool, len(entries))
	for _, e := range entries {
		go func() { // ends with the check, at latest with ctx
			_, err := installed.On(e.Store).CheckAgent(ctx)
			results <- err == nil
		}()
	}
	r.usable = 0
	for range entries {
		if <-results {
			r.usable++
		}
	}
	r.checked = time.Now()
	return r.usable
}

// openAPI answers an OpenAPI document.
func (g *Gateway) openAPI(_ context.Context, r *rest.Request) (*rest.Response, error) {
	name, ok := strings.CutSuffix(r.Path["document"], ".json")
	document, found := g.documents.Load(name)
	if !ok || !found {
		return nil, &rest.Error{
			Status: http.StatusNotFound, Code: rest.CodeHidden, Message: "There is no such OpenAPI document.",
		}
	}
	text, err := document.(func() ([]byte, error))()
	if err != nil {
		return nil, fmt.Errorf("make the OpenAPI document: %w", err)
	}
	return &rest.Response{Status: http.StatusOK, Body: text}, nil
}
