// Package imports has the commands that convert jobs of other systems to T-SQL.
package imports

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// NewCommand returns `jobagent import`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("import", "Convert jobs of other systems to T-SQL",
		newAzureCommand(a), newSAPCommand(a), newSQLAgentCommand(a),
		newTaskSchedulerCommand(a), newQuartzCommand(a), newICalendarCommand(a),
		newCrontabCommand(a), newKubernetesCommand(a),
	)
	cmd.Long = `Convert jobs of other systems to T-SQL, or to files. The script goes to standard output, and a report of
all elements that were not imported to standard error; nothing is changed. Run the script in the control
database: it creates each job completely or not at all. With --as yaml or --dir, the result is what
jobagent diff and apply read.

Actions of Azure Scheduler and SAP become steps; their secrets are not read, and the report names those
that you set with jobagent secret set. Programs (of SQL Server Agent: CmdExec, PowerShell and others) become
steps that you write, with disabled schedules until then.

The last line on standard error counts what was lost, and what is left to write. With --strict, the exit code is 7 if anything was
lost or a step is left to write; the script and the report are printed all the same.`
	return cmd
}

// stepsToWrite is the end of the help texts of imports with programs that are not T-SQL.
const stepsToWrite = `A step that you write is an entry of "processes" in the agents' configuration. No agent has it yet, so
the schedules of its job are created disabled: write the entry, or replace the step by T-SQL, then use
jobagent schedule enable JOB SCHEDULE. With --target-group, such a step is T-SQL that fails until you
replace it. Command lines may hold passwords: the report has no argument, and the script has the whole
line as a comment only with --keep-commands.`

// importFlags are the flags that all imports have.
type importFlags struct {
	report, group, dir, as string
	strict, keepCommands   bool
}

func (f *importFlags) add(cmd *cobra.Command, groupDefault string) {
	cmd.Flags().StringVar(&f.report, "report", "", "`file` for the report, instead of standard error")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit with 7 if an element was lost or a step is left to write")
	cmd.Flags().StringVar(&f.group, "target-group", "", "target group of the steps (default: "+groupDefault+")")
	cmd.Flags().StringVar(&f.as, "as", formatTSQL, "what is written: tsql, or yaml for jobagent apply")
	cmd.Flags().StringVar(&f.dir, "dir", "", "write files for jobagent apply into this `directory`, one for each object, with the scripts beside them")
	cmd.PreRunE = func(*cobra.Command, []string) error { return f.check() }
}

// The values of --as.
const (
	formatTSQL = "tsql"
	formatYAML = "yaml"
)

// check checks the flags before anything is read.
func (f *importFlags) check() error {
	switch {
	case f.as != formatTSQL && f.as != formatYAML:
		return exit.Usagef("invalid --as %q: want tsql or yaml", f.as)
	case f.dir != "" && f.as != formatTSQL:
		return exit.Usagef("--dir and --as are both given: --dir writes YAML and the scripts beside it")
	}
	return nil
}

// addKeep adds the flag that shows command lines.
func (f *importFlags) addKeep(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.keepCommands, "keep-commands", false, "write the command lines that do not run here into the script, as comments; they may hold passwords")
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
			return printImport(&a.Printer, r, f)
		},
	}
	f.add(cmd, "imported")
	return cmd
}

// printImport prints the script and the report.
func printImport(p *output.Printer, r *importer.Result, f importFlags) error {
	report := output.ImportReport{Jobs: len(r.Jobs), Lost: r.Count(importer.Lost), Changed: r.Count(importer.Changed), ToSet: r.Count(importer.ToSet),
		Findings: []output.ImportFinding{}}
	for _, f := range r.Findings {
		report.Findings = append(report.Findings, output.ImportFinding(f))
	}
	report.Steps, report.ToWrite, report.Schedules = r.Totals()
	summary := fmt.Sprintf("%s; %s not imported, %d changed, %d to set", r.Summary(), wording.Count(report.Lost, "element"), report.Changed, report.ToSet)
	if err := printParts(p, r, report, summary, f); err != nil {
		return err
	}
	if f.strict && report.Lost+report.ToWrite > 0 {
		return exit.With(exit.CodeRunFailed, fmt.Errorf("--strict: %s lost, %s left to write; the report names each", wording.Count(report.Lost, "element"), wording.Count(report.ToWrite, "step")))
	}
	return nil
}

// printParts prints the script to stdout, and the report to a file or to stderr. The summary is on
// stderr in either case, unless all is JSON.
func printParts(p *output.Printer, r *importer.Result, report output.ImportReport, summary string, f importFlags) (err error) {
	path := f.report
	out := p.Stderr
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
	if p.Structured() {
		if path != "" {
			if err := output.WriteJSON(out, report); err != nil {
				return err
			}
		}
		result := output.Import{Report: report}
		switch {
		case f.dir != "":
			if err := writeImport(p, r, f); err != nil {
				return err
			}
			result.Dir = f.dir
		case f.as == formatYAML:
			result.Definitions = definitions(r)
		default:
			result.Script = r.Script()
		}
		return p.Emit(result, nil)
	}
	if err := writeImport(p, r, f); err != nil {
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
	_, err = fmt.Fprintln(p.Stderr, summary)
	return err
}

// writeImport writes what was imported: a script or definitions to stdout, or files.
func writeImport(p *output.Printer, r *importer.Result, f importFlags) error {
	text := ""
	switch {
	case f.dir != "":
		list, comment := objects(r)
		files := manifest.Files(list, comment)
		c, err := manifest.CompareFiles(f.dir, files)
		if err == nil && len(c.Changed) > 0 && c.Changed[0] != manifest.SchemaFile {
			err = fmt.Errorf("--dir %s: %s would be replaced, such as %s; name an empty directory", f.dir, wording.Count(len(c.Changed), "file"), c.Changed[0])
		}
		if err == nil {
			err = manifest.WriteFiles(f.dir, files, nil)
		}
		if err != nil {
			return exit.Usage(err)
		}
		if p.Structured() {
			return nil
		}
		text = fmt.Sprintf("wrote %s as %s into %s; see them with jobagent diff -f %[3]s\n", wording.Count(len(list), "object"), wording.Count(len(files), "file"), f.dir)
	case f.as == formatYAML:
		text = definitions(r)
	default:
		text = r.Script()
	}
	_, err := io.WriteString(p.Stdout, text)
	return err
}

// definitions returns what was imported as documents of one YAML file.
func definitions(r *importer.Result) string {
	list, comment := objects(r)
	var b strings.Builder
	for i, o := range list {
		if i > 0 {
			b.WriteString("---\n")
		}
		for line := range strings.Lines(comment(o)) {
			b.WriteString(strings.TrimRight("# "+line, " \r\n") + "\n")
		}
		b.WriteString(manifest.YAML(o))
	}
	return b.String()
}
