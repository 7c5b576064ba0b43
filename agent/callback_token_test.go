package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/internal/callback"
)

func TestCallbackTokens(t *testing.T) {
	t.Parallel()
	token := callback.NewToken()
	require.Len(t, token, 43, "256 bits")
	require.NotEqual(t, token, callback.NewToken())
	require.True(t, callback.IsToken(token))
	require.False(t, callback.IsToken(token+"="))
	require.False(t, callback.IsToken(token[1:]))
	require.Equal(t, "https://example.com/jobs/callbacks/"+token, callback.URL("https://example.com/jobs/", token))
}
