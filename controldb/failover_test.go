package controldb_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// A server that cannot serve the control database at present counts as unreachable, whether it says
// so at the login or later, and the text says on one line what to do.
func TestUnavailable(t *testing.T) {
	var network *fault.Network
	env := testenv.Embedded(t, testenv.Options{Dialer: func(d mssqldb.HostDialer) mssqldb.HostDialer {
		network = fault.NewNetwork(d, nil)
		return network
	}})
	store, _ := env.Control(t)
	for _, r := range []struct {
		fault.Refusal
		kind error
		want string
	}{
		{fault.Refusal{Number: 40613, State: 1, Class: 17, Text: "Database 'control' is not currently available."}, dberror.ErrUnreachable, "try again in a minute"},
		{fault.Refusal{Number: 40501, State: 1, Class: 20, Text: "The service is currently busy.", Ends: true}, dberror.ErrUnreachable, "too much load"},
		{fault.Refusal{Number: 976, State: 1, Class: 14, Text: "The target database is not accessible for queries."}, dberror.ErrUnreachable, "a failover"},
		{fault.Refusal{Number: 3906, State: 2, Class: 16, Text: "Failed to update database \"control\" because the database is read-only."}, dberror.ErrUnreachable, "secondary replica"},
		{fault.Refusal{Number: 596, State: 1, Class: 21, Text: "Cannot continue the execution because the session is in the kill state.", Ends: true}, dberror.ErrUnreachable, "error 596"},
		{fault.Refusal{Number: 4060, State: 1, Class: 11, Text: "Cannot open database \"control\" requested by the login."}, dberror.ErrLoginFailed, "check user, password and database"},
		{fault.Refusal{Number: 18456, State: 1, Class: 14, Text: "Login failed for user 'sa'."}, dberror.ErrLoginFailed, "check user, password and database"},
	} {
		for _, at := range []string{"login", "call"} {
			if at == "login" {
				network.Cut()
				network.Heal()
			} else {
				require.NoError(t, store.Ping(t.Context()), "a session is idle")
			}
			network.Refuse(r.Refusal)
			_, err := catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "j"})
			require.ErrorIs(t, err, r.kind, "%d at the %s", r.Number, at)
			require.ErrorContains(t, err, r.want, "%d at the %s", r.Number, at)
			require.EqualValues(t, r.Number, dberror.NumberOf(err))
			require.NotContains(t, err.Error(), "\n")
			require.LessOrEqual(t, strings.Count(err.Error(), "add job"), 1)
			network.Heal()
		}
	}
	_, err := catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "j"})
	require.NoError(t, err)
}

// A server that accepts a connection and is silent counts as unreachable when the time of a login
// has passed.
func TestHangingLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{Dialer: func(d mssqldb.HostDialer) mssqldb.HostDialer {
			network := fault.NewNetwork(d, nil)
			network.Hang()
			return network
		}})
		store := env.OpenControl(t, "control")
		started := time.Now()
		err := store.Ping(t.Context())
		require.ErrorIs(t, err, dberror.ErrUnreachable)
		require.ErrorContains(t, err, "check that the server runs")
		require.Equal(t, mssql.DefaultLoginTimeout, time.Since(started))
	})
}
