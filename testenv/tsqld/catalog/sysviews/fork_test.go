//go:build linux || darwin

package sysviews

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFileIdentity: a file has another identity than the deleted one of the same path, although
// some file systems give it the same number. Times of birth are those of the kernel's clock tick,
// so the first new file may be too early.
func TestFileIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d5.sqlite")
	require.Empty(t, fileIdentity(path))
	require.NoError(t, os.WriteFile(path, []byte("a"), 0o600))
	first := fileIdentity(path)
	require.NotEmpty(t, first)
	require.NoError(t, os.WriteFile(path, []byte("the same file"), 0o600))
	require.Equal(t, first, fileIdentity(path))
	require.Eventually(t, func() bool {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.WriteFile(path, []byte("a"), 0o600))
		return fileIdentity(path) != first
	}, 10*time.Second, 10*time.Millisecond)
}
