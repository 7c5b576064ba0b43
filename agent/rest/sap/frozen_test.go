package sap

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
)

// A control database that does not answer is given up early enough: the driver needs another 5 s to
// give up the connection, and the client gets its answer within 12 s (S-3).
func TestSilentDatabaseIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(nil, RateLimit{}, zap.NewNop())
		require.NoError(t, err)
		c := &call{provider: true, service: &service{tenants: newBuckets(RateLimit{}.or(defaultTenant))}}
		const drain = 5 * time.Second // cancelDrainTimeout of go-mssqldb
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), Timeout)
		defer cancel()
		_, err = s.limited(ctx, "Jobs_Get", c, func(ctx context.Context, _ *call) (*rest.Response, error) {
			<-ctx.Done()
			time.Sleep(drain) // in virtual time, as the driver does
			return nil, ctx.Err()
		})
		var answer *rest.Error
		require.ErrorAs(t, err, &answer)
		require.Equal(t, 503, answer.Status)
		require.Equal(t, time.Second, answer.RetryAfter)
		require.LessOrEqual(t, time.Since(begun), 12*time.Second)
	})
}
