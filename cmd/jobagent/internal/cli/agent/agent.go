// Package agent has the commands that show agents.
package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/fleet"
)

// columns are those of agent status.
var columns = output.Columns([]output.Column[output.Agent]{
	{Name: "agent_id", Header: "AGENT", ID: true, GUID: true, Keep: true},
	{Name: "host_name", Header: "HOST", Min: 10, Keep: true},
	{Name: "version", Min: 10, Drop: 8},
	{Name: "term_id", Header: "TERM", Drop: 7},
	{Name: "is_live", Header: "LIVE", Keep: true},
	{Name: "held_tasks", Header: "TASKS"},
	{Name: "max_concurrent_targets", Header: "WORKERS"},
	{Name: "started_at", Header: "STARTED", Drop: 9},
	{Name: "expires_at", Header: "EXPIRES", Drop: 10},
	{Name: "engine", Min: 12, Wide: true},
	{Name: "zone_data", Header: "ZONE DATA", Min: 12, Wide: true},
	{Name: "ended_at", Header: "ENDED", Wide: true},
	{Name: "end_reason", Header: "ENDED BECAUSE", Min: 10, Rest: true, Drop: 9},
})

// NewCommand returns `jobagent agent`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("agent", "Show and probe agents", command.List(&a.Printer, columns, &cobra.Command{
		Use: "status", Short: "List the agents with their latest terms and claimed tasks", Args: cobra.NoArgs,
		RunE: a.Reads(func(cmd *cobra.Command, _ []string, store *controldb.Store) error {
			list, err := fleet.On(store).List(cmd.Context())
			if err != nil {
				return err
			}
			views := make([]output.Agent, 0, len(list))
			for _, s := range list {
				views = append(views, output.Agent{
					ID:                   s.AgentID,
					Host:                 s.Host,
					Version:              s.Version,
					MaxConcurrentTargets: s.MaxConcurrentTargets,
					Term:                 int64(s.Term),
					StartedAt:            s.StartedAt,
					ExpiresAt:            s.ExpiresAt,
					EndedAt:              output.Optional(s.EndedAt),
					EndReason:            s.EndReason,
					Live:                 s.Live,
					HeldTasks:            s.Tasks,
					Engine:               s.Engine,
					ZoneData:             s.ZoneData,
				})
			}
			if err := a.WarnPause(cmd.Context(), store); err != nil {
				return err
			}
			if err := warnOfSkippedPasses(cmd.Context(), &a.Printer, store); err != nil {
				return err
			}
			if found, advice := fleet.EngineNotice(list); found != "" {
				if err := a.Warn([]string{output.OneLine(found + ": " + fleet.EngineEffect + ". " + advice)}); err != nil {
					return err
				}
			}
			return output.List(&a.Printer, views, columns)
		}),
	}), a.Prints(output.AgentProbe{}, newProbeCommand(a)))
}

// warnOfSkippedPasses writes a warning to stderr if no agent can advance executions, with the
// session that prevents it.
func warnOfSkippedPasses(ctx context.Context, p *output.Printer, store *controldb.Store) error {
	status, err := store.AdvanceStatus(ctx)
	if err != nil || status.SkippedSince.IsZero() {
		return err
	}
	_, err = fmt.Fprintf(p.Stderr, "warning: no pass of an agent has advanced executions since %s. The application lock jobagent.advance is held by: %s.\n",
		status.SkippedSince.Format(time.RFC3339), store.DescribeAdvanceLock(ctx))
	return err
}
