package auth

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/outbound"
)

// Times of the keys of issuers.
const (
	keysAge     = 24 * time.Hour   // then the keys are read again
	keysGrace   = 24 * time.Hour   // longer, they are used if they cannot be read again
	keysPause   = 60 * time.Second // between two reads while old keys serve
	keysFirst   = 5 * time.Second  // between two reads while the key of a token is unknown
	keysTimeout = 10 * time.Second // of one read
)

// Limits of what an issuer may answer.
const (
	maxKeysBody = 1 << 20 // bytes
	maxKeys     = 100
)

// errNoKeys means that the keys of an issuer cannot be read now. It says nothing about the token.
var errNoKeys = errors.New("the keys of the token's issuer cannot be read now")

// errUnknownKey means that an issuer has no such key.
var errUnknownKey = errors.New("it is signed with an unknown key")

// keySource has the public keys of an issuer.
type keySource interface {
	// key returns the key with an ID. An empty ID means the only key. The error is errUnknownKey or
	// errNoKeys.
	key(ctx context.Context, id string) (publicKey, error)
}

// publicKey is a public key, and the only algorithm for which it may be used; empty: any that fits.
type publicKey struct {
	key       crypto.PublicKey
	algorithm string
}

// remoteKeys are the keys of an issuer that are read over the network, at its first token. It is
// safe for concurrent use.
type remoteKeys struct {
	issuer Issuer
	client *http.Client
	now    func() time.Time
	log    *zap.Logger

	mu      sync.Mutex
	keys    map[string]publicKey
	read    time.Time     // when keys was read; zero: never
	tried   time.Time     // when a read last began
	reading chan struct{} // closed when the read under way ends; nil: none is under way
}

// newRemoteKeys returns the keys of an issuer. transport replaces the network in tests; nil means
// none.
func newRemoteKeys(issuer Issuer, transport http.RoundTripper, now func() time.Time, log *zap.Logger) (*remoteKeys, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if issuer.CA != "" {
		pool, err := readAuthorities(issuer.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	client := outbound.Direct{TLS: config, Environment: true, Timeout: keysTimeout, MaxBody: maxKeysBody, Transport: transport}.Client()
	return &remoteKeys{issuer: issuer, now: now, log: log, client: client}, nil
}

// key implements keySource.
func (k *remoteKeys) key(ctx context.Context, id string) (publicKey, error) {
	for {
		k.mu.Lock()
		now := k.now()
		known := !k.read.IsZero() && now.Sub(k.read) < keysAge+keysGrace
		found, ok := k.find(id)
		ok = ok && known
		fresh := known && now.Sub(k.read) < keysAge
		if ok && fresh {
			k.mu.Unlock()
			return found, nil
		}
		// Strangers can name unknown keys all the time. So the pause bounds how long they keep the
		// new keys of a rotation from being read.
		pause := keysFirst
		if ok {
			pause = keysPause
		}
		switch {
		case k.reading != nil:
			if ok { // old keys serve while they are read again
				k.mu.Unlock()
				return found, nil
			}
			reading := k.reading
			k.mu.Unlock()
			select {
			case <-reading:
				continue
			case <-ctx.Done():
				return publicKey{}, errNoKeys
			}
		case !k.tried.IsZero() && now.Sub(k.tried) < pause:
			k.mu.Unlock()
			switch {
			case ok:
				return found, nil
			case known:
				return publicKey{}, errUnknownKey
			default:
				return publicKey{}, errNoKeys
			}
		}
		k.tried, k.reading = now, make(chan struct{})
		k.mu.Unlock()
		k.refresh(ctx)
	}
}

// find returns a key that was read. k.mu must be held.
func (k *remoteKeys) find(id string) (publicKey, bool) {
	if id == "" && len(k.keys) == 1 {
		for _, one := range k.keys {
			return one, true
		}
	}
	found, ok := k.keys[id]
	return found, ok && id != ""
}

// refresh reads the keys. The client that caused it may go away; others wait for the keys.
func (k *remoteKeys) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
	defer cancel()
	var keys map[string]publicKey
	err := errNoKeys // if fetch panics
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if err == nil {
			k.keys, k.read = keys, k.now()
		}
		close(k.reading)
		k.reading = nil
	}()
	if keys, err = k.fetch(ctx); err != nil {
		k.log.Warn("the keys of an issuer cannot be read", zap.String("issuer", k.issuer.Issuer), zap.Error(err))
	}
}

// fetch reads the keys from the issuer.
func (k *remoteKeys) fetch(ctx context.Context) (map[string]publicKey, error) {
	address := k.issuer.JWKSURI
	if address == "" {
		var err error
		if address, err = k.discover(ctx); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	answer, err := k.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read keys: the answer has status %d", answer.StatusCode)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return parseKeys(text)
}

// base returns the address below which the discovery document is.
func (k *remoteKeys) base() string { return cmp.Or(k.issuer.Discovery, k.issuer.Issuer) }

// maxDiscoveryError bounds the error of a discovery, in bytes.
const maxDiscoveryError = 500

// provider reads the discovery document of the issuer.
func (k *remoteKeys) provider(ctx context.Context) (*oidc.Provider, error) {
	base := k.base()
	ctx = oidc.ClientContext(ctx, k.client)
	if base != k.issuer.Issuer {
		ctx = oidc.InsecureIssuerURLContext(ctx, k.issuer.Issuer) // compared with this text instead of the address
	}
	p, err := oidc.NewProvider(ctx, base)
	if err != nil && len(err.Error()) > maxDiscoveryError { // it has the body of the answer
		err = errors.New(wording.Clip(err.Error(), maxDiscoveryError, wording.Bytes))
	}
	return p, err
}

// discover returns the address of the keys. Only an address on the host that was asked is accepted:
// a document that someone else controls could send the front anywhere otherwise.
func (k *remoteKeys) discover(ctx context.Context) (string, error) {
	provider, err := k.provider(ctx)
	if err != nil {
		return "", fmt.Errorf("discover keys: %w", err)
	}
	var document struct {
		JWKSURI string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return "", fmt.Errorf("discover keys: %w", err)
	}
	from, err := url.Parse(k.base())
	if err != nil {
		return "", fmt.Errorf("discover keys: %w", err)
	}
	to, err := url.Parse(document.JWKSURI)
	if err != nil || to.Scheme != from.Scheme || to.Host != from.Host || to.User != nil {
		return "", errors.New("discover keys: jwks_uri is on another host than the discovery: set jwks_uri in the configuration")
	}
	return document.JWKSURI, nil
}

// parseKeys parses a JSON Web Key Set. Keys that cannot verify tokens are left out.
func parseKeys(text []byte) (map[string]publicKey, error) {
	// Each key is parsed for itself: one of an unknown kind must not hide the others.
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("parse keys: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("parse keys: there are more than %d", maxKeys)
	}
	keys := map[string]publicKey{}
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(one); err != nil || !key.Valid() || !key.IsPublic() {
			continue
		}
		if key.Use != "" && key.Use != "sig" || !usable(key.Key) {
			continue
		}
		if _, twice := keys[key.KeyID]; twice {
			return nil, errors.New("parse keys: two keys have the same ID")
		}
		keys[key.KeyID] = publicKey{key: key.Key, algorithm: key.Algorithm}
	}
	if len(keys) == 0 {
		return nil, errors.New("parse keys: no key can verify tokens")
	}
	return keys, nil
}

// usable reports whether a public key is of a kind and a size that tokens may be signed with.
func usable(key crypto.PublicKey) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		bits := key.N.BitLen()
		return bits >= 2048 && bits <= 8192 && key.E >= 3 // larger keys take long to verify
	case *ecdsa.PublicKey:
		bits := key.Curve.Params().BitSize
		return bits == 256 || bits == 384
	case ed25519.PublicKey:
		return true
	default:
		return false
	}
}
