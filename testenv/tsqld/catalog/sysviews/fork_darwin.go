package sysviews

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileIdentity tells the file of a database from every other file that had its path: by its number
// and the time when it was made. It is empty if the file is unknown.
func fileIdentity(path string) string {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d.%d", st.Ino, st.Btim.Sec, st.Btim.Nsec)
}
