package apply

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/definition"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
)

func newExportCommand(a *connect.App) *cobra.Command {
	var opts exportOptions
	cmd := &cobra.Command{
		Use: "export", Short: "Write the definitions of jobs and other objects as files", Args: cobra.NoArgs,
		Long: `Write the definitions of jobs, target groups, calendars, limits, alerts and alert channels as YAML
or JSON: to stdout, or with --dir as files, one for each object, with the scripts of the steps
beside them. jobagent apply reads them again, and then changes nothing. In a directory that was used
before, the files that it replaces are listed, and those that are stale: of objects that do not
exist any more. --prune removes these.

Not exported: system jobs, jobs of the SAP and Scheduler APIs, pauses and mutes, credentials and
secrets, and settings.`,
		Example: "  jobagent export --dir jobs\n  jobagent export --job nightly > nightly.yaml\n  jobagent export -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.prune && opts.dir == "" {
				return exit.Usagef("--prune removes files of --dir: give --dir, too")
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error { return runExport(cmd, &a.Printer, store, opts) })
		},
	}
	cmd.Flags().StringArrayVar(&opts.jobs, "job", nil, "only this `job`, with the target groups and calendars that it uses; may be repeated")
	cmd.Flags().StringArrayVar(&opts.groups, "target-group", nil, "only this target `group`; may be repeated, and combined with --job")
	cmd.Flags().StringVar(&opts.dir, "dir", "", "write files into this `directory`, which is made if it does not exist; files of the same names are replaced, and listed")
	cmd.Flags().BoolVar(&opts.prune, "prune", false, "with --dir, remove files of objects that do not exist any more; lists them first, and asks")
	cmd.MarkFlagsMutuallyExclusive("prune", "job")
	cmd.MarkFlagsMutuallyExclusive("prune", "target-group")
	command.AddYes(cmd)
	return cmd
}

// exportOptions are the flags of export.
type exportOptions struct {
	jobs, groups []string
	dir          string
	prune        bool
}

func runExport(cmd *cobra.Command, p *output.Printer, store *controldb.Store, opts exportOptions) error {
	names := opts.jobs
	if len(opts.groups) > 0 && names == nil {
		names = []string{}
	}
	s, err := definition.Read(cmd.Context(), store, names)
	if err != nil {
		return err
	}
	list := s.Own()
	if names != nil {
		if list, err = selected(s, opts); err != nil {
			return err
		}
	}
	if opts.dir != "" {
		return exportTree(cmd, p, list, opts)
	}
	if p.Format == output.FormatJSON || p.Structured() && p.Format != output.FormatYAML {
		docs := output.Each(list, manifest.JSONDocument)
		return p.Emit(docs, nil)
	}
	w := bufio.NewWriter(p.Stdout)
	for i, o := range list {
		if i > 0 {
			_, _ = w.WriteString("---\n") // the error comes back from Flush
		}
		_, _ = w.WriteString(manifest.YAML(o))
	}
	return w.Flush()
}

// selected returns the objects of --job and --target-group, and those that they use.
func selected(s *definition.State, opts exportOptions) ([]manifest.Object, error) {
	var keys []manifest.Key
	for _, name := range opts.jobs {
		o := s.Get(manifest.Key{Kind: manifest.KindJob, Name: strings.ToLower(name)})
		switch {
		case o == nil:
			return nil, exit.With(exit.CodeNotFound, fmt.Errorf("the job %q does not exist; jobagent job list shows all jobs", name))
		case o.Origin != "":
			return nil, exit.With(exit.CodeConflict, fmt.Errorf("the job %q is defined through the %s API, and cannot be exported", name, o.Origin))
		}
		keys = append(keys, o.Key())
		job := o.Value.(*manifest.Job)
		for _, step := range job.Steps {
			keys = append(keys, manifest.Key{Kind: manifest.KindTargetGroup, Name: strings.ToLower(step.TargetGroup)})
		}
		for _, h := range job.Schedules {
			_, spec := h.Definition()
			for _, c := range schedule.CalendarNames(spec) {
				keys = append(keys, manifest.Key{Kind: manifest.KindCalendar, Name: strings.ToLower(c)})
			}
		}
	}
	for _, name := range opts.groups {
		key := manifest.Key{Kind: manifest.KindTargetGroup, Name: strings.ToLower(name)}
		if s.Get(key) == nil {
			return nil, exit.With(exit.CodeNotFound, fmt.Errorf("the target group %q does not exist; jobagent target-group list shows all groups", name))
		}
		keys = append(keys, key)
	}
	for i := 0; i < len(keys); i++ { // the list grows
		o := s.Get(keys[i])
		if o == nil {
			continue
		}
		g, ok := o.Value.(*manifest.TargetGroup)
		if !ok {
			continue
		}
		for _, key := range g.Groups() {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return slices.DeleteFunc(s.Own(), func(o manifest.Object) bool { return !slices.Contains(keys, o.Key()) }), nil
}

// exportTree writes objects as files, and says which files it replaces and which are stale.
func exportTree(cmd *cobra.Command, p *output.Printer, list []manifest.Object, opts exportOptions) error {
	files := manifest.Files(list, nil)
	c, err := manifest.CompareFiles(opts.dir, files)
	if err != nil {
		return exit.Usage(err)
	}
	if opts.jobs != nil || opts.groups != nil {
		c.Stale = nil // other objects have their files
	}
	removed := c.Stale
	if !opts.prune {
		removed = nil
	}
	if len(removed) > 0 {
		err := command.Confirm(cmd, func() (string, int, error) {
			fmt.Fprintf(p.Stderr, "--prune removes:\n  %s\n", strings.Join(removed, "\n  "))
			return fmt.Sprintf("This removes %s that the export does not have", wording.Count(len(removed), "file")), len(removed), nil
		})
		if err != nil {
			return err
		}
	}
	if err := manifest.WriteFiles(opts.dir, files, removed); err != nil {
		return exit.Usage(err)
	}
	result := output.ExportedFiles{Dir: opts.dir, Objects: len(list), Files: []string{}, New: c.New, Changed: c.Changed, Removed: removed, Stale: c.Stale}
	for _, f := range files {
		result.Files = append(result.Files, f.Path)
	}
	return p.Emit(result, func(w io.Writer) error { return writeExported(w, result) })
}

// writeExported writes what an export did, for people.
func writeExported(w io.Writer, r output.ExportedFiles) error {
	var b strings.Builder
	if len(r.New) < len(r.Files) { // the directory was used before
		for _, f := range r.Changed {
			b.WriteString("replaced " + f + "\n")
		}
		for _, f := range r.New {
			b.WriteString("new " + f + "\n")
		}
	}
	for _, f := range r.Stale {
		if r.Removed != nil {
			b.WriteString("removed " + f + "\n")
		} else {
			b.WriteString("stale " + f + "\n")
		}
	}
	fmt.Fprintf(&b, "wrote %s as %s into %s", wording.Count(r.Objects, "object"), wording.Count(len(r.Files), "file"), r.Dir)
	if same := len(r.Files) - len(r.New) - len(r.Changed); same > 0 {
		fmt.Fprintf(&b, "; %d unchanged", same)
	}
	b.WriteByte('\n')
	if len(r.Stale) > 0 && r.Removed == nil {
		what := "what it defines; --prune removes it"
		if len(r.Stale) > 1 {
			what = "what they define; --prune removes them"
		}
		fmt.Fprintf(&b, "%s not of this export: jobagent apply would create %s\n", wording.Count(len(r.Stale), "file"), what)
	}
	_, err := io.WriteString(w, terminal.CleanScreen(b.String()))
	return err
}
