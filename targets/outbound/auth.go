package outbound

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/cache"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/secretref"
)

// defaultAPIKeyHeader is the header of api-key.
const defaultAPIKeyHeader = "X-API-Key"

// Auth authenticates the requests of one attempt to one origin. A nil *Auth authenticates nothing.
// It is not safe for concurrent use.
type Auth struct {
	network *Network
	subject string
	with    Credential // secrets are in the fields below
	mask    *Mask
	host    string
	port    uint16

	secret      string
	privateKey  string
	thumbprint  string // of the certificate of private-key-jwt
	pair        *tls.Certificate
	webhookKeys []webhookKey

	tenant targets.Tenant // of the run's job
	token  string         // the token that was used last
}

// Authentication returns what authenticates the requests of an attempt to the URL: the credential
// that the step names, or the inline authentication of its definition, with expanded secrets. It
// returns nil for neither. Every secret is added to the mask. The error is a *targets.ConfigError.
func (n *Network) Authentication(name string, inline *action.Auth, allowHTTP bool, u *url.URL, mask *Mask) (*Auth, error) {
	host, port, err := originOf(u)
	if err != nil {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("host %q", u.Host), Err: errors.New("want host or host:port")}
	}
	a := &Auth{network: n, mask: mask, host: host, port: port}
	switch {
	case name == "" && inline == nil:
		return nil, nil
	case name != "" && inline != nil:
		return nil, credentialError(name, errors.New("the definition has an auth of its own: want one of them"))
	case inline != nil:
		a.subject = "auth of the definition"
		err = a.fromDefinition(inline, allowHTTP)
	default:
		a.subject = fmt.Sprintf("credential %q", name)
		if a.with, err = n.lookUp(name, u); err == nil {
			err = a.fromReferences()
		}
	}
	if err == nil {
		return a, nil
	}
	var config *targets.ConfigError
	if errors.As(err, &config) {
		return nil, config
	}
	return nil, &targets.ConfigError{Subject: a.subject, Err: err}
}

// fromReferences reads the secrets of a named credential.
func (a *Auth) fromReferences() error {
	read := func(ref string) (string, error) {
		if ref == "" {
			return "", nil
		}
		text, err := secretref.Read(ref)
		a.mask.Add(text)
		return text, err
	}
	var err error
	if a.secret, err = read(a.with.Secret); err != nil {
		return err
	}
	if a.privateKey, err = read(a.with.Key); err != nil {
		return err
	}
	certificate, err := read(a.with.Certificate)
	if err != nil {
		return err
	}
	if err := a.setCertificate(certificate, a.privateKey); err != nil {
		return err
	}
	var keys []string
	for _, ref := range a.with.Keys {
		key, err := read(ref)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	return a.setWebhookKeys(keys)
}

// fromDefinition takes the secrets of a definition.
func (a *Auth) fromDefinition(inline *action.Auth, allowHTTP bool) error {
	a.mask.Add(inline.Password, inline.Value, inline.ClientSecret, inline.Certificate)
	a.mask.Add(inline.Keys...)
	a.with = Credential{
		Kind: CredentialKind(inline.Kind), User: inline.Username, Header: inline.Header, TokenURL: inline.TokenURL,
		ClientID: inline.ClientID, Scope: inline.Scope, Audience: inline.Audience, AllowHTTP: allowHTTP,
	}
	switch a.with.Kind {
	case KindBasic:
		a.secret = inline.Password
	case KindAPIKey, KindBearer:
		a.secret = inline.Value
	case KindOAuth2:
		a.secret = inline.ClientSecret
		if err := checkTokenURL(inline.TokenURL, allowHTTP); err != nil {
			return err
		}
		if a.secret == "" {
			a.with.ClientAuthentication = clientCertificate
		}
	case KindClientCertificate, KindStandardWebhooks:
	default:
		return fmt.Errorf("invalid kind %q", inline.Kind)
	}
	if a.with.Header != "" && !IsToken(a.with.Header) {
		return fmt.Errorf("invalid header %q: want the name of a header", a.with.Header)
	}
	if err := a.setCertificate(inline.Certificate, ""); err != nil {
		return err
	}
	return a.setWebhookKeys(inline.Keys)
}

// setCertificate parses a certificate with its key. An empty key is in the same text.
func (a *Auth) setCertificate(certificate, key string) error {
	if certificate == "" {
		return nil
	}
	if a.with.ClientAuthentication == clientPrivateKey {
		var err error
		a.thumbprint, err = thumbprintOf(certificate) // the certificate only names the key
		return err
	}
	pair, err := a.network.pairs.parse(certificate, cmp.Or(key, certificate))
	if err != nil {
		return err
	}
	a.pair = pair
	return nil
}

// setWebhookKeys parses the keys of standard-webhooks.
func (a *Auth) setWebhookKeys(keys []string) error {
	for i, text := range keys {
		key, err := parseWebhookKey(text)
		if err != nil {
			return fmt.Errorf("keys[%d]: %w", i, err)
		}
		a.webhookKeys = append(a.webhookKeys, key)
	}
	if a.with.Kind == KindStandardWebhooks && len(keys) == 0 {
		return errors.New("keys is missing")
	}
	return nil
}

// Kind returns the kind of the credential.
func (a *Auth) Kind() CredentialKind { return a.with.Kind }

// User returns the user, or the name of a key.
func (a *Auth) User() string { return a.with.User }

// Secret returns the password, key or signature itself. It is known to the mask.
func (a *Auth) Secret() string { return a.secret }

// Error returns an error of the credential: a *targets.ConfigError that names it.
func (a *Auth) Error(err error) error {
	return &targets.ConfigError{Subject: a.subject, Err: err}
}

// Covers reports whether the authentication is for the origin of u. A request that was redirected
// to another origin carries none.
func (a *Auth) Covers(u *url.URL) bool {
	if a == nil {
		return false
	}
	host, port, err := originOf(u)
	return err == nil && host == a.host && port == a.port
}

// presentCertificate adds a client certificate to the configuration of a handshake.
func (a *Auth) presentCertificate(config *tls.Config) {
	if a.pair != nil && a.with.Kind == KindClientCertificate {
		config.Certificates = []tls.Certificate{*a.pair}
	}
}

// Authorize adds to a request what authenticates it. id and now are of the attempt; body is what is
// sent. It may request a token, which passes the same guard and no fence. A refusal by the token's
// issuer is a *TokenError.
func (a *Auth) Authorize(ctx context.Context, r *http.Request, body []byte, id string, now time.Time) error {
	if a == nil {
		return nil
	}
	if !isHeaderValue(a.secret) && a.with.Kind != KindOAuth2 {
		return a.Error(errors.New("the secret holds a line break or another control character"))
	}
	switch a.with.Kind {
	case KindBasic:
		text := base64.StdEncoding.EncodeToString([]byte(a.with.User + ":" + a.secret))
		a.mask.Add(text)
		r.Header.Set("Authorization", "Basic "+text)
	case KindBearer:
		r.Header.Set("Authorization", "Bearer "+a.secret)
	case KindAPIKey:
		if a.with.Query == "" {
			r.Header.Set(cmp.Or(a.with.Header, defaultAPIKeyHeader), a.secret)
			break
		}
		u := *r.URL
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += url.QueryEscape(a.with.Query) + "=" + url.QueryEscape(a.secret)
		r.URL = &u
	case KindOAuth2, KindManagedIdentity, KindAzureDefault, KindRunToken:
		token, err := a.Token(ctx, "")
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	case KindStandardWebhooks:
		return signWebhook(r.Header, a.webhookKeys, id, now, body)
	case KindClientCertificate:
		if r.URL.Scheme != "https" {
			return a.Error(errors.New("a client certificate needs https"))
		}
	default:
		return a.Error(fmt.Errorf("a credential of kind %s does not authenticate an HTTP request", a.with.Kind))
	}
	return nil
}

// Token returns a token, from the cache if it is valid for another minute; one of the kind
// run-token is made for each attempt. The scope is used if the credential has none.
func (a *Auth) Token(ctx context.Context, scope string) (string, error) {
	scope = cmp.Or(a.with.Scope, scope)
	fetch := a.fetchOAuth
	if err := a.checkTenant(); err != nil {
		return "", a.Error(err)
	}
	switch {
	case a.with.Kind.azure():
		fetch = a.fetchAzure
	case a.with.Kind == KindRunToken:
		token, err := a.signRunToken(scope)
		a.mask.Add(token)
		a.token = token
		return token, err
	}
	token, err := a.network.tokens.get(ctx, a.tokenKey(scope), func(ctx context.Context) (cachedToken, error) {
		return fetch(ctx, scope)
	})
	a.mask.Add(token)
	if err != nil {
		return "", a.mask.Err(err)
	}
	a.token = token
	return token, nil
}

// Rejected reports whether a request that was answered with 401 should be repeated once with a new
// token. It drops the old token.
func (a *Auth) Rejected() bool {
	if a == nil || a.token == "" {
		return false
	}
	a.network.tokens.drop(a.token)
	a.token = ""
	return true
}

// tokenKey identifies a token. A changed secret leads to another key.
func (a *Auth) tokenKey(scope string) [sha256.Size]byte {
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(h, "%d:%s", len(text), text)
		}
	}
	c := a.with
	write(c.Name, string(c.Kind), c.TokenURL, c.Issuer, a.tenant.ID, a.tenant.Subdomain, c.ClientID, c.ClientAuthentication, scope, c.Audience, a.secret, a.privateKey)
	if a.pair != nil {
		write(string(a.pair.Certificate[0]))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		write(name, c.Parameters[name])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// pairCache holds parsed certificates by their texts. A changed file has another text.
type pairCache struct {
	parsed cache.Cache[[sha256.Size]byte, *tls.Certificate]
}

// maxPairs bounds a pairCache. A configuration has few certificates.
const maxPairs = 64

// errCertificate does not repeat the text.
var errCertificate = errors.New("invalid certificate: want PEM texts of a certificate and of its private key")

func (p *pairCache) parse(certificate, key string) (*tls.Certificate, error) {
	id := sha256.Sum256([]byte(certificate + "\x00" + key))
	pair, _, err := p.parsed.Get(context.Background(), id, func(context.Context) (*tls.Certificate, int, error) {
		if hasLongKey(key) {
			return nil, 0, errLongKey
		}
		pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
		if err != nil {
			return nil, 0, errCertificate
		}
		if isLong(pair.PrivateKey) {
			return nil, 0, errLongKey
		}
		return &pair, 1, nil
	})
	return pair, err
}
