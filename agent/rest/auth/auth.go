package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/internal/hashed"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/agent/rest/auth/signing"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/agent/rest/internal/misses"
)

// surfaceSAP is the name of the SAP surface.
const surfaceSAP = "sap"

// The kinds in IDs of callers.
const (
	tokenKind = "token:"
	certKind  = "cert:"
	basicKind = "basic:"
)

// instanceHeader names the instance of the SAP surface if a caller may use several.
const instanceHeader = "X-Sap-Scheduler-Instance-Id"

// Options are what the front adds to the configuration.
type Options struct {
	// PublicURL is the front's address as seen by clients, without a slash at the end.
	PublicURL string
	// Instances are the instances of the SAP surface.
	Instances []Instance
	// Tenants looks up the tenants of instances, for the issuer of tokens; nil: only providers get
	// tokens.
	Tenants issuer.Tenants
	// Dev is the issuer for tools in development; nil means none.
	Dev *issuer.Dev
	// Log gets the reasons for which issuers or the token file cannot be read; nil means none.
	Log *zap.Logger
	// Transport replaces the network for the keys of issuers, in tests.
	Transport http.RoundTripper
	// Now replaces the clock in tests.
	Now func() time.Time
}

// Auth authenticates and authorises callers. It implements rest.Authenticator and rest.Authorizer,
// and is safe for concurrent use.
type Auth struct {
	options    Options
	arm, sap   verifier
	tokens     map[string]tokenfile.Token // of the configuration, by ID
	file       *tokenfile.File            // nil: none
	certs      []certificate
	grants     map[string][]grant // by ID of the caller
	instances  []instance
	users      *hashed.Book // by instance and user: bookKey
	guesses    misses.Counter
	signIns    *misses.Gate // of answers of issuers, each of which costs requests to the issuer
	challenge  string       // of the ARM surfaces
	clients    *issuer.UAA
	logins     []*Login
	negotiator *negotiator // nil: no Kerberos tickets
}

// certificate is a checked Certificate.
type certificate struct{ name, san, sum string }

// instance is an Instance with what was made of it.
type instance struct {
	Instance
	keys *signing.Keys
}

// bookKey is the key of a user in the book of passwords.
func bookKey(instance, user string) string { return instance + "\x00" + user }

// New returns an Auth, or all faults of the configuration.
func New(cfg Config, options Options) (*Auth, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = zap.NewNop()
	}
	options.PublicURL = strings.TrimSuffix(options.PublicURL, "/")
	a := &Auth{
		options: options, tokens: map[string]tokenfile.Token{}, grants: map[string][]grant{},
		signIns: misses.NewGate(maxSignIns, fewSignIns, maxSignIns/2, signInMisses),
	}
	a.arm.now, a.sap.now = options.Now, options.Now
	var f faults
	a.addIssuers(&f, cfg.Issuers)
	a.addTokens(&f, cfg)
	a.addCertificates(&f, cfg.Certificates)
	a.addKerberos(&f, cfg.Kerberos)
	a.addInstances(&f)
	a.addGrants(&f, cfg)
	if len(f.errs) > 0 {
		return nil, errors.Join(f.errs...)
	}
	return a, nil
}

// addIssuers adds the issuers of the ARM surfaces.
func (a *Auth) addIssuers(f *faults, issuers []Issuer) {
	before := len(f.errs)
	checkIssuers(f, "issuers", issuers)
	if len(f.errs) > before {
		return
	}
	uri := a.options.PublicURL
	for i, one := range issuers {
		keys, err := newRemoteKeys(one, a.options.Transport, a.options.Now, a.options.Log)
		f.add(fmt.Sprintf("issuers[%d]", i), err)
		a.arm.issuers = append(a.arm.issuers, trusted{Issuer: one, keys: keys})
		if one.ClientID != "" && err == nil {
			a.addLogin(one, keys)
		}
		if i == 0 {
			uri = cmp.Or(one.AuthorizationURI, one.Issuer)
		}
	}
	if dev := a.options.Dev; dev != nil {
		a.arm.issuers = append(a.arm.issuers, trusted{
			Issuer: Issuer{Name: issuer.DevName, Issuer: dev.Issuer(), Audiences: dev.Audiences()}, keys: localKeys{dev.Keys()},
		})
		a.addDevLogin(dev)
		if len(issuers) == 0 {
			uri = dev.AuthorizationURI()
		}
	}
	a.challenge = fmt.Sprintf(`Bearer authorization_uri="%s", error="invalid_token"`, strings.ReplaceAll(uri, `"`, "%22"))
}

// addTokens adds the static tokens.
func (a *Auth) addTokens(f *faults, cfg Config) {
	if err := tokenfile.CheckAll("tokens", cfg.Tokens); err != nil {
		f.errs = append(f.errs, err)
	}
	for i, t := range cfg.Tokens {
		a.tokens[t.ID] = t
		if t.Role != "" && t.Scope != "" {
			_, err := Grant{Principal: tokenKind + t.ID, Role: t.Role, Scope: t.Scope}.parse(nil, false)
			f.add(fmt.Sprintf("tokens[%d]", i), err)
		}
	}
	if cfg.TokenFile == "" {
		return
	}
	var err error
	a.file, err = tokenfile.Open(cfg.TokenFile)
	f.add("token_file", err)
	for id, t := range a.file.Tokens() {
		if _, twice := a.tokens[id]; twice {
			f.add("token_file", fmt.Errorf("the token %s is in tokens as well", id))
		}
		if t.Role != "" && t.Scope != "" {
			_, err := Grant{Principal: tokenKind + id, Role: t.Role, Scope: t.Scope}.parse(nil, false)
			if err != nil {
				f.add("token_file", fmt.Errorf("token %s: %w", id, err))
			}
		}
	}
}

// token returns a static token.
func (a *Auth) token(id string) (tokenfile.Token, bool, error) {
	if t, ok := a.tokens[id]; ok {
		return t, true, nil
	}
	if a.file == nil {
		return tokenfile.Token{}, false, nil
	}
	return a.file.Lookup(id)
}

// addCertificates adds the client certificates.
func (a *Auth) addCertificates(f *faults, list []Certificate) {
	seen := map[string]bool{}
	for i, c := range list {
		at := fmt.Sprintf("certificates[%d]", i)
		if c.Name == "" {
			f.add(at, errors.New("name is missing"))
		}
		f.add(at, checkCertificate(c.SAN, c.SHA256))
		one := certificate{name: c.Name, san: c.SAN, sum: foldSum(c.SHA256)}
		for _, key := range []string{"name " + one.name, "san " + one.san, "sha256 " + one.sum} {
			if seen[key] && !strings.HasSuffix(key, " ") {
				f.add(at, fmt.Errorf("duplicate %s", key))
			}
			seen[key] = true
		}
		a.certs = append(a.certs, one)
	}
}

// addInstances adds the instances of the SAP surface, and the issuer of their tokens.
func (a *Auth) addInstances(f *faults) {
	hashes := map[string][]hashed.Hash{}
	seen := map[string]bool{}
	var issuing []issuer.Instance
	for _, i := range a.options.Instances {
		at := "sap.instances." + i.Name
		before := len(f.errs)
		f.add(at, i.check())
		if key := strings.ToLower(i.Name); i.Name == "" || seen[key] || strings.ContainsAny(i.Name, "@/\x00") {
			f.add(at, fmt.Errorf("invalid name %q: want a name that no other instance has, without @ and /", i.Name))
		}
		seen[strings.ToLower(i.Name)] = true
		if len(f.errs) > before {
			continue
		}
		keys, err := i.readKeys()
		f.add(at, err)
		a.instances = append(a.instances, instance{Instance: i, keys: keys})
		if keys.Len() > 0 {
			a.sap.issuers = append(a.sap.issuers, trusted{
				Issuer: Issuer{Name: i.Name, Issuer: a.options.PublicURL + issuer.PathUAA, Audiences: []string{issuer.Audience(i.Name)}},
				keys:   localKeys{keys}, instance: i.Name, own: true,
			})
		}
		for n, one := range i.Issuers {
			remote, err := newRemoteKeys(one, a.options.Transport, a.options.Now, a.options.Log)
			f.add(fmt.Sprintf("%s.issuers[%d]", at, n), err)
			one.Name = i.Name + "/" + cmp.Or(one.Name, "issuer")
			a.sap.issuers = append(a.sap.issuers, trusted{Issuer: one, keys: remote, instance: i.Name})
		}
		for _, u := range i.Users {
			h, _ := hashed.Parse(u.PasswordHash) // was checked
			hashes[bookKey(i.Name, u.Name)] = append(hashes[bookKey(i.Name, u.Name)], h)
		}
		issuing = append(issuing, i.issuing(keys))
	}
	a.users = hashed.NewBook(hashes)
	var err error
	a.clients, err = issuer.NewUAA(a.options.PublicURL, issuing, a.options.Tenants, a.options.Now)
	f.add("sap.instances", err)
}

// issuing returns what the issuer of tokens needs of an instance.
func (i Instance) issuing(keys *signing.Keys) issuer.Instance {
	one := issuer.Instance{Name: i.Name, Tenant: i.Tenant, Subdomain: i.Subdomain, Keys: keys}
	for _, c := range i.Clients {
		client := issuer.Client{ID: c.ID, SecretHashes: c.SecretHashes, Scopes: c.Scopes}
		if len(c.Scopes) == 0 {
			client.Scopes = defaultScopes
		}
		if c.SAN != "" || c.SHA256 != "" {
			known := certificate{san: c.SAN, sum: foldSum(c.SHA256)}
			client.Certificate = known.is
		}
		one.Clients = append(one.Clients, client)
	}
	return one
}

func (a *Auth) addGrants(f *faults, cfg Config) {
	named := slices.DeleteFunc(append(slices.Clone(a.arm.issuers), a.sap.issuers...), func(t trusted) bool { return t.Name == "" })
	armNamed := len(cfg.Issuers) > 0 && cfg.Issuers[0].Name != ""
	for i, g := range cfg.Grants {
		at := fmt.Sprintf("grants[%d]", i)
		parsed, err := g.parse(named, armNamed)
		f.add(at, err)
		if id, ok := strings.CutPrefix(g.Principal, tokenKind); ok && a.file == nil {
			if _, known := a.tokens[id]; !known {
				f.add(at, fmt.Errorf("unknown token %q", id))
			}
		}
		if name, ok := strings.CutPrefix(g.Principal, certKind); ok && !slices.ContainsFunc(a.certs, func(c certificate) bool { return c.name == name }) {
			f.add(at, fmt.Errorf("unknown certificate %q", name))
		}
		if name, ok := strings.CutPrefix(g.Principal, kerberosKind); ok {
			if user, realm, found := strings.Cut(name, "@"); !found || user == "" || realm == "" {
				f.add(at, fmt.Errorf("invalid principal %q: want %suser@REALM", g.Principal, kerberosKind))
			} else if cfg.Kerberos.Keytab == "" {
				f.add(at, fmt.Errorf("the principal %q needs kerberos.keytab", g.Principal))
			}
		}
		a.grants[parsed.principal] = append(a.grants[parsed.principal], parsed)
	}
}

// Surfaces returns the surfaces that issue tokens.
func (a *Auth) Surfaces() []rest.Surface {
	var list []rest.Surface
	if a.clients.Issues() {
		list = append(list, a.clients)
	}
	if a.options.Dev != nil {
		list = append(list, a.options.Dev)
	}
	return list
}

// Authenticate implements rest.Authenticator.
func (a *Auth) Authenticate(r *rest.Request) (rest.Principal, error) {
	surface := r.Mount.Surface.Name()
	scheme, _, _ := strings.Cut(r.HTTP.Header.Get("Authorization"), " ")
	if a.negotiator == nil || surface == surfaceSAP || !strings.EqualFold(scheme, schemeNegotiate) || len(r.HTTP.Header.Values("Authorization")) > 1 {
		return a.authenticate(r.HTTP, surface)
	}
	p, proof, err := a.Negotiate(r.HTTP)
	if err != nil {
		return rest.Principal{}, err
	}
	r.Proof = proof
	return a.place(p, r.HTTP, surface)
}

// authenticate returns the caller of a request to a surface.
func (a *Auth) authenticate(h *http.Request, surface string) (rest.Principal, error) {
	values := h.Header.Values("Authorization")
	if len(values) == 0 {
		if p, ok := a.byCertificate(h); ok {
			return a.place(p, h, surface)
		}
		return rest.Principal{}, a.unauthenticated(surface, "Authentication failed. The header Authorization is missing.")
	}
	scheme, text, ok := strings.Cut(values[0], " ")
	text = strings.Trim(text, " ")
	switch {
	case len(values) > 1:
		return rest.Principal{}, a.unauthenticated(surface, "Authentication failed. The header Authorization is there twice.")
	case ok && strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(text, tokenfile.Prefix):
		return a.byToken(h, surface, text)
	case ok && strings.EqualFold(scheme, "Bearer"):
		return a.byJWT(h, surface, text)
	case ok && strings.EqualFold(scheme, "Basic") && surface == surfaceSAP:
		return a.byPassword(h, text)
	default:
		return rest.Principal{}, a.unauthenticated(surface, "Authentication failed. The scheme of the header Authorization is not supported here.")
	}
}

// unauthenticated returns the error of a caller that is not known (R-23, S-3).
func (a *Auth) unauthenticated(surface, message string) error {
	challenge := a.challenge
	if surface == surfaceSAP {
		challenge = `Bearer realm="jobagent"`
		if slices.ContainsFunc(a.instances, func(i instance) bool { return len(i.Users) > 0 }) {
			challenge = `Basic realm="jobagent", charset="UTF-8"`
		}
	}
	challenges := []string{challenge}
	if a.negotiator != nil && surface != surfaceSAP {
		challenges = append(challenges, schemeNegotiate)
	}
	return &rest.Error{
		Status: http.StatusUnauthorized, Code: rest.CodeUnauthenticated, Message: message,
		Header: http.Header{"Www-Authenticate": challenges},
	}
}

// invalid returns the error of a token that is refused for a reason.
func (a *Auth) invalid(surface string, reason error) error {
	return a.unauthenticated(surface, fmt.Sprintf("Authentication failed. The access token is invalid: %v.", reason))
}

// unavailable returns the error of a request whose caller cannot be determined at present.
func unavailable(message string) error {
	return &rest.Error{
		Status: http.StatusServiceUnavailable, Code: rest.CodeUnavailable, Message: message, RetryAfter: keysFirst,
	}
}

// byToken returns the caller that a static token names.
func (a *Auth) byToken(h *http.Request, surface, text string) (rest.Principal, error) {
	t, err := a.checkToken(text)
	var known *rest.Error
	switch {
	case errors.As(err, &known):
		return rest.Principal{}, err
	case err != nil:
		return rest.Principal{}, a.invalid(surface, err)
	}
	return a.place(rest.Principal{ID: tokenKind + t.ID, Name: printable(cmp.Or(t.Name, tokenKind+t.ID))}, h, surface)
}

// byCertificate returns the caller that a client certificate names.
func (a *Auth) byCertificate(h *http.Request) (rest.Principal, bool) {
	leaf := issuer.Leaf(h, a.options.Now())
	if leaf == nil {
		return rest.Principal{}, false
	}
	for _, one := range a.certs {
		if one.is(leaf) {
			return rest.Principal{ID: certKind + one.name, Name: printable(one.name)}, true
		}
	}
	return rest.Principal{}, false
}

// is reports whether leaf is the configured certificate: by its thumbprint if the configuration has
// one, else by its subject alternative name.
func (c certificate) is(leaf *x509.Certificate) bool {
	if c.sum != "" {
		sum := sha256.Sum256(leaf.Raw)
		return subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(c.sum)) == 1
	}
	kind, name, _ := strings.Cut(c.san, ":")
	switch kind {
	case "dns":
		return slices.ContainsFunc(leaf.DNSNames, func(one string) bool { return strings.EqualFold(one, name) })
	case "email":
		return slices.Contains(leaf.EmailAddresses, name)
	case "uri":
		for _, one := range leaf.URIs {
			if one.String() == name {
				return true
			}
		}
	}
	return false
}

// byJWT returns the caller that a JSON Web Token names.
func (a *Auth) byJWT(h *http.Request, surface, text string) (rest.Principal, error) {
	v := &a.arm
	if surface == surfaceSAP {
		v = &a.sap
	}
	c, from, err := v.verify(h.Context(), text)
	if errors.Is(err, errNoKeys) {
		return rest.Principal{}, unavailable("The keys of the token's issuer cannot be read now. Try again later.")
	}
	if err != nil {
		return rest.Principal{}, a.invalid(surface, err)
	}
	p, err := c.principal(from)
	if err != nil {
		return rest.Principal{}, a.invalid(surface, err)
	}
	if surface == surfaceSAP {
		p.Scopes, p.Instance = c.scopes(from), from.instance
		// SQL Server ignores blanks at the end when it compares tenants.
		if p.Tenant == "" || strings.HasSuffix(p.Tenant, " ") {
			return rest.Principal{}, a.invalid(surface, errTenant)
		}
	}
	return a.place(p, h, surface)
}

// byPassword returns the user of Basic. A wrong password takes as long as an unknown user.
func (a *Auth) byPassword(h *http.Request, text string) (rest.Principal, error) {
	failed := a.unauthenticated(surfaceSAP, "Authentication failed. User or password is wrong.")
	b, err := base64.StdEncoding.DecodeString(text)
	name, password, ok := strings.Cut(string(b), ":")
	if err != nil || !ok {
		return rest.Principal{}, failed
	}
	// A random secret cannot be guessed: whoever has one is not refused because of others.
	p, ok := a.user(h, name, func(owner string) bool { return a.users.Random(owner, password) })
	if ok {
		return p, nil
	}
	now := a.options.Now()
	if wait := a.guesses.Wait(h.RemoteAddr, name, now); wait > 0 {
		return rest.Principal{}, tooManyFailures(wait)
	}
	p, ok = a.user(h, name, func(owner string) bool { return a.users.Verify(h.Context(), h.RemoteAddr, owner, password) })
	switch {
	case ok:
		a.guesses.Right(h.RemoteAddr, name)
		return p, nil
	case h.Context().Err() == nil: // a client that has gone away was not answered
		a.guesses.Add(h.RemoteAddr, name, now)
	}
	return rest.Principal{}, failed
}

// user returns the user of Basic in the first instance in which verify accepts the password of its
// owner, a bookKey.
func (a *Auth) user(h *http.Request, name string, verify func(owner string) bool) (rest.Principal, bool) {
	named := h.Header.Get(instanceHeader)
	for _, i := range a.instances {
		if len(i.Users) == 0 || named != "" && !strings.EqualFold(named, i.Name) || !verify(bookKey(i.Name, name)) {
			continue
		}
		for _, u := range i.Users {
			if u.Name == name {
				p := rest.Principal{
					ID: basicKind + name + "@" + i.Name, Name: printable(name), Instance: i.Name,
					Tenant: cmp.Or(u.Tenant, i.Tenant), Scopes: u.Scopes,
				}
				if len(u.Scopes) == 0 {
					p.Scopes = defaultScopes
				}
				return p, true
			}
		}
	}
	return rest.Principal{}, false
}

// tooManyFailures returns the error of an address that has guessed too often.
func tooManyFailures(wait time.Duration) error {
	return &rest.Error{
		Status: http.StatusTooManyRequests, Code: rest.CodeTooManyRequests, RetryAfter: wait,
		Message: "Too many failed logins from this address.",
	}
}

// place sets the instance and the tenant of a caller of the SAP surface.
func (a *Auth) place(p rest.Principal, h *http.Request, surface string) (rest.Principal, error) {
	if surface != surfaceSAP {
		return p, nil
	}
	named := h.Header.Get(instanceHeader)
	if p.Instance != "" && (named == "" || strings.EqualFold(named, p.Instance)) {
		return p, nil
	}
	if p.Instance == "" {
		for _, i := range a.instances {
			if named == "" && len(a.instances) == 1 || named != "" && strings.EqualFold(named, i.Name) {
				p.Instance, p.Tenant = i.Name, i.Tenant
				return p, nil
			}
		}
	}
	return p, &rest.Error{
		Status: http.StatusForbidden, Code: rest.CodeForbidden,
		Message: "The caller may not use this instance, or must name one with the header " + strings.ToLower(instanceHeader) + ".",
	}
}

// localKeys are keys that the front has itself.
type localKeys struct{ *signing.Keys }

// key implements keySource.
func (k localKeys) key(_ context.Context, id string) (publicKey, error) {
	if key := k.Public(id); key != nil {
		return publicKey{key: key, algorithm: "RS256"}, nil
	}
	return publicKey{}, errUnknownKey
}

// MaxPassword bounds the length of a password or client secret, in bytes.
const MaxPassword = hashed.MaxSecret

// HashPassword returns the hash of a password for User.PasswordHash and Client.SecretHashes.
func HashPassword(password string) (string, error) { return hashed.OfPassword(password) }

// HashRandom returns the hash of a random secret. It is fast to verify, so the secret must have at
// least 128 random bits.
func HashRandom(secret string) (string, error) { return hashed.OfRandom(secret) }
