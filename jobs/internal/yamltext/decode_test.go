package yamltext

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	_, err := Decode("a: *\n")
	require.Error(t, err, "an alias without a name")
	docs, err := Decode("# first\n---\na: &x {b: 1, c: \"2\", d: !!str 3}\ne: [true, ~, -1.5, 0x1F, no]\nf: |\n  x\n  y\ng: {<<: *x, b: 2}\n1: 2\n---\n---\nz: 1\n...\n")
	require.NoError(t, err)
	require.Len(t, docs, 2)
	require.Equal(t, map[string]any{
		"a": map[string]any{"b": json.Number("1"), "c": "2", "d": "3"}, "e": []any{true, nil, json.Number("-1.5"), "0x1F", "no"}, "f": "x\ny\n",
		"g": map[string]any{"b": json.Number("2"), "c": "2", "d": "3"}, "1": json.Number("2"),
	}, docs[0].Value)
	require.Equal(t, map[string]any{"z": json.Number("1")}, docs[1].Value)
	for text, want := range map[string]string{
		"a: 1\na: 2":  "2:1: invalid YAML",
		"a: *x":       "unknown anchor",
		"[a]: 1":      "an invalid key",
		"~: 1":        "a key must be a text",
		"a: {<<: 1}":  "<< needs",
		"a: [1":       "invalid YAML",
		"a: !!x [}":   "invalid YAML",
		"\ta: 1\n b:": "invalid YAML",
	} {
		_, err := Decode(text)
		require.ErrorContains(t, err, want, text)
	}
}

// An empty document does not hide those behind it, as it does in the parser.
func TestEmptyDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a: 1\n---\n---\nz: 1\n", "---\n---\na: 1\n---\nz: 1\n", "a: 1\n---\n# c\n---\n# d\n\n---\nz: 1\n---\n", "--- # x\na: 1\n--- # y\nz: 1\n...\n", "a: 1\n...\n---\n---\nz: 1\n",
		"a: 1\n---\n...\n---\nz: 1\n", "a: 1\n---\nnull\n---\nz: 1\n", "a: 1\n---\n...\n...\nz: 1\n", strings.Repeat("---\n", 50_000) + "a: 1\n---\nz: 1\n",
	} {
		docs, err := Decode(text)
		require.NoError(t, err, "%.40q", text)
		require.Len(t, docs, 2, "%.40q", text)
		require.Equal(t, map[string]any{"a": json.Number("1")}, docs[0].Value, "%.40q", text)
		require.Equal(t, map[string]any{"z": json.Number("1")}, docs[1].Value, "%.40q", text)
	}
}

// Long hostile texts end with an error, soon.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"keys":     strings.Repeat("k: 1\n", MaxKeys+1),
		"brackets": strings.Repeat("[", 100_000),
		"deep":     strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		watch := time.AfterFunc(30*time.Second, func() { panic(name + " takes too long") })
		_, err := Decode(text)
		require.Error(t, err, name)
		watch.Stop()
	}
	bomb := "a0: &a0 [x]\n"
	for i := range 30 {
		previous := string(rune('a'+i)) + "0"
		next := string(rune('b'+i)) + "0"
		bomb += next + ": &" + next + " [*" + previous + ", *" + previous + "]\n"
	}
	_, err := Decode(bomb)
	if err != nil { // names beyond z are no anchors
		require.Less(t, len(err.Error()), 200)
	}
}

// Any text ends soon, without a panic.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a: 1", "a: &x [*x]", "? a\n: b", "a: |2\n  x", "%YAML 1.2\n---\na", "[[[", "- a\n-b", "<<: {a: 1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<16 {
			t.Skip("longer than 64 KB: short inputs find more in the same time")
		}
		watch := time.AfterFunc(5*time.Second, func() { panic("this text takes too long") })
		defer watch.Stop()
		_, _ = Decode(s)
	})
}
