package testenv_test

import (
	"testing"

	"github.com/microsoft/go-mssqldb/integratedauth"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/mssql/kerberos"
	"github.com/jobagent/jobagent/targets/mssql/kerberos/acceptor"
	"github.com/jobagent/jobagent/testenv/kdc"
)

// Client and server prove themselves to each other: a changed, shortened or repeated token is
// refused on both sides, and never panics.
func TestKerberosProofs(t *testing.T) {
	k := kdc.Start(t)
	k.AddUser(t, "alice", "Wonder-land1")
	k.AddService(t, spn)
	server, err := acceptor.Load(k.Keytab(t, spn))
	require.NoError(t, err)
	p := msdsn.Config{Host: host, Port: 1433, User: "alice", Password: "Wonder-land1", Parameters: map[string]string{
		"authenticator": kerberos.Authenticator, kerberos.ParameterConfig: k.Config,
	}}
	login := func() (integratedauth.IntegratedAuthenticator, []byte) {
		client, err := integratedauth.GetIntegratedAuthenticator(p)
		require.NoError(t, err)
		token, err := client.InitialBytes()
		require.NoError(t, err)
		return client, token
	}
	client, token := login()
	for i := range token {
		_, err := server.Accept(token[:i])
		require.Error(t, err, "the first %d bytes", i)
	}
	// The encrypted ticket and authenticator are the end of the token; a change there is noticed.
	for i := len(token) - 100; i < len(token); i++ {
		changed := append([]byte(nil), token...)
		changed[i] ^= 1
		_, err := server.Accept(changed)
		require.Error(t, err, "byte %d", i)
	}
	accepted, err := server.Accept(token)
	require.NoError(t, err)
	require.Equal(t, "alice@EXAMPLE.TEST", accepted.User+"@"+accepted.Realm)
	require.False(t, accepted.Foreign)
	_, err = server.Accept(token)
	require.ErrorContains(t, err, "replay")

	for i := range accepted.Answer {
		_, err := client.NextBytes(accepted.Answer[:i])
		require.Error(t, err, "the first %d bytes", i)
	}
	for i := len(accepted.Answer) - 50; i < len(accepted.Answer); i++ {
		changed := append([]byte(nil), accepted.Answer...)
		changed[i] ^= 1
		_, err := client.NextBytes(changed)
		require.ErrorContains(t, err, "the server has not proved that it holds the key of this SPN", "byte %d", i)
	}
	_, err = client.NextBytes(accepted.Answer)
	require.NoError(t, err)
	other, _ := login()
	_, err = other.NextBytes(accepted.Answer)
	require.ErrorContains(t, err, "the AP-REP belongs to another login")
}
