package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/agent/rest/sap"
	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Defaults of the front.
const (
	DefaultListen        = "127.0.0.1:8443"
	defaultSubscription  = "00000000-0000-0000-0000-000000000000"
	defaultGroup         = "jobagent"
	defaultServer        = "local"
	defaultLocation      = "local"
	defaultImplicitAgent = "default"
)

// ControlDatabase is a control database that a front serves. Subscription, resource group and
// server are labels: they give the database its place in the paths of Azure's APIs.
type ControlDatabase struct {
	Name          string  `json:"name"`           // in paths; default: the database's name
	DSN           string  `json:"dsn"`            // connection string, or env:NAME or file:PATH
	Subscription  string  `json:"subscription"`   // a GUID; default: zeros
	ResourceGroup string  `json:"resource_group"` // default: jobagent
	Server        string  `json:"server"`         // default: local
	Location      string  `json:"location"`       // default: local
	DNSSuffix     string  `json:"dns_suffix"`     // added to short server names of targets, as in .database.windows.net
	Install       bool    `json:"install"`        // install the schema when an account is created
	ImplicitAgent *string `json:"implicit_agent"` // name of the agent of a database without one; default: default
}

// REST configures the front, `jobagent serve`.
type REST struct {
	Listen    string `json:"listen"`     // host:port; default: 127.0.0.1:8443
	PublicURL string `json:"public_url"` // as seen by clients; default: that of listen
	TLS       struct {
		Certificate string `json:"certificate"` // path of a PEM file; required unless listen is a loopback address
		Key         string `json:"key"`         // path of a PEM file
		ClientCA    string `json:"client_ca"`   // path of a PEM file: authorities of client certificates
	} `json:"tls"`
	InsecureHTTP bool `json:"insecure_http"` // serve plain HTTP, on a loopback address only
	// TrustedProxies are CIDR prefixes and addresses of reverse proxies. Requests from there count
	// for the client that the proxy names in X-Forwarded-For or Forwarded.
	TrustedProxies []string `json:"trusted_proxies"`

	auth.Config // issuers, tokens, token_file, certificates, grants

	TenantID string `json:"tenant_id"` // GUID that clients of Azure see
	// Identities are the identities that job agents may have, by resource ID.
	Identities  map[string]Identity `json:"identities"`
	Limits      RESTLimits          `json:"limits"`
	CORSOrigins []string            `json:"cors_origins"` // origins whose scripts may call; "*" is any
	SAP         SAP                 `json:"sap"`
	Scheduler   scheduler.Config    `json:"scheduler"`
	Elastic     elastic.Settings    `json:"elastic"`
	Web         Web                 `json:"web"`
}

// Web configures the dashboard.
type Web struct {
	// SessionKey refers to a text of at least 32 bytes that seals sessions: env:NAME or file:PATH.
	// Fronts behind one address have the same. Default: a random key, so that sessions end with the
	// process.
	SessionKey string   `json:"session_key"`
	Idle       Duration `json:"idle"`     // ends a session that is not used; default: 1h
	Lifetime   Duration `json:"lifetime"` // ends each session; default: 12h
}

// Identity is an identity that a job agent may have. Clients are shown its IDs.
type Identity struct {
	PrincipalID string `json:"principal_id"`
	ClientID    string `json:"client_id"`
}

// RESTLimits bounds the requests to the front.
type RESTLimits struct {
	Off         bool      `json:"off"`     // no bound on the number of a caller's requests
	Reads       RateLimit `json:"reads"`   // default: 12,000 an hour, 720 at once
	Writes      RateLimit `json:"writes"`  // default: 1,200 an hour, 180 at once
	Deletes     RateLimit `json:"deletes"` // default: 15,000 an hour, as many at once
	MaxBody     ByteSize  `json:"max_body"`
	Connections int       `json:"connections"` // default: 4,000
	RequestTime Duration  `json:"request_time"`
}

// RateLimit bounds the requests of one caller.
type RateLimit struct {
	PerHour float64 `json:"per_hour"`
	Burst   float64 `json:"burst"`
}

// Rate returns the limits of a caller's requests.
func (l RESTLimits) Rate() rest.Limits {
	if l.Off {
		return rest.Limits{}
	}
	limits := rest.DefaultLimits()
	for _, one := range []struct {
		set RateLimit
		to  *rest.Limit
	}{{l.Reads, &limits.Reads}, {l.Writes, &limits.Writes}, {l.Deletes, &limits.Deletes}} {
		one.to.PerHour = cmp.Or(one.set.PerHour, one.to.PerHour)
		one.to.Burst = cmp.Or(one.set.Burst, one.to.Burst)
	}
	return limits
}

// SAP configures the surface of SAP Job Scheduling Service. It is off without instances.
type SAP struct {
	Instances []SAPInstance `json:"instances"`
	Limit     sap.RateLimit `json:"limit"` // of all callers together
}

// The parts of an instance.
type (
	SAPService = sap.Instance
	SAPCallers = auth.Instance
)

// SAPInstance is a service instance, with those who may call it.
type SAPInstance struct {
	SAPService
	SAPCallers
}

// Callers returns the part about callers, with the names of the service.
func (i SAPInstance) Callers() auth.Instance {
	callers := i.SAPCallers
	callers.Name, callers.Tenant, callers.Subdomain = i.SAPService.Name, i.SAPService.Tenant, i.SubDomain
	return callers
}

// Databases returns the control databases of the front, with defaults. Without a section
// control_databases, it is the one of dsn. Connection strings that are references are resolved.
func (c File) Databases(dsn string) ([]ControlDatabase, error) {
	list := append([]ControlDatabase(nil), c.ControlDatabases...)
	if len(list) == 0 {
		list = []ControlDatabase{{DSN: dsn}}
	}
	var errs []error
	for i := range list {
		if err := list[i].complete(dsn, i == 0); err != nil {
			errs = append(errs, fmt.Errorf("control_databases[%d]: %w", i, err))
		}
	}
	if len(errs) > 0 {
		return nil, exit.Usage(errors.Join(errs...))
	}
	return list, nil
}

// complete sets the defaults. The first entry may leave out its connection string.
func (d *ControlDatabase) complete(dsn string, first bool) error {
	if d.DSN == "" {
		if !first || dsn == "" {
			return errors.New("dsn is missing")
		}
		d.DSN = dsn
	}
	text, err := Resolve(d.DSN)
	if err != nil {
		return err
	}
	d.DSN = text
	parsed, err := mssql.ParseDSN(text)
	if err != nil {
		return err
	}
	d.Name = cmp.Or(d.Name, parsed.Params.Database)
	d.Subscription = cmp.Or(d.Subscription, defaultSubscription)
	d.ResourceGroup = cmp.Or(d.ResourceGroup, defaultGroup)
	d.Server = cmp.Or(d.Server, defaultServer)
	d.Location = cmp.Or(d.Location, defaultLocation)
	if d.ImplicitAgent == nil {
		name := defaultImplicitAgent
		d.ImplicitAgent = &name
	}
	return nil
}

// Entry returns the entry of a directory, without a store.
func (d ControlDatabase) Entry() *rest.Entry {
	return &rest.Entry{
		Name: d.Name, Subscription: d.Subscription, ResourceGroup: d.ResourceGroup, Server: d.Server, Location: d.Location,
		DNSSuffix: d.DNSSuffix, ImplicitAgent: *d.ImplicitAgent, Install: d.Install,
	}
}

// Listener returns the configuration of the listener.
func (c REST) Listener() rest.ListenConfig {
	return rest.ListenConfig{
		Address: cmp.Or(c.Listen, DefaultListen), Certificate: c.TLS.Certificate, Key: c.TLS.Key, ClientCA: c.TLS.ClientCA,
		InsecureHTTP: c.InsecureHTTP, TrustedProxies: c.TrustedProxies, Connections: c.Limits.Connections, RequestTime: time.Duration(c.Limits.RequestTime),
	}
}

// CheckAgent returns the faults of what an agent without a front uses.
func (c REST) CheckAgent() error {
	if c.PublicURL == "" {
		return nil
	}
	if err := rest.CheckPublicURL(c.PublicURL); err != nil {
		return fmt.Errorf("rest: %w", err)
	}
	return nil
}

// Check returns all faults that can be found without other parts of the configuration.
func (c REST) Check() error {
	errs := []error{c.Listener().Check()}
	if c.PublicURL != "" {
		errs = append(errs, rest.CheckPublicURL(c.PublicURL))
	}
	for _, one := range []struct {
		name  string
		limit RateLimit
	}{{"reads", c.Limits.Reads}, {"writes", c.Limits.Writes}, {"deletes", c.Limits.Deletes}} {
		if one.limit.PerHour < 0 || one.limit.Burst < 0 {
			errs = append(errs, fmt.Errorf("invalid limits.%s: want numbers above 0", one.name))
		}
	}
	if c.Limits.Connections < 0 || c.Limits.RequestTime < 0 {
		errs = append(errs, errors.New("invalid limits: want numbers above 0"))
	}
	for _, origin := range c.CORSOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Host == "" || u.Scheme == "" || strings.Trim(u.Path, "/") != "" || strings.HasSuffix(origin, "/")) {
			errs = append(errs, fmt.Errorf("invalid cors_origins %q: want https://HOST[:PORT], or *", origin))
		}
	}
	var callers []auth.Instance
	services := sap.Config{Limit: c.SAP.Limit}
	for _, i := range c.SAP.Instances {
		callers = append(callers, i.Callers())
		services.Instances = append(services.Instances, i.SAPService)
	}
	errs = append(errs, services.Check(nil), c.Config.Check(callers))
	if c.NeedsClientCA(callers) && c.TLS.ClientCA == "" {
		errs = append(errs, errors.New("invalid certificates: want tls.client_ca, the authorities that verify them"))
	}
	errs = append(errs, c.Scheduler.Check(), c.Elastic.Check(), c.Web.check())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("rest: %w", err)
	}
	return nil
}

// check returns the faults of the settings.
func (w Web) check() error {
	var errs []error
	if w.SessionKey != "" && !secretref.IsReference(w.SessionKey) {
		errs = append(errs, fmt.Errorf("invalid web.session_key: %w", secretref.ErrInvalid))
	}
	if w.Idle < 0 || w.Lifetime < 0 {
		errs = append(errs, errors.New("invalid web.idle or web.lifetime: want times above 0"))
	}
	return errors.Join(errs...)
}

// secretReferences returns what refers to secrets.
func (c REST) secretReferences() (refs []string) {
	refs = append(refs, c.Config.SecretReferences()...)
	if c.Web.SessionKey != "" {
		refs = append(refs, c.Web.SessionKey)
	}
	for _, i := range c.SAP.Instances {
		refs = append(refs, i.SecretReferences()...)
	}
	return refs
}

// secretFiles returns the files of secrets that are not named by references.
func (c REST) secretFiles() (files []string) {
	files = append(files, c.Config.SecretFiles()...)
	if c.TLS.Key != "" {
		files = append(files, c.TLS.Key)
	}
	return files
}
