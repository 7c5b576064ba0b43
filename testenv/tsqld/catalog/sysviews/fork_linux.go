package sysviews

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileIdentity tells the file of a database from every other file that had its path: by the number
// of its inode and the time when it was made, because ext4 gives the number of a deleted file to
// the next one. It is empty if the file is unknown. A file system without times of birth (see
// statx(2)) leaves the number alone.
func fileIdentity(path string) string {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return ""
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		st.Btime = unix.StatxTimestamp{}
	}
	return fmt.Sprintf("%d %d.%d", st.Ino, st.Btime.Sec, st.Btime.Nsec)
}
