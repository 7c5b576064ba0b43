package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// widestHelp is the greatest width of help in columns. Longer lines are hard to read.
const widestHelp = 120

// inherited is the part of cobra's template that describes what a command has of those above it.
const inherited = "Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}"

// fold describes the flags of the groups above a command, and names those of every command, which
// would be half of each help. Lines of width columns are broken; 0: none are.
func fold(cmd *cobra.Command, width int) string {
	var b strings.Builder
	of := pflag.NewFlagSet("", pflag.ContinueOnError)
	var every []string
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f != cmd.Root().PersistentFlags().Lookup(f.Name):
			of.AddFlag(f)
		case f.Hidden:
		case f.Shorthand != "":
			every = append(every, "-"+f.Shorthand)
		default:
			every = append(every, "--"+f.Name)
		}
	})
	if of.HasAvailableFlags() {
		fmt.Fprintf(&b, "Flags of %s:\n%s\n", cmd.Parent().CommandPath(), of.FlagUsagesWrapped(width))
	}
	fmt.Fprintf(&b, "Flags of every command, which %s --help describes:\n  %s", cmd.Root().Name(), strings.Join(every, " "))
	return b.String()
}

// fitHelp makes the help of all commands fit the terminal. Elsewhere its lines are not broken.
func fitHelp(root *cobra.Command) {
	help, template := root.HelpFunc(), root.UsageTemplate()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		width, _, ok := terminal.Size(out)
		width = min(width, widestHelp)
		usage := strings.Replace(template, inherited, fmt.Sprintf("{{%q}}", fold(cmd, width)), 1)
		if ok {
			cmd.Long = reflow(cmd.Long, width)
			usage = strings.ReplaceAll(usage, ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width))
		}
		root.SetUsageTemplate(usage)
		var b strings.Builder
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		// --keep needs no value. Blanks in place of the forms keep the columns.
		const always = "[=true|false]"
		for line := range strings.Lines(strings.ReplaceAll(b.String(), always, strings.Repeat(" ", len(always)))) {
			fmt.Fprintln(out, strings.TrimRight(line, " \n"))
		}
	})
}

// tableRow matches the beginning of a row of an indented table: "  7    if it failed".
var tableRow = regexp.MustCompile(`^ +\S+(?: \S+)*?  +`)

// reflow breaks the paragraphs of a text into lines of a width, and the last column of indented
// tables. Other indented lines, such as examples, and what fits stay as they are.
func reflow(text string, width int) string {
	var lines []string
	part, indent := []string(nil), ""
	flush := func() {
		lines = append(lines, broken(part, indent, width)...)
		part, indent = nil, ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		blanks := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if first := tableRow.FindString(line); first != "" && len(first) <= width/2 {
			flush()
			part, indent = []string{line}, strings.Repeat(" ", len(first))
			continue
		}
		switch {
		case len(part) > 0 && line != "" && blanks == indent: // it goes on
		case line == "" || blanks != "":
			flush()
			lines = append(lines, line)
			continue
		default:
			flush()
		}
		part = append(part, line)
	}
	flush()
	return strings.Join(lines, "\n")
}

// broken breaks the lines of a paragraph, or of a table's row, unless all fit. indent is the place
// of the last column.
func broken(part []string, indent string, width int) []string {
	if !slices.ContainsFunc(part, func(line string) bool { return terminal.Width(line) > width }) {
		return part
	}
	first := part[0][:len(indent)]
	texts := make([]string, len(part))
	for i, line := range part {
		texts[i] = line[len(indent):]
	}
	list := terminal.Wrap(strings.Join(texts, " "), width-len(indent))
	for i := range list {
		list[i] = indent + list[i]
	}
	list[0] = first + list[0][len(indent):]
	return list
}
