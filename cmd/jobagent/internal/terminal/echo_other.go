//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package terminal

import "os"

// HideTyping does nothing: the consoles of this system do not print what is typed meanwhile.
func HideTyping(*os.File) (restore func()) { return func() {} }
