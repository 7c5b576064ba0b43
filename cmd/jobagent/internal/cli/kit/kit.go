// Package kit has the commands of the maintenance kit: definitions that come with the program.
package kit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/kit"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/suggest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// NewCommand returns `jobagent kit`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("kit", "Ready jobs that maintain databases, as files for jobagent apply",
		newListCommand(a), a.Prints(output.KitFiles{}, newShowCommand(a)), a.Prints(output.WrittenKit{}, newWriteCommand(a)),
	)
	cmd.Long = `Ready jobs that maintain databases, as files for jobagent apply: indexes, statistics, integrity,
backups, and reports on blocking, files, indexes, users and settings.

jobagent kit write puts them into a directory. Read and change them there, and apply them. Their
schedules are disabled until you enable them in the files.`
	return cmd
}

func newListCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, columns, &cobra.Command{
		Use: "list", Short: "List the definitions of the kit", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := kit.Definitions()
			if err != nil {
				return err
			}
			return output.List(&a.Printer, output.Each(all, view), columns)
		},
	})
}

// columns are those of kit list.
var columns = output.Columns([]output.Column[output.KitDefinition]{
	{Name: "name", ID: true, Keep: true},
	{Name: "runs_on"},
	{Name: "summary", Header: "DOES", Min: 20, Rest: true, Wrap: true},
	{Name: "jobs", Wide: true, Text: func(d output.KitDefinition) string { return strings.Join(d.Jobs, ", ") }},
	{Name: "results", Wide: true},
	{Name: "rights", Wide: true},
	{Name: "versions", Wide: true},
	{Name: "needs", Wide: true},
})

// view converts a definition for output.
func view(d kit.Definition) output.KitDefinition {
	return output.KitDefinition{Name: d.Name, RunsOn: string(d.RunsOn), Summary: d.Summary, Jobs: d.Jobs, Results: d.Results,
		Rights: d.Rights, Versions: d.Versions, Needs: d.Needs}
}

func newShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show KIT_DEFINITION", Short: "Print the files of a definition", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := selected(args)
			if err != nil {
				return err
			}
			d := list[0]
			files := output.KitFiles{KitDefinition: view(d)}
			for _, f := range d.Files {
				files.Files = append(files.Files, output.KitFile{Path: f.Path, Text: f.Text})
			}
			return a.Emit(files, func(w io.Writer) error {
				for i, f := range d.Files {
					if i > 0 {
						fmt.Fprintln(w)
					}
					if _, err := fmt.Fprintf(w, "==> %s <==\n%s", f.Path, f.Text); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// selected returns the definitions of some names; without names, all that need no other program on
// the servers.
func selected(names []string) ([]kit.Definition, error) {
	all, err := kit.Definitions()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(d kit.Definition) bool { return d.Needs != "" }), nil
	}
	var known []string
	for _, d := range all {
		known = append(known, d.Name)
	}
	var list []kit.Definition
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			hint := cmp.Or(suggest.DidYouMean(name, known), "; jobagent kit list shows all definitions")
			return nil, exit.With(exit.CodeNotFound, fmt.Errorf("the kit has no definition %q%s", name, hint))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// options are the flags of kit write.
type options struct {
	places  kit.Places
	results string
	replace bool
}

func newWriteCommand(a *connect.App) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use: "write DIRECTORY [KIT_DEFINITION]...", Short: "Write definitions into a directory, for jobagent apply", Args: cobra.MinimumNArgs(1),
		Long: `Write definitions into a directory, for jobagent apply: those that are named, or all but those that
need other programs on the servers. Files that were changed are not replaced without --replace.

Most definitions run on each database of --target-group. Those that run on servers need --server-group:
a target group with one database of each server, such as master; the server of the control database
needs another one. For Azure SQL Database, it has the databases.
The results are written to tables of the database --results, which are made when they are needed.`,
		Example: "  jobagent kit write maintenance --target-group tenants --server-group servers --results sql1/dba\n" +
			"  jobagent kit write maintenance index-maintenance statistics --target-group tenants --results sql1/dba\n" +
			"  jobagent diff -f maintenance",
		RunE: func(_ *cobra.Command, args []string) error { return runWrite(a, args[0], args[1:], opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.places.Databases, "target-group", "", "target `group` of the databases")
	flags.StringVar(&opts.places.Servers, "server-group", "", "target `group` with one database of each server, such as master")
	flags.StringVar(&opts.results, "results", "", "database for the results: `SERVER/DATABASE`")
	flags.BoolVar(&opts.replace, "replace", false, "replace files that were changed")
	return cmd
}

func runWrite(a *connect.App, dir string, names []string, opts options) error {
	list, err := selected(names)
	if err != nil {
		return err
	}
	if opts.results != "" {
		var ok bool
		opts.places.ResultsServer, opts.places.ResultsDatabase, ok = strings.Cut(opts.results, "/")
		if !ok || opts.places.ResultsServer == "" || opts.places.ResultsDatabase == "" {
			return exit.Usagef("invalid --results %q: want SERVER/DATABASE", opts.results)
		}
	}
	files := []manifest.File{{Path: manifest.SchemaFile, Text: string(manifest.Schema())}}
	result := output.WrittenKit{Dir: dir, Files: []string{}, New: []string{}, Changed: []string{}}
	for _, d := range list {
		switch {
		case d.RunsOn == kit.Databases && opts.places.Databases == "":
			return exit.Usagef("missing --target-group: %s runs on the databases of a target group", d.Name)
		case d.RunsOn == kit.Servers && opts.places.Servers == "":
			return exit.Usagef("missing --server-group: %s runs on a target group with one database of each server", d.Name)
		case d.UsesResults() && opts.results == "":
			return exit.Usagef("missing --results: %s uses the database for the results; give SERVER/DATABASE", d.Name)
		}
		files = append(files, d.FillIn(opts.places)...)
		result.Definitions = append(result.Definitions, d.Name)
	}
	c, err := manifest.CompareFiles(dir, files)
	if err != nil {
		return exit.Usage(err)
	}
	changed := slices.DeleteFunc(slices.Clone(c.Changed), func(name string) bool { return name == manifest.SchemaFile })
	if len(changed) > 0 && !opts.replace {
		return exit.With(exit.CodeConflict, fmt.Errorf("%s in %s was changed (of %s in all): give --replace to replace it, or another directory; nothing was written",
			changed[0], dir, wording.Count(len(changed), "file")))
	}
	if err := manifest.WriteFiles(dir, files, nil); err != nil {
		return exit.Usage(err)
	}
	for _, f := range files {
		result.Files = append(result.Files, f.Path)
	}
	result.New, result.Changed = append(result.New, c.New...), append(result.Changed, c.Changed...)
	return a.Done(result, "wrote %s as %s into %s; their schedules are disabled", wording.Count(len(list), "definition"), wording.Count(len(files), "file"), dir)
}
