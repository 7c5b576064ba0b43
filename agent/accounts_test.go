package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/accounts"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/testenv"
)

// A schema is installed only where that is permitted.
func TestPrepare(t *testing.T) {
	t.Parallel()
	env := testenv.Embedded(t, testenv.Options{})
	store := env.OpenControl(t, env.CreateDatabase(t, "empty"))
	require.ErrorIs(t, accounts.Prepare(t.Context(), store, false), dberror.ErrNotInstalled)
	require.NoError(t, accounts.Prepare(t.Context(), store, true))
	require.NoError(t, installed.On(store).Verify(t.Context()))
	require.NoError(t, accounts.Prepare(t.Context(), store, false))
}

// A reconciler carries out operations that others have begun, also after a caller that was killed
// while it held one. Wait sees the end, or stops waiting with its context.
func TestReconcilerContinuesOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		store, name := env.Control(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, id, err := account.On(store).Set(ctx, account.Change{Name: "a"})
		require.NoError(t, err)
		_, err = env.DB(t, name).ExecContext(ctx, `UPDATE jobs_internal.job_agent_operations
SET holder = NEWID(), held_until = DATEADD(SECOND, 10, SYSUTCDATETIME());`)
		require.NoError(t, err)

		short, stop := context.WithTimeout(ctx, 2*time.Second)
		defer stop()
		calls := 0
		operation, err := accounts.Wait(short, store, id, func(account.Operation) { calls++ })
		require.NoError(t, err)
		require.Equal(t, account.OperationInProgress, operation.Status)
		require.Equal(t, account.OperationUpsert, operation.Kind)
		require.Positive(t, calls)

		r, err := accounts.NewReconciler(store, zap.NewNop())
		require.NoError(t, err)
		ended := make(chan struct{})
		go func() { // ends with ctx
			defer close(ended)
			r.Run(ctx)
		}()
		began := time.Now()
		for {
			a, err := account.On(store).Read(ctx)
			require.NoError(t, err)
			if a.State == account.AgentReady {
				break
			}
			require.Less(t, time.Since(began), 15*time.Second, a.State)
			time.Sleep(100 * time.Millisecond) // virtual time
		}
		require.Greater(t, time.Since(began), 5*time.Second, "the lease of the caller that was killed")
		operation, err = accounts.Wait(ctx, store, id, nil)
		require.NoError(t, err)
		require.Equal(t, account.OperationSucceeded, operation.Status)
		_, err = accounts.Wait(ctx, store, uuid.New(), nil)
		require.ErrorContains(t, err, "does not exist any more")
		cancel()
		<-ended
	})
}
