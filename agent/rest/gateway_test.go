package rest_test

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/gateway"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/testenv/front"
)

// startGateway starts a front with the gateway, which documents a surface.
func startGateway(t *testing.T) *front.Front {
	t.Helper()
	return front.Start(t, func(_ testing.TB, f *front.Front) []*rest.Mount {
		documented := &rest.Mount{Surface: surface{}, ARM: true}
		return []*rest.Mount{documented, {Surface: gateway.New(gateway.Config{
			Directory: f.Directory, Authorizer: f.Tokens, PublicURL: f.URL, Audiences: []string{"https://jobs.example/"},
			LoginEndpoint: "https://login.example", TenantID: "99999999-0000-0000-0000-000000000000", Documented: []*rest.Mount{documented},
		}), ARM: true}}
	})
}

// surface has one operation with a body of all kinds of types.
type surface struct{}

type thing struct {
	Name    string               `json:"name" body:"required"`
	Parts   []part               `json:"parts,omitempty"`
	Output  body.Field[part]     `json:"output,omitzero"`
	Tags    map[string]string    `json:"tags,omitempty"`
	Self    *thing               `json:"self,omitempty"`
	Numbers []int32              `json:"numbers,omitempty"`
	Maybe   body.Field[[]string] `json:"maybe,omitzero"`
	Color   *string              `json:"color,omitempty" enum:"red blue"`
	Made    string               `json:"made,omitempty" format:"date-time"`
}

type part struct {
	_     struct{} `body:"closed"`
	Size  float64  `json:"size"`
	Exact bool     `json:"exact"`
}

func (surface) Name() string                                      { return "sql" }
func (surface) Check(*rest.Request) error                         { return nil }
func (surface) Failure(_ *rest.Request, err error) *rest.Response { return rest.ARMFailure(err) }
func ok(context.Context, *rest.Request) (*rest.Response, error) {
	return &rest.Response{Status: 200}, nil
}
func (surface) Operations() []rest.Operation {
	return []rest.Operation{{
		ID: "Things_Put", Method: http.MethodPut, Path: "/things/{thing}", Role: rest.RoleAuthor, Handle: ok, Summary: "Put a thing.",
		Query: []rest.Parameter{{Name: "$top", Type: "integer"}, {Name: "order", Type: "string", Words: "up down"}}, Body: reflect.TypeFor[thing](),
		Answers: map[int]reflect.Type{200: reflect.TypeFor[thing](), 204: nil}, Headers: []string{"ETag", "Location"}, RequestHeaders: []string{"If-Match"},
	}, {
		ID: "Things_Get", Method: http.MethodGet, Path: "/things/{thing}", Handle: ok, Summary: "Get a thing or a part.", Headers: []string{"ETag"},
		Answers: map[int]reflect.Type{200: reflect.TypeFor[rest.Either[thing, part]]()}, Failure: reflect.TypeFor[part](),
	}}
}

func TestCase106Metadata(t *testing.T) {
	t.Parallel()
	f := startGateway(t)
	a := f.Do(t, "GET", "/metadata/endpoints?api-version=2022-09-01", nil, "Authorization:", "Host: evil.example")
	require.Equal(t, 200, a.Status)
	require.Equal(t, f.URL, a.At(t, "resourceManager"))
	require.Equal(t, []any{"https://jobs.example/"}, a.At(t, "authentication.audiences"))
	require.Equal(t, "https://login.example", a.At(t, "authentication.loginEndpoint"))
	require.NotContains(t, a.Body, "evil")
	for _, version := range []string{"1.0", "2015-01-01"} {
		a = f.Do(t, "GET", "/metadata/endpoints?api-version="+version, nil, "Authorization:")
		require.Equal(t, f.URL, a.At(t, "graphEndpoint"), version)
		require.Equal(t, []any{"https://jobs.example/"}, a.At(t, "authentication.audiences"))
		require.Nil(t, a.At(t, "resourceManager"))
	}
	require.Equal(t, "MissingApiVersionParameter", f.Do(t, "GET", "/metadata/endpoints", nil).Code(t))
	require.Equal(t, "InvalidApiVersionParameter", f.Do(t, "GET", "/metadata/endpoints?api-version=latest", nil).Code(t))
}

func TestHealth(t *testing.T) {
	t.Parallel()
	f := startGateway(t)
	a := f.Do(t, "GET", "/healthz", nil, "Authorization:")
	require.Equal(t, 200, a.Status)
	a = f.Do(t, "GET", "/readyz", nil, "Authorization:")
	require.Equal(t, 200, a.Status)
	require.JSONEq(t, `{"status":"ready","control_databases":1,"usable":1}`, a.Body)
	require.Equal(t, 405, f.Do(t, "POST", "/readyz", nil).Status)
}

// The parents of the resources are readable stubs.
func TestParents(t *testing.T) {
	t.Parallel()
	f := startGateway(t)
	const v = "?api-version=2021-04-01"
	sub := "/subscriptions/" + front.Subscription
	for path, want := range map[string]string{
		"/tenants":                               "value.0.tenantId = 99999999-0000-0000-0000-000000000000",
		"/subscriptions":                         "value.0.subscriptionId = " + front.Subscription,
		sub:                                      "state = Enabled",
		sub + "/locations":                       "value.0.name = onprem",
		sub + "/providers":                       "value.0.registrationState = Registered",
		sub + "/providers/microsoft.sql":         "namespace = Microsoft.Sql",
		sub + "/resourceGroups":                  "value.0.name = rg1",
		sub + "/resourcegroups/RG1":              "id = " + front.Group,
		sub + "/providers/Microsoft.Sql/servers": "value.0.id = " + front.Servers,
		front.Group + "/providers/Microsoft.Sql/servers": "value.0.name = server1",
		strings.ToUpper(front.Servers):                   "id = " + front.Servers,
		front.Servers + "/databases":                     "value.0.name = jobdb1",
		front.Servers + "/databases/JOBDB1":              "id = " + front.Servers + "/databases/jobdb1",
	} {
		at, value, _ := strings.Cut(want, " = ")
		a := f.DoAs(t, rest.RoleReader, "GET", path+v, nil)
		require.Equal(t, 200, a.Status, "%s: %s", path, a.Body)
		require.Equal(t, value, a.At(t, at), "%s: %s", path, a.Body)
		require.Equal(t, 401, f.Do(t, "GET", path+v, nil, "Authorization:").Status, path)
	}
	require.Equal(t, 200, f.Do(t, "POST", sub+"/providers/Microsoft.Sql/register"+v, nil).Status)
	other := "/subscriptions/11111111-1111-2222-3333-444444444444"
	for path, code := range map[string]string{
		other: "SubscriptionNotFound", other + "/resourceGroups": "SubscriptionNotFound",
		sub + "/resourceGroups/rg2":                                         "ResourceGroupNotFound",
		sub + "/providers/Microsoft.Compute":                                "InvalidResourceNamespace",
		front.Group + "/providers/Microsoft.Sql/servers/server2":            "SubscriptionDoesNotHaveServer",
		sub + "/resourceGroups/rg2/providers/Microsoft.Sql/servers/server1": "ServerNotInSubscriptionResourceGroup",
		front.Servers + "/databases/db2":                                    "ResourceNotFound",
		front.Servers + "/elasticPools":                                     "InvalidResourceType",
	} {
		a := f.Do(t, "GET", path+v, nil)
		require.Equal(t, 404, a.Status, path)
		require.Equal(t, code, a.Code(t), path)
	}
	// A caller without any grant sees nothing.
	a := f.DoAs(t, rest.RoleNone, "GET", "/subscriptions"+v, nil)
	require.Equal(t, 200, a.Status)
	require.JSONEq(t, `{"value":[]}`, a.Body)
	require.Equal(t, 404, f.DoAs(t, rest.RoleNone, "GET", sub+v, nil).Status)
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	f := startGateway(t)
	a := f.Do(t, "GET", "/openapi/sql.json", nil, "Authorization:")
	require.Equal(t, 200, a.Status)
	document, err := openapi3.NewLoader().LoadFromData([]byte(a.Body))
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	put := document.Paths.Find("/things/{thing}").Put
	schema := put.RequestBody.Value.Content["application/json"].Schema.Value
	for text, valid := range map[string]bool{
		`{"name":"a","parts":[{"size":1.5,"exact":true}],"output":null,"tags":{"a":"b"},"self":{"name":"b"},"numbers":[1],"maybe":["x"]}`: true,
		`{"name":"a","unknown":1}`:           true,
		`{}`:                                 false,
		`{"name":1}`:                         false,
		`{"name":"a","parts":[{"more":1}]}`:  false,
		`{"name":"a","numbers":[1.5]}`:       false,
		`{"name":"a","output":{"size":"x"}}`: false,
		`{"name":"a","color":null}`:          true,
		`{"name":"a","color":"blue"}`:        true,
	} {
		var value any
		front.Answer{Body: text}.Into(t, &value)
		err := schema.VisitJSON(value)
		require.Equal(t, valid, err == nil, "%s: %v", text, err)
		require.Equal(t, valid, body.Decode([]byte(text), new(thing), body.Options{}) == nil, "the decoder agrees: %s", text)
	}
	for text, valid := range map[string]bool{
		`{"name":"a","color":"green"}`: false, `{"name":"a","color":1}`: false,
	} {
		var value any
		front.Answer{Body: text}.Into(t, &value)
		err := schema.VisitJSON(value)
		require.Equal(t, valid, err == nil, "%s: %v", text, err)
	}
	answer := func(o *openapi3.Operation, status string) *openapi3.Response { return o.Responses.Value(status).Value }
	names := func(headers openapi3.Headers) []string { return slices.Sorted(maps.Keys(headers)) }
	every := []string{"X-Ms-Client-Request-Id", "X-Ms-Correlation-Request-Id", "X-Ms-Request-Id", "X-Ms-Routing-Request-Id"}
	written := append([]string{"WWW-Authenticate", "X-Ms-Ratelimit-Remaining-Subscription-Writes"}, every...)
	require.ElementsMatch(t, append([]string{"ETag", "Location"}, written...), names(answer(put, "200").Headers))
	require.ElementsMatch(t, append([]string{"Allow", "Retry-After", "X-Ms-Failure-Cause"}, written...), names(answer(put, "default").Headers))
	require.True(t, answer(put, "200").Headers["X-Ms-Request-Id"].Value.Required)
	require.Equal(t, "uuid", answer(put, "200").Headers["X-Ms-Request-Id"].Value.Schema.Value.Format)
	require.False(t, answer(put, "200").Headers["ETag"].Value.Required)
	require.Equal(t, []any{"up", "down"}, put.Parameters.GetByInAndName("query", "order").Schema.Value.Enum)
	for _, name := range []string{"If-Match", "x-ms-client-request-id"} {
		require.NotNil(t, put.Parameters.GetByInAndName("header", name), name)
	}
	failure := answer(put, "default").Content["application/json"].Schema.Value
	require.NoError(t, failure.VisitJSON(map[string]any{"error": map[string]any{"code": "c", "message": "m"}}))
	require.Error(t, failure.VisitJSON(map[string]any{"error": map[string]any{"code": "c"}}))

	get := document.Paths.Find("/things/{thing}").Get
	require.NotNil(t, answer(get, "304").Headers["ETag"], "a GET with If-None-Match")
	require.Len(t, answer(get, "200").Content["application/json"].Schema.Value.AnyOf, 2)
	require.Equal(t, "#/components/schemas/Part", answer(get, "default").Content["application/json"].Schema.Ref)
	require.Equal(t, "int32", schema.Properties["numbers"].Value.Items.Value.Format)
	require.Equal(t, "date-time", schema.Properties["made"].Value.Format)

	for _, path := range []string{"/openapi/nope.json", "/openapi/sql", "/openapi/"} {
		require.Equal(t, 404, f.Do(t, "GET", path, nil).Status, path)
	}
}
