//go:build !linux && !darwin

package store

import (
	"errors"
	"os"
)

// freeBytes returns 0: this system has no directory in memory.
func freeBytes(string) uint64 { return 0 }

// lockFile opens a file. This system has no lock that ends with its process, so no leftover can be
// recognised.
func lockFile(path string, flags int) (*os.File, error) {
	if flags&os.O_CREATE == 0 {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(path, os.O_RDWR|flags, 0o600)
}

// unlockFile closes the file of lockFile.
func unlockFile(f *os.File) error { return f.Close() }
