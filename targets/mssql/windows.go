package mssql

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/microsoft/go-mssqldb/integratedauth"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/targets/mssql/kerberos"
)

// Kerberos has the settings of a credential of KindWindows. At most one of keytab, cache and secret
// is given.
type Kerberos struct {
	// Keytab is the path of a keytab with the user's key.
	Keytab string
	// Cache is the path of a credential cache. Default: KRB5CCNAME, or kinit's default file.
	Cache string
	// Config is the path of krb5.conf. Default: KRB5_CONFIG, or /etc/krb5.conf.
	Config string
	// Realm is the user's realm. Default: that in User, or default_realm of Config.
	Realm string
	// SPN is the service principal name of the servers. Default: MSSQLSvc/host:port, with the
	// host's canonical name.
	SPN string
}

// authenticatorParameter is the parameter of a connection that names the authenticator.
const authenticatorParameter = "authenticator"

// Names of authenticators other than kerberos.Authenticator.
const (
	sspiAuthenticator = "winsspi"
	ntlmAuthenticator = "ntlm"
	// passwordAuthenticator is the authenticator of SQL logins. Without it, the driver would use
	// its default, NTLM or SSPI, for users with a backslash.
	passwordAuthenticator = "jobagent-password"
)

// init registers the authenticator of SQL logins. The driver's list of authenticators has no lock.
func init() {
	none := integratedauth.ProviderFunc(func(msdsn.Config) (integratedauth.IntegratedAuthenticator, error) { return nil, nil })
	if err := integratedauth.SetIntegratedAuthenticationProvider(passwordAuthenticator, none); err != nil {
		panic(err)
	}
}

// checkWindows reports the faults of a credential of KindWindows or KindWindowsNTLM.
func (c Credential) checkWindows() (errs []error) {
	var sources []string
	for _, one := range []struct{ name, value string }{
		{"keytab", c.Kerberos.Keytab}, {"credential_cache", c.Kerberos.Cache}, {"secret", c.Secret},
	} {
		if one.value != "" {
			sources = append(sources, one.name)
		}
	}
	if len(sources) > 1 {
		errs = append(errs, fmt.Errorf("%s exclude each other: want one of them", strings.Join(sources, " and ")))
	}
	if c.Kind == KindWindows && c.User == "" && len(sources) > 0 && sources[0] != "credential_cache" {
		errs = append(errs, fmt.Errorf("a %s needs the user that it belongs to, as user@REALM", sources[0]))
	}
	if c.Kind == KindWindowsNTLM && c.User != "" && !strings.Contains(c.User, `\`) {
		errs = append(errs, fmt.Errorf(`invalid user %q: want DOMAIN\user`, c.User))
	}
	return errs
}

// authenticate sets the parameters by which the driver logs in as c on an operating system. User
// and password are set already.
func (c Credential) authenticate(p *msdsn.Config, system string) {
	p.Parameters = maps.Clone(p.Parameters)
	if p.Parameters == nil {
		p.Parameters = map[string]string{}
	}
	set := func(name, value string) {
		if value != "" {
			p.Parameters[name] = value
		}
	}
	switch c.Kind {
	case KindWindows:
		set(kerberos.ParameterKeytab, c.Kerberos.Keytab)
		set(kerberos.ParameterCache, c.Kerberos.Cache)
		set(kerberos.ParameterConfig, c.Kerberos.Config)
		set(kerberos.ParameterRealm, c.Kerberos.Realm)
		set(msdsn.ServerSpn, c.Kerberos.SPN)
		p.ServerSPN = c.Kerberos.SPN
		set(authenticatorParameter, windowsAuthenticator(*p, system))
	case KindWindowsNTLM:
		set(authenticatorParameter, ntlmAuthenticator)
	default:
		set(authenticatorParameter, passwordAuthenticator)
	}
}

// windowsAuthenticator returns the authenticator of a Windows account: SSPI on Windows, if the
// account is that of the process or has a password, and Kerberos otherwise.
func windowsAuthenticator(p msdsn.Config, system string) string {
	own := []string{kerberos.ParameterKeytab, kerberos.ParameterCache, kerberos.ParameterConfig, kerberos.ParameterRealm}
	named := slices.ContainsFunc(own, func(name string) bool { return p.Parameters[name] != "" })
	if system == "windows" && !named && (p.User == "" || strings.Contains(p.User, `\`)) {
		return sspiAuthenticator
	}
	return kerberos.Authenticator
}

// integratedWords are the parameters by which ADO and ODBC ask for a Windows account.
var integratedWords = []string{"integrated security", "trusted_connection"}

// authenticatorOf returns the authenticator of a connection on an operating system: the named one,
// or the one that integrated security and the user imply. Empty means Microsoft Entra ID. The error
// repeats no value.
func authenticatorOf(p msdsn.Config, system string) (string, error) {
	name, named := p.Parameters[authenticatorParameter]
	_, entra := p.Parameters["fedauth"]
	integrated := slices.ContainsFunc(integratedWords, func(word string) bool {
		return slices.Contains([]string{"sspi", "true", "yes"}, strings.ToLower(p.Parameters[word]))
	})
	switch {
	case named && name == "windows", !named && !entra && integrated:
		return windowsAuthenticator(p, system), nil
	case named && !slices.Contains([]string{kerberos.Authenticator, sspiAuthenticator, ntlmAuthenticator, passwordAuthenticator}, name):
		return "", errors.New("unknown authenticator: want windows, krb5, winsspi or ntlm")
	case named:
		return name, nil
	case entra:
		return "", nil
	case strings.Contains(p.User, `\`):
		return "", errors.New("the user is a Windows account: add authenticator=windows (Kerberos), or authenticator=ntlm")
	case p.User == "" && system == "windows":
		return sspiAuthenticator, nil
	}
	return passwordAuthenticator, nil
}

// authenticated returns the settings of a connection with its authenticator.
func authenticated(p msdsn.Config) msdsn.Config {
	if name, err := authenticatorOf(p, runtime.GOOS); err == nil && name != "" {
		parameters := map[string]string{}
		maps.Copy(parameters, p.Parameters)
		parameters[authenticatorParameter] = name
		p.Parameters = parameters
	}
	return p
}

// Kerberos inspects the login on a server with a credential. used is false if the credential does
// not log in with Kerberos.
func (s *Servers) Kerberos(server, credential string) (status kerberos.Status, used bool, err error) {
	e, c, err := s.lookUp(server, credential)
	if err != nil || c.Kind != KindWindows {
		return kerberos.Status{}, false, err
	}
	p, err := s.params(e.String(), "")
	if err != nil {
		return kerberos.Status{}, false, err
	}
	p.User = c.User
	if c.Secret != "" || c.password != nil {
		if p.Password, err = c.secret(); err != nil {
			return kerberos.Status{}, false, err
		}
	}
	c.authenticate(&p, runtime.GOOS)
	if p.Parameters[authenticatorParameter] != kerberos.Authenticator {
		return kerberos.Status{}, false, nil
	}
	status, err = kerberos.Inspect(p)
	return status, true, err
}
