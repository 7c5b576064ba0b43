package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	type place struct {
		Name string
		ID   int
	}
	token := controldb.Token(place{"ä/ ?&", 7})
	require.Regexp(t, `^[A-Za-z0-9_-]+$`, token)
	var p place
	require.NoError(t, controldb.ReadToken(token, &p))
	require.Equal(t, place{"ä/ ?&", 7}, p)
	for _, wrong := range []string{"", "x", token + "=", token[1:], "e30x", "bnVsb"} {
		require.ErrorIs(t, controldb.ReadToken(wrong, &p), controldb.ErrToken, wrong)
	}
}
