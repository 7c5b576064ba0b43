package schema_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
	"github.com/jobagent/jobagent/targets/schema"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// fixture is an embedded server.
type fixture struct {
	server  *tsqld.Server
	servers *mssql.Servers
	list    []targets.Target // what fleet reads
	made    int              // databases
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: server.Dialer()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(servers.Close(), server.Close(context.Background()))) })
	return &fixture{server: server, servers: servers}
}

// database makes a database with a script, whose batches are separated by lines with GO.
func (f *fixture) database(t testing.TB, script string) (name string) {
	t.Helper()
	name = fmt.Sprint("d", f.made)
	f.made++
	f.exec(t, "master", "CREATE DATABASE "+name)
	f.list = append(f.list, targets.NewTarget("s", name, ""))
	f.exec(t, name, script)
	return name
}

// exec runs a script.
func (f *fixture) exec(t testing.TB, database, script string) {
	t.Helper()
	connector, err := f.servers.Connector("s", database, "")
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for batch := range strings.SplitSeq(script, "\nGO") {
		if strings.TrimSpace(batch) == "" {
			continue
		}
		_, err := db.ExecContext(t.Context(), batch)
		require.NoError(t, err, batch)
	}
}

// fleet reads all databases.
func (f *fixture) fleet(t testing.TB, o drift.Options) *drift.Fleet {
	t.Helper()
	fleet := drift.NewFleet(o, drift.DefaultBudget)
	failed := schema.Fill(t.Context(), f.servers, f.list, question.Options{}, schema.Options{Permissions: o.Permissions}, fleet)
	require.Empty(t, failed)
	return fleet
}

// report compares all databases with the majority.
func (f *fixture) report(t testing.TB, o drift.Options) drift.Report {
	t.Helper()
	fleet := f.fleet(t, o)
	r, err := fleet.Majority()
	require.NoError(t, err)
	return fleet.Compare(r)
}

// describe returns the differences of a report in words.
func describe(r drift.Report) (all []string) {
	for _, d := range r.Differences {
		all = append(all, d.Words())
		for _, x := range d.Details {
			all = append(all, "  "+x)
		}
	}
	return all
}
