package terminal

import "golang.org/x/sys/unix"

// The requests to read and set the mode of a terminal, which the systems name differently.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
