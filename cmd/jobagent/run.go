package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
)

// newRunCommand makes `jobagent run`.
func newRunCommand(a *app) *cobra.Command {
	var concurrency, id string
	var lease, grace time.Duration
	cmd := &cobra.Command{
		Use: "run", Short: "Run the agent until a signal ends it",
		Long: `Run the agent until a signal ends it. Any number of agents may share a control database.

The first SIGINT or SIGTERM stops claiming and lets running scripts go on for the grace period; the second
cancels them at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.agentConfig(cmd, id, concurrency, lease, grace)
			if err != nil {
				return err
			}
			file, err := a.fileConfig()
			if err != nil {
				return err
			}
			file.Limits.boundHeap(cfg.MaxConcurrentTargets)
			log, err := a.logger()
			if err != nil {
				return err
			}
			return a.run(cmd.Context(), cfg, log)
		},
	}
	a.target.add(cmd)
	cmd.Flags().StringVar(&concurrency, "max-concurrent-targets", "", "targets at the same moment: a number, or JA100, JA200, JA400, JA800 (default 100)")
	cmd.Flags().StringVar(&id, "agent-id", "", "`GUID` of the agent, to keep its name over restarts (default: a new one)")
	cmd.Flags().DurationVar(&lease, "lease", 0, "how long a term lasts without renewal (default 30s)")
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long running scripts may go on when the agent stops (default 30s)")
	return cmd
}

// run is `jobagent run`. It waits for a control database that is away, but not for settings that somebody has to mend.
func (a *app) run(ctx context.Context, cfg agent.Config, log *zap.Logger) error {
	if err := a.checkSettings(); err != nil {
		return err
	}
	var store *controldb.Store
	var tools agent.Tools
	var closeTools func()
	err := agent.Await(ctx, log, func(ctx context.Context) (err error) {
		if store, err = a.openStore(ctx); err != nil {
			return err
		}
		if _, err = store.CheckAgent(ctx); err == nil {
			tools, closeTools, err = a.openTools(ctx, store)
		}
		if err != nil {
			_ = store.Close() // the reason why it cannot be used says more
		}
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // told to stop before it had begun
	case err != nil:
		return err
	}
	defer store.Close()
	defer closeTools()
	return runAgent(ctx, cfg, store, tools, log)
}

// checkSettings reads the connection string and the credentials of targets as they will be read, and connects to nothing.
func (a *app) checkSettings() error {
	dsn, err := a.controlDSN()
	if err != nil {
		return err
	}
	if _, err := a.parseDSN(dsn); err != nil {
		return err
	}
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	_, err = a.credentials(cfg, &mssql.Config{})
	return err
}

// agentConfig puts the agent's configuration together: flags win over the file.
func (a *app) agentConfig(cmd *cobra.Command, id, concurrency string, lease, grace time.Duration) (agent.Config, error) {
	file, err := a.fileConfig()
	if err != nil {
		return agent.Config{}, err
	}
	cfg := agent.Config{Version: version(), Lease: time.Duration(file.Agent.Lease), Grace: time.Duration(file.Agent.Grace)}
	if !cmd.Flags().Changed("agent-id") {
		id = file.Agent.ID
	}
	if id != "" {
		if cfg.AgentID, err = uuid.Parse(id); err != nil {
			return cfg, usagef("agent id %q is no GUID", id)
		}
	}
	if !cmd.Flags().Changed("max-concurrent-targets") {
		concurrency = file.Agent.MaxConcurrentTargets
	}
	if cfg.MaxConcurrentTargets, err = parseConcurrency(concurrency); err != nil {
		return cfg, err
	}
	if cmd.Flags().Changed("lease") {
		cfg.Lease = lease
	}
	if cmd.Flags().Changed("grace") {
		cfg.Grace = grace
		if grace == 0 {
			cfg.Grace = -1
		}
	}
	return cfg, nil
}

// runAgent runs an agent until ctx ends. A further signal makes it hurry.
func runAgent(ctx context.Context, cfg agent.Config, store *controldb.Store, tools agent.Tools, log *zap.Logger) error {
	hurry := make(chan struct{})
	watching := make(chan struct{})
	stopWatching := make(chan struct{})
	go func() { // ends when the agent has
		defer close(watching)
		select {
		case <-ctx.Done():
		case <-stopWatching:
			return
		}
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(again)
		select {
		case <-again:
			close(hurry)
		case <-stopWatching:
		}
	}()
	defer func() {
		close(stopWatching)
		<-watching
	}()
	hosting, err := agent.New(cfg, store, tools, hurry, log)
	if err != nil {
		return usage(err)
	}
	return hosting.Run(ctx)
}
