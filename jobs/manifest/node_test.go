package manifest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/jobs/internal/yamltext"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// pieces are parts of texts in which YAML and its parsers go wrong.
var pieces = []string{"a", " ", "\n", "\n\n", "\t", ":", ": ", "#", " #", "-", "- ", "'", `"`, `\`, "{", "}", "[", "]", ",", "&a", "*a", "!", "|", ">", "%",
	"@", "`", "no", "on", "true", "null", "~", "010", "1e3", "0x1F", "1_000", "2026-01-31", "<<", "é", "日", "😀", "\r\n", "\u0085", "\u2028", "\ufeff", "\x07",
	"GO\n", "  indented", "--", "---", "...", "? ", "=", "$(x)", "SELECT 1;", "\x7f"}

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "text"), "")
}

func drawNode(t *rapid.T, depth int) *node {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case kind < 2 && depth > 0:
		n := &node{kind: kindMap}
		for range rapid.IntRange(0, 4).Draw(t, "pairs") {
			key := drawText(t)
			if n.get(key) == nil {
				n.add(key, drawNode(t, depth-1))
			}
		}
		return n
	case kind < 4 && depth > 0:
		n := &node{kind: kindSeq}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			n.values = append(n.values, drawNode(t, depth-1))
		}
		return n
	case kind == 4:
		return &node{}
	case kind == 5:
		return plain(rapid.SampledFrom([]string{"true", "false", "0", "-12", "1.50", "1e5", "123456789012345678901234567890"}).Draw(t, "plain"))
	}
	return text(drawText(t))
}

// What the encoder writes, the parser reads again: each text with all its characters.
func TestYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &node{kind: kindMap}
		want.add("first", drawNode(t, 3))
		want.add("text", text(drawText(t)))
		var b strings.Builder
		writeMap(&b, want, "")
		docs, err := parseYAML(b.String())
		require.NoError(t, err, "%s", b.String())
		require.Len(t, docs, 1)
		requireSame(t, want, docs[0], "", b.String())
	})
}

func TestKeysWithColons(t *testing.T) {
	t.Parallel()
	inner := &node{kind: kindMap}
	inner.add("a:a", text("b"))
	want := &node{kind: kindMap}
	list := &node{kind: kindSeq, values: []*node{inner}} // a list in a list is written on one line
	want.add("first", &node{kind: kindSeq, values: []*node{list}})
	var b strings.Builder
	writeMap(&b, want, "")
	docs, err := parseYAML(b.String())
	require.NoError(t, err)
	requireSame(t, want, docs[0], "", b.String())
}

func requireSame(t require.TestingT, want, got *node, path, all string) {
	if want.kind == kindText && got.kind == kindPlain {
		// a text without quotes: nothing may take it for something else
		value, ok := plainJSON(got.text)
		require.True(t, ok, "%s in %s", path, all)
		require.Equal(t, string(jsonText(want.text)), value, "%s in %s", path, all)
		return
	}
	require.Equal(t, want.kind, got.kind, "%s in\n%s", path, all)
	require.Equal(t, want.text, got.text, "%s in\n%s", path, all)
	require.Len(t, got.values, len(want.values), "%s in\n%s", path, all)
	for i, v := range want.values {
		if want.kind == kindMap {
			require.Equal(t, want.keys[i].text, got.keys[i].text, "%s in\n%s", path, all)
		}
		requireSame(t, v, got.values[i], path+"/", all)
	}
}

// Hostile files take a bounded time and memory. Those of YAML are yamltext's.
func TestHostileFiles(t *testing.T) { //nolint:paralleltest // it measures
	load := func(name string) func(string) error {
		return func(text string) error {
			_, err := Load(Input{Text: []byte(text), Display: name})
			return err
		}
	}
	cases := bounds.JSON(MaxFile, load("x.json"))
	cases = append(cases, bounds.JSON(2*bounded.File.Values-2, load("x.json"))...) // as many values as are allowed
	members := "kind: TargetGroup\nname: g\nmembers:\n" + bounds.Repeat("- {server: s.example.com, database: d}\n", 16_000)
	merged := "a: &a {" + wide(yamltext.MaxKeys-1, ", ") + "}\nb:\n"
	bounds.Check(t, append(cases, bounds.Cases(map[string]string{
		"entries on one line": bounds.Repeat("- ", 100_000) + "1",
		"members":             members,
		"keys":                wide(bounds.Size(50_000), "\n"),
		"keys of a list":      "- " + strings.ReplaceAll(wide(bounds.Size(50_000), "\n"), "\n", "\n  "),
		"keys in brackets":    "{" + wide(bounds.Size(50_000), ", ") + "}",
		"dashes":              "a: " + bounds.Repeat("- ", 100_000),
		"marks":               bounds.Repeat("? ", 100_000),
		"merged":              merged + bounds.Repeat("- {<<: *a}\n", 20_000),
		"merged, the limit":   merged + bounds.Repeat("- {<<: *a}\n", yamltext.MaxMerged/yamltext.MaxKeys),
		"aliases of aliases":  aliases(30),
		"entries":             bounds.Repeat("- a\n", 90_000),
		"unknown kinds":       bounds.Repeat("kind: x\n---\n", 1_900),
		"unknown keys":        "kind: Job\n" + wide(bounds.Size(900), "\n"),
	}, load("x.yaml"))...))
}

// aliases returns a document whose values double with each level.
func aliases(levels int) string {
	var b strings.Builder
	b.WriteString("kind: Job\na0: &a0 [x]\n")
	for i := range levels {
		fmt.Fprintf(&b, "a%[1]d: &a%[1]d [*a%[2]d, *a%[2]d]\n", i+1, i)
	}
	return b.String()
}

func TestKeysAtTheLimit(t *testing.T) {
	for _, separator := range []string{"\n", ", "} {
		text := wide(yamltext.MaxKeys, separator)
		if separator != "\n" {
			text = "{" + text + "}"
		}
		_, err := parseYAML("- " + strings.ReplaceAll(text, "\n", "\n  ") + "\n- b: 1\n")
		require.NoError(t, err, "as many keys as are allowed")
	}
}

// An empty document hides none of those behind it.
func TestEmptyDocuments(t *testing.T) {
	docs, err := parseYAML("a: 1\n---\n# nothing\n---\nb: 1\n---\n---\nc: 1\n")
	require.NoError(t, err)
	require.Len(t, docs, 3)
}

// wide returns the entries of a mapping.
func wide(n int, separator string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("k%d: 1", i)
	}
	return strings.Join(list, separator)
}

// Hostile texts end with an error, soon.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1", "a: &x [*x]", "? a\n: b", "a: |2\n  x", "%YAML 1.2\n---\na", "[[[", "{\"a\": [1, {}]}", "- a\n-b", "\"\\ud83d\\ude00\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<16 {
			t.Skip("longer than 64 KB: short inputs find more in the same time, and TestHostileFiles has long ones")
		}
		watch := time.AfterFunc(5*time.Second, func() { panic("this text takes too long") })
		defer watch.Stop()
		bounds.Allocations(t, len(s), 2<<20, 4000, func() { _, _ = Load(Input{Text: []byte(s), Display: "x"}) })
	})
}

// A tolerance has one form, so that a file which spells it in another way does not differ for ever.
func TestToleranceHasOneForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0": "0", "0%": "0", "007": "7", "03%": "3%", "100%": "100%", "1000000": "1000000"} {
		stored, ok := tolerance(text)
		require.True(t, ok, text)
		require.Equal(t, want, stored, text)
	}
	for _, text := range []string{"", "%", "-1", "+1", "1.5", "101%", "1000001", "1 %", "half", "99999999999999999999"} {
		_, ok := tolerance(text)
		require.False(t, ok, text)
	}
}
