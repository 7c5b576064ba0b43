// Package imports has the commands that convert jobs of other systems to T-SQL.
package imports

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/importer"
)

// NewCommand returns `jobagent import`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("import", "Convert jobs of other systems to T-SQL",
		newAzureCommand(a), newSAPCommand(a), newSQLAgentCommand(a),
		newTaskSchedulerCommand(a), newQuartzCommand(a), newICalendarCommand(a),
		newCrontabCommand(a), newKubernetesCommand(a),
	)
	cmd.Long = `Convert jobs of other systems to T-SQL. The script goes to standard output, and a report of all
elements that were not imported to standard error; nothing is changed. Run the script in the control
database: it creates each job completely or not at all. Actions of Azure Scheduler and SAP become steps;
their secrets are not read, and the report names those that you set with jobagent secret set. For steps of
SQL Server Agent other than T-SQL (CmdExec, PowerShell and others), the script proposes a step that you write.
Programs of the other systems become steps that you write, with disabled schedules until then.

The last line on standard error counts what was lost. With --strict, the exit code is 7 if anything was
lost or a step is left to write; the script and the report are printed all the same.`
	return cmd
}

// stepsToWrite is the end of the help texts of imports with programs that are no T-SQL.
const stepsToWrite = `A step that you write is an entry of "processes" in the agents' configuration. No agent has it yet, so
the schedules of its job are created disabled: write the entry, or replace the step by T-SQL, then use
jobagent schedule enable JOB SCHEDULE. With --target-group, such a step is T-SQL that fails until you
replace it, and the schedules are enabled.`

// importFlags are the flags that all imports have.
type importFlags struct {
	report, group string
	strict        bool
}

func (f *importFlags) add(cmd *cobra.Command, groupDefault string) {
	cmd.Flags().StringVar(&f.report, "report", "", "`file` for the report, instead of standard error")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit with 7 if an element was lost or a step is left to write")
	cmd.Flags().StringVar(&f.group, "target-group", "", "target group of the steps (default: "+groupDefault+")")
}

func newAzureCommand(a *connect.App) *cobra.Command {
	return newFileCommand(a, "azure-scheduler FILE|-", "Import jobs of Azure Scheduler from JSON",
		"Import jobs of Azure Scheduler from JSON: a job, a list, the response of a list request, job collections or a template.", importer.AzureScheduler)
}

func newSAPCommand(a *connect.App) *cobra.Command {
	return newFileCommand(a, "sap FILE|-", "Import jobs of SAP Job Scheduling Service from JSON",
		"Import jobs of SAP Job Scheduling Service from JSON: a job, a list or the response of a list\nrequest. Fetch the jobs with displaySchedules=true.", importer.SAP)
}

// newFileCommand returns the command that imports a JSON file.
func newFileCommand(a *connect.App, use, short, long string,
	read func([]byte, importer.Options) (*importer.Result, error)) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := command.ReadFile(args[0], a.Stdin)
			if err != nil {
				return err
			}
			r, err := read(text, importer.Options{Now: time.Now().UTC(), TargetGroup: f.group})
			if err != nil {
				return exit.Usagef("%s: %w", args[0], err)
			}
			return printImport(a, r, f)
		},
	}
	f.add(cmd, "imported")
	return cmd
}

// printImport prints the script and the report.
func printImport(a *connect.App, r *importer.Result, f importFlags) error {
	report := output.ImportReport{Jobs: len(r.Jobs), Lost: r.Count(importer.Lost), Changed: r.Count(importer.Changed), ToSet: r.Count(importer.ToSet),
		Findings: []output.ImportFinding{}}
	for _, f := range r.Findings {
		report.Findings = append(report.Findings, output.ImportFinding(f))
	}
	report.Steps, report.ToWrite, report.Schedules = r.Totals()
	summary := fmt.Sprintf("%s; %s not imported, %d changed, %d to set", r.Summary(), output.Count(report.Lost, "element"), report.Changed, report.ToSet)
	if err := printParts(a, r, report, summary, f.report); err != nil {
		return err
	}
	if f.strict && report.Lost+report.ToWrite > 0 {
		return exit.With(exit.CodeRunFailed, fmt.Errorf("--strict: %s lost, %s left to write; the report names each", output.Count(report.Lost, "element"), output.Count(report.ToWrite, "step")))
	}
	return nil
}

// printParts prints the script to stdout, and the report to a file or to stderr. The summary is on
// stderr in either case, unless all is JSON.
func printParts(a *connect.App, r *importer.Result, report output.ImportReport, summary, path string) (err error) {
	out := a.Stderr
	if path != "" {
		file, err := os.Create(path)
		if err != nil {
			return exit.Usagef("--report: %w", err)
		}
		out = file
		defer func() {
			if closing := file.Close(); err == nil {
				err = closing
			}
		}()
	}
	if a.Structured() {
		if path != "" {
			if err := output.WriteJSON(out, report); err != nil {
				return err
			}
		}
		return a.Emit(output.Import{Script: r.Script(), Report: report}, nil)
	}
	if _, err := io.WriteString(a.Stdout, r.Script()); err != nil {
		return err
	}
	for _, finding := range r.Findings {
		if _, err := fmt.Fprintln(out, output.OneLine(finding.String())); err != nil {
			return err
		}
	}
	if path != "" {
		if _, err := fmt.Fprintln(out, summary); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(a.Stderr, summary)
	return err
}
