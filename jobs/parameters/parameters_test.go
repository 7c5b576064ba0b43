package parameters

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLookup(t *testing.T) {
	t.Parallel()
	p, err := Parse(` {"tenant": "it's <a> \"é\"\n", "n": -1.50, "yes": true, "none": null, "z": {"b": [1, {"c": "x"}], "a": {}},
		"param": 7, "a.b": 1} `)
	require.NoError(t, err)
	cases := map[string]Value{
		"param.tenant":    {String, "it's <a> \"é\"\n"},
		"payload.tenant":  {String, "it's <a> \"é\"\n"},
		"PARAM.n":         {Number, "-1.50"},
		"param.yes":       {Bool, "true"},
		"param.none":      {Null, ""},
		"param.z":         {JSON, `{"b":[1,{"c":"x"}],"a":{}}`},
		"param.z.a":       {JSON, `{}`},
		"Payload.z.b.1.c": {String, "x"},
		"param.z.b.0":     {Number, "1"},
		"param.param":     {Number, "7"},
		"payload.z.b":     {JSON, `[1,{"c":"x"}]`},
	}
	for name, want := range cases {
		require.True(t, IsName(name), name)
		got, ok := p.Lookup(name)
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"param.", "param.Tenant", "param.n.x", "param.z.b.2", "param.z.b.-1", "param.z.b.01", "param.a.b",
		"param..n", "payload.x", "param.none.x"} {
		require.True(t, IsName(name), name)
		_, ok := p.Lookup(name)
		require.False(t, ok, name)
	}
	for _, name := range []string{"param", "params.x", "secret.x", "job_name", "", ".", "x.param"} {
		require.False(t, IsName(name), name)
		_, ok := p.Lookup(name)
		require.False(t, ok, name)
	}
	whole, ok := p.Lookup("payload")
	require.True(t, ok)
	require.Equal(t, JSON, whole.Kind)
	require.JSONEq(t, p.Text(), whole.Text)
	require.True(t, strings.HasPrefix(whole.Text, `{"tenant":"it's <a>`), whole.Text)
	require.Equal(t, []string{"tenant", "n", "yes", "none", "z", "param", "a.b"}, p.Names())
	dotted, ok := p.Member("a.b")
	require.True(t, ok)
	require.Equal(t, Value{Number, "1"}, dotted)
}

// A run without parameters has the empty object.
func TestNone(t *testing.T) {
	t.Parallel()
	p, err := Parse(" \n")
	require.NoError(t, err)
	require.Nil(t, p)
	require.Empty(t, p.Text())
	require.Empty(t, p.Names())
	_, ok := p.Member("x")
	require.False(t, ok)
	_, ok = p.Lookup("param.x")
	require.False(t, ok)
	v, ok := p.Lookup("payload")
	require.True(t, ok)
	require.Equal(t, Value{JSON, "{}"}, v)
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[]":                            "want a JSON object",
		`"x"`:                           "want a JSON object",
		`null`:                          "want a JSON object",
		`{} {}`:                         "want nothing after the JSON object",
		`{}x`:                           "want nothing after the JSON object",
		`{"a": 1, "a": 2}`:              `the name "a" is there twice`,
		`{"b": [{"a": 1, "\u0061":2}]}`: `the name "a" is there twice`,
		`{"a": 1`:                       "unexpected EOF",
		`{"a": }`:                       "invalid character",
		`{"a": 01}`:                     "invalid character",
		"{\"a\": \"\x01\"}":             "invalid character",
		`{"a": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: "want at most 128 levels",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

// Every text that Parse accepts is JSON for encoding/json, and what payload stands for is equal to
// it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":{"b":[null,true,"x\u2028",1e5]}}`, `{"":""}`, `[1]`, `{"a":1,"a":2}`, `{"\ud800":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p *Parameters
		var err error
		bounds.Allocations(t, len(text), 256<<10, 2000, func() { p, err = Parse(text) })
		if err != nil || p == nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("Parse accepts %q", text)
		}
		whole, ok := p.Lookup(Payload)
		if !ok || !json.Valid([]byte(whole.Text)) {
			t.Fatalf("payload of %q is %q", text, whole.Text)
		}
		again, err := Parse(whole.Text)
		if err != nil {
			t.Fatalf("%q: %v", whole.Text, err)
		}
		if v, _ := again.Lookup(Payload); v != whole {
			t.Fatalf("%q becomes %q", whole.Text, v.Text)
		}
		for _, name := range p.Names() {
			if _, ok := p.Member(name); !ok {
				t.Fatalf("no member %q in %q", name, text)
			}
		}
	})
}
