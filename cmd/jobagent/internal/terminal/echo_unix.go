//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// HideTyping turns the echo of the terminal f off until restore is called, so that keys do not move
// the cursor in a picture. What is typed stays for the shell, and keys still send signals. A
// process in the background changes nothing: to set the terminal would stop it.
func HideTyping(f *os.File) (restore func()) {
	fd := int(f.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return func() {}
	}
	mode, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || mode.Lflag&unix.ECHO == 0 {
		return func() {}
	}
	quiet := *mode
	quiet.Lflag &^= unix.ECHO
	if unix.IoctlSetTermios(fd, setTermios, &quiet) != nil {
		return func() {}
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, mode) } // the terminal may be gone
}
