package db

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// newDescribeCommand returns `jobagent db describe`.
func newDescribeCommand(p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use: "describe [NAME]", Short: "Print the reference of procedures and views, or of one of them, as Markdown",
		Long: `Print the reference of the control database as Markdown: of all procedures and views, or of the one
with this name. The schema may be left out if no other schema has the name. Nothing is read from a
server.`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return describedNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := sqlfs.DescribeAll()
			if err != nil {
				return err
			}
			var r output.Reference
			if len(args) == 0 {
				r.Markdown, err = sqlfs.Reference()
			} else {
				all, err = findDescribed(all, args[0])
			}
			if err != nil {
				return err
			}
			if len(args) > 0 {
				r.Markdown = all[0].Markdown()
			}
			for _, d := range all {
				if d.Kind != sqlfs.KindSchema {
					r.Objects = append(r.Objects, referenceObject(d))
				}
			}
			return p.Emit(r, func(w io.Writer) error {
				_, err := fmt.Fprint(w, r.Markdown)
				return err
			})
		},
	}
}

// describedNames returns the public names first, as people type them most.
func describedNames() []string {
	all, err := sqlfs.DescribeAll()
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range all {
		if d.Kind == sqlfs.KindProcedure || d.Kind == sqlfs.KindView || d.Kind == sqlfs.KindTable {
			names = append(names, d.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(schemaRank(a), schemaRank(b)), cmp.Compare(a, b))
	})
	return names
}

// schemaRank orders the schemas: jobs is public, the others are not.
func schemaRank(name string) int {
	if strings.HasPrefix(name, "jobs.") {
		return 0
	}
	return 1
}

// findDescribed returns the object with a name, which may lack the schema and have brackets.
func findDescribed(all []sqlfs.Description, name string) ([]sqlfs.Description, error) {
	plain := strings.NewReplacer("[", "", "]", "").Replace(name)
	var found []sqlfs.Description
	for _, d := range all {
		_, last, _ := strings.Cut(d.Name, ".")
		switch {
		case d.Kind == sqlfs.KindSchema:
		case strings.EqualFold(d.Name, plain):
			return []sqlfs.Description{d}, nil
		case strings.EqualFold(last, plain):
			found = append(found, d)
		}
	}
	switch len(found) {
	case 1:
		return found, nil
	case 0:
		return nil, exit.With(exit.CodeNotFound, fmt.Errorf("the control database has no %q%s; jobagent db describe lists all", name, nearest(all, plain)))
	}
	var names []string
	for _, d := range found {
		names = append(names, d.Name)
	}
	return nil, exit.Usagef("%q is ambiguous: %s", name, strings.Join(names, ", "))
}

// nearest proposes the documented name that is most like name, or nothing if none is.
func nearest(all []sqlfs.Description, name string) string {
	name = strings.ToLower(name)
	best, distance := "", len(name)/3+1
	for _, d := range all {
		if d.Kind == sqlfs.KindSchema {
			continue
		}
		_, last, _ := strings.Cut(d.Name, ".")
		for _, candidate := range []string{d.Name, last} {
			if n := levenshtein.ComputeDistance(name, strings.ToLower(candidate)); n < distance {
				best, distance = d.Name, n
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// referenceObject converts a description of package sqlfs.
func referenceObject(d sqlfs.Description) output.ReferenceObject {
	o := output.ReferenceObject{
		Name: d.Name, Kind: strings.ToLower(string(d.Kind)), Summary: strings.TrimSpace(d.Summary),
		Returns: d.Returns, CalledBy: d.CalledBy, Locks: d.Locks,
	}
	for _, part := range []struct {
		from []sqlfs.Entry
		to   *[]output.ReferenceEntry
	}{{d.Parameters, &o.Parameters}, {d.Columns, &o.Columns}, {d.Throws, &o.Errors}} {
		for _, e := range part.from {
			*part.to = append(*part.to, output.ReferenceEntry(e))
		}
	}
	return o
}
