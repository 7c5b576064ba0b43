// Package dev has the command that runs an embedded server to develop against.
package dev

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/measure"
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
	var o options
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
			if err := o.check(); err != nil {
				return err
			}
			if err := a.OwnControlDatabase(); err != nil {
				return err
			}
			o.limits.tlsGiven = cmd.Flags().Changed(flagRequireTLS)
			o.rest.given = cmd.Flags().Changed(flagRESTListen)
			return dev(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:1433", "address to listen on")
	cmd.Flags().StringVar(&o.rest.listen, flagRESTListen, config.DefaultListen,
		"address of the REST server; empty: none (by default another port if this one is in use)")
	cmd.Flags().BoolVar(&o.rest.issuer, "dev-issuer", false,
		"issue tokens as Microsoft Entra ID does, for tools that log in with azidentity; the client is "+RESTClientID+
			"; people can sign in at the dashboard as admin, author, operator or reader, without a password")
	cmd.Flags().StringVar(&o.data, "data", "", "`directory` of the databases; created if it is missing (default: a temporary directory)")
	cmd.Flags().StringVar(&o.password, "sa-password", "",
		"password of sa; other users of this machine can read it, so "+EnvSAPassword+" is safer")
	cmd.Flags().IntVar(&o.limits.maxConnections, "max-connections", 1000, "maximum number of connections")
	embedded.AddMemoryFlag(cmd, &o.memory)
	cmd.Flags().StringVar(&o.limits.keytab, "keytab", "",
		"`file` with the Kerberos key of MSSQLSvc/host:port, for logins FROM WINDOWS (default: no Windows logins)")
	cmd.Flags().BoolVar(&o.limits.requireTLS, flagRequireTLS, false,
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

// options are the flags of `jobagent dev`.
type options struct {
	listen, data, password string
	rest                   restSettings
	limits                 clientLimits
	memory                 embedded.MemorySize
}

// check refuses values that no machine accepts.
func (o options) check() error {
	if o.limits.maxConnections < 1 || o.limits.maxConnections > mostConnections {
		return exit.Usagef("--max-connections %d: must be 1 to %d", o.limits.maxConnections, mostConnections)
	}
	if err := o.memory.Check(); err != nil {
		return err
	}
	if err := embedded.CheckListen("listen", o.listen); err != nil {
		return err
	}
	if o.rest.listen == "" {
		return nil
	}
	return embedded.CheckListen(flagRESTListen, o.rest.listen)
}

// dev implements `jobagent dev`: it opens the data directory and starts the server, equips an
// agent, and runs it with the front until the end.
func dev(ctx context.Context, a *connect.App, o options) (err error) {
	log, err := a.Logger()
	if err != nil {
		return err
	}
	if err := daemon.Protect(log); err != nil {
		return err
	}
	if err := embedded.CheckFree(ctx, o.listen); err != nil { // before anything is written
		return err
	}
	d := developed{app: a, log: log, kept: o.data != ""}
	defer func() { err = d.close(err) }()
	if err := d.open(ctx, o); err != nil {
		return err
	}
	if err := d.equip(ctx); err != nil {
		return err
	}
	return d.run(ctx, o.rest)
}

// developed is what `jobagent dev` runs.
type developed struct {
	app     *connect.App
	log     *zap.Logger
	kept    bool // the data directory is the user's
	data    string
	agentID uuid.UUID
	server  *embedded.Server
	cfg     config.File
	metrics *metrics.Metrics
	counted *metrics.Database
	tools   agent.Tools
	store   *controldb.Store
	closers []func() error // in the order of what they close
}

// later calls a function at the end, before those of the calls before.
func (d *developed) later(closer func() error) { d.closers = append(d.closers, closer) }

// close closes all in reverse order. It returns the first error, of which err is one.
func (d *developed) close(err error) error {
	for _, closer := range slices.Backward(d.closers) {
		err = cmp.Or(err, closer())
	}
	return err
}

// open opens the data directory, and starts the server over it.
func (d *developed) open(ctx context.Context, o options) error {
	data, release, err := openData(o.data)
	if err != nil {
		return err
	}
	d.data = data
	d.later(done(release))
	if d.agentID, err = loadAgentID(data); err != nil {
		return err
	}
	o.data = data
	if d.server, err = startServer(ctx, o, d.log); err != nil {
		return err
	}
	d.later(d.server.Close)
	return nil
}

// equip makes the tools of an agent for the databases of the server.
func (d *developed) equip(ctx context.Context) (err error) {
	if d.cfg, err = d.app.Config(); err != nil {
		return err
	}
	d.server.TargetSettings = d.cfg.Encryption()
	d.server.TargetSettings.AllowControlDatabase = d.cfg.Targets.AllowControlDatabase
	if err := d.count(ctx); err != nil {
		return err
	}
	further, err := config.Credentials(d.cfg)
	if err != nil {
		return err
	}
	if err := d.server.WriteConfig(d.data); err != nil {
		return fmt.Errorf("write %s: %w", embedded.ConfigFile, err)
	}
	servers, err := d.server.OpenServers(ctx, further...)
	if err != nil {
		return err
	}
	d.later(done(func() { _ = servers.Close() })) // nothing is lost by a connection that ends late
	if err := d.app.WarnWeak(servers.Weaknesses()); err != nil {
		return err
	}
	if d.tools, err = connect.NewTools(ctx, d.server.Store, servers); err != nil {
		return err
	}
	return d.equipActions(ctx)
}

// count makes the metrics of the server's databases.
func (d *developed) count(ctx context.Context) (err error) {
	if d.metrics, err = d.app.Metrics(); err != nil {
		return err
	}
	stop, err := d.app.ServeMetrics(ctx, d.log)
	if err != nil {
		return err
	}
	d.later(done(stop))
	d.counted = d.metrics.Database(embedded.ControlDatabase)
	d.server.TargetSettings.OnLogin, d.cfg.Outbound.OnConnect = connect.OnDial(d.counted.Targets()), connect.OnDial(d.metrics.Outbound())
	return nil
}

// equipActions makes what the agent does beside T-SQL.
func (d *developed) equipActions(ctx context.Context) error {
	d.cfg.Own = append(d.cfg.Own, d.data)
	actions, err := connect.NewActions(d.cfg, buildinfo.Version(), true)
	if err != nil {
		return err
	}
	if err := actions.Receive(ctx, d.cfg.Callbacks, true, d.server.Store, d.log); err != nil {
		return err
	}
	d.later(done(actions.Close))
	if len(d.cfg.Processes) > 0 {
		actions.Log(d.cfg, d.log) // warns of entries that can read the data directory
	}
	traces, closeTraces, err := d.app.OpenTraces(ctx, buildinfo.Version(), d.log)
	if err != nil {
		return err
	}
	d.later(done(closeTraces))
	actions.Equip(&d.tools, d.server.Store, d.cfg, d.log)
	d.tools.Traces = traces
	store, stopCounting := d.counted.Observe(d.server.Store, metrics.ClientAgent)
	d.later(done(stopCounting))
	d.later(done(d.counted.CountRuns(measure.On(store).RunCounts)))
	d.store = store
	return nil
}

// run runs the agent and the front until ctx is done or one of them fails.
func (d *developed) run(ctx context.Context, rest restSettings) error {
	f, err := openFront(ctx, rest, d.data, d.cfg, d.metrics, d.server, d.log)
	if err != nil {
		return err
	}
	if f != nil {
		d.tools.Actions.FrontURL = f.PublicURL()
		d.tools.Actions.Pages = connect.Pages(f.PublicURL(), embedded.ControlDatabase) // for links in alerts
	}
	stopAgent, agentFailed := daemon.Start(ctx,
		agent.Config{AgentID: d.agentID, Version: buildinfo.Version(), Metrics: d.counted.Agent()}, d.store, d.tools, d.log)
	d.later(stopAgent)
	stopFront, frontFailed := f.Start(ctx)
	d.later(stopFront)
	if err := printReady(&d.app.Printer, d.server, f, d.data, d.kept); err != nil {
		return err
	}
	return d.server.Wait(ctx, either(agentFailed, frontFailed))
}

// done makes a closer of a function that cannot fail.
func done(closer func()) func() error {
	return func() error {
		closer()
		return nil
	}
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

// startServer starts the embedded server over the data directory. Without a password, that of the
// environment applies, or else the stored one. The caller closes the server.
func startServer(ctx context.Context, o options, log *zap.Logger) (*embedded.Server, error) {
	password, err := loadPassword(o.data, cmp.Or(o.password, os.Getenv(EnvSAPassword)), log)
	if err != nil {
		return nil, err
	}
	targetPassword := embedded.RandomPassword()
	if err := privatefile.Replace(filepath.Join(o.data, embedded.TargetPasswordFile), []byte(targetPassword+"\n")); err != nil {
		return nil, fmt.Errorf("store the password of %s: %w", embedded.TargetLogin, err)
	}
	certificate, err := embedded.LoadOrCreateCertificate(filepath.Join(o.data, CertificateFile), filepath.Join(o.data, KeyFile), o.listen)
	if err != nil {
		return nil, fmt.Errorf("store the server's certificate: %w", err)
	}
	shown, err := filepath.Abs(filepath.Join(o.data, CertificateFile))
	if err != nil {
		return nil, fmt.Errorf("path of the server's certificate: %w", err)
	}
	return embedded.Start(ctx, filepath.Join(o.data, databasesDir), o.listen, password, "true", log, o.limits.option,
		o.memory.Option, func(cfg *embedded.Config) {
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
