package kerberos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/targets"
)

// Parameters of a connection string, as in go-mssqldb.
const (
	ParameterConfig = "krb5-configfile"
	ParameterKeytab = "krb5-keytabfile"
	ParameterCache  = "krb5-credcachefile"
	ParameterRealm  = "krb5-realm"
)

// method says where the first ticket comes from.
type method string

const (
	byPassword method = "password"
	byKeytab   method = "keytab"
	byCache    method = "cache"
)

// login is where tickets come from.
type login struct {
	method      method
	user, realm string
	password    string
	config      string // path of krb5.conf
	keytab      string
	cache       string // path
	krb5        *config.Config
	stored      *credentials.CCache // read from cache
}

// principal returns user@REALM, or what is known of it.
func (l login) principal() string {
	if l.user == "" || l.realm == "" {
		return l.user
	}
	return l.user + "@" + l.realm
}

// ConfigFile returns the path of the configuration of Kerberos: given, or KRB5_CONFIG, or
// /etc/krb5.conf.
func ConfigFile(given string) string {
	return cmp.Or(given, os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
}

// CacheFile returns the path of the credential cache: given, or KRB5CCNAME, or the file that MIT's
// kinit writes by default. Only caches in files can be read.
func CacheFile(given string) (string, error) {
	name := cmp.Or(given, os.Getenv("KRB5CCNAME"), fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid()))
	if path, ok := strings.CutPrefix(name, "FILE:"); ok {
		return path, nil
	}
	kind, _, found := strings.Cut(name, ":")
	if found && slices.Contains([]string{"KCM", "KEYRING", "DIR", "API", "MEMORY", "MSLSA"}, kind) {
		return "", fmt.Errorf("the credential cache is of kind %s, which cannot be read: set KRB5CCNAME=FILE:/path and run kinit again", kind)
	}
	return name, nil
}

// readLogin reads the parameters of a connection, and krb5.conf.
func readLogin(p msdsn.Config) (l login, err error) {
	l = login{
		user: p.User, realm: p.Parameters[ParameterRealm], password: p.Password,
		config: ConfigFile(p.Parameters[ParameterConfig]), keytab: p.Parameters[ParameterKeytab],
	}
	if l.krb5, err = config.Load(l.config); err != nil {
		if _, missing := os.Stat(l.config); os.IsNotExist(missing) {
			return l, fmt.Errorf("the configuration of Kerberos %s does not exist: create it, or set krb5_conf of the credential or KRB5_CONFIG", l.config)
		}
		return l, fmt.Errorf("read %s: %w", l.config, err)
	}
	// TCP first: a ticket with the groups of Active Directory does not fit into UDP.
	l.krb5.LibDefaults.UDPPreferenceLimit = 1
	domain := ""
	if domain, l.user = cutUser(l.user); domain != "" && l.realm == "" {
		l.realm = domain
	}
	switch {
	case l.password != "":
		l.method = byPassword
	case l.keytab != "":
		l.method = byKeytab
	default:
		l.method = byCache
		return l, l.readCache(p.Parameters[ParameterCache])
	}
	if l.realm = cmp.Or(l.realm, l.krb5.LibDefaults.DefaultRealm); l.realm == "" {
		return l, fmt.Errorf("the realm is not known: write the user as user@REALM, or set default_realm in %s", l.config)
	}
	if l.user == "" {
		return l, fmt.Errorf("a %s needs the user that it belongs to, as user@REALM", l.method)
	}
	return l, nil
}

// cutUser splits user@REALM and DOMAIN.NAME\user. The domain is empty for a NetBIOS name, which is
// no realm.
func cutUser(text string) (domain, user string) {
	if domain, user, ok := strings.Cut(text, `\`); ok {
		if !strings.Contains(domain, ".") {
			domain = ""
		}
		return strings.ToUpper(domain), user
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return text[i+1:], text[:i]
	}
	return "", text
}

// readCache reads the credential cache, which decides the principal.
func (l *login) readCache(given string) (err error) {
	if l.cache, err = CacheFile(given); err != nil {
		return err
	}
	if l.stored, err = credentials.LoadCCache(l.cache); err != nil {
		if os.IsNotExist(err) {
			return fmt.Errorf("the credential cache %s does not exist: run kinit, or name a keytab, a credential cache or a secret", l.cache)
		}
		return fmt.Errorf("read the credential cache %s: %w", l.cache, err)
	}
	if len(l.stored.GetEntries()) == 0 {
		return fmt.Errorf("the credential cache %s has no ticket: run kinit", l.cache)
	}
	wanted := *l
	l.user, l.realm = l.stored.GetClientPrincipalName().PrincipalNameString(), l.stored.GetClientRealm()
	if wanted.user != "" && (wanted.user != l.user || wanted.realm != "" && wanted.realm != l.realm) {
		return fmt.Errorf("the credential cache %s belongs to %s, not to %s: run kinit %s", l.cache, l.principal(), wanted.principal(), wanted.principal())
	}
	return nil
}

// client returns the library's client. The caller must call Destroy.
func (l login) client() (*client.Client, error) {
	off := client.DisablePAFXFAST(true) // Active Directory does not answer it (gokrb5, USAGE.md)
	switch l.method {
	case byPassword:
		return client.NewWithPassword(l.user, l.realm, l.password, l.krb5, off), nil
	case byKeytab:
		keys, err := keytab.Load(l.keytab)
		if err != nil {
			return nil, fmt.Errorf("read the keytab %s: %w", l.keytab, withoutPath(err))
		}
		return client.NewWithKeytab(l.user, l.realm, keys, l.krb5, off), nil
	}
	return client.NewFromCCache(l.stored, l.krb5, off)
}

// withoutPath removes the path from a file system error.
func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// ticket asks the KDC for a ticket for a service.
func (l login) ticket(spn string) (ticket, error) {
	if l.method == byCache {
		tgt := types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", l.realm}}
		first, ok := l.stored.GetEntry(tgt)
		if ok && time.Now().After(first.EndTime) {
			return ticket{}, &Error{SPN: spn, Principal: l.principal(), Class: targets.ClassAuth, Reason: l.expired(first.EndTime)}
		}
	}
	c, err := l.client()
	if err != nil {
		return ticket{}, &Error{SPN: spn, Principal: l.principal(), Class: targets.ClassConfig, Reason: oneLine(err.Error())}
	}
	defer c.Destroy() // ends the goroutine that would renew the ticket
	if err := c.Login(); err != nil {
		return ticket{}, l.explain(spn, err)
	}
	t := ticket{user: c.Credentials.CName(), realm: c.Credentials.Domain()}
	if t.ticket, t.key, err = c.GetServiceTicket(spn); err != nil {
		return ticket{}, l.explain(spn, err)
	}
	return t, nil
}

// kdcs returns the addresses of the realm's KDCs for a message.
func (l login) kdcs() string {
	_, byOrder, err := l.krb5.GetKDCs(l.realm, true)
	if err != nil {
		return "none is known"
	}
	var list []string
	for i := 1; i <= len(byOrder); i++ {
		list = append(list, byOrder[i])
	}
	return strings.Join(list, ", ")
}

// dnsTime bounds the search for a server's canonical name.
const dnsTime = 2 * time.Second

// SPN returns the service principal name of a connection: the given one (ServerSPN), or that of
// Microsoft's clients, MSSQLSvc/host:port with the host's canonical name.
func SPN(p msdsn.Config) string {
	if given := p.Parameters[msdsn.ServerSpn]; given != "" {
		return given
	}
	canonical := true
	if c, err := config.Load(ConfigFile(p.Parameters[ParameterConfig])); err == nil {
		canonical = c.LibDefaults.DNSCanonicalizeHostname
	}
	host := strings.TrimSuffix(p.Host, ".")
	switch ip := net.ParseIP(host); {
	case ip != nil && ip.IsLoopback():
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	case ip == nil && canonical && host != "localhost":
		ctx, cancel := context.WithTimeout(context.Background(), dnsTime)
		defer cancel()
		if name, err := net.DefaultResolver.LookupCNAME(ctx, strings.ToLower(host)); err == nil {
			host = strings.TrimSuffix(name, ".")
		}
	}
	const defaultPort = 1433
	return fmt.Sprintf("MSSQLSvc/%s:%d", host, cmp.Or(p.Port, defaultPort))
}
