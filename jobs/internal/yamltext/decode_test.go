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
		for i := range n {
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
		"entries on one line":         strings.Repeat("- ", 10_000) + "1",
		"entries on one line, 200 KB": strings.Repeat("- ", 100_000) + "1",
		"entries on many lines":       strings.Repeat(strings.Repeat("- ", 190)+"1\n", 20_000),
		"entries, at the limit":       strings.Repeat(strings.Repeat("- ", maxEntries)+"1\n", maxTokens/(maxEntries+1)),
		"a list":                      strings.Repeat("- a\n", maxTokens/2),
		"a list in brackets":          "[" + strings.Repeat("a,", maxTokens/2-2) + "]",
		"lists in a list":             "[" + strings.Repeat("[],", maxTokens/3-2) + "]",
		"mappings in a list":          "[" + strings.Repeat("{},", maxTokens/3-2) + "]",
		"empty entries":               strings.Repeat("-\n", maxTokens),
		"empty entries, at the limit": strings.Repeat("-\n", maxEmpty),
		"empty entries, commented":    strings.Repeat("- #\n", maxTokens/2),
		"empty entries, indented":     "a:\n" + strings.Repeat("  -\n", maxEmpty),
		"empty values":                strings.Repeat("- a:\n", maxTokens/3),
		"empty values, in brackets":   "[" + strings.Repeat("{a:},", maxTokens/5-2) + "]",
		"empty values, commas":        strings.Repeat("- {a:,b:,c:,d:,e:}\n", maxTokens/18),
		"keys without a value":        strings.Repeat("- {a,b,c,d,e}\n", maxTokens/12),
		"empty tags":                  strings.Repeat("- !!str\n", maxTokens/2),
		"empty anchors":               strings.Repeat("- &a\n", maxTokens/3),
		"single keys":                 strings.Repeat("- a: 1\n", maxTokens/4),
		"a list of commas":            "[" + strings.Repeat("a,", MaxText/2-1),
		"commas on lines":             "[" + strings.Repeat("a,\n", maxMarks/2-2),
		"members":                     "a:\n" + lines(16_000, "- {server: s%.example.com, database: d%}\n"),
		"members, one a line":         "a:\n" + lines(16_000, "  - server: s%.example.com\n    database: d%\n"),
		"keys":                        lines(MaxKeys+1, "k%: 1\n"),
		"keys of many mappings":       lines(maxTokens/3/(MaxKeys+1), "m%:\n"+keys),
		"keys in brackets":            strings.Repeat("- {"+lines(MaxKeys, "k%: 1,")+"}\n", maxTokens/4/MaxKeys),
		"open brackets":               strings.Repeat("[", MaxText),
		"brackets":                    strings.Repeat("[", 300) + strings.Repeat("]", 300),
		"brackets of many lists":      strings.Repeat("- "+strings.Repeat("[", maxDepth-1)+strings.Repeat("]", maxDepth-1)+"\n", maxTokens/2/maxDepth),
		"mappings in each other":      strings.Repeat(deep+"---\n", MaxText/len(deep)-1),
		"documents":                   strings.Repeat("a: 1\n---\n", maxDocuments),
		"too many documents":          strings.Repeat("a: 1\n---\n", 100_000),
		"empty documents":             strings.Repeat("---\n", 100_000),
		"a plain text":                "a: " + strings.Repeat("x", MaxText-4),
		"a quoted text":               "a: \"" + strings.Repeat("x", MaxText-5) + "\"",
		"escapes":                     "a: \"" + strings.Repeat("\\u0041", MaxText/6-2) + "\"",
		"a block":                     "a: |\n" + strings.Repeat("  select 1\n", MaxText/11-2),
		"short lines of a block":      "a: |\n" + strings.Repeat("  x\n", maxMarks-2),
		"a folded block":              "a: >\n" + strings.Repeat("  select 1\n", MaxText/11-2),
		"empty lines of a block":      "a: |\n  x" + strings.Repeat("\n", 50_000),
		"empty lines, at the limit":   "a: |\n  x" + strings.Repeat("\n", 4_460),
		"empty lines of a long block": "a: |\n  " + strings.Repeat("x", MaxText-50) + strings.Repeat("\n", 4),
		"empty lines, each block":     strings.Repeat("- |\n x"+strings.Repeat("\n", 99), 1_900),
		"returns":                     strings.Repeat("\r", maxMarks-2),
		"empty lines, kept":           "a: |+\n  x" + strings.Repeat("\n", 4_460),
		"empty lines, trimmed":        "a: |-\n  x" + strings.Repeat("\n", 4_460),
		"empty lines, quoted":         "a: \"x" + strings.Repeat("\n", 4_460) + "\"",
		"lines of a plain text":       "a: x\n" + strings.Repeat("  select 1\n", MaxText/11-2),
		"blanks":                      "a:" + strings.Repeat(" ", MaxText-4) + "1",
		"tabs":                        "a:" + strings.Repeat("\t", MaxText-4) + "1",
		"comments":                    strings.Repeat("# abcdefgh\n", maxMarks/2-1) + "a: 1\n",
		"comments of entries":         strings.Repeat("- a # b\n", maxTokens/4),
		"anchors":                     lines(maxTokens/5, "- &a% x\n"),
		"aliases":                     "- &a x\n" + strings.Repeat("- *a\n", maxTokens/3),
		"tags":                        "a: " + strings.Repeat("!!str ", maxTokens/2),
		"tagged entries":              strings.Repeat("- !!str a\n", maxTokens/4),
		"question marks":              strings.Repeat("? a\n", maxTokens/3),
		"question marks on one line":  strings.Repeat("? ", maxMarks/2) + "a",
		"colons":                      strings.Repeat("a: ", maxMarks/2) + "a",
		"anchors on one line":         "a: " + strings.Repeat("&x ", maxMarks/2) + "a",
		"directives":                  strings.Repeat("%YAML 1.2\n---\n", maxDocuments),
		"errors":                      strings.Repeat("@\n", maxMarks/2),
		"errors within quotes":        strings.Repeat("\"\\q\"\n", maxMarks/4),
		"merged mappings":             "a: &a {" + lines(MaxKeys-1, "k%: 1, ") + "}\nb:\n" + strings.Repeat("- {<<: *a}\n", 20_000),
		"merged, at the limit":        "a: &a {" + lines(MaxKeys-1, "k%: 1, ") + "}\nb:\n" + strings.Repeat("- {<<: *a}\n", MaxMerged/MaxKeys),
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
		_, _ = Decode(s)
	})
}
