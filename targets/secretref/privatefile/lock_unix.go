//go:build unix

package privatefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock waits for the lock of an open file.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
