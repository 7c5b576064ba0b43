// Package dev has the command that runs an embedded server to develop against.
package dev

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref/privatefile"
)

// EnvSAPassword is the environment variable that holds sa's password for `jobagent dev`.
const EnvSAPassword = "JOBAGENT_SA_PASSWORD"

// Files in the data directory of `jobagent dev`, beside the databases.
const (
	databasesDir    = "databases"
	passwordFile    = "sa-password"
	agentIDFile     = "agent-id"
	CertificateFile = "server-certificate.pem"
	KeyFile         = "server-key.pem" // of the certificate
)

// NewCommand returns `jobagent dev`.
func NewCommand(a *connect.App) *cobra.Command {
	var listen, data, password string
	var rest restSettings
	var limits clientLimits
	var memory embedded.MemorySize
	cmd := &cobra.Command{
		Use: "dev", Short: "Run an embedded server with a control database and an agent, for development",
		Long: `Run an embedded server with a control database named ` + embedded.ControlDatabase + ` and an agent, until a signal ends
it. Any TDS client can connect as sa and call jobs.sp_*.

The password of sa stays with the data, in the file ` + passwordFile + ` of the data directory. A new data
directory gets the value of ` + EnvSAPassword + `, or else a random password; later that variable changes
the password. The flag --sa-password sets it too, but every user of this machine can read it in the
list of processes. Without --data, nothing is kept.

The server creates a certificate once, in ` + CertificateFile + ` in the data directory. A client that
names this file in its connection string (parameter serverCertificate) connects to this server only.

Jobs run with the login ` + embedded.TargetLogin + `, which is db_owner in all databases except system databases
and the control database. Its password changes at each start. Other agents and commands use this
login with --config DIR/` + embedded.ConfigFile + `, where DIR is the data directory.

The REST APIs and the dashboard (see jobagent serve) are served over TLS with the same certificate.
The file ` + RESTTokenFile + ` in the data directory has the token of an administrator, with which people sign in
at the dashboard too. On a terminal, the start also prints a link that signs one person in, once and
within ten minutes, on this machine. With --data, people stay signed in over a restart.

Refused logins are logged and delayed. After five failures from one address, a login is locked out
for this address, at first for one second and at most for five minutes. On loopback, this concerns the
user of the operating system who has failed, and nobody else (on Linux; elsewhere all users).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limits.maxConnections < 1 || limits.maxConnections > mostConnections {
				return exit.Usagef("--max-connections %d: must be 1 to %d", limits.maxConnections, mostConnections)
			}
			if err := memory.Check(); err != nil {
				return err
			}
			if err := embedded.CheckListen("listen", listen); err != nil {
				return err
			}
			if rest.listen != "" {
				if err := embedded.CheckListen(flagRESTListen, rest.listen); err != nil {
					return err
				}
			}
			if err := a.OwnControlDatabase(); err != nil {
				return err
			}
			limits.tlsGiven = cmd.Flags().Changed(flagRequireTLS)
			rest.given = cmd.Flags().Changed(flagRESTListen)
			return dev(cmd.Context(), a, listen, rest, data, password, limits, memory)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:1433", "address to listen on")
	cmd.Flags().StringVar(&rest.listen, flagRESTListen, config.DefaultListen,
		"address of the REST server; empty: none (by default another port if this one is in use)")
	cmd.Flags().BoolVar(&rest.issuer, "dev-issuer", false,
		"issue tokens as Microsoft Entra ID does, for tools that log in with azidentity; the client is "+RESTClientID+
			"; people can sign in at the dashboard as admin, author, operator or reader, without a password")
	cmd.Flags().StringVar(&data, "data", "", "`directory` of the databases; created if it is missing (default: a temporary directory)")
	cmd.Flags().StringVar(&password, "sa-password", "",
		"password of sa; other users of this machine can read it, so "+EnvSAPassword+" is safer")
	cmd.Flags().IntVar(&limits.maxConnections, "max-connections", 1000, "maximum number of connections")
	embedded.AddMemoryFlag(cmd, &memory)
	cmd.Flags().StringVar(&limits.keytab, "keytab", "",
		"`file` with the Kerberos key of MSSQLSvc/host:port, for logins FROM WINDOWS (default: no Windows logins)")
	cmd.Flags().BoolVar(&limits.requireTLS, flagRequireTLS, false,
		"refuse clients that do not use TLS (default: true if --listen is not a loopback address)")
	return cmd
}

// Names of flags.
const (
	flagRequireTLS = "require-tls"
	flagRESTListen = "rest-listen"
)

// mostConnections is SQL Server's maximum of user connections.
const mostConnections = 32767

// clientLimits restricts the clients of `jobagent dev`.
type clientLimits struct {
	maxConnections int
	requireTLS     bool
	tlsGiven       bool // requireTLS was given
	keytab         string
}

// option is an [embedded.Option].
func (d clientLimits) option(cfg *embedded.Config) {
	cfg.InProcess = true
	cfg.MaxConnections, cfg.Keytab = d.maxConnections, d.keytab
	if d.tlsGiven {
		cfg.RequireTLS = d.requireTLS
	}
}

// dev implements `jobagent dev`.
func dev(ctx context.Context, a *connect.App, listen string, rest restSettings, data, password string, limits clientLimits,
	memory embedded.MemorySize) (err error) {
	log, err := a.Logger()
	if err != nil {
		return err
	}
	if err := daemon.Protect(log); err != nil {
		return err
	}
	if err := embedded.CheckFree(ctx, listen); err != nil { // before anything is written
		return err
	}
	kept := data != ""
	data, release, err := openData(data)
	if err != nil {
		return err
	}
	defer release()
	agentID, err := loadAgentID(data)
	if err != nil {
		return err
	}
	server, err := startServer(ctx, listen, data, password, limits, memory, log)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := server.Close(); err == nil {
			err = closeErr
		}
	}()
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	server.TargetSettings = cfg.Encryption()
	server.TargetSettings.AllowControlDatabase = cfg.Targets.AllowControlDatabase
	m, err := a.Metrics()
	if err != nil {
		return err
	}
	stopMetrics, err := a.ServeMetrics(ctx, log)
	if err != nil {
		return err
	}
	defer stopMetrics()
	counted := m.Database(embedded.ControlDatabase)
	server.TargetSettings.OnLogin, cfg.Outbound.OnConnect = connect.OnDial(counted.Targets()), connect.OnDial(m.Outbound())
	further, err := config.Credentials(cfg)
	if err != nil {
		return err
	}
	if err := server.WriteConfig(data); err != nil {
		return fmt.Errorf("write %s: %w", embedded.ConfigFile, err)
	}
	servers, err := server.OpenServers(ctx, further...)
	if err != nil {
		return err
	}
	defer servers.Close()
	if err := a.WarnWeak(servers.Weaknesses()); err != nil {
		return err
	}
	tools, err := connect.NewTools(ctx, server.Store, servers)
	if err != nil {
		return err
	}
	cfg.Own = append(cfg.Own, data)
	actions, err := connect.NewActions(cfg, buildinfo.Version(), true)
	if err != nil {
		return err
	}
	if err := actions.Receive(ctx, cfg.Callbacks, true, server.Store, log); err != nil {
		return err
	}
	defer actions.Close()
	if len(cfg.Processes) > 0 {
		actions.Log(cfg, log) // warns of entries that can read the data directory
	}
	traces, closeTraces, err := a.OpenTraces(ctx, buildinfo.Version(), log)
	if err != nil {
		return err
	}
	defer closeTraces()
	actions.Equip(&tools, server.Store, cfg, log)
	tools.Traces = traces
	store, stopCounting := counted.Observe(server.Store, metrics.ClientAgent)
	defer stopCounting()
	defer counted.CountRuns(store.RunCounts)()
	f, err := openFront(ctx, rest, data, cfg, m, server, log)
	if err != nil {
		return err
	}
	if f != nil {
		tools.Actions.FrontURL = f.PublicURL()
		tools.Actions.Pages = connect.Pages(f.PublicURL(), embedded.ControlDatabase) // for links in alerts
	}
	stopAgent, agentFailed := daemon.Start(ctx,
		agent.Config{AgentID: agentID, Version: buildinfo.Version(), Metrics: counted.Agent()}, store, tools, log)
	defer func() {
		if stopErr := stopAgent(); err == nil {
			err = stopErr
		}
	}()
	stopFront, frontFailed := f.Start(ctx)
	defer func() {
		if stopErr := stopFront(); err == nil {
			err = stopErr
		}
	}()
	if err := printReady(a, server, f, data, kept); err != nil {
		return err
	}
	return server.Wait(ctx, either(agentFailed, frontFailed))
}

// loadAgentID returns the agent's ID, which stays the same for a data directory.
func loadAgentID(data string) (uuid.UUID, error) {
	text, err := loadOrCreateText(data, agentIDFile, uuid.NewString)
	if err != nil {
		return uuid.Nil, fmt.Errorf("store the agent's ID: %w", err)
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, exit.Usagef("%s does not hold a GUID; delete it", filepath.Join(data, agentIDFile))
	}
	return id, nil
}

// startServer starts the embedded server over a data directory. An empty password is that of the
// environment, or else the stored one. The caller closes the server.
func startServer(ctx context.Context, listen, data, password string, limits clientLimits, memory embedded.MemorySize,
	log *zap.Logger) (*embedded.Server, error) {
	if password == "" {
		password = os.Getenv(EnvSAPassword)
	}
	password, err := loadPassword(data, password, log)
	if err != nil {
		return nil, err
	}
	targetPassword := embedded.RandomPassword()
	if err := privatefile.Replace(filepath.Join(data, embedded.TargetPasswordFile), []byte(targetPassword+"\n")); err != nil {
		return nil, fmt.Errorf("store the password of %s: %w", embedded.TargetLogin, err)
	}
	certificate, err := embedded.LoadOrCreateCertificate(filepath.Join(data, CertificateFile), filepath.Join(data, KeyFile), listen)
	if err != nil {
		return nil, fmt.Errorf("store the server's certificate: %w", err)
	}
	shown, err := filepath.Abs(filepath.Join(data, CertificateFile))
	if err != nil {
		return nil, fmt.Errorf("path of the server's certificate: %w", err)
	}
	return embedded.Start(ctx, filepath.Join(data, databasesDir), listen, password, "true", log, limits.option,
		memory.Option, func(cfg *embedded.Config) {
			cfg.Certificate, cfg.CertificateFile, cfg.TargetPassword = certificate, shown, targetPassword
		})
}

// either returns a channel with the first error of two.
func either(a, b <-chan error) <-chan error {
	first := make(chan error, 1)
	for _, failed := range []<-chan error{a, b} {
		go func() { // ends when the agent or the front does
			if err, ok := <-failed; ok {
				select {
				case first <- err:
				default:
				}
			}
		}()
	}
	return first
}
