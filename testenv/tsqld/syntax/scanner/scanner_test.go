package scanner

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A carriage return, a line feed or both end a comment that begins with two hyphens.
func TestEndsOfLineComments(t *testing.T) {
	for _, end := range []string{"\r", "\n", "\r\n"} {
		s := &Scanner{src: "-- text" + end + "SELECT 1"}
		require.Nil(t, s.skip())
		require.Equal(t, "SELECT 1", s.src[s.off:])
	}
}

// Reserved words need brackets in any case, and other words do not.
func TestReservedWordsAreNotRegular(t *testing.T) {
	for word := range reserved {
		require.False(t, IsRegular(word), word)
		require.False(t, IsRegular(strings.ToLower(word)), word)
		require.True(t, IsRegular(word+"_"), word)
	}
	require.False(t, IsRegular(""))
	require.False(t, IsRegular("a b"))
	require.True(t, IsRegular(strings.Repeat("x", MaxIdentifier)))
	require.False(t, IsRegular(strings.Repeat("x", MaxIdentifier+1)))
}
