// Package run has the command that runs the agent.
package run

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/front"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/service"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/targets/mssql"
)

// NewCommand returns `jobagent run`.
func NewCommand(a *connect.App) *cobra.Command {
	var concurrency, id string
	var lease, grace time.Duration
	var serve bool
	cmd := &cobra.Command{
		Use: "run", Short: "Run the agent until a signal ends it",
		Long: `Run the agent until a signal ends it. Any number of agents may share a control database.

With a section control_databases in the configuration file, the agent serves all of them, as accounts
come and go. They share the concurrent targets; none can starve another. --dsn chooses one database.

After the first SIGINT or SIGTERM, the agent claims nothing, and running scripts may end within the
grace period. The second signal cancels them at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := agentConfig(&a.Settings, cmd, id, concurrency, lease, grace)
			if err != nil {
				return err
			}
			file, err := a.Config()
			if err != nil {
				return err
			}
			file.Limits.BoundHeap(cfg.MaxConcurrentTargets)
			log, err := a.Logger()
			if err != nil {
				return err
			}
			if err := daemon.Protect(log); err != nil {
				return err
			}
			supervisor := service.Supervise(log)
			cfg.Alive = supervisor.Alive
			defer context.AfterFunc(cmd.Context(), supervisor.Stopping)()
			for _, err := range file.Unreadable() {
				log.Warn("a secret of the configuration cannot be read; what needs it will fail", zap.Error(err))
			}
			stopMetrics, err := a.ServeMetrics(cmd.Context(), log)
			if err != nil {
				return err
			}
			defer stopMetrics()
			if serve {
				return runAndServe(cmd.Context(), a, cfg, log)
			}
			if err := file.REST.CheckAgent(); err != nil {
				return exit.Usage(err)
			}
			return run(cmd.Context(), a, cfg, log)
		},
	}
	a.Target.Add(cmd)
	cmd.Flags().StringVar(&concurrency, "max-concurrent-targets", "",
		"concurrent targets: a number, or JA100, JA200, JA400, JA800 (default 100)")
	cmd.Flags().StringVar(&id, "agent-id", "", "`GUID` of the agent; keep it across restarts (default: a new GUID)")
	command.AddDuration(cmd.Flags(), &lease, "lease", 0, "duration of a term without renewal (default 30s)")
	command.AddDuration(cmd.Flags(), &grace, "grace", 0, "time for running scripts when the agent stops (default 30s)")
	cmd.Flags().BoolVar(&serve, "serve", false, "serve REST in this process too, as jobagent serve does; callbacks are received there unless the section callbacks says otherwise")
	return cmd
}

// runAndServe implements `jobagent run --serve`. The front answers from the start on, and each part
// stops the other one when it fails.
func runAndServe(ctx context.Context, a *connect.App, cfg agent.Config, log *zap.Logger) (err error) {
	o, err := front.OptionsOf(ctx, a)
	if err != nil {
		return err
	}
	o.Log = log
	if err := front.UseOwnCertificate(&o); err != nil {
		return err
	}
	f, err := front.Open(ctx, o)
	if err != nil {
		return err
	}
	a.UseFront(f.PublicURL())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop, failed := f.Start(context.WithoutCancel(ctx))
	go func() { // ends with the front
		if _, ok := <-failed; ok {
			cancel()
		}
	}()
	err = run(ctx, a, cfg, log)
	return errors.Join(err, stop())
}

// run implements `jobagent run`. It waits while the control database is unavailable, but fails at
// once on invalid settings.
func run(ctx context.Context, a *connect.App, cfg agent.Config, log *zap.Logger) error {
	file, err := a.Config()
	if err != nil {
		return err
	}
	if len(file.ControlDatabases) > 0 && !a.Named() {
		return runMany(ctx, a, file, cfg, log)
	}
	actions, err := checkSettings(ctx, a)
	if err != nil {
		return err
	}
	traces, closeTraces, err := a.OpenTraces(ctx, buildinfo.Version(), log)
	if err != nil {
		return err
	}
	defer closeTraces()
	dsn, err := a.ControlDSN(ctx)
	if err != nil {
		return err
	}
	counted, err := a.DatabaseMetrics(dsn)
	if err != nil {
		return err
	}
	if err := a.AnnounceChange(); err != nil {
		return err
	}
	var store *controldb.Store
	var tools agent.Tools
	var closeTools func()
	err = agent.Await(ctx, cfg.Alive, log, func(ctx context.Context) (err error) {
		if store, err = a.OpenStore(ctx); err != nil {
			return err
		}
		if _, err = installed.On(store).CheckAgent(ctx); err == nil {
			tools, closeTools, err = a.OpenTools(ctx, store, counted.Targets())
		}
		if err != nil {
			_ = store.Close() // err is the more useful error
		}
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // stopped before the agent had started
	case err != nil:
		return err
	}
	defer store.Close()
	defer closeTools()
	store, stopCounting := counted.Observe(store, metrics.ClientAgent)
	defer stopCounting()
	defer counted.CountRuns(measure.On(store).RunCounts)()
	cfg.Metrics = counted.Agent()
	if err := actions.Receive(ctx, file.Callbacks, false, store, log); err != nil {
		return err
	}
	defer actions.Close()
	actions.Log(file, log)
	actions.Equip(&tools, store, file, log)
	tools.Traces = traces
	named := ""
	if a.Named() {
		named = dsn
	}
	if databases, err := file.Databases(named); err == nil && len(databases) == 1 {
		tools.Actions.Pages = connect.Pages(file.REST.PublicURL, databases[0].Name)
	}
	return daemon.Run(ctx, cfg, store, tools, log)
}

// runMany implements `jobagent run` for the control databases of the configuration. Databases that
// are unavailable, or have no account yet, are waited for.
func runMany(ctx context.Context, a *connect.App, file config.File, cfg agent.Config, log *zap.Logger) error {
	actions, err := checkActions(ctx, a)
	if err != nil {
		return err
	}
	dsn := ""
	if file.ControlDatabases[0].DSN == "" {
		if dsn, err = a.ControlDSN(ctx); err != nil {
			return err
		}
	}
	databases, err := file.Databases(dsn)
	if err != nil {
		return err
	}
	traces, closeTraces, err := a.OpenTraces(ctx, buildinfo.Version(), log)
	if err != nil {
		return err
	}
	defer closeTraces()
	m, err := a.Metrics()
	if err != nil {
		return err
	}
	var members []agent.Member
	var stores []*controldb.Store
	defer func() {
		for _, s := range stores {
			_ = s.Close() // nothing is left to be written
		}
	}()
	for _, d := range databases {
		if _, err := a.ParseDSN(d.DSN); err != nil { // warns of weak encryption
			return err
		}
		settings, err := connect.ControlConfig(d.DSN)
		if err != nil {
			return err
		}
		store, err := controldb.New(settings)
		if err != nil {
			return exit.Usagef("control database %q: %w", d.Name, err)
		}
		counted := m.Database(config.MetricsName(databases, d))
		store, stopCounting := counted.Observe(store, metrics.ClientAgent)
		defer stopCounting()
		defer counted.CountRuns(measure.On(store).RunCounts)()
		stores = append(stores, store)
		members = append(members, agent.Member{
			Name: d.Name, Store: store, AccountRequired: *d.ImplicitAgent == "", Metrics: counted.Agent(),
			OpenTools: func(ctx context.Context) (agent.Tools, func(), error) {
				tools, closeTools, err := a.OpenTools(ctx, store, counted.Targets())
				if err == nil {
					actions.Equip(&tools, store, file, log)
					tools.Traces = traces
					tools.Actions.Pages = connect.Pages(file.REST.PublicURL, d.Name)
				}
				return tools, closeTools, err
			},
		})
	}
	if err := actions.ReceiveMany(ctx, file.Callbacks, false, stores, log); err != nil {
		return err
	}
	defer actions.Close()
	actions.Log(file, log)
	return daemon.RunFleet(ctx, cfg, members, actions.Receiver, log)
}

// checkSettings checks the connection string, the credentials of targets and the settings of
// actions without connecting. It returns what carries out actions.
func checkSettings(ctx context.Context, a *connect.App) (*connect.Actions, error) {
	dsn, err := a.ControlDSN(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.ParseDSN(dsn); err != nil {
		return nil, err
	}
	return checkActions(ctx, a)
}

// checkActions is checkSettings without the connection string.
func checkActions(ctx context.Context, a *connect.App) (*connect.Actions, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	if _, err := a.Credentials(ctx, cfg, &mssql.Config{}); err != nil {
		return nil, err
	}
	m, err := a.Metrics()
	if err != nil {
		return nil, err
	}
	cfg.Outbound.OnConnect = connect.OnDial(m.Outbound())
	return connect.NewActions(cfg, buildinfo.Version(), false)
}

// agentConfig returns the agent's configuration. Flags take precedence over the configuration file.
func agentConfig(s *connect.Settings, cmd *cobra.Command, id, concurrency string, lease,
	grace time.Duration) (agent.Config, error) {
	file, err := s.Config()
	if err != nil {
		return agent.Config{}, err
	}
	cfg := agent.Config{
		Version: buildinfo.Version(), Prefetch: file.Agent.Prefetch, OutcomeBuffer: file.Agent.OutcomeBuffer,
		Lease: time.Duration(file.Agent.Lease), Grace: time.Duration(file.Agent.Grace),
		PollActive: time.Duration(file.Agent.PollActive),
		PollIdle:   time.Duration(file.Agent.PollIdle), MissedAfter: time.Duration(file.Agent.MissedAfter),
	}
	if !cmd.Flags().Changed("agent-id") {
		id = file.Agent.ID
	}
	if id != "" {
		if cfg.AgentID, err = uuid.Parse(id); err != nil {
			return cfg, exit.Usagef("invalid agent ID %q: not a GUID", id)
		}
	}
	cfg.MaxConcurrentTargets = int(file.Agent.MaxConcurrentTargets)
	if cmd.Flags().Changed("max-concurrent-targets") {
		if cfg.MaxConcurrentTargets, err = config.ParseConcurrency(concurrency); err != nil {
			return cfg, err
		}
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
