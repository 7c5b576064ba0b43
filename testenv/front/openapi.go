package front

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/gateway"
)

// described is a path of an OpenAPI document.
type described struct {
	pattern    *regexp.Regexp
	parameters int
	item       *openapi3.PathItem
}

// describe reads the OpenAPI documents of mounts, by which [Front.DoAs] checks each answer.
func describe(t testing.TB, mounts []*rest.Mount, publicURL string) (paths []described) {
	t.Helper()
	for _, m := range mounts {
		text, err := gateway.Document(m, publicURL)
		require.NoError(t, err)
		document, err := openapi3.NewLoader().LoadFromData(text)
		require.NoError(t, err)
		require.NoError(t, document.Validate(t.Context()))
		for _, schema := range document.Components.Schemas {
			closeObjects(schema)
		}
		for path, item := range document.Paths.Map() {
			pattern := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
			paths = append(paths, described{
				pattern: regexp.MustCompile("(?i)^" + pattern + "/?$"), parameters: strings.Count(path, "{"), item: item,
			})
		}
	}
	return paths
}

// closeObjects makes objects refuse members that they do not describe. Documents leave objects
// open, so that clients accept later members; answers have none.
func closeObjects(s *openapi3.SchemaRef) {
	if s == nil || s.Ref != "" && s.Value.AdditionalProperties.Has != nil {
		return
	}
	v := s.Value
	if len(v.Properties) > 0 && v.AdditionalProperties.Has == nil && v.AdditionalProperties.Schema == nil {
		closed := false
		v.AdditionalProperties.Has = &closed
	}
	for _, p := range v.Properties {
		closeObjects(p)
	}
	closeObjects(v.Items)
	closeObjects(v.AdditionalProperties.Schema)
}

// formats are the formats that answers keep.
var formats = []openapi3.SchemaValidationOption{
	openapi3.EnableFormatValidation(), openapi3.WithStringFormatValidator("uuid", openapi3.NewCallbackValidator(uuid.Validate)),
	openapi3.WithStringFormatValidator("uri", openapi3.NewCallbackValidator(func(text string) error {
		_, err := url.ParseRequestURI(text)
		return err
	})),
}

// undescribed are the headers of HTTP that no document has.
var undescribed = []string{
	"Content-Type", "Content-Length", "Date", "Connection", "Vary", "Cache-Control", "Pragma", "Expires", "Strict-Transport-Security",
	"X-Content-Type-Options", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
}

// checkHeaders returns how the headers of an answer differ from those of its document.
func checkHeaders(document openapi3.Headers, sent http.Header) error {
	described := map[string]*openapi3.HeaderRef{}
	for name, header := range document {
		described[http.CanonicalHeaderKey(name)] = header
		if header.Value.Required && sent.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	for name, values := range sent {
		if slices.Contains(undescribed, name) {
			continue
		}
		header := described[name]
		if header == nil {
			return fmt.Errorf("the document does not have the header %s: %s", name, values)
		}
		var value any = values[0]
		if header.Value.Schema.Value.Type.Is("integer") {
			n, err := strconv.ParseFloat(values[0], 64)
			if err != nil {
				return fmt.Errorf("the header %s: %w", name, err)
			}
			value = n
		}
		if err := header.Value.Schema.Value.VisitJSON(value, formats...); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	return nil
}

// check fails the test if the answer to a request is not as its OpenAPI document says.
func (f *Front) check(t testing.TB, method, address string, a Answer) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	var best *described
	for i := range f.paths {
		one := &f.paths[i]
		if one.pattern.MatchString(u.EscapedPath()) && (best == nil || one.parameters < best.parameters) {
			best = one
		}
	}
	if best == nil || best.item.GetOperation(method) == nil {
		return
	}
	responses := best.item.GetOperation(method).Responses
	if responses.Len() == 1 { // an operation of the gateway, whose document is not published
		return
	}
	response := responses.Value(strconv.Itoa(a.Status))
	if response == nil {
		require.GreaterOrEqual(t, a.Status, 300, "%s %s: the document does not have the status", method, address)
		response = responses.Default()
	}
	require.NoError(t, checkHeaders(response.Value.Headers, a.Header), "%s %s %d", method, address, a.Status)
	media := response.Value.Content.Get("application/json")
	if media == nil || a.Body == "" {
		require.Empty(t, a.Body, "%s %s %d: the document has no body", method, address, a.Status)
		return
	}
	var value any
	require.NoError(t, json.Unmarshal([]byte(a.Body), &value), a.Body)
	require.NoError(t, media.Schema.Value.VisitJSON(value, formats...), "%s %s %d: %s", method, address, a.Status, a.Body)
}
