package auth

import (
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/microsoft/go-mssqldb/integratedauth"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/mssql/kerberos"
	"github.com/jobagent/jobagent/testenv/kdc"
)

const frontSPN = "HTTP/front.example.test"

// ticketOf returns a login with a new ticket, and the header for it.
func ticketOf(t *testing.T, k *kdc.KDC, user, password string) (integratedauth.IntegratedAuthenticator, string) {
	t.Helper()
	client, err := integratedauth.GetIntegratedAuthenticator(msdsn.Config{
		Host: "front.example.test", Port: 443, User: user, Password: password,
		Parameters: map[string]string{"authenticator": kerberos.Authenticator, kerberos.ParameterConfig: k.Config, msdsn.ServerSpn: frontSPN},
	})
	require.NoError(t, err)
	token, err := client.InitialBytes()
	require.NoError(t, err)
	return client, "Negotiate " + base64.StdEncoding.EncodeToString(token)
}

// Accounts of a realm log in by Negotiate with the tickets of a real KDC, and get the roles of
// their grants. The front proves itself in its answer.
func TestNegotiate(t *testing.T) {
	k := kdc.Start(t)
	k.AddUser(t, "alice", "Wonder-land1")
	k.AddUser(t, "eve", "Apple-tree1")
	k.AddService(t, frontSPN)
	s := serve(t, Config{
		Kerberos: Kerberos{Keytab: k.Keytab(t, frontSPN)},
		Grants:   []Grant{{"kerberos:Alice@example.test", "operator", "/"}},
	}, Options{PublicURL: "https://front.example.test"}, nil)
	start := testAgent + "/jobs/j/start"

	a := s.do(t, "GET", testAgent, "")
	require.Equal(t, 401, a.status)
	require.Contains(t, a.header.Values("WWW-Authenticate"), "Negotiate")
	require.Len(t, a.header.Values("WWW-Authenticate"), 2, "and Bearer")

	client, header := ticketOf(t, k, "alice", "Wonder-land1")
	a = s.do(t, "POST", start, header)
	require.Equal(t, 200, a.status, a.body)
	require.Equal(t, []any{"kerberos:alice@EXAMPLE.TEST", "alice@EXAMPLE.TEST", "operator"}, []any{a.body["id"], a.body["name"], a.body["role"]})
	proof, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(a.header.Get("WWW-Authenticate"), "Negotiate "))
	require.NoError(t, err)
	_, err = client.NextBytes(proof)
	require.NoError(t, err, "the client knows the front")

	a = s.do(t, "POST", start, header)
	require.Equal(t, 401, a.status, "a ticket counts once")
	_, header = ticketOf(t, k, "alice", "Wonder-land1")
	require.Equal(t, 403, s.do(t, "PUT", testAgent, header).status, "an operator is no administrator")
	_, header = ticketOf(t, k, "eve", "Apple-tree1")
	require.Equal(t, 404, s.do(t, "GET", testAgent, header).status, "an account without a grant sees nothing")
	_, header = ticketOf(t, k, "alice", "Wonder-land1")
	require.Equal(t, 401, s.do(t, "GET", "/scheduler/jobs", header).status, "SAP's callers have tenants")

	for text, want := range map[string]string{
		"Negotiate": "not in base64", "Negotiate !": "not in base64", "Negotiate AAAA": "The log of the front says why",
		"Negotiate " + base64.StdEncoding.EncodeToString([]byte("NTLMSSP\x00\x01")): "Register this SPN",
	} {
		a := s.do(t, "GET", testAgent, text)
		require.Equal(t, 401, a.status, text)
		if text != "Negotiate" {
			require.Contains(t, a.body["error"].(map[string]any)["message"], want)
		}
	}
}

// A browser sends tickets for pages of other sites, too. These change nothing.
func TestNegotiateAcrossSites(t *testing.T) {
	k := kdc.Start(t)
	k.AddUser(t, "alice", "Wonder-land1")
	k.AddService(t, frontSPN)
	s := serve(t, Config{Kerberos: Kerberos{Keytab: k.Keytab(t, frontSPN)}, Grants: []Grant{{"kerberos:alice@EXAMPLE.TEST", "operator", "/"}}},
		Options{PublicURL: "https://front.example.test"}, nil)
	for origin, status := range map[string]int{"https://evil.test": 403, "https://front.example.test": 200} {
		_, header := ticketOf(t, k, "alice", "Wonder-land1")
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+testAgent+"/jobs/j/start", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", header)
		r.Header.Set("Origin", origin)
		response, err := s.client.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode, origin)
	}
}

// curl --negotiate, an independent client, gets in with the ticket of a credential cache.
func TestNegotiateByCurl(t *testing.T) {
	k := kdc.Start(t)
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl, which is the independent client, is not installed: install it")
	}
	if features, err := exec.Command(curl, "--version").Output(); err != nil || !strings.Contains(string(features), "SPNEGO") {
		t.Skip("curl was built without SPNEGO: install one that lists it in curl --version")
	}
	k.AddUser(t, "alice", "Wonder-land1")
	const spn = "HTTP/localhost"
	k.AddService(t, spn)
	s := serve(t, Config{Kerberos: Kerberos{Keytab: k.Keytab(t, spn)}, Grants: []Grant{{"kerberos:alice@EXAMPLE.TEST", "reader", "/"}}}, Options{}, nil)
	cache := k.Cache(t, "alice", k.Keytab(t, "alice"))
	out := filepath.Join(t.TempDir(), "answer")
	cmd := exec.Command(curl, "-sk", "--negotiate", "-u", ":", "-o", out, "-w", "%{http_code}",
		strings.Replace(s.url, "127.0.0.1", "localhost", 1)+testAgent)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.Config, "KRB5CCNAME=FILE:"+cache, "no_proxy=localhost")
	status, err := cmd.CombinedOutput()
	require.NoError(t, err, string(status))
	body, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "200", string(status), string(body))
	require.Contains(t, string(body), "kerberos:alice@EXAMPLE.TEST")
}

// Faults of the configuration are named.
func TestFaultsOfKerberos(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Grants: []Grant{{"kerberos:alice", "reader", "/"}, {"kerberos:alice@R", "reader", "/"}}}, Options{})
	require.ErrorContains(t, err, `grants[0]: invalid principal "kerberos:alice": want kerberos:user@REALM`)
	require.ErrorContains(t, err, `grants[1]: the principal "kerberos:alice@R" needs kerberos.keytab`)
	empty := filepath.Join(t.TempDir(), "keytab")
	require.NoError(t, os.WriteFile(empty, []byte{5, 2}, 0o600))
	for _, path := range []string{empty, empty + "-missing"} {
		_, err = New(Config{Kerberos: Kerberos{Keytab: path}}, Options{})
		require.ErrorContains(t, err, "kerberos.keytab")
	}
}
