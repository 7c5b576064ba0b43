package scheduler

import (
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	actions "github.com/jobagent/jobagent/jobs/action"
)

// secretHeaders have secret values; definitions hold them by reference only.
var secretHeaders = []string{"authorization", "cookie", "x-functions-key", "x-api-key"}

// ownHeaders are set by agents, so a job's own header of the same name loses.
var ownHeaders = []string{
	"x-ms-scheduler-jobid", "x-ms-scheduler-jobcollectionid", "x-ms-scheduler-expected-execution-time", "x-ms-execution-tag",
	"x-ms-client-request-id", "x-ms-region", "content-length", "connection", "transfer-encoding",
}

// request translates an HTTP request. Secrets in it are new, or those of the stored request.
func (t *translator) request(path, kind string, q *request, old former) *actions.HTTP {
	was := &actions.HTTP{}
	if old.definition != nil && old.definition.HTTP != nil {
		was = old.definition.HTTP
	}
	q.Method = strings.TrimSpace(q.Method)
	if q.Method == "" {
		q.Method = "GET"
	}
	scheme, _, _ := strings.Cut(strings.ToLower(q.URI), ":")
	if q.URI != "" && scheme != strings.ToLower(kind) {
		t.fault(path+".uri", "Invalid uri: an action of the type %s has a URI that begins with %s://.", kind, strings.ToLower(kind))
	}
	if n := utf8.RuneCountInString(q.URI); n > maxURI {
		t.fault(path+".uri", "Invalid uri of %d characters: want at most %d.", n, maxURI)
	}
	d := &actions.HTTP{
		Method: strings.ToUpper(q.Method), Success: actions.Success{Preset: actions.PresetAzure}, ResponseTimeout: time.Minute,
		AllowHTTP: scheme == "http",
	}
	uri := splitSignature(q.URI)
	d.URL = literal(uri.before)
	d.Auth = t.authentication(path+".authentication", q) // before the hosts, which it may add to
	hosts := hostsOf(&actions.Definition{HTTP: &actions.HTTP{URL: d.URL, Auth: d.Auth}})
	if uri.found {
		formerURI := splitSignature(was.URL)
		d.URL += t.secret(path+".uri", true, unescaped(uri.value),
			keeper{was: formerURI.found, template: formerURI.value, same: plain(formerURI.before) == uri.before, hosts: old.hosts}, hosts)
		d.URL += literal(uri.after)
		q.URI = uri.before + masked + uri.after
	}
	t.authenticationSecrets(path+".authentication", q, d.Auth, old, hosts)
	t.headers(path+".headers", q, d, was, old, hosts)
	text := t.bodyText(path+".body", q.Body)
	if d.Method != "GET" && d.Method != "HEAD" { // these have none
		d.Body = []byte(text)
	}
	return d
}

// headers translates the headers of a request.
func (t *translator) headers(path string, q *request, d, was *actions.HTTP, old former, hosts []string) {
	length := 0
	for name, value := range q.Headers {
		length += utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
	}
	if len(q.Headers) > maxHeaders {
		t.fault(path, "Invalid list of %d headers: want at most %d.", len(q.Headers), maxHeaders)
	}
	if length > maxHeaderLength {
		t.fault(path, "Invalid headers of %d characters: want at most %d together.", length, maxHeaderLength)
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		value, lower := q.Headers[name], strings.ToLower(name)
		if slices.Contains(ownHeaders, lower) {
			continue
		}
		if !slices.Contains(secretHeaders, lower) {
			d.Headers = append(d.Headers, actions.Field{Name: name, Value: literal(value)})
			continue
		}
		kept := keeper{same: true, hosts: old.hosts}
		for _, h := range was.Headers {
			if strings.EqualFold(h.Name, name) {
				kept.was, kept.template = true, h.Value
			}
		}
		d.Headers = append(d.Headers, actions.Field{Name: name, Value: t.secret(path+"."+name, true, value, kept, hosts)})
		q.Headers[name] = masked
	}
	if t.region != "" {
		d.Headers = append(d.Headers, actions.Field{Name: "x-ms-region", Value: literal(t.region)})
	}
}

// signature is a text with a shared access signature: the value of the parameter sig of its query.
type signature struct {
	before, value, after string
	found                bool
}

// splitSignature finds the signature of a URL. Without one, before is the whole text.
func splitSignature(text string) signature {
	i := strings.IndexByte(text, '?')
	for i >= 0 && i < len(text) {
		name, _, _ := strings.Cut(text[i+1:], "=")
		if strings.EqualFold(name, "sig") && i+1+len(name) < len(text) {
			from := i + 1 + len(name) + 1
			to := len(text)
			if end := strings.IndexAny(text[from:], "&#"); end >= 0 {
				to = from + end
			}
			return signature{before: text[:from], value: text[from:to], after: text[to:], found: to > from}
		}
		next := strings.IndexByte(text[i+1:], '&')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return signature{before: text}
}

// unescaped returns a value of a query without its escapes: the agent escapes values of templates.
func unescaped(text string) string {
	if value, err := url.PathUnescape(text); err == nil {
		return value
	}
	return text
}

// authenticationKinds are the types of authentication in their canonical spelling.
var authenticationKinds = []string{"NotSpecified", "ClientCertificate", "Basic", "ActiveDirectoryOAuth"}

// authentication translates the public half of an authentication; nil means that there is none.
func (t *translator) authentication(path string, q *request) *actions.Auth {
	a := q.Authentication
	if a == nil {
		return nil
	}
	kind, ok := canonical(a.Type, authenticationKinds...)
	if !ok {
		t.fault(path+".type", "Invalid type '%.40s' of the authentication: want %s.", a.Type, strings.Join(authenticationKinds, ", "))
		return nil
	}
	need := func(name, value string) {
		if value == "" {
			t.fault(path+"."+name, "Missing %s: an authentication of the type %s needs it.", name, kind)
		}
	}
	switch kind {
	case "Basic":
		need("username", a.Username)
		return &actions.Auth{Kind: "basic", Username: literal(a.Username)}
	case "ActiveDirectoryOAuth":
		need("tenant", a.Tenant)
		need("audience", a.Audience)
		need("clientId", a.ClientID)
		return &actions.Auth{
			Kind: "oauth2-client-credentials", TokenURL: t.cfg.Authority + "/" + literal(url.PathEscape(a.Tenant)) + "/oauth2/v2.0/token",
			ClientID: literal(a.ClientID), Scope: literal(a.Audience) + "/.default",
		}
	case "ClientCertificate":
		return &actions.Auth{Kind: "client-certificate"}
	}
	q.Authentication = nil // NotSpecified
	return nil
}

// authenticationSecrets completes an authentication with its secret, and makes of the request's
// what answers show.
func (t *translator) authenticationSecrets(path string, q *request, d *actions.Auth, old former, hosts []string) {
	a := q.Authentication
	if d == nil || a == nil {
		return
	}
	was, shown := &actions.Auth{}, &authentication{}
	if old.definition != nil && old.definition.HTTP != nil && old.definition.HTTP.Auth != nil {
		was = old.definition.HTTP.Auth
	}
	if old.shown != nil && old.shown.Request != nil && old.shown.Request.Authentication != nil {
		shown = old.shown.Request.Authentication
	}
	kept := keeper{was: was.Kind == d.Kind, hosts: old.hosts}
	switch d.Kind {
	case "basic":
		kept.template, kept.same = was.Password, was.Username == d.Username
		d.Password = t.secret(path+".password", a.Password.Set, a.Password.Value, kept, hosts)
		q.Authentication = &authentication{Type: "Basic", Username: a.Username}
	case "oauth2-client-credentials":
		kept.template, kept.same = was.ClientSecret, was.ClientID == d.ClientID && was.TokenURL == d.TokenURL
		d.ClientSecret = t.secret(path+".secret", a.Secret.Set, a.Secret.Value, kept, hosts)
		q.Authentication = &authentication{Type: "ActiveDirectoryOAuth", Tenant: a.Tenant, Audience: a.Audience, ClientID: a.ClientID}
	case "client-certificate":
		if !a.PFX.Set {
			kept.template = was.Certificate
			kept.same = a.Thumbprint == "" || strings.EqualFold(a.Thumbprint, shown.Thumbprint)
			d.Certificate = t.secret(path+".pfx", false, "", kept, hosts)
			q.Authentication = shown
			return
		}
		bundle, public, err := openPFX(a.PFX.Value, a.Password.Value, t.now())
		if err != nil {
			t.fault(path+".pfx", "Invalid pfx: %s.", err)
			d.Certificate = "$(secret.missing)"
			return
		}
		d.Certificate = t.seal(bundle, hosts)
		q.Authentication = public
	}
}

// openPFX opens a PFX with its password. It returns the key and the certificates as PEM, and what
// answers show of the certificate. The error shows nothing of the secrets.
func openPFX(text, password string, now time.Time) (bundle string, public *authentication, err error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || len(data) == 0 {
		return "", nil, fmt.Errorf("want base64")
	}
	key, cert, chain, err := decodePFX(data, password)
	if errors.Is(err, errIterations) {
		return "", nil, err
	}
	if err != nil {
		return "", nil, fmt.Errorf("want a PKCS #12 file with a private key and its certificate, and the right password")
	}
	if now.After(cert.NotAfter) {
		return "", nil, fmt.Errorf("the certificate expired on %s", shownTime(cert.NotAfter))
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, fmt.Errorf("the type of its private key is not supported")
	}
	var b strings.Builder
	for _, c := range append([]*x509.Certificate{cert}, chain...) {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a Builder never fails
	}
	_ = pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	thumbprint := sha1.Sum(cert.Raw) //nolint:gosec // the thumbprint of Windows is SHA-1
	expires := shownTime(cert.NotAfter)
	return b.String(), &authentication{
		Type: "ClientCertificate", Thumbprint: strings.ToUpper(hex.EncodeToString(thumbprint[:])), Subject: cert.Subject.String(),
		ExpirationDate: expires, Expiration: expires,
	}, nil
}
