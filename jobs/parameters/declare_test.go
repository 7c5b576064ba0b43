package parameters

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
)

const declared = `[{"name":"tenant","type":"text","required":true,"description":"Which"},{"name":"days","type":"integer","default":7},` +
	`{"name":"mode","type":"text","default":"fast","choices":["fast","full"]},{"name":"until","type":"date"},{"name":"at","type":"datetime"},` +
	`{"name":"dry","type":"boolean","default":false},{"name":"rate","type":"number"}]`

func TestDeclarations(t *testing.T) {
	t.Parallel()
	list, err := ParseDeclarations(declared)
	require.NoError(t, err)
	require.Equal(t, declared, EncodeDeclarations(list))
	for _, none := range []string{"", " ", "[]"} {
		list, err := ParseDeclarations(none)
		require.NoError(t, err)
		require.Empty(t, EncodeDeclarations(list))
	}
	for text, want := range map[string]string{
		`{"name": "a"}`:                                                                  "want a JSON array of objects",
		`["a"]`:                                                                          "want a JSON array of objects",
		`[], "x": []`:                                                                    "want a JSON array of objects",
		`[{"type": "text"}]`:                                                             "element 1: invalid name",
		`[{"name": "a.b"}]`:                                                              `"a.b": invalid name`,
		`[{"name": "a"}, {"name": "A"}]`:                                                 `"A": it is declared twice`,
		`[{"name": "a", "defautl": 1}]`:                                                  `unknown member "defautl"`,
		`[{"name": "a", "type": "a", "type": "b"}]`:                                      `the name "type" is there twice`,
		`[{"name": "a", "required": "yes"}]`:                                             "want true or false",
		`[{"name": "a", "type": "integr"}]`:                                              `did you mean "integer"?`,
		`[{"name": "a", "required": true, "default": "x"}]`:                              "a required parameter has no default",
		`[{"name": "a", "choices": []}]`:                                                 "want 1 to 100 choices",
		`[{"name": "a", "choices": ["x", "x"]}]`:                                         "want 1 to 100 choices",
		`[{"name": "a", "type": "boolean", "choices": [true]}]`:                          "want 1 to 100 choices",
		`[{"name": "a", "choices": ["x"], "default": "X"}]`:                              "the default is not one of the choices",
		`[{"name": "a", "type": "integer", "default": 1.5}]`:                             "want an integer",
		`[{"name": "d", "type": "date", "choices": ["2026-02-30"]}]`:                     `not the text "2026-02-30"`,
		`[{"name": "a", "description": "` + strings.Repeat("x", 513) + `"}]`:             "more than 512 characters",
		`[` + strings.Repeat(`{"name": "a"},`, 100) + `{"name": "a"}]`:                   "at most 100 parameters",
		`[{"name": "a", "description": "` + strings.Repeat("x", 102_400) + `"}]`:         "want at most 102400",
		`[{"name": "a", "choices": {}}]`:                                                 "want an array",
		`[{"name": "a", "type": "datetime", "default": "2026-01-31T22:00:00Z"}]`:         "without a zone",
		`[{"name": "a", "type": "datetime", "default": "2026-01-31T22:00:00.12345678"}]`: "without a zone",
		`[{"name": "a", "type": "datetime", "choices": ["2026-01-31T22:00:00."]}]`:       "without a zone",
		`[{"name": "a", "type": "date", "default": "0000-01-01"}]`:                       "a date",
		`[{"name": "a", "type": "integer", "default": 9223372036854775808}]`:             "an integer",
		`[{"name": "a", "type": "text", "default": 7}]`:                                  "want a text, not 7",
	} {
		_, err := ParseDeclarations(text)
		require.ErrorContains(t, err, want, "%.200s", text)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	list, err := ParseDeclarations(declared)
	require.NoError(t, err)
	complete := func(text string) (string, error) {
		given, err := Parse(text)
		require.NoError(t, err)
		p, err := Complete(list, given)
		return p.Text(), err
	}
	text, err := complete(`{"rate": 1.50e3, "tenant": "it's }", "at": null}`)
	require.NoError(t, err)
	require.Equal(t, `{"rate":1.50e3,"tenant":"it's }","at":null,"days":7,"mode":"fast","until":null,"dry":false}`, text)
	for given, want := range map[string]string{
		``:                              "missing parameters: tenant",
		`{"tenat": "a"}`:                `did you mean "tenant"? (its parameters: tenant, days`,
		`{"tenant": null}`:              "want a text, not null",
		`{"tenant": "a", "days": "7"}`:  "invalid parameter days: want an integer",
		`{"tenant": "a", "days": null}`: "not null",
		`{"tenant": "a", "mode": "x"}`:  "want one of fast, full",
		`{"tenant": "a", "dry": 1}`:     "want true or false, not 1",
		`{"tenant": "a", "rate": {}}`:   "not an object or array",
	} {
		_, err := complete(given)
		require.ErrorContains(t, err, want, given)
	}
	free, err := Parse(`{"any": []}`)
	require.NoError(t, err)
	p, err := Complete(nil, free)
	require.NoError(t, err)
	require.Same(t, free, p, "a job without declarations takes any")

	require.Equal(t, []string{"x", "any.1"}, Unset([]string{"param.x", "payload", "param.any", "payload.any.1", "job_name", "param.x"}, free))
}

// What people type becomes a value of the declared type.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       Type
		text, json string
	}{
		{TypeText, "7", `"7"`}, {TypeInteger, "7", "7"}, {TypeNumber, "-1.5", "-1.5"}, {TypeBoolean, "true", "true"},
		{TypeDate, "2026-01-31", `"2026-01-31"`}, {TypeTime, "2026-01-31T22:00:00.1", `"2026-01-31T22:00:00.1"`},
	} {
		v, err := Declaration{Name: "a", Type: c.kind}.Read(c.text)
		require.NoError(t, err)
		require.Equal(t, c.json, v.JSON())
	}
	for kind, text := range map[Type]string{TypeInteger: `7,"w":1`, TypeNumber: "x", TypeBoolean: "1", TypeDate: "31.1.2026", TypeTime: "now"} {
		_, err := Declaration{Name: "a", Type: kind}.Read(text)
		require.Error(t, err, text)
	}
}

// What is read is written in a form that is read as the same.
func FuzzParseDeclarations(f *testing.F) {
	for _, s := range []string{declared, `[{"name":"a"}]`, `[{"name":"a","choices":["\ud800"]}]`, `[],"x":[]`, `[{"name":"a","default":null}]`, `[1]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var list []Declaration
		var err error
		bounds.Allocations(t, len(text), 256<<10, 2000, func() { list, err = ParseDeclarations(text) })
		if err != nil {
			return
		}
		stored := EncodeDeclarations(list)
		again, err := ParseDeclarations(stored)
		if err != nil {
			t.Fatalf("%q of %q: %v", stored, text, err)
		}
		if EncodeDeclarations(again) != stored {
			t.Fatalf("%q becomes %q", stored, EncodeDeclarations(again))
		}
		if _, err := Complete(optionalCopy(list), nil); err != nil {
			t.Fatalf("%q refuses its own defaults: %v", text, err)
		}
	})
}

func optionalCopy(list []Declaration) []Declaration {
	out := append([]Declaration(nil), list...)
	for i := range out {
		out[i].Required = false
	}
	return out
}
