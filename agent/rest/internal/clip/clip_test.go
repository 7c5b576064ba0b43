package clip

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	t.Parallel()
	require.Empty(t, Text("", 3))
	require.Equal(t, "äöü", Text("äöü", 3), "characters count, not bytes")
	require.Equal(t, "äö…", Text("äöüß", 3))
	require.Equal(t, "…", Text("ab", 1))
	require.Equal(t, "\xffa…", Text("\xffa"+strings.Repeat("b", 2), 3), "an invalid byte counts as one character")
}

func TestUnits(t *testing.T) {
	t.Parallel()
	require.Zero(t, Units(""))
	require.Equal(t, 3, Units("aä€"))
	require.Equal(t, 3, Units("a😀"), "a character beyond the basic plane is a pair")
}
