// Package bench is `jobagent bench`: it gives the benchmarks of testenv/bench a server, an agent
// and a front, and prints their reports.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/front"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/bench"
)

// program implements [bench.Program].
type program struct {
	*connect.App
	format format
}

// NewCommand returns `jobagent bench`.
func NewCommand(a *connect.App) *cobra.Command {
	p := &program{App: a, format: format(output.FormatTable)}
	var options bench.Options
	cmd := command.NewGroup("bench", "Measure the agent, and the bare driver for comparison", bench.Commands(p, &options)...)
	cmd.Long = `Measure the agent, and the bare driver for comparison. Everything runs in this process, on an
embedded server over loopback TCP that keeps nothing.

With --dsn, the benchmark uses that server instead. The login must have the right to create
databases: the benchmark creates a control database and targets under new names, and drops them at
the end. Scripts use the credentials of the configuration file; if it has none, they use the same
login. ` + config.EnvDSN + ` is ignored.`
	cmd.PersistentFlags().VarP(&p.format, "output", "o", "output `format`: table, json or csv")
	profile := cmd.PersistentFlags().String("cpuprofile", "", "`file` for a profile of the processor's time, with the preparations; go tool pprof reads it")
	for _, c := range cmd.Commands() {
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			return profiled(*profile, func() error { return run(cmd, args) })
		}
	}
	cmd.PersistentFlags().BoolVar(&options.Tracing, "tracing", false, "export traces, to a receiver in this process")
	return cmd
}

// profiled calls run, and writes a profile of the time meanwhile to a file, if it has a name.
func profiled(file string, run func() error) (err error) {
	if file == "" {
		return run()
	}
	f, err := os.Create(file)
	if err != nil {
		return exit.Usagef("profile: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return run()
}

// Usagef implements [bench.Program].
func (p *program) Usagef(format string, args ...any) error { return exit.Usagef(format, args...) }

// OpenServer implements [bench.Program]: it opens the server of --dsn, else an embedded one.
func (p *program) OpenServer(ctx context.Context) (*bench.Server, error) {
	if p.DSN == "" {
		return openEmbedded(ctx)
	}
	text, err := config.Resolve(p.DSN)
	if err != nil {
		return nil, err
	}
	dsn, err := mssql.ParseDSN(text)
	if err != nil {
		return nil, exit.Usage(err)
	}
	longest := slices.MaxFunc(connect.ServerNames(dsn.Params), func(x, y string) int { return len(x) - len(y) })
	s := &bench.Server{DSN: dsn, Name: cmp.Or(longest, dsn.Params.Host), Close: func() error { return nil }}
	file, err := p.Config()
	if err != nil {
		return nil, err
	}
	credentials, err := config.Credentials(file)
	if err != nil {
		return nil, err
	}
	s.Tools = func(ctx context.Context, store *controldb.Store, onLogin func(time.Duration, targets.Class)) (agent.Tools, func() error, error) {
		if len(credentials) == 0 && dsn.Params.User != "" {
			return toolsOf(ctx, dsn, store, onLogin)
		}
		tools, closeTools, err := p.OpenTools(ctx, store, nil)
		return tools, func() error { closeTools(); return nil }, err
	}
	if s.Version, err = bench.VersionOf(ctx, dsn); err != nil {
		return nil, exit.With(exit.CodeConnection, fmt.Errorf("connect to the server: %w", err))
	}
	return s, nil
}

// toolsOf makes an agent's tools that log in to the server of a connection string with its login.
// The jobs of a benchmark have no other author than the owner of the login, so scripts may have the
// login's rights, also on the control database.
func toolsOf(ctx context.Context, dsn mssql.DSN, store *controldb.Store, onLogin func(time.Duration, targets.Class)) (
	agent.Tools, func() error, error,
) {
	login := mssql.LoginCredential(targets.DefaultCredential, dsn.Params.User, dsn.Params.Password, connect.ServerNames(dsn.Params)...)
	credentials, err := mssql.NewCredentialSet(login)
	if err != nil {
		return agent.Tools{}, nil, exit.Usage(err)
	}
	servers, err := mssql.NewServers(mssql.Config{
		Credentials: credentials, Servers: connect.EncryptionOf(dsn), AllowControlDatabase: true, OnLogin: onLogin,
	})
	if err != nil {
		return agent.Tools{}, nil, exit.Usage(err)
	}
	return newTools(ctx, store, servers)
}

// newTools makes an agent's tools over servers, and the function that closes them.
func newTools(ctx context.Context, store *controldb.Store, servers *mssql.Servers) (agent.Tools, func() error, error) {
	tools, err := connect.NewTools(ctx, store, servers)
	if err != nil {
		return agent.Tools{}, nil, errors.Join(err, servers.Close())
	}
	return tools, servers.Close, nil
}

// openEmbedded starts an embedded server.
func openEmbedded(ctx context.Context) (*bench.Server, error) {
	server, err := embedded.Start(ctx, "", "127.0.0.1:0", embedded.RandomPassword(), "disable", zap.NewNop())
	if err != nil {
		return nil, err
	}
	dsn, err := mssql.ParseDSN(server.DSN("master"))
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &bench.Server{
		Version: bench.Embedded, DSN: dsn, Name: server.ServerName(), Control: embedded.ControlDatabase, Close: server.Close,
		Tools: func(ctx context.Context, store *controldb.Store, onLogin func(time.Duration, targets.Class)) (agent.Tools, func() error, error) {
			server.TargetSettings.OnLogin = onLogin
			servers, err := server.OpenServers(ctx)
			if err != nil {
				return agent.Tools{}, nil, err
			}
			return newTools(ctx, store, servers)
		},
	}, nil
}

// StartAgent implements [bench.Program]. The agent logs only with --log-level debug.
func (p *program) StartAgent(
	ctx context.Context, cfg agent.Config, store *controldb.Store, tools agent.Tools,
) (stop func() error, failed <-chan error, err error) {
	log := zap.NewNop()
	if p.LogLevel == "debug" {
		if log, err = p.Logger(); err != nil {
			return nil, nil, err
		}
	}
	stop, failed = daemon.Start(ctx, cfg, store, tools, log)
	return stop, failed, nil
}

// StartFront implements [bench.Program].
func (p *program) StartFront(ctx context.Context, b bench.Front) (address string, stop func() error, err error) {
	o := front.Options{
		Databases: []config.ControlDatabase{{
			Name: "bench", Subscription: b.Subscription, ResourceGroup: b.ResourceGroup, Server: b.Server, Location: "local", ImplicitAgent: &b.Agent,
		}},
		Open: func(config.ControlDatabase) (*controldb.Store, error) { return b.Open() },
		Log:  zap.NewNop(),
	}
	o.Config.Listen, o.Config.Limits.Off = "127.0.0.1:0", true
	o.Config.TLS.Certificate, o.Config.TLS.Key = b.CertificateFile, b.KeyFile
	o.Config.Tokens = []tokenfile.Token{b.Token}
	f, err := front.Open(ctx, o)
	if err != nil {
		return "", nil, err
	}
	stop, _ = f.Start(ctx)
	return f.PublicURL(), stop, nil
}
