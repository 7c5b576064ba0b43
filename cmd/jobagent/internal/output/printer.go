package output

import (
	"fmt"
	"io"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// Progress prints a line about the progress of a command, unless the format is JSON.
func (p *Printer) Progress(format string, args ...any) {
	if p.Format != FormatJSON {
		fmt.Fprintf(p.Stdout, format+"\n", args...)
	}
}

// Printer holds the streams and the format of one invocation.
type Printer struct {
	Stdout, Stderr io.Writer
	Format         Format // --output
	// Color and Live are --color and --progress; their zero values are auto.
	Color terminal.Color
	Live  terminal.Progress
}

// Painter returns the painter for tables and trees on stdout.
func (p *Printer) Painter() terminal.Painter { return p.Color.Painter(p.Stdout) }

// Emit prints v as JSON, or calls asTable.
func (p *Printer) Emit(v any, asTable func(io.Writer) error) error {
	if p.Format == FormatJSON {
		return WriteJSON(p.Stdout, v)
	}
	return asTable(p.Stdout)
}

// Done reports the success of a command: v as JSON, else the formatted line.
func (p *Printer) Done(v any, format string, args ...any) error {
	return p.Emit(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		return err
	})
}

// Warn prints warnings on stderr.
func (p *Printer) Warn(warnings []string) error {
	for _, w := range warnings {
		if _, err := fmt.Fprintf(p.Stderr, "warning: %s\n", OneLine(w)); err != nil {
			return err
		}
	}
	return nil
}
