package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
)

const (
	// leeway is how far the clocks of issuers may be off.
	leeway = 60 * time.Second
	// maxToken bounds the length of a token, in bytes.
	maxToken = 16 << 10
	// maxGroups bounds the groups and roles of a token. Entra names at most 200 groups.
	maxGroups = 400
)

// algorithms are the algorithms of signatures that are accepted. HMAC and none are not among them:
// with HMAC, a public key could serve as the secret.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"}

// texts is a claim that is a text or a list of texts. Anything else makes it empty.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	*t = nil
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = texts{one}
		return nil
	}
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*t = list
	}
	return nil
}

// claims are the claims of a token that the front reads.
type claims struct {
	jwt.RegisteredClaims
	ObjectID    string `json:"oid"`
	AppID       string `json:"appid"`
	AuthorizedP string `json:"azp"`
	ClientID    string `json:"client_id"`
	IDType      string `json:"idtyp"`
	GrantType   string `json:"grant_type"`
	TenantID    string `json:"tid"`
	ZoneID      string `json:"zid"`
	AppTenant   string `json:"app_tid"`
	UPN         string `json:"upn"`
	Username    string `json:"preferred_username"`
	UserName    string `json:"user_name"`
	Email       string `json:"email"`
	Groups      texts  `json:"groups"`
	Roles       texts  `json:"roles"`
	Scp         texts  `json:"scp"`
	Scope       texts  `json:"scope"`
	Nonce       string `json:"nonce"` // of ID tokens
}

// claimNames are the names of the claims that the front reads.
var claimNames = func() (names []string) {
	for _, of := range []reflect.Type{reflect.TypeFor[claims](), reflect.TypeFor[jwt.RegisteredClaims]()} {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}()

// UnmarshalJSON implements json.Unmarshaler. Names of claims are case-sensitive (RFC 7519, 10.1.1)
// and occur once: encoding/json alone would take "SUB" for "sub", and the last of two.
func (c *claims) UnmarshalJSON(text []byte) error {
	members, err := uniqueMembers(text)
	if err != nil {
		return err
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !slices.Contains(claimNames, name) })
	known, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("decode claims: %w", err)
	}
	type plain claims // without this method
	return json.Unmarshal(known, (*plain)(c))
}

// uniqueMembers returns the members of a JSON object. No object in the text has two members of the
// same name.
func uniqueMembers(text []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := body.Decode(text, &members, body.Options{}); err != nil {
		return nil, errForm
	}
	return members, nil
}

// tenant returns the tenant that a token names.
func (c *claims) tenant() string {
	for _, one := range []string{c.ZoneID, c.AppTenant, c.TenantID} {
		if one != "" {
			return one
		}
	}
	return ""
}

// application returns the client for which a token was issued, if the client got it for itself and
// not for a user. Claims of users' tokens name the client as well: that of the command line, for
// example, which everybody uses.
func (c *claims) application() string {
	id := ""
	for _, one := range []string{c.AppID, c.AuthorizedP, c.ClientID} {
		if one != "" {
			id = one
			break
		}
	}
	switch {
	case id == "":
		return ""
	case c.IDType != "":
		if c.IDType != "app" {
			return ""
		}
	case c.GrantType != "":
		if c.GrantType != "client_credentials" {
			return ""
		}
	case c.ObjectID != "": // Entra: the subject of an application's token is its object
		if c.ObjectID != c.Subject || len(c.Scp) > 0 {
			return ""
		}
	case c.Subject != id:
		return ""
	}
	return id
}

// verifier verifies the tokens of a list of issuers.
type verifier struct {
	issuers []trusted
	now     func() time.Time
}

// trusted is an issuer with its keys.
type trusted struct {
	Issuer
	keys keySource
	// instance is the instance of the SAP surface whose issuer it is.
	instance string
	// own marks the front's own issuer. Its claim iss is Issuer and the name of a tenant.
	own bool
}

// audience reports whether a list of audiences has one of the issuer's.
func (t trusted) audience(list []string) bool {
	return slices.ContainsFunc(list, func(aud string) bool {
		return slices.ContainsFunc(t.Audiences, func(want string) bool {
			return strings.TrimSuffix(aud, "/") == strings.TrimSuffix(want, "/")
		})
	})
}

// covers reports whether iss is the claim of this issuer.
func (t trusted) covers(iss string, tenant string) bool {
	if t.own {
		name, ok := strings.CutPrefix(iss, t.Issuer.Issuer)
		return ok && name != "" && !strings.ContainsAny(name, "/?#")
	}
	if strings.Contains(t.Issuer.Issuer, tenantMark) {
		return slices.Contains(t.Tenants, tenant) && strings.ReplaceAll(t.Issuer.Issuer, tenantMark, tenant) == iss
	}
	before, after, pattern := strings.Cut(t.Issuer.Issuer, "://*.")
	if !pattern {
		return t.Issuer.Issuer == iss
	}
	rest, ok := strings.CutPrefix(iss, before+"://")
	if !ok {
		return false
	}
	label, ok := strings.CutSuffix(rest, "."+after)
	return ok && label != "" && !strings.ContainsAny(label, "./?#@:\\")
}

// The reasons for which a token is refused. They are told to the caller, so they hold nothing of
// the token.
var (
	errForm      = errors.New("it is not a JSON Web Token")
	errAlgorithm = errors.New("its algorithm is not accepted")
	errHeader    = errors.New("its header is not accepted")
	errIssuer    = errors.New("its issuer is not trusted")
	errExpired   = errors.New("it has expired")
	errEarly     = errors.New("it is not valid yet")
	errExpiry    = errors.New("it lacks a valid expiry")
	errAudience  = errors.New("its audience is another one")
	errTenant    = errors.New("its tenant is not accepted")
	errSignature = errors.New("its signature is wrong")
	errSubject   = errors.New("it lacks the name of a caller")
)

// verify verifies a token. The error is one of the reasons above, errUnknownKey or errNoKeys.
func (v *verifier) verify(ctx context.Context, text string) (*claims, *trusted, error) {
	if len(text) > maxToken || strings.Count(text, ".") != 2 {
		return nil, nil, errForm
	}
	var issuer *trusted
	c := &claims{}
	parser := jwt.NewParser(
		jwt.WithValidMethods(algorithms), jwt.WithLeeway(leeway), jwt.WithTimeFunc(v.now), jwt.WithExpirationRequired(), jwt.WithStrictDecoding(),
	)
	header, _, _ := strings.Cut(text, ".")
	if decoded, err := parser.DecodeSegment(header); err != nil {
		return nil, nil, errForm
	} else if _, err := uniqueMembers(decoded); err != nil {
		return nil, nil, err
	}
	_, err := parser.ParseWithClaims(text, c, func(t *jwt.Token) (any, error) {
		if err := checkHeader(t.Header); err != nil {
			return nil, err
		}
		if issuer = v.find(c); issuer == nil {
			return nil, errIssuer
		}
		id, _ := t.Header["kid"].(string)
		found, err := issuer.keys.key(ctx, id)
		if err != nil {
			return nil, err
		}
		if !fits(found, t.Method.Alg()) {
			return nil, errAlgorithm
		}
		return found.key, nil
	})
	if err != nil {
		return nil, nil, reason(err)
	}
	if !issuer.audience(c.Audience) {
		return nil, nil, errAudience
	}
	if len(issuer.Tenants) > 0 && !slices.Contains(issuer.Tenants, c.tenant()) {
		return nil, nil, errTenant
	}
	return c, issuer, nil
}

// find returns the issuer of a token, or nil. Two instances may trust the same issuer; the audience
// tells their tokens apart.
func (v *verifier) find(c *claims) (found *trusted) {
	for i := range v.issuers {
		one := &v.issuers[i]
		if !one.covers(c.Issuer, c.tenant()) {
			continue
		}
		if one.audience(c.Audience) {
			return one
		}
		if found == nil {
			found = one
		}
	}
	return found
}

// checkHeader checks the header of a token, except its algorithm. The members jku, jwk, x5u and
// x5c, with which a token brings its own key, are not read.
func checkHeader(h map[string]any) error {
	if _, ok := h["crit"]; ok { // extensions that a verifier must support (RFC 7515, 4.1.11)
		return errHeader
	}
	typ, ok := h["typ"]
	if !ok {
		return nil
	}
	switch name, _ := typ.(string); strings.TrimPrefix(strings.ToLower(name), "application/") {
	case "jwt", "at+jwt":
		return nil
	default: // another kind of token of the same issuer, such as logout+jwt
		return errHeader
	}
}

// fits reports whether a key may be used with an algorithm.
func fits(k publicKey, algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm {
		return false
	}
	switch key := k.key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return algorithm == fmt.Sprintf("ES%d", key.Curve.Params().BitSize)
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	default:
		return false
	}
}

// reason returns the reason for which package jwt refuses a token.
func reason(err error) error {
	for _, one := range []error{errAlgorithm, errHeader, errIssuer, errUnknownKey, errNoKeys} {
		if errors.Is(err, one) {
			return one
		}
	}
	for _, one := range []struct{ is, reason error }{
		// Only a token whose signature is right gets this far.
		{jwt.ErrTokenExpired, errExpired}, {jwt.ErrTokenNotValidYet, errEarly}, {jwt.ErrTokenUsedBeforeIssued, errEarly},
		{jwt.ErrTokenRequiredClaimMissing, errExpiry}, {jwt.ErrTokenInvalidClaims, errExpiry},
	} {
		if errors.Is(err, one.is) {
			return one.reason
		}
	}
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return errForm
	case errors.Is(err, jwt.ErrTokenSignatureInvalid) && strings.Contains(err.Error(), "signing method"):
		return errAlgorithm
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return errSignature
	default:
		return errAlgorithm // no method, or a key that does not fit it
	}
}

// principal returns the caller that verified claims name.
func (c *claims) principal(issuer *trusted) (rest.Principal, error) {
	at := ""
	if issuer.Name != "" {
		at = "@" + issuer.Name
	}
	var p rest.Principal
	application := c.application()
	switch {
	case c.ObjectID != "":
		p.ID = "oid:" + c.ObjectID + at
		if application != "" {
			p.Groups = append(p.Groups, "app:"+application+at)
		}
	case application != "":
		p.ID = "app:" + application + at
	case c.Subject != "":
		p.ID = "sub:" + c.Subject + at
	default:
		return p, errSubject
	}
	p.ID = foldID(p.ID)
	for _, name := range []string{c.UPN, c.Username, c.UserName, c.Email} {
		if name != "" {
			p.Name = name
			break
		}
	}
	p.Name = displayName(p.Name, p.ID)
	for _, g := range c.Groups {
		p.Groups = append(p.Groups, "group:"+g+at)
	}
	for _, r := range c.Roles {
		p.Groups = append(p.Groups, "role:"+r+at)
	}
	if len(p.Groups) > maxGroups {
		p.Groups = p.Groups[:maxGroups]
	}
	p.Tenant = c.tenant()
	return p, nil
}

// scopes returns the scopes of a token of the SAP surface.
func (c *claims) scopes(issuer *trusted) []string {
	all := append(slices.Clone(c.Scope), c.Scp...)
	if len(all) == 0 {
		return issuer.DefaultScopes
	}
	var list []string
	for _, text := range all {
		for one := range strings.FieldsSeq(text) {
			if name, ok := strings.CutPrefix(one, issuer.ScopePrefix); ok {
				list = append(list, name)
			}
		}
	}
	return list
}

// maxName bounds the name of a caller, in characters: the history stores 128.
const maxName = 128

// displayName returns how a caller is called in logs and in the audit. At some issuers, users
// choose the names in their tokens, so the ID is always there.
func displayName(name, id string) string {
	id, name = printable(id), printable(name)
	room := maxName - len([]rune(id)) - len(" ()")
	if name == "" || room < 8 {
		return id
	}
	if runes := []rune(name); len(runes) > room {
		name = string(runes[:room])
	}
	return name + " (" + id + ")"
}

// printable returns the beginning of a text without control characters.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	return name
}
