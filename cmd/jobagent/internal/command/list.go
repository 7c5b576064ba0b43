package command

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// listCommand is the annotation of commands that print a list.
const listCommand = "jobagent_list"

// List adds the flags of a list to a command, and checks them before the command connects.
func List(p *output.Printer, rows output.Rows, cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	names := rows.Names()
	flags.Var(&columnsFlag{list: &p.List.Columns, names: names}, "columns", "`columns` of table and csv, separated by commas: "+rows.Help())
	flags.Var(&sortFlag{column: &p.List.Sort, names: names}, "sort", "sort what was read by this `column`; with - before it in the reverse order")
	flags.BoolVar(&p.List.NoHeaders, "no-headers", false, "print table and csv without headers")
	annotate(cmd, listCommand, "true")
	p.Declare(cmd, output.Shape{Value: rows.Value()})
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

// columnsFlag is the value of --columns. It completes itself, because cobra keeps each function for
// the completion of a flag, and with it the tree of all commands, until the process ends.
type columnsFlag struct {
	list  *[]string
	names []string // of all columns
}

// Set implements [pflag.Value]. A flag that is given again adds columns.
func (f *columnsFlag) Set(text string) error {
	if text != "" {
		*f.list = append(*f.list, strings.Split(text, ",")...)
	}
	return nil
}

// String implements [pflag.Value].
func (f *columnsFlag) String() string { return strings.Join(*f.list, ",") }

// Type implements [pflag.Value].
func (f *columnsFlag) Type() string { return "strings" }

// Complete completes each column by itself.
func (f *columnsFlag) Complete(given string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := given[:strings.LastIndex(given, ",")+1]
	return prefixed(before, f.names), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// sortFlag is the value of --sort. It completes itself, as columnsFlag does.
type sortFlag struct {
	column *string
	names  []string // of all columns
}

// Set implements [pflag.Value].
func (f *sortFlag) Set(text string) error {
	*f.column = text
	return nil
}

// String implements [pflag.Value].
func (f *sortFlag) String() string { return *f.column }

// Type implements [pflag.Value].
func (f *sortFlag) Type() string { return "string" }

// Complete completes the column behind the sign.
func (f *sortFlag) Complete(given string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := given[:len(given)-len(strings.TrimPrefix(given, "-"))]
	return prefixed(before, f.names), cobra.ShellCompDirectiveNoFileComp
}

// rowsCommand is the annotation of commands that print the rows of databases.
const rowsCommand = "jobagent_rows"

// Rows declares that a command prints rows while they come: as JSON lines and CSV, too, but not by
// name.
func Rows(cmd *cobra.Command) *cobra.Command { return annotate(cmd, rowsCommand, "true") }

// PrintsRows reports whether a command prints rows while they come.
func PrintsRows(cmd *cobra.Command) bool { return cmd.Annotations[rowsCommand] != "" }

// IsList reports whether a command prints a list, in all formats.
func IsList(cmd *cobra.Command) bool { return cmd.Annotations[listCommand] != "" }

// prefixed puts a text before each word.
func prefixed(before string, words []string) (list []cobra.Completion) {
	for _, w := range words {
		list = append(list, before+w)
	}
	return list
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
			switch list := IsList(cmd); {
			case own:
			case PrintsRows(cmd):
				if err := checkRowsFormat(p, cmd, given); err != nil {
					return err
				}
			case p.Format == output.FormatJSONLines:
				return exit.Usagef("%s does not print JSON lines: want table, wide, json or yaml, or for a list csv or name", cmd.CommandPath())
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

// checkRowsFormat refuses a format that a command that prints rows does not have.
func checkRowsFormat(p *output.Printer, cmd *cobra.Command, given bool) error {
	switch {
	case given && p.Query.String() != "" && p.Format != output.FormatJSON && p.Format != output.FormatJSONLines:
		return exit.Usagef("--jq prints what the filter makes of the JSON; it does not go with -o %s", p.Format)
	case p.Format == output.FormatName:
		return exit.Usagef("%s has no names to print: want table, wide, json, jsonl, yaml or csv", cmd.CommandPath())
	}
	return nil
}

// SinceForms are the forms of --since, for the help.
const SinceForms = "a `time` such as 24h, 7d, 2026-01-31 or 2026-01-31T22:00:00Z"

// age matches days or weeks at the beginning of a duration, which time.ParseDuration does not have.
var age = regexp.MustCompile(`^(\d{1,5})([dw])(.*)$`)

// Since is a value of --since: how long ago, or since when. The zero value means always.
type Since struct {
	ago time.Duration
	at  time.Time
}

// ParseSince parses --since. An empty text is the zero value.
func ParseSince(text string) (Since, error) {
	if text == "" {
		return Since{}, nil
	}
	if _, err := strconv.Atoi(text); err == nil {
		return Since{}, exit.Usagef("invalid --since %q: want a unit, such as %sh or %sd", text, text, text)
	}
	if d, err := ParseDuration(text); err == nil {
		if d < 0 {
			d = -d
		}
		return Since{ago: d}, nil
	}
	t, err := ParseTime(text)
	if err != nil {
		return Since{}, exit.Usagef("invalid --since %q: want how long ago, such as 90m, 24h or 7d, or a time such as 2026-01-31 or 2026-01-31T22:00:00Z", text)
	}
	return Since{at: t}, nil
}

// Time returns the time; zero means always. A duration counts back from now, which is the clock of
// the control database ([controldb.Store.Now]): with the clock of this machine, a list of the last
// half hour would be empty if that clock were half an hour fast. An absolute time needs no clock.
func (s Since) Time(ctx context.Context, now func(context.Context) (time.Time, error)) (time.Time, error) {
	if s.ago == 0 {
		return s.at, nil
	}
	t, err := now(ctx)
	return t.UTC().Add(-s.ago), err
}
