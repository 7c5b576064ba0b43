package builtin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/aggregate"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The values of APPROX_COUNT_DISTINCT are on the account of their session.
func TestDistinctValuesAreAccounted(t *testing.T) {
	t.Parallel()
	acc := aggregate.NewDistinct([]types.Type{types.NVarCharMax}, types.BigIntType)
	for _, s := range []string{"a", "b", "A", strings.Repeat("c", 10_000)} {
		require.NoError(t, acc.Add([]types.Value{s}))
	}
	require.Greater(t, acc.(interface{ Held() int }).Held(), 10_000)
}
