package targets_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/secretref/privatefile"
)

// Changes under the lock do not lose each other, and nothing but the file and its lock stays.
func TestPrivateFileChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "counter")
	require.NoError(t, os.WriteFile(path, []byte("0"), 0o644))
	const changes = 20
	var group sync.WaitGroup
	failures := make(chan error, changes)
	for range changes {
		group.Go(func() {
			failures <- func() error {
				unlock, err := privatefile.Lock(path + ".lock")
				if err != nil {
					return err
				}
				defer unlock()
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				n, err := strconv.Atoi(string(text))
				if err != nil {
					return err
				}
				return privatefile.Replace(path, []byte(strconv.Itoa(n+1)))
			}()
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(changes), string(text))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
		}
	}
}

// What cannot be replaced stays as it was.
func TestPrivateFileReplaceFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "directory")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in it"), 0o700))
	require.Error(t, privatefile.Replace(dir, []byte("text")))
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Len(t, entries, 1, "the temporary file is gone")
	_, err = privatefile.Lock(filepath.Join(dir, "missing", "lock"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
