package readme

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// Size of the pseudo terminal, and the rows that the emulator keeps of a command's output.
const (
	columns  = 100
	wide     = 300 // of the terminal of dev, whose lines have a long folder in the test
	rows     = 40
	keptRows = 600
)

// closeTime is what a test that waits for a command in vain leaves of its time, to say what the
// terminal shows and to end the shell. Commands have no other limit: go install needs a minute
// without a build cache, and many on a busy machine.
const closeTime = 20 * time.Second

// shell is an interactive bash in a pseudo terminal, into which a user pastes lines.
type shell struct {
	cmd   *exec.Cmd
	width int
	tty   *os.File
	read  chan []byte // what the terminal shows; closed when the shell has ended
	shown []byte      // read, and not yet returned
}

// The prompts begin with an invisible operating system command, by which the test finds them: with
// the exit code, or for a command that goes on in the next line.
const (
	prompt       = `\[\e]7771;$?\a\]$ `
	continuation = `\[\e]7772\a\]> `
)

var prompts = regexp.MustCompile(`\x1b\]777(?:1;(\d+)|2)\x07`)

// newShell starts a bash in a folder, in a terminal of some width, with nothing of the environment
// of the test but env.
func newShell(t *testing.T, dir string, env []string, width int) *shell {
	t.Helper()
	s := &shell{cmd: exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i"), width: width, read: make(chan []byte, 1024)}
	s.cmd.Dir = dir
	s.cmd.Env = append(env, "PS1="+prompt, "PS2="+continuation, "TERM=xterm-256color", "LANG=C.UTF-8")
	var err error
	s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Cols: uint16(width), Rows: rows})
	require.NoError(t, err)
	go func() { // ends with the shell, or when close closes the terminal
		defer close(s.read)
		for {
			chunk := make([]byte, 32<<10)
			n, err := s.tty.Read(chunk)
			if n > 0 {
				s.read <- chunk[:n]
			}
			if err != nil { // EIO: the last process of the terminal has ended
				return
			}
		}
	}()
	_, _ = s.await(t, "the first prompt", prompts)
	return s
}

// close ends the shell.
func (s *shell) close(t *testing.T) {
	t.Helper()
	if t.Failed() { // the shell may wait for anything
		_ = s.cmd.Process.Kill()
		_ = s.tty.Close()
		_ = s.cmd.Wait()
		return
	}
	s.write(t, "exit 0\n")
	for range s.read { //nolint:revive // until the shell has ended
	}
	require.NoError(t, s.cmd.Wait())
	require.NoError(t, s.tty.Close())
}

// write types text.
func (s *shell) write(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(s.tty, text)
	require.NoError(t, err)
}

// await waits for a match in what the terminal shows. It returns the text before the match, and its
// groups; both are gone from s.shown.
func (s *shell) await(t *testing.T, what string, pattern *regexp.Regexp) (before string, groups []string) {
	t.Helper()
	var late <-chan time.Time
	if end, ok := t.Deadline(); ok {
		late = time.After(time.Until(end) - closeTime)
	}
	for {
		if m := pattern.FindSubmatchIndex(s.shown); m != nil {
			before = string(s.shown[:m[0]])
			for i := 0; i < len(m); i += 2 {
				group := ""
				if m[i] >= 0 {
					group = string(s.shown[m[i]:m[i+1]])
				}
				groups = append(groups, group)
			}
			s.shown = bytes.Clone(s.shown[m[1]:])
			return before, groups
		}
		select {
		case chunk, ok := <-s.read:
			require.True(t, ok, "the shell has ended, and did not show %s:\n%s", what, s.shown)
			s.shown = append(s.shown, chunk...)
		case <-late:
			require.FailNow(t, "nothing shows "+what, "%s", s.shown)
		}
	}
}

// paste pastes the lines of one command, each after a prompt, as a person does. It returns what the
// terminal then shows below the command, and the exit code.
func (s *shell) paste(t *testing.T, command string) (screen string, code int) {
	t.Helper()
	lines := strings.Split(command, "\n")
	for i, line := range lines {
		s.write(t, line+"\n")
		output, groups := s.await(t, "a prompt after "+line, prompts)
		if groups[1] == "" {
			require.Less(t, i+1, len(lines), "the shell waits for more than %q", command)
			continue
		}
		require.Equal(t, len(lines), i+1, "the shell ran %q before its last line", command)
		code, err := strconv.Atoi(groups[1])
		require.NoError(t, err)
		return rendered(t, output, s.width), code
	}
	return "", 0
}

// rendered returns what a terminal shows of an output: without the echo of the command, and with
// what the output moves, colours and erases.
func rendered(t *testing.T, output string, width int) string {
	t.Helper()
	_, output, _ = strings.Cut(output, "\n") // the echo of the pasted line
	if strings.ContainsRune(output, '\x1b') {
		screen := vt.NewEmulator(width, keptRows)
		answers := make(chan struct{})
		go func() { // ends when the emulator is closed
			defer close(answers)
			_, _ = io.Copy(io.Discard, screen) // answers to queries, which block the emulator
		}()
		_, err := screen.WriteString(output)
		require.NoError(t, err)
		output = screen.String()
		require.NoError(t, screen.Close())
		<-answers
	}
	lines := strings.Split(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
