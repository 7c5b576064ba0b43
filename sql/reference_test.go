package sqlfs

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite REFERENCE.md from the SQL files' comments")

// REFERENCE.md is the output of `jobagent db describe`.
func TestReferenceIsUpToDate(t *testing.T) {
	reference, err := Reference()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("REFERENCE.md", []byte(reference), 0o600))
	}
	kept, err := os.ReadFile("REFERENCE.md")
	require.NoError(t, err)
	require.Equal(t, reference, string(kept), "run: go test ./sql -run TestReferenceIsUpToDate -update")
}
