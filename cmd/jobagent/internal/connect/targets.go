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

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/mssql/azure"
)

// targetFlags are the flags that give targets a credential: one of the configuration file, or one without a file.
type targetFlags struct {
	credential   string
	user, secret string
	servers      []string
}

// EnvTargetPassword holds the password of --target-user unless --target-secret says where it is.
const EnvTargetPassword = "JOBAGENT_TARGET_PASSWORD"

// Add adds the flags to a command that reaches targets.
func (f *targetFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.credential, "target-credential", "", "`name` of the credential of the configuration file that is used where a step or member names none (default: its targets.default_credential)")
	flags.StringVar(&f.user, "target-user", "", "`login` that is used on targets where a step or member names no credential, instead of one of the file")
	flags.StringVar(&f.secret, "target-secret", "", "where its password is: `env:NAME|file:PATH` (default: env:"+EnvTargetPassword+")")
	flags.StringArrayVar(&f.servers, "target-servers", nil, "`pattern` of the servers that it may be sent to: host, host,port or *.example.com; may be repeated")
}

// login is the credential that the flags make; nil when they make none.
func (f *targetFlags) login() (*mssql.Credential, error) {
	switch {
	case f.user == "" && f.secret == "" && len(f.servers) == 0:
		return nil, nil
	case f.user == "":
		return nil, exit.Usagef("--target-secret and --target-servers need --target-user")
	case f.credential != "":
		return nil, exit.Usagef("--target-credential and --target-user exclude each other")
	case len(f.servers) == 0:
		return nil, exit.Usagef("--target-user needs --target-servers: the servers that the login may be sent to")
	}
	return &mssql.Credential{
		Name: targets.DefaultCredential, Servers: f.servers, Kind: mssql.KindSQLLogin, User: f.user, Secret: cmp.Or(f.secret, "env:"+EnvTargetPassword),
	}, nil
}

// OpenTools makes what reaches targets, from the configuration file and the flags. The login of the control database's connection string is never
// among it: what it may do there, no author of a job may (I13).
func (a *App) OpenTools(ctx context.Context, store *controldb.Store) (agent.Tools, func(), error) {
	servers, _, err := a.OpenServers(ctx, store)
	if err != nil {
		return agent.Tools{}, nil, err
	}
	tools, err := NewTools(ctx, store, servers)
	if err != nil {
		return agent.Tools{}, nil, errors.Join(err, servers.Close())
	}
	return tools, func() { _ = servers.Close() }, nil
}

// OpenServers makes what reaches targets' servers, and says with which settings.
func (a *App) OpenServers(ctx context.Context, store *controldb.Store) (*mssql.Servers, mssql.Config, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, mssql.Config{}, err
	}
	reach := cfg.Encryption()
	reach.LoginTimeout, reach.Entra = time.Duration(cfg.Targets.ConnectTimeout), new(azure.Logins).Connector
	reach.Limits = cfg.Limits.Limits()
	if reach.Credentials, err = a.Credentials(cfg, &reach); err != nil {
		return nil, reach, err
	}
	if reach.Control, err = store.Instance(ctx); err != nil {
		return nil, reach, err
	}
	reach.AllowControlDatabase = cfg.Targets.AllowControlDatabase
	servers, err := mssql.NewServers(reach)
	if err != nil {
		return nil, reach, exit.Usage(err)
	}
	if err := a.WarnWeak(servers.Weaknesses()); err != nil {
		return nil, reach, errors.Join(err, servers.Close())
	}
	return servers, reach, nil
}

// NewTools makes an agent's tools over servers.
func NewTools(ctx context.Context, store *controldb.Store, servers *mssql.Servers) (agent.Tools, error) {
	control, err := store.Instance(ctx)
	if err != nil {
		return agent.Tools{}, err
	}
	return agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, control)}, nil
}

// Credentials makes the set of named credentials. Where the flags make one, reach gets the encryption that the connection string asks for, for
// the control database's server, unless the configuration file has its own.
func (a *App) Credentials(cfg config.File, reach *mssql.Config) (*mssql.CredentialSet, error) {
	list, err := config.Credentials(cfg)
	if err != nil {
		return nil, err
	}
	isDefault := func(c mssql.Credential) bool { return config.IsDefaultName(c.Name) }
	login, err := a.Target.login()
	if err != nil {
		return nil, err
	}
	if login != nil {
		own, err := a.controlEncryption()
		if err != nil {
			return nil, err
		}
		reach.Servers = append(reach.Servers, own...) // last: what the configuration file says of the server counts before
		list = append(slices.DeleteFunc(list, isDefault), *login)
	} else if name := cmp.Or(a.Target.credential, cfg.Targets.DefaultCredential); name != "" && !config.IsDefaultName(name) {
		i := slices.IndexFunc(list, func(c mssql.Credential) bool { return strings.EqualFold(c.Name, name) })
		if i < 0 {
			source := "targets.default_credential"
			if a.Target.credential != "" {
				source = "--target-credential"
			}
			return nil, exit.Usagef("%s names %q, which is none of the credentials of the configuration file", source, name)
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

// encryptWords are the driver's settings of encryption as configuration spells them.
var encryptWords = map[msdsn.Encryption]string{
	msdsn.EncryptionDisabled: "disable", msdsn.EncryptionRequired: "true", msdsn.EncryptionStrict: "strict",
}

// controlEncryption is the encryption that the control database's connection string asks for, for its server.
func (a *App) controlEncryption() ([]mssql.ServerEncryption, error) {
	dsn, err := a.ParsedControlDSN()
	if err != nil {
		return nil, err
	}
	var encryption []mssql.ServerEncryption
	for _, name := range ServerNames(dsn.Params) {
		encryption = append(encryption, mssql.ServerEncryption{
			Match: name, Encrypt: encryptWords[dsn.Params.Encryption], TrustServerCertificate: dsn.Params.TrustServerCertificate, CertificateSHA256: dsn.Encryption.Pins(),
		})
	}
	return encryption, nil
}

// ServerNames are the spellings under which a target group may name the server of a connection string: the host with its instance or
// its port. The bare host is none of them unless it stands for the default port: other ports of the host belong to others.
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
