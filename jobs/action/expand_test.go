package action

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// decode returns a definition without faults.
func decode(t testing.TB, kind Type, text string) *Definition {
	t.Helper()
	d, err := Decode(kind, text)
	require.NoError(t, err)
	return d
}

// values returns variables with fixed values, and parameters from a payload.
func values(payload string, fixed map[string]string) Variables {
	p, err := parameters.Parse(payload)
	if err != nil {
		panic(err)
	}
	return func(name string) (Value, bool, error) {
		if v, ok := fixed[name]; ok {
			return Text(v), true, nil
		}
		v, ok := Parameter(p, name)
		return v, ok, nil
	}
}

func TestCase114(t *testing.T) {
	payload := `{"name": "O\"Neil\nX: y"}`

	d := decode(t, TypeHTTP, `{"url": "https://h.example/", "body": {"n": "$(payload.name)"}}`)
	x, err := d.Expand(values(payload, nil))
	require.NoError(t, err)
	assert.JSONEq(t, `{"n": "O\"Neil\nX: y"}`, string(x.HTTP.Body))

	d = decode(t, TypeHTTP, `{"url": "https://h.example/", "body": "{\"n\": \"$(payload.name)\"}"}`)
	x, err = d.Expand(values(payload, nil))
	require.NoError(t, err)
	assert.JSONEq(t, `{"n": "O\"Neil\nX: y"}`, string(x.HTTP.Body))

	d = decode(t, TypeHTTP, `{"url": "https://h.example/", "headers": {"X-Name": "$(payload.name)"}}`)
	_, err = d.Expand(values(payload, nil))
	require.EqualError(t, err, `invalid definition of an action: $.headers."X-Name": the value of "payload.name" contains a control character such as a line break`)

	_, err = Decode(TypeHTTP, `{"url": "https://h.example/$(x)"}`)
	require.EqualError(t, err, `invalid definition of an action: $.url: unknown variable "x"`)

	d = decode(t, TypeHTTP, `{"url": "https://h.example/$(param.x)", "body": "$(error.message)"}`)
	_, err = d.Expand(values(payload, nil))
	require.EqualError(t, err, `invalid definition of an action: $.url: the variable "param.x" has no value here; `+
		`$.body: the variable "error.message" has no value here`)
}

// TestCase64 sends the data of a job in a query (S-49).
func TestCase64(t *testing.T) {
	d := decode(t, TypeHTTP, `{"method": "GET", "url": "https://h.example/x?k=v", "payload": "query"}`)
	x, err := d.Expand(values(`{"a": 1, "b": [1, 2], "c": {"d": null}, "e": "x y"}`, nil))
	require.NoError(t, err)
	assert.Equal(t, "https://h.example/x?k=v&a=1&b=1&b=2&c=%7B%22d%22%3Anull%7D&e=x+y", x.HTTP.URL)
	assert.Empty(t, x.HTTP.Body)

	x, err = d.Expand(values("", nil))
	require.NoError(t, err)
	assert.Equal(t, "https://h.example/x?k=v", x.HTTP.URL)

	d = decode(t, TypeHTTP, `{"method": "PUT", "url": "https://h.example/x", "payload": "body"}`)
	x, err = d.Expand(values("", nil))
	require.NoError(t, err)
	assert.Equal(t, "{}", string(x.HTTP.Body), "S-50")
	assert.True(t, x.HTTP.BodyJSON)
}

// The expanded definition names the bound secrets that it contains, in whatever place, and
// everything that receives them.
func TestExpandNamesBoundSecrets(t *testing.T) {
	t.Parallel()
	d, err := Decode(TypeHTTP, `{"endpoints": ["https://a.example.com/?k=$(secret.one)", "https://b.example.com:8443/"], "method": "POST",
		"headers": {"X-Key": "$(secret.two)"}, "body": {"x": "$(secret.one) $(secret.free) $(param.text)"},
		"auth": {"kind": "oauth2-client-credentials", "token_url": "https://login.example.com/t", "client_id": "c", "client_secret": "$(secret.three)"}}`)
	require.NoError(t, err)
	x, err := d.Expand(func(name string) (Value, bool, error) {
		switch name {
		case "secret.free":
			return Secret("free"), true, nil
		case "param.text":
			return Text("$(secret.four)"), true, nil // no template, but a text
		}
		return Secret("v", name+".example.com"), true, nil
	})
	require.NoError(t, err)
	assert.ElementsMatch(t, []BoundSecret{
		{"one", []string{"secret.one.example.com"}}, {"two", []string{"secret.two.example.com"}}, {"three", []string{"secret.three.example.com"}},
	}, x.Bound)
	assert.Empty(t, d.Bound)
	assert.Equal(t, []string{"https://a.example.com/?k=v", "https://login.example.com/t"}, x.Addresses(1))
	assert.Equal(t, []string{"https://b.example.com:8443/", "https://login.example.com/t"}, x.Addresses(2))
	assert.Equal(t, []string{"https://a.example.com/?k=v", "https://login.example.com/t"}, x.Addresses(3))

	for want, other := range map[string]Definition{
		"https://store.queue.core.windows.net": {StorageQueue: &StorageQueue{Account: "store"}},
		"http://127.0.0.1:10001/store":         {StorageQueue: &StorageQueue{Account: "http://127.0.0.1:10001/store"}},
		"https://ns.servicebus.windows.net":    {ServiceBus: &ServiceBus{Namespace: "ns"}},
		"amqps://bus.example.com":              {ServiceBus: &ServiceBus{Namespace: "bus.example.com", AMQP: true}},
		"process:Export":                       {Process: &Process{Entry: "Export"}},
	} {
		assert.Equal(t, []string{want}, other.Addresses(1))
	}
}

func TestExpand(t *testing.T) {
	payload := `{"text": "a/b?c&d=é \"<'>", "n": 12.50, "t": true, "z": null, "o": {"k": ["x", 7]}, "dots": "..", "empty": "", "host": "eu.api"}`
	fixed := map[string]string{"database_name": "Sales 2026", "server_name": "sql1", "secret.token": "t0p/s", "callback_url": "https://cb.example/callbacks/abc"}
	tests := []struct {
		name, text string
		url        string
		body       string
		fault      string
	}{
		{name: "path", text: `{"url": "https://h.example/a/$(database_name)/b"}`, url: "https://h.example/a/Sales%202026/b"},
		{name: "path with delimiters", text: `{"url": "https://h.example/$(param.text)"}`, url: "https://h.example/a%2Fb%3Fc&d=%C3%A9%20%22%3C%27%3E"},
		{name: "query", text: `{"url": "https://h.example/?q=$(param.text)&r=$(param.n)"}`, url: "https://h.example/?q=a%2Fb%3Fc%26d%3D%C3%A9+%22%3C%27%3E&r=12.50"},
		{name: "query without a path", text: `{"url": "https://h.example?q=$(param.text)"}`, url: "https://h.example?q=a%2Fb%3Fc%26d%3D%C3%A9+%22%3C%27%3E"},
		{name: "host", text: `{"url": "https://$(server_name).$(param.host).example:8443/"}`, url: "https://sql1.eu.api.example:8443/"},
		{name: "host with a delimiter", text: `{"url": "https://$(param.text).example/"}`, fault: `$.url: the value of "param.text" does not fit into a host: want letters, digits, dots and hyphens`},
		{name: "raw host", text: `{"url": "https://$(raw:param.text).example/"}`, fault: `$.url: the value of "param.text" does not fit into a host: want letters, digits, dots and hyphens`},
		{name: "raw path", text: `{"url": "https://h.example/$(raw:secret.token)"}`, url: "https://h.example/t0p/s"},
		{name: "raw path with a blank", text: `{"url": "https://h.example/$(raw:database_name)"}`, fault: `$.url: the value of "database_name" contains a character that may not stand in a URL`},
		{name: "parent", text: `{"url": "https://h.example/a/$(param.dots)/b"}`, fault: "$.url: a value makes a segment of the path . or .., which would lead to another path"},
		{name: "own parent", text: `{"url": "https://h.example/a/../$(param.n)"}`, url: "https://h.example/a/../12.50"},
		{name: "nothing in a path", text: `{"url": "https://h.example/a/$(param.empty)"}`, fault: `$.url: the value of "param.empty" is empty, which would leave out a segment of the path`},
		{name: "numbers in JSON", text: `{"url": "https://h.example/", "body": "{\"n\": $(param.n), \"t\": $(param.t), \"z\": $(param.z), \"s\": $(param.host), \"o\": $(param.o)}"}`, body: `{"n": 12.50, "t": true, "z": null, "s": "eu.api", "o": {"k":["x",7]}}`},
		{name: "JSON in a string", text: `{"url": "https://h.example/", "body": {"o": "$(param.o)", "z": "$(param.z)", "e": "$(param.o.k.1)"}}`, body: `{"o":"{\"k\":[\"x\",7]}","z":"","e":"7"}`},
		{name: "a whole string as JSON", text: `{"url": "https://h.example/", "body": {"o": "$(json:param.o)", "s": "x $(json:param.host)", "t": "$(json:param.text)"}}`, body: `{"o":{"k":["x",7]},"s":"x \"eu.api\"","t":"a/b?c&d=é \"<'>"}`},
		{name: "raw in JSON", text: `{"url": "https://h.example/", "body": {"o": "$(raw:param.text)"}}`, fault: "$.body: the expanded text is not JSON"},
		{name: "XML", text: `{"url": "https://h.example/", "body": "<a b='$(param.text)'>$(param.text)</a>"}`, body: `<a b='a/b?c&amp;d=é &#34;&lt;&#39;&gt;'>a/b?c&amp;d=é &#34;&lt;&#39;&gt;</a>`},
		{name: "form", text: `{"url": "https://h.example/", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "a=$(param.text)&b=1"}`, body: "a=a%2Fb%3Fc%26d%3D%C3%A9+%22%3C%27%3E&b=1"},
		{name: "text", text: `{"url": "https://h.example/", "body": "to $(param.text)"}`, body: `to a/b?c&d=é "<'>`},
		{name: "text that looks like JSON", text: `{"url": "https://h.example/", "headers": {"content-type": "text/plain"}, "body": "{\"a\": \"$(param.text)\"}"}`, body: `{"a": "a/b?c&d=é "<'>"}`},
		{name: "an escaped template", text: `{"url": "https://h.example/", "body": "$$(param.x) $$$(param.n)"}`, body: "$(param.x) $$(param.n)"},
		{name: "names in another case", text: `{"url": "https://h.example/", "body": "$(DATABASE_NAME) $(Param.host)"}`, body: "Sales 2026 eu.api"},
		{name: "values that look like templates", text: `{"url": "https://h.example/", "body": "$(param.o.k.0)"}`, body: "x"},
		{name: "too large", text: `{"url": "https://h.example/", "body": "$(param.text)` + strings.Repeat("a", maxBody) + `"}`, fault: "$.body: invalid text of 262159 bytes: want at most 262144"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			d := decode(t, TypeHTTP, c.text)
			before := d.Encode()
			x, err := d.Expand(values(payload, fixed))
			assert.Equal(t, before, d.Encode(), "Expand changes a copy")
			if c.fault != "" {
				require.EqualError(t, err, "invalid definition of an action: "+c.fault)
				return
			}
			require.NoError(t, err)
			if c.url != "" {
				assert.Equal(t, c.url, x.HTTP.URL)
			}
			if c.body != "" {
				assert.Equal(t, c.body, string(x.HTTP.Body))
			}
		})
	}
}

// TestNames checks which variables are read, and which texts are masked.
func TestNames(t *testing.T) {
	d := decode(t, TypeHTTP, `{"url": "https://h.example/$(Run_ID)", "headers": {"Authorization": "Bearer $(secret.Token)"},
		"body": {"u": "$(callback_url)", "v": "$(run_id)"}, "callback": true}`)
	assert.Equal(t, []string{"callback_url", "run_id", "secret.Token"}, d.Names())

	var asked []string
	x, err := d.Expand(func(name string) (Value, bool, error) {
		asked = append(asked, name)
		return Text("v/" + name), true, nil
	})
	require.NoError(t, err)
	assert.ElementsMatch(t, d.Names(), asked, "each is asked for once")
	assert.Equal(t, []string{"v/secret.Token", "v%2Fsecret.Token", "v/callback_url", "v%2Fcallback_url"}, x.Secrets)
	assert.Equal(t, "Bearer v/secret.Token", x.HTTP.Headers[0].Value)

	broken := errors.New("the control database is away")
	_, err = d.Expand(func(string) (Value, bool, error) { return Value{}, false, broken })
	assert.Equal(t, broken, err)

	d = decode(t, TypeHTTP, `{"url": "https://h.example/", "payload": "query", "method": "GET"}`)
	assert.Equal(t, []string{"payload"}, d.Names())
}

func TestExpandQueue(t *testing.T) {
	d := decode(t, TypeStorageQueue, `{"account": "store1", "queue": "q-$(param.q)", "message": {"db": "$(database_name)"}, "sas_token": "$(secret.sas)"}`)
	fixed := map[string]string{"database_name": `a"b`, "secret.sas": "?sv=1&sp=a&sig=abc%3D"}
	x, err := d.Expand(values(`{"q": "west"}`, fixed))
	require.NoError(t, err)
	assert.Equal(t, "q-west", x.StorageQueue.Queue)
	assert.Equal(t, `{"db":"a\"b"}`, x.StorageQueue.Message)

	_, err = d.Expand(values(`{"q": "West"}`, fixed))
	require.EqualError(t, err, `invalid definition of an action: $.queue: invalid queue name "q-West": want 3 to 63 lower-case letters, digits and single hyphens`)
	_, err = d.Expand(values(`{"q": "a/b"}`, fixed))
	require.ErrorContains(t, err, `$.queue: the value of "param.q" does not fit into a name`)
	fixed["secret.sas"] = "hush"
	_, err = d.Expand(values(`{"q": "west"}`, fixed))
	require.EqualError(t, err, "invalid definition of an action: $.sas_token: invalid token: want a query string with the parameter sig")
}

func TestServer(t *testing.T) {
	tests := []struct {
		kind       Type
		text, want string
	}{
		{TypeHTTP, `{"url": "https://H.example:443/x"}`, "h.example"},
		{TypeHTTP, `{"url": "https://h.example:8443/x"}`, "h.example:8443"},
		{TypeHTTP, `{"url": "https://h.example?x=/y"}`, "h.example"},
		{TypeHTTP, `{"url": "http://h.example:80", "allow_http": true}`, "h.example"},
		{TypeHTTP, `{"url": "https://[2001:db8::1]:8443/"}`, "[2001:db8::1]:8443"},
		{TypeHTTP, `{"endpoints": ["https://a.example/", "https://b.example/"]}`, "a.example"},
		{TypeStorageQueue, `{"account": "store1", "queue": "abc", "message": "m"}`, "store1.queue.core.windows.net"},
		{TypeStorageQueue, `{"account": "store.example", "queue": "abc", "message": "m"}`, "store.example"},
		{TypeStorageQueue, `{"account": "http://127.0.0.1:10001/devstoreaccount1", "allow_http": true, "queue": "abc", "message": "m"}`, "127.0.0.1:10001"},
		{TypeServiceBusQueue, `{"namespace": "my-name", "queue": "q", "message": "m"}`, "my-name.servicebus.windows.net"},
		{TypeServiceBusTopic, `{"namespace": "ns.example.com:5671", "topic": "t", "message": "m"}`, "ns.example.com:5671"},
		{TypeProcess, `{"entry": "backup"}`, "process:backup"},
		{TypeDrift, `{"against": "s/d"}`, ""},
	}
	for _, c := range tests {
		got, err := decode(t, c.kind, c.text).Server()
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err := decode(t, TypeHTTP, `{"url": "https://$(server_name)/"}`).Server()
	require.EqualError(t, err, "the host contains a template")

	h := decode(t, TypeHTTP, `{"endpoints": ["https://a.example/", "https://b.example/"]}`).HTTP
	assert.Equal(t, []string{"https://a.example/", "https://b.example/", "https://a.example/"}, []string{h.Endpoint(1), h.Endpoint(2), h.Endpoint(3)})
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]Type{"": TypeTSQL, "tsql": TypeTSQL, "HTTP": TypeHTTP, "servicebustopic": TypeServiceBusTopic} {
		got, err := ParseType(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := ParseType("StorageQeue")
	require.ErrorContains(t, err, `invalid command type "StorageQeue": want TSql, Http, `)
	require.ErrorContains(t, err, `, Drift; did you mean "StorageQueue"?`)
	_, err = Decode(TypeTSQL, "{}")
	require.EqualError(t, err, "invalid definition of an action: $: a command of type TSql has no definition")
}

// FuzzPlaces looks for values that leave the place where their template stands.
func FuzzPlaces(f *testing.F) {
	for _, seed := range []string{"", "a", `"`, "\r\nHost: x", "../..", "a/b?c#d", "%2e%2e", "]]>", "<a>", "&", "'", "\x00", "\xff", "$(secret.x)", "$$(", "@evil.example", `\`, "\u2028"} {
		f.Add(seed)
	}
	header := decode(f, TypeHTTP, `{"url": "https://h.example/", "headers": {"X-A": "a $(param.v) b"}}`)
	address := decode(f, TypeHTTP, `{"url": "https://h.example/a/$(param.v)/b?q=$(param.v)&r=1", "method": "GET"}`)
	host := decode(f, TypeHTTP, `{"url": "https://a$(param.v).h.example/x"}`)
	inJSON := decode(f, TypeHTTP, `{"url": "https://h.example/", "body": "{\"a\": \"x$(param.v)y\", \"b\": $(param.v), \"c\": [\"$(json:param.v)\"]}"}`)
	inXML := decode(f, TypeHTTP, `{"url": "https://h.example/", "body": "<m a=\"$(param.v)\"><t>$(param.v)</t></m>"}`)
	form := decode(f, TypeHTTP, `{"url": "https://h.example/", "headers": {"Content-Type": "application/x-www-form-urlencoded"}, "body": "a=$(param.v)&b=1"}`)
	f.Fuzz(func(t *testing.T, value string) {
		vars := func(string) (Value, bool, error) { return Text(value), true, nil }
		clean := string([]rune(value)) // as encoding/json replaces invalid bytes

		if x, err := header.Expand(vars); err == nil {
			assert.Equal(t, "a "+value+" b", x.HTTP.Headers[0].Value)
			assert.False(t, strings.ContainsAny(x.HTTP.Headers[0].Value, "\r\n\x00"))
		}
		if x, err := address.Expand(vars); err == nil {
			u, err := url.Parse(x.HTTP.URL)
			require.NoError(t, err)
			assert.Equal(t, "h.example", u.Host)
			assert.Equal(t, "/a/"+value+"/b", u.Path)
			assert.Equal(t, 4, len(strings.Split(u.EscapedPath(), "/")))
			assert.NotContains(t, []string{".", "..", ""}, value)
			query, err := url.ParseQuery(u.RawQuery)
			require.NoError(t, err)
			assert.Equal(t, url.Values{"q": {value}, "r": {"1"}}, query)
			assert.Empty(t, u.Fragment)
		}
		if x, err := host.Expand(vars); err == nil {
			u, err := url.Parse(x.HTTP.URL)
			require.NoError(t, err)
			assert.True(t, strings.HasSuffix(u.Host, ".h.example"), u.Host)
			assert.Nil(t, u.User)
			assert.Equal(t, "/x", u.Path)
		}
		x, err := inJSON.Expand(vars)
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(x.HTTP.Body, &got))
		assert.Equal(t, map[string]any{"a": "x" + clean + "y", "b": clean, "c": []any{clean}}, got)
		if x, err := inXML.Expand(vars); err == nil {
			var m struct {
				Attrs []xml.Attr `xml:",any,attr"`
				T     []string   `xml:"t"`
				Rest  []struct{} `xml:",any"`
			}
			require.NoError(t, xml.Unmarshal(x.HTTP.Body, &m))
			require.Len(t, m.Attrs, 1)
			assert.Equal(t, value, m.Attrs[0].Value)
			assert.Equal(t, []string{value}, m.T)
			assert.Empty(t, m.Rest)
		}
		x, err = form.Expand(vars)
		require.NoError(t, err)
		query, err := url.ParseQuery(string(x.HTTP.Body))
		require.NoError(t, err)
		assert.Equal(t, url.Values{"a": {value}, "b": {"1"}}, query)
	})
}

// FuzzDecode looks for texts that make Decode panic, and for definitions that Encode changes.
func FuzzDecode(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(string(v.Type), v.Text)
	}
	f.Fuzz(func(t *testing.T, kind, text string) {
		var d *Definition
		var err error
		bounds.Allocations(t, len(text), 1<<20, 4000, func() { d, err = Decode(Type(kind), text) })
		if err != nil {
			var faults *Faults
			require.ErrorAs(t, err, &faults)
			require.NotEmpty(t, faults.List)
			require.Nil(t, d)
			return
		}
		again, err := Decode(d.Type, d.Encode())
		require.NoError(t, err, d.Encode())
		assert.Equal(t, d.Encode(), again.Encode())
		_, _ = d.Server()
		d.Names()
		bounds.Allocations(t, len(text), 1<<20, 4000, func() {
			_, _ = d.Expand(func(name string) (Value, bool, error) { return Text(name), true, nil })
		})
	})
}
