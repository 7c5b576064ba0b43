package privatefile

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock waits for the lock of an open file.
func lock(f *os.File) error {
	const wholeFile = ^uint32(0)
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, wholeFile, wholeFile, &windows.Overlapped{})
}
