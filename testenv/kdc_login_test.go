package testenv_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/mssql/kerberos"
	"github.com/jobagent/jobagent/testenv/kdc"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

const (
	host = "sql1.example.test"
	spn  = "MSSQLSvc/sql1.example.test:1433"
)

// estate is a realm with the user alice and a server with Windows logins.
type estate struct {
	*kdc.KDC
	server  *tsqld.Server
	servers *mssql.Servers // of the last call of open
	keytab  string         // of alice

	mu       sync.Mutex
	failures []tsqld.LoginFailure
}

// start starts an estate. prepare changes the realm after the server's keytab was written.
func start(t *testing.T) *estate {
	t.Helper()
	e := &estate{KDC: kdc.Start(t)}
	e.AddUser(t, "alice", "Wonder-land1")
	e.AddUser(t, "bob", "Build-er1")
	e.AddService(t, spn)
	e.keytab = e.Keytab(t, "alice")
	var err error
	e.server, err = tsqld.New(tsqld.Config{SAPassword: "secret", Keytab: e.Keytab(t, spn), OnLoginFailed: func(f tsqld.LoginFailure) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.failures = append(e.failures, f)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.server.Close(context.Background())) })
	db := e.open(t, mssql.LoginCredential("default", "sa", "secret", "*"))
	_, err = db.Exec(`CREATE LOGIN [EXAMPLE\alice] FROM WINDOWS; CREATE DATABASE d; ALTER SERVER ROLE sysadmin ADD MEMBER [EXAMPLE\alice]`)
	require.NoError(t, err)
	return e
}

// open returns a pool of target connections with a credential.
func (e *estate) open(t *testing.T, c mssql.Credential) *sql.DB {
	t.Helper()
	c.Name, c.Servers = "default", []string{"*"}
	set, err := mssql.NewCredentialSet(c)
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, TrustServerCertificate: true, Dialer: e.server.Dialer()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	e.servers = servers
	connector, err := servers.Connector(host, "master", "")
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// windows returns alice's credential.
func (e *estate) windows(change func(*mssql.Credential)) mssql.Credential {
	c := mssql.Credential{Kind: mssql.KindWindows, User: "alice@" + kdc.Realm, Kerberos: mssql.Kerberos{Config: e.Config}}
	change(&c)
	return c
}

// byKeytab returns alice's credential with her keytab.
func (e *estate) byKeytab() mssql.Credential {
	return e.windows(func(c *mssql.Credential) { c.Kerberos.Keytab = e.keytab })
}

const whoami = "SELECT SUSER_SNAME()"

// Every source of a ticket logs in to a target, more than once at a time.
func TestKerberosTargets(t *testing.T) {
	e := start(t)
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("Wonder-land1"), 0o600))
	cache := e.Cache(t, "alice", e.keytab)
	for name, c := range map[string]mssql.Credential{
		"keytab":   e.byKeytab(),
		"password": e.windows(func(c *mssql.Credential) { c.Secret = "file:" + password }),
		"cache":    e.windows(func(c *mssql.Credential) { c.Kerberos.Cache = cache }),
		"own":      e.windows(func(c *mssql.Credential) { c.User, c.Kerberos.Cache = "", "FILE:"+cache }),
		"short":    e.windows(func(c *mssql.Credential) { c.User, c.Kerberos.Keytab = `EXAMPLE\alice`, e.keytab }),
		"spn":      e.windows(func(c *mssql.Credential) { c.Kerberos.Keytab, c.Kerberos.SPN = e.keytab, spn }),
	} {
		t.Run(name, func(t *testing.T) {
			db := e.open(t, c)
			var logins sync.WaitGroup
			for range 8 {
				logins.Go(func() {
					var login string
					if err := db.QueryRow(whoami).Scan(&login); err != nil || login != `EXAMPLE\alice` {
						t.Errorf("%s: %q, %v", name, login, err)
					}
				})
			}
			logins.Wait()
		})
	}
}

// A person's own ticket (KRB5CCNAME) and a connection string open the control database.
func TestKerberosControlDatabase(t *testing.T) {
	e := start(t)
	t.Setenv("KRB5CCNAME", "FILE:"+e.Cache(t, "alice", e.keytab))
	t.Setenv("KRB5_CONFIG", e.Config)
	for _, q := range []url.Values{
		{"authenticator": {"krb5"}, "krb5-keytabfile": {e.keytab}, "user id": {"alice"}},
		{"authenticator": {"windows"}},
	} {
		q.Set("database", "d")
		q.Set("trustservercertificate", "true")
		connector, err := mssql.NewConnector("sqlserver://"+host+"?"+q.Encode(), e.server.Dialer())
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		var login, database string
		require.NoError(t, db.QueryRow("SELECT SUSER_SNAME(), DB_NAME()").Scan(&login, &database))
		require.Equal(t, `EXAMPLE\alice d`, login+" "+database)
		require.NoError(t, db.Close())
	}
}

// refused logs in and returns the error's text, after a check of its class.
func (e *estate) refused(t *testing.T, c mssql.Credential, class targets.Class) string {
	t.Helper()
	err := e.open(t, c).Ping()
	require.Error(t, err)
	require.Equal(t, class, mssql.Classify(err).Class, err.Error())
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "Wonder-land1")
	return err.Error()
}

// Each fault has a message that says what to do.
func TestKerberosFaults(t *testing.T) {
	e := start(t)
	as := "Kerberos login as alice@EXAMPLE.TEST for " + spn + ": "

	t.Run("wrong SPN", func(t *testing.T) {
		c := e.byKeytab()
		c.Kerberos.SPN = "MSSQLSvc/other:1433"
		require.Equal(t, `Kerberos login as alice@EXAMPLE.TEST for MSSQLSvc/other:1433: the KDC does not have the service: register it with `+
			`"setspn -S MSSQLSvc/other:1433 ACCOUNT", where ACCOUNT runs SQL Server, or name the registered SPN in the credential`,
			e.refused(t, c, targets.ClassConfig))
	})
	t.Run("SPN of another account", func(t *testing.T) {
		e.AddService(t, "MSSQLSvc/wrong:1433")
		c := e.byKeytab()
		c.Kerberos.SPN = "MSSQLSvc/wrong:1433"
		require.Contains(t, e.refused(t, c, targets.ClassAuth),
			`the server cannot read the ticket: check with "setspn -Q MSSQLSvc/wrong:1433" that the SPN belongs to the account that runs SQL Server`)
		e.mu.Lock()
		defer e.mu.Unlock()
		require.Contains(t, e.failures[len(e.failures)-1].Reason, "SSPI handshake failed: verify ticket for MSSQLSvc/wrong:1433")
	})
	t.Run("expired ticket", func(t *testing.T) {
		c := e.windows(func(c *mssql.Credential) { c.Kerberos.Cache = e.PastCache(t, 24*time.Hour, "alice", e.keytab) })
		text := e.refused(t, c, targets.ClassAuth)
		require.Contains(t, text, as+"the ticket in the credential cache "+c.Kerberos.Cache+" expired at ")
		require.Contains(t, text, ": run kinit, or use a keytab, which needs no renewal")
	})
	t.Run("wrong keytab", func(t *testing.T) {
		old := e.Keytab(t, "bob")
		e.ChangePassword(t, "bob", "Build-er2")
		c := e.windows(func(c *mssql.Credential) { c.User, c.Kerberos.Keytab = "bob", old })
		require.Contains(t, e.refused(t, c, targets.ClassAuth), "Kerberos login as bob@EXAMPLE.TEST for "+spn+
			": the KDC refuses the key in the keytab "+old+": export the keytab again")
		c = e.windows(func(c *mssql.Credential) { c.User, c.Kerberos.Keytab = "bob", e.keytab })
		require.Contains(t, e.refused(t, c, targets.ClassConfig), "the keytab "+e.keytab+" has no key of this user")
	})
	t.Run("clocks 10 minutes apart", func(t *testing.T) {
		other := e.Shifted(t, 10*time.Minute)
		c := e.byKeytab()
		c.Kerberos.Config = other.Config
		text := e.refused(t, c, targets.ClassTransient)
		require.Regexp(t, `: the clock of the KDC is (10m0|9m59|10m1)s ahead of this machine's, and Kerberos allows 5m0s: synchronize both`, text)
	})
	t.Run("no KDC", func(t *testing.T) {
		c := e.byKeytab()
		c.Kerberos.Config = e.Alone(t)
		require.Regexp(t, `: no KDC of realm EXAMPLE.TEST answers \(127\.0\.0\.1:\d+\): check the network, and the realm in `, e.refused(t, c, targets.ClassLostConnection))
	})
	t.Run("no login on the server", func(t *testing.T) {
		keytab := e.Keytab(t, "bob")
		c := e.windows(func(c *mssql.Credential) { c.User, c.Kerberos.Keytab = "bob", keytab })
		text := e.refused(t, c, targets.ClassAuth)
		require.Contains(t, text, `the ticket is good, but the server has no login for it: CREATE LOGIN [EXAMPLE\bob] FROM WINDOWS`)
		require.Contains(t, text, `Login failed for user 'EXAMPLE\bob'.`)
	})
	t.Run("no cache, no krb5.conf", func(t *testing.T) {
		c := e.windows(func(c *mssql.Credential) { c.Kerberos.Cache = "/does/not/exist" })
		require.Contains(t, e.refused(t, c, targets.ClassConfig), "the credential cache /does/not/exist does not exist: run kinit")
		c.Kerberos.Config = "/no/krb5.conf"
		require.Contains(t, e.refused(t, c, targets.ClassConfig), "the configuration of Kerberos /no/krb5.conf does not exist")
	})
	t.Run("damaged cache", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "cache")
		require.NoError(t, os.WriteFile(path, []byte{5, 4, 0}, 0o600))
		c := e.windows(func(c *mssql.Credential) { c.Kerberos.Cache = path })
		require.Contains(t, e.refused(t, c, targets.ClassConfig), "has no ticket: run kinit")
	})
}

// What doctor shows of a login that works.
func TestKerberosInspect(t *testing.T) {
	e := start(t)
	e.open(t, e.byKeytab())
	status, used, err := e.servers.Kerberos(host, "")
	require.NoError(t, err)
	require.True(t, used)
	require.True(t, status.SkewKnown)
	require.Less(t, status.Skew.Abs(), kerberos.MaxSkew)
	require.Equal(t, spn+" alice@EXAMPLE.TEST", status.SPN+" "+status.Principal)
	e.open(t, mssql.LoginCredential("default", "sa", "secret", "*"))
	_, used, err = e.servers.Kerberos(host, "")
	require.NoError(t, err)
	require.False(t, used)
}
