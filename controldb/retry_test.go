package controldb_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// A deadlock victim is repeated a few times, and each retry is reported. A store without retries
// returns the error.
func TestDeadlockRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deadlocks atomic.Int64
		env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
			if p.Kind == tsqld.BeforeStatement && strings.HasSuffix(p.Request, "sp_add_job") && deadlocks.Add(-1) >= 0 {
				return mserr.Deadlock(60, "lock")
			}
			return nil
		}})
		plain, _ := env.Control(t)
		var told []string
		store := plain.WithDeadlockRetries(func(op string, wait time.Duration) {
			require.LessOrEqual(t, wait, 2*time.Second)
			told = append(told, op)
		})
		add := func(s *controldb.Store, name string) error {
			_, err := catalog.On(s).AddJob(t.Context(), model.JobSpec{Name: name})
			return err
		}

		deadlocks.Store(3)
		require.NoError(t, add(store, "a"))
		require.Equal(t, []string{"add job", "add job", "add job"}, told)
		deadlocks.Store(100)
		require.ErrorContains(t, add(store, "b"), "deadlock")
		require.EqualValues(t, 95, deadlocks.Load(), "five calls")
		deadlocks.Store(1)
		require.ErrorContains(t, add(plain, "c"), "deadlock")
		require.NoError(t, add(plain, "c"))
		require.Len(t, told, 7)
	})
}

func TestIsTransient(t *testing.T) {
	t.Parallel()
	for number, want := range map[int32]bool{
		40613: true, 40501: true, 1205: true, 1222: true, 8645: true, 50100: false, 2627: false, 229: false,
	} {
		err := fmt.Errorf("call: %w", mssqldb.Error{Number: number})
		require.Equal(t, want, dberror.IsTransient(err), "%d", number)
	}
	require.False(t, dberror.IsTransient(dberror.ErrUnreachable))
	require.False(t, dberror.IsTransient(nil))
}

// A call that has no answer in time is told once; a quick one is not.
func TestSlowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
			if slow.Load() && p.Kind == tsqld.BeforeStatement && strings.HasSuffix(p.Request, "sp_add_job") {
				slow.Store(false)
				<-time.After(3 * time.Second)
			}
			return nil
		}})
		plain, _ := env.Control(t)
		told := make(chan string, 10)
		store := plain.WithSlowCalls(2*time.Second, func(op string) { told <- op })
		_, err := catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "quick"})
		require.NoError(t, err)
		require.Empty(t, told)
		slow.Store(true)
		_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "slow"})
		require.NoError(t, err)
		require.Equal(t, "add job", <-told)
		require.Empty(t, told)
	})
}
