//go:build linux || darwin

package catalog

import (
	"os"
	"syscall"
)

// fileNumber returns the number by which the file system knows the file of a database; 0 if it is
// unknown.
func fileNumber(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}
