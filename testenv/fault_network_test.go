package testenv_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// open opens a pool of one connection over a faulty network, and a pool without faults. The
// database has a table to write to.
func open(t *testing.T, plan func(fault.Call) fault.Kind) (faulty *sql.DB, sound *sql.DB, network *fault.Network) {
	t.Helper()
	env := testenv.Embedded(t, testenv.Options{})
	sound = env.DB(t, env.CreateDatabase(t, "d"))
	_, err := sound.ExecContext(t.Context(), "CREATE TABLE dbo.t (i INT);")
	require.NoError(t, err)
	_, err = sound.ExecContext(t.Context(), "CREATE PROCEDURE dbo.write_one @i INT AS INSERT INTO dbo.t (i) VALUES (@i);")
	require.NoError(t, err)
	network = fault.NewNetwork(env.Server.Dialer(), plan)
	connector, err := mssql.NewConnector(env.DSN("d"), network)
	require.NoError(t, err)
	faulty = sql.OpenDB(connector)
	faulty.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, faulty.Close()) })
	return faulty, sound, network
}

// count returns the number of rows of dbo.t.
func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.t;").Scan(&n))
	return n
}

func TestEachKindDoesWhatItSays(t *testing.T) {
	for _, tc := range []struct {
		kind    fault.Kind
		written int // by the request that failed
		error   string
	}{
		{fault.BeforeSending, 0, "reset"},
		{fault.AfterSending, 1, ""},
		{fault.Transient, 0, "not currently available"},
		{fault.Cut, 1, ""},
		{fault.Stall, 1, "deadline exceeded"},
	} {
		t.Run(tc.kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := false
				db, sound, _ := open(t, func(c fault.Call) fault.Kind {
					if !done && c.Name == "dbo.write_one" {
						done = true
						return tc.kind
					}
					return fault.None
				})
				conn, err := db.Conn(t.Context()) // on a sql.Conn, database/sql does not retry
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err = conn.ExecContext(ctx, "dbo.write_one", sql.Named("i", 1))
				require.Error(t, err)
				require.ErrorContains(t, err, tc.error)
				_ = conn.Close() // the connection may be broken
				require.Equal(t, tc.written, count(t, sound))

				_, err = db.ExecContext(t.Context(), "dbo.write_one", sql.Named("i", 2))
				require.NoError(t, err)
				require.Equal(t, tc.written+1, count(t, sound))
			})
		})
	}
}

func TestFailedLoginIsACall(t *testing.T) {
	for _, kind := range []fault.Kind{fault.BeforeSending, fault.AfterSending, fault.Transient, fault.Cut, fault.Stall} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []string
				db, _, network := open(t, func(c fault.Call) fault.Kind {
					calls = append(calls, fmt.Sprint(c.N, " ", c.Name))
					if c.N == 1 {
						return kind
					}
					return fault.None
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				conn, err := db.Conn(ctx)
				if err == nil {
					require.NoError(t, conn.Close())
				}
				_, err = db.ExecContext(t.Context(), "INSERT INTO dbo.t (i) VALUES (1);")
				require.NoError(t, err)
				require.Equal(t, len(calls), network.Calls())
				require.Equal(t, "1 login", calls[0])
				require.Equal(t, "2 login", calls[1])
				require.Contains(t, calls[len(calls)-1], "INSERT INTO dbo.t")
			})
		})
	}
}

func TestCutNetworkRefusesUntilItHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, sound, network := open(t, nil)
		require.NoError(t, db.PingContext(t.Context()))
		network.Cut()
		_, err := db.ExecContext(t.Context(), "INSERT INTO dbo.t (i) VALUES (1);")
		require.Error(t, err)
		network.Heal()
		_, err = db.ExecContext(t.Context(), "INSERT INTO dbo.t (i) VALUES (1);")
		require.NoError(t, err)
		require.Equal(t, 1, count(t, sound))
	})
}

func TestFailOverAnswersLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, sound, network := open(t, nil)
		for _, r := range fault.Failing {
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			network.FailOver(r)
			_, err = conn.ExecContext(t.Context(), "INSERT INTO dbo.t (i) VALUES (1);")
			require.Error(t, err, "the connection is broken")
			_ = conn.Close() // the connection is broken
			var refused mssqldb.Error
			require.ErrorAs(t, db.PingContext(t.Context()), &refused)
			require.Equal(t, r.Number, refused.Number)
			network.Heal()
			require.NoError(t, db.PingContext(t.Context()))
		}
		require.Zero(t, count(t, sound))
	})
}

func TestSilentNetworkDeliversLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, sound, network := open(t, nil)
		require.NoError(t, db.PingContext(t.Context()))
		network.Silence()
		ended := make(chan error, 1)
		go func() {
			_, err := db.ExecContext(t.Context(), "INSERT INTO dbo.t (i) VALUES (1);")
			ended <- err
		}()
		<-time.After(time.Hour)
		require.Equal(t, 0, count(t, sound))
		require.Empty(t, ended)
		network.Heal()
		require.NoError(t, <-ended)
		require.Equal(t, 1, count(t, sound))
	})
}
