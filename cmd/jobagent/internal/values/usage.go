package values

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// argument is an argument of a command as its usage line shows it: JOB, [SCHEDULE], [CHANNEL]...
type argument struct {
	word     string // JOB, or JOB|EXECUTION_ID
	optional bool
	many     bool
}

// repeats removes what says that an argument may be given several times.
var repeats = strings.NewReplacer("...", "", "…", "")

// arguments reads a usage line: "backfill JOB [SCHEDULE]". Flags in it, such as --file FILE|-, are
// left out.
func arguments(use string) (list []argument) {
	words := strings.Fields(use)
	for i := 1; i < len(words); i++ {
		word := words[i]
		if strings.HasPrefix(word, "--") && word != "--" {
			i++ // its value
			continue
		}
		a := argument{}
		if strings.HasPrefix(word, "[") { // [URL | -- ARG…] is one optional list
			a.optional = true
			for !strings.Contains(words[i], "]") {
				i++
				word += words[i]
			}
		}
		a.many = strings.Contains(word, "...") || strings.Contains(word, "…")
		a.word = strings.Trim(repeats.Replace(word), "[]")
		list = append(list, a)
	}
	return list
}

// counted checks the number of arguments of a command.
func counted(cmd *cobra.Command, list []argument, args []string) error {
	var words []string
	required, most := 0, len(list)
	for _, a := range list {
		words = append(words, a.word)
		if !a.optional {
			required++
		}
		if a.many {
			most = len(args)
		}
	}
	switch {
	case len(args) < required:
		return exit.Usagef("missing argument %s: %s", words[len(args)], cmd.UseLine())
	case len(args) <= most:
		return nil
	case len(list) == 0:
		return exit.Usagef("unexpected argument %q: %s%s", args[0], cmd.UseLine(), meantCommand(cmd, args[0]))
	}
	return exit.Usagef("too many arguments: found %d, want %s (quote a name that has blanks): %s", len(args), strings.Join(words, " "), cmd.UseLine())
}

// meantCommand returns the command line that was meant by an argument of a command that takes none:
// jobagent job start nightly for jobagent run nightly, apply -f jobs for apply jobs; empty if none
// is known.
func meantCommand(cmd *cobra.Command, value string) string {
	if strings.ContainsAny(value, " \t'\"$*") {
		value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	}
	if !cmd.Parent().HasParent() {
		for _, group := range cmd.Root().Commands() {
			for _, c := range group.Commands() {
				if list := arguments(c.Use); c.HasAlias(cmd.Name()) && len(list) == 1 {
					return fmt.Sprintf("; %s%s %s?", didYouMean, c.CommandPath(), value)
				}
			}
		}
	}
	for _, name := range []string{"file", "job"} {
		if f := cmd.LocalFlags().Lookup(name); f != nil && !f.Hidden {
			return fmt.Sprintf("; %s%s --%s %s?", didYouMean, cmd.CommandPath(), name, value)
		}
	}
	return ""
}

// flagGroup matches the flags in cobra's errors about flags that exclude or need each other.
var flagGroup = regexp.MustCompile(`\[([^\]]+)\]`)

// faultyGroup reports flags that exclude each other, or of which one is missing.
func faultyGroup(cmd *cobra.Command) error {
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	text := err.Error()
	groups := flagGroup.FindAllStringSubmatch(text, -1)
	if len(groups) == 0 {
		return exit.Usage(err)
	}
	names := strings.Fields(groups[0][1])
	for i := range names {
		names[i] = "--" + names[i]
	}
	switch list := strings.Join(names, " and "); {
	case strings.Contains(text, "none of the others can be"):
		return exit.Usagef("%s cannot be combined; see %s --help", list, cmd.CommandPath())
	case strings.Contains(text, "at least one"):
		return exit.Usagef("missing flag %s; see %s --help", strings.Join(names, " or "), cmd.CommandPath())
	default:
		return exit.Usagef("%s belong together: give both; see %s --help", list, cmd.CommandPath())
	}
}

// missingFlags reports a required flag that was not given.
func missingFlags(cmd *cobra.Command) error {
	if cmd.ValidateRequiredFlags() == nil {
		return nil
	}
	var missing []string
	for _, f := range localFlags(cmd) {
		if required, ok := f.Annotations[cobra.BashCompOneRequiredFlag]; ok && required[0] == "true" && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	}
	noun := "flag "
	if len(missing) > 1 {
		noun = "flags "
	}
	return exit.Usagef("missing %s%s: %s; see %s --help", noun, strings.Join(missing, " and "), cmd.UseLine(), cmd.CommandPath())
}

// Words returns the words of a command's arguments, as its usage line shows them.
func Words(cmd *cobra.Command) (words []string) {
	for _, a := range arguments(cmd.Use) {
		words = append(words, a.word)
	}
	return words
}
