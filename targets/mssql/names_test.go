package mssql

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/mitm"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// network is a dialer that leads each address to a proxy on loopback. It records the dialed
// addresses.
type network struct {
	proxies map[string]*mitm.Proxy // by host; "": all others
	down    string                 // a host that does not answer

	mu     sync.Mutex
	dialed []string
}

func (n *network) DialContext(ctx context.Context, protocol, addr string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialed = append(n.dialed, protocol+" "+addr)
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if protocol == "udp" {
		ours, theirs := net.Pipe()
		go func() { // ends with the pipe
			defer theirs.Close()
			browse(theirs, "SALES", "1500")
		}()
		return ours, nil
	}
	if host == n.down {
		return nil, errors.New("nobody is there")
	}
	p := n.proxies[host]
	if p == nil {
		p = n.proxies[""]
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", p.Address())
}

func (n *network) HostName() string { return "" }

// front starts a proxy in front of a server, with a certificate for names.
func front(t *testing.T, authority *mitm.Authority, server mitm.Dialer, names ...string) *mitm.Proxy {
	t.Helper()
	certificate, err := authority.Sign(names, nil)
	require.NoError(t, err)
	p, err := mitm.New(mitm.End, server, certificate)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// newAuthorityFile returns an authority and a file with its certificate.
func newAuthorityFile(t *testing.T) (*mitm.Authority, string) {
	t.Helper()
	authority, err := mitm.NewAuthority()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(file, authority.PEM(), 0o600))
	return authority, file
}

// A server's name in any form leads to the same address as without encryption, and the certificate
// must be for it.
func TestNamesUnderTLS(t *testing.T) {
	t.Parallel()
	authority, file := newAuthorityFile(t)
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
	proxy := func(t *testing.T) *mitm.Proxy {
		return front(t, authority, server.Dialer(), "db.example.com", "partner.example.com", "::1", "10.0.0.7")
	}
	const nameless = "-" // SNI has no addresses
	for _, c := range []struct{ text, dialed, asked, refused string }{
		{"sqlserver://sa:secret@db.example.com", "tcp db.example.com:1433", "db.example.com", ""},
		{"sqlserver://sa:secret@db.example.com:1444", "tcp db.example.com:1444", "db.example.com", ""},
		{"sqlserver://sa:secret@DB.example.COM.:1444", "tcp DB.example.COM.:1444", "DB.example.COM", ""},
		{"sqlserver://sa:secret@db.example.com/sales", "udp db.example.com:1434, tcp db.example.com:1500", "db.example.com",
			""},
		{"sqlserver://sa:secret@db.example.com:1444/sales", "tcp db.example.com:1444", "db.example.com", ""},
		{"sqlserver://sa:secret@[::1]:1444", "tcp [::1]:1444", nameless, ""},
		{"sqlserver://sa:secret@[::1]", "tcp [::1]:1433", nameless, ""},
		{"sqlserver://sa:secret@10.0.0.7", "tcp 10.0.0.7:1433", nameless, ""},
		{"sqlserver://sa:secret@db.example.com?ApplicationIntent=ReadOnly&database=master", "tcp db.example.com:1433",
			"db.example.com", ""},
		{"sqlserver://sa:secret@db.example.com?MultiSubnetFailover=true", "tcp db.example.com:1433", "db.example.com", ""},
		{"sqlserver://sa:secret@10.1.1.1?hostNameInCertificate=db.example.com", "tcp 10.1.1.1:1433", "db.example.com", ""},
		{"sqlserver://sa:secret@down?failoverpartner=partner.example.com", "tcp down:1433, tcp partner.example.com:1433",
			"partner.example.com", ""},
		{"server=tcp:db.example.com,1444;user id=sa;password=secret", "tcp db.example.com:1444", "db.example.com", ""},
		{`server=db.example.com\sales;user id=sa;password=secret;Encrypt=strict`,
			"udp db.example.com:1434, tcp db.example.com:1500", "db.example.com", ""},
		{"odbc:server=db.example.com;user id=sa;password={secret};encrypt=mandatory", "tcp db.example.com:1433",
			"db.example.com", ""},
		{"sqlserver://sa:secret@other.example.com", "tcp other.example.com:1433", "other.example.com",
			"not for the name other.example.com but for db.example.com, partner.example.com, ::1, 10.0.0.7"},
		{"sqlserver://sa:secret@[::2]:1444", "tcp [::2]:1444", nameless, "not for the name ::2 but for"},
		{"sqlserver://sa:secret@down?failoverpartner=other.example.com", "tcp down:1433, tcp other.example.com:1433",
			"other.example.com", "not for the name other.example.com"},
		{"sqlserver://sa:secret@db.example.com?hostNameInCertificate=other.example.com", "tcp db.example.com:1433",
			"other.example.com", "not for the name other.example.com"},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			n := &network{proxies: map[string]*mitm.Proxy{"": proxy(t)}, down: "down"}
			text := c.text
			if strings.HasPrefix(text, "sqlserver:") {
				u, err := url.Parse(text)
				require.NoError(t, err)
				q := u.Query()
				q.Set("certificate", file)
				u.RawQuery = q.Encode()
				text = u.String()
			} else {
				text += ";certificate=" + file
			}
			connector, err := NewConnector(text, n)
			require.NoError(t, err)
			conn, err := connector.Connect(t.Context())
			if c.refused == "" {
				require.NoError(t, err)
				require.NoError(t, conn.Close())
			} else {
				require.ErrorContains(t, err, c.refused)
				require.False(t, n.proxies[""].Saw("secret"))
			}
			require.Equal(t, c.dialed, strings.Join(n.dialed, ", "))
			asked := strings.Join(n.proxies[""].Names(), ", ")
			if c.asked == nameless {
				require.Empty(t, asked)
			} else {
				require.Equal(t, c.asked, asked)
			}
		})
	}
}

// The same holds for the names of targets.
func TestTargetNamesUnderTLS(t *testing.T) {
	t.Parallel()
	authority, _ := newAuthorityFile(t)
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
	pinned := front(t, authority, server.Dialer(), "nobody.example.com")
	for name, dialed := range map[string]string{
		"h": "tcp h:1433", "tcp:h,1444": "tcp h:1444", `h\sales`: "udp h:1434, tcp h:1500", "::1,1444": "tcp [::1]:1444",
		"[::1]": "tcp [::1]:1433", "10.0.0.7": "tcp 10.0.0.7:1433",
	} {
		for _, encrypt := range []string{"", "strict"} {
			n := &network{proxies: map[string]*mitm.Proxy{"": pinned}}
			s := testServers(t, Config{Dialer: n, Encrypt: encrypt, CertificateSHA256: []string{pinned.Pin()}},
				LoginCredential("default", "sa", "secret", "*"))
			session, err := s.open(t.Context(), name, "master", "")
			require.NoError(t, err, name)
			require.Positive(t, session.spid(), "the session id is on the wire")
			session.close()
			require.Equal(t, dialed, strings.Join(n.dialed, ", "))
		}
	}
}

// dialerFunc is a server that a function plays.
type dialerFunc func(net.Conn)

func (f dialerFunc) DialContext(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() { // ends with the pipe
		defer theirs.Close()
		f(theirs)
	}()
	return ours, nil
}

// A redirect of a verified server is followed. The next server must have a certificate for the name
// in the redirect.
func TestRoutingUnderTLS(t *testing.T) {
	t.Parallel()
	authority, file := newAuthorityFile(t)
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
	for _, encrypt := range []string{"true", "strict"} {
		for name, second := range map[string]string{"Right": "b.example.com", "Wrong": "a.example.com"} {
			t.Run(name+"/"+encrypt, func(t *testing.T) {
				t.Parallel()
				n := &network{proxies: map[string]*mitm.Proxy{
					"a.example.com": front(t, authority, dialerFunc(func(c net.Conn) { sendOn(c, "b.example.com", 11000) }),
						"a.example.com"),
					"b.example.com": front(t, authority, server.Dialer(), second),
				}}
				connector, err := NewConnector("sqlserver://sa:secret@a.example.com?encrypt="+encrypt+"&certificate="+url.QueryEscape(file), n)
				require.NoError(t, err)
				conn, err := connector.Connect(t.Context())
				if name == "Right" {
					require.NoError(t, err)
					require.NoError(t, conn.Close())
				} else {
					require.ErrorContains(t, err, "not for the name b.example.com but for a.example.com")
					require.False(t, n.proxies["b.example.com"].Saw("secret"))
				}
				require.Equal(t, []string{"tcp a.example.com:1433", "tcp b.example.com:11000"}, n.dialed)
				require.Equal(t, []string{"b.example.com"}, n.proxies["b.example.com"].Names())
			})
		}
	}
}

// Integrated authentication with channel binding keeps the driver's TLS, because only the driver
// can bind to it, with our verification.
func TestChannelBindingKeepsTheDriversTLS(t *testing.T) {
	t.Parallel()
	authority, file := newAuthorityFile(t)
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
	for _, c := range []struct {
		options string
		name    string // in the certificate
		mode    mitm.Mode
		want    string
	}{
		{"", "db.example.com", mitm.End, "untrusted domain"}, // sent by the server after the login
		{"&encrypt=strict", "db.example.com", mitm.End, "untrusted domain"},
		{"", "other.example.com", mitm.End, "x509: certificate is valid for other.example.com, not db.example.com"},
		{"&encrypt=strict", "other.example.com", mitm.End,
			"x509: certificate is valid for other.example.com, not db.example.com"},
		{"", "db.example.com", mitm.Deny, "server does not support encryption"},
	} {
		certificate, err := authority.Sign([]string{c.name}, nil)
		require.NoError(t, err)
		p, err := mitm.New(c.mode, server.Dialer(), certificate)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		dsn, err := ParseDSN(`sqlserver://dom%5Cuser:secret@db.example.com?epa+enabled=true&authenticator=ntlm&certificate=` + url.QueryEscape(file) + c.options)
		require.NoError(t, err)
		require.True(t, dsn.needsDriverTLS())
		_, err = dsn.Connector(&network{proxies: map[string]*mitm.Proxy{"": p}}).Connect(t.Context())
		require.ErrorContains(t, err, c.want)
		require.Equal(t, c.want == "untrusted domain", p.Saw("go-mssqldb"), "whether a login was sent")
		require.False(t, p.OnWire("go-mssqldb"))
	}
	for text, want := range map[string]bool{
		"sqlserver://sa:secret@h?epa+enabled=true":                                            false, // a password is not bound to a channel
		"sqlserver://dom%5Cuser:secret@h?authenticator=ntlm&epa+enabled=true&encrypt=disable": false,
		"sqlserver://dom%5Cuser:secret@h?authenticator=ntlm":                                  false,
		"sqlserver://dom%5Cuser:secret@h?authenticator=ntlm&epa+enabled=true":                 true,
		"sqlserver://h?epa+enabled=true&authenticator=krb5":                                   false, // no binding
		"sqlserver://sa:secret@h?epa+enabled=true&authenticator=winsspi":                      true,
	} {
		dsn, err := ParseDSN(text)
		require.NoError(t, err)
		require.Equal(t, want, dsn.needsDriverTLS(), text)
	}
}

// A token of Microsoft Entra ID is protected like a password. The login echoes the server's answer
// to PRELOGIN, and the token follows when the server has named the authority, both inside of TLS.
func TestEntraTokenUnderTLS(t *testing.T) {
	t.Parallel()
	const token = "token-0f-an-identity"
	authority, _ := newAuthorityFile(t)
	for _, encrypt := range []string{"true", "strict"} {
		heard := make(chan []byte, 3)
		p := front(t, authority, dialerFunc(func(c net.Conn) {
			for _, answer := range [][]byte{
				// PRELOGIN: version, no encryption, federated authentication required
				{0, 0, 16, 0, 6, 1, 0, 22, 0, 1, 6, 0, 23, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2, 1},
				// FEDAUTHINFO: STSURL and SPN (MS-TDS 2.2.7.12)
				append([]byte{0xee, 30, 0, 0, 0, 2, 0, 0, 0, 1, 4, 0, 0, 0, 22, 0, 0, 0, 2, 4, 0, 0, 0, 26, 0, 0, 0},
					ucs2("stsp")...),
				// LOGINACK, DONE
				append(append([]byte{0xad, 16, 0, 1, 0x08, 0, 0, 0, 3}, ucs2("sql")...), 16, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0,
					0, 0, 0, 0),
			} {
				_, body, err := readPacket(c)
				if err != nil {
					return
				}
				heard <- body
				writePacket(c, answer)
			}
			_, _, _ = readPacket(c) // until the client disconnects
		}), "nobody.example.com")
		s := testServers(t, Config{
			Dialer: &network{proxies: map[string]*mitm.Proxy{"": p}}, Encrypt: encrypt, CertificateSHA256: []string{p.Pin()},
			Entra: func(l EntraLogin) (*mssqldb.Connector, error) {
				return mssqldb.NewActiveDirectoryTokenConnector(l.Params, mssqldb.FedAuthADALWorkflowMSI,
					func(_ context.Context, spn, sts string) (string, error) {
						if sts+spn != "stsp" {
							return "", errors.New(sts + spn)
						}
						return token, nil
					})
			},
		}, Credential{Name: "default", Servers: []string{"*"}, Kind: KindManagedIdentity})
		session, err := s.open(t.Context(), "h", "d", "")
		require.NoError(t, err, encrypt)
		session.close()
		require.Contains(t, string(<-heard), "\x06", "PRELOGIN asks for federated authentication")
		login := <-heard
		require.Equal(t, map[string]byte{"true": 0x74, "strict": 8}[encrypt], login[7], "TDS version")
		require.True(t, mitm.Shows(<-heard, token))
		require.False(t, p.OnWire(token))
		require.True(t, p.Saw(token))
	}
}
