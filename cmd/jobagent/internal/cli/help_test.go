package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Paragraphs that are too wide are broken again; tables, examples and what fits stay.
func TestReflow(t *testing.T) {
	t.Parallel()
	text := "one two three\nfour five six seven\n\nWith:   a\nBut:    b\n\nIt exits with\n  0    if it is longer\n       than the width\n  7    else"
	require.Equal(t, text, reflow(text, 40))
	require.Equal(t, "one two three four\nfive six seven\n\nWith:   a\nBut:    b\n\nIt exits with\n  0    if it is\n       longer than\n       the width\n  7    else", reflow(text, 18))
}
