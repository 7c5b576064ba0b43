// Package limit has the commands that limit concurrent targets.
package limit

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// NewCommand returns `jobagent limit`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("limit", "Limit the concurrent targets of all runs and agents",
		command.StandsFor("jobs.sp_set_limit", a.Prints(output.Limit{}, newSetCommand(a))),
		command.StandsFor("jobs.limits", newListCommand(a)),
		a.Prints(output.RemovedLimit{}, newRemoveCommand(a)),
	)
	cmd.Long = `Limit the concurrent targets of all runs and agents.

A limit has a scope: Job, Server, ElasticPool, Credential or Agent. A target starts when all its
limits allow it. The scope Agent has one limit, named *, for all targets. Otherwise, the name * stands for every job, server, pool or credential without a limit of its own;
each of them is limited separately. The name (default) stands for the agents' default credential.`
	return cmd
}

func newSetCommand(a *connect.App) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use: "set SCOPE NAME MAX", Short: "Set a limit", Args: cobra.ExactArgs(3),
		Example: "  jobagent limit set Server sql1.example.com 10\n  jobagent limit set Server '*' 25\n  jobagent limit set ElasticPool pool1 5 --server sql1.example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.Atoi(args[2])
			if err != nil || number < 1 {
				return exit.Usagef("invalid limit %q: want a number of at least 1; to remove a limit, use jobagent limit remove",
					args[2])
			}
			l := model.Limit{Scope: args[0], Name: args[1], Server: server, Max: number}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := settings.On(store).SetLimit(cmd.Context(), l); err != nil {
					return err
				}
				if err := warnOfUnseen(cmd.Context(), a, store, l); err != nil {
					return err
				}
				return a.Done(viewLimit(settings.Limit{Limit: l}), "%s %s: at most %s at once", l.Scope, l.Name, wording.Count(l.Max, "target"))
			})
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "ElasticPool: the pool's server (default: each server separately)")
	return cmd
}

// warnOfUnseen warns if no run has had a database on the server or in the elastic pool of a limit:
// the name may have a typing error. Credentials are known to agents only. With more databases than
// [lookup.Seen] reads, it does not warn.
func warnOfUnseen(ctx context.Context, a *connect.App, store *controldb.Store, l model.Limit) error {
	isServer, isPool := strings.EqualFold(l.Scope, model.LimitServer), strings.EqualFold(l.Scope, model.LimitElasticPool)
	if l.Name == "*" || !isServer && !isPool {
		return nil
	}
	var filter targetgroups.KnownTargetFilter
	if isServer {
		filter.Name = targets.ServerKey(l.Name) // a part of all names of the server
	}
	seen := false
	all, err := lookup.Seen(ctx, store, filter, func(t targetgroups.KnownTarget) bool {
		key := targets.ServerKey(t.Server)
		if isServer {
			seen = key == targets.ServerKey(l.Name)
		} else {
			seen = strings.EqualFold(t.ElasticPool, l.Name) && (l.Server == "" || key == targets.ServerKey(l.Server))
		}
		return !seen
	})
	switch {
	case err != nil || seen || !all:
		return err
	case isServer:
		return a.Warn([]string{"no run has had a database on the server " + l.Name + ", unless actions call it: jobagent target list shows the databases that runs had"})
	}
	return a.Warn([]string{"no run has had a database in the elastic pool " + l.Name + ": jobagent target list shows those that runs had"})
}

func newRemoveCommand(a *connect.App) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use: "remove SCOPE NAME", Short: "Remove a limit", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l := model.Limit{Scope: args[0], Name: args[1], Server: server}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := command.Confirm(cmd, command.Fixed("This removes the limit of %s %s", l.Scope, l.Name)); err != nil {
					return err
				}
				if err := settings.On(store).RemoveLimit(cmd.Context(), l); err != nil {
					return err
				}
				return a.Done(output.RemovedLimit{Name: args[1], Scope: args[0], Server: server}, "removed the limit of %s %s",
					l.Scope, l.Name)
			})
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "ElasticPool: the pool's server, if the limit has one")
	command.AddYes(cmd)
	return cmd
}

func newListCommand(a *connect.App) *cobra.Command {
	return connect.List(a, columns, &cobra.Command{
		Use: "list", Short: "List the limits with their running and waiting targets", Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]output.Limit, error) {
		list, err := settings.On(store).Limits(cmd.Context())
		return output.Each(list, viewLimit), err
	})
}

// columns are those of limit list.
var columns = output.Columns([]output.Column[output.Limit]{
	{Name: "scope", Keep: true},
	{Name: "name", ID: true, Min: 12, Keep: true},
	{Name: "server_name", Header: "SERVER", Min: 12, Rest: true, Drop: 9},
	{Name: "max_concurrent_targets", Header: "LIMIT", Keep: true},
	{Name: "running"},
	{Name: "waiting"},
	{Name: "updated_at", Header: "UPDATED", Wide: true},
})

// viewLimit converts a limit for -o json.
func viewLimit(l settings.Limit) output.Limit {
	return output.Limit{
		Scope:     l.Scope,
		Name:      l.Name,
		Server:    l.Server,
		Max:       l.Max,
		Running:   l.Running,
		Waiting:   l.Waiting,
		UpdatedAt: output.Optional(l.UpdatedAt),
	}
}
