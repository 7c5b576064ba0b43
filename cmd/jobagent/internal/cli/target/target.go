// Package target has the commands about databases over runs, their tags, pauses
// and windows.
package target

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/inventory"
)

// NewCommand returns `jobagent target`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("target", "List the known databases, give them tags and windows, and pause them",
		command.StandsFor("jobs.targets", newListCommand(a)),
		command.StandsFor("jobs.sp_set_target_tags", a.Prints(output.ChangedTags{}, newTagCommand(a))),
		command.StandsFor("jobs.target_pauses", newPausesCommand(a)),
		command.StandsFor("jobs.sp_pause_target", a.Prints(output.PausedTarget{}, newPauseCommand(a))),
		command.StandsFor("jobs.sp_resume_target", a.Prints(output.PausedTarget{}, newResumeCommand(a))),
		newWindowCommand(a),
	)
}

// columns are those of target list.
var columns = output.Columns([]output.Column[output.KnownTarget]{
	{Name: "server_name", Header: "SERVER", Min: 12, Keep: true},
	{Name: "database_name", Header: "DATABASE", Min: 12, Keep: true},
	{Name: "elastic_pool_name", Header: "POOL", Min: 8, Drop: 5},
	{Name: "tags", Min: 12, Rest: true, Value: func(t output.KnownTarget) any { return tagText(t.Tags) }},
	{Name: "pause", Header: "PAUSED", Drop: 2, Value: func(t output.KnownTarget) any {
		switch {
		case t.Paused == nil:
			return ""
		case t.PauseEnd == nil:
			return "yes"
		}
		return "until " + t.PauseEnd.UTC().Format("2006-01-02 15:04")
	}},
	{Name: "windows", Drop: 1, Value: func(t output.KnownTarget) any { return strings.Join(t.Windows, ", ") }},
	{Name: "paused_time", Header: "PAUSED SINCE", Wide: true},
	{Name: "pause_end_time", Header: "PAUSED UNTIL", Wide: true},
	{Name: "pause_reason", Wide: true},
	{Name: "first_seen_time", Header: "FIRST SEEN", Wide: true},
	{Name: "last_seen_time", Header: "LAST SEEN", Drop: 4},
	{Name: "gone_time", Header: "GONE", Drop: 3},
	{Name: "is_gone", Wide: true},
	{Name: "target", Wide: true, ID: true, Value: func(t output.KnownTarget) any { return t.Server + "/" + t.Database }},
	{Name: "target_id", Wide: true},
})

// tagText returns tags as the command line takes them.
func tagText(tags []output.TargetTag) string {
	list := output.Each(tags, func(t output.TargetTag) string { return t.Name + "=" + t.Value })
	return strings.Join(list, " ")
}

func newListCommand(a *connect.App) *cobra.Command {
	f := targetgroups.KnownTargetFilter{}
	var gone bool
	var limit int
	cmd := command.List(&a.Printer, columns, &cobra.Command{
		Use: "list", Short: "List the known databases with their tags, pauses and windows", Args: cobra.NoArgs,
		Long: `List the databases to which target groups were ever resolved, and those that have tags. Agents register the databases
of a run some seconds after it has resolved its groups. Databases that no group resolves any more are listed with
--gone only.

A filter of tags means what it would mean in a WHERE of T-SQL, with the tags of a database as columns, and NULL for a
tag that it does not have: =, <>, IN, LIKE, IS NULL, AND, OR, NOT and parentheses. It is the filter of members of target
groups (jobagent target-group add --tag-filter), which run on the databases that this command lists.`,
		Example: `  jobagent target list --tag-filter "tier = 'gold' AND NOT region IN ('eu', 'us')"
  jobagent target list --target-group customers --gone
  jobagent target list --limit 100000 -o csv > databases.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return exit.Usagef("--limit %d: want at least 1 database", limit)
			}
			f.Gone = &gone
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, more, err := read(cmd.Context(), store, f, limit)
				if err != nil {
					return err
				}
				if err := output.List(&a.Printer, list, columns); err != nil {
					return err
				}
				if more {
					fmt.Fprintf(a.Stderr, "There are more databases: --limit shows more than %d, --search chooses.\n", limit)
				}
				return nil
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.Group, "target-group", "", "only databases that this `GROUP` had when it was last resolved")
	flags.StringVar(&f.TagFilter, "tag-filter", "", "only databases whose tags match this `FILTER`, such as \"tier = 'gold'\"")
	flags.StringVar(&f.Name, "search", "", "only databases with this `TEXT` in their name or that of the server; * and ? are wildcards")
	flags.BoolVar(&gone, "gone", false, "only databases that no target group resolves any more, or that the group has lost")
	flags.IntVar(&limit, "limit", 1000, "maximum number of databases")
	return cmd
}

// read reads at most limit databases, and whether there are more.
func read(ctx context.Context, store *controldb.Store, f targetgroups.KnownTargetFilter, limit int) (list []output.KnownTarget, more bool, err error) {
	list = []output.KnownTarget{}
	for {
		f.Windows = true
		f.Top = min(limit+1-len(list), targetgroups.MaxKnownTargets)
		page, err := targetgroups.On(store).KnownTargets(ctx, f)
		if err != nil {
			return nil, false, err
		}
		for _, t := range page {
			if len(list) == limit {
				return list, true, nil
			}
			v := output.KnownTarget{
				Server: t.Server, Database: t.Database, ElasticPool: t.ElasticPool, Tags: []output.TargetTag{}, IsGone: t.IsGone, ID: t.ID,
				Paused: output.Optional(t.Paused), PauseEnd: output.Optional(t.PauseEnd), PauseReason: t.PauseReason,
				FirstSeen: output.Optional(t.FirstSeen), LastSeen: output.Optional(t.LastSeen), Gone: output.Optional(t.Gone),
			}
			var tags map[string]string
			if err := json.Unmarshal([]byte(t.Tags), &tags); err != nil {
				return nil, false, fmt.Errorf("read the tags of %s/%s: %w", t.Server, t.Database, err)
			}
			if v.Windows, err = t.WindowNames(); err != nil {
				return nil, false, err
			}
			for _, name := range slices.Sorted(maps.Keys(tags)) {
				v.Tags = append(v.Tags, output.TargetTag{Name: name, Value: tags[name]})
			}
			list = append(list, v)
		}
		if len(page) < f.Top {
			return list, false, nil
		}
		f.After = targets.Target{Server: page[len(page)-1].Server, Database: page[len(page)-1].Database}
	}
}

func newTagCommand(a *connect.App) *cobra.Command {
	var file string
	var remove []string
	var replace bool
	cmd := &cobra.Command{
		Use: "tag [SERVER] [DATABASE] [NAME=VALUE]...", Short: "Set and remove tags of databases",
		Long: `Set and remove tags of a database, or of all databases in a file. A database that no run has had yet may have tags, with
a warning; it is then known. A name of a tag has letters, digits, _, - and . of ASCII; a database has at most 50 tags.

A file is CSV with the columns server_name and database_name, and one for each tag. An empty cell removes the tag.
5,000 databases are set at once; if a later part fails, the parts before it stay.`,
		Example: `  jobagent target tag sql1.example.com contoso tier=gold region=eu
  jobagent target tag sql1.example.com contoso --remove region
  jobagent target tag --file tenants.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := wanted(args, remove, replace, file, a.Stdin)
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				view := output.ChangedTags{Databases: len(list)}
				for part := range slices.Chunk(list, targetgroups.MaxTargetTags) {
					changed, err := targetgroups.On(store).SetTags(cmd.Context(), part, replace)
					if err != nil {
						return err
					}
					view.Changed += changed
				}
				if err := warnOfUnseen(cmd.Context(), a, store, list); err != nil {
					return err
				}
				return a.Done(view, "%s of %d changed", wording.Count(view.Changed, "database"), view.Databases)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "file", "", "CSV `FILE` with the columns server_name, database_name and one for each tag; - is standard input")
	flags.StringArrayVar(&remove, "remove", nil, "remove the tag `NAME`; may be repeated")
	flags.BoolVar(&replace, "replace", false, "remove all tags that are not given")
	return cmd
}

// warnOfUnseen warns of databases that no run has had: their names may have typing errors. For a
// list, it does not warn if there are more databases than [lookup.Seen] reads.
func warnOfUnseen(ctx context.Context, a *connect.App, store *controldb.Store, list []targetgroups.TargetTags) error {
	unseen := make(map[uuid.UUID]bool, len(list))
	for _, t := range list {
		unseen[t.Target] = true
	}
	var filter targetgroups.KnownTargetFilter
	if len(list) == 1 {
		filter.ID = list[0].Target
	}
	all, err := lookup.Seen(ctx, store, filter, func(t targetgroups.KnownTarget) bool {
		delete(unseen, t.ID)
		return len(unseen) > 0
	})
	if err != nil || len(unseen) == 0 || !all {
		return err
	}
	first := list[slices.IndexFunc(list, func(t targetgroups.TargetTags) bool { return unseen[t.Target] })]
	name := "the database " + first.Server + "/" + first.Database
	if len(list) > 1 {
		name = fmt.Sprintf("%d of %s, such as %s/%s", len(unseen), wording.Count(len(list), "database"), first.Server, first.Database)
	}
	return a.Warn([]string{fmt.Sprintf(unseenText, name)})
}

// unseenText is the warning about a database that no run has had.
const unseenText = "no run has had %s: jobagent target list shows those that runs had"

// wanted returns what to set, of the arguments or of a file.
func wanted(args, remove []string, replace bool, file string, stdin io.Reader) ([]targetgroups.TargetTags, error) {
	if file != "" {
		if len(args) > 0 || len(remove) > 0 {
			return nil, exit.Usagef("--file names the databases and their tags: no arguments and no --remove beside it")
		}
		text, err := command.ReadText(file, stdin)
		if err != nil {
			return nil, err
		}
		return readTags(file, text)
	}
	if len(args) < 2 {
		return nil, exit.Usagef("want SERVER and DATABASE, or --file")
	}
	if err := targets.CheckServer(args[0]); err != nil {
		return nil, exit.Usagef("invalid SERVER %q: %w", args[0], err)
	}
	t := targetgroups.TargetTags{Target: targets.TargetID(args[0], args[1]), Server: args[0], Database: args[1], Tags: map[string]*string{}}
	for _, arg := range args[2:] {
		name, value, ok := strings.Cut(arg, "=")
		if _, twice := t.Tags[name]; !ok || name == "" || twice {
			return nil, exit.Usagef("invalid tag %q: want NAME=VALUE, and each name once", arg)
		}
		t.Tags[name] = &value
	}
	for _, name := range remove {
		if _, twice := t.Tags[name]; name == "" || twice {
			return nil, exit.Usagef("invalid --remove %q: want the name of another tag", name)
		}
		t.Tags[name] = nil
	}
	if len(t.Tags) == 0 && !replace {
		return nil, exit.Usagef("want a tag NAME=VALUE, or --remove NAME")
	}
	return []targetgroups.TargetTags{t}, nil
}

// readTags reads a table of databases with a column for each tag.
func readTags(file, text string) ([]targetgroups.TargetTags, error) {
	databases, err := inventory.ReadCSV(text, 3)
	if err != nil {
		return nil, exit.Usagef("%s: %w", file, err)
	}
	list := output.Each(databases, func(d inventory.Database) targetgroups.TargetTags {
		return targetgroups.TargetTags{Target: targets.TargetID(d.Server, d.Database), Server: d.Server, Database: d.Database, Tags: d.Tags}
	})
	return list, nil
}
