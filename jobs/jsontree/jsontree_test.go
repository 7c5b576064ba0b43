package jsontree

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	text := "{\"a\": [1, {\"é\": null}],\n \"b\":\"x\\u0041\", \"a\":{\"c\" : [ ], \"c\":false}}"
	v, err := Parse(text)
	require.NoError(t, err)
	require.Empty(t, v.Path())
	inner := v.Members[0].Items[1].Members[0]
	require.Equal(t, "a[1].é", inner.Path())
	require.Equal(t, "$/a[1]/é", inner.PathFrom("$", func(path, name string) string { return path + "/" + name }))
	require.Equal(t, `"é": null`, text[inner.NameAt:inner.At+len(inner.Raw)])
	b := v.Get("b")
	require.Equal(t, []string{"xA", `"x\u0041"`, `"xA"`}, []string{b.Text, b.Raw, b.JSON()})
	line, column := Place(text, b.At)
	require.Equal(t, []int{2, 6}, []int{line, column})
	require.Equal(t, v.Members[0], v.Get("a"), "the first of a name")
	require.True(t, v.Members[0].Items[1].Has("é"))
	require.Nil(t, v.Members[0].Items[1].Get("é"))
	require.Equal(t, `{"c":[],"c":false}`, v.Members[2].Compact())
	require.Equal(t, `{"a":[1,{"é":null}],"b":"xA","a":{"c":[],"c":false}}`, v.JSON())
	var twice []string
	for m := range v.Twice() {
		twice = append(twice, m.Path()+" "+m.Raw[:1])
	}
	require.Equal(t, []string{"a {", "a.c f"}, twice)
	require.Equal(t, "cron", Object("cron", &Value{Kind: '"', Text: "x"}).Members[0].Path())
}

// TestRandomTexts gives pieces of JSON in random order to the checks of FuzzParse.
func TestRandomTexts(t *testing.T) {
	t.Parallel()
	pieces := []string{"{", "}", "[", "]", ",", ":", `"a"`, `"b"`, `"\u00e9\n\""`, `"é<>&"`, "\"\xff\xff\"", "1", "-2.5e3", "true", "false", "null", " ", "\n\t", "[1, 2]", `{"a": 1}`, `{"b" : [ ] }`, "{}"}
	r := rand.New(rand.NewPCG(1, 5))
	valid := 0
	for range 60_000 {
		var text strings.Builder
		for range 1 + r.IntN(9) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		if compare(t, text.String()) {
			valid++
		}
	}
	require.Greater(t, valid, 1000)
}

// FuzzParse compares trees, places and errors with those of encoding/json.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5E+3,"x\ud83d\ude00",null,true,false],"a":{}}`, " [ ] ", `-0`, `"\ud83d"`, "\"\xff\"", `{"a":1,}`, "", `{} {}`, "\ufeff1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, text) })
}

// compare reports whether a text is JSON.
func compare(t *testing.T, text string) bool {
	t.Helper()
	var raw json.RawMessage
	wantErr := json.Unmarshal([]byte(text), &raw)
	v, err := Parse(text)
	require.Equal(t, wantErr, err, "%q", text)
	if err != nil {
		return false
	}
	var tokens []json.Token
	list(t, text, v, &tokens)
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for i := 0; ; i++ {
		want, err := d.Token()
		if err == io.EOF {
			require.Len(t, tokens, i, "%q", text)
			break
		}
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, tokens[i], "%q", text)
	}
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, []byte(text)))
	require.Equal(t, compact.String(), v.Compact(), "%q", text)
	again, err := Parse(v.JSON())
	require.NoError(t, err, "%q", text)
	require.Equal(t, v.JSON(), again.JSON(), "%q", text)
	var same []json.Token
	list(t, v.JSON(), again, &same)
	require.Equal(t, tokens, same, "%q", text)
	return true
}

// list appends the tokens of a value as json.Decoder returns them, and checks its places.
func list(t *testing.T, text string, v *Value, tokens *[]json.Token) {
	t.Helper()
	require.Equal(t, v.Raw, text[v.At:v.At+len(v.Raw)], "%q", text)
	switch v.Kind {
	case '{':
		*tokens = append(*tokens, json.Delim('{'))
		for _, m := range v.Members {
			require.Equal(t, byte('"'), text[m.NameAt], "%q", text)
			require.Equal(t, Join(v.Path(), m.Name), m.Path(), "%q", text)
			*tokens = append(*tokens, m.Name)
			list(t, text, m, tokens)
		}
		*tokens = append(*tokens, json.Delim('}'))
	case '[':
		*tokens = append(*tokens, json.Delim('['))
		for i, item := range v.Items {
			require.Equal(t, i, slices.Index(v.Items, item), "%q", text)
			list(t, text, item, tokens)
		}
		*tokens = append(*tokens, json.Delim(']'))
	case '"':
		*tokens = append(*tokens, v.Text)
	case '0':
		*tokens = append(*tokens, json.Number(v.Raw))
	case 't':
		*tokens = append(*tokens, v.Raw == "true")
	default:
		*tokens = append(*tokens, nil)
	}
}
