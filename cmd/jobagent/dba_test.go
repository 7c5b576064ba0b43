package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
)

var (
	// shellBlock is a block of shell commands in a page.
	shellBlock = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	quoted     = regexp.MustCompile("'[^']*'")
)

// The commands on the pages for DBAs exist, with these flags; so do those in running text.
func TestPagesForDBAs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("deploy/dba/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		commands := regexp.MustCompile("`(jobagent [^`]+)`").FindAllStringSubmatch(string(text), -1)
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				commands = append(commands, []string{"", strings.TrimSpace(line)})
			}
		}
		for _, c := range commands {
			words := strings.Fields(quoted.ReplaceAllString(c[1], "text"))
			require.Equal(t, "jobagent", words[0], "%s: %s", page, c[1])
			require.NoError(t, cli.Check(words[1:]), "%s: %s", page, c[1])
		}
	}
}

// The script that shows what goes on in a control database runs there. The embedded server has no
// Extended Events, so that the other script is only parsed.
func TestScriptsForDBAs(t *testing.T) {
	t.Parallel()
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		_, database := env.Control(t)
		text, err := os.ReadFile("deploy/dba/monitoring.sql")
		require.NoError(t, err)
		rows, err := env.DB(t, database).QueryContext(t.Context(), string(text))
		require.NoError(t, err)
		defer rows.Close()
		sets := 0
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
				continue
			}
			sets++
		}
		require.NoError(t, rows.Err())
		require.Equal(t, strings.Count(string(text), "\nSELECT"), sets)
	})
	text, err := os.ReadFile("deploy/dba/extended_events.sql")
	require.NoError(t, err)
	_, err = mssql.SplitBatches(string(text))
	require.NoError(t, err)
}
