package controldb_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

func TestCallLimitEndsUnansweredCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		_, name := env.Control(t)
		stall := true
		network := fault.NewNetwork(env.Server.Dialer(), func(c fault.Call) fault.Kind {
			if stall && c.Name == "jobs_internal.due_schedules" {
				stall = false
				return fault.Stall
			}
			return fault.None
		})
		connector, err := mssql.NewConnector(env.DSN(name), network)
		require.NoError(t, err)
		store, err := controldb.New(controldb.Config{Connector: connector, ServerName: env.ServerName})
		require.NoError(t, err)
		defer store.Close()

		limited := store.WithCallLimit(10 * time.Second)
		began := time.Now()
		_, err = limited.DueSchedules(t.Context(), 1)
		require.ErrorIs(t, err, dberror.ErrUnreachable)
		require.ErrorContains(t, err, "no answer in time")
		require.Less(t, time.Since(began), 25*time.Second, "the limit, and what the driver waits for the server's confirmation")
		_, err = limited.DueSchedules(t.Context(), 1)
		require.NoError(t, err)
	})
}

// TestCallLimitEndsVersionReads: an agent reads the version of the schema when it could not read
// the job agent. Without a limit it waited for a stalled connection for ever, and started no run.
func TestCallLimitEndsVersionReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		_, name := env.Control(t)
		stall := false
		network := fault.NewNetwork(env.Server.Dialer(), func(fault.Call) fault.Kind {
			if stall {
				return fault.Stall
			}
			return fault.None
		})
		connector, err := mssql.NewConnector(env.DSN(name), network)
		require.NoError(t, err)
		store, err := controldb.New(controldb.Config{Connector: connector, ServerName: env.ServerName})
		require.NoError(t, err)
		defer store.Close()

		limited := store.WithCallLimit(10 * time.Second)
		read := func() (int, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // as long as an agent might wait
			defer cancel()
			return installed.On(limited).Version(ctx)
		}
		_, err = read() // logs in; a login has a limit of its own
		require.NoError(t, err)
		stall = true
		began := time.Now()
		_, err = read()
		require.Error(t, err)
		require.Less(t, time.Since(began), 25*time.Second)
		stall = false
		version, err := read()
		require.NoError(t, err)
		require.Equal(t, installed.SchemaVersion(), version)
	})
}
