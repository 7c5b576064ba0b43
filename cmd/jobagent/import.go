package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/jobs/importer"
)

// newImportCommand makes `jobagent import`.
func newImportCommand(a *app) *cobra.Command {
	cmd := newGroupCommand("import", "Write the T-SQL that creates jobs of other systems here",
		newImportAzureCommand(a), newImportSAPCommand(a), newImportSQLAgentCommand(a))
	cmd.Long = `Write the T-SQL that creates jobs of other systems here. The script goes to standard output, and a report of everything that
could not be carried over to standard error; nothing is changed. Run the script in the control database: each job is created
whole or not at all. Actions other than T-SQL (HTTP calls, queues, CmdExec, PowerShell ...) become steps to be written.`
	return cmd
}

// importFlags are the flags of every import.
type importFlags struct {
	report, group string
}

func (f *importFlags) add(cmd *cobra.Command, groupDefault string) {
	cmd.Flags().StringVar(&f.report, "report", "", "`file` for the report, instead of standard error")
	cmd.Flags().StringVar(&f.group, "target-group", "", "target group of the steps (default: "+groupDefault+")")
}

func newImportAzureCommand(a *app) *cobra.Command {
	return newImportFileCommand(a, "azure-scheduler FILE|-", "Import jobs of Azure Scheduler from JSON",
		"Import jobs of Azure Scheduler from JSON: a job, a list, the answer of a listing, job collections or a template.", importer.AzureScheduler)
}

func newImportSAPCommand(a *app) *cobra.Command {
	return newImportFileCommand(a, "sap FILE|-", "Import jobs of SAP Job Scheduling Service from JSON",
		"Import jobs of SAP Job Scheduling Service from JSON: a job, a list or the answer of a listing. Fetch jobs with displaySchedules=true.", importer.SAP)
}

// newImportFileCommand makes the import of a JSON file.
func newImportFileCommand(a *app, use, short, long string, read func([]byte, importer.Options) (*importer.Result, error)) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := readSpec(args[0], a.stdin)
			if err != nil {
				return err
			}
			r, err := read(text, importer.Options{Now: time.Now().UTC(), TargetGroup: f.group})
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return a.imported(r, f)
		},
	}
	f.add(cmd, "imported")
	return cmd
}

// importReport is the report as -o json shows it.
type importReport struct {
	Jobs      int                `json:"jobs"`
	Steps     int                `json:"steps"`
	ToWrite   int                `json:"steps_to_write"`
	Schedules int                `json:"schedules"`
	Lost      int                `json:"lost"`
	Changed   int                `json:"changed"`
	Findings  []importer.Finding `json:"findings"`
}

// imported prints the script and the report.
func (a *app) imported(r *importer.Result, f importFlags) (err error) {
	report := importReport{Jobs: len(r.Jobs), Lost: r.Count(importer.Lost), Changed: r.Count(importer.Changed), Findings: r.Findings}
	if report.Findings == nil {
		report.Findings = []importer.Finding{}
	}
	report.Steps, report.ToWrite, report.Schedules = r.Totals()
	out := a.stderr
	if f.report != "" {
		file, err := os.Create(f.report)
		if err != nil {
			return usagef("--report: %w", err)
		}
		out = file
		defer func() {
			if closing := file.Close(); err == nil {
				err = closing
			}
		}()
	}
	if a.output == formatJSON {
		if f.report != "" {
			if err := writeJSON(out, report); err != nil {
				return err
			}
		}
		return writeJSON(a.stdout, struct {
			Script string       `json:"script"`
			Report importReport `json:"report"`
		}{r.Script(), report})
	}
	if _, err := io.WriteString(a.stdout, r.Script()); err != nil {
		return err
	}
	for _, finding := range r.Findings {
		if _, err := fmt.Fprintln(out, oneLine(finding.String())); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%s; %d things not carried over, %d changed\n", r.Summary(), report.Lost, report.Changed)
	return err
}
