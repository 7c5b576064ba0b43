package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// receiving is a receiver that fails after a time, unless it is stopped before.
type receiving struct {
	fails   time.Duration
	err     error
	stopped time.Time
}

func (r *receiving) Serve(ctx context.Context) error {
	defer func() { r.stopped = time.Now() }()
	if sleep(ctx, r.fails, nil) {
		return r.err
	}
	return nil
}

func (*receiving) Close() error { return nil }

// A receiver that fails ends the agent. Otherwise it ends after the agent's last core, so that no
// report comes in vain while the agent stops.
func TestReceiverEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		fails, stops time.Duration
		ended        time.Duration
		want         error
	}{
		"Stops": {fails: time.Hour, stops: time.Minute, ended: time.Minute + 10*time.Second},
		"Fails": {fails: time.Minute, stops: time.Hour, ended: time.Minute + 10*time.Second, want: broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.stops)
				defer cancel()
				started := time.Now()
				r := &receiving{fails: tc.fails, err: broken}
				err := receiveWhile(ctx, r, func(ctx context.Context) {
					<-ctx.Done()
					<-time.After(10 * time.Second) // the last core stops
				})
				require.ErrorIs(t, err, tc.want)
				require.Equal(t, tc.ended, time.Since(started))
				if tc.want == nil {
					require.Equal(t, tc.ended, r.stopped.Sub(started))
				}
			})
		})
	}
}
