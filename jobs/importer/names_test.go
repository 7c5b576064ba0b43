package importer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names are the same wherever strings.EqualFold says so, and renamed ones are unique.
func TestNames(t *testing.T) {
	t.Parallel()
	given := []string{"a", "A", "a (2)", "a", "K", "k", "\u212a", "s", "\u017f", "Straße", "STRASSE", strings.Repeat("x", maxName), strings.Repeat("X", maxName)}
	want := []string{"a", "A (2)", "a (2) (2)", "a (3)", "K", "k (2)", "\u212a (3)", "s", "\u017f (2)", "Straße", "STRASSE", strings.Repeat("x", maxName), strings.Repeat("X", maxName-4) + " (2)"}
	var n names
	for i, name := range given {
		taken := false
		for _, other := range want[:i] {
			taken = taken || strings.EqualFold(other, name)
		}
		require.Equal(t, taken, n.has(name), name)
		renamed := name
		got := n.unique(name, func(n string) { renamed = n })
		require.Equal(t, want[i], got)
		require.Equal(t, got, renamed)
		n.add(got)
	}
}
