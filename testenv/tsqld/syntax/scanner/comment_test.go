package scanner

import (
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
