package outbound

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Config is the object "outbound" of the agent's configuration file. The zero value allows public
// addresses only, and has no credentials.
type Config struct {
	// Allow lists what may be dialed although it is in a refused range: CIDR prefixes, addresses,
	// and host names, in which * stands for any run of characters. Metadata addresses of clouds,
	// such as 169.254.169.254, are only allowed by an entry that names the address alone.
	Allow []string `json:"allow"`
	// AllowPorts lists ports beside 80, 443 and 1024 to 65535.
	AllowPorts []int `json:"allow_ports"`
	// Proxy is the URL of a proxy (http, https or socks5), or env for the variables HTTP_PROXY,
	// HTTPS_PROXY and NO_PROXY. Default: no proxy, whatever the environment says.
	Proxy string `json:"proxy"`
	// ProxyCredential refers to the text USER:PASSWORD for the proxy: env:NAME or file:PATH.
	ProxyCredential string `json:"proxy_credential"`
	// TrustProxyACL must be true with a proxy: the proxy resolves the names of hosts, and so
	// decides which addresses are dialed. Names that resolve here are checked here as well.
	TrustProxyACL bool `json:"trust_proxy_acl"`
	// CA refers to PEM certificates of authorities that are trusted beside the system's: file:PATH.
	CA string `json:"ca"`
	// Servers are TLS settings for some hosts; the first entry that matches is used.
	Servers []Server `json:"servers"`
	// Credentials are the credentials that steps name in @credential_name.
	Credentials []Credential `json:"credentials"`

	// Azure gets the tokens of the kinds azure-managed-identity and azure-default; see package
	// azure. nil refuses these kinds.
	Azure func(ctx context.Context, request AzureRequest) (AzureToken, error) `json:"-"`
	// Resolver replaces the name service. It is only used together with Dialer.
	Resolver Resolver `json:"-"`
	// Dialer replaces TCP. The addresses that it is called with have passed the check.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
	// OnConnect is told how long a connection took to open, or to fail, and the class of the error;
	// empty for none. It must not block.
	OnConnect func(elapsed time.Duration, class targets.Class) `json:"-"`
}

// Server is the TLS configuration of some hosts.
type Server struct {
	// Match is a host or host:port, in which * stands for any run of characters.
	Match string `json:"match"`
	// TLS is verify (default) or insecure, which accepts any certificate.
	TLS string `json:"tls"`
	// CertificateSHA256 pins the certificate. Each pin is the SHA-256 of a certificate or of its
	// SubjectPublicKeyInfo, in hexadecimal digits with or without colons. One pin must match;
	// neither the authority nor the name is verified then.
	CertificateSHA256 []string `json:"certificate_sha256"`
}

// Values of Server.TLS.
const (
	tlsVerify   = "verify"
	tlsInsecure = "insecure"
)

// proxyEnvironment is the value of Config.Proxy that reads the environment.
const proxyEnvironment = "env"

// Resolver resolves names of hosts; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// AzureRequest is a request for a token of Microsoft Entra ID.
type AzureRequest struct {
	// Kind is KindManagedIdentity or KindAzureDefault.
	Kind CredentialKind
	// ClientID is that of a user-assigned identity; empty for the system-assigned one.
	ClientID string
	Scope    string
}

// AzureToken is a token of Microsoft Entra ID.
type AzureToken struct {
	Token   string
	Expires time.Time
}

// LoopbackAllowed is the value of Config.Allow that allows the machine itself.
func LoopbackAllowed() []string { return []string{"127.0.0.0/8", "::1/128"} }

// Validate reports all faults of c. The errors are *targets.ConfigError.
func (c Config) Validate() error {
	_, err := New(c)
	return err
}

// configError returns the error of a setting in the configuration file.
func configError(setting string, err error) error {
	return &targets.ConfigError{Subject: "outbound." + setting, Err: err}
}

// Network dials for actions, with the rules and the credentials of a Config. Safe for concurrent
// use.
type Network struct {
	cfg         Config
	guard       guard
	proxy       *url.URL
	roots       *x509.CertPool // nil means the system's
	servers     []serverTLS
	credentials map[string]Credential // by folded name
	tokens      tokenCache
	pairs       pairCache
}

// serverTLS is a parsed Server.
type serverTLS struct {
	match    hostPattern
	insecure bool
	pins     []string
}

// New validates the configuration, and reports all faults at once. It makes no connection.
func New(cfg Config) (*Network, error) {
	n := &Network{cfg: cfg, credentials: make(map[string]Credential, len(cfg.Credentials))}
	n.pairs.parsed.Most = maxPairs
	var errs []error
	fault := func(setting string, err error) {
		if err != nil {
			errs = append(errs, configError(setting, err))
		}
	}
	for i, entry := range cfg.Allow {
		fault(fmt.Sprintf("allow[%d]", i), n.guard.allow(entry))
	}
	for i, port := range cfg.AllowPorts {
		if port < 1 || port > 65535 {
			fault(fmt.Sprintf("allow_ports[%d]", i), fmt.Errorf("invalid port %d: want 1 to 65535", port))
		}
		n.guard.ports = append(n.guard.ports, uint16(port))
	}
	fault("proxy", n.parseProxy())
	if cfg.ProxyCredential != "" && !secretref.IsReference(cfg.ProxyCredential) {
		fault("proxy_credential", errWantReference)
	}
	var err error
	n.roots, err = readRoots(cfg.CA)
	fault("ca", err)
	for i, server := range cfg.Servers {
		one, err := server.parse()
		fault(fmt.Sprintf("servers[%d]", i), err)
		n.servers = append(n.servers, one)
	}
	for i, c := range cfg.Credentials {
		c.Hosts = slices.Clone(c.Hosts)
		if err := c.Validate(); err != nil {
			errs = append(errs, err)
		} else if _, taken := n.credentials[targets.FoldName(c.Name)]; taken {
			fault(fmt.Sprintf("credentials[%d]", i), fmt.Errorf("duplicate name %q", c.Name))
		} else if c.Kind.azure() && cfg.Azure == nil {
			fault(fmt.Sprintf("credentials[%d]", i), fmt.Errorf("credentials of kind %s are not available here", c.Kind))
		}
		n.credentials[targets.FoldName(c.Name)] = c
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return n, nil
}

// errWantReference does not repeat the text, which may be the secret itself.
var errWantReference = errors.New("invalid reference: want env:NAME or file:PATH, not the secret itself")

// parse returns the parsed settings.
func (s Server) parse() (serverTLS, error) {
	one := serverTLS{insecure: s.TLS == tlsInsecure}
	var errs []error
	var err error
	if one.match, err = parseHostPattern(s.Match); err != nil {
		errs = append(errs, err)
	}
	if s.TLS != "" && s.TLS != tlsVerify && s.TLS != tlsInsecure {
		errs = append(errs, fmt.Errorf("invalid tls %q: want %s or %s", s.TLS, tlsVerify, tlsInsecure))
	}
	for _, text := range s.CertificateSHA256 {
		pin := strings.ToLower(strings.ReplaceAll(text, ":", ""))
		if len(pin) != 64 || strings.Trim(pin, "0123456789abcdef") != "" {
			errs = append(errs, fmt.Errorf("invalid certificate_sha256 %q: want 64 hexadecimal digits", text))
		}
		one.pins = append(one.pins, pin)
	}
	if one.insecure && len(one.pins) > 0 {
		errs = append(errs, errors.New("tls insecure contradicts certificate_sha256"))
	}
	return one, errors.Join(errs...)
}

// Weaknesses lists the settings that expose requests to an attacker on the network. The agent logs
// them at each start.
func (n *Network) Weaknesses() []string {
	var list []string
	for _, s := range n.cfg.Servers {
		if s.TLS == tlsInsecure {
			list = append(list, fmt.Sprintf("outbound requests to %s accept any certificate (tls: insecure)", s.Match))
		}
	}
	for _, c := range n.cfg.Credentials {
		if c.AllowHTTP {
			list = append(list, fmt.Sprintf("%s may be sent without encryption (allow_http)", c))
		}
	}
	return list
}

// SecretReferences returns all references to secrets in c. The agent checks the modes of the files.
func (c Config) SecretReferences() []string {
	list := []string{c.ProxyCredential}
	for _, one := range c.Credentials {
		list = append(list, one.references()...)
	}
	return slices.DeleteFunc(list, func(ref string) bool { return ref == "" })
}
