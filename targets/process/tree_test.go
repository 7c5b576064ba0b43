//go:build linux

package process

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jobagent/jobagent/targets"
)

func TestTreeEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		children []string
		cgroup   bool
		left     string
	}{
		"child":                   {[]string{"child"}, true, "1 process that the process had started still ran and was killed."},
		"setsid":                  {[]string{"setsid", "setsid"}, true, "2 processes that the process had started still ran and were killed."},
		"setsid, bare":            {[]string{"setsid bare"}, true, "1 process that the process had started still ran and was killed."},
		"holds the pipe":          {[]string{"pipe"}, true, "1 process that the process had started still ran and was killed."},
		"child, no cgroup":        {[]string{"child"}, false, "1 process that the process had started still ran and was killed."},
		"bare child, no cgroup":   {[]string{"child bare"}, false, "1 process that the process had started still ran and was killed."},
		"setsid, no cgroup":       {[]string{"setsid", "setsid"}, false, "2 processes that the process had started still ran and were killed."},
		"holds pipe, no cgroup":   {[]string{"pipe"}, false, "1 process that the process had started still ran and was killed."},
		"two kinds without group": {[]string{"setsid", "child"}, false, "2 processes that the process had started still ran and were killed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, helperEntry(t))
			if !c.cgroup {
				withoutCgroup(r)
			} else if r.host.parent == "" {
				t.Skip("needs a cgroup v2 in which the tests may make children (systemd-run --user --scope -p Delegate=yes); the case without a cgroup runs")
			}
			res := r.Run(t.Context(), newAttempt(append([]string{"fork"}, c.children...)...))
			require.Equal(t, targets.Succeeded, res.Outcome, res)
			require.Contains(t, texts(res, targets.KindAgent), c.left)
			requireChildrenEnd(t, output(res), len(c.children))

			res = runUntil(t, r, newAttempt(append(append([]string{"fork"}, c.children...), "stay")...), "ready", targets.ErrStopRequested)
			require.Equal(t, targets.Canceled, res.Outcome, res)
			requireChildrenEnd(t, output(res), len(c.children))
		})
	}
}

// requireChildrenEnd requires that the children in the output do not run any more.
func requireChildrenEnd(t *testing.T, output string, n int) {
	t.Helper()
	for line := range strings.Lines(output) {
		if pid, ok := strings.CutPrefix(strings.TrimSpace(line), "child "); ok {
			s, exists := readStat(number(pid))
			require.False(t, exists && s.running() && strings.Contains(readFile("/proc/"+pid, "cmdline"), helperArg), line)
			n--
		}
	}
	require.Zero(t, n)
}

// Without cgroups, a hostile child that hides its marker and leaves the group escapes. The attempt
// ends all the same.
func TestHostileChildWithoutCgroup(t *testing.T) {
	t.Parallel()
	r := withoutCgroup(newRunner(t, helperEntry(t)))
	res := r.Run(t.Context(), newAttempt("fork", "setsid bare"))
	require.Equal(t, targets.Succeeded, res.Outcome)
	pid := number(strings.Fields(output(res))[1])
	require.Contains(t, readFile("/proc/"+strconv.Itoa(pid), "cmdline"), helperArg, "DESIGN.md says that it survives")
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))

	// A child that also holds the error output does not hold the attempt.
	r.drain = 300 * time.Millisecond
	res = r.Run(t.Context(), newAttempt("fork", "setsid bare pipe"))
	require.Equal(t, targets.Succeeded, res.Outcome)
	require.Contains(t, texts(res, targets.KindAgent), "A process that was not ended kept the output open: it was closed after 300ms.")
	require.NoError(t, syscall.Kill(number(strings.Fields(output(res))[1]), syscall.SIGKILL))
}

// The next attempt finds and kills what the attempt of a dead agent left.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for _, cgroup := range []bool{true, false} {
		r := newRunner(t, helperEntry(t))
		if !cgroup {
			withoutCgroup(r)
		} else if r.host.parent == "" {
			continue
		}
		a := newAttempt("args", "again")
		// As with an agent that died: the tree is started, and not ended.
		tree, err := r.host.newTree(a.Key.String(), 1, limits{})
		require.NoError(t, err)
		left := leftProcess(t, tree, a.Key)
		a.Number = 2
		res := r.Run(t.Context(), a)
		require.Equal(t, targets.Succeeded, res.Outcome, res)
		require.Equal(t, []string{"1 process of an earlier attempt still ran and was killed."}, texts(res, targets.KindAgent))
		state, err := left.Wait()
		require.NoError(t, err)
		require.Equal(t, "signal: killed", state.String())
		if cgroup {
			tree.fd.Close()
			require.NoDirExists(t, tree.cgroup)
		}
	}
}

// An agent is killed. Its process dies with it, and the next agent kills the rest of the tree when
// it starts or, if it runs already, before the next attempt.
func TestDeadAgent(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{true, false} {
		testDeadAgent(t, "cgroup", restart)
		testDeadAgent(t, "no cgroup", restart)
	}
}

func testDeadAgent(t *testing.T, mode string, restart bool) {
	t.Helper()
	r := newRunner(t, helperEntry(t))
	if mode == "no cgroup" {
		withoutCgroup(r)
	}
	a := newAttempt("args", "again")
	agent := exec.Command(os.Args[0], helperArg, "agent", r.workDir, mode, a.Key.String())
	agent.Stderr = os.Stderr
	stdout, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	output := ""
	for lines := bufio.NewScanner(stdout); !strings.Contains(output, "ready") && lines.Scan(); {
		output += lines.Text() + "\n"
	}
	require.Contains(t, output, "ready")
	child, ok := readStat(number(strings.Fields(output)[1]))
	require.True(t, ok)
	first, err := unix.PidfdOpen(child.parent, 0)
	require.NoError(t, err)

	require.NoError(t, agent.Process.Kill())
	agent.Wait()
	poll := []unix.PollFd{{Fd: int32(first), Events: unix.POLLIN}}
	n, err := ignoringEINTR(func() (int, error) { return unix.Poll(poll, 10_000) })
	require.NoError(t, err)
	require.Equal(t, 1, n, "the kernel kills the first process with the agent")
	require.NoError(t, unix.Close(first))
	still, ok := readStat(child.pid)
	require.True(t, ok && still.running(), "its child runs on")

	left, err := os.ReadDir(r.workDir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	if restart {
		r.sweep()
		requireChildrenEnd(t, output, 1)
		requireEmpty(t, r.workDir)
	}
	a.Number = 2
	res := r.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res)
	if !restart {
		require.Equal(t, []string{"1 process of an earlier attempt still ran and was killed."}, texts(res, targets.KindAgent))
	}
	requireChildrenEnd(t, output, 1)
	requireEmpty(t, r.workDir)
}

// An agent that starts leaves the attempts of a living agent alone.
func TestSweepSparesTheLiving(t *testing.T) {
	t.Parallel()
	for _, cgroup := range []bool{true, false} {
		r := newRunner(t, helperEntry(t))
		if !cgroup {
			withoutCgroup(r)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		swept := make(chan struct{})
		r.watch = func(output []byte) {
			if strings.Contains(string(output), "ready") {
				r.sweep()
				_, err := NewRunner(Config{WorkDir: r.workDir})
				require.NoError(t, err)
				close(swept)
				cancel(targets.ErrStopRequested)
			}
		}
		res := r.Run(ctx, newAttempt("obey"))
		<-swept
		require.Equal(t, targets.Canceled, res.Outcome, res)
		require.Contains(t, output(res), "cleaned up")
		requireEmpty(t, r.workDir)
	}
	// Other directories are not touched.
	r := newRunner(t)
	other := filepath.Join(r.workDir, "jobagent-1")
	require.NoError(t, os.Mkdir(other, 0o700))
	r.sweep()
	require.DirExists(t, other)
}
