package outbound

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/jobagent/jobagent/targets"
)

// runTokenLifetime is how long a token of the kind run-token is valid. It is made for one attempt,
// and the endpoint that gets it could use it at other endpoints of the same audience: so it lives
// no longer than a request needs to arrive, with a difference of the clocks.
const runTokenLifetime = 5 * time.Minute

// minRunTokenBits is the least size of the key of run-token (RFC 7518, 3.3).
const minRunTokenBits = 2048

// frontAudience begins the audiences with which tokens open the front itself. A run's token has
// none of them: the endpoint of a job could call the front with it otherwise.
const frontAudience = "job-scheduler:"

// The places of a tenant in texts of the configuration.
const (
	subdomainMark = "{subdomain}"
	tenantMark    = "{tenant}"
)

// exampleTenant takes the place of a tenant when a configuration is checked.
var exampleTenant = targets.Tenant{ID: "tenant", Subdomain: "subdomain"}

// forTenant inserts a tenant into a text of the configuration.
func forTenant(text string, t targets.Tenant) string {
	return strings.NewReplacer(subdomainMark, t.Subdomain, tenantMark, url.PathEscape(t.ID)).Replace(text)
}

// validateRunToken reports the faults of a credential of the kind run-token.
func (c Credential) validateRunToken() (errs []error) {
	if u, err := url.Parse(forTenant(c.Issuer, exampleTenant)); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		errs = append(errs, fmt.Errorf("invalid issuer %q: want an absolute URL such as https://front.example.com/uaa/{subdomain}", c.Issuer))
	}
	for one := range strings.FieldsSeq(c.Audience) {
		if strings.HasPrefix(one, frontAudience) {
			errs = append(errs, fmt.Errorf("invalid audience %q: endpoints could call the front with their tokens", one))
		}
	}
	return errs
}

// SetTenant sets the tenant of the run's job, in whose name tokens are got. A nil Auth ignores it.
func (a *Auth) SetTenant(t targets.Tenant) {
	if a != nil {
		a.tenant = t
	}
}

// errNoTenant is the error of a credential that needs a tenant.
var errNoTenant = errors.New("it is for jobs of a tenant of the SAP surface, and this job has none")

// checkTenant returns an error if the credential needs a tenant, and the job has none that fits
// into its texts.
func (a *Auth) checkTenant() error {
	texts := a.with.TokenURL + a.with.Issuer
	if (a.with.Kind == KindRunToken || strings.Contains(texts, tenantMark)) && a.tenant.ID == "" {
		return errNoTenant
	}
	if strings.Contains(texts, subdomainMark) && !isLabel(a.tenant.Subdomain) {
		return errors.New("the tenant of the job has no subdomain of letters, digits and hyphens")
	}
	return nil
}

// isLabel reports whether text is a label of a host name, so that it cannot change the host that it
// is inserted into.
func isLabel(text string) bool {
	return text != "" && len(text) <= 63 && text[0] != '-' && text[len(text)-1] != '-' &&
		strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// runClaims are the claims of a run's token. They are those of the tokens that the front issues.
type runClaims struct {
	jwt.RegisteredClaims
	Attributes struct {
		ZoneName string `json:"zdn"`
	} `json:"ext_attr"`
	ClientID  string   `json:"client_id"`
	Cid       string   `json:"cid"`
	Azp       string   `json:"azp"`
	GrantType string   `json:"grant_type"`
	ZoneID    string   `json:"zid"`
	Scope     []string `json:"scope"`
}

// signRunToken makes a token of the kind run-token.
func (a *Auth) signRunToken(scope string) (string, error) {
	parsed, err := parsePrivateKey(a.privateKey)
	if err != nil {
		return "", a.Error(err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok || key.N.BitLen() < minRunTokenBits {
		return "", a.Error(fmt.Errorf("invalid key: want an RSA key of at least %d bits", minRunTokenBits))
	}
	now := time.Now().Truncate(time.Second)
	c := runClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: forTenant(a.with.Issuer, a.tenant), Subject: a.with.ClientID, Audience: strings.Fields(a.with.Audience), ID: rand.Text(),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(runTokenLifetime)),
		},
		ClientID: a.with.ClientID, Cid: a.with.ClientID, Azp: a.with.ClientID, GrantType: "client_credentials",
		ZoneID: a.tenant.ID, Scope: append([]string{}, strings.Fields(scope)...),
	}
	c.Attributes.ZoneName = a.tenant.Subdomain
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, c)
	token.Header["kid"] = keyID(&key.PublicKey)
	text, err := token.SignedString(key)
	if err != nil {
		return "", a.Error(errPrivateKey)
	}
	return text, nil
}

// keyID returns the thumbprint of a key (RFC 7638), by which the front publishes it.
func keyID(key *rsa.PublicKey) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := fmt.Sprintf(`{"e":%q,"kty":"RSA","n":%q}`, encode(big.NewInt(int64(key.E)).Bytes()), encode(key.N.Bytes()))
	sum := sha256.Sum256([]byte(text))
	return encode(sum[:])
}
