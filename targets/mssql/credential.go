package mssql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/secretref"
)

// CredentialKind says how a credential proves itself.
type CredentialKind string

const (
	// KindSQLLogin is a SQL Server login with a password.
	KindSQLLogin CredentialKind = "SqlLogin"
	// KindManagedIdentity is an Azure managed identity of the machine that the agent runs on.
	KindManagedIdentity CredentialKind = "ManagedIdentity"
	// KindServicePrincipal is an application in Microsoft Entra ID with a client secret.
	KindServicePrincipal CredentialKind = "ServicePrincipal"
	// KindDefault takes what the machine offers: environment, workload identity, managed identity or
	// a developer's sign-in, in the order of Azure's DefaultAzureCredential.
	KindDefault CredentialKind = "Default"
)

// CredentialKinds returns every kind.
func CredentialKinds() []CredentialKind {
	return []CredentialKind{KindSQLLogin, KindManagedIdentity, KindServicePrincipal, KindDefault}
}

// Credential is an entry of the agent's configuration. The control database knows its name only (I9).
type Credential struct {
	// Name is what @credential_name and @refresh_credential_name say; compared without regard to case.
	Name string
	// Servers are the patterns of the servers that it may be sent to: names as in target groups, with
	// * for any run of characters, dots too. Host, port and instance are matched apart, after normalisation: a pattern
	// without a port and an instance covers all of a host, one with a port that port only, and one with an instance the
	// port that the host's SQL Server Browser names for it. At least one is needed; a lone * allows every server.
	Servers []string
	// Kind says which of the fields below are needed.
	Kind CredentialKind
	// User is the login (SqlLogin), the client id of a user-assigned identity (ManagedIdentity; empty:
	// the system-assigned one), or client id@tenant id (ServicePrincipal). Default needs none.
	User string
	// Secret says where the password or client secret is: env:NAME or file:PATH. It is read at each
	// login, so that a changed secret needs no restart, and is never itself the secret.
	Secret string

	// password holds a password that was given by value; nil: Secret is read. A function, so that no
	// way of printing a Credential shows it.
	password func() string
}

// LoginCredential is a SqlLogin whose password is known already, as when targets are reached with the
// login of the control database's own connection string.
func LoginCredential(name, user, password string, servers ...string) Credential {
	return Credential{Name: name, Servers: servers, Kind: KindSQLLogin, User: user, password: func() string { return password }}
}

// Validate says everything that is wrong with c.
func (c Credential) Validate() error {
	var errs []error
	if strings.TrimSpace(c.Name) == "" {
		errs = append(errs, errors.New("a name is needed"))
	}
	if len(c.Servers) == 0 {
		errs = append(errs, errors.New("the servers that it may be sent to are needed (\"*\" for every server)"))
	}
	for _, pattern := range c.Servers {
		if strings.TrimSpace(pattern) == "" {
			errs = append(errs, errors.New("an empty server pattern matches nothing"))
		} else if _, err := parsePattern(pattern); err != nil {
			errs = append(errs, fmt.Errorf("server pattern %q: %w", pattern, err))
		}
	}
	needsUser, needsSecret := false, false
	switch c.Kind {
	case KindSQLLogin, KindServicePrincipal:
		needsUser, needsSecret = true, true
	case KindManagedIdentity, KindDefault:
	default:
		errs = append(errs, fmt.Errorf("kind %q: one of %v is needed", c.Kind, CredentialKinds()))
	}
	if needsUser && c.User == "" {
		errs = append(errs, errors.New("a user is needed"))
	}
	switch {
	case c.password != nil:
	case needsSecret && c.Secret == "":
		errs = append(errs, errors.New("a secret is needed: env:NAME or file:PATH"))
	case c.Secret != "" && !needsSecret && c.Kind != "":
		errs = append(errs, fmt.Errorf("a %s has no secret", c.Kind))
	case c.Secret != "" && !secretref.IsReference(c.Secret):
		// The text is not repeated: it may be the secret itself.
		errs = append(errs, errors.New("the secret must be a reference, env:NAME or file:PATH, not the secret itself"))
	}
	if len(errs) == 0 {
		return nil
	}
	return &targets.ConfigError{Subject: fmt.Sprintf("credential %q", c.Name), Err: errors.Join(errs...)}
}

// secret returns the password or the client secret.
func (c Credential) secret() (string, error) {
	if c.password != nil {
		return c.password(), nil
	}
	secret, err := secretref.Read(c.Secret)
	if err != nil {
		return "", &targets.ConfigError{Subject: fmt.Sprintf("credential %q", c.Name), Err: err}
	}
	return secret, nil
}

// String never shows the secret's place, so that a credential may be printed.
func (c Credential) String() string { return fmt.Sprintf("credential %q (%s)", c.Name, c.Kind) }

// globMatch compares with * for any run of characters; nothing else is special.
func globMatch(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(name, first) || len(name) < len(first)+len(last) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}

// CredentialSet is the agent's credentials by name. The zero value has none. Safe for concurrent use.
type CredentialSet struct {
	byName map[string]Credential
}

// NewCredentialSet checks the credentials and takes them. All faults are reported at once.
func NewCredentialSet(credentials ...Credential) (*CredentialSet, error) {
	set := &CredentialSet{byName: make(map[string]Credential, len(credentials))}
	var errs []error
	for _, c := range credentials {
		if err := c.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, taken := set.byName[targets.FoldName(c.Name)]; taken {
			errs = append(errs, &targets.ConfigError{Subject: fmt.Sprintf("credential %q", c.Name), Err: errors.New("the name is used twice")})
			continue
		}
		c.Servers = slices.Clone(c.Servers)
		set.byName[targets.FoldName(c.Name)] = c
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return set, nil
}

// Names returns the names in order.
func (s *CredentialSet) Names() []string {
	if s == nil {
		return nil
	}
	var names []string
	for _, c := range s.byName {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// errNoDefault says what to do where a step or member names no credential.
var errNoDefault = errors.New("neither the step or member nor the agent names a credential: give the agent --target-credential NAME, or " +
	"--target-user LOGIN with --target-secret and --target-servers, or set targets.default_credential in its configuration file " +
	"(the login of the control database is not used on targets)")

// For finds the credential that a step or member names and checks that it may be sent to the server.
// An empty name means DefaultCredential. The error is a *ConfigError, and nothing is ever sent then.
func (s *CredentialSet) For(name, server string) (Credential, error) {
	e, err := parseEndpoint(server)
	if err != nil {
		return Credential{}, &targets.ConfigError{Subject: fmt.Sprintf("server name %q", server), Err: err}
	}
	return s.forEndpoint(name, server, e)
}

// forEndpoint is For with the server's name as text, and as it was read.
func (s *CredentialSet) forEndpoint(name, server string, e endpoint) (Credential, error) {
	if name == "" {
		name = targets.DefaultCredential
	}
	var c Credential
	known := false
	if s != nil {
		c, known = s.byName[targets.FoldName(name)]
	}
	subject := fmt.Sprintf("credential %q", name)
	switch {
	case !known && targets.FoldName(name) == targets.DefaultCredential:
		return Credential{}, &targets.ConfigError{Subject: subject, Err: errNoDefault}
	case !known:
		return Credential{}, &targets.ConfigError{Subject: subject, Err: errors.New("the agent's configuration has no such credential; " +
			"the control database holds its name only, the secret belongs to the agent's configuration")}
	}
	if !c.covers(e) {
		return Credential{}, &targets.ConfigError{Subject: subject, Err: fmt.Errorf("it may not be used on server %q; its servers are %s",
			server, strings.Join(c.Servers, ", "))}
	}
	return c, nil
}
