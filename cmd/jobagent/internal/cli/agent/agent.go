// Package agent has the commands that show agents.
package agent

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
)

// NewCommand returns `jobagent agent`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("agent", "Show agents", &cobra.Command{
		Use: "status", Short: "List the agents with their latest terms and claimed tasks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Agents(cmd.Context())
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
					})
				}
				if err := warnOfSkippedPasses(cmd.Context(), a, store); err != nil {
					return err
				}
				return a.Emit(views, func(w io.Writer) error {
					t := output.NewTable("AGENT", "HOST", "VERSION", "TERM", "LIVE", "STARTED", "EXPIRES", "TASKS", "ENDED BECAUSE")
					for _, s := range views {
						t.Add(s.ID, s.Host, s.Version, s.Term, s.Live, s.StartedAt, s.ExpiresAt, s.HeldTasks, s.EndReason)
					}
					return t.Write(w)
				})
			})
		},
	})
}

// warnOfSkippedPasses writes a warning to stderr if no agent can advance executions, with the
// session that prevents it.
func warnOfSkippedPasses(ctx context.Context, a *connect.App, store *controldb.Store) error {
	status, err := store.AdvanceStatus(ctx)
	if err != nil || status.SkippedSince.IsZero() {
		return err
	}
	_, err = fmt.Fprintf(a.Stderr, "warning: no pass of an agent has advanced executions since %s. The application lock jobagent.advance is held by: %s.\n",
		status.SkippedSince.Format(time.RFC3339), store.DescribeAdvanceLock(ctx))
	return err
}
