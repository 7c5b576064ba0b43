package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
)

// Await tries again while the control database cannot be reached, and at once returns an error that
// does not pass by itself.
func TestAwait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		errs  []error // of the calls, in order; then nil
		tries int
		want  error
	}{
		"Unreachable":  {errs: []error{dberror.ErrUnreachable, dberror.ErrUnreachable}, tries: 3},
		"Refused":      {errs: []error{dberror.ErrUnreachable, dberror.ErrLoginFailed}, tries: 2, want: dberror.ErrLoginFailed},
		"NotInstalled": {errs: []error{dberror.ErrNotInstalled}, tries: 1, want: dberror.ErrNotInstalled},
		"OtherSchema":  {errs: []error{dberror.ErrSchemaVersion}, tries: 1, want: dberror.ErrSchemaVersion},
		"Unfit":        {errs: []error{doctor.ErrUnfit}, tries: 1, want: doctor.ErrUnfit},
		"Permanent":    {errs: []error{errors.ErrUnsupported}, tries: 1, want: errors.ErrUnsupported},
		// A refusal stays one if the server could not be reached by another of its addresses.
		"RefusedAndUnreachable": {errs: []error{errors.Join(dberror.ErrUnreachable, dberror.ErrLoginFailed)}, tries: 1, want: dberror.ErrLoginFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries, alive := 0, 0
				err := Await(t.Context(), func() { alive++ }, zap.NewNop(), func(context.Context) error {
					if tries++; tries <= len(tc.errs) {
						return tc.errs[tries-1]
					}
					return nil
				})
				require.ErrorIs(t, err, tc.want)
				require.Equal(t, tc.tries, tries)
				require.Equal(t, tc.tries-1, alive)
			})
		})
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		started := time.Now()
		time.AfterFunc(time.Minute, func() { cancel(ErrStopping) })
		require.ErrorIs(t, Await(ctx, nil, zap.NewNop(), func(context.Context) error { return dberror.ErrUnreachable }), ErrStopping)
		require.Equal(t, time.Minute, time.Since(started))
		require.ErrorIs(t, Await(ctx, nil, zap.NewNop(), func(context.Context) error { return errors.ErrUnsupported }), ErrStopping, "the error of a call that was canceled")
	})
}
