package issuer

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestLogins(t *testing.T) {
	t.Parallel()
	header := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, one := range map[string]struct {
		header, form string
		want         login
	}{
		"basic":                  {header("a:b:c"), "", login{"a", "b:c", true}},
		"basic with the same id": {header("a:b"), "client_id=a", login{"a", "b", true}},
		"escaped id":             {header("a%21:b"), "client_id=a%21", login{"a%21", "b", true}},
		"form":                   {"", "client_id=a&client_secret=b", login{"a", "b", true}},
		"empty secret":           {"", "client_id=a&client_secret=", login{"a", "", true}},
		"certificate":            {"", "client_id=a", login{"a", "", false}},
		"nothing":                {"", "", login{}},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		if one.header != "" {
			r.Header.Set("Authorization", one.header)
		}
		form, err := parseValues(one.form)
		require.NoError(t, err, name)
		got, err := parseLogin(r, form)
		require.NoError(t, err, name)
		require.Equal(t, one.want, got, name)
	}
}

// A request for a token at its limit takes a bounded time and memory.
func TestHostileForms(t *testing.T) { //nolint:paralleltest // it measures
	parse := func(text string) error {
		form, err := parseValues(text)
		if err != nil {
			return err
		}
		_, err = parseLogin(&http.Request{Header: http.Header{"Authorization": {"Basic " + text}}}, form)
		return err
	}
	fill := func(part string) string { return strings.Repeat(part, maxForm/len(part)) }
	var names strings.Builder
	for i := 0; names.Len() < maxForm-10; i++ {
		fmt.Fprintf(&names, "a%d&", i)
	}
	bounds.Check(t, bounds.Cases(map[string]string{
		"many names":    names.String(),
		"the same name": fill("a=b&"),
		"separators":    fill("&"),
		"escapes":       "a=" + fill("%2B")[:maxForm-4],
		"open escapes":  fill("%"),
		"plus signs":    fill("+"),
		"one name":      fill("x"),
		"semicolons":    fill(";"),
		"base64":        base64.StdEncoding.EncodeToString([]byte(fill("x:")))[:maxForm],
	}, parse))
}

func FuzzForm(f *testing.F) {
	f.Add("grant_type=client_credentials&client_id=a", "Basic YTpi")
	f.Add("a=%zz;b", "Basic ")
	f.Fuzz(func(t *testing.T, body, authorization string) {
		var form url.Values
		var err error
		bounds.Allocations(t, len(body), 64<<10, 400, func() { form, err = parseValues(body) })
		if err != nil {
			form = url.Values{}
		}
		for _, values := range form {
			require.Len(t, values, 1)
		}
		r := &http.Request{Header: http.Header{"Authorization": {authorization}}}
		in, err := parseLogin(r, form)
		if err == nil && in.hasSecret && form.Get("client_id") != "" { // without a value, it is omitted (RFC 6749, 3.1)
			require.Contains(t, []string{in.id, unescape(in.id)}, form.Get("client_id"), "one request names one client")
		}
	})
}
