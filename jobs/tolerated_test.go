package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Failures are tolerated in steps and runs that succeeded, and in no others.
func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lifecycle       Lifecycle
		failed, targets int
		want            string
	}{
		{Succeeded, 3, 400, "Succeeded, 3 of 400 failed (tolerated)"}, {SucceededWithSkipped, 1, 0, "SucceededWithSkipped, 1 failed (tolerated)"},
		{Succeeded, 0, 400, "Succeeded"}, {Failed, 3, 400, "Failed"}, {InProgress, 3, 400, "InProgress"},
	} {
		require.Equal(t, c.want, Outcome(c.lifecycle, c.failed, c.targets))
	}
}
