package mssql_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// newGuardFixture adds to a server the control database "control", another agent's database
// "foreign", and logins: owner owns d and out, and has no other rights; reader can also enter
// control; deputy may set the passwords of other logins.
func newGuardFixture(t *testing.T, cfg tsqld.Config) (f *fixture, control mssql.Instance) {
	t.Helper()
	f = newFixture(t, cfg)
	f.exec(t, "master", "CREATE DATABASE control; CREATE DATABASE foreign_control; CREATE LOGIN owner WITH PASSWORD = 'Pa55word'; "+
		"CREATE LOGIN reader WITH PASSWORD = 'Pa55word'; CREATE LOGIN deputy WITH PASSWORD = 'Pa55word'; ALTER SERVER ROLE securityadmin ADD MEMBER deputy;")
	for _, database := range []string{"d", "out"} {
		for _, user := range []string{"owner", "reader", "deputy"} {
			f.exec(t, database, "CREATE USER "+user+" FOR LOGIN "+user+"; ALTER ROLE db_owner ADD MEMBER "+user+";")
		}
	}
	f.exec(t, "control", "CREATE USER reader FOR LOGIN reader;") // without any right
	f.exec(t, "foreign_control", "CREATE SCHEMA jobs;")
	f.exec(t, "foreign_control", "CREATE VIEW jobs.jobstep_options AS SELECT 1 AS a;")
	f.exec(t, "foreign_control", "CREATE USER owner FOR LOGIN owner; GRANT SELECT ON jobs.jobstep_options TO owner;")
	about := f.query(t, "control",
		"SELECT CONCAT(@@SERVERNAME, '|', (SELECT service_broker_guid FROM sys.databases WHERE name = DB_NAME()))")[0]
	server, guid, _ := cut(about)
	return f, mssql.Instance{Server: server, Database: "Control", GUID: guid}
}

func cut(s string) (before, after string, found bool) {
	for i := range s {
		if s[i] == '|' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// No text of an author runs where it has rights on a control database, whatever name the database
// was reached by, and whatever the server's name was when the agent started.
func TestControlDatabaseIsNoTarget(t *testing.T) {
	t.Parallel()
	f, control := newGuardFixture(t, tsqld.Config{})
	elsewhere := control // after a failover the server has another name
	elsewhere.Server = "before"
	unrelated := mssql.Instance{Server: "other", Database: "control", GUID: "11111111-1111-1111-1111-111111111111"}
	unknown := mssql.Instance{Server: "other", Database: "control"}
	login := func(user string) mssql.Credential {
		if user == "sa" {
			return mssql.LoginCredential("c", "sa", "secret", "*")
		}
		return mssql.LoginCredential("c", user, "Pa55word", "*")
	}
	for name, c := range map[string]struct {
		control        mssql.Instance
		user, database string
		want           string // part of the refusal; "": runs
	}{
		"Tenant":              {control, "owner", "d", ""},
		"TenantElsewhere":     {elsewhere, "owner", "d", ""},
		"ItsName":             {control, "sa", "control", "it is the control database"},
		"ItsNameInAnotherWay": {control, "reader", "CONTROL", "it is the control database"},
		"ItsGUID":             {elsewhere, "sa", "control", "it is the control database"},
		"AnotherAgents":       {control, "owner", "foreign_control", "a control database of jobagent is installed in it"},
		"NoControl": {mssql.Instance{}, "owner", "foreign_control",
			"a control database of jobagent is installed in it"},
		"Master":            {control, "owner", "master", "holds the control database"},
		"MasterElsewhere":   {elsewhere, "owner", "master", "holds the control database"},
		"Tempdb":            {control, "owner", "tempdb", "holds the control database"},
		"MasterOfAnother":   {unrelated, "owner", "master", ""},
		"Sysadmin":          {control, "sa", "d", "its login can enter the control database [Control]"},
		"SysadminElsewhere": {elsewhere, "sa", "d", "its login can enter the control database [Control]"},
		"SysadminOfAnother": {unrelated, "sa", "d", ""},
		"UserWithoutRights": {control, "reader", "d", "its login can enter the control database [Control]"},
		"SecurityAdmin":     {control, "deputy", "d", "its login can enter the control database [Control]"},
		"Namesake":          {unrelated, "reader", "d", ""},
		"NamesakeUnknown":   {unknown, "reader", "d", ""},
		"NoControlDatabase": {mssql.Instance{}, "sa", "control", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, encrypt := range []string{"disable", "true"} {
				for _, allow := range []bool{false, true} {
					set, err := mssql.NewCredentialSet(login(c.user))
					require.NoError(t, err)
					servers, err := mssql.NewServers(mssql.Config{
						Credentials: set, Encrypt: encrypt, TrustServerCertificate: true, Dialer: f.server.Dialer(), Control: c.control, AllowControlDatabase: allow,
					})
					require.NoError(t, err)
					defer func() { require.NoError(t, servers.Close()) }()
					runner := mssql.NewRunner(servers, targets.Limits{})
					for range 2 { // the second admission may be remembered
						res := runner.Run(t.Context(),
							mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("alias", c.database, ""), Credential: "c",
								Command: "PRINT N'ran';"}})
						if c.want == "" || allow {
							require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
							require.NotZero(t, res.SPID)
							continue
						}
						require.Equal(t, targets.Failed, res.Outcome)
						require.False(t, res.Sent)
						require.Empty(t, res.Messages)
						require.Equal(t, targets.ClassConfig, res.Error.Class)
						require.Contains(t, res.Summary, c.want)
						require.Contains(t, res.Summary, "targets.allow_control_database")
					}
				}
			}
		})
	}
}

// Further databases of a server cost a smaller query. It still notices a login that was granted
// access to the control database, and another agent's control database.
func TestFurtherDatabases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var whole, further atomic.Int32
		f, control := newGuardFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
			switch {
			case p.Kind != tsqld.BeforeStatement || !strings.Contains(p.Request, "may_enter_control"):
			case strings.Contains(p.Request, "@@SPID"):
				whole.Add(1)
			default:
				further.Add(1)
			}
			return nil
		}})
		set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "owner", "Pa55word", "*"))
		require.NoError(t, err)
		servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer(), Control: control})
		require.NoError(t, err)
		defer func() { require.NoError(t, servers.Close()) }()
		run := func(database string, outcome targets.Outcome, whole1, further1 int32) {
			t.Helper()
			whole.Store(0)
			further.Store(0)
			res := mssql.NewRunner(servers, targets.Limits{}).Run(t.Context(),
				mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", database, ""), Command: "PRINT 'x'"}})
			require.Equal(t, outcome, res.Outcome, res.Summary)
			require.Equal(t, []int32{whole1, further1}, []int32{whole.Load(), further.Load()}, database)
			require.NotZero(t, res.SPID)
		}
		run("d", targets.Succeeded, 1, 0)
		run("d", targets.Succeeded, 0, 0)
		run("foreign_control", targets.Failed, 0, 1)
		run("out", targets.Succeeded, 0, 1)
		run("out", targets.Succeeded, 0, 0)
		run("master", targets.Failed, 0, 1)
		f.exec(t, "master", "CREATE DATABASE late;")
		f.exec(t, "late", "CREATE USER owner FOR LOGIN owner; ALTER ROLE db_owner ADD MEMBER owner;")
		f.exec(t, "control", "CREATE USER owner FOR LOGIN owner;")
		run("late", targets.Failed, 0, 1)
		run("d", targets.Succeeded, 0, 0) // remembered
		time.Sleep(30 * time.Second)
		run("d", targets.Failed, 1, 0)
	})
}

// A result set is not written into a control database either, because the author chooses the
// table's name.
func TestControlDatabaseTakesNoOutput(t *testing.T) {
	t.Parallel()
	f, control := newGuardFixture(t, tsqld.Config{})
	f.exec(t, "control", "CREATE TABLE dbo.terms (internal_execution_id UNIQUEIDENTIFIER, a INT);")
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "owner", "Pa55word", "*"),
		mssql.LoginCredential("writer", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer(),
		Control: control})
	require.NoError(t, err)
	defer func() { require.NoError(t, servers.Close()) }()
	write := func(database, credential string) targets.Result {
		return mssql.NewRunner(servers, targets.Limits{}).Run(t.Context(), mssql.Attempt{
			Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: "SELECT 1 AS a"},
			Output:  &mssql.Output{Server: "alias", Database: database, Schema: "dbo", Table: "terms", Credential: credential},
		})
	}
	res := write("control", "writer")
	require.Equal(t, targets.Failed, res.Outcome)
	require.Contains(t, res.Summary, "it is the control database")
	require.Equal(t, []string{"0"}, f.query(t, "control", "SELECT COUNT(*) FROM dbo.terms"))
	require.Contains(t, write("out", "writer").Summary, "its login can enter the control database")
	require.Equal(t, targets.Succeeded, write("out", "").Outcome)
}
