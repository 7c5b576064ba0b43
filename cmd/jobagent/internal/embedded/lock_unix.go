//go:build unix

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file without waiting.
func tryLock(f *os.File) (taken bool, err error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}

// unlock releases the lock of a file and closes it. A process that is being started by another
// goroutine has a copy of the file for a moment, and with it the lock, so closing is not enough.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}
