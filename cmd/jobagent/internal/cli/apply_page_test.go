package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
)

var block = regexp.MustCompile("(?sm)^```(\\w+)\n(.*?)^```$")

// The page for users works as it is printed: its files are written, its commands run, and each line
// of the workflow that calls jobagent is a valid command line.
func testPage(t *testing.T, f *fixture) {
	page, err := os.ReadFile("../../../../jobs/manifest/README.md")
	require.NoError(t, err)
	blocks := map[string][]string{}
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		blocks[m[1]] = append(blocks[m[1]], m[2])
	}
	f.install(t, "page")
	t.Chdir(t.TempDir())
	t.Setenv(config.EnvDSN, f.server.DSN("page"))
	require.NoError(t, os.MkdirAll(filepath.Join("jobs", "scripts"), 0o755))
	require.NoError(t, os.WriteFile("jobs/shop.yaml", []byte(blocks["yaml"][0]), 0o600))
	require.NoError(t, os.WriteFile("jobs/scripts/statistics.sql", []byte(blocks["sql"][0]), 0o600))
	var last string
	for line := range strings.Lines(blocks["console"][0]) {
		line = strings.TrimSpace(line)
		command, ok := strings.CutPrefix(line, "$ jobagent ")
		if !ok {
			require.Equal(t, line+"\n", last)
			continue
		}
		command, file, _ := strings.Cut(command, " > ")
		code, stdout, stderr := runContext(t.Context(), "", "", strings.Fields(command)...)
		require.Equal(t, strings.HasPrefix(command, "diff"), code == 1, "%s: %s", command, stderr)
		require.Less(t, code, 2, stderr)
		if last = stdout; file != "" {
			require.NoError(t, os.WriteFile(file, []byte(stdout), 0o600))
		}
	}

	workflow := blocks["yaml"][slices.IndexFunc(blocks["yaml"], func(text string) bool { return strings.Contains(text, "jobagent apply") })]
	var parsed map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(workflow), &parsed))
	lines := regexp.MustCompile(`jobagent (validate|diff|apply|export)[^>|\n]*`).FindAllString(workflow, -1)
	require.Len(t, lines, 3)
	for _, line := range lines {
		require.NoError(t, cli.Check(strings.Fields(line)[1:]), line)
	}
}
