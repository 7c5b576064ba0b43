package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// listCommand is the annotation of commands that print a list.
const listCommand = "jobagent_list"

// List adds the flags of a list to a command, and checks them before the command connects.
func List(p *output.Printer, rows output.Rows, cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.StringSliceVar(&p.List.Columns, "columns", nil, "`columns` of table and csv, separated by commas, of: "+strings.Join(rows.Names(), ", "))
	flags.StringVar(&p.List.Sort, "sort", "", "sort what was read by this `column`; with - before it in the reverse order")
	flags.BoolVar(&p.List.NoHeaders, "no-headers", false, "print table and csv without headers")
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[listCommand] = "true"
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := rows.Check(p.List, p.Format); err != nil {
			return exit.Usage(err)
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
	return cmd
}

// CheckFormats makes cmd and its subcommands refuse a format that they cannot print, before they do
// anything.
func CheckFormats(p *output.Printer, cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		before := cmd.PreRunE
		cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
			p.Context = cmd.Context()
			own := cmd.LocalNonPersistentFlags().Lookup("output") != nil // bench has formats of its own
			given := cmd.Flags().Changed("output")
			switch list := cmd.Annotations[listCommand] != ""; {
			case own:
			case given && p.Query.String() != "" && p.Format != output.FormatJSON:
				return exit.Usagef("--jq prints what the filter makes of the JSON; it does not go with -o %s", p.Format)
			case !list && (p.Format == output.FormatCSV || p.Format == output.FormatName):
				return exit.Usagef("%s prints no list, so -o %s is not possible: want table, wide, json or yaml", cmd.CommandPath(), p.Format)
			}
			if p.Query.String() != "" {
				p.Format = output.FormatJSON
			}
			if before != nil {
				return before(cmd, args)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		CheckFormats(p, sub)
	}
}
