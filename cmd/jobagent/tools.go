package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/azure"
)

// openTools makes what reaches targets, from the configuration file. Without any credential in it, the login of the control
// database's connection string is the default one, for the control database's own server only, which is then reached with the
// encryption that the connection string asks for.
func (a *app) openTools(ctx context.Context, store *controldb.Store) (agent.Tools, func(), error) {
	cfg, err := a.fileConfig()
	if err != nil {
		return agent.Tools{}, nil, err
	}
	reach := cfg.encryption()
	reach.LoginTimeout, reach.Entra = time.Duration(cfg.Targets.ConnectTimeout), azure.Connector
	reach.Limits = cfg.Limits.limits()
	if reach.Credentials, err = a.credentials(cfg, &reach); err != nil {
		return agent.Tools{}, nil, err
	}
	servers, err := targets.NewServers(reach)
	if err != nil {
		return agent.Tools{}, nil, &usageError{err}
	}
	if err := a.warnWeak(servers.Weaknesses()); err != nil {
		return agent.Tools{}, nil, errors.Join(err, servers.Close())
	}
	tools, err := newTools(ctx, store, servers)
	if err != nil {
		return agent.Tools{}, nil, errors.Join(err, servers.Close())
	}
	return tools, func() { _ = servers.Close() }, nil
}

// newTools makes an agent's tools over servers.
func newTools(ctx context.Context, store *controldb.Store, servers *targets.Servers) (agent.Tools, error) {
	control, err := store.Instance(ctx)
	if err != nil {
		return agent.Tools{}, err
	}
	return agent.Tools{Runner: targets.NewRunner(servers, targets.Limits{}), Resolver: targets.NewResolver(servers, control)}, nil
}

// credentialKinds are the spellings of a credential's kind in the configuration file.
var credentialKinds = map[string]targets.CredentialKind{
	"": targets.KindSQLLogin, "sql-login": targets.KindSQLLogin, "managed-identity": targets.KindManagedIdentity,
	"service-principal": targets.KindServicePrincipal, "default-azure": targets.KindDefault,
}

// credential turns an entry of the configuration file into a credential.
func (c credentialConfig) credential() (targets.Credential, error) {
	kind, ok := credentialKinds[strings.ToLower(c.Kind)]
	if !ok {
		return targets.Credential{}, usagef("credential %q: kind %q is none of sql-login, managed-identity, service-principal, default-azure", c.Name, c.Kind)
	}
	user := c.User
	if kind == targets.KindServicePrincipal && c.TenantID != "" {
		user += "@" + c.TenantID
	}
	return targets.Credential{Name: c.Name, Servers: c.Servers, Kind: kind, User: user, Secret: c.Secret}, nil
}

// credentials makes the set of named credentials. Where the control database's login is the only one, reach gets its encryption for the
// control database's server, unless the configuration file has its own.
func (a *app) credentials(cfg fileConfig, reach *targets.Config) (*targets.CredentialSet, error) {
	list, err := configuredCredentials(cfg)
	if err != nil {
		return nil, err
	}
	if name := cfg.Targets.DefaultCredential; name != "" && name != targets.DefaultCredential {
		i := slices.IndexFunc(list, func(c targets.Credential) bool { return c.Name == name })
		if i < 0 {
			return nil, usagef("targets.default_credential names %q, which is none of the credentials", name)
		}
		fallback := list[i]
		fallback.Name = targets.DefaultCredential
		list = append(list, fallback)
	}
	if len(list) == 0 {
		c, own, err := a.controlCredential()
		if err != nil {
			return nil, err
		}
		if c != nil {
			list = append(list, *c)
			reach.Servers = append(reach.Servers, own...) // last: what the configuration file says of the server counts before
		}
	}
	set, err := targets.NewCredentialSet(list...)
	if err != nil {
		return nil, &usageError{err}
	}
	return set, nil
}

// encryptWords are the driver's settings of encryption as configuration spells them.
var encryptWords = map[msdsn.Encryption]string{
	msdsn.EncryptionDisabled: "disable", msdsn.EncryptionRequired: "true", msdsn.EncryptionStrict: "strict",
}

// controlCredential is the login of the control database's connection string, as the default credential for its own server, with the
// encryption that it asks for; nil when it has none (integrated or Entra authentication).
func (a *app) controlCredential() (c *targets.Credential, encryption []targets.ServerEncryption, err error) {
	text, err := a.controlDSN()
	if err != nil {
		return nil, nil, err
	}
	dsn, err := a.parseDSN(text)
	if err != nil {
		return nil, nil, err
	}
	p := dsn.Params
	if p.User == "" {
		return nil, nil, nil
	}
	for _, name := range serverNames(p) {
		encryption = append(encryption, targets.ServerEncryption{
			Match: name, Encrypt: encryptWords[p.Encryption], TrustServerCertificate: p.TrustServerCertificate, CertificateSHA256: dsn.Encryption.Pins(),
		})
	}
	login := targets.LoginCredential(targets.DefaultCredential, p.User, p.Password, serverNames(p)...)
	return &login, encryption, nil
}

// serverNames are the spellings under which a target group may name the server of a connection string: the host with its instance or
// its port. The bare host is none of them unless it stands for the default port: other ports of the host belong to others.
func serverNames(p msdsn.Config) []string {
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
