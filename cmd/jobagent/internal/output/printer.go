package output

import (
	"fmt"
	"io"
)

// Say tells people what happens; programs are not interested.
func (a *Printer) Say(format string, args ...any) {
	if a.Format != FormatJSON {
		fmt.Fprintf(a.Stdout, format+"\n", args...)
	}
}

// Printer is where and how the commands of one invocation print.
type Printer struct {
	Stdout, Stderr io.Writer
	Format         Format // --output
}

// Emit prints v as JSON, or calls the printer of the table.
func (a *Printer) Emit(v any, asTable func(io.Writer) error) error {
	if a.Format == FormatJSON {
		return WriteJSON(a.Stdout, v)
	}
	return asTable(a.Stdout)
}

// Done says that something was done: a line for people, an object for programs.
func (a *Printer) Done(v any, format string, args ...any) error {
	return a.Emit(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		return err
	})
}

// Warn prints warnings.
func (a *Printer) Warn(warnings []string) error {
	for _, w := range warnings {
		if _, err := fmt.Fprintf(a.Stderr, "warning: %s\n", OneLine(w)); err != nil {
			return err
		}
	}
	return nil
}
