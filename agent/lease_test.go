package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The trust ends a sixth of the lease before the term, counted from before the call that renewed
// it.
func TestTrust(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	trust := newTrust(asked, time.Minute)
	require.Equal(t, asked.Add(50*time.Second), trust.end())
	trust.extend(asked.Add(20*time.Second), time.Minute)
	require.Equal(t, asked.Add(70*time.Second), trust.end())
}
