package differential

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stampLayout is the form of a clock time without a zone: that of iCalendar.
const stampLayout = "20060102T150405"

// answerLimit bounds the time of an answer. A worker that needs longer is killed: libraries search
// for rules without an instant up to the year 9999, or for ever.
const answerLimit = 2 * time.Second

// startLimit bounds the start of a worker, which takes long on a busy machine only.
const startLimit = 30 * time.Second

// worker is a process that holds another engine. A question is a line of three fields, separated by
// tabs: the rule, its start as a clock time, and the number of instants. The answer is a line of
// clock times separated by blanks; the word end follows the last instant of a rule. An answer that
// begins with an exclamation mark is an error. The first line of a worker is "ready VERSION".
type worker struct {
	command func() *exec.Cmd
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	version string
}

// start starts the process and reads its first line.
func (w *worker) start() error {
	w.process = w.command()
	var err error
	if w.in, err = w.process.StdinPipe(); err != nil {
		return err
	}
	out, err := w.process.StdoutPipe()
	if err != nil {
		return err
	}
	w.out = bufio.NewReader(out)
	var stderr strings.Builder
	w.process.Stderr = &stderr
	if err := w.process.Start(); err != nil {
		return err
	}
	line, err := w.line(startLimit)
	if version, ok := strings.CutPrefix(line, "ready "); ok && err == nil {
		w.version = version
		return nil
	}
	w.stop()
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	return fmt.Errorf("%s", lines[len(lines)-1])
}

// stop ends the process.
func (w *worker) stop() {
	if w.process == nil {
		return
	}
	_ = w.in.Close()
	_ = w.process.Process.Kill()
	_ = w.process.Wait()
	w.process = nil
}

// line reads a line. It kills the process after the limit.
func (w *worker) line(limit time.Duration) (string, error) {
	timer := time.AfterFunc(limit, func() { _ = w.process.Process.Kill() })
	line, err := w.out.ReadString('\n')
	if !timer.Stop() {
		return "", errTimeout
	}
	return strings.TrimSpace(line), err
}

var errTimeout = errors.New("no answer in time")

// ask returns the first n clock times of a rule. more is false if there are no others.
func (w *worker) ask(rule string, start time.Time, n int) (stamps []time.Time, more bool, err error) {
	if w.process == nil {
		if err := w.start(); err != nil {
			return nil, false, err
		}
	}
	_, err = fmt.Fprintf(w.in, "%s\t%s\t%d\n", rule, start.Format(stampLayout), n)
	line := ""
	if err == nil {
		line, err = w.line(answerLimit)
	}
	if err != nil {
		w.stop()
		return nil, false, errTimeout
	}
	if text, failed := strings.CutPrefix(line, "! "); failed {
		return nil, false, errors.New(text)
	}
	more = true
	for word := range strings.FieldsSeq(line) {
		if word == "end" {
			more = false
			break
		}
		at, err := time.Parse(stampLayout, word)
		if err != nil {
			return nil, false, err
		}
		stamps = append(stamps, at)
	}
	return stamps, more, nil
}

// parseQuestion parses a question to a worker.
func parseQuestion(line string) (rule string, start time.Time, n int, err error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 3 {
		return "", start, 0, fmt.Errorf("got %d fields, want 3", len(fields))
	}
	if start, err = time.Parse(stampLayout, fields[1]); err != nil {
		return "", start, 0, err
	}
	n, err = strconv.Atoi(fields[2])
	return fields[0], start, n, err
}

// absent are the messages of a reference that is not installed. Any other failure fails the test:
// the worker itself is wrong.
var absent = []string{"No module named", "executable file not found", "no such file or directory", "cannot find -lical", "libical/ical.h"}

// skipIfAbsent skips the test if each failure means that the reference is not installed, and fails
// it otherwise.
func skipIfAbsent(t *testing.T, install string, failures ...string) {
	t.Helper()
	for _, failure := range failures {
		require.True(t, slices.ContainsFunc(absent, func(text string) bool { return strings.Contains(failure, text) }), failure)
	}
	t.Skipf("the reference is not installed here (%s); to install it: %s", strings.Join(failures, "; "), install)
}

// started starts a worker that ends with the test, by the first command that works. It skips the
// test if the reference is not installed.
func started(t *testing.T, install string, commands ...func() *exec.Cmd) *worker {
	t.Helper()
	var failures []string
	for _, command := range commands {
		w := &worker{command: command}
		err := w.start()
		if err == nil {
			t.Cleanup(w.stop)
			return w
		}
		failures = append(failures, err.Error())
	}
	skipIfAbsent(t, install, failures...)
	return nil
}

// library returns the worker of a library in Go.
func library(t *testing.T, name string) *worker {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	w := &worker{command: func() *exec.Cmd {
		c := exec.Command(self)
		c.Env = append(os.Environ(), workerVariable+"="+name)
		return c
	}}
	require.NoError(t, w.start())
	t.Cleanup(w.stop)
	return w
}

// python returns the worker of a Python library.
func python(t *testing.T, script, install string) *worker {
	t.Helper()
	var commands []func() *exec.Cmd
	for _, program := range []string{"/usr/bin/python3", "python3"} {
		commands = append(commands, func() *exec.Cmd { return exec.Command(program, "-B", script) })
	}
	return started(t, install, commands...)
}

// libical returns the worker of libical: a program in C that is compiled now.
func libical(t *testing.T) *worker {
	t.Helper()
	const install = "apt-get install gcc libical-dev"
	program := t.TempDir() + "/libical"
	if text, err := exec.CommandContext(t.Context(), "cc", "-o", program, "testdata/libical.c", "-lical").CombinedOutput(); err != nil {
		skipIfAbsent(t, install, fmt.Sprintf("%v: %s", err, text))
	}
	return started(t, install, func() *exec.Cmd { return exec.Command(program) })
}
