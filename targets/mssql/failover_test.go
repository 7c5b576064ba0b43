package mssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/fault"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// The name of a listener in two subnets has two addresses, one of which does not answer. The login
// does not wait for this one, and a server that answers at once gets one connection.
func TestDialApartly(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		// answers are how long each address takes, and whether it answers; negative: it refuses.
		answers []time.Duration
		took    time.Duration
		dialed  int
		err     error
	}{
		"first answers":          {[]time.Duration{20 * time.Millisecond, 0}, 20 * time.Millisecond, 1, nil},
		"first is silent":        {[]time.Duration{time.Hour, 20 * time.Millisecond}, 320 * time.Millisecond, 2, nil},
		"two are silent":         {[]time.Duration{time.Hour, time.Hour, 0}, 600 * time.Millisecond, 3, nil},
		"first refuses":          {[]time.Duration{-20 * time.Millisecond, 30 * time.Millisecond}, 50 * time.Millisecond, 2, nil},
		"first answers late":     {[]time.Duration{400 * time.Millisecond, time.Hour}, 400 * time.Millisecond, 2, nil},
		"all refuse":             {[]time.Duration{-time.Millisecond, -time.Millisecond}, 2 * time.Millisecond, 2, refused},
		"all are silent":         {[]time.Duration{time.Hour, time.Hour}, 15 * time.Second, 2, context.DeadlineExceeded},
		"one refuses, one hangs": {[]time.Duration{-time.Millisecond, time.Hour}, 15 * time.Second, 2, refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), DefaultLoginTimeout)
				defer cancel()
				names := []string{"a", "b", "c"}[:len(c.answers)]
				open, dialed := make(chan net.Conn, 3), make(chan string, 3)
				started := time.Now()
				conn, err := dialApartly(ctx, names, func(ctx context.Context, address string) (net.Conn, error) {
					dialed <- address
					takes := c.answers[address[0]-'a']
					select {
					case <-time.After(max(takes, -takes)):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if takes < 0 {
						return nil, refused
					}
					ours, theirs := net.Pipe()
					open <- theirs
					return ours, nil
				})
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.took, time.Since(started))
				synctest.Wait()
				require.Len(t, dialed, c.dialed)
				if c.err == nil {
					require.NoError(t, conn.Close())
					require.Len(t, open, 1, "the others are closed or were never made")
				}
			})
		})
	}
}

// A pool replaces the sessions of a retired connector, and one that met a read-only database.
func TestRetire(t *testing.T) {
	t.Parallel()
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
	n := fault.NewNetwork(server.Dialer(), nil)
	connector, err := NewConnector("sqlserver://sa:secret@h?encrypt=disable", n)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	exec := func(text string) error {
		_, err := db.ExecContext(t.Context(), text)
		return err
	}
	require.NoError(t, exec("CREATE DATABASE d;"))
	require.NoError(t, exec("CREATE TABLE d.dbo.t (a int);"))
	require.NoError(t, exec("ALTER DATABASE d SET READ_ONLY;"))
	require.Len(t, n.Dials(), 1, "one session")
	connector.Retire()
	require.NoError(t, exec("SELECT 1;"))
	require.Len(t, n.Dials(), 2)
	require.NoError(t, exec("SELECT 1;"))
	require.Len(t, n.Dials(), 2, "the new session stays")
	var refusal mssqldb.Error
	require.ErrorAs(t, exec("INSERT d.dbo.t VALUES (1);"), &refusal)
	require.EqualValues(t, 3906, refusal.Number)
	require.NoError(t, exec("SELECT 1;"))
	require.Len(t, n.Dials(), 3)
}

// transientLists are the numbers that Microsoft lists as transient, and those of availability
// groups.
var transientLists = map[string][]int32{
	// https://learn.microsoft.com/azure/azure-sql/database/troubleshoot-common-errors-issues
	"Azure SQL Database": {926, 4060, 40197, 40501, 40613, 49918, 49919, 49920, 4221, 615, 10928, 10929, 40020, 40143, 40166, 40540},
	// https://learn.microsoft.com/dotnet/api/microsoft.data.sqlclient.sqlconfigurableretryfactory
	"SqlClient": {1204, 1205, 1222, 49918, 49919, 49920, 4060, 4221, 40143, 40613, 40501, 40540, 40197, 10929, 10928, 10060, 10054, 10053,
		997, 233, 64, 20},
	// https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors
	"availability groups": {976, 979, 982, 983, 988, 3906},
}

// Each number that Microsoft documents as transient has a row, and what says that a server is away
// is retryable.
func TestTransientListsHaveRows(t *testing.T) {
	t.Parallel()
	for list, numbers := range transientLists {
		for _, n := range numbers {
			_, ok := numberIndex[n]
			require.True(t, ok, "%s: %d has no row", list, n)
			require.True(t, ClassifyNumber(n).Class.Retryable(), "%s: %d", list, n)
		}
	}
	for n := range unavailable {
		require.Contains(t, numberIndex, n)
		require.True(t, ClassifyNumber(n).Class.Retryable(), "%d", n)
	}
	for _, n := range []int32{4060, 18456, 1205, 1222, 3960, 2627} {
		require.False(t, Unavailable(n), "%d", n)
	}
	require.Equal(t, targets.ClassConfig, ClassifyNumber(978).Class, "only another connection string helps")
}

// A session that the server ends in a failover leaves the outcome of its script unknown; a
// statement that it only refuses has failed, and another error that ends the session as well.
func TestSessionEndedInFailover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number int32
		class  uint8
		want   targets.Outcome
	}{
		{40197, 20, targets.Unknown}, {596, 21, targets.Unknown}, {40613, 20, targets.Unknown},
		{40197, 17, targets.Failed}, {40613, 17, targets.Failed}, {3906, 16, targets.Failed}, {976, 14, targets.Failed}, {40501, 20, targets.Failed}, {10928, 16, targets.Failed},
		{823, 24, targets.Failed},
	} {
		server, err := tsqld.New(tsqld.Config{SAPassword: "secret", Fault: func(p tsqld.Point) error {
			if p.Kind == tsqld.BeforeStatement && strings.Contains(p.Request, "marked") {
				return mserr.New(c.number, c.class, "the server says %d", c.number)
			}
			return nil
		}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
		s := testServers(t, Config{Dialer: server.Dialer(), Encrypt: "disable", AllowControlDatabase: true},
			LoginCredential("default", "sa", "secret", "*"))
		res := NewRunner(s, targets.Limits{}).Run(t.Context(), Attempt{Attempt: targets.Attempt{
			Target: targets.NewTarget("h", "master", ""), Command: "SELECT 1 AS marked;", Credential: "default"}})
		require.Equal(t, c.want, res.Outcome, "%d of class %d: %s", c.number, c.class, res.Summary)
		require.Contains(t, res.Summary, fmt.Sprint(c.number))
		require.True(t, res.Sent)
	}
}

// The page about failovers has a row for each number that Microsoft lists, with the decision that
// the code takes.
func TestFailoverPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../cmd/jobagent/deploy/dba/FAILOVER.md")
	require.NoError(t, err)
	for _, list := range transientLists {
		for _, n := range list {
			row := numberIndex[n]
			script, control := "retried", "the call failed"
			switch {
			case !row.class.Retryable():
				script = "not retried"
			case inDoubt[n]:
				script = "retried; Unknown if the session ended"
			}
			switch {
			case n == 4060 || n == 18456:
				control = "login refused"
			case unavailable[n] || row.class == targets.ClassLostConnection:
				control = "unreachable: waits"
			}
			require.Contains(t, string(page), fmt.Sprintf("| %d | %s | %s | %s | %s |\n", n, row.class, script, control, row.reason))
		}
	}
}
