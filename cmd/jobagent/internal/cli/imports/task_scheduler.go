package imports

import (
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
time zone with --zone, as an IANA name or a Windows name ("tzutil /g" shows it).

A call of sqlcmd becomes a T-SQL step for its server and database if each of its options is understood;
passwords are not read. Any other program becomes a step that you write.

`+stepsToWrite, "the tasks' machine", true, importer.TaskScheduler)
}

func newICalendarCommand(a *connect.App) *cobra.Command {
	return newDocumentsCommand(a, "icalendar FILE|-...", "Import events of iCalendar files",
		`Import events of iCalendar files (.ics). Each event becomes a job with a schedule of its rule (RRULE),
its dates (RDATE, EXDATE) and its changed instants (RECURRENCE-ID), and a step that you write.

`+stepsToWrite,
		"events without one", false, importer.ICalendar)
}

// newDocumentsCommand returns the command that imports files with clock times. commands means that
// they may call sqlcmd.
func newDocumentsCommand(a *connect.App, use, short, long, clock string, commands bool,
	read func([]importer.Document, importer.Options) (*importer.Result, error)) *cobra.Command {
	var f outsideFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := f.options()
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
			return printImport(&a.Printer, r, f.importFlags)
		},
	}
	if commands {
		f.add(cmd, clock)
	} else {
		f.addZone(cmd, clock)
	}
	return cmd
}
