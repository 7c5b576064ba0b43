package mssql

import (
	"testing"

	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"
)

// NTLM is used only if it is named, SSPI only on Windows, and a SQL login never leaves the choice
// to the driver.
func TestAuthenticators(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ linux, windows string }{
		"sqlserver://sa:secret@h":                                         {"jobagent-password", "jobagent-password"},
		"sqlserver://h":                                                   {"jobagent-password", "winsspi"},
		"sqlserver://h?authenticator=windows":                             {"krb5", "winsspi"},
		"sqlserver://alice%40R@h?authenticator=windows":                   {"krb5", "krb5"},
		"sqlserver://h?authenticator=windows&krb5-credcachefile=c":        {"krb5", "krb5"},
		"sqlserver://D%5Calice:secret@h?authenticator=windows":            {"krb5", "winsspi"},
		"sqlserver://D%5Calice:secret@h?authenticator=ntlm":               {"ntlm", "ntlm"},
		"server=h;integrated security=SSPI":                               {"krb5", "winsspi"},
		"odbc:server=h;trusted_connection=yes":                            {"krb5", "winsspi"},
		"sqlserver://h?fedauth=ActiveDirectoryDefault":                    {"", ""},
		"sqlserver://h?authenticator=krb5&trusted_connection=yes&user=ab": {"krb5", "krb5"},
	} {
		p, err := msdsn.Parse(text)
		require.NoError(t, err, text)
		for system, name := range map[string]string{"linux": want.linux, "windows": want.windows} {
			got, err := authenticatorOf(p, system)
			require.NoError(t, err, text)
			require.Equal(t, name, got, "%s on %s", text, system)
		}
	}
	_, err := ParseDSN(`sqlserver://D%5Calice:secret@h`)
	require.EqualError(t, err, "connection string: the user is a Windows account: add authenticator=windows (Kerberos), or authenticator=ntlm")
	_, err = ParseDSN(`sqlserver://h?authenticator=other`)
	require.EqualError(t, err, "connection string: unknown authenticator: want windows, krb5, winsspi or ntlm")
}

// A credential of a Windows account has one source of its ticket.
func TestWindowsCredentials(t *testing.T) {
	t.Parallel()
	valid := Credential{Name: "c", Servers: []string{"*"}, Kind: KindWindows}
	for want, change := range map[string]func(*Credential){
		"": func(*Credential) {},
		"keytab and secret exclude each other: want one of them": func(c *Credential) {
			c.User, c.Kerberos.Keytab, c.Secret = "a@R", "k", "env:X"
		},
		"a keytab needs the user that it belongs to, as user@REALM": func(c *Credential) { c.Kerberos.Keytab = "k" },
		`invalid user "alice": want DOMAIN\user`: func(c *Credential) {
			c.Kind, c.User, c.Secret = KindWindowsNTLM, "alice", "env:X"
		},
		"the secret is missing": func(c *Credential) { c.Kind, c.User = KindWindowsNTLM, `D\alice` },
		`the user "D\\alice" is a Windows account: want the kind windows (Kerberos), or windows-ntlm`: func(c *Credential) {
			c.Kind, c.User, c.Secret = KindSQLLogin, `D\alice`, "env:X"
		},
		"keytab, credential_cache, krb5_conf, realm and spn belong to the kind windows": func(c *Credential) {
			c.Kind, c.Kerberos.SPN = KindManagedIdentity, "MSSQLSvc/h"
		},
	} {
		c := valid
		change(&c)
		err := c.Validate()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}
