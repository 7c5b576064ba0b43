package exec

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// TestInternalErrorsHaveNoDetails: only the operator gets the details of an internal error.
func TestInternalErrorsHaveNoDetails(t *testing.T) {
	t.Parallel()
	var reported []error
	inst, err := New(session.Config{SAPassword: "secret", OnError: func(err error) { reported = append(reported, err) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close()) })
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	defer func() { require.NoError(t, s.Close()) }()

	conn, err := inst.Store.Acquire(context.Background())
	require.NoError(t, err)
	_, unknown := conn.Exec(context.Background(), "SELECT colour FROM sqlite_master", nil)
	inst.Store.Release(conn)
	require.ErrorContains(t, unknown, "no such column")

	for _, cause := range []error{
		unknown, errors.New("open /data/d7.sqlite: permission denied"), fmt.Errorf("read: %w", store.ErrCorrupt),
	} {
		reported = nil
		var out recorder
		require.NoError(t, s.serve(context.Background(), &out, "TEST", func(r *run) error {
			return transactions{r}.reportManagerError(cause)
		}))
		require.Equal(t, "Msg 8630, Level 17, State 1, Line 1: "+mserr.Internal().Message+"\n(error)\n", out.b.String())
		require.Equal(t, []error{cause}, reported)
	}
}
