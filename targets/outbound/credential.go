package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/secretref"
)

// CredentialKind is the kind of a credential.
type CredentialKind string

const (
	// KindBasic sends user and password in the header Authorization.
	KindBasic CredentialKind = "basic"
	// KindAPIKey sends a secret in a header or, if it must be, in a query parameter.
	KindAPIKey CredentialKind = "api-key"
	// KindBearer sends a token that does not change.
	KindBearer CredentialKind = "bearer"
	// KindOAuth2 gets tokens with the client-credentials grant of OAuth 2.0.
	KindOAuth2 CredentialKind = "oauth2-client-credentials"
	// KindManagedIdentity gets tokens for the machine's managed identity in Azure.
	KindManagedIdentity CredentialKind = "azure-managed-identity"
	// KindAzureDefault gets tokens in the order of Azure's DefaultAzureCredential.
	KindAzureDefault CredentialKind = "azure-default"
	// KindRunToken signs a token of its own for the tenant of the run's job (S-52). The front
	// publishes the public half of the key.
	KindRunToken CredentialKind = "run-token"
	// KindClientCertificate presents a certificate in the TLS handshake.
	KindClientCertificate CredentialKind = "client-certificate"
	// KindStandardWebhooks signs requests (https://www.standardwebhooks.com).
	KindStandardWebhooks CredentialKind = "standard-webhooks"
	// KindSASToken is a shared access signature, of a storage queue for example.
	KindSASToken CredentialKind = "sas-token"
	// KindSharedAccessKey is a named key that signs, of a Service Bus namespace for example.
	KindSharedAccessKey CredentialKind = "shared-access-key"
)

// CredentialKinds returns every kind.
func CredentialKinds() []CredentialKind {
	return []CredentialKind{KindBasic, KindAPIKey, KindBearer, KindOAuth2, KindManagedIdentity, KindAzureDefault,
		KindRunToken, KindClientCertificate, KindStandardWebhooks, KindSASToken, KindSharedAccessKey}
}

// azure reports whether Microsoft Entra ID issues the tokens of a kind to the machine.
func (k CredentialKind) azure() bool { return k == KindManagedIdentity || k == KindAzureDefault }

// Values of Credential.ClientAuthentication.
const (
	clientBasic       = "basic"
	clientForm        = "form"
	clientPrivateKey  = "private-key-jwt"
	clientCertificate = "certificate"
)

// Credential is an entry of outbound.credentials in the agent's configuration file. A step names it
// in @credential_name; the control database holds only the name (I9). Every secret is a reference,
// env:NAME or file:PATH, and is read at each use, so that a changed secret needs no restart.
type Credential struct {
	// Name is the value of @credential_name; case is ignored.
	Name string `json:"name"`
	// Hosts are the patterns of the hosts that the credential may be sent to: host or host:port, in
	// which * stands for any run of characters, dots included. A pattern without a port covers
	// every port. At least one pattern is required; a lone * allows every host.
	Hosts []string `json:"hosts"`
	// AllowHTTP permits sending the credential without encryption.
	AllowHTTP bool `json:"allow_http"`
	// Kind decides which of the fields below are used.
	Kind CredentialKind `json:"kind"`
	// User is the user of basic, and the name of the key of shared-access-key.
	User string `json:"user"`
	// Secret is the password, key, token, client secret or signature, as a reference.
	Secret string `json:"secret"`
	// Header is the name of the header of api-key; default X-API-Key. Query is the name of a query
	// parameter in its place; addresses are written to many logs, so a header is better.
	Header string `json:"header"`
	Query  string `json:"query"`
	// TokenURL is where oauth2-client-credentials gets tokens. It is checked like the URL of an
	// action. {subdomain} and {tenant} stand for subdomain and ID of the tenant of the run's job;
	// then jobs without a tenant cannot use the credential.
	TokenURL string `json:"token_url"`
	// Issuer is the claim iss of run-token, with {subdomain} and {tenant} as in TokenURL:
	// <public_url>/uaa/{subdomain} of the front.
	Issuer string `json:"issuer"`
	// ClientID is the client of oauth2-client-credentials and of run-token, or a user-assigned
	// managed identity.
	ClientID string `json:"client_id"`
	// ClientAuthentication says how the client of oauth2-client-credentials authenticates: basic
	// (default), form, private-key-jwt or certificate.
	ClientAuthentication string `json:"client_authentication"`
	// Scope is requested from the token's issuer: of several, separated by blanks.
	Scope string `json:"scope"`
	// Audience and Parameters are further parameters of the request for a token. Audience is the
	// claim aud of run-token: of several, separated by blanks.
	Audience   string            `json:"audience"`
	Parameters map[string]string `json:"parameters"`
	// Certificate and Key are PEM texts, as references: the certificate of client-certificate and
	// of client_authentication certificate, and the key of private-key-jwt and of run-token, which
	// is an RSA key. An empty Key means that Certificate holds the key as well.
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	// Keys are the secrets of standard-webhooks as references, newest first: whsec_ and base64 for
	// HMAC, whsk_ and base64 for Ed25519. Each one makes a signature.
	Keys []string `json:"keys"`
}

// String returns name and kind, and never a reference to a secret.
func (c Credential) String() string { return fmt.Sprintf("credential %q (%s)", c.Name, c.Kind) }

// GoString implements fmt.GoStringer.
func (c Credential) GoString() string { return c.String() }

// references returns the references to secrets.
func (c Credential) references() []string {
	return append([]string{c.Secret, c.Certificate, c.Key}, c.Keys...)
}

// field is a field of a Credential with the name that it has in the configuration file.
type field struct {
	name string
	set  bool
}

// fields returns the fields whose use depends on the kind.
func (c Credential) fields() []field {
	return []field{
		{"user", c.User != ""}, {"secret", c.Secret != ""}, {"header", c.Header != ""}, {"query", c.Query != ""},
		{"token_url", c.TokenURL != ""}, {"issuer", c.Issuer != ""}, {"client_id", c.ClientID != ""},
		{"client_authentication", c.ClientAuthentication != ""}, {"scope", c.Scope != ""}, {"audience", c.Audience != ""},
		{"parameters", len(c.Parameters) > 0}, {"certificate", c.Certificate != ""}, {"key", c.Key != ""},
		{"keys", len(c.Keys) > 0},
	}
}

// uses returns the names of the fields that a kind requires, and of those that it may have.
func (c Credential) uses() (required, optional []string) {
	switch c.Kind {
	case KindBasic, KindSharedAccessKey:
		return []string{"user", "secret"}, nil
	case KindAPIKey:
		return []string{"secret"}, []string{"header", "query"}
	case KindBearer, KindSASToken:
		return []string{"secret"}, nil
	case KindRunToken:
		return []string{"key", "issuer", "audience", "client_id"}, []string{"scope"}
	case KindManagedIdentity:
		return nil, []string{"client_id", "scope"}
	case KindAzureDefault:
		return nil, []string{"scope"}
	case KindClientCertificate:
		return []string{"certificate"}, []string{"key"}
	case KindStandardWebhooks:
		return []string{"keys"}, nil
	case KindOAuth2:
		required = []string{"token_url", "client_id"}
		optional = []string{"client_authentication", "scope", "audience", "parameters"}
		switch c.ClientAuthentication {
		case clientPrivateKey:
			return append(required, "key"), append(optional, "certificate")
		case clientCertificate:
			return append(required, "certificate"), append(optional, "key")
		default:
			return append(required, "secret"), append(optional, "certificate", "key")
		}
	default:
		return nil, nil
	}
}

// Validate reports all faults of c.
func (c Credential) Validate() error {
	var errs []error
	if strings.TrimSpace(c.Name) == "" {
		errs = append(errs, errors.New("the name is missing"))
	}
	if len(c.Hosts) == 0 {
		errs = append(errs, errors.New(`the hosts are missing: want patterns of the hosts that it may be sent to ("*" for every host)`))
	}
	for _, text := range c.Hosts {
		if _, err := parseHostPattern(text); err != nil {
			errs = append(errs, err)
		}
	}
	if !slices.Contains(CredentialKinds(), c.Kind) {
		errs = append(errs, fmt.Errorf("invalid kind %q: want one of %v", c.Kind, CredentialKinds()))
	} else {
		required, optional := c.uses()
		for _, f := range c.fields() {
			switch {
			case slices.Contains(required, f.name) && !f.set:
				errs = append(errs, fmt.Errorf("%s is missing", f.name))
			case f.set && !slices.Contains(required, f.name) && !slices.Contains(optional, f.name):
				errs = append(errs, fmt.Errorf("kind %s has no %s", c.Kind, f.name))
			}
		}
	}
	for _, ref := range c.references() {
		if ref != "" && !secretref.IsReference(ref) {
			errs = append(errs, errWantReference)
		}
	}
	errs = append(errs, c.validateDetails()...)
	if len(errs) == 0 {
		return nil
	}
	return credentialError(c.Name, errors.Join(errs...))
}

// validateDetails reports the faults of fields that some kinds have.
func (c Credential) validateDetails() (errs []error) {
	if c.Header != "" && c.Query != "" {
		errs = append(errs, errors.New("header and query exclude each other"))
	}
	if c.Header != "" && !IsToken(c.Header) {
		errs = append(errs, fmt.Errorf("invalid header %q: want the name of a header", c.Header))
	}
	switch c.ClientAuthentication {
	case "", clientBasic, clientForm, clientPrivateKey, clientCertificate:
	default:
		errs = append(errs, fmt.Errorf("invalid client_authentication %q: want %s, %s, %s or %s",
			c.ClientAuthentication, clientBasic, clientForm, clientPrivateKey, clientCertificate))
	}
	if c.TokenURL != "" {
		if err := checkTokenURL(forTenant(c.TokenURL, exampleTenant), c.AllowHTTP); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Kind == KindRunToken {
		errs = append(errs, c.validateRunToken()...)
	}
	for name := range c.Parameters {
		if slices.Contains([]string{"grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type",
			"scope", "audience"}, name) {
			errs = append(errs, fmt.Errorf("invalid parameter %q: it has a field of its own", name))
		}
	}
	return errs
}

// checkTokenURL checks the URL of a token's issuer. The URL is not repeated, because it may hold a
// secret.
func checkTokenURL(text string, allowHTTP bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("invalid token_url: want an absolute URL without user and fragment")
	case u.Scheme != "https" && !(allowHTTP && u.Scheme == "http"):
		return fmt.Errorf("invalid token_url: the scheme is %q, want https", u.Scheme)
	default:
		return nil
	}
}

// IsToken reports whether text is a token of HTTP (RFC 9110, 5.6.2), such as the name of a header.
func IsToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return text != ""
}

// credentialError returns the error of a credential. Nothing was sent.
func credentialError(name string, err error) error {
	return &targets.ConfigError{Subject: fmt.Sprintf("credential %q", name), Err: err}
}

// lookUp returns the credential that a step names, if it may be sent to the URL.
func (n *Network) lookUp(name string, u *url.URL) (Credential, error) {
	c, known := n.credentials[targets.FoldName(name)]
	if !known {
		return Credential{}, credentialError(name, errors.New("the agent's configuration has no such credential in outbound.credentials; "+
			"the control database holds its name only"))
	}
	host, port, err := originOf(u)
	if err != nil {
		return Credential{}, err
	}
	covered := slices.ContainsFunc(c.Hosts, func(text string) bool {
		pattern, err := parseHostPattern(text)
		return err == nil && pattern.covers(host, port)
	})
	if !covered {
		return Credential{}, credentialError(name, fmt.Errorf("it may not be sent to %s; its hosts are %s",
			u.Host, strings.Join(c.Hosts, ", ")))
	}
	revealing := c.Kind != KindStandardWebhooks && c.Kind != KindClientCertificate && c.Kind != KindSharedAccessKey
	if u.Scheme == "http" && revealing && !c.AllowHTTP {
		return Credential{}, credentialError(name, errors.New("it may not be sent without encryption: "+
			"use https, or set allow_http of the credential"))
	}
	return c, nil
}

// originOf returns host and port of a URL in normal form.
func originOf(u *url.URL) (host string, port uint16, err error) {
	text := u.Port()
	if text == "" {
		text = map[string]string{"http": "80", "https": "443", "amqps": "5671", "amqp": "5672"}[u.Scheme]
	}
	return splitAddress(net.JoinHostPort(u.Hostname(), text))
}
