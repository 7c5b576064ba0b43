//go:build linux || darwin

package store

import (
	"errors"
	"os"
	"syscall"
)

// freeBytes returns the free space in the file system of path; 0 if it is unknown.
func freeBytes(path string) uint64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0
	}
	return st.Bavail * uint64(st.Bsize)
}

// lockFile opens a file and locks it for this process. It does not wait for the lock of another
// process.
func lockFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// unlockFile gives up the lock of lockFile and closes the file. Closing alone is not enough: a
// child that another goroutine is starting holds a copy of each descriptor until its exec, and the
// lock belongs to all copies (flock(2)).
func unlockFile(f *os.File) error {
	var unlocked error
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		unlocked = &os.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return errors.Join(unlocked, f.Close())
}
