package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// isTerminal says whether w is a terminal, on which progress may be redrawn.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
