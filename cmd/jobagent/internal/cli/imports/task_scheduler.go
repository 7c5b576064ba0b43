package imports

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/importer"
)

func newTaskSchedulerCommand(a *connect.App) *cobra.Command {
	return newDocumentsCommand(a, "task-scheduler FILE|-...", "Import tasks of Windows Task Scheduler from XML",
		`Import tasks of Windows Task Scheduler from XML, as "schtasks /query /xml" and Export-ScheduledTask write
it. Triggers become schedules. Times without an offset are the machine's local time: give the machine's
time zone with --zone, as an IANA name or a Windows name ("tzutil /g" shows it).`, importer.TaskScheduler)
}

// newDocumentsCommand returns the command that imports files with clock times of a machine.
func newDocumentsCommand(a *connect.App, use, short, long string,
	read func([]importer.Document, importer.Options) (*importer.Result, error)) *cobra.Command {
	var f importFlags
	var zone string
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := zoneOptions(zone, f)
			if err != nil {
				return err
			}
			var documents []importer.Document
			for _, name := range args {
				text, err := command.ReadFile(name, a.Stdin)
				if err != nil {
					return err
				}
				documents = append(documents, importer.Document{Name: name, Text: text})
			}
			r, err := read(documents, o)
			if err != nil {
				return exit.With(exit.CodeUsage, err)
			}
			return printImport(a, r, f)
		},
	}
	f.add(cmd, "imported")
	cmd.Flags().StringVar(&zone, "zone", "", "time zone of clock times without one (default UTC, with a warning)")
	return cmd
}

// zoneOptions returns the options of an import with a time zone.
func zoneOptions(zone string, f importFlags) (importer.Options, error) {
	o := importer.Options{Now: time.Now().UTC(), TargetGroup: f.group}
	if zone == "" {
		return o, nil
	}
	var err error
	if o.Zone, err = importer.Zone(zone); err != nil {
		return o, exit.Usagef("--zone: %w", err)
	}
	return o, nil
}
