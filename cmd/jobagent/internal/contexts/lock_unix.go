//go:build unix

package contexts

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lock waits for the lock of a file, and returns the function that releases it. The file remains:
// another process may wait for its lock.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}

// ownedByUser reports whether a file belongs to the user of the process, or to root, who may write
// all files anyway.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Uid == 0 || int(stat.Uid) == os.Getuid()
}
