package mssql_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/mitm"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// canary is the password of the login. An attacker on the network must not learn it.
const canary = "Canary-0f-the-wire"

// newServer starts an embedded server on which the password of sa is canary.
func newServer(t *testing.T) *tsqld.Server {
	t.Helper()
	server, err := tsqld.New(tsqld.Config{SAPassword: canary})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
	return server
}

// newProxy starts an attacker in front of a server.
func newProxy(t *testing.T, mode mitm.Mode, server *tsqld.Server, certificate *tls.Certificate) *mitm.Proxy {
	t.Helper()
	p, err := mitm.New(mode, server.Dialer(), certificate)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// signed returns a server certificate that this process trusts.
func signed(t *testing.T, names []string, change func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	c, err := authority.Sign(names, change)
	require.NoError(t, err)
	return c
}

// forged returns a certificate for the loopback address that this process does not trust.
func forged(t *testing.T) *tls.Certificate {
	t.Helper()
	stranger, err := mitm.NewAuthority()
	require.NoError(t, err)
	c, err := stranger.Sign([]string{"127.0.0.1"}, nil)
	require.NoError(t, err)
	return c
}

// setting is an encryption setting, for a connection string and for the configuration of targets.
type setting struct {
	name   string
	dsn    string // parameters
	config mssql.Config
}

// settings returns all encryption settings. The pins are those of the server's certificate.
func settings(certificate *x509.Certificate) []setting {
	right, key, wrong := mssql.CertificatePin(certificate), mssql.KeyPin(certificate), strings.Repeat("ab", 32)
	colons := strings.ToUpper(right[:2])
	for i := 2; i < len(right); i += 2 {
		colons += ":" + strings.ToUpper(right[i:i+2])
	}
	pinned := func(c mssql.Config, pins ...string) mssql.Config {
		c.CertificateSHA256 = pins
		return c
	}
	return []setting{
		{"absent", "", mssql.Config{}},
		{"true", "encrypt=true", mssql.Config{Encrypt: "true"}},
		{"strict", "encrypt=strict", mssql.Config{Encrypt: "strict"}},
		{"disable", "encrypt=disable", mssql.Config{Encrypt: "disable"}},
		{"trust", "TrustServerCertificate=true", mssql.Config{TrustServerCertificate: true}},
		{"trust strict", "encrypt=strict&TrustServerCertificate=true",
			mssql.Config{Encrypt: "strict", TrustServerCertificate: true}},
		{"pinned", "certificate_sha256=" + wrong + "," + colons, pinned(mssql.Config{}, wrong, colons)},
		{"pinned key", "certificate_sha256=" + key, pinned(mssql.Config{}, key)},
		{"pinned strict", "encrypt=strict&certificate_sha256=" + right, pinned(mssql.Config{Encrypt: "strict"}, right)},
		{"pinned wrong", "certificate_sha256=" + wrong, pinned(mssql.Config{}, wrong)},
		{"pinned wrong strict", "encrypt=strict&certificate_sha256=" + wrong, pinned(mssql.Config{Encrypt: "strict"}, wrong)},
	}
}

// try logs in at an address, with the connection string and as a target, and returns both errors.
func (s setting) try(t *testing.T, address string) map[string]error {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	dsn := (&url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", canary), Host: address, RawQuery: s.dsn}).String()
	byDSN, err := mssql.NewConnector(dsn, nil)
	require.NoError(t, err)
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", canary, "*"))
	require.NoError(t, err)
	cfg := s.config
	cfg.Credentials = set
	servers, err := mssql.NewServers(cfg)
	require.NoError(t, err)
	asTarget, err := servers.Connector(host+","+port, "master", "")
	require.NoError(t, err)
	errs := map[string]error{}
	for way, c := range map[string]*mssql.Connector{"connection string": byDSN, "target": asTarget} {
		conn, err := c.Connect(t.Context())
		if errs[way] = err; err == nil {
			require.NoError(t, conn.Close())
		}
	}
	return errs
}

// An attacker learns a password only if the setting disables encryption or accepts any certificate.
func TestManInTheMiddle(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	certificate, err := server.Certificate()
	require.NoError(t, err)
	impostor := forged(t)
	for _, mode := range mitm.Modes() {
		for _, s := range settings(certificate) {
			t.Run(string(mode)+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				proxy := newProxy(t, mode, server, impostor)
				// changes: the proxy interferes with the negotiation; accepted: the login succeeds
				// all the same.
				changes := mode != mitm.Pass
				strict := strings.Contains(s.name, "strict")
				if mode == mitm.Deny || mode == mitm.Lie || mode == mitm.Silent || mode == mitm.Insist {
					changes = !strict // there is no PRELOGIN to change
				}
				accepted := false
				switch s.name {
				case "disable": // the setting protects nothing
					accepted = mode != mitm.Silent && mode != mitm.Insist
				case "trust":
					accepted = mode == mitm.Pass || mode == mitm.End
				case "pinned", "pinned key", "pinned strict":
					accepted = !changes
				}
				for way, err := range s.try(t, proxy.Address()) {
					if accepted {
						require.NoError(t, err, way)
						continue
					}
					require.Error(t, err, way)
					if s.name != "disable" && s.name != "trust" {
						require.Contains(t, []targets.Class{targets.ClassConfig, targets.ClassLostConnection}, mssql.Classify(err).Class,
							"%s: %v", way, err)
					}
					require.NotContains(t, err.Error(), "\n")
					require.NotContains(t, err.Error(), canary)
				}
				require.Positive(t, proxy.Connections())
				require.Equal(t, accepted && (s.name == "disable" || s.name == "trust" && mode == mitm.End), proxy.Saw(canary),
					"what the one in between has learned")
				require.Equal(t, accepted && s.name == "disable", proxy.OnWire(canary), "what passed in clear")
			})
		}
	}
}

// Servers with a valid certificate are accepted without any encryption setting. Others are refused,
// and the error names the remedy.
func TestVerification(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	good := signed(t, []string{"127.0.0.1"}, nil)
	elsewhere := signed(t, []string{"sql9.example.com", "10.0.0.9"}, nil)
	old := signed(t, []string{"127.0.0.1"}, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	stranger := forged(t)
	type row struct {
		certificate *tls.Certificate
		want        []string // parts of the error; none means success
	}
	for name, r := range map[string]row{
		"trusted": {good, nil},
		"another name": {elsewhere,
			[]string{"is not for the name 127.0.0.1 but for sql9.example.com, 10.0.0.9", "hostNameInCertificate",
				mssql.CertificatePin(elsewhere.Leaf), "certificate_sha256"}},
		"expired": {old, []string{"is not valid", "expired", "renewed"}},
		"untrusted": {stranger, []string{"signed by an authority that this machine does not trust",
			"install the authority's certificate", mssql.CertificatePin(stranger.Leaf)}},
	} {
		for _, s := range settings(good.Leaf) {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				proxy := newProxy(t, mitm.End, server, r.certificate)
				want := r.want
				switch {
				case s.name == "trust" || s.name == "disable":
					want = nil
				case strings.HasPrefix(s.name, "pinned wrong"), strings.HasPrefix(s.name, "pinned") && r.certificate != good:
					want = []string{"not the one whose certificate is pinned", "SHA-256 " + mssql.CertificatePin(r.certificate.Leaf),
						"public key in it " + mssql.KeyPin(r.certificate.Leaf)}
				}
				for way, err := range s.try(t, proxy.Address()) {
					if want == nil {
						require.NoError(t, err, way)
						continue
					}
					var refused *mssql.EncryptionError
					require.ErrorAs(t, err, &refused, way)
					require.Equal(t, proxy.Address(), refused.Server)
					require.Equal(t, targets.ClassConfig, mssql.Classify(err).Class)
					for _, part := range want {
						require.ErrorContains(t, err, part, way)
					}
					require.NotContains(t, err.Error(), "\n")
				}
				require.Equal(t, want == nil, proxy.Saw(canary))
				require.Equal(t, s.name == "disable", proxy.OnWire(canary))
			})
		}
	}
}

// The errors of a server that does not encrypt, of one that requires encryption, and of an
// unreachable one differ.
func TestServerWithoutEncryption(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	proxy := newProxy(t, mitm.Deny, server, nil)
	for _, s := range []setting{{"absent", "", mssql.Config{}},
		{"trust", "TrustServerCertificate=yes", mssql.Config{TrustServerCertificate: true}}} {
		for way, err := range s.try(t, proxy.Address()) {
			var refused *mssql.EncryptionError
			require.ErrorAs(t, err, &refused, way)
			require.ErrorContains(t, err, "does not encrypt, or an attacker on the network answers for it; nothing was sent")
		}
	}
	require.False(t, proxy.Saw(canary))
	insists := newProxy(t, mitm.Insist, server, nil)
	for way, err := range (setting{"disable", "encrypt=disable", mssql.Config{Encrypt: "disable"}}).try(t,
		insists.Address()) {
		require.ErrorContains(t, err, "requires encryption: remove encrypt=disable", way)
	}
	require.False(t, insists.Saw(canary))
}

// Connection strings of every form have the same encryption.
func TestParseDSNEncryption(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0f", 32)
	for _, form := range []struct{ name, head, sep, assign string }{
		{"URL", "sqlserver://sa:hunter2@h?database=d", "&", "="},
		{"ADO", "server=h;user id=sa;password=hunter2;database=d", ";", "="},
		{"ODBC", "odbc:server=h;user id=sa;password={hunter2};database=d", ";", "="},
	} {
		read := func(options ...string) (mssql.DSN, error) {
			return mssql.ParseDSN(strings.Join(append([]string{form.head}, options...), form.sep))
		}
		for _, o := range []string{"", "encrypt=true", "Encrypt=Mandatory", "encrypt=yes", "encrypt=1", "encrypt=strict",
			"TrustServerCertificate=false", "certificate_sha256=" + hash,
			"encrypt=strict" + form.sep + "TrustServerCertificate=true"} {
			d, err := read(o)
			require.NoError(t, err, form.name+o)
			require.False(t, d.Encryption.Plain())
			require.False(t, d.Encryption.Unverified(), form.name+o)
			require.Empty(t, d.Weaknesses())
		}
		d, err := read("encrypt=DISABLE")
		require.NoError(t, err)
		require.True(t, d.Encryption.Plain())
		require.Equal(t, "encrypt=disable", d.Weaknesses()[0].Setting)
		for _, yes := range []string{"TrustServerCertificate=true", "trustservercertificate=yes",
			"encrypt=true" + form.sep + "TrustServerCertificate=1"} {
			d, err := read(yes)
			require.NoError(t, err)
			require.True(t, d.Encryption.Unverified(), form.name+yes)
			require.Equal(t, []string{"h", "TrustServerCertificate=true"},
				[]string{d.Weaknesses()[0].Servers, d.Weaknesses()[0].Setting})
		}
		for o, want := range map[string]string{
			"encrypt=false":                     "write true (or leave it out), strict, or disable",
			"encrypt=optional":                  "encrypts the login only",
			"Encrypt=NO":                        "encrypts the login only",
			"encrypt=0":                         "encrypts the login only",
			"encrypt=":                          "want true, strict or disable",
			"encrypt=hunter2":                   "want true, strict or disable",
			"TrustServerCertificate=hunter2":    "want true or false",
			"certificate_sha256=":               "64 hexadecimal digits",
			"certificate_sha256=hunter2":        "64 hexadecimal digits",
			"certificate_sha256=" + hash + "00": "64 hexadecimal digits",
			"certificate_sha256=" + hash + form.sep + "TrustServerCertificate=true": "contradicts trust in any certificate",
			"certificate_sha256=" + hash + form.sep + "encrypt=disable":             "encrypt=disable",
			"certificate=/nowhere/hunter2.pem":                                      "certificate cannot be read: no such file",
			"certificate=/etc/hostname":                                             "must end in .pem or .der",
			"servercertificate=/nowhere/hunter2.pem":                                "serverCertificate cannot be read: no such file",
			"tlsmin=1.0":                                                            "want 1.2 or 1.3",
		} {
			_, err := read(o)
			var config *targets.ConfigError
			require.ErrorAs(t, err, &config, form.name+o)
			require.ErrorContains(t, err, want, form.name+o)
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, err.Error(), "\n")
		}
	}
}

// Old servers' own certificates, which Go cannot parse, have an error text of their own.
func TestNegativeSerialNumber(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	serial := bytes.Repeat([]byte{0x11}, 16)
	certificate := signed(t, []string{"127.0.0.1"},
		func(c *x509.Certificate) { c.SerialNumber = new(big.Int).SetBytes(serial) })
	i := bytes.Index(certificate.Certificate[0], serial)
	require.Positive(t, i)
	certificate.Certificate[0] = bytes.Clone(certificate.Certificate[0])
	certificate.Certificate[0][i] |= 0x80
	proxy := newProxy(t, mitm.End, server, certificate)
	for way, err := range (setting{"trust", "TrustServerCertificate=true",
		mssql.Config{TrustServerCertificate: true}}).try(t, proxy.Address()) {
		require.ErrorContains(t, err, "its serial number is negative", way)
		require.ErrorContains(t, err, "GODEBUG=x509negativeserial=1", way)
	}
	require.False(t, proxy.Saw(canary))
}
