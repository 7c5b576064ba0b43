package rest

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScopeForPeople(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/subscriptions/s/resourceGroups/g/providers/Microsoft.Sql/servers/v/jobAgents/a",
		Scope{Subscription: "s", ResourceGroup: "g", Server: "v", Agent: "a"}.String())
	require.Equal(t, "/", Scope{}.String())
	require.Equal(t, "instance i", Scope{Instance: "i"}.String())
	err := (&Request{Principal: Principal{Name: "ann"}, Operation: &Operation{ID: "Jobs_Delete"}, Scope: Scope{Subscription: "s"}}).Require(RoleAdmin)
	require.ErrorContains(t, err, "ann may not perform Jobs_Delete at the scope /subscriptions/s: it needs the role admin")
}

// Azure Resource Manager takes the names of parameters in any case.
func TestCanonicalQuery(t *testing.T) {
	t.Parallel()
	op := &Operation{Query: []Parameter{{Name: "$top"}}}
	q, err := Query{{"API-Version", "v"}, {"$TOP", "1"}, {"Other", "x"}}.canonical(op)
	require.NoError(t, err)
	require.Equal(t, Query{{"api-version", "v"}, {"$top", "1"}, {"Other", "x"}}, q)
	_, err = Query{{"api-version", "v"}, {"API-VERSION", "w"}}.canonical(op)
	require.ErrorContains(t, err, "given twice")
}

// Only JSON without a coding is read. ARM surfaces read a body without a type as JSON.
func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header, value string
		arm, refused  bool
	}{
		{"", "", true, false}, {"Content-Type", "application/json; charset=utf-8", true, false}, {"Content-Type", "application/merge-patch+json", true, false},
		{"Content-Type", "application/x-www-form-urlencoded", true, true}, {"Content-Type", ";", true, true},
		{"Content-Type", "text/plain", false, false}, {"Content-Encoding", "gzip", false, true}, {"Content-Encoding", "identity", true, false},
	} {
		e := &exchange{w: recorder{}, request: &Request{
			HTTP: &http.Request{Header: http.Header{}}, Mount: &Mount{ARM: c.arm}, Operation: &Operation{Body: reflect.TypeFor[int]()},
		}}
		if c.header != "" {
			e.request.HTTP.Header.Set(c.header, c.value)
		}
		err := e.checkMedia()
		require.Equal(t, c.refused, err != nil, "%+v: %v", c, err)
	}
}

// recorder has a header only.
type recorder struct{ http.ResponseWriter }

func (recorder) Header() http.Header { return http.Header{} }

func TestUnchanged(t *testing.T) {
	t.Parallel()
	for sent, same := range map[string]bool{`"a"`: true, `W/"a"`: true, `"b", "a"`: true, "*": true, `"b"`: false, "": false} {
		w := tagged{http.Header{"Etag": {`"a"`}}}
		e := &exchange{w: w, request: &Request{HTTP: &http.Request{Method: http.MethodGet, Header: http.Header{"If-None-Match": {sent}}}}}
		require.Equal(t, same, e.unchanged(&Response{Status: http.StatusOK}), sent)
	}
}

// tagged has a header only.
type tagged struct{ header http.Header }

func (t tagged) Header() http.Header       { return t.header }
func (tagged) Write(b []byte) (int, error) { return len(b), nil }
func (tagged) WriteHeader(int)             {}
