package auth

import (
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/internal/hashed"
	"github.com/jobagent/jobagent/agent/rest/auth/signing"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Config is the part of the section rest of the configuration file that says who may call the
// front, and what. The zero value lets nobody in.
type Config struct {
	// Issuers are the issuers of tokens that the ARM surfaces accept.
	Issuers []Issuer `json:"issuers"`
	// Tokens are static tokens; TokenFile is a file of `jobagent token`, which is read again when
	// it changes. An ID is in one of the two.
	Tokens    []tokenfile.Token `json:"tokens"`
	TokenFile string            `json:"token_file"`
	// Certificates are the client certificates that identify callers.
	Certificates []Certificate `json:"certificates"`
	// Kerberos accepts tickets of Windows accounts.
	Kerberos Kerberos `json:"kerberos"`
	// Grants give roles to callers.
	Grants []Grant `json:"grants"`
}

// Issuer is an issuer of tokens of OpenID Connect.
type Issuer struct {
	// Name is added to the IDs of the issuer's callers as @name, so that two issuers cannot name
	// the same caller. It may be empty for a single issuer.
	Name string `json:"name"`
	// Issuer is the claim iss, compared exactly. The text {tenantid} stands for each of Tenants, as
	// in https://login.microsoftonline.com/{tenantid}/v2.0. An asterisk as the first label of the
	// host stands for any label, as in https://*.authentication.eu10.hana.ondemand.com/oauth/token;
	// this needs JWKSURI.
	Issuer string `json:"issuer"`
	// Audiences are the values of the claim aud of which a token must have one. A slash at the end
	// does not matter.
	Audiences []string `json:"audiences"`
	// Tenants are the values of the claim tid, zid or app_tid of which a token must have one; empty
	// means that tenants are not compared.
	Tenants []string `json:"tenants"`
	// Discovery is the address below which .well-known/openid-configuration is found; empty means
	// Issuer.
	Discovery string `json:"discovery"`
	// JWKSURI is the address of the issuer's keys; it replaces discovery. Without it, the keys must
	// be on the host of the discovery.
	JWKSURI string `json:"jwks_uri"`
	// CA is a PEM file of the authorities that are trusted for this issuer's host, beside the
	// system's.
	CA string `json:"ca"`
	// AuthorizationURI is told to callers without a valid token; empty means Issuer.
	AuthorizationURI string `json:"authorization_uri"`
	// ClientID is the client of the dashboard at this issuer; people can sign in with it. Empty
	// means that they cannot. ClientSecret refers to its secret: env:NAME or file:PATH. Title is
	// how the page to sign in names the issuer; empty means Name.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Title        string `json:"title"`
	// ScopePrefix is removed from the scopes of a token of the SAP surface, as in
	// "sap-jobs!t123.". Only scopes with this prefix count.
	ScopePrefix string `json:"scope_prefix"`
	// DefaultScopes are the scopes of a token of the SAP surface that has no claim scope, as those
	// of SAP's Identity Authentication have none.
	DefaultScopes []string `json:"default_scopes"`
}

// tenantMark stands for a tenant in Issuer.Issuer.
const tenantMark = "{tenantid}"

// Certificate is a client certificate that identifies a caller as "cert:<name>". It must also be
// verified by rest.tls.client_ca.
type Certificate struct {
	Name string `json:"name"`
	// SAN is a subject alternative name: dns:NAME, uri:URI or email:ADDRESS.
	SAN string `json:"san"`
	// SHA256 is the thumbprint: the SHA-256 of the certificate, with or without colons.
	SHA256 string `json:"sha256"`
}

// Instance is the part of an instance of the SAP surface that says who may call it.
type Instance struct {
	// Name is the instance's name; Tenant and Subdomain are those of the provider.
	Name      string `json:"-"`
	Tenant    string `json:"-"`
	Subdomain string `json:"-"`
	// Users log in with Basic, as in SAP's plan lite.
	Users []User `json:"users"`
	// Clients get tokens from the front's own issuer.
	Clients []Client `json:"clients"`
	// Issuers are further issuers of tokens, such as SAP's XSUAA.
	Issuers []Issuer `json:"issuers"`
	// SigningKeys refer to RSA private keys as PEM texts: env:NAME or file:PATH. The first one
	// signs tokens, all verify them.
	SigningKeys []string `json:"signing_keys"`
}

// User is a user of Basic.
type User struct {
	Name string `json:"name"`
	// PasswordHash is a text of `jobagent token hash`.
	PasswordHash string `json:"password_hash"`
	// Tenant is the user's tenant; empty means the provider's.
	Tenant string `json:"tenant"`
	// Scopes are the user's scopes; empty means both, to read and to write.
	Scopes []string `json:"scopes"`
}

// Client is a client of the front's own issuer.
type Client struct {
	ID string `json:"id"`
	// SecretHashes are texts of `jobagent token hash`; any of the secrets is accepted.
	SecretHashes []string `json:"secret_hashes"`
	// SAN and SHA256 name a client certificate as in Certificate, in place of a secret.
	SAN    string `json:"san"`
	SHA256 string `json:"sha256"`
	// Scopes are the scopes that the client may ask for; empty means both, to read and to write.
	Scopes []string `json:"scopes"`
}

// Scopes of the SAP surface.
const (
	// ScopeRead permits to read.
	ScopeRead = "job-scheduler.read"
	// ScopeWrite permits to read and to change jobs and schedules.
	ScopeWrite = "job-scheduler.write"
	// ScopeAdmin permits to manage tenants as well. It is ours.
	ScopeAdmin = "job-scheduler.admin"
)

// defaultScopes are the scopes of users and clients for which none are configured.
var defaultScopes = []string{ScopeRead, ScopeWrite}

// faults collects the faults of a configuration.
type faults struct{ errs []error }

// add adds a fault of a setting, if there is one.
func (f *faults) add(setting string, err error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) && err == joined.(error) { //nolint:errorlint // only a join itself is split
		for _, one := range joined.Unwrap() {
			f.add(setting, one)
		}
		return
	}
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", setting, err))
	}
}

// Check returns all faults of the configuration. It reads the files that it names.
func (c Config) Check(instances []Instance) error {
	_, err := New(c, Options{PublicURL: "https://localhost", Instances: instances})
	return err
}

// check returns the faults of an issuer's settings.
func (i Issuer) check() error {
	var f faults
	named := strings.ReplaceAll(i.Issuer, tenantMark, "tenant")
	label := strings.Contains(named, "://*.")
	if label {
		named = strings.Replace(named, "://*.", "://any.", 1)
	}
	f.add("issuer", checkURL(named))
	if strings.Contains(i.Issuer, tenantMark) && len(i.Tenants) == 0 {
		f.add("tenants", fmt.Errorf("want the tenants for which %s stands", tenantMark))
	}
	if (label || strings.Contains(i.Issuer, tenantMark)) && i.JWKSURI == "" && (label || i.Discovery == "") {
		f.add("jwks_uri", errors.New("want it, because the issuer is a pattern"))
	}
	if i.Discovery != "" {
		f.add("discovery", checkURL(i.Discovery))
		if i.JWKSURI != "" {
			f.add("discovery", errors.New("it excludes jwks_uri"))
		}
	}
	if i.JWKSURI != "" {
		f.add("jwks_uri", checkURL(i.JWKSURI))
	}
	if len(i.Audiences) == 0 || slices.Contains(i.Audiences, "") {
		f.add("audiences", errors.New("want at least one, and none empty: otherwise, a token for another API would be accepted"))
	}
	if slices.Contains(i.Tenants, "") {
		f.add("tenants", errors.New("a tenant is empty"))
	}
	if strings.ContainsAny(i.Name, "@\x00") {
		f.add("name", fmt.Errorf("invalid name %q: want no @", i.Name))
	}
	f.add("default_scopes", checkScopes(i.DefaultScopes))
	f.errs = append(f.errs, i.checkLogin())
	if i.CA != "" {
		_, err := readAuthorities(i.CA)
		f.add("ca", err)
	}
	return errors.Join(f.errs...)
}

// readAuthorities reads PEM certificates of authorities, and adds them to the system's.
func readAuthorities(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // Windows and macOS verify with their own authorities anyway
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no PEM certificate", path)
	}
	return pool, nil
}

// checkURL checks the address of an issuer. Without TLS, anyone on the way could exchange its keys.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" && !strings.Contains(text, "/token_keys?") || u.Fragment != "":
		return fmt.Errorf("invalid address %q: want https://HOST/PATH", text)
	case u.Scheme != "https" && !(u.Scheme == "http" && rest.Loopback(u.Hostname())):
		return fmt.Errorf("invalid address %q: want https (http only for a loopback address)", text)
	}
	return nil
}

// checkScopes checks scopes of the SAP surface.
func checkScopes(scopes []string) error {
	var errs []error
	for _, s := range scopes {
		if s != ScopeRead && s != ScopeWrite && s != ScopeAdmin {
			errs = append(errs, fmt.Errorf("invalid scope %q: want %s, %s or %s", s, ScopeRead, ScopeWrite, ScopeAdmin))
		}
	}
	return errors.Join(errs...)
}

// checkIssuers checks a list of issuers.
func checkIssuers(f *faults, setting string, issuers []Issuer) {
	names, addresses := map[string]bool{}, map[string]bool{}
	for i, one := range issuers {
		at := fmt.Sprintf("%s[%d]", setting, i)
		f.add(at, one.check())
		if len(issuers) > 1 && one.Name == "" {
			f.add(at, errors.New("name is missing: several issuers need names, which tell their callers apart"))
		}
		if names[one.Name] && one.Name != "" {
			f.add(at, fmt.Errorf("duplicate name %q", one.Name))
		}
		if addresses[one.Issuer] {
			f.add(at, fmt.Errorf("duplicate issuer %q: put all audiences into one entry", one.Issuer))
		}
		names[one.Name], addresses[one.Issuer] = true, true
	}
}

// check returns the faults of an instance.
func (i Instance) check() error {
	var f faults
	if i.Tenant == "" {
		f.add("tenant", errors.New("want the ID of the provider's tenant"))
	}
	users := map[string]bool{}
	for n, u := range i.Users {
		at := fmt.Sprintf("users[%d]", n)
		if u.Name == "" || strings.ContainsAny(u.Name, ":\x00\r\n") {
			f.add(at, fmt.Errorf("invalid name %q: want a text without colon", u.Name))
		}
		if users[u.Name] {
			f.add(at, fmt.Errorf("duplicate name %q", u.Name))
		}
		users[u.Name] = true
		_, err := hashed.Parse(u.PasswordHash)
		f.add(at+".password_hash", err)
		f.add(at+".scopes", checkScopes(u.Scopes))
	}
	clients := map[string]bool{}
	for n, c := range i.Clients {
		at := fmt.Sprintf("clients[%d]", n)
		if c.ID == "" || strings.ContainsAny(c.ID, ":\x00\r\n") {
			f.add(at, fmt.Errorf("invalid id %q: want a text without colon", c.ID))
		}
		if clients[c.ID] {
			f.add(at, fmt.Errorf("duplicate id %q", c.ID))
		}
		clients[c.ID] = true
		for k, hash := range c.SecretHashes {
			_, err := hashed.Parse(hash)
			f.add(fmt.Sprintf("%s.secret_hashes[%d]", at, k), err)
		}
		if len(c.SecretHashes) == 0 && c.SAN == "" && c.SHA256 == "" {
			f.add(at, errors.New("want secret_hashes, san or sha256"))
		}
		if c.SAN != "" || c.SHA256 != "" {
			f.add(at, checkCertificate(c.SAN, c.SHA256))
		}
		f.add(at+".scopes", checkScopes(c.Scopes))
	}
	if len(i.Clients) > 0 && len(i.SigningKeys) == 0 {
		f.add("signing_keys", errors.New("want at least one key for the tokens of clients"))
	}
	for n, ref := range i.SigningKeys {
		if !secretref.IsReference(ref) {
			f.add(fmt.Sprintf("signing_keys[%d]", n), secretref.ErrInvalid)
		}
	}
	checkIssuers(&f, "issuers", i.Issuers)
	return errors.Join(f.errs...)
}

func (i Instance) readKeys() (*signing.Keys, error) { return signing.Read(i.SigningKeys) }

// NeedsClientCA reports whether the configuration names client certificates. They identify nobody
// unless the listener verifies them (rest.tls.client_ca).
func (c Config) NeedsClientCA(instances []Instance) bool {
	return len(c.Certificates) > 0 || slices.ContainsFunc(instances, func(i Instance) bool {
		return slices.ContainsFunc(i.Clients, func(c Client) bool { return c.SAN != "" || c.SHA256 != "" })
	})
}

// SecretFiles returns the files that the configuration names and that hold secrets or hashes of
// secrets.
func (c Config) SecretFiles() []string {
	return slices.DeleteFunc([]string{c.TokenFile, c.Kerberos.Keytab}, func(path string) bool { return path == "" })
}

// SecretReferences returns the references to the secrets of clients at issuers.
func (c Config) SecretReferences() (refs []string) {
	for _, i := range c.Issuers {
		if i.ClientSecret != "" {
			refs = append(refs, i.ClientSecret)
		}
	}
	return refs
}

// SecretReferences returns the references to the secrets of an instance.
func (i Instance) SecretReferences() []string { return slices.Clone(i.SigningKeys) }

// checkCertificate checks the names of a client certificate.
func checkCertificate(san, sum string) error {
	if (san == "") == (sum == "") {
		return errors.New("want san or sha256")
	}
	if kind, name, ok := strings.Cut(san, ":"); san != "" && (!ok || name == "" || !slices.Contains([]string{"dns", "uri", "email"}, kind)) {
		return fmt.Errorf("invalid san %q: want dns:NAME, uri:URI or email:ADDRESS", san)
	}
	if sum != "" {
		if b, err := hex.DecodeString(foldSum(sum)); err != nil || len(b) != 32 {
			return fmt.Errorf("invalid sha256 %q: want 64 hexadecimal digits", sum)
		}
	}
	return nil
}

// foldSum returns a thumbprint in lower case and without colons.
func foldSum(sum string) string { return strings.ToLower(strings.ReplaceAll(sum, ":", "")) }

// foldID returns an ID of a caller in the form in which IDs are compared: GUIDs in lower case, and
// names of accounts too, which Active Directory compares in any case.
func foldID(id string) string {
	kind, rest, ok := strings.Cut(id, ":")
	if !ok {
		return id
	}
	if kind+":" == kerberosKind {
		return strings.ToLower(id)
	}
	value, issuer, named := strings.Cut(rest, "@")
	if len(value) == 36 {
		if guid, err := uuid.Parse(value); err == nil {
			value = guid.String()
		}
	}
	if named {
		value += "@" + issuer
	}
	return kind + ":" + value
}
