//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import "golang.org/x/sys/unix"

// The requests to read and set the mode of a terminal, which the systems name differently.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
