package apply

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/mssql"
)

func newValidateCommand(a *connect.App) *cobra.Command {
	var f files
	var schema bool
	cmd := &cobra.Command{
		Use: "validate", Short: "Check files with definitions, without a database", Args: cobra.NoArgs,
		Long: `Check files with definitions of jobs and other objects, without a database: their form, the
schedules, the actions, the order of the steps, and references between the files. An object that
is not in the files may exist in the database: this is a note, not an error.

With --schema, print the JSON Schema of a document, for editors.`,
		Example: "  jobagent validate -f jobs\n  jobagent validate --schema > jobagent.schema.json",
		RunE: func(_ *cobra.Command, _ []string) error {
			if schema && len(f.names) > 0 {
				return exit.Usagef("--schema and --file are both given: want one of them")
			}
			if schema {
				_, err := a.Stdout.Write(manifest.Schema())
				return err
			}
			if len(f.names) == 0 {
				return exit.Usagef("missing --file: name a file or a directory, or give --schema; see jobagent validate --help")
			}
			return runValidate(a, &f)
		},
	}
	cmd.Flags().StringArrayVarP(&f.names, "file", "f", nil, "`FILE` or directory with definitions, - for standard input; may be repeated")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema (draft 2020-12) of a document")
	return cmd
}

// upcomingCount is the number of next instants that are shown for a schedule.
const upcomingCount = 3

func runValidate(a *connect.App, f *files) error {
	set, err := f.load(&a.Settings)
	var faults manifest.Faults
	if err != nil && !errors.As(err, &faults) {
		return err
	}
	result := output.ValidatedFiles{Valid: len(faults) == 0, Faults: fileFaults(faults), Notes: fileFaults(set.Notes),
		Objects: []output.DefinedObject{}, Schedules: []output.FileSchedule{}}
	if len(faults) > 0 {
		if a.Structured() {
			if err := a.Emit(result, nil); err != nil {
				return err
			}
		}
		return command.FaultError(&a.Printer, err)
	}
	result.Notes = append(result.Notes, scriptNotes(set)...)
	for _, o := range set.Objects {
		result.Objects = append(result.Objects, output.DefinedObject{Kind: string(o.Kind), Name: o.Name(), File: o.Source.File, Line: o.Source.Line})
	}
	for _, u := range manifest.Next(set, time.Now(), upcomingCount) {
		s := output.FileSchedule{Job: u.Job, Schedule: u.Schedule, Next: u.Due, Zone: "UTC", Warnings: u.Warnings}
		if u.Zone != nil {
			s.Zone = u.Zone.String()
		}
		if s.Next == nil {
			s.Next = []time.Time{}
		}
		result.Schedules = append(result.Schedules, s)
	}
	return a.Emit(result, func(w io.Writer) error { return printValidated(&a.Printer, w, result) })
}

// scriptNotes notes names that no run replaces, and the parameters that steps insert into dynamic
// T-SQL: a run whose value is a number succeeds, one whose value is a text fails.
func scriptNotes(set manifest.Set) (notes []output.FileFault) {
	for _, o := range set.Objects {
		job, ok := o.Value.(*manifest.Job)
		if !ok {
			continue
		}
		for _, s := range job.Steps {
			kind, script := s.CommandType()
			if kind != "TSql" {
				continue
			}
			nested, err := mssql.NestedParameters(script)
			if err != nil {
				notes = append(notes, output.FileFault{File: o.Source.File, Line: o.Source.Line,
					Message: fmt.Sprintf("step %q of the job %q: each run fails: %v", s.Name, job.Name, err)})
			}
			unknown, _ := mssql.UnknownNames(script) // the error is that of NestedParameters
			for _, n := range unknown {
				notes = append(notes, output.FileFault{File: o.Source.File, Line: o.Source.Line,
					Message: fmt.Sprintf("step %q of the job %q, line %d of the script: $(%s): %s", s.Name, job.Name, n.Line, n.Name, mssql.UnknownNameAdvice)})
			}
			for _, n := range nested {
				notes = append(notes, output.FileFault{File: o.Source.File, Line: o.Source.Line,
					Message: fmt.Sprintf("step %q of the job %q, line %d of the script: $(%s): %s", s.Name, job.Name, n.Line, n.Name, mssql.NestedAdvice)})
			}
		}
	}
	return notes
}

func fileFaults(list []manifest.Fault) []output.FileFault {
	out := output.Each(list, func(f manifest.Fault) output.FileFault {
		return output.FileFault{File: f.File, Line: f.Line, Column: f.Column, Path: f.Path, Message: f.Message}
	})
	return out
}

// printValidated prints the next instants of the schedules, the notes, and the number of objects.
func printValidated(p *output.Printer, w io.Writer, r output.ValidatedFiles) error {
	if len(r.Schedules) > 0 {
		t := output.NewTable("JOB", "SCHEDULE", "NEXT (UTC)", "THEN")
		for _, s := range r.Schedules {
			next, then := "never", ""
			if len(s.Next) > 0 {
				next = s.Next[0].UTC().Format("2006-01-02 15:04:05")
			}
			if len(s.Next) > 1 {
				then = s.Next[1].UTC().Format("2006-01-02 15:04:05")
			}
			t.Add(terminal.Clean(s.Job), terminal.Clean(s.Schedule), next, then)
		}
		if err := t.Write(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(p.Stderr, "note: %s\n", output.OneLine(manifest.Fault{Place: manifest.Place{File: n.File, Line: n.Line, Column: n.Column}, Path: n.Path, Message: n.Message}.String()))
	}
	for _, s := range r.Schedules {
		for _, warning := range s.Warnings {
			fmt.Fprintf(p.Stderr, "note: schedule %q of the job %q: %s\n", s.Schedule, s.Job, output.OneLine(warning))
		}
	}
	counts := map[string]int{}
	for _, o := range r.Objects {
		counts[o.Kind]++
	}
	var parts []string
	for _, k := range manifest.Kinds() {
		if n := counts[string(k)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, wording.Plural(n, words[k][0], words[k][1])))
		}
	}
	_, err := fmt.Fprintf(w, "valid: %s\n", strings.Join(parts, ", "))
	return err
}

// words are the kinds in sentences: of one object, and of several.
var words = map[manifest.Kind][2]string{
	manifest.KindTargetGroup: {"target group", "target groups"}, manifest.KindCalendar: {"calendar", "calendars"},
	manifest.KindTargetWindow: {"window of databases", "windows of databases"},
	manifest.KindAlertChannel: {"alert channel", "alert channels"}, manifest.KindJob: {"job", "jobs"},
	manifest.KindLimit: {"limit", "limits"}, manifest.KindAlert: {"alert", "alerts"},
}
