package body_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/testenv/bounds"
)

type step struct {
	Name    string               `json:"name" body:"required"`
	Retries int32                `json:"retries"`
	Factor  float64              `json:"factor"`
	On      bool                 `json:"on"`
	Output  body.Field[string]   `json:"output,omitzero"`
	Auth    body.Field[auth]     `json:"authentication,omitzero"`
	Raw     json.RawMessage      `json:"raw"`
	Tags    map[string]string    `json:"tags"`
	Members []auth               `json:"members"`
	Pointer *int                 `json:"pointer"`
	Any     any                  `json:"any"`
	Flags   body.Field[[]string] `json:"flags,omitzero"`
}

type auth struct {
	_    struct{} `body:"closed"`
	Type string   `json:"type"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	var s step
	require.NoError(t, body.Decode([]byte("\ufeff"+` {"name":"a\u00e4\ud83d\ude00\n","retries":3.0,"factor":1e2,"on":true,
		"output":null,"authentication":{"type":"Basic"},"raw":{"x": [1]},"tags":{"k":"v"},"members":[{"type":"x"},null],
		"pointer":7,"any":[1,"a"],"unknown":{"deep":[{}]}} `), &s, body.Options{}))
	require.Equal(t, "aä😀\n", s.Name)
	require.EqualValues(t, 3, s.Retries)
	require.InDelta(t, 100, s.Factor, 0)
	require.True(t, s.On)
	require.True(t, s.Output.Set)
	require.True(t, s.Output.Null)
	_, ok := s.Output.Get()
	require.False(t, ok)
	a, ok := s.Auth.Get()
	require.True(t, ok)
	require.Equal(t, "Basic", a.Type)
	require.JSONEq(t, `{"x":[1]}`, string(s.Raw))
	require.Equal(t, map[string]string{"k": "v"}, s.Tags)
	require.Len(t, s.Members, 2)
	require.Equal(t, 7, *s.Pointer)
	require.Equal(t, []any{1.0, "a"}, s.Any)
	require.False(t, s.Flags.Set)

	encoded, err := json.Marshal(struct {
		A body.Field[int] `json:"a,omitzero"`
		B body.Field[int] `json:"b,omitzero"`
	}{A: body.Some(4)})
	require.NoError(t, err)
	require.JSONEq(t, `{"a":4}`, string(encoded), "an absent field is left out")
}

func TestDecodeFoldsCase(t *testing.T) {
	t.Parallel()
	var s step
	require.NoError(t, body.Decode([]byte(`{"NAME":"a"}`), &s, body.Options{FoldCase: true}))
	require.Equal(t, "a", s.Name)
	require.Equal(t, []string{"DuplicateProperty $.NAME"}, faultsOf(t, `{"name":"a","NAME":"b"}`, body.Options{FoldCase: true}))
	require.Equal(t, []string{"MissingProperty $.name"}, faultsOf(t, `{"NAME":"a"}`, body.Options{}))
}

// faultsOf returns the faults of a body as "code path".
func faultsOf(t *testing.T, text string, opts body.Options) (list []string) {
	t.Helper()
	err := body.Decode([]byte(text), new(step), opts)
	if err == nil {
		return nil
	}
	var e *rest.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, 400, e.Status)
	require.Equal(t, rest.CodeInvalidBody, e.Code)
	require.Equal(t, e.Details[0].Target, e.Target)
	for _, d := range e.Details {
		require.NotEmpty(t, d.Message)
		list = append(list, d.Code+" "+d.Target)
	}
	return list
}

func TestDecodeReportsAllFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"name":1,"retries":"3","on":"true","members":[{"type":2,"more":1},5],"tags":{"a b":1},"name":"twice"}`: {
			"DuplicateProperty $.name", "InvalidType $.name", "InvalidType $.retries", "InvalidType $.on", "InvalidType $.members[0].type",
			"UnknownProperty $.members[0].more", "InvalidType $.members[1]", `InvalidType $.tags["a b"]`,
		},
		`{"name":"a","retries":1.5}`:                  {"InvalidType $.retries"},
		`{"name":"a","retries":3000000000}`:           {"InvalidValue $.retries"},
		`{"name":"a","retries":1e999,"factor":1e999}`: {"InvalidValue $.retries", "InvalidValue $.factor"},
		`{"name":null}`:                               {"MissingProperty $.name"},
		`{}`:                                          {"MissingProperty $.name"},
		`[]`:                                          {"InvalidType $"},
		``:                                            {"InvalidJSON $"},
		" \n":                                         {"InvalidJSON $"},
		`{"name":"a"} x`:                              {"InvalidJSON $"},
		`{"name":"a"}{}`:                              {"InvalidJSON $"},
		`{"name":"a",}`:                               {"InvalidJSON $"},
		`{"name":"a"`:                                 {"InvalidJSON $"},
		`{"name" "a"}`:                                {"InvalidJSON $"},
		`{name:"a"}`:                                  {"InvalidJSON $"},
		`{"name":'a'}`:                                {"InvalidJSON $.name"},
		`{"name":"a` + "\n" + `"}`:                    {"InvalidJSON $.name"},
		"{\"name\":\"\xff\"}":                         {"InvalidJSON $.name"},
		`{"name":"\ud83d"}`:                           {"InvalidJSON $.name"},
		`{"name":"\ud83d\u0041"}`:                     {"InvalidJSON $.name"},
		`{"name":"\x"}`:                               {"InvalidJSON $.name"},
		`{"name":"\u12`:                               {"InvalidJSON $.name"},
		`{"name":"a\`:                                 {"InvalidJSON $.name"},
		`{"name":"a","retries":01}`:                   {"InvalidJSON $.retries"},
		`{"name":"a","retries":+1}`:                   {"InvalidJSON $.retries"},
		`{"name":"a","retries":1.}`:                   {"InvalidJSON $.retries"},
		`{"name":"a","retries":-}`:                    {"InvalidJSON $.retries"},
		`{"name":"a","retries":1e}`:                   {"InvalidJSON $.retries"},
		`{"name":"a","retries":NaN}`:                  {"InvalidJSON $.retries"},
		`{"name":"a","any":[1 2]}`:                    {"InvalidJSON $.any"},
		strings.Repeat("[", 101) + strings.Repeat("]", 1): {"InvalidJSON $" + strings.Repeat("[0]", 100)},
	} {
		require.Equal(t, want, faultsOf(t, text, body.Options{}), text)
	}
}

func TestDecodeAllowsEmptyBodies(t *testing.T) {
	t.Parallel()
	var dst struct{ A int }
	require.NoError(t, body.Decode(nil, &dst, body.Options{AllowEmpty: true}))
}

// What the parser accepts and what encoding/json accepts is the same, but for duplicate names, the
// depth, and text that is not Unicode.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\u0041",null,true]}`, `[]`, `-0`, `"\ud83d\ude00"`, "\xff", `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var raw json.RawMessage
		var err error
		bounds.Allocations(t, len(text), 64<<10, 400, func() { err = body.Decode(text, &raw, body.Options{}) })
		if err == nil && !json.Valid([]byte(strings.TrimPrefix(string(text), "\ufeff"))) {
			t.Errorf("%q is accepted", text)
		}
		if err != nil && json.Valid(text) {
			var e *rest.Error
			require.True(t, errors.As(err, &e))
			m := e.Message
			if !strings.Contains(m, "twice") && !strings.Contains(m, "nested") && !strings.Contains(m, "UTF-8") && !strings.Contains(m, "surrogate") {
				t.Errorf("%q is refused: %s", text, m)
			}
		}
	})
}
