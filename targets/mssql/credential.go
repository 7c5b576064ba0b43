package mssql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/secretref"
)

// CredentialKind is the kind of a credential.
type CredentialKind string

const (
	// KindSQLLogin is a SQL Server login with a password.
	KindSQLLogin CredentialKind = "SqlLogin"
	// KindManagedIdentity is an Azure managed identity of the machine that the agent runs on.
	KindManagedIdentity CredentialKind = "ManagedIdentity"
	// KindServicePrincipal is an application in Microsoft Entra ID with a client secret.
	KindServicePrincipal CredentialKind = "ServicePrincipal"
	// KindDefault tries the environment, workload identity, managed identity and a developer's
	// sign-in, in the order of Azure's DefaultAzureCredential.
	KindDefault CredentialKind = "Default"
	// KindWindows is a Windows account. It logs in by Kerberos with a keytab, a credential cache or
	// a password, or, on Windows without any of these, as the account of the process (SSPI).
	KindWindows CredentialKind = "Windows"
	// KindWindowsNTLM is a Windows account with a password, by NTLM. It is never a default, because
	// NTLM does not identify the server.
	KindWindowsNTLM CredentialKind = "WindowsNTLM"
)

// CredentialKinds returns every kind.
func CredentialKinds() []CredentialKind {
	return []CredentialKind{KindSQLLogin, KindManagedIdentity, KindServicePrincipal, KindDefault, KindWindows, KindWindowsNTLM}
}

// Credential is an entry of the agent's configuration. The control database holds only its name
// (I9).
type Credential struct {
	// Name is the value of @credential_name and @refresh_credential_name; case is ignored.
	Name string
	// Servers are the patterns of the servers that the credential may be sent to: names as in
	// target groups, in which * stands for any run of characters, dots included. Host, port and
	// instance are matched separately, after normalization. A pattern without port and instance
	// covers the whole host, a pattern with a port only that port, and a pattern with an instance
	// the port that the host's SQL Server Browser names for the instance. At least one pattern is
	// required; a lone * allows every server.
	Servers []string
	// Kind decides which of the fields below are required.
	Kind CredentialKind
	// User is the login (SqlLogin), the client ID of a user-assigned identity (ManagedIdentity;
	// empty means the system-assigned one), or client ID@tenant ID (ServicePrincipal). Default
	// needs none. Windows has user@REALM or DOMAIN\user; empty means the account of the credential
	// cache, or on Windows that of the process. WindowsNTLM has DOMAIN\user.
	User string
	// Secret refers to the password or client secret: env:NAME or file:PATH. It is never the secret
	// itself. The secret is read at each login, so that a changed secret needs no restart.
	Secret string
	// Kerberos has further settings of KindWindows.
	Kerberos Kerberos

	// password returns the password of a LoginCredential; nil means that Secret is read. It is a
	// function so that printing a Credential does not show the password.
	password func() string
}

// LoginCredential returns a SqlLogin whose password is in memory, such as the login that an
// embedded server has created for targets.
func LoginCredential(name, user, password string, servers ...string) Credential {
	return Credential{
		Name: name, Servers: servers, Kind: KindSQLLogin, User: user,
		password: func() string { return password },
	}
}

// Validate reports all faults of c.
func (c Credential) Validate() error {
	var errs []error
	if strings.TrimSpace(c.Name) == "" {
		errs = append(errs, errors.New("the name is missing"))
	}
	if len(c.Servers) == 0 {
		errs = append(errs, errors.New("the servers are missing: want patterns of the servers "+
			"that it may be sent to (\"*\" for every server)"))
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
	case KindWindows, KindWindowsNTLM:
		needsUser, needsSecret = c.Kind == KindWindowsNTLM, c.Kind == KindWindowsNTLM
		errs = append(errs, c.checkWindows()...)
	default:
		errs = append(errs, fmt.Errorf("invalid kind %q: want one of %v", c.Kind, CredentialKinds()))
	}
	if needsUser && c.User == "" {
		errs = append(errs, errors.New("the user is missing"))
	}
	if c.Kind == KindSQLLogin && strings.Contains(c.User, `\`) {
		errs = append(errs, fmt.Errorf("the user %q is a Windows account: want the kind windows (Kerberos), or windows-ntlm", c.User))
	}
	if c.Kind != KindWindows && c.Kerberos != (Kerberos{}) {
		errs = append(errs, errors.New("keytab, credential_cache, krb5_conf, realm and spn belong to the kind windows"))
	}
	switch {
	case c.password != nil:
	case needsSecret && c.Secret == "":
		errs = append(errs, errors.New("the secret is missing: want env:NAME or file:PATH"))
	case c.Secret != "" && !needsSecret && c.Kind != "" && c.Kind != KindWindows:
		errs = append(errs, fmt.Errorf("a %s has no secret", c.Kind))
	case c.Secret != "" && !secretref.IsReference(c.Secret):
		// The text may be the secret itself, so the error does not repeat it.
		errs = append(errs, errors.New("invalid secret: want a reference, env:NAME or file:PATH, not the secret itself"))
	}
	if len(errs) == 0 {
		return nil
	}
	return credentialError(c.Name, errors.Join(errs...))
}

// secret returns the password or the client secret.
func (c Credential) secret() (string, error) {
	if c.password != nil {
		return c.password(), nil
	}
	secret, err := secretref.Read(c.Secret)
	if err != nil {
		return "", credentialError(c.Name, err)
	}
	return secret, nil
}

// credentialError returns an error about a credential, before anything was sent.
func credentialError(name string, err error) error {
	return &targets.ConfigError{Subject: fmt.Sprintf("credential %q", name), Err: err}
}

// String returns name and kind, and never the reference to the secret.
func (c Credential) String() string { return fmt.Sprintf("credential %q (%s)", c.Name, c.Kind) }

// CredentialSet is the agent's credentials by name. The zero value has none. Safe for concurrent
// use.
type CredentialSet struct {
	byName map[string]Credential

	stored        StoredLogin // nil: no stored credentials
	storedServers []string
}

// StoredLogin returns the SQL login of a credential that is stored elsewhere; found is false if
// there is none of this name. It is called at each login, and must be safe for concurrent use.
type StoredLogin func(name string) (user, password string, found bool, err error)

// WithStored returns a set that also has the stored logins, for names that s does not have. Stored
// logins are sent only to servers that match a pattern of servers, whoever stored them.
func (s *CredentialSet) WithStored(stored StoredLogin, servers ...string) (*CredentialSet, error) {
	for _, pattern := range servers {
		if _, err := parsePattern(pattern); err != nil {
			return nil, &targets.ConfigError{Subject: "servers of stored credentials", Err: fmt.Errorf("pattern %q: %w", pattern, err)}
		}
	}
	set := &CredentialSet{stored: stored, storedServers: slices.Clone(servers)}
	if s != nil {
		set.byName = s.byName
	}
	return set, nil
}

// NewCredentialSet validates the credentials. It reports all faults at once.
func NewCredentialSet(credentials ...Credential) (*CredentialSet, error) {
	set := &CredentialSet{byName: make(map[string]Credential, len(credentials))}
	var errs []error
	for _, c := range credentials {
		if err := c.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, taken := set.byName[targets.FoldName(c.Name)]; taken {
			errs = append(errs, credentialError(c.Name, errors.New("duplicate name")))
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

// Names returns the names in alphabetical order.
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

// errNoDefault is the error for a step or member that names no credential, without a default
// credential.
var errNoDefault = errors.New("neither the step or member nor the agent names a credential: " +
	"give the agent --target-credential NAME, or --target-user LOGIN with --target-secret and --target-servers, " +
	"or set targets.default_credential in its configuration file " +
	"(the login of the control database is not used on targets)")

// For returns the credential that a step or member names, if it may be sent to the server. An empty
// name means DefaultCredential. The error is a *targets.ConfigError.
func (s *CredentialSet) For(name, server string) (Credential, error) {
	e, err := parseEndpoint(server)
	if err != nil {
		return Credential{}, &targets.ConfigError{Subject: fmt.Sprintf("server name %q", server), Err: err}
	}
	return s.forEndpoint(name, server, e)
}

// Same reports whether two names mean the same login on the server: the same kind, user and
// reference to a secret. A password that was given by value equals no other.
func (s *CredentialSet) Same(name, other, server string) bool {
	a, err := s.For(name, server)
	if err != nil {
		return false
	}
	b, err := s.For(other, server)
	if err != nil || a.password != nil || b.password != nil {
		return false
	}
	return a.Kind == b.Kind && a.User == b.User && a.Secret == b.Secret && a.Kerberos == b.Kerberos
}

// forEndpoint is For with the server's name both as text and parsed.
func (s *CredentialSet) forEndpoint(name, server string, e endpoint) (Credential, error) {
	if name == "" {
		name = targets.DefaultCredential
	}
	var c Credential
	known := false
	if s != nil {
		c, known = s.byName[targets.FoldName(name)]
	}
	if !known && s != nil && s.stored != nil && targets.FoldName(name) != targets.DefaultCredential {
		var err error
		if c, known, err = s.storedCredential(name); err != nil {
			return Credential{}, credentialError(name, err)
		}
	}
	switch {
	case !known && targets.FoldName(name) == targets.DefaultCredential:
		return Credential{}, credentialError(name, errNoDefault)
	case !known && s != nil && s.stored != nil:
		return Credential{}, credentialError(name, errors.New("neither the agent's configuration nor the control database has such a credential"))
	case !known:
		return Credential{}, credentialError(name, errors.New("the agent's configuration has no such credential; "+
			"the control database holds its name only, the secret belongs to the agent's configuration"))
	}
	if !c.covers(e) {
		return Credential{}, credentialError(name, fmt.Errorf("it may not be used on server %q; its servers are %s",
			server, strings.Join(c.Servers, ", ")))
	}
	return c, nil
}

// storedCredential returns a stored login as a credential. ok is false if there is none.
func (s *CredentialSet) storedCredential(name string) (c Credential, ok bool, err error) {
	user, password, ok, err := s.stored(name)
	switch {
	case err != nil || !ok:
		return Credential{}, false, err
	case len(s.storedServers) == 0:
		return Credential{}, false, errors.New("it is stored in the control database, but the agent's configuration does not say " +
			"to which servers stored credentials may be sent: set targets.stored_credential_servers")
	}
	return LoginCredential(name, user, password, s.storedServers...), true, nil
}
