package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/testenv/front"
)

func TestMain(m *testing.M) {
	code := front.Main(m, func(testing.TB, *front.Front) []*rest.Mount {
		return []*rest.Mount{{Surface: armSurface{}, ARM: true, MaxBody: 1000}, {Surface: plainSurface{}}}
	})
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// armSurface has operations that show what the server does.
type armSurface struct{}

func (armSurface) Name() string { return "sql" }

func (armSurface) Check(r *rest.Request) error {
	if _, ok := r.Query.Get("api-version"); !ok {
		return &rest.Error{Status: http.StatusBadRequest, Code: "MissingApiVersionParameter", Message: "The parameter api-version is missing."}
	}
	return nil
}

func (armSurface) Failure(_ *rest.Request, err error) *rest.Response { return rest.ARMFailure(err) }

func (armSurface) Operations() []rest.Operation {
	const base = "/subscriptions/{subscription}/resourceGroups/{resourceGroup}/providers/Microsoft.Sql/servers/{server}/jobAgents"
	echo := func(_ context.Context, r *rest.Request) (*rest.Response, error) {
		return &rest.Response{Status: http.StatusOK, Body: map[string]any{
			"path": r.Path, "query": r.Query, "body": string(r.Body), "role": r.Role.String(), "operation": r.Operation.ID, "public": r.PublicURL,
		}}, nil
	}
	return []rest.Operation{
		{ID: "List", Method: "GET", Path: base, Role: rest.RoleReader, Handle: echo},
		{ID: "Get", Method: "GET", Path: base + "/{agent}", Role: rest.RoleReader, Handle: echo},
		{ID: "Put", Method: "PUT", Path: base + "/{agent}", Role: rest.RoleAdmin, Handle: echo},
		{ID: "Start", Method: "POST", Path: base + "/{agent}/start", Role: rest.RoleOperator, Handle: echo},
		{ID: "Named", Method: "GET", Path: base + "/{agent}/{any}", Role: rest.RoleReader, Handle: echo},
		{ID: "Panic", Method: "POST", Path: base + "/{agent}/panic", Role: rest.RoleReader, Handle: func(context.Context, *rest.Request) (*rest.Response, error) { panic("secret-1") }},
		{ID: "Error", Method: "POST", Path: base + "/{agent}/error", Role: rest.RoleReader, Handle: func(context.Context, *rest.Request) (*rest.Response, error) {
			return nil, errors.New("secret-2")
		}},
		{ID: "Away", Method: "POST", Path: base + "/{agent}/away", Role: rest.RoleReader, Handle: func(context.Context, *rest.Request) (*rest.Response, error) {
			return nil, fmt.Errorf("call: %w", dberror.ErrUnreachable)
		}},
		{ID: "Unencodable", Method: "POST", Path: base + "/{agent}/unencodable", Role: rest.RoleReader, Handle: func(context.Context, *rest.Request) (*rest.Response, error) {
			return &rest.Response{Status: 200, Body: make(chan int)}, nil
		}},
	}
}

// plainSurface has no ARM headers.
type plainSurface struct{}

func (plainSurface) Name() string              { return "sap" }
func (plainSurface) Check(*rest.Request) error { return nil }
func (plainSurface) Operations() []rest.Operation {
	ok := func(_ context.Context, r *rest.Request) (*rest.Response, error) {
		return &rest.Response{Status: http.StatusOK, Body: map[string]any{"path": r.Path, "query": r.Query}}, nil
	}
	return []rest.Operation{
		{ID: "Open", Method: "GET", Path: "/scheduler/open", Handle: ok},
		{ID: "Job", Method: "PUT", Path: "/scheduler/jobs/{job}", Role: rest.RoleReader, Handle: ok},
	}
}

func (plainSurface) Failure(_ *rest.Request, err error) *rest.Response {
	var e *rest.Error
	if !errors.As(err, &e) {
		return nil
	}
	return &rest.Response{Status: e.Status, Body: map[string]any{"code": e.Status, "type": string(e.Code)}}
}

var guidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func TestCase002MissingVersion(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	a := f.Do(t, "GET", front.A, nil)
	require.Equal(t, 400, a.Status)
	require.Equal(t, "MissingApiVersionParameter", a.Code(t))
	require.Regexp(t, guidForm, a.Header.Get("X-Ms-Request-Id"))
	require.Regexp(t, guidForm, a.Header.Get("X-Ms-Correlation-Request-Id"))
}

func TestCase006Routing(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	a := f.Do(t, "GET", "/SUBSCRIPTIONS/"+front.Subscription+"/resourcegroups/RG1/providers/microsoft.sql/servers/SERVER1/jobagents/AGENT1"+front.Version, nil)
	require.Equal(t, 200, a.Status, a)
	require.Equal(t, "Get", a.At(t, "operation"))
	require.Equal(t, "AGENT1", a.At(t, "path.agent"))
}

func isInvalidPath(t *testing.T, a front.Answer) {
	t.Helper()
	require.Equal(t, "InvalidPath", a.Code(t))
}

func TestRouting(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	for _, c := range []struct {
		method, path string
		status       int
		check        func(t *testing.T, a front.Answer)
	}{
		{"GET", front.A + "/" + front.Version, 200, func(t *testing.T, a front.Answer) {
			require.Equal(t, "Get", a.At(t, "operation"), "a slash at the end is ignored")
		}},
		{"GET", front.Servers + "/jobAgents/a%2Fb%20%25" + front.Version, 200, func(t *testing.T, a front.Answer) {
			require.Equal(t, "a/b %", a.At(t, "path.agent"), "the path is split before it is unescaped")
		}},
		{"GET", front.Servers + "/jobAgents/.." + front.Version, 400, isInvalidPath},
		{"GET", front.Servers + "/jobAgents/%2e" + front.Version, 400, isInvalidPath},
		{"DELETE", front.Servers + "/jobAgents/a%2F..%5Cb" + front.Version, 400, isInvalidPath},
		{"GET", front.Servers + "/jobAgents/..." + front.Version, 200, func(t *testing.T, a front.Answer) {
			require.Equal(t, "...", a.At(t, "path.agent"))
		}},
		{"DELETE", front.A + "/" + front.Version, 400, isInvalidPath},
		{"PUT", front.A + "/" + front.Version, 400, isInvalidPath},
		{"PATCH", front.A + "/" + front.Version, 400, isInvalidPath},
		{"GET", front.A + "/start" + front.Version, 200, func(t *testing.T, a front.Answer) {
			require.Equal(t, "Named", a.At(t, "operation"), "the literal has no GET, the parameter has")
		}},
		{"DELETE", front.A + "/start" + front.Version, 405, func(t *testing.T, a front.Answer) {
			require.Equal(t, "GET, HEAD, POST", a.Header.Get("Allow"))
			require.Equal(t, "MethodNotAllowed", a.Code(t))
		}},
		{"GET", front.A + "//x" + front.Version, 404, nil},
		{"GET", front.A + "/a/b/c" + front.Version, 404, func(t *testing.T, a front.Answer) {
			require.Equal(t, "InvalidResourceType", a.Code(t))
			require.Equal(t, "gateway", a.Header.Get("X-Ms-Failure-Cause"))
		}},
		{"GET", "/scheduler/nope", 404, func(t *testing.T, a front.Answer) {
			require.JSONEq(t, `{"code":404,"type":"UnknownPath"}`, a.Body)
			require.Empty(t, a.Header.Get("X-Ms-Request-Id"), "the headers are those of ARM only")
		}},
		{"GET", "/", 404, func(t *testing.T, a front.Answer) { require.Equal(t, "InvalidResourceType", a.Code(t)) }},
		{"GET", "/nope", 404, func(t *testing.T, a front.Answer) { require.Equal(t, "InvalidResourceType", a.Code(t)) }},
		{"GET", "/scheduler/open?a;b=1;2&c=%26+x&&d", 200, func(t *testing.T, a front.Answer) {
			require.JSONEq(t, `[{"Name":"a;b","Value":"1;2"},{"Name":"c","Value":"& x"},{"Name":"d","Value":""}]`,
				a.Body[strings.Index(a.Body, "["):strings.LastIndex(a.Body, "]")+1])
		}},
		{"GET", "/scheduler/open?a=1&a=2", 400, nil},
		{"GET", "/scheduler/open?a=%", 400, nil},
		{"GET", front.A + front.Version + "&api-version=2", 400, func(t *testing.T, a front.Answer) {
			require.Equal(t, "api-version", a.At(t, "error.target"))
		}},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			a := f.Do(t, c.method, c.path, nil)
			require.Equal(t, c.status, a.Status, a)
			if c.check != nil {
				c.check(t, a)
			}
		})
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	const id = "12345678-1111-2222-3333-1234567890ab"
	a := f.Do(t, "GET", front.A+front.Version, nil, "x-ms-correlation-request-id: "+id,
		"x-ms-client-request-id: "+id, "x-ms-return-client-request-id: true")
	require.Equal(t, id, a.Header.Get("X-Ms-Correlation-Request-Id"))
	require.Equal(t, id, a.Header.Get("X-Ms-Client-Request-Id"))
	require.Regexp(t, `^ONPREM:\d{8}T\d{6}Z:`+id+`$`, a.Header.Get("X-Ms-Routing-Request-Id"))
	for name, value := range map[string]string{
		"Cache-Control": "no-cache", "Pragma": "no-cache", "Expires": "-1", "X-Content-Type-Options": "nosniff",
		"Strict-Transport-Security": "max-age=31536000; includeSubDomains",
	} {
		require.Equal(t, value, a.Header.Get(name))
	}
	b := f.Do(t, "GET", front.A+front.Version, nil, "x-ms-client-request-id: "+id, "x-ms-correlation-request-id: no guid")
	require.Empty(t, b.Header.Get("X-Ms-Client-Request-Id"))
	require.Regexp(t, guidForm, b.Header.Get("X-Ms-Correlation-Request-Id"))
	require.NotEqual(t, a.Header.Get("X-Ms-Request-Id"), b.Header.Get("X-Ms-Request-Id"))
}

func TestRoles(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	for _, c := range []struct {
		role         rest.Role
		method, path string
		status       int
	}{
		{rest.RoleReader, "GET", front.A, 200},
		{rest.RoleReader, "POST", front.A + "/start", 403},
		{rest.RoleOperator, "POST", front.A + "/start", 200},
		{rest.RoleAuthor, "PUT", front.A, 403},
		{rest.RoleAdmin, "PUT", front.A, 200},
		{rest.RoleNone, "GET", front.A, 404},
	} {
		a := f.DoAs(t, c.role, c.method, c.path+front.Version, nil)
		require.Equal(t, c.status, a.Status, "%s %s as %s", c.method, c.path, c.role)
		switch c.status {
		case 403:
			require.Equal(t, "AuthorizationFailed", a.Code(t))
		case 404:
			require.Equal(t, "ResourceNotFound", a.Code(t), "who has no role on the server learns nothing (R-24)")
		}
	}
	a := f.Do(t, "GET", front.A+front.Version, nil, "Authorization:")
	require.Equal(t, 401, a.Status)
	require.Equal(t, "AuthenticationFailed", a.Code(t))
	require.True(t, strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer "))
}

func TestBodies(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	a := f.Do(t, "PUT", front.A+front.Version, strings.Repeat("x", 1000))
	require.Equal(t, 200, a.Status)
	a = f.Do(t, "HEAD", front.A+front.Version, nil)
	require.Equal(t, 200, a.Status, "HEAD is GET without the body")
	require.Empty(t, a.Body)
	a = f.Do(t, "PUT", front.A+front.Version, strings.Repeat("x", 1001))
	require.Equal(t, 413, a.Status)
	require.Equal(t, "RequestEntityTooLarge", a.Code(t))
	// Without a length, the body is read up to the limit.
	r, err := http.NewRequestWithContext(t.Context(), "PUT", f.URL+front.A+front.Version, strings.NewReader(strings.Repeat("x", 100_000)))
	require.NoError(t, err)
	r.ContentLength = -1
	r.Header.Set("Authorization", "Bearer "+f.Tokens.Of(rest.RoleAdmin))
	response, err := f.HTTP.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 413, response.StatusCode)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	for path, status := range map[string]int{"panic": 500, "error": 500, "unencodable": 500, "away": 503} {
		a := f.Do(t, "POST", front.A+"/"+path+front.Version, nil)
		require.Equal(t, status, a.Status, path)
		require.NotContains(t, a.Body, "secret")
		require.NotEmpty(t, a.Header.Get("X-Ms-Request-Id"))
		if status == 503 {
			require.Equal(t, "ServiceUnavailable", a.Code(t))
			require.Equal(t, "5", a.Header.Get("Retry-After"))
		}
	}
}

func TestRequestLog(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	f.Do(t, "PUT", front.Servers+"/jobAgents/name-in-path"+front.Version+"&secret=in-query", "in-body")
	f.Do(t, "GET", "/unknown-path/in-path-2", nil)
	log := f.Log.String()
	require.Contains(t, log, `"route":"/subscriptions/{subscription}/resourceGroups/{resourceGroup}/providers/Microsoft.Sql/servers/{server}/jobAgents/{agent}"`)
	require.Contains(t, log, `"principal":"token:admin"`)
	require.Contains(t, log, `"api_version":"2020-11-01-preview"`)
	for _, text := range []string{"in-query", "in-body", "name-in-path", "in-path-2", "test-token"} {
		require.NotContains(t, log, text)
	}
}

// Scripts of an allowed origin may call the front with a token, and others may not.
func TestCORS(t *testing.T) {
	t.Parallel()
	f := front.Start(t, func(testing.TB, *front.Front) []*rest.Mount {
		return []*rest.Mount{{Surface: armSurface{}, ARM: true}}
	}, func(cfg *rest.Config) { cfg.CORSOrigins = []string{"https://app.example"} })
	a := f.Do(t, "OPTIONS", front.A+front.Version, nil, "Authorization:", "Origin: https://app.example",
		"Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: authorization, x-ms-client-request-id, x-evil")
	require.Equal(t, 204, a.Status)
	require.Equal(t, "https://app.example", a.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "authorization, x-ms-client-request-id", a.Header.Get("Access-Control-Allow-Headers"))
	require.Contains(t, a.Header.Get("Access-Control-Allow-Methods"), "PATCH")
	require.Empty(t, a.Header.Get("Access-Control-Allow-Credentials"))
	a = f.Do(t, "GET", front.A+front.Version, nil, "Origin: https://app.example")
	require.Equal(t, 200, a.Status)
	require.Contains(t, a.Header.Get("Access-Control-Expose-Headers"), "Azure-AsyncOperation")
	a = f.Do(t, "GET", front.A+front.Version, nil, "Origin: https://evil.example")
	require.Empty(t, a.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Origin", a.Header.Get("Vary"))
	a = f.Do(t, "OPTIONS", front.A+front.Version, nil, "Origin: https://evil.example", "Access-Control-Request-Method: PUT")
	require.Equal(t, 405, a.Status)
}

// A handler that takes too long is answered with 503, and a client that goes away ends a GET but
// not a change.
func TestTimes(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	slow := slowSurface{func(ctx context.Context, r *rest.Request) (*rest.Response, error) {
		if r.HTTP.Header.Get("X-Wait") == "" {
			<-ctx.Done()
			return nil, fmt.Errorf("call: %w", ctx.Err())
		}
		begun <- struct{}{}
		select {
		case <-ctx.Done():
		case <-r.HTTP.Context().Done():
		}
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}
	f := front.Start(t, func(testing.TB, *front.Front) []*rest.Mount {
		return []*rest.Mount{{Surface: slow, Timeout: 100 * time.Millisecond}, {Surface: slowSurface2{slow}, Timeout: time.Minute}}
	})
	a := f.Do(t, "GET", "/slow", nil)
	require.Equal(t, 503, a.Status)
	require.Equal(t, "5", a.Header.Get("Retry-After"))
	for method, want := range map[string]error{"GET": context.Canceled, "PUT": nil} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, method, f.URL+"/patient", nil)
		require.NoError(t, err)
		r.Header.Set("X-Wait", "1")
		sent := make(chan error, 1)
		go func() { // ends with ctx
			response, err := f.HTTP.Do(r)
			if err == nil {
				err = response.Body.Close()
			}
			sent <- err
		}()
		<-begun
		cancel()
		require.ErrorIs(t, <-sent, context.Canceled)
		if want == nil {
			require.NoError(t, <-ended, method)
		} else {
			require.ErrorIs(t, <-ended, want, method)
		}
	}
}

// slowSurface has an operation that waits.
type slowSurface struct {
	handle func(context.Context, *rest.Request) (*rest.Response, error)
}

func (slowSurface) Name() string                                      { return "slow" }
func (slowSurface) Check(*rest.Request) error                         { return nil }
func (slowSurface) Failure(_ *rest.Request, err error) *rest.Response { return rest.ARMFailure(err) }
func (s slowSurface) Operations() []rest.Operation {
	return []rest.Operation{{ID: "Slow", Method: "GET", Path: "/slow", Handle: s.handle}}
}

// slowSurface2 is slowSurface at another path.
type slowSurface2 struct{ slowSurface }

func (s slowSurface2) Operations() []rest.Operation {
	return []rest.Operation{
		{ID: "Get", Method: "GET", Path: "/patient", Handle: s.handle}, {ID: "Put", Method: "PUT", Path: "/patient", Handle: s.handle},
	}
}

// A surface learns whether its answer was handed over.
func TestSent(t *testing.T) {
	t.Parallel()
	sent := make(chan error, 1)
	begun := make(chan struct{})
	s := slowSurface2{slowSurface{func(_ context.Context, r *rest.Request) (*rest.Response, error) {
		if r.HTTP.Method == http.MethodPut {
			begun <- struct{}{}
			<-r.HTTP.Context().Done()
		}
		return &rest.Response{Status: 200, Body: []byte(`{"a":1}`), Sent: func(err error) { sent <- err }}, nil
	}}}
	f := front.Start(t, func(testing.TB, *front.Front) []*rest.Mount { return []*rest.Mount{{Surface: s}} })
	a := f.Do(t, "GET", "/patient", nil)
	require.JSONEq(t, `{"a":1}`, a.Body)
	require.NoError(t, <-sent)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "PUT", f.URL+"/patient", nil)
	require.NoError(t, err)
	gone := make(chan struct{})
	go func() { // ends with ctx
		defer close(gone)
		if response, err := f.HTTP.Do(r); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-begun
	cancel()
	<-gone
	require.Error(t, <-sent)
}
