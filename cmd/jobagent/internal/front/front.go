// Package front makes a REST front from the configuration, and serves it in this process.
package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/accounts"
	"github.com/jobagent/jobagent/agent/alerts"
	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/agent/rest/callbacks"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/agent/rest/gateway"
	"github.com/jobagent/jobagent/agent/rest/sap"
	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/agent/rest/scrape"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/agent/web"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
)

// Options are what a front is made of.
type Options struct {
	// Config is the section rest of the configuration.
	Config config.REST
	// Databases are the control databases, with defaults.
	Databases []config.ControlDatabase
	// Credentials are the names of the credentials of the configuration.
	Credentials []string
	// Guard reports whether actions may call host:port; nil leaves it to the agents.
	Guard func(address string) error
	// Alerts returns what evaluates and delivers the alerts of a control database; pages is the
	// address of the dashboard's pages. nil leaves alerts to other processes.
	Alerts func(store *controldb.Store, pages string, log *zap.Logger) *alerts.Service
	// Open opens the control database of an entry. It does not need to connect.
	Open func(config.ControlDatabase) (*controldb.Store, error)
	// Metrics are those of this process; nil: none. AnonymousMetrics serves them without a caller.
	Metrics          *metrics.Metrics
	AnonymousMetrics bool
	// DevClients are the clients of an issuer of tokens for tools, in development; nil means that
	// there is no such issuer. DevUsers are the people whom it signs in.
	DevClients []issuer.DevClient
	DevUsers   []issuer.DevUser
	// SignInHelp says on the page to sign in where a token is to be had; empty: the usual text.
	SignInHelp string
	Log        *zap.Logger
}

// Front is a REST front. Its address is open; it answers once Serve is called.
type Front struct {
	listener  *rest.Listener
	server    *rest.Server
	publicURL string
	directory *rest.Directory
	stores    []*controldb.Store
	sap       *sap.Surface // nil: none
	web       *web.Server
	sessions  *session.Sessions
	alerts    func(store *controldb.Store, pages string, log *zap.Logger) *alerts.Service // nil: none
	stops     []func()                                                                    // of what is counted
	callers   config.REST
	log       *zap.Logger // names the service rest
	root      *zap.Logger // for parts that name their own services
}

// Open opens a front. The caller calls Close in the end.
func Open(ctx context.Context, o Options) (f *Front, err error) {
	if err := o.Config.Check(); err != nil {
		return nil, exit.Usage(err)
	}
	f = &Front{callers: o.Config, alerts: o.Alerts, root: o.Log, log: o.Log.With(zap.String("service", "rest"))}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			f = nil
		}
	}()
	if err := f.openDirectory(o); err != nil {
		return f, err
	}
	if f.listener, err = rest.Listen(ctx, o.Config.Listener(), f.log); err != nil {
		return f, exit.With(exit.ListenCode(err), err)
	}
	o.Metrics.Rest().Connections(f.listener.Connections)
	f.publicURL = strings.TrimSuffix(cmp.Or(o.Config.PublicURL, f.listener.URL()), "/")
	return f, f.build(o)
}

// Check checks a configuration without opening an address or a connection.
func Check(o Options) error {
	if err := o.Config.Check(); err != nil {
		return exit.Usage(err)
	}
	f := &Front{root: zap.NewNop(), log: zap.NewNop(), publicURL: cmp.Or(o.Config.PublicURL, "https://localhost")}
	if err := f.openDirectory(o); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.build(o), f.Close())
}

// openDirectory opens the stores of all control databases.
func (f *Front) openDirectory(o Options) error {
	var entries []*rest.Entry
	for _, d := range o.Databases {
		store, err := o.Open(d)
		if err != nil {
			return fmt.Errorf("control database %q: %w", d.Name, err)
		}
		store = f.count(o, d, store)
		f.stores = append(f.stores, store)
		store = withRetries(store, f.log)
		e := d.Entry()
		e.Store = store
		entries = append(entries, e)
	}
	var err error
	if f.directory, err = rest.NewDirectory(entries...); err != nil {
		return exit.Usagef("control_databases: %w", err)
	}
	return nil
}

// build makes the surfaces and the server.
func (f *Front) build(o Options) error {
	var instances []auth.Instance
	for _, i := range o.Config.SAP.Instances {
		instances = append(instances, i.Callers())
	}
	var dev *issuer.Dev
	var err error
	if o.DevClients != nil {
		// The secrets of its clients are weak, and its tokens open everything.
		host, _, err := net.SplitHostPort(o.Config.Listen)
		if err != nil || !rest.Loopback(host) {
			return exit.Usagef("invalid listen %q with an issuer for development: want a loopback address", o.Config.Listen)
		}
		clients := slices.Clone(o.DevClients)
		for i := range clients { // people sign in by any of them
			clients[i].RedirectURIs = append(slices.Clone(clients[i].RedirectURIs), f.publicURL+web.CallbackPath)
		}
		if dev, err = issuer.NewDev(f.publicURL, []string{f.publicURL}, clients, nil); err != nil {
			return exit.Usage(err)
		}
		dev.AddUsers(o.DevUsers...)
	}
	authenticator, err := auth.New(o.Config.Config, auth.Options{
		PublicURL: f.publicURL, Instances: instances, Tenants: f.tenants(o.Config.SAP.Instances), Dev: dev, Log: f.log,
	})
	if err != nil {
		return exit.Usagef("rest: %w", err)
	}
	mounts, err := f.surfaces(o)
	if err != nil {
		return err
	}
	documented := slices.Clone(mounts)
	if f.sap == nil { // the API is described all the same
		surface, err := sap.New(nil, o.Config.SAP.Limit, f.log)
		if err != nil {
			return err
		}
		documented = append(documented, &rest.Mount{Surface: surface})
	}
	for _, s := range authenticator.Surfaces() {
		mounts = append(mounts, &rest.Mount{Surface: s})
	}
	login, audiences, tenant := "", []string(nil), cmp.Or(o.Config.TenantID, defaultTenant)
	if dev != nil {
		login, audiences, tenant = f.publicURL, dev.Audiences(), issuer.DevTenant
	}
	for _, i := range o.Config.Issuers {
		login, audiences = cmp.Or(login, authority(cmp.Or(i.AuthorizationURI, i.Issuer))), append(audiences, i.Audiences...)
	}
	mounts = append(mounts, &rest.Mount{ARM: true, Limits: o.Config.Limits.Rate(), Surface: gateway.New(gateway.Config{
		Directory: f.directory, Authorizer: authenticator, PublicURL: f.publicURL, Audiences: audiences, LoginEndpoint: login,
		TenantID: tenant, Documented: documented,
	})})
	if f.web, err = f.dashboard(o, authenticator); err != nil {
		return err
	}
	o.Metrics.Web().Streams(f.web.Streams)
	var observer rest.Observer
	if o.Metrics != nil {
		mounts = append(mounts, &rest.Mount{Surface: scrape.NewSurface(o.Metrics.Handler(), o.AnonymousMetrics)})
		observer = o.Metrics.Rest()
	}
	f.server, err = rest.New(rest.Config{
		Mounts: mounts,
		Handlers: []rest.Handler{
			{Prefix: callbacks.PathPrefix, Handler: callbacks.NewHandler(f.stores, f.root)},
			{Prefix: web.Path, Handler: f.web},
		},
		Home:          web.Path,
		Authenticator: authenticator, Authorizer: authenticator, PublicURL: f.publicURL, Region: f.region(),
		CORSOrigins: o.Config.CORSOrigins, Observer: observer, Log: f.log,
	})
	return err
}

// schemaTime limits CheckSchemas, so that a front soon begins to serve although a control database
// does not answer.
const schemaTime = 5 * time.Second

// CheckSchemas returns [dberror.ErrSchemaVersion] if the schemas of all control databases, by
// their own answers, do not support this front. A front that can serve any other control database,
// or one that does not answer yet, serves; so does one that may migrate a schema when an account is
// created.
func (f *Front) CheckSchemas(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, schemaTime)
	defer cancel()
	entries := f.directory.Entries()
	errs := make([]error, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			_, err := installed.On(e.Store).CheckAgent(ctx)
			if errors.Is(err, dberror.ErrSchemaVersion) && !e.Install {
				errs[i] = fmt.Errorf("control database %q: %w", e.Name, err)
			}
		})
	}
	wg.Wait()
	if !slices.Contains(errs, nil) {
		return errors.Join(errs...)
	}
	for _, err := range errs {
		if err != nil {
			f.log.Warn("requests for a control database are answered with status 503", zap.Error(err))
		}
	}
	return nil
}

// authority returns the first part of an issuer's address, to which clients add a tenant.
func authority(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// defaultTenant is the tenant that clients of Azure see, unless the configuration has one.
const defaultTenant = "00000000-0000-0000-0000-000000000000"

// surfaces returns the surfaces of the APIs.
func (f *Front) surfaces(o Options) (mounts []*rest.Mount, err error) {
	identities := map[string]elastic.Identity{}
	for id, one := range o.Config.Identities {
		identities[id] = elastic.Identity(one)
	}
	arm := func(s rest.Surface) *rest.Mount {
		limits := o.Config.Limits
		return &rest.Mount{
			Surface: s, ARM: true, Limits: limits.Rate(), MaxBody: int64(limits.MaxBody), Timeout: time.Duration(limits.RequestTime),
		}
	}
	mounts = append(mounts,
		arm(elastic.New(elastic.Config{
			Directory: f.directory, Identities: identities, Settings: o.Config.Elastic, Log: f.log,
			HasCredential: func(name string) bool {
				return slices.ContainsFunc(o.Credentials, func(one string) bool { return strings.EqualFold(one, name) })
			},
		})),
		arm(scheduler.New(o.Config.Scheduler, f.directory, o.Guard)))
	if len(o.Config.SAP.Instances) == 0 {
		return mounts, nil
	}
	var services []sap.Service
	for _, i := range o.Config.SAP.Instances {
		services = append(services, sap.Service{Instance: i.SAPService, Store: f.storeOf(i), Guard: o.Guard})
	}
	if f.sap, err = sap.New(services, o.Config.SAP.Limit, f.log); err != nil {
		return nil, exit.Usage(err)
	}
	return append(mounts, &rest.Mount{Surface: f.sap, MaxBody: sap.MaxBody, Timeout: sap.Timeout}), nil
}

// storeOf returns the store of an instance of the SAP surface.
func (f *Front) storeOf(i config.SAPInstance) *controldb.Store {
	for _, e := range f.directory.Entries() {
		if i.Database == "" || i.Database == e.Name {
			return e.Store
		}
	}
	return nil
}

// region returns the location of the first control database.
func (f *Front) region() string {
	return strings.ToUpper(strings.ReplaceAll(f.directory.Entries()[0].Location, " ", ""))
}

// PublicURL returns the front's address as seen by clients.
func (f *Front) PublicURL() string { return f.publicURL }

// SignInLink returns an address of the dashboard that signs one person in as the caller of a static
// token, once, within a time, and on this machine only.
func (f *Front) SignInLink(token string, lasts time.Duration) string {
	return f.publicURL + web.LinkPath(f.sessions.NewLink(token, lasts))
}

// Dashboard returns the address of the dashboard.
func (f *Front) Dashboard() string { return f.publicURL + web.Path }

// Close closes the listener and the connections to the control databases.
func (f *Front) Close() error {
	var errs []error
	if f.web != nil {
		f.web.Close()
	}
	if f.listener != nil {
		_ = f.listener.Close() // closed already after Serve
	}
	for _, stop := range f.stops {
		stop()
	}
	for _, s := range f.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Serve answers requests until ctx is done, and looks after the job agents meanwhile.
func (f *Front) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for _, e := range f.directory.Entries() {
		log := f.root.With(zap.String("control_database", e.Name)) // the parts name their services
		reconciler, err := accounts.NewReconciler(e.Store, log)
		if err != nil {
			return err
		}
		wg.Go(func() { reconciler.Run(ctx) })
		if f.alerts != nil {
			wg.Go(func() { f.alerts(e.Store, connect.Pages(f.publicURL, e.Name), log).Run(ctx) })
		}
	}
	if f.sap != nil {
		wg.Go(func() { f.startSAP(ctx) })
	}
	wg.Go(func() { // else the listener would wait for streams of live updates when it stops
		<-ctx.Done()
		f.web.Close()
	})
	if !hasCallers(f.callers) {
		f.log.Warn("nobody may call the REST server: the section rest has no tokens, issuers or certificates (see jobagent token create)")
	}
	f.log.Info("REST is served", zap.String("listen", f.listener.Address()), zap.String("public_url", f.publicURL), zap.String("dashboard", f.Dashboard()))
	return f.listener.Serve(ctx, f.server)
}

// Start serves in the background. The function stop stops the front, closes it and returns its
// error. Both results of a nil front do nothing.
func (f *Front) Start(ctx context.Context) (stop func() error, failed <-chan error) {
	ended := make(chan error, 1)
	if f == nil {
		close(ended)
		return func() error { return nil }, ended
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var failure error
	go func() { // ends with ctx; stop waits for it
		defer close(done)
		defer close(ended)
		if failure = f.Serve(ctx); failure != nil {
			ended <- failure
		}
	}()
	return func() error {
		cancel()
		<-done
		return errors.Join(failure, f.Close())
	}, ended
}

// startSAP stores the tenants of the providers, as soon as the control databases can be reached.
func (f *Front) startSAP(ctx context.Context) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := f.sap.Start(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		f.log.Warn("the tenants of the SAP surface could not be stored yet", zap.Error(err), zap.Duration("retry_in", wait))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
