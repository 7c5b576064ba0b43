//go:build !linux && !darwin

package store

import (
	"errors"
	"os"
)

// freeBytes is the room left in the file system of path; 0 because this system has no memory directory.
func freeBytes(string) uint64 { return 0 }

// lockFile opens a file. This system has no lock that ends with its process, so that no other process's file can be had.
func lockFile(path string, flags int) (*os.File, error) {
	if flags&os.O_CREATE == 0 {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(path, os.O_RDWR|flags, 0o600)
}
