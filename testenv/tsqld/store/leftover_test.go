//go:build linux || darwin

package store

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeftoversOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	makeDir := func(name string, owned bool) string {
		dir := filepath.Join(root, temporaryName+name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		if owned {
			require.NoError(t, os.WriteFile(filepath.Join(dir, ownerName), nil, 0o600))
		}
		return dir
	}
	dead := makeDir("dead", true)
	require.NoError(t, os.WriteFile(filepath.Join(dead, "d5.sqlite"), []byte("x"), 0o600))
	alive := makeDir("alive", true)
	owner, err := lockFile(filepath.Join(alive, ownerName), 0)
	require.NoError(t, err)
	young := makeDir("young", false)
	old := makeDir("old", false)
	long := time.Now().Add(-2 * orphanAge)
	require.NoError(t, os.Chtimes(old, long, long))

	clearLeftovers(root)
	require.NoDirExists(t, dead)
	require.DirExists(t, alive)
	require.DirExists(t, young, "its process may be about to make the owner's file")
	require.NoDirExists(t, old)

	// A child process that is about to be started has a copy of the descriptor.
	inherited, err := syscall.Dup(int(owner.Fd()))
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Close(inherited)) }()
	require.NoError(t, unlockFile(owner))
	clearLeftovers(root)
	require.NoDirExists(t, alive)
}

func TestTemporaryDirectoryIsHeldWhileItsStoreIsOpen(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{})
	require.NoError(t, err)
	_, err = lockFile(filepath.Join(s.dir, ownerName), 0)
	require.Error(t, err)
	require.NoError(t, s.Close())
	require.NoDirExists(t, s.dir)
}

// Processes make and clear directories at the same time: a directory with an owner stays.
func TestDirectoriesAreMadeWhileOthersClear(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	made := make(chan struct{})
	var clearing sync.WaitGroup
	defer clearing.Wait()
	defer close(made)
	for range 4 {
		clearing.Go(func() {
			for {
				select {
				case <-made:
					return
				default:
					clearLeftovers(root)
				}
			}
		})
	}
	for range 2000 {
		dir, owner, err := makeIn(root)
		require.NoError(t, err)
		assert.FileExists(t, filepath.Join(dir, ownerName))
		require.NoError(t, unlockFile(owner))
	}
}
