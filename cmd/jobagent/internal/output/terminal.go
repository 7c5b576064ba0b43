package output

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// IsTerminal says whether w is a terminal, on which progress may be redrawn.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
