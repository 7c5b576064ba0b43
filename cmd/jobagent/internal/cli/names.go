package cli

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/values"
)

// examples are command lines for the help of the commands that declare none: one a line.
//
//go:embed examples.txt
var examples string

// groups are the groups of commands in the root's help, in their order.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"setup", "Set up:", []string{"demo", "dev", "db", "run", "serve", "context", "setting", "doctor"}},
	{"define", "Define:", []string{
		"job", "step", "action", "target-group", "target", "schedule", "calendar", "secret", "script", "import", "apply", "diff", "export", "validate", "kit",
	}},
	{"operate", "Run and operate:", []string{"execution", "rollout", "query", "question", "drift", "top", "history", "limit", "alert", "agent", "audit", "metrics", "account", "token", "key"}},
}

// aliases are the other names of commands: plurals, and words of other programs. An alias that a
// command beside it has as its name is left out.
var aliases = map[string][]string{
	"job": {"jobs"}, "step": {"steps"}, "action": {"actions"}, "target-group": {"target-groups", "groups", "group", "tg"},
	"target": {"targets"}, "execution": {"executions", "runs"}, "rollout": {"rollouts"}, "schedule": {"schedules"}, "calendar": {"calendars"}, "limit": {"limits"}, "question": {"questions"}, "setting": {"settings"},
	"secret": {"secrets"}, "token": {"tokens"}, "key": {"keys"}, "account": {"accounts"}, "alert": {"alerts"}, "agent": {"agents"},
	"alert channel": {"channels"}, "context": {"contexts", "ctx"}, "script": {"scripts"},
	"job start": {"run"}, "agent status": {"list", "ls"}, "execution explain": {"why"},
}

// verbAliases are the other names of a command with a name, in every group.
var verbAliases = map[string][]string{
	"list": {"ls"}, "show": {"get", "describe"}, "delete": {"rm", "remove"}, "remove": {"rm", "delete"}, "rm": {"remove", "delete"},
	"revoke": {"rm", "delete"}, "stop": {"cancel"}, "add": {"create"}, "create": {"add", "new"}, "logs": {"log", "messages"},
}

// addNames gives the commands of the finished tree their groups and aliases, and the old spellings
// of their flags.
func addNames(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				c.GroupID = g.id
			}
		}
	}
	commands := map[string]named{}
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			own := sub.Name()
			if path != "" {
				own = path + " " + own
				addAliases(sub, verbAliases[sub.Name()])
			}
			addAliases(sub, aliases[own])
			commands[own] = named{sub, sub.Example != ""}
			sub.Flags().SetNormalizeFunc(spelling(sub))
			walk(sub, own)
		}
	}
	walk(root, "")
	for line := range strings.Lines(examples) {
		words := strings.Fields(line)
		for n := min(len(words), 4); n > 1; n-- { // the longest words that name a command
			if cmd, ok := commands[strings.Join(words[1:n], " ")]; ok {
				if !cmd.declared {
					cmd.Example = strings.TrimPrefix(cmd.Example+"\n  "+strings.TrimSpace(line), "\n")
				}
				break
			}
		}
	}
}

// named is a command, and whether it declares an example itself.
type named struct {
	*cobra.Command
	declared bool
}

// addAliases adds aliases that no other command of the group has.
func addAliases(cmd *cobra.Command, list []string) {
	for _, alias := range list {
		taken := slices.ContainsFunc(cmd.Parent().Commands(), func(c *cobra.Command) bool { return c.Name() == alias || c.HasAlias(alias) })
		if !taken {
			cmd.Aliases = append(cmd.Aliases, alias)
		}
	}
}

// spelling replaces the old spellings of a command's flags.
func spelling(cmd *cobra.Command) func(*pflag.FlagSet, string) pflag.NormalizedName {
	return func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(values.Spelling(cmd, name))
	}
}

// printStart prints what a person may do first.
func printStart(cmd *cobra.Command) error {
	long := cmd.Long
	if width, _, ok := terminal.Size(cmd.OutOrStdout()); ok {
		long = reflow(long, width)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), `%s

  jobagent --help            lists all commands
  jobagent COMMAND --help    explains one
`, long)
	return err
}
