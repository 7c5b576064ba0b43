package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Credential is a named credential. Its secret is a reference, never a value (I9).
type Credential struct {
	Name     string   `json:"name"`
	Servers  []string `json:"servers"`   // names or patterns ("*.example.com") of the servers on which it may be used
	Kind     string   `json:"kind"`      // sql-login (default), managed-identity, service-principal, default-azure, windows, windows-ntlm
	User     string   `json:"user"`      // login or client ID
	Secret   string   `json:"secret"`    // "env:NAME" or "file:PATH"
	TenantID string   `json:"tenant_id"` // of a service principal

	// Settings of the kind windows.
	Keytab          string `json:"keytab"`           // path of a keytab with the user's key
	CredentialCache string `json:"credential_cache"` // path; default: KRB5CCNAME
	Krb5Conf        string `json:"krb5_conf"`        // path; default: KRB5_CONFIG or /etc/krb5.conf
	Realm           string `json:"realm"`            // default: that of user, or default_realm
	SPN             string `json:"spn"`              // default: MSSQLSvc/host:port
}

// Credentials converts the credentials of the configuration file.
func Credentials(cfg File) ([]mssql.Credential, error) {
	var list []mssql.Credential
	for _, c := range cfg.Credentials {
		credential, err := c.credential()
		if err != nil {
			return nil, err
		}
		list = append(list, credential)
	}
	return list, nil
}

// credentialKinds maps the kinds in the configuration file, in lower case, to those of package
// mssql.
var credentialKinds = map[string]mssql.CredentialKind{
	"": mssql.KindSQLLogin, "sql-login": mssql.KindSQLLogin, "managed-identity": mssql.KindManagedIdentity,
	"service-principal": mssql.KindServicePrincipal, "default-azure": mssql.KindDefault,
	"windows": mssql.KindWindows, "windows-ntlm": mssql.KindWindowsNTLM,
}

// credential converts an entry of the configuration file.
func (c Credential) credential() (mssql.Credential, error) {
	kind, ok := credentialKinds[strings.ToLower(c.Kind)]
	if !ok {
		return mssql.Credential{}, exit.Usagef("credential %q: invalid kind %q: want sql-login, managed-identity, service-principal, default-azure, windows or windows-ntlm", c.Name, c.Kind)
	}
	user := c.User
	if kind == mssql.KindServicePrincipal && c.TenantID != "" {
		user += "@" + c.TenantID
	}
	return mssql.Credential{Name: c.Name, Servers: c.Servers, Kind: kind, User: user, Secret: c.Secret,
		Kerberos: mssql.Kerberos{Keytab: c.Keytab, Cache: c.CredentialCache, Config: c.Krb5Conf, Realm: c.Realm, SPN: c.SPN}}, nil
}

// IsDefaultName reports whether name is the default credential's.
func IsDefaultName(name string) bool { return strings.EqualFold(name, targets.DefaultCredential) }

// Unreadable returns an error for each reference of credentials, secrets and keys that cannot be
// read now, with the path of the setting. An agent reads them again at each use, so a file may come
// later; but a mistyped name never will.
func (c File) Unreadable() (errs []error) {
	check := func(path, reference string) {
		if !secretref.IsReference(reference) {
			return // missing, or refused elsewhere; it may be the secret itself
		}
		if _, err := secretref.Read(reference); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	for i, one := range c.Credentials {
		check(fmt.Sprintf("credentials[%d].secret", i), one.Secret)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		check("secrets."+name, c.Secrets[name].Reference)
	}
	for i, reference := range c.SecretKeys {
		check(fmt.Sprintf("secret_keys[%d]", i), reference)
	}
	return errs
}

// CheckForms reports faults of the credentials and of the section tracing, without a server.
func (c File) CheckForms() error {
	list, err := Credentials(c)
	errs := []error{err}
	for _, one := range list {
		errs = append(errs, one.Validate())
	}
	_, err = c.Tracing.Recorder()
	if err := errors.Join(append(errs, err)...); err != nil {
		return exit.Usage(err)
	}
	return nil
}
