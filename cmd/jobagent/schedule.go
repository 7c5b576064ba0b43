package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// newScheduleCommand makes `jobagent schedule`.
func newScheduleCommand(a *app) *cobra.Command {
	return newGroupCommand("schedule", "Define, look at, pause and backfill the schedules of jobs",
		newScheduleAddCommand(a), newScheduleUpdateCommand(a), newScheduleDeleteCommand(a), newScheduleListCommand(a), newScheduleShowCommand(a),
		newScheduleEnableCommand(a, "enable", true), newScheduleEnableCommand(a, "disable", false),
		newSchedulePauseCommand(a, "pause", true), newSchedulePauseCommand(a, "resume", false),
		newScheduleBackfillCommand(a), newScheduleCancelBackfillCommand(a), newScheduleExplainCommand(a), newSchedulePreviewCommand(a))
}

func newSchedulePreviewCommand(a *app) *cobra.Command {
	var kind, file string
	var o schedule.PreviewOptions
	cmd := &cobra.Command{
		Use: "preview --kind KIND --spec FILE|-", Short: "List when a schedule is due; needs no database",
		Long: fmt.Sprintf(`List when a schedule is due; needs no database. Kinds: %v.

A faulty schedule exits with %d, and all of its faults are listed at once: with -o json on stdout, as {"errors": [...]}.`,
			schedule.Kinds(), exitUsage),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Count < 1 || o.Count > 10000 {
				return usagef("--count %d: must be 1 to 10000", o.Count)
			}
			spec, err := readSpec(file, a.stdin)
			if err != nil {
				return err
			}
			o.Now = time.Now().UTC()
			return a.previewSchedule(schedule.Kind(kind), spec, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "kind", "", "kind of the schedule")
	flags.StringVar(&file, "spec", "", "`file` that holds the definition; - for standard input")
	flags.StringVar(&o.Start, "start", "", "planned start, if the definition does not say it")
	flags.StringVar(&o.After, "after", "", "list what is due after this time (default: from the start)")
	flags.StringVar(&o.Zone, "zone", "", "time zone (IANA name), if the definition does not say it (default UTC)")
	flags.IntVar(&o.Count, "count", 5, "most instants to list")
	cobra.CheckErr(cmd.MarkFlagRequired("kind"))
	cobra.CheckErr(cmd.MarkFlagRequired("spec"))
	return cmd
}

// readSpec reads a definition from a file or standard input.
func readSpec(file string, stdin io.Reader) ([]byte, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, usagef("read the definition: %w", err)
	}
	return text, nil
}

// previewSchedule prints due instants, or every fault of the definition.
func (a *app) previewSchedule(kind schedule.Kind, spec []byte, o schedule.PreviewOptions) error {
	if a.output == formatJSON {
		text, ok := schedule.PreviewJSON(kind, spec, o)
		if _, err := fmt.Fprintf(a.stdout, "%s\n", text); err != nil {
			return err
		}
		if !ok {
			return exitWith(exitUsage, nil)
		}
		return nil
	}
	p, err := schedule.PreviewSpec(kind, spec, o)
	var faulty *schedule.Error
	switch {
	case errors.As(err, &faulty):
		for _, f := range faulty.Faults {
			fmt.Fprintf(a.stderr, "error: %s\n", oneLine(f.String()))
		}
		return exitWith(exitUsage, nil)
	case err != nil:
		return usage(err)
	}
	if len(p.Due) == 0 {
		return a.warn(p.Warnings)
	}
	titles := []string{"DUE (UTC)", "IN " + p.Zone.String()}
	if len(p.Started) > 0 {
		titles = append(titles, "STARTED (UTC)")
	}
	t := newTable(titles...)
	for i, due := range p.Due {
		cells := []any{due.UTC().Format(time.RFC3339), due.In(p.Zone).Format(time.RFC3339)}
		if i < len(p.Started) {
			cells = append(cells, p.Started[i].UTC().Format(time.RFC3339))
		}
		t.add(cells...)
	}
	if err := t.write(a.stdout); err != nil {
		return err
	}
	if p.Exhausted {
		fmt.Fprintln(a.stdout, "Nothing is due after that.")
	}
	return a.warn(p.Warnings)
}

// warn prints warnings.
func (a *printer) warn(warnings []string) error {
	for _, w := range warnings {
		if _, err := fmt.Fprintf(a.stderr, "warning: %s\n", oneLine(w)); err != nil {
			return err
		}
	}
	return nil
}
