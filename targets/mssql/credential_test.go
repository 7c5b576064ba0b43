package mssql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

func TestCredentialValidate(t *testing.T) {
	t.Parallel()
	good := Credential{Name: "c", Servers: []string{"*"}, Kind: KindSQLLogin, User: "u", Secret: "env:X"}
	require.NoError(t, good.Validate())
	require.NoError(t, LoginCredential("c", "u", "p", "*").Validate())
	require.NoError(t, Credential{Name: "c", Servers: []string{"*"}, Kind: KindManagedIdentity}.Validate())
	require.NoError(t, Credential{Name: "c", Servers: []string{"*"}, Kind: KindDefault}.Validate())
	cases := map[string]struct {
		change func(*Credential)
		want   string
	}{
		"NoName":       {func(c *Credential) { c.Name = " " }, "the name is missing"},
		"NoServers":    {func(c *Credential) { c.Servers = nil }, "servers"},
		"EmptyPattern": {func(c *Credential) { c.Servers = []string{""} }, "empty server pattern"},
		"PatternForm": {func(c *Credential) { c.Servers = []string{"host:1433"} },
			`server pattern "host:1433": invalid server name: want host`},
		"NoKind":         {func(c *Credential) { c.Kind = "" }, "one of"},
		"NoUser":         {func(c *Credential) { c.User = "" }, "user"},
		"NoSecret":       {func(c *Credential) { c.Secret = "" }, "env:NAME"},
		"SecretByValue":  {func(c *Credential) { c.Secret = "hunter2" }, "not the secret itself"},
		"EmptyReference": {func(c *Credential) { c.Secret = "env:" }, "not the secret itself"},
		"IdentitySecret": {func(c *Credential) { c.Kind = KindManagedIdentity }, "has no secret"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := good
			c.change(&bad)
			err := bad.Validate()
			var config *targets.ConfigError
			require.ErrorAs(t, err, &config)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestCredentialSetFor(t *testing.T) {
	t.Parallel()
	set, err := NewCredentialSet(
		Credential{Name: "Job", Servers: []string{"db*.example.com", `win\inst`}, Kind: KindSQLLogin, User: "u",
			Secret: "env:X"},
		Credential{Name: "default", Servers: []string{"*"}, Kind: KindDefault},
		Credential{Name: "suffix", Servers: []string{"*.example.com", "one,1433", "two,1500", `*\sql*`}, Kind: KindDefault},
	)
	require.NoError(t, err)
	require.Equal(t, []string{"Job", "default", "suffix"}, set.Names())
	for server, allowed := range map[string]bool{
		"a.example.com": true, `a.example.com\x`: true, "a.example.com,1500": true,
		// The text of an instance or a port does not count as a host.
		`evil.attacker.net\x.example.com`: false, `evil.attacker.net,1433\x.example.com`: false,
		"evil.attacker.net,.example.com": false,
		"one":                            true, "one,1433": true, "one,1434": false, "two": false, "two,1500": true,
		`any\sqlexpress`: true, `any\x\sql`: false, `sql\any`: false,
	} {
		_, err := set.For("suffix", server)
		require.Equal(t, allowed, err == nil, server)
	}
	for server, allowed := range map[string]bool{
		"db1.example.com": true, "DB2.Example.COM": true, "tcp:db1.example.com,1433": true, `db1.example.com\x`: true,
		"db1.example.com.evil.org": false, "xdb1.example.com": false, "example.com": false,
		`win\inst`: true, `WIN\INST`: true, `win\other`: false, "win": false, "": false,
	} {
		c, err := set.For("job", server)
		if allowed {
			require.NoError(t, err, server)
			require.Equal(t, "Job", c.Name)
			continue
		}
		var config *targets.ConfigError
		require.ErrorAs(t, err, &config, server)
		require.Equal(t, Credential{}, c)
	}
	c, err := set.For("", "anything")
	require.NoError(t, err)
	require.Equal(t, "default", c.Name)
	_, err = set.For("refresh", "anything")
	require.ErrorContains(t, err, `credential "refresh"`)
	_, err = (*CredentialSet)(nil).For("", "x")
	require.ErrorContains(t, err, `credential "default"`)

	_, err = NewCredentialSet(LoginCredential("a", "u", "p", "*"), LoginCredential("A", "u", "p", "*"),
		Credential{Name: "b"})
	require.ErrorContains(t, err, "duplicate name")
	require.ErrorContains(t, err, `credential "b"`)
}

// A changed secret needs no restart.
func TestSecretIsReadAtEachUse(t *testing.T) {
	c := Credential{Name: "c", Kind: KindSQLLogin, Secret: "env:JOBAGENT_TEST_SECRET"}
	_, err := c.secret()
	var config *targets.ConfigError
	require.ErrorAs(t, err, &config)
	require.EqualError(t, err, `credential "c": the environment variable JOBAGENT_TEST_SECRET is not set`)
	for _, want := range []string{"first", "second"} {
		t.Setenv("JOBAGENT_TEST_SECRET", want)
		got, err := c.secret()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// Printing a credential in any format does not show the password.
func TestCredentialNeverShowsItsPassword(t *testing.T) {
	t.Parallel()
	c := LoginCredential("c", "u", "hunter2", "*")
	set, err := NewCredentialSet(c)
	require.NoError(t, err)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, c), fmt.Sprintf("%+v %#v", set, set),
		fmt.Sprintf("%+v", *set)} {
		require.NotContains(t, text, "hunter2")
	}
}
