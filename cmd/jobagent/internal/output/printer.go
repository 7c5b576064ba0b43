package output

import (
	"context"
	"fmt"
	"io"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// Progress prints a line about the progress of a command, unless stdout has only the result.
func (p *Printer) Progress(format string, args ...any) {
	if !p.Structured() {
		fmt.Fprintln(p.Stdout, terminal.CleanScreen(fmt.Sprintf(format, args...)))
	}
}

// Printer holds the streams and the format of one invocation.
type Printer struct {
	Stdout, Stderr io.Writer
	Format         Format      // --output
	Query          Query       // --jq
	List           ListOptions // of the commands that print a list
	// Color and Live are --color and --progress; their zero values are auto.
	Color terminal.Color
	Live  terminal.Progress
	// Context ends a --jq filter that does not end by itself; nil means never.
	Context context.Context

	shapes map[any][]Shape // by command: see Declare
}

// Structured reports whether stdout has nothing but a value: JSON, YAML, or what --jq makes of it.
func (p *Printer) Structured() bool {
	return p.Format == FormatJSON || p.Format == FormatYAML || p.Query.code != nil
}

// Emit prints v as JSON or YAML, or calls asTable.
func (p *Printer) Emit(v any, asTable func(io.Writer) error) error {
	switch {
	case p.Query.code != nil:
		ctx := p.Context
		if ctx == nil {
			ctx = context.Background()
		}
		return p.Query.write(ctx, p.Stdout, v, terminal.Is(p.Stdout))
	case p.Format == FormatJSON:
		return WriteJSON(p.Stdout, v)
	case p.Format == FormatYAML:
		return WriteYAML(p.Stdout, v)
	}
	return asTable(p.Stdout)
}

// Painter returns the painter for tables and trees on stdout.
func (p *Printer) Painter() terminal.Painter { return p.Color.Painter(p.Stdout) }

// writeGrid prints a table within the width of the terminal; in a pipe nothing is cut.
func (p *Printer) writeGrid(g *grid) error {
	width, _, _ := terminal.Size(p.Stdout)
	if p.Format == FormatWide {
		width = 0
	}
	return g.write(p.Stdout, width, p.Painter())
}

// Done reports the success of a command: v as JSON, else the formatted line.
func (p *Printer) Done(v any, format string, args ...any) error {
	return p.Emit(v, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, terminal.CleanScreen(fmt.Sprintf(format, args...)))
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

// Text reports whether stdout is text for people, to which a command may add lines.
func (p *Printer) Text() bool {
	return !p.Structured() && p.Format != FormatCSV && p.Format != FormatName && p.Format != FormatJSONLines
}
