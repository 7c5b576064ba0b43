package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/mssql/azure"
	"github.com/jobagent/jobagent/targets/secretref"
)

// targetFlags are the flags that choose the default credential of targets: one of the configuration
// file, or a login that needs no file.
type targetFlags struct {
	credential   string
	auth         string
	user, secret string
	keytab       string
	servers      []string
}

// EnvTargetPassword is the environment variable that holds the password of --target-user, unless
// --target-secret names another place.
const EnvTargetPassword = "JOBAGENT_TARGET_PASSWORD"

// Add declares the flags of a command that connects to targets.
func (f *targetFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.credential, "target-credential", "",
		"`name` of the default credential in the configuration file (default: its targets.default_credential)")
	flags.StringVar(&f.user, "target-user", "", "`login` for steps and members without a credential, in place of the default credential")
	flags.StringVar(&f.secret, "target-secret", "",
		"reference to the password of --target-user: `env:NAME|file:PATH` (default: env:"+EnvTargetPassword+")")
	flags.StringVar(&f.auth, "target-auth", authSQL, "kind of --target-user: `"+authSQL+"|"+authWindows+"|"+authNTLM+
		"`; without --target-user, windows uses your own Kerberos ticket, or on Windows your account")
	flags.StringVar(&f.keytab, "target-keytab", "", "`file` with the Kerberos key of --target-user")
	flags.StringArrayVar(&f.servers, "target-servers", nil,
		"`pattern` of servers that may receive --target-user: host, host,port or *.example.com; may be repeated")
}

// login returns the credential of the flags, or nil if they give none.
func (f *targetFlags) login() (*mssql.Credential, error) {
	kind := targetKinds[f.auth]
	switch {
	case kind == "":
		return nil, exit.Usagef("--target-auth %q: want %s, %s or %s", f.auth, authSQL, authWindows, authNTLM)
	case f.keytab != "" && kind != mssql.KindWindows:
		return nil, exit.Usagef("--target-keytab requires --target-auth windows")
	case f.user == "" && f.secret == "" && f.keytab == "" && len(f.servers) == 0 && kind == mssql.KindSQLLogin:
		return nil, nil
	case f.user == "" && (kind != mssql.KindWindows || f.secret != "" || f.keytab != ""):
		return nil, exit.Usagef("--target-secret and --target-servers require --target-user")
	case f.credential != "":
		return nil, exit.Usagef("--target-credential and --target-user cannot be combined")
	case len(f.servers) == 0:
		return nil, exit.Usagef("--target-user requires --target-servers, the servers that may receive the login")
	}
	secret := f.secret
	if kind != mssql.KindWindows {
		secret = cmp.Or(secret, "env:"+EnvTargetPassword)
	}
	if _, file := secretref.File(secret); secretref.IsReference(secret) && !file { // a file may come later, a variable does not
		if _, err := secretref.Read(secret); err != nil {
			return nil, exit.Usagef("the password of --target-user: %w; --target-secret names another place", err)
		}
	}
	return &mssql.Credential{
		Name: targets.DefaultCredential, Servers: f.servers, Kind: kind, User: f.user, Secret: secret,
		Kerberos: mssql.Kerberos{Keytab: f.keytab},
	}, nil
}

// Values of --target-auth.
const (
	authSQL     = "sql-login"
	authWindows = "windows"
	authNTLM    = "windows-ntlm"
)

// targetKinds maps the values of --target-auth to kinds of credentials.
var targetKinds = map[string]mssql.CredentialKind{
	"": mssql.KindSQLLogin, authSQL: mssql.KindSQLLogin, authWindows: mssql.KindWindows, authNTLM: mssql.KindWindowsNTLM,
}

// OpenTools makes the agent's tools for targets from the configuration file and the flags. It never
// uses the login of the control database's connection string, because a job's author must not have
// that login's rights (I13).
//
// logins counts the logins; nil: not.
func (c *Connections) OpenTools(ctx context.Context, store *controldb.Store, logins *metrics.Dials) (agent.Tools, func(), error) {
	servers, _, stored, err := c.openServers(ctx, store, logins)
	if err != nil {
		return agent.Tools{}, nil, err
	}
	tools, err := NewTools(ctx, store, servers)
	if err != nil {
		return agent.Tools{}, nil, errors.Join(err, servers.Close())
	}
	tools.OnClaim = append(tools.OnClaim, stored.Expire)
	return tools, func() { _ = servers.Close() }, nil
}

// OpenServers makes the connections to target servers, and returns their settings too. logins
// counts the logins; nil: not.
func (c *Connections) OpenServers(
	ctx context.Context, store *controldb.Store, logins *metrics.Dials,
) (*mssql.Servers, mssql.Config, error) {
	servers, settings, _, err := c.openServers(ctx, store, logins)
	return servers, settings, err
}

// openServers is OpenServers; it returns the stored credentials as well.
func (c *Connections) openServers(
	ctx context.Context, store *controldb.Store, logins *metrics.Dials,
) (*mssql.Servers, mssql.Config, *agent.StoredCredentials, error) {
	cfg, err := c.settings.Config()
	if err != nil {
		return nil, mssql.Config{}, nil, err
	}
	settings := cfg.Encryption()
	settings.LoginTimeout, settings.Entra = time.Duration(cfg.Targets.ConnectTimeout), new(azure.Logins).Connector
	settings.Limits, settings.OnLogin = cfg.Limits.Limits(), OnDial(logins)
	if settings.Credentials, err = c.Credentials(ctx, cfg, &settings); err != nil {
		return nil, settings, nil, err
	}
	stored := agent.NewStoredCredentials(store, cfg.SecretKeys, zap.NewNop())
	if settings.Credentials, err = settings.Credentials.WithStored(stored.Login, cfg.Targets.StoredCredentialServers...); err != nil {
		return nil, settings, nil, exit.Usage(err)
	}
	if settings.Control, err = store.Instance(ctx); err != nil {
		return nil, settings, nil, err
	}
	settings.AllowControlDatabase, settings.AnonymousSessions = cfg.Targets.AllowControlDatabase, cfg.Targets.AnonymousSessions
	servers, err := mssql.NewServers(settings)
	if err != nil {
		return nil, settings, nil, exit.Usage(err)
	}
	if err := c.settings.WarnWeak(servers.Weaknesses()); err != nil {
		return nil, settings, nil, errors.Join(err, servers.Close())
	}
	return servers, settings, stored, nil
}

// OwnEncryption is how the servers are reached that a command line names, beside the configuration
// file.
type OwnEncryption struct {
	// Trust accepts any certificate, and Pins are hashes of the certificates of these servers.
	Trust bool
	Pins  []string
}

// OpenNamedServers makes the connections to servers that the command line names, with the
// configuration file and the flags, and without a control database. A login of the flags may be
// sent to these servers unless --target-servers names others.
func (c *Connections) OpenNamedServers(names []string, e OwnEncryption) (*mssql.Servers, error) {
	cfg, err := c.settings.Config()
	if err != nil {
		return nil, err
	}
	settings := cfg.Encryption()
	settings.LoginTimeout, settings.Entra = time.Duration(cfg.Targets.ConnectTimeout), new(azure.Logins).Connector
	settings.Limits, settings.AnonymousSessions = cfg.Limits.Limits(), cfg.Targets.AnonymousSessions
	if e.Trust || len(e.Pins) > 0 {
		var own []mssql.ServerEncryption
		for _, name := range names {
			own = append(own, mssql.ServerEncryption{Match: name, TrustServerCertificate: e.Trust, CertificateSHA256: e.Pins})
		}
		settings.Servers = append(own, settings.Servers...)
	}
	if len(c.Target.servers) == 0 && (c.Target.user != "" || c.Target.auth != authSQL) {
		c.Target.servers = names
	}
	login, err := c.Target.login()
	if err != nil {
		return nil, err
	}
	if settings.Credentials, err = c.credentials(cfg, login); err != nil {
		return nil, err
	}
	servers, err := mssql.NewServers(settings)
	if err != nil {
		return nil, exit.Usage(err)
	}
	if err := c.settings.WarnWeak(servers.Weaknesses()); err != nil {
		return nil, errors.Join(err, servers.Close())
	}
	return servers, nil
}

// NewTools makes an agent's tools over servers.
func NewTools(ctx context.Context, store *controldb.Store, servers *mssql.Servers) (agent.Tools, error) {
	control, err := store.Instance(ctx)
	if err != nil {
		return agent.Tools{}, err
	}
	return agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}),
		Resolver: mssql.NewResolver(servers, control)}, nil
}

// Credentials makes the set of named credentials. If the flags give a login, it also adds the
// encryption of the control database's connection string to settings, for the control database's
// server.
func (c *Connections) Credentials(ctx context.Context, cfg config.File, settings *mssql.Config) (*mssql.CredentialSet, error) {
	login, err := c.Target.login()
	if err != nil {
		return nil, err
	}
	if login != nil {
		dsn, err := c.settings.ParsedControlDSN(ctx)
		if err != nil {
			return nil, err
		}
		settings.Servers = append(settings.Servers, EncryptionOf(dsn)...) // last, so that the configuration file takes precedence
	}
	return c.credentials(cfg, login)
}

// credentials makes the set of the configuration's credentials, with a login of the flags as the
// default one; nil: there is none.
func (c *Connections) credentials(cfg config.File, login *mssql.Credential) (*mssql.CredentialSet, error) {
	list, err := config.Credentials(cfg)
	if err != nil {
		return nil, err
	}
	isDefault := func(c mssql.Credential) bool { return config.IsDefaultName(c.Name) }
	if login != nil {
		list = append(slices.DeleteFunc(list, isDefault), *login)
	} else if name := cmp.Or(c.Target.credential, cfg.Targets.DefaultCredential); name != "" &&
		!config.IsDefaultName(name) {
		i := slices.IndexFunc(list, func(c mssql.Credential) bool { return strings.EqualFold(c.Name, name) })
		if i < 0 {
			source := "targets.default_credential"
			if c.Target.credential != "" {
				source = "--target-credential"
			}
			return nil, exit.Usagef("%s names %q, but the configuration file has no such credential", source, name)
		}
		fallback := list[i]
		fallback.Name = targets.DefaultCredential
		list = append(slices.DeleteFunc(list, isDefault), fallback)
	}
	set, err := mssql.NewCredentialSet(list...)
	if err != nil {
		return nil, exit.Usage(err)
	}
	return set, nil
}

// encryptWords maps the driver's encryption settings to those of the configuration.
var encryptWords = map[msdsn.Encryption]string{
	msdsn.EncryptionDisabled: "disable", msdsn.EncryptionRequired: "true", msdsn.EncryptionStrict: "strict",
}

// EncryptionOf returns the encryption of a connection string as settings of targets on its server.
func EncryptionOf(dsn mssql.DSN) (list []mssql.ServerEncryption) {
	for _, name := range ServerNames(dsn.Params) {
		list = append(list, mssql.ServerEncryption{
			Match: name, Encrypt: encryptWords[dsn.Params.Encryption],
			TrustServerCertificate: dsn.Params.TrustServerCertificate, CertificateSHA256: dsn.Encryption.Pins(),
		})
	}
	return list
}

// ServerNames returns the names by which a target group may name the server of a connection string:
// the host with its instance, or with its port. The bare host is not among them, since other ports
// of the host may belong to other servers.
func ServerNames(p msdsn.Config) []string {
	const defaultPort = 1433
	var names []string
	if p.Instance != "" {
		names = append(names, p.Host+`\`+p.Instance)
	}
	if p.Port != 0 || p.Instance == "" {
		names = append(names, fmt.Sprintf("%s,%d", p.Host, cmp.Or(p.Port, defaultPort)))
	}
	return names
}
