//go:build linux || darwin

package store

import "syscall"

// freeBytes is the room left in the file system of path; 0 if it cannot be told.
func freeBytes(path string) uint64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0
	}
	return st.Bavail * uint64(st.Bsize)
}
