package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
)

// agentView is an agent with its latest term as -o json shows it.
type agentView struct {
	ID                   uuid.UUID  `json:"agent_id"`
	Host                 string     `json:"host_name"`
	Version              string     `json:"version"`
	MaxConcurrentTargets int        `json:"max_concurrent_targets"`
	Term                 int64      `json:"term_id"`
	StartedAt            time.Time  `json:"started_at"`
	ExpiresAt            time.Time  `json:"expires_at"`
	EndedAt              *time.Time `json:"ended_at,omitempty"`
	EndReason            string     `json:"end_reason,omitempty"`
	Live                 bool       `json:"is_live"`
	HeldTasks            int        `json:"held_tasks"`
}

// newAgentCommand makes `jobagent agent`.
func newAgentCommand(a *app) *cobra.Command {
	return newGroupCommand("agent", "Look at agents", &cobra.Command{
		Use: "status", Short: "List the agents with their latest terms and what they hold", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Agents(cmd.Context())
				if err != nil {
					return err
				}
				views := make([]agentView, 0, len(list))
				for _, s := range list {
					views = append(views, agentView{
						s.AgentID, s.Host, s.Version, s.MaxConcurrentTargets, int64(s.Term), s.StartedAt, s.ExpiresAt, optional(s.EndedAt), s.EndReason, s.Live, s.Tasks,
					})
				}
				if err := a.warnOfSkippedPasses(cmd.Context(), store); err != nil {
					return err
				}
				return a.emit(views, func(w io.Writer) error {
					t := newTable("AGENT", "HOST", "VERSION", "TERM", "LIVE", "STARTED", "EXPIRES", "TASKS", "ENDED BECAUSE")
					for _, s := range views {
						t.add(s.ID, s.Host, s.Version, s.Term, s.Live, s.StartedAt, s.ExpiresAt, s.HeldTasks, s.EndReason)
					}
					return t.write(w)
				})
			})
		},
	})
}

// warnOfSkippedPasses writes to stderr that no pass moves executions on, and who keeps them from it; nothing if they do.
func (a *app) warnOfSkippedPasses(ctx context.Context, store *controldb.Store) error {
	status, err := store.AdvanceStatus(ctx)
	if err != nil || status.SkippedSince.IsZero() {
		return err
	}
	_, err = fmt.Fprintf(a.stderr, "warning: no pass of an agent has moved executions on since %s. The application lock jobagent.advance is held by: %s.\n",
		status.SkippedSince.Format(time.RFC3339), store.DescribeAdvanceLock(ctx))
	return err
}
