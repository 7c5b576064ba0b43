package keyset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/internal/keyset"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	type place struct {
		Name string
		ID   int
	}
	token, err := keyset.Encode(place{"ä/ ?&", 7})
	require.NoError(t, err)
	require.Regexp(t, `^[A-Za-z0-9_-]+$`, token)
	var p place
	require.NoError(t, keyset.Decode(token, &p))
	require.Equal(t, place{"ä/ ?&", 7}, p)
	for _, wrong := range []string{"", "x", token + "=", token[1:], "e30x", "bnVsb"} {
		require.ErrorIs(t, keyset.Decode(wrong, &p), keyset.ErrToken, wrong)
	}
}
