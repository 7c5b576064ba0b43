package front

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
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
		for path, item := range document.Paths.Map() {
			pattern := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
			paths = append(paths, described{
				pattern: regexp.MustCompile("(?i)^" + pattern + "/?$"), parameters: strings.Count(path, "{"), item: item,
			})
		}
	}
	return paths
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
	media := response.Value.Content.Get("application/json")
	if media == nil || a.Body == "" {
		require.Empty(t, a.Body, "%s %s %d: the document has no body", method, address, a.Status)
		return
	}
	var value any
	require.NoError(t, json.Unmarshal([]byte(a.Body), &value), a.Body)
	require.NoError(t, media.Schema.Value.VisitJSON(value), "%s %s %d: %s", method, address, a.Status, a.Body)
}
