package readme

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// masks replace what differs between two runs: identifiers, instants, ports, durations, versions,
// folders.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`^[0-9a-f]{8} `), "ID "}, // the beginning of one, in a list
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:\d\d|[A-Z]{3,4}))?`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "DAY"},
	{regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ [A-Z][a-z]{2} \d{4}( \d\d:\d\d(:\d\d)?)?`), "DAY"},
	{regexp.MustCompile(`\bin \d+ (s|min|h|days)\b`), "in DISTANCE"},
	{regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b`), "DAY"},
	{regexp.MustCompile(`127\.0\.0\.1([,:])\d+`), "127.0.0.1${1}PORT"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m|h)(\d+(\.\d+)?(ms|s|m))*\b`), "DURATION"},
	{regexp.MustCompile(`\b(v\d+\.\d+\.\d+\S*|devel)`), "VERSION"},
	{regexp.MustCompile(`%2F[A-Za-z0-9%._-]+`), "FOLDER"},
}

// masked returns the lines of a text that are not empty, with masks, and with one blank where
// columns have several.
func masked(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, m := range masks {
			line = m.pattern.ReplaceAllString(line, m.mask)
		}
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// differs compares what a page shows with an output: the output must have the lines of the page, in
// their order and one behind the other. A line "…" stands for any lines, and "…" in a line for any
// text. It returns the first line that is missing, or "".
func differs(shown, output string) (missing string) {
	have := masked(output)
	gap := true // the beginning of an output need not be shown: blocks have several commands
	for _, want := range masked(shown) {
		if want == "…" {
			gap = true
			continue
		}
		parts := strings.Split(want, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		i := 0
		for gap && i < len(have) && !pattern.MatchString(have[i]) {
			i++
		}
		if i >= len(have) || !pattern.MatchString(have[i]) {
			return want
		}
		have, gap = have[i+1:], false
	}
	return ""
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	output := "created job a\nrun 1b4e28ba-2fa1-11d2-883f-0016d3cca427 took 1.5s\n\nNAME   STATE\na   Succeeded   \nend"
	for shown, missing := range map[string]string{
		"NAME STATE\na Succeeded": "", "created job a\n…\nend": "", "run ffffffff-ffff-ffff-ffff-ffffffffffff took 20ms": "",
		"run … 2s\nNAME STATE": "", "": "",
		"a Failed": "a Failed", "created job a\nend": "end", "end\nNAME STATE": "NAME STATE", "end\n…\nmore": "more",
	} {
		require.Equal(t, missing, differs(shown, output), shown)
	}
}
