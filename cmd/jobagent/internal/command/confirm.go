package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// Many is the largest number of things that a command deletes, stops or starts without --yes where
// nobody can be asked. Scripts of earlier releases do not give --yes; few do more than that.
const Many = 100

// flagYes is the name of the flag --yes.
const flagYes = "yes"

// AddYes adds the flag --yes to a command that calls [Confirm].
func AddYes(cmd *cobra.Command) {
	cmd.Flags().BoolP(flagYes, "y", false, "do not ask before it is done")
}

// productionKey is the key of the value that [WithProduction] adds to a context.
type productionKey struct{}

// WithProduction adds to the context of a command what [Confirm] asks: production returns the name
// of the connection's context if that is one for production, else "".
func WithProduction(ctx context.Context, production func() (string, error)) context.Context {
	return context.WithValue(ctx, productionKey{}, production)
}

// production returns the name of the connection's context for production, or "".
func production(ctx context.Context) (string, error) {
	if of, ok := ctx.Value(productionKey{}).(func() (string, error)); ok {
		return of()
	}
	return "", nil
}

// Confirm asks whether a command may go on. It is called after the arguments are known to be valid,
// and before anything is changed.
//
// On a terminal, a person is asked. Elsewhere, the command goes on if it affects at most [Many]
// things outside of production, and else it is refused. With --yes, it goes on, and look is not
// called. look says what will be done, as a sentence without a full stop, and how many things it
// affects beside the one object that the command line names; 0 for a command that affects only
// that.
func Confirm(cmd *cobra.Command, look func() (what string, affected int, err error)) error {
	yes, err := cmd.Flags().GetBool(flagYes)
	if err != nil || yes {
		return err
	}
	what, affected, err := look()
	if err != nil {
		return err
	}
	asked := asksPerson(cmd)
	switch {
	case !asked && affected > Many:
		return exit.Usagef("%s: give --yes to confirm, because there is no terminal to ask at", what)
	case !asked:
		name, err := production(cmd.Context())
		if err == nil && name != "" {
			err = exit.Usagef("%s: give --yes to confirm, because the context %s is for production and there is no terminal to ask at", what, name)
		}
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s. Go on? [y/N] ", terminal.Clean(what))
	answer, err := readLine(cmd.Context(), cmd.InOrStdin())
	if !strings.HasSuffix(answer, "\n") { // Ctrl-C or Ctrl-D: the cursor is behind the question
		fmt.Fprintln(cmd.ErrOrStderr())
	}
	if cmd.Context().Err() != nil {
		return exit.With(exit.CodeInterrupted, errors.New("interrupted: nothing was changed"))
	}
	if err != nil {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return exit.With(exit.CodeFailure, errors.New("nothing was changed, because the answer was not yes"))
	}
	return nil
}

// Fixed returns a look for [Confirm] that knows its answer.
func Fixed(format string, args ...any) func() (string, int, error) {
	return func() (string, int, error) { return fmt.Sprintf(format, args...), 0, nil }
}

// asksPerson reports whether a person sees a question and can answer it.
func asksPerson(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	return ok && terminal.Is(in) && terminal.Is(cmd.ErrOrStderr())
}

// readLine reads one line of a terminal. The end of the input is an empty line.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() { // ends with the line, or with the process: nothing else ends a read of a terminal
		line, err := bufio.NewReader(in).ReadString('\n')
		done <- result{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case r := <-done:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", r.err)
		}
		return r.line, nil
	}
}
