package cli

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/telemetry/metrics/shipped"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
)

// Every command is in the text of jobagent help output, unless it prints no JSON.
func TestEveryCommandHasAShape(t *testing.T) {
	t.Parallel()
	app := connect.New(nil, nil, nil)
	eachCommandOf(newRootCommand(app), func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "jobagent ")
		if cmd.HasSubCommands() || cmd.Hidden || slices.Contains([]string{"run", "top", "licenses", "output", "context prompt", "metrics rules", "metrics dashboard"}, name) {
			return
		}
		require.NotEmpty(t, append(app.Shapes(cmd), app.Shapes(cmd.Parent())...), "declare the JSON of jobagent %s by a.Prints", name)
	})
}

// Every command whose JSON is an array is a list, with all formats and the flags of lists.
func TestEveryArrayIsAList(t *testing.T) {
	t.Parallel()
	text := []string{"db grants", "schedule explain", "step show", "step options"} // sentences and scripts
	app := connect.New(nil, nil, nil)
	eachCommandOf(newRootCommand(app), func(cmd *cobra.Command) {
		for _, s := range app.Shapes(cmd) {
			if t := reflect.TypeOf(s.Value); t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct {
				continue
			}
			require.Equal(t, !slices.Contains(text, strings.TrimPrefix(cmd.CommandPath(), "jobagent ")), command.IsList(cmd) || command.PrintsRows(cmd), "%s: wrap it in command.List", cmd.CommandPath())
		}
	})
}

// The run book of the alert rules names commands and flags that exist.
func TestRunBookNamesCommands(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`jobagent((?: -{0,2}[a-z][a-z-]*)+)`).FindAllStringSubmatch(string(shipped.Rules), -1)
	found := 0
	for _, m := range named {
		words := strings.Fields(m[1])
		cmd, rest, err := newRootCommand(connect.New(nil, nil, nil)).Find(words[:1])
		if err != nil || len(rest) > 0 || !cmd.HasParent() {
			continue // prose, such as "jobagent has"
		}
		found++
		if cmd.HasSubCommands() {
			require.Greater(t, len(words), 1, m[0])
			cmd, _, err = cmd.Find(words[1:2])
			require.NoError(t, err, m[0])
			require.False(t, cmd.HasSubCommands(), "there is no command %q", m[0])
		}
		for _, word := range words {
			if flag, ok := strings.CutPrefix(word, "--"); ok {
				require.NotNil(t, cmd.Flags().Lookup(flag), m[0])
			}
		}
	}
	require.Greater(t, found, 10)
}
