package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// widestHelp is the greatest width of help in columns. Longer lines are hard to read.
const widestHelp = 120

// fitHelp makes the help of all commands fit the terminal. Elsewhere its lines are not broken.
func fitHelp(root *cobra.Command) {
	help, usage := root.HelpFunc(), root.UsageTemplate()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		width, _, ok := terminal.Size(out)
		if ok {
			width = min(width, widestHelp)
			cmd.Long = reflow(cmd.Long, width)
			root.SetUsageTemplate(strings.ReplaceAll(usage, ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width)))
		}
		var b strings.Builder
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		// That --keep is --keep=true goes without saying. Blanks keep the columns.
		const always = "[=true|false]"
		for line := range strings.Lines(strings.ReplaceAll(b.String(), always, strings.Repeat(" ", len(always)))) {
			fmt.Fprintln(out, strings.TrimRight(line, " \n"))
		}
	})
}

// tableRow matches the beginning of a row of an indented table: "  7    if it failed".
var tableRow = regexp.MustCompile(`^ +\S+  +`)

// reflow breaks the paragraphs of a text into lines of a width, and the last column of indented
// tables. Other indented lines, such as examples, and paragraphs that fit stay as they are.
func reflow(text string, width int) string {
	var lines, paragraph []string
	flush := func() {
		fits := true
		for _, line := range paragraph {
			fits = fits && terminal.Width(line) <= width
		}
		if !fits {
			paragraph = terminal.Wrap(strings.Join(paragraph, " "), width)
		}
		lines, paragraph = append(lines, paragraph...), nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			lines = append(lines, breakRow(line, width)...)
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(lines, "\n")
}

// breakRow breaks the last column of a table's row.
func breakRow(line string, width int) []string {
	first := tableRow.FindString(line)
	if first == "" || terminal.Width(line) <= width || len(first) > width/2 {
		return []string{line}
	}
	list := terminal.Wrap(line[len(first):], width-len(first))
	for i := range list {
		if i > 0 {
			list[i] = strings.Repeat(" ", len(first)) + list[i]
			continue
		}
		list[i] = first + list[i]
	}
	return list
}
