package targetgroup

import (
	"errors"
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
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/inventory"
)

// The sources of lists.
const (
	sourceCSV   = "csv"
	sourceAzure = "azure-resource-graph"
)

func newImportCommand(a *connect.App) *cobra.Command {
	var file, source string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "import GROUP", Short: "Make a target group of the databases in a file, and set their tags",
		Long: `Make a target group of the databases in a file, or replace the members of an existing one, and set the tags of the
databases. Members that stay keep their target IDs; before others are removed, the command asks.

The sources are:
  csv                    the columns server_name and database_name, and one for each tag; an empty cell removes the tag
  azure-resource-graph   the JSON that az graph query prints for
                         "resources | where type =~ 'microsoft.sql/servers/databases' | project id, tags"

Of Azure's answer, the databases master are left out. The servers are NAME.database.windows.net, unless the query
returns a column server_name. Tags of resources become tags; those whose names or values are not valid as tags are reported.
An answer that is only a part is refused: read all pages, and give their rows as one JSON array.

Tags that the file does not have stay. The tags are set before the members, 5,000 databases at once; if a later part
fails, the parts before it stay.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, notes, err := readList(file, source, a.Stdin)
			if err != nil {
				return err
			}
			if err := a.Warn(notes); err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				group, err := targetgroups.On(store).Get(cmd.Context(), args[0])
				if err != nil && !errors.Is(err, dberror.ErrGroupNotFound) {
					return err
				}
				view := output.ImportedTargetGroup{Group: args[0], Databases: len(list), DryRun: dryRun}
				members := plan(&view, list, group.Members)
				tags := tagsOf(list)
				if dryRun {
					return a.Emit(view, func(w io.Writer) error { return printPlan(w, view, len(tags)) })
				}
				if len(view.Removed) > 0 {
					if err := command.Confirm(cmd, func() (string, int, error) {
						return fmt.Sprintf("This removes %s from the target group %s, and adds %d; --dry-run lists them",
							wording.Count(len(view.Removed), "member"), args[0], len(view.Added)), len(view.Removed), nil
					}); err != nil {
						return err
					}
				}
				for part := range slices.Chunk(tags, targetgroups.MaxTargetTags) {
					changed, err := targetgroups.On(store).SetTags(cmd.Context(), part, false)
					if err != nil {
						return err
					}
					view.TagsChanged += changed
				}
				// A group that does not exist has the revision 0.
				if _, err := targetgroups.On(store).Set(cmd.Context(), args[0], members, &group.Revision); err != nil {
					return err
				}
				return a.Done(view, "target group %s has %s: %d added, %s removed; tags of %s changed", args[0],
					wording.Count(view.Databases, "database"), len(view.Added), wording.Count(len(view.Removed), "member"),
					wording.Count(view.TagsChanged, "database"))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "file", "f", "", "`FILE` with the databases; - is standard input")
	flags.StringVar(&source, "source", sourceCSV, "`SOURCE` of the file: csv or azure-resource-graph")
	flags.BoolVar(&dryRun, "dry-run", false, "only print what would be added and removed")
	command.AddYes(cmd)
	_ = cmd.MarkFlagRequired("file") // the flag exists
	return cmd
}

// readList reads the databases of a file, each of which can be a member of a group.
func readList(file, source string, stdin io.Reader) (list []inventory.Database, notes []string, err error) {
	if source != sourceCSV && source != sourceAzure {
		return nil, nil, exit.Usagef("invalid --source %q: want %s or %s", source, sourceCSV, sourceAzure)
	}
	text, err := command.ReadText(file, stdin)
	if err != nil {
		return nil, nil, err
	}
	if source == sourceCSV {
		list, err = inventory.ReadCSV(text, 2)
	} else {
		list, notes, err = inventory.ReadAzureResourceGraph(text)
	}
	if err != nil {
		return nil, nil, exit.Usagef("%s: %w", file, err)
	}
	if len(list) == 0 {
		return nil, nil, exit.Usagef("%s has no database: jobagent target-group delete deletes a group", file)
	}
	had := map[string]bool{}
	for _, d := range list {
		if strings.ContainsAny(d.Database, "*?") {
			return nil, nil, exit.Usagef("%s: the database name %q would stand for others, because of * or ?", file, d.Database)
		}
		key := targets.DatabaseKey(d.Server, d.Database)
		if had[key] {
			return nil, nil, exit.Usagef("%s: the database %s/%s is there twice", file, d.Server, d.Database)
		}
		had[key] = true
	}
	return list, notes, nil
}

// plan returns the members that the group will have, and notes in view what that changes.
func plan(view *output.ImportedTargetGroup, list []inventory.Database, before []targets.Member) []targets.Member {
	view.Added, view.Removed = []string{}, []string{}
	had := map[string]targets.Member{}
	for _, m := range before {
		if m.Membership == targets.Include && m.Kind == targets.SQLDatabase {
			had[targets.DatabaseKey(m.Server, m.Database)] = m
		}
	}
	members := make([]targets.Member, 0, len(list))
	stay := map[string]bool{}
	for _, d := range list {
		key := targets.DatabaseKey(d.Server, d.Database)
		m, ok := had[key]
		if !ok {
			m = targets.Member{Membership: targets.Include, Kind: targets.SQLDatabase, Server: d.Server, Database: d.Database}
			view.Added = append(view.Added, d.Server+"/"+d.Database)
		} else {
			stay[m.ID.String()] = true
		}
		members = append(members, m)
	}
	for _, m := range before {
		if !stay[m.ID.String()] {
			view.Removed = append(view.Removed, m.String())
		}
	}
	return members
}

// tagsOf returns the tags to set.
func tagsOf(list []inventory.Database) []targetgroups.TargetTags {
	var tags []targetgroups.TargetTags
	for _, d := range list {
		if len(d.Tags) > 0 {
			tags = append(tags, targetgroups.TargetTags{Target: targets.TargetID(d.Server, d.Database), Server: d.Server, Database: d.Database, Tags: d.Tags})
		}
	}
	return tags
}

// printPlan prints what an import would do.
func printPlan(w io.Writer, view output.ImportedTargetGroup, tagged int) error {
	var b strings.Builder
	for _, name := range view.Added {
		fmt.Fprintf(&b, "+ %s\n", output.OneLine(name))
	}
	for _, member := range view.Removed {
		fmt.Fprintf(&b, "- %s\n", output.OneLine(member))
	}
	fmt.Fprintf(&b, "target group %s would have %s: %d added, %s removed; the file has tags for %s\n", view.Group,
		wording.Count(view.Databases, "database"), len(view.Added), wording.Count(len(view.Removed), "member"), wording.Count(tagged, "database"))
	_, err := io.WriteString(w, terminal.CleanScreen(b.String()))
	return err
}
