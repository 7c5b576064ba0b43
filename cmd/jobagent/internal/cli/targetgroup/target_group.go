// Package targetgroup has the commands that define and resolve target groups.
package targetgroup

import (
	"context"
	"fmt"
	"time"

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
	"github.com/jobagent/jobagent/targets/mssql"
)

// NewCommand returns `jobagent target-group`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("target-group", "Define target groups, and resolve them to databases",
		command.StandsFor("jobs.target_groups", newListCommand(a)),
		command.StandsFor("jobs.target_group_members", a.Prints(output.TargetGroupMembers{}, newShowCommand(a))),
		newResolveCommand(a),
		command.StandsFor("jobs.sp_add_target_group", a.Prints(output.CreatedTargetGroup{}, newCreateCommand(a))),
		a.Prints(output.ImportedTargetGroup{}, newImportCommand(a)),
		command.StandsFor("jobs.sp_delete_target_group", a.Prints(output.TargetGroupName{}, newDeleteCommand(a))),
		command.StandsFor("jobs.sp_add_target_group_member", a.Prints(output.ChangedMember{}, newAddCommand(a))),
		command.StandsFor("jobs.sp_delete_target_group_member", a.Prints(output.ChangedMember{}, newRemoveCommand(a))),
	)
}

// columns are those of target-group list.
var columns = output.Columns([]output.Column[output.TargetGroup]{
	{Name: "target_group_name", Header: "NAME", ID: true, Min: 12, Rest: true, Keep: true},
	{Name: "members", Right: true},
	{Name: "target_group_id", Header: "ID", GUID: true},
})

// The columns of target-group resolve, and those with --changes.
var (
	targetColumns  = output.Columns(columnsOfTargets()).Without("change")
	changedColumns = output.Columns(append([]output.Column[output.Target]{{Name: "change", Keep: true}}, columnsOfTargets()...))
)

func columnsOfTargets() []output.Column[output.Target] {
	return []output.Column[output.Target]{
		{Name: "server_name", Header: "SERVER", Min: 12, Keep: true},
		{Name: "database_name", Header: "DATABASE", Min: 12, Keep: true},
		{Name: "elastic_pool_name", Header: "POOL", Min: 8},
		{Name: "target", Wide: true, ID: true, Value: func(t output.Target) any { return t.Server + "/" + t.Database }},
		{Name: "target_id", Wide: true},
	}
}

func newListCommand(a *connect.App) *cobra.Command {
	return connect.List(a, columns, &cobra.Command{
		Use: "list", Short: "List all target groups", Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]output.TargetGroup, error) {
		groups, err := targetgroups.On(store).List(cmd.Context(), "")
		return output.Each(groups, func(g targetgroups.Group) output.TargetGroup { return output.TargetGroup{Group: g} }), err
	})
}

// memberColumns are those of target-group show.
var memberColumns = output.Columns([]output.Column[output.Member]{
	{Name: "membership_type", Header: "MEMBERSHIP", Keep: true},
	{Name: "target_type", Header: "TYPE", Drop: 4},
	{Name: "server_name", Header: "SERVER", Min: 12, Keep: true},
	{Name: "database_name", Header: "DATABASE", Min: 12, Drop: 1},
	{Name: "tag_filter", Header: "TAGS", Min: 12, Drop: 2},
	{Name: "member_group_name", Header: "GROUP", Min: 8, Drop: 3},
	{Name: "query", Min: 12, Drop: 9},
	{Name: "elastic_pool_name", Header: "POOL", Min: 8, Drop: 5},
	{Name: "shard_map_name", Header: "SHARD MAP", Min: 8, Drop: 6},
	{Name: "refresh_credential_name", Header: "REFRESH CREDENTIAL", Min: 8, Drop: 7},
	{Name: "target_id", ID: true, GUID: true, Drop: 8},
})

func newShowCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, memberColumns, &cobra.Command{
		Use: "show GROUP", Short: "Show the members of a target group", Args: cobra.ExactArgs(1),
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			list, err := lookup.Members(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			views := output.Each(list, func(m targets.Member) output.Member { return output.Member{Member: m} })
			if a.Structured() {
				return a.Emit(output.TargetGroupMembers{Members: views, Group: args[0]}, nil)
			}
			return output.List(&a.Printer, views, memberColumns)
		}),
	})
}

func newResolveCommand(a *connect.App) *cobra.Command {
	var changes bool
	cmd := &cobra.Command{
		Use: "resolve GROUP", Short: "List the databases on which a run would start now",
		Long: "List the databases on which a run would start now. The servers are queried from this machine, with the\ncredentials of the configuration, as the agent does. How many databases each member adds or excludes goes to\nstandard error, with a warning for each that has no effect.\n\nWith --changes, only the databases are listed that have come (added) or gone since the last list of targets that a\nrun has made of the group. Lists of reruns and of runs on chosen databases do not count, and agents register a list\nsome seconds after it was made. Which list it was, and how many databases stay, goes to standard error.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			columns := targetColumns
			if changes {
				columns = changedColumns
			}
			if err := columns.Check(a.List, a.Format); err != nil {
				return exit.Usage(err)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := lookup.Members(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				tools, closeTools, err := a.OpenTools(cmd.Context(), store, nil)
				if err != nil {
					return err
				}
				defer closeTools()
				resolved, counts, err := tools.Resolver.WithTags(targetgroups.On(store).TaggedTargets).Explain(cmd.Context(), list)
				if err != nil {
					err = fmt.Errorf("resolve target group %q: %w", args[0], err)
					switch mssql.Classify(err).Class {
					case targets.ClassAuth, targets.ClassLostConnection, targets.ClassTimeout, targets.ClassTransient:
						return exit.With(exit.CodeConnection, err)
					case targets.ClassConfig:
						return exit.Usage(err)
					}
					return err
				}
				views := output.Each(resolved, func(r targets.Target) output.Target {
					return output.Target{Server: r.Server, Database: r.Database, ElasticPool: r.ElasticPool, ID: r.ID}
				})
				if !a.Structured() {
					for i, m := range list {
						fmt.Fprintf(a.Stderr, "%s: %s\n", output.OneLine(m.String()), wording.Count(counts[i], "database"))
					}
				}
				if err := a.Warn(mssql.WithoutEffect(list, counts)); err != nil {
					return err
				}
				if changes {
					before, err := targetgroups.On(store).Targets(cmd.Context(), args[0])
					if err != nil {
						return err
					}
					var summary string
					views, summary = compare(views, before)
					fmt.Fprintln(a.Stderr, summary)
				}
				return output.List(&a.Printer, views, columns)
			})
		},
	}
	cmd.Flags().BoolVar(&changes, "changes", false, "list only the databases that differ from the last list of targets that a run has made")
	a.Target.Add(cmd)
	return command.List(&a.Printer, changedColumns, cmd)
}

// compare returns which databases have come and gone since the last list of a group, and says so.
// before are the databases of that list, and those of earlier ones.
func compare(now []output.Target, before []targetgroups.Target) (changed []output.Target, summary string) {
	had := map[uuid.UUID]bool{}
	for _, t := range before {
		if !t.IsGone {
			had[t.ID] = true
		}
	}
	listed := len(had)
	changed = []output.Target{}
	for _, t := range now {
		if had[t.ID] {
			delete(had, t.ID)
			continue
		}
		t.Change = output.TargetAdded
		changed = append(changed, t)
	}
	added := len(changed)
	for _, t := range before {
		if had[t.ID] {
			changed = append(changed, output.Target{Server: t.Server, Database: t.Database, ID: t.ID, Change: output.TargetGone})
		}
	}
	if len(before) == 0 {
		return changed, fmt.Sprintf("no run has resolved this group to a database yet: %s added", wording.Count(added, "database"))
	}
	return changed, fmt.Sprintf("against the list of %s with %s: %d added, %d gone, %d stay",
		before[0].Resolved.UTC().Format(time.RFC3339), wording.Count(listed, "database"), added, len(had), listed-len(had))
}

func newCreateCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "create GROUP", Short: "Create an empty target group", Args: cobra.ExactArgs(1),
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			id, err := targetgroups.On(store).Add(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.Done(output.CreatedTargetGroup{ID: id, Name: args[0]}, "created target group %s (%s)", args[0], id)
		}),
	}
}

func newDeleteCommand(a *connect.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete GROUP", Short: "Delete a target group that no job uses", Args: cobra.ExactArgs(1),
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			if err := command.Confirm(cmd, func() (string, int, error) {
				list, err := lookup.Members(cmd.Context(), store, args[0])
				return fmt.Sprintf("This deletes the target group %s with %s", args[0], wording.Count(len(list), "member")), 0, err
			}); err != nil {
				return err
			}
			if err := targetgroups.On(store).Delete(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.Done(output.TargetGroupName{Name: args[0]}, "deleted target group %s", args[0])
		}),
	}
	command.AddYes(cmd)
	return cmd
}

func newAddCommand(a *connect.App) *cobra.Command {
	var m targets.Member
	var exclude, intersect bool
	cmd := &cobra.Command{
		Use: "add GROUP", Short: "Add a member to a target group",
		Long: `Add a member to a target group. The flags determine the kind of the member:
  --server                            all user databases of a server
  --server --database                 one database; with * or ? in the name, the databases whose names match
  --server --elastic-pool             all databases of an Azure SQL elastic pool
  --server --database --shard-map     the databases of a shard map's shards
  --tag-filter                        the known databases whose tags match (jobagent target list)
  --server --database --query         the databases that a query returns, in a column database_name, and
                                      optionally in a column server_name
  --member-group                      the databases of another target group

The databases of a group are those of all its members, of which every member with --intersect keeps its own,
without those of the members with --exclude.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.Kind, m.Membership = targets.KindOf(m), targets.Include
			switch {
			case exclude:
				m.Membership = targets.Exclude
			case intersect:
				m.Membership = targets.Intersect
			}
			if err := m.Validate(); err != nil {
				return exit.Usage(err)
			}
			if m.Server != "" {
				if err := targets.CheckServer(m.Server); err != nil {
					return exit.Usagef("invalid --server %q: %w", m.Server, err)
				}
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := refuseDuplicate(cmd.Context(), store, args[0], m); err != nil {
					return err
				}
				id, err := targetgroups.On(store).AddMember(cmd.Context(), args[0], m)
				if err != nil {
					return err
				}
				if (exclude || intersect) && !a.Structured() {
					fmt.Fprintf(a.Stderr, "jobagent target-group resolve %q shows what it leaves\n", args[0])
				}
				return a.Done(output.ChangedMember{Group: args[0], ID: id}, "added %s (%s)", m, id)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&m.Server, "server", "", "server name: host, host\\instance or host,port")
	flags.StringVar(&m.Database, "database", "", "database name, or a pattern with * or ?")
	flags.StringVar(&m.ElasticPool, "elastic-pool", "", "elastic pool name")
	flags.StringVar(&m.ShardMap, "shard-map", "", "shard map name")
	flags.StringVar(&m.TagFilter, "tag-filter", "", "`FILTER` of tags, such as \"tier = 'gold' AND NOT region IN ('eu')\"")
	flags.StringVar(&m.Query, "query", "", "`SQL` batch that returns the databases, run on --database in a transaction that is rolled back")
	flags.StringVar(&m.Group, "member-group", "", "other target `GROUP`")
	flags.StringVar(&m.RefreshCredential, "refresh-credential", "",
		"credential of the agent's configuration that lists the databases")
	flags.BoolVar(&exclude, "exclude", false, "exclude the databases of the member, even if another member includes them")
	flags.BoolVar(&intersect, "intersect", false, "keep only the databases of the member, of those that other members include")
	cmd.MarkFlagsOneRequired("server", "tag-filter", "member-group")
	cmd.MarkFlagsMutuallyExclusive("server", "tag-filter", "member-group")
	cmd.MarkFlagsMutuallyExclusive("refresh-credential", "tag-filter", "member-group")
	cmd.MarkFlagsMutuallyExclusive("exclude", "intersect")
	return cmd
}

// refuseDuplicate refuses a member that its group has already. The control database permits it, as
// Azure does, because it changes nothing.
func refuseDuplicate(ctx context.Context, store *controldb.Store, group string, m targets.Member) error {
	list, err := targetgroups.On(store).Members(ctx, group)
	if err != nil {
		return err
	}
	key := m.Key()
	for _, other := range list {
		other.RefreshCredential = m.RefreshCredential // another credential changes nothing
		if other.Key() == key {
			return exit.With(exit.CodeConflict, fmt.Errorf("the target group %s has the member %s already (%s)", group, m, other.ID))
		}
	}
	return nil
}

func newRemoveCommand(a *connect.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove GROUP TARGET_ID", Short: "Remove a member by its target ID (see target-group show)",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[1])
			if err != nil {
				return exit.Usagef("invalid target ID %q: not a GUID; jobagent target-group show %q lists the IDs", args[1],
					args[0])
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := command.Confirm(cmd, command.Fixed("This removes the member %s from the target group %s", id, args[0])); err != nil {
					return err
				}
				if err := targetgroups.On(store).DeleteMember(cmd.Context(), args[0], id); err != nil {
					return err
				}
				return a.Done(output.ChangedMember{Group: args[0], ID: id}, "removed %s from target group %s", id, args[0])
			})
		},
	}
	command.AddYes(cmd)
	return cmd
}
