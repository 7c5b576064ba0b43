//go:build unix

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file without waiting. Closing the file releases it.
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
