package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/schedule"
)

func newPreviewCommand(a *connect.App) *cobra.Command {
	var f definitionFlags
	var o schedule.PreviewOptions
	cmd := &cobra.Command{
		Use: "preview", Short: "List when a schedule is due; needs no database",
		Long: fmt.Sprintf(`List when a schedule is due; needs no database. The definition is that of --kind
with --file, or a line: --cron5, --cron6, --quartz, --rrule. A definition in the language of another system
(%s) is translated, and the translation is shown.

A definition with errors exits with %d, and all errors are listed: with -o json on stdout, as {"errors": [...]}.`,
			formList(), exit.CodeUsage),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Count < 1 || o.Count > 10000 {
				return exit.Usagef("--limit %d: must be 1 to 10000", o.Count)
			}
			kind, spec, ok, err := f.definition(cmd, a.Stdin)
			if err != nil {
				return err
			}
			if !ok {
				return errNoDefinition
			}
			o.Now = time.Now().UTC()
			return previewSchedule(&a.Printer, kind, []byte(spec), o)
		},
	}
	flags := cmd.Flags()
	f.addDefinition(cmd)
	flags.StringVar(&o.Start, "start", "", "planned start, if the definition has none")
	flags.StringVar(&o.After, "after", "", "list instants after this time (default: from the start)")
	flags.StringVar(&o.Zone, "zone", "", "time zone (IANA or Windows name), if the definition has none (default UTC)")
	flags.IntVar(&o.Count, "limit", 5, "maximum number of instants")
	return cmd
}

// previewSchedule prints due instants, or all errors of the definition.
func previewSchedule(printer *output.Printer, kind schedule.Kind, spec []byte, o schedule.PreviewOptions) error {
	if printer.Structured() {
		text, ok := schedule.PreviewJSON(kind, spec, o)
		if err := printer.Emit(json.RawMessage(text), nil); err != nil {
			return err
		}
		if !ok {
			return exit.With(exit.CodeUsage, nil)
		}
		return nil
	}
	p, err := schedule.PreviewSpec(kind, spec, o)
	var rejected *schedule.Error
	switch {
	case errors.As(err, &rejected):
		for _, f := range rejected.Faults {
			fmt.Fprintf(printer.Stderr, "error: %s\n", output.OneLine(f.String()))
		}
		return exit.With(exit.CodeUsage, nil)
	case err != nil:
		return exit.Usage(err)
	}
	if p.Translation != nil {
		printTranslation(printer.Stdout, p.Translation)
	}
	fmt.Fprintf(printer.Stdout, "%s.\n", output.OneLine(p.Sentence))
	for _, note := range slices.Concat(beside(p.Description), p.Assumptions) {
		fmt.Fprintln(printer.Stdout, note)
	}
	if len(p.Due) == 0 {
		return printer.Warn(p.Warnings)
	}
	titles := []string{"DUE (UTC)"}
	local := !isUTC(p.Due, p.Zone)
	if local {
		titles = append(titles, "IN "+p.Zone.String())
	}
	if len(p.Started) > 0 {
		titles = append(titles, "STARTED (UTC)")
	}
	t := output.NewTable(titles...)
	for i, due := range p.Due {
		cells := []any{due.UTC().Format(time.RFC3339)}
		if local {
			cells = append(cells, due.In(p.Zone).Format(time.RFC3339))
		}
		if i < len(p.Started) {
			cells = append(cells, p.Started[i].UTC().Format(time.RFC3339))
		}
		t.Add(cells...)
	}
	if err := t.Write(printer.Stdout); err != nil {
		return err
	}
	if p.Exhausted {
		fmt.Fprintln(printer.Stdout, "Nothing is due after these.")
	}
	return printer.Warn(p.Warnings)
}
