package output_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// The instants of a message are written as in tables; what only looks like one stays.
func TestSaid(t *testing.T) {
	require.Equal(t, "attempt 2 begins at 2026-01-02 03:04:05 UTC | before: 2026-99-99T00:00:00Z",
		output.Said("attempt 2 begins at 2026-01-02T03:04:05.25Z\nbefore: 2026-99-99T00:00:00Z"))
	require.Empty(t, output.Said(""))
}
