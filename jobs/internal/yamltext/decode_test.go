package yamltext

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
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

// hostile are texts that cost the parser as much as its limits allow, or more.
func hostile() map[string]string {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range bounds.Size(n) {
			fmt.Fprintf(&b, strings.ReplaceAll(format, "%", "%[1]d"), i)
		}
		return b.String()
	}
	deep := ""
	for i := range maxDepth - 2 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	// A mapping is a few keys short of the limit, and as many of them as the other limits allow.
	keys := strings.ReplaceAll(lines(MaxKeys, "  k%: 1\n"), "\t", "")
	return map[string]string{
		"entries on one line":         bounds.Repeat("- ", 10_000) + "1",
		"entries on one line, 200 KB": bounds.Repeat("- ", 100_000) + "1",
		"entries on many lines":       bounds.Repeat(strings.Repeat("- ", 190)+"1\n", 20_000),
		"entries, at the limit":       bounds.Repeat(strings.Repeat("- ", maxEntries)+"1\n", maxTokens/(maxEntries+1)),
		"a list":                      bounds.Repeat("- a\n", maxTokens/2),
		"a list in brackets":          "[" + bounds.Repeat("a,", maxTokens/2-2) + "]",
		"lists in a list":             "[" + bounds.Repeat("[],", maxTokens/3-2) + "]",
		"mappings in a list":          "[" + bounds.Repeat("{},", maxTokens/3-2) + "]",
		"empty entries":               bounds.Repeat("-\n", maxTokens),
		"empty entries, at the limit": bounds.Repeat("-\n", maxEmpty),
		"empty entries, commented":    bounds.Repeat("- #\n", maxTokens/2),
		"empty entries, indented":     "a:\n" + bounds.Repeat("  -\n", maxEmpty),
		"empty values":                bounds.Repeat("- a:\n", maxTokens/3),
		"empty values, in brackets":   "[" + bounds.Repeat("{a:},", maxTokens/5-2) + "]",
		"empty values, commas":        bounds.Repeat("- {a:,b:,c:,d:,e:}\n", maxTokens/18),
		"keys without a value":        bounds.Repeat("- {a,b,c,d,e}\n", maxTokens/12),
		"empty tags":                  bounds.Repeat("- !!str\n", maxTokens/2),
		"empty anchors":               bounds.Repeat("- &a\n", maxTokens/3),
		"single keys":                 bounds.Repeat("- a: 1\n", maxTokens/4),
		"a list of commas":            "[" + bounds.Repeat("a,", MaxText/2-1),
		"commas on lines":             "[" + bounds.Repeat("a,\n", maxMarks/2-2),
		"members":                     "a:\n" + lines(16_000, "- {server: s%.example.com, database: d%}\n"),
		"members, one a line":         "a:\n" + lines(16_000, "  - server: s%.example.com\n    database: d%\n"),
		"keys":                        lines(MaxKeys+1, "k%: 1\n"),
		"keys of many mappings":       lines(maxTokens/3/(MaxKeys+1), "m%:\n"+keys),
		"keys in brackets":            bounds.Repeat("- {"+lines(MaxKeys, "k%: 1,")+"}\n", maxTokens/4/MaxKeys),
		"open brackets":               bounds.Repeat("[", MaxText),
		"brackets":                    strings.Repeat("[", 300) + strings.Repeat("]", 300),
		"brackets of many lists":      bounds.Repeat("- "+strings.Repeat("[", maxDepth-1)+strings.Repeat("]", maxDepth-1)+"\n", maxTokens/2/maxDepth),
		"mappings in each other":      bounds.Repeat(deep+"---\n", MaxText/len(deep)-1),
		"documents":                   bounds.Repeat("a: 1\n---\n", maxDocuments),
		"too many documents":          bounds.Repeat("a: 1\n---\n", 100_000),
		"empty documents":             bounds.Repeat("---\n", 100_000),
		"a plain text":                "a: " + bounds.Repeat("x", MaxText-4),
		"a quoted text":               "a: \"" + bounds.Repeat("x", MaxText-5) + "\"",
		"escapes":                     "a: \"" + bounds.Repeat("\\u0041", MaxText/6-2) + "\"",
		"a block":                     "a: |\n" + bounds.Repeat("  select 1\n", MaxText/11-2),
		"short lines of a block":      "a: |\n" + bounds.Repeat("  x\n", maxMarks-2),
		"a folded block":              "a: >\n" + bounds.Repeat("  select 1\n", MaxText/11-2),
		"empty lines of a block":      "a: |\n  x" + bounds.Repeat("\n", 50_000),
		"empty lines, at the limit":   "a: |\n  x" + bounds.Repeat("\n", 4_460),
		"empty lines of a long block": "a: |\n  " + bounds.Repeat("x", MaxText-50) + strings.Repeat("\n", 4),
		"empty lines, each block":     bounds.Repeat("- |\n x"+strings.Repeat("\n", 99), 1_900),
		"returns":                     bounds.Repeat("\r", maxMarks-2),
		"empty lines, kept":           "a: |+\n  x" + bounds.Repeat("\n", 4_460),
		"empty lines, trimmed":        "a: |-\n  x" + bounds.Repeat("\n", 4_460),
		"empty lines, quoted":         "a: \"x" + bounds.Repeat("\n", 4_460) + "\"",
		"lines of a plain text":       "a: x\n" + bounds.Repeat("  select 1\n", MaxText/11-2),
		"blanks":                      "a:" + bounds.Repeat(" ", MaxText-4) + "1",
		"tabs":                        "a:" + bounds.Repeat("\t", MaxText-4) + "1",
		"comments":                    bounds.Repeat("# abcdefgh\n", maxMarks/2-1) + "a: 1\n",
		"comments of entries":         bounds.Repeat("- a # b\n", maxTokens/4),
		"anchors":                     lines(maxTokens/5, "- &a% x\n"),
		"aliases":                     "- &a x\n" + bounds.Repeat("- *a\n", maxTokens/3),
		"aliases of aliases":          "x0: &x0 [a]\n" + doubled(30),
		"aliases of a list":           "x: &a [" + bounds.Repeat("a,", 1_000) + "b]\ny: [" + bounds.Repeat("*a,", maxTokens/4) + "b]\n",
		"aliases of a long text":      "x: &a " + bounds.Repeat("x", MaxText/2) + "\ny: [" + bounds.Repeat("*a,", maxTokens/4) + "b]\n",
		"tags":                        "a: " + bounds.Repeat("!!str ", maxTokens/2),
		"tagged entries":              bounds.Repeat("- !!str a\n", maxTokens/4),
		"question marks":              bounds.Repeat("? a\n", maxTokens/3),
		"question marks on one line":  bounds.Repeat("? ", maxMarks/2) + "a",
		"colons":                      bounds.Repeat("a: ", maxMarks/2) + "a",
		"anchors on one line":         "a: " + bounds.Repeat("&x ", maxMarks/2) + "a",
		"directives":                  bounds.Repeat("%YAML 1.2\n---\n", maxDocuments),
		"errors":                      bounds.Repeat("@\n", maxMarks/2),
		"errors within quotes":        bounds.Repeat("\"\\q\"\n", maxMarks/4),
		"merged mappings":             "a: &a {" + lines(MaxKeys-1, "k%: 1, ") + "}\nb:\n" + bounds.Repeat("- {<<: *a}\n", 20_000),
		"merged, at the limit":        "a: &a {" + lines(MaxKeys-1, "k%: 1, ") + "}\nb:\n" + bounds.Repeat("- {<<: *a}\n", MaxMerged/MaxKeys),
	}
}

// doubled returns the entries of a mapping whose values double with each level.
func doubled(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "x%[1]d: &x%[1]d [*x%[2]d, *x%[2]d]\n", i+1, i)
	}
	return b.String()
}

// Aliases do not make more of a text than the limits of values and texts allow.
func TestAliases(t *testing.T) {
	t.Parallel()
	docs, err := Decode("x0: &x0 [a]\n" + doubled(10))
	require.NoError(t, err)
	require.Len(t, docs, 1)
	for _, text := range []string{"x0: &x0 [a]\n" + doubled(18), "x: &a " + strings.Repeat("x", 1<<20) + "\ny: [" + strings.Repeat("*a,", 16) + "b]\n"} {
		_, err := Decode(text)
		require.ErrorContains(t, err, "too many values: at most 250000, and 16 MB of texts, with those that aliases repeat")
	}
}

// The parser takes a bounded time and memory for every text: most of these took all the memory of a
// machine before there were limits.
func TestHostileTexts(t *testing.T) { //nolint:paralleltest // it measures
	var cases []bounds.Case
	texts := hostile()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		cases = append(cases, bounds.Case{Name: name, Text: texts[name], Parse: func(text string) error {
			_, err := Decode(text)
			return err
		}})
	}
	bounds.Check(t, cases)
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
		bounds.Allocations(t, len(s), 1<<20, 4000, func() { _, _ = Decode(s) })
	})
}
