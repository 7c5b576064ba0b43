package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// ask runs a command that asks, and reports whether it went on.
func ask(ctx context.Context, in io.Reader, out io.Writer, affected int, args ...string) (wentOn, looked bool, err error) {
	cmd := &cobra.Command{
		Use: "x", SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := Confirm(cmd, func() (string, int, error) {
				looked = true
				return "This deletes it", affected, nil
			})
			wentOn = err == nil
			return err
		},
	}
	AddYes(cmd)
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetErr(out)
	return wentOn, looked, cmd.ExecuteContext(ctx)
}

// In a pipe, a command goes on as in earlier releases, unless it affects many things.
func TestConfirmWithoutTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, affected := range []int{0, 1, Many} {
		wentOn, _, err := ask(t.Context(), strings.NewReader(""), &out, affected)
		require.NoError(t, err)
		require.True(t, wentOn)
	}
	wentOn, _, err := ask(t.Context(), strings.NewReader("y\n"), &out, Many+1)
	require.EqualError(t, err, "This deletes it: give --yes to confirm, because there is no terminal to ask at")
	require.Equal(t, exit.CodeUsage, exit.Code(err))
	require.False(t, wentOn)
	wentOn, looked, err := ask(t.Context(), strings.NewReader(""), &out, Many+1, "-y")
	require.NoError(t, err)
	require.True(t, wentOn)
	require.False(t, looked, "nothing is counted if nobody is asked")
	require.Empty(t, out.String())
}

// skipOnWindows skips a test that opens a pseudo terminal.
func skipOnWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("github.com/creack/pty opens no pseudo terminal on Windows")
	}
}

func TestConfirmOnTerminal(t *testing.T) {
	t.Parallel()
	skipOnWindows(t)
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "yep\n": false, "\x04": false} {
		user, side, err := pty.Open()
		require.NoError(t, err)
		_, err = user.WriteString(answer)
		require.NoError(t, err)
		wentOn, _, err := ask(t.Context(), side, side, 0)
		require.Equal(t, want, wentOn, "%q", answer)
		if !want {
			require.EqualError(t, err, "nothing was changed, because the answer was not yes")
			require.Equal(t, exit.CodeFailure, exit.Code(err))
		}
		require.NoError(t, side.Close())
		screen, _ := io.ReadAll(user) // ends with EIO, as the other side is closed
		require.Contains(t, string(screen), "This deletes it. Go on? [y/N] ", "%q", answer)
		require.NoError(t, user.Close())
	}
}

// Ctrl-C ends the question, although the terminal is still read.
func TestConfirmInterrupted(t *testing.T) {
	t.Parallel()
	skipOnWindows(t)
	user, side, err := pty.Open()
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.Join(context.Canceled, os.ErrDeadlineExceeded))
	wentOn, _, err := ask(ctx, side, side, 0)
	require.False(t, wentOn)
	require.Equal(t, exit.CodeInterrupted, exit.Code(err))
	_, err = user.WriteString("\n") // ends the goroutine that reads
	require.NoError(t, err)
	require.NoError(t, user.Close())
	require.NoError(t, side.Close())
}
