package contexts

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// lock waits for the lock of a file, and returns the function that releases it. The file remains:
// another process may wait for its lock.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	const wholeFile = ^uint32(0)
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, wholeFile, wholeFile, &windows.Overlapped{})
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}

// ownedByUser is true: access lists guard the files of a profile.
func ownedByUser(fs.FileInfo) bool { return true }
