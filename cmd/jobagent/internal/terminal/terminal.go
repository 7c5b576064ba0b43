// Package terminal has what commands need to draw on a terminal: whether a stream is one, its size,
// its colours, and pieces of lines that look the same in all commands.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
)

// Is reports whether w is a terminal, on which a line can be drawn again.
func Is(w io.Writer) bool {
	f := file(w)
	return f != nil && term.IsTerminal(f.Fd())
}

// Size returns the size of the terminal in cells. If ok is false, w is not a terminal, or a
// terminal without a size: callers then do not cut lines.
func Size(w io.Writer) (width, height int, ok bool) {
	f := file(w)
	if f == nil || !term.IsTerminal(f.Fd()) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(f.Fd())
	return width, height, err == nil && width > 0
}

// Color is the value of --color: whether commands print colours.
type Color string

// The values of --color.
const (
	ColorAuto   Color = "auto" // on a terminal, unless NO_COLOR is set or TERM is dumb
	ColorAlways Color = "always"
	ColorNever  Color = "never"
)

// Set implements pflag.Value.
func (c *Color) Set(s string) error {
	switch v := Color(strings.ToLower(s)); v {
	case ColorAuto, ColorAlways, ColorNever:
		*c = v
		return nil
	}
	return fmt.Errorf("invalid color %q: want auto, always or never", s)
}

// String implements pflag.Value.
func (c *Color) String() string { return string(*c) }

// Type implements pflag.Value.
func (c *Color) Type() string { return "auto|always|never" }

// Painter returns the painter for w. An explicit choice precedes NO_COLOR (https://no-color.org).
func (c Color) Painter(w io.Writer) Painter {
	switch c {
	case ColorAlways:
		return Painter{}
	case ColorNever:
		return Painter{Plain: true}
	}
	return Painter{Plain: !Is(w) || NoColor()}
}

// NoColor reports whether the environment asks for text without colours.
func NoColor() bool { return os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" }

// Progress is the value of --progress: how commands that wait show what goes on.
type Progress string

// The values of --progress. All are shown on stderr.
const (
	ProgressAuto  Progress = "auto"  // live on a terminal, else plain
	ProgressLive  Progress = "live"  // a picture that is drawn again
	ProgressPlain Progress = "plain" // a line, now and then
	ProgressNone  Progress = "none"  // only warnings
)

// Set implements pflag.Value.
func (p *Progress) Set(s string) error {
	switch v := Progress(strings.ToLower(s)); v {
	case ProgressAuto, ProgressLive, ProgressPlain, ProgressNone:
		*p = v
		return nil
	}
	return fmt.Errorf("invalid progress %q: want auto, live, plain or none", s)
}

// String implements pflag.Value.
func (p *Progress) String() string { return string(*p) }

// Type implements pflag.Value.
func (p *Progress) Type() string { return "auto|live|plain|none" }

// For returns live, plain or none for the stream w. A pipe gets plain lines whatever is wanted,
// since nothing can be drawn again there; so do a job of a CI system and a dumb terminal, unless
// live is wanted.
func (p Progress) For(w io.Writer) Progress {
	switch {
	case p == ProgressNone || p == ProgressPlain:
		return p
	case !Is(w):
		return ProgressPlain
	case p == ProgressLive:
		return ProgressLive
	case os.Getenv("CI") != "" && os.Getenv("CI") != "false", os.Getenv("TERM") == "dumb":
		return ProgressPlain
	}
	return ProgressLive
}

// IsInput reports whether r is a terminal, at which a person can answer.
func IsInput(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// ReadPassword asks for a password at the terminal r, without showing it. When ctx ends, the
// terminal shows again what is typed.
func ReadPassword(ctx context.Context, r io.Reader, w io.Writer, question string) (string, error) {
	f, ok := r.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return "", errors.New("read the password: standard input is not a terminal")
	}
	before, err := term.GetState(f.Fd())
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	fmt.Fprint(w, question)
	defer fmt.Fprintln(w)
	type answer struct {
		text []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // ends with a line, or with the process: a read of a terminal cannot be stopped
		text, err := term.ReadPassword(f.Fd())
		answered <- answer{text, err}
	}()
	select {
	case a := <-answered:
		if a.err != nil {
			return "", fmt.Errorf("read the password: %w", a.err)
		}
		return string(a.text), nil
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(f.Fd(), before))
	}
}
