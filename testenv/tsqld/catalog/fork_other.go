//go:build !linux && !darwin

package catalog

// fileNumber returns 0: this system does not tell the number of a file.
func fileNumber(string) uint64 { return 0 }
