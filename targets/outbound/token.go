package outbound

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// Times of tokens.
const (
	tokenTimeout   = 15 * time.Second // of one request for a token
	tokenMargin    = 60 * time.Second // before its end, a token is not used any more
	tokenDefault   = 5 * time.Minute  // of a token that names no end
	tokenMaximum   = 12 * time.Hour
	assertionValid = 5 * time.Minute
)

// maxTokens bounds the number of cached tokens.
const maxTokens = 1024

// TokenError means that no token was issued. Nothing of the action's request was sent.
type TokenError struct {
	// Subject names the credential.
	Subject string
	// Status is the issuer's answer; 0 for none.
	Status int
	Err    error
}

// Error implements error.
func (e *TokenError) Error() string {
	if e.Status == 0 {
		return e.Subject + ": get a token: " + e.Err.Error()
	}
	return e.Subject + ": get a token: the issuer answered with status " + strconv.Itoa(e.Status) + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *TokenError) Unwrap() error { return e.Err }

// Final reports whether another request for a token cannot help before the configuration changes.
func (e *TokenError) Final() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// cachedToken is a token with the instant from which it is not used any more.
type cachedToken struct {
	text string
	end  time.Time
}

// tokenCache holds tokens. One request for a token is in flight for each key. The zero value is
// empty.
type tokenCache struct {
	mu      sync.Mutex
	tokens  map[[sha256.Size]byte]cachedToken
	pending map[[sha256.Size]byte]*pendingToken
}

// pendingToken is a request for a token that is in flight.
type pendingToken struct {
	done  chan struct{} // closed when the fields below are set
	token cachedToken
	err   error
}

// get returns the token of a key. It calls fetch unless there is a valid token, or another
// goroutine fetches it.
func (t *tokenCache) get(
	ctx context.Context, key [sha256.Size]byte, fetch func(ctx context.Context) (cachedToken, error),
) (string, error) {
	for {
		t.mu.Lock()
		if token, ok := t.tokens[key]; ok && time.Now().Before(token.end) {
			t.mu.Unlock()
			return token.text, nil
		}
		other := t.pending[key]
		if other == nil {
			own := &pendingToken{done: make(chan struct{})}
			if t.pending == nil {
				t.pending = make(map[[sha256.Size]byte]*pendingToken)
			}
			t.pending[key] = own
			t.mu.Unlock()
			t.fetch(ctx, key, own, fetch)
			return own.token.text, own.err
		}
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-other.done:
		}
		// The error of a caller whose context ended says nothing about the issuer.
		if other.err == nil || !errors.Is(other.err, errFetchInterrupted) {
			return other.token.text, other.err
		}
	}
}

// errFetchInterrupted means that the context of the caller that fetched a token has ended.
var errFetchInterrupted = errors.New("the request for a token was interrupted")

// fetch fetches a token and wakes up the goroutines that wait for it.
func (t *tokenCache) fetch(
	ctx context.Context, key [sha256.Size]byte, own *pendingToken, fetch func(ctx context.Context) (cachedToken, error),
) {
	own.err = errFetchInterrupted // if fetch panics
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.pending, key)
		if own.err == nil {
			if t.tokens == nil || len(t.tokens) == maxTokens {
				t.tokens = make(map[[sha256.Size]byte]cachedToken)
			}
			t.tokens[key] = own.token
		}
		close(own.done)
	}()
	own.token, own.err = fetch(ctx)
	if own.err != nil && ctx.Err() != nil {
		own.err = fmt.Errorf("%w: %w", errFetchInterrupted, context.Cause(ctx))
	}
}

// drop removes a token that was rejected.
func (t *tokenCache) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, one := range t.tokens {
		if one.text == token {
			delete(t.tokens, key)
		}
	}
}

// newCachedToken returns a token that ends early enough for its last use.
func newCachedToken(text string, end time.Time) cachedToken {
	now := time.Now()
	if end.IsZero() {
		end = now.Add(tokenDefault)
	}
	if latest := now.Add(tokenMaximum); end.After(latest) {
		end = latest
	}
	return cachedToken{text: text, end: end.Add(-tokenMargin)}
}

// fetchAzure gets a token of Microsoft Entra ID.
func (a *Auth) fetchAzure(ctx context.Context, scope string) (cachedToken, error) {
	if scope == "" {
		return cachedToken{}, a.Error(errors.New("scope is missing"))
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	token, err := a.network.cfg.Azure(ctx, AzureRequest{Kind: a.with.Kind, ClientID: a.with.ClientID, Scope: scope})
	if err != nil {
		return cachedToken{}, &TokenError{Subject: a.subject, Err: errors.New(cutText(err.Error()))}
	}
	return newCachedToken(token.Token, token.Expires), nil
}

// fetchOAuth gets a token with the client-credentials grant (RFC 6749, 4.4).
func (a *Auth) fetchOAuth(ctx context.Context, scope string) (cachedToken, error) {
	c := a.with
	request := clientcredentials.Config{
		ClientID: c.ClientID, ClientSecret: a.secret, TokenURL: forTenant(c.TokenURL, a.tenant), Scopes: strings.Fields(scope),
		AuthStyle: oauth2.AuthStyleInHeader, EndpointParams: url.Values{},
	}
	for name, value := range c.Parameters {
		request.EndpointParams.Set(name, value)
	}
	if c.Audience != "" {
		request.EndpointParams.Set("audience", c.Audience)
	}
	switch c.ClientAuthentication {
	case clientForm, clientCertificate:
		request.AuthStyle = oauth2.AuthStyleInParams
	case clientPrivateKey:
		assertion, err := a.assertion()
		if err != nil {
			return cachedToken{}, a.Error(err)
		}
		request.AuthStyle = oauth2.AuthStyleInParams
		request.EndpointParams.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		request.EndpointParams.Set("client_assertion", assertion)
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	var present *Auth // a client certificate is for the issuer, not for the action's host
	if a.pair != nil {
		present = &Auth{pair: a.pair, with: Credential{Kind: KindClientCertificate}}
	}
	client := &http.Client{
		Transport:     a.network.For(nil, present), // the request needs no permission of the attempt's fence
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := request.Token(ctx)
	if err != nil {
		return cachedToken{}, a.tokenError(err)
	}
	if !isHeaderValue(token.AccessToken) {
		return cachedToken{}, &TokenError{Subject: a.subject, Err: errors.New("the token is not a valid value of a header")}
	}
	return newCachedToken(token.AccessToken, token.Expiry), nil
}

// tokenError returns the error of a request for a token, without the URL and with a bounded text.
func (a *Auth) tokenError(err error) error {
	var config *targets.ConfigError
	var refusal *oauth2.RetrieveError
	var asked *url.Error
	switch {
	case errors.As(err, &config):
		return config // a refused address
	case errors.As(err, &refusal):
		text := refusal.ErrorCode
		if refusal.ErrorDescription != "" {
			text += ": " + refusal.ErrorDescription
		}
		if text == "" {
			text = string(refusal.Body)
		}
		return &TokenError{Subject: a.subject, Status: refusal.Response.StatusCode, Err: errors.New(cutText(a.mask.String(text)))}
	case errors.As(err, &asked):
		return &TokenError{Subject: a.subject, Err: a.mask.Err(asked.Err)}
	default:
		return &TokenError{Subject: a.subject, Err: errors.New(cutText(a.mask.String(err.Error())))}
	}
}

// maxErrorText bounds the text of an issuer's error, in bytes.
const maxErrorText = 300

// cutText returns the beginning of a text in one line.
func cutText(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	return wording.Clip(text, maxErrorText, wording.Bytes)
}

// isHeaderValue reports whether text can be sent as the value of a header.
func isHeaderValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// errPrivateKey does not repeat the text.
var errPrivateKey = errors.New("invalid key: want the PEM text of a private key (RSA, ECDSA or Ed25519)")

// assertion returns a signed assertion of the client (RFC 7523, private_key_jwt).
func (a *Auth) assertion() (string, error) {
	key, err := parsePrivateKey(a.privateKey)
	if err != nil {
		return "", err
	}
	var method jwt.SigningMethod
	switch key := key.(type) {
	case *rsa.PrivateKey:
		method = jwt.SigningMethodRS256
	case *ecdsa.PrivateKey:
		method = map[int]jwt.SigningMethod{
			256: jwt.SigningMethodES256, 384: jwt.SigningMethodES384, 521: jwt.SigningMethodES512,
		}[key.Curve.Params().BitSize]
	case ed25519.PrivateKey:
		method = jwt.SigningMethodEdDSA
	}
	if method == nil {
		return "", errPrivateKey
	}
	now := time.Now()
	token := jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer: a.with.ClientID, Subject: a.with.ClientID, Audience: jwt.ClaimStrings{forTenant(a.with.TokenURL, a.tenant)}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(assertionValid)),
	})
	if a.thumbprint != "" {
		token.Header["x5t#S256"] = a.thumbprint
	}
	text, err := token.SignedString(key)
	if err != nil {
		return "", errPrivateKey
	}
	a.mask.Add(text)
	return text, nil
}

// Limits of private keys. Parsing takes the square of a key's length, and each signature the cube.
const (
	maxKeyBytes = 8 << 10 // in DER; an RSA key of 8,192 bits has 4.7 KB
	maxKeyBits  = 8192    // of RSA
)

var errLongKey = fmt.Errorf("invalid key: want an RSA key of at most %d bits, an ECDSA or an Ed25519 key", maxKeyBits)

// hasLongKey reports whether a PEM text has a block beside certificates that is too long for a key.
func hasLongKey(text string) bool {
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" && len(block.Bytes) > maxKeyBytes {
			return true
		}
	}
	return false
}

// isLong reports whether signatures of a key take too long.
func isLong(key crypto.PrivateKey) bool {
	k, ok := key.(*rsa.PrivateKey)
	return ok && k.N.BitLen() > maxKeyBits
}

// parsePrivateKey parses the PEM text of a private key.
func parsePrivateKey(text string) (crypto.PrivateKey, error) {
	if hasLongKey(text) {
		return nil, errLongKey
	}
	key, err := firstPrivateKey(text)
	if err == nil && isLong(key) {
		return nil, errLongKey
	}
	return key, err
}

// firstPrivateKey returns the first private key of a PEM text.
func firstPrivateKey(text string) (crypto.PrivateKey, error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errPrivateKey
		}
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return key, nil
		}
	}
}

// thumbprintOf returns the SHA-256 of a PEM certificate in the form of the header x5t#S256.
func thumbprintOf(text string) (string, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return "", errCertificate
	}
	sum := sha256.Sum256(block.Bytes)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
