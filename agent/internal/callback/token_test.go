package callback

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTokens(t *testing.T) {
	t.Parallel()
	token := NewToken()
	require.Len(t, token, 43, "256 bits")
	require.NotEqual(t, token, NewToken())
	require.True(t, IsToken(token))
	require.False(t, IsToken(token+"="))
	require.False(t, IsToken(token[1:]))
	require.Equal(t, "https://example.com/jobs/callbacks/"+token, URL("https://example.com/jobs/", token))
}
