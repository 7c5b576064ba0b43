package cli

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/values"
)

// Every command has an example in its help, and each example is a command line that is accepted. A
// shell splits the lines; redirections and other programs are cut off.
func TestExamples(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	var lines []string
	eachCommand(func(cmd *cobra.Command) {
		if cmd.HasSubCommands() || cmd.Hidden || cmd.IsAdditionalHelpTopicCommand() || slices.Contains([]string{"help", "output"}, cmd.Name()) {
			return
		}
		require.NotEmpty(t, cmd.Example, "%s has no example: add one to examples.txt", cmd.CommandPath())
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", " ")) {
			for part := range strings.SplitSeq(strings.TrimSpace(line), " | ") {
				part, _, _ = strings.Cut(part, " > ")
				part, _, _ = strings.Cut(part, " < ")
				if !strings.HasPrefix(part, "jobagent ") {
					continue
				}
				lines = append(lines, part)
				fmt.Fprintf(&script, "printf '%%s\\0' %s; printf '\\1'\n", part)
			}
		}
	})
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script.String()).Output()
	require.NoError(t, err)
	for i, words := range strings.Split(strings.TrimSuffix(string(out), "\x01"), "\x01") {
		args := strings.Split(strings.TrimSuffix(words, "\x00"), "\x00")
		require.NoError(t, Check(args[1:]), lines[i])
	}
	require.Greater(t, len(lines), 110)
	for line := range strings.Lines(examples) { // none is for a command that is gone
		cmd, _, err := newRootCommand(connect.New(nil, nil, nil)).Find(strings.Fields(line)[1:])
		require.NoError(t, err, line)
		require.False(t, cmd.HasSubCommands(), line)
	}
}

// Words of other programs, and plurals, are names of commands, too.
func TestAliases(t *testing.T) {
	t.Parallel()
	for alias, want := range map[string]string{
		"jobs ls": "job list", "job run": "job start", "job cancel": "job stop", "job rm": "job delete", "job get": "job show", "runs ls": "execution list",
		"executions cancel": "execution stop", "execution log": "execution logs", "groups ls": "target-group list", "target-groups get": "target-group show",
		"target-group rm": "target-group delete", "steps ls": "step list", "schedule create": "schedule add", "calendars describe": "calendar show",
		"alerts ls": "alert list", "alert channels ls": "alert channel list", "agents list": "agent status", "limits ls": "limit list", "ctx ls": "context list",
		"job add": "job create", "secrets rm": "secret delete", "tokens rm": "token revoke",
	} {
		cmd, rest, err := newRootCommand(connect.New(nil, nil, nil)).Find(strings.Fields(alias))
		require.NoError(t, err, alias)
		require.Empty(t, rest, alias)
		require.Equal(t, "jobagent "+want, cmd.CommandPath(), alias)
	}
	eachCommand(func(group *cobra.Command) { // no two commands of a group share a name
		var names []string
		for _, c := range group.Commands() {
			for _, name := range append([]string{c.Name()}, c.Aliases...) {
				require.NotContains(t, names, name, group.CommandPath())
				names = append(names, name)
			}
		}
	})
}

// One thing has one spelling over all commands: a flag in a column of this table is spelled as the
// first one. The others are old spellings, which work and are not shown.
var synonyms = [][]string{
	{"zone", "time-zone", "timezone", "tz"}, {"job", "job-name"}, {"target-group", "group", "target-group-name"},
	{"server", "server-name"}, {"database", "database-name", "db"}, {"step-name"}, {"step-id", "step"},
	{"limit", "count", "top", "max"}, {"lifecycle", "lifecycles"}, {"credential", "credential-name"},
	{"start-time", "schedule-start-time"}, {"execution-id", "run-id", "job-execution-id"}, {"log-level", "verbosity"},
	{"columns", "fields"}, {"columns", "fields"}, {"output", "format"}, {"yes", "assume-yes"}, {"new-name", "rename"}, {"spec", "definition-file"},
	{"description", "comment"}, {"since", "newer-than"}, {"before", "older-than"},
}

func TestOneSpelling(t *testing.T) {
	t.Parallel()
	eachCommand(func(cmd *cobra.Command) {
		if strings.HasPrefix(cmd.CommandPath(), "jobagent bench") {
			return // measurements have words of their own
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			for _, words := range synonyms {
				require.NotContains(t, words[1:], f.Name, "%s: --%s is spelled --%s elsewhere", cmd.CommandPath(), f.Name, words[0])
			}
			require.Equal(t, f.Name, values.Spelling(cmd, f.Name), "%s: --%s is an old spelling", cmd.CommandPath(), f.Name)
		})
	})
	for old, line := range map[string]string{
		"--time-zone": "schedule add j s --cron5 * --time-zone UTC", "--count": "schedule preview --cron5 * --count 3", "--lifecycles": "alert add r RunEnded --lifecycles Failed",
		"--target-group-name": "step add j --command x --target-group-name g", "--step-name": "step add j --command x --target-group g --step-name s",
	} {
		require.NoError(t, Check(strings.Fields(line)), old)
	}
}
