//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

var _ targets.ActionRunner = (*Runner)(nil)

// helperEntry is the entry "helper": the test binary as a process.
func helperEntry(t *testing.T) Entry {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return Entry{Name: "helper", Path: self, Args: []string{helperArg}, ArgsPattern: ".*"}
}

// newRunner returns a runner with short times and the given entries.
func newRunner(t *testing.T, entries ...Entry) *Runner {
	t.Helper()
	r, err := NewRunner(Config{Entries: entries, WorkDir: t.TempDir(), Hidden: []string{t.TempDir()}})
	require.NoError(t, err)
	r.grace, r.hurry, r.pollMemory = 300*time.Millisecond, 300*time.Millisecond, 10*time.Millisecond
	r.drain, r.host.killWait = time.Minute, time.Minute // no test waits so long, and a killed process may end late on a busy machine
	return r
}

// withoutCgroup makes the runner work as on a machine without cgroups.
func withoutCgroup(r *Runner) *Runner {
	r.host = &host{killWait: r.host.killWait, landlock: r.host.landlock, hidden: r.host.hidden, workDir: r.host.workDir, setting: r.host.setting}
	return r
}

// newAttempt returns an attempt of the entry "helper".
func newAttempt(args ...string) targets.ActionAttempt {
	return targets.ActionAttempt{
		Target: targets.Target{Server: "process:helper"},
		Action: &action.Definition{Type: action.TypeProcess, Process: &action.Process{Entry: "helper", Args: args}},
		Key:    uuid.New(), Number: 1, JobName: "Nightly", JobExecutionID: uuid.New(), StepID: 2, StepName: "clean",
		DueAt: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC),
		Begin: func(context.Context) (time.Time, error) { return time.Now().Add(time.Minute), nil },
	}
}

// texts returns the texts of the messages of a kind.
func texts(res targets.Result, kind targets.MessageKind) (all []string) {
	for _, m := range res.Messages {
		if m.Kind == kind {
			all = append(all, m.Text)
		}
	}
	return all
}

func output(res targets.Result) string { return strings.Join(texts(res, targets.KindOutput), "\n") }

func TestSuccess(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	res := r.Run(t.Context(), newAttempt("args", "a b", "$(x)", ";exit 1", "*"))
	require.Equal(t, targets.Succeeded, res.Outcome, res)
	require.True(t, res.Sent)
	require.NoError(t, res.Err)
	require.Equal(t, "a b|$(x)|;exit 1|*", output(res), "no shell reads the arguments")
	require.Contains(t, texts(res, targets.KindExit)[0], "exit code 0")
	requireEmpty(t, r.workDir)
}

// requireEmpty requires that a directory has no entries.
func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// The environment holds what the entry and the attempt say, and nothing of the agent's own.
func TestCase122(t *testing.T) {
	t.Setenv("JOBAGENT_DSN", "sqlserver://sa:hidden@host")
	t.Setenv("AGENT_OTHER", "hidden")
	e := helperEntry(t)
	e.Env = map[string]string{"TZ": "Europe/Berlin", "MODE": "fast"}
	a := newAttempt("environment")
	a.Target = targets.Target{Server: "sql1", Database: "Sales"}
	a.CallbackURL = "https://agent.example/callbacks/tok-1"
	a.Payload = `{"day":1}`
	a.JobName = "a\x00b"
	r := newRunner(t, e)
	res := r.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res)
	got := map[string]string{}
	for line := range strings.Lines(output(res)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		got[name] = value
	}
	dir := got["HOME"]
	require.Equal(t, r.workDir, filepath.Dir(dir))
	require.Equal(t, map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": dir, "TMPDIR": dir, "LANG": "C.UTF-8", "TZ": "Europe/Berlin", "MODE": "fast",
		"JOBAGENT_JOB_NAME": "a\uFFFDb", "JOBAGENT_RUN_ID": a.JobExecutionID.String(), "JOBAGENT_STEP_ID": "2",
		"JOBAGENT_STEP_NAME": "clean", "JOBAGENT_ATTEMPT": "1", "JOBAGENT_DUE_AT": "2026-03-01T02:00:00Z",
		"JOBAGENT_DIRECTORY": dir, "JOBAGENT_SERVER_NAME": "sql1", "JOBAGENT_DATABASE_NAME": "Sales",
		"JOBAGENT_IDEMPOTENCY_KEY": a.Key.String(), "JOBAGENT_PAYLOAD_FILE": dir + "/payload.json",
		// The process has the URL and the token; the messages do not.
		"JOBAGENT_CALLBACK_URL": "***", "JOBAGENT_CALLBACK_TOKEN": "***",
	}, got)
}

func TestCallbackToken(t *testing.T) {
	t.Parallel()
	require.Equal(t, "abc-_1", callbackToken("https://agent.example:8443/base/callbacks/abc-_1"))
	require.Empty(t, callbackToken(""))
	require.Empty(t, callbackToken(":"))
}

func TestInput(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	a := newAttempt("input")
	a.Payload = `{"from":"run"}`
	require.Equal(t, `{"from":"run"} <nil>`, output(r.Run(t.Context(), a)))
	a.Action.Process.Input = "from the step"
	require.Equal(t, "from the step <nil>", output(r.Run(t.Context(), a)))

	// A process need not read its input, however long it is.
	a = newAttempt("args", "x")
	a.Action.Process.Input = strings.Repeat("x", 1<<20)
	require.Equal(t, targets.Succeeded, r.Run(t.Context(), a).Outcome)
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	e := helperEntry(t)
	other := e
	other.Name, other.Dir = "other", t.TempDir()
	r := newRunner(t, e, other)
	a := newAttempt("directory")
	a.Payload = "{}"
	// A dead agent left a directory.
	left := filepath.Join(r.workDir, "jobagent-"+a.Key.String()+"-123")
	require.NoError(t, os.MkdirAll(filepath.Join(left, "sub"), 0o700))

	lines := strings.Split(output(r.Run(t.Context(), a)), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, r.workDir, filepath.Dir(lines[0]), "the attempt's directory is the working directory")
	require.Equal(t, fmt.Sprintf("drwx------ <nil> <nil> %d", os.Getuid()), lines[1])
	require.Equal(t, "{} <nil>", lines[2])
	requireEmpty(t, r.workDir)

	a.Action.Process.Entry = "other"
	require.Equal(t, other.Dir, strings.Split(output(r.Run(t.Context(), a)), "\n")[0])
	requireEmpty(t, r.workDir)
}

func TestUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("run the tests as root: only root can run processes as another user")
	}
	dir, err := os.MkdirTemp("/tmp", "jobagent-user-") // the parents of t.TempDir are root's
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755))
	r, err := NewRunner(Config{WorkDir: dir, Entries: []Entry{{
		Name: "helper", Path: "/bin/sh", Args: []string{"-c", `id -u; id -g; cat "$JOBAGENT_PAYLOAD_FILE"; touch mine`}, User: "nobody",
	}}})
	require.NoError(t, err)
	a := newAttempt()
	a.Payload = "{}"
	res := r.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res)
	who, err := lookupIdentity("nobody")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d\n%d\n{}", who.credential.Uid, who.credential.Gid), output(res))
	requireEmpty(t, dir)
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	for code, want := range map[int]string{
		1:   "The process ended with exit code 1.",
		75:  "The process ended with exit code 75 (by convention: a temporary failure, which another attempt may repair).",
		125: "The process ended with exit code 125 (by convention: the program that starts the command failed itself).",
		126: "The process ended with exit code 126 (by convention: the command was found but cannot be executed).",
		127: "The process ended with exit code 127 (by convention: the command was not found).",
		255: "The process ended with exit code 255.",
	} {
		res := r.Run(t.Context(), newAttempt("exit", strconv.Itoa(code)))
		require.Equal(t, targets.Failed, res.Outcome)
		require.Equal(t, want+" Standard error ended with: about to exit", res.Summary)
		require.Equal(t, code == 75, res.Error.Class == targets.ClassTransient, res.Error.Class)
		require.False(t, res.NoRetry)
		var exit *ExitError
		require.ErrorAs(t, res.Err, &exit)
		require.Equal(t, code, exit.Code)
		last := res.Messages[len(res.Messages)-1]
		require.Equal(t, targets.KindExit, last.Kind)
		require.Equal(t, int32(code), last.Number)
	}
	a := newAttempt("exit", "3")
	a.Action.Process.SuccessCodes = []int{0, 3}
	require.Equal(t, targets.Succeeded, r.Run(t.Context(), a).Outcome)
	a.Action.Process.SuccessCodes = []int{4}
	require.Equal(t, targets.Failed, r.Run(t.Context(), a).Outcome)
}

func TestSignals(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Entry{Name: "helper", Path: "/bin/sh", Args: []string{"-c", "kill -$0 $$"}, ArgsPattern: "[0-9]+"})
	for signal, name := range map[syscall.Signal]string{
		syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGTERM: "SIGTERM",
	} {
		a := newAttempt(strconv.Itoa(int(signal)))
		a.Action.Process.SuccessCodes = []int{128 + int(signal)}
		res := r.Run(t.Context(), a)
		require.Equal(t, targets.Failed, res.Outcome, "a signal is no exit code")
		require.Equal(t, "The process was ended by signal "+name+".", res.Summary)
		require.Contains(t, texts(res, targets.KindExit)[0], "ended by signal "+name)
		require.Equal(t, int32(128+signal), res.Messages[len(res.Messages)-1].Number)
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	a := newAttempt("exit", "0")
	a.Action.Callback = &action.Callback{}
	require.Equal(t, targets.Accepted, r.Run(t.Context(), a).Outcome)
	a.Action.Process.Args = []string{"exit", "1"}
	require.Equal(t, targets.Failed, r.Run(t.Context(), a).Outcome)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	plain := helperEntry(t)
	narrow, none, missing, folder := plain, plain, plain, plain
	narrow.Name, narrow.ArgsPattern = "narrow", "--day=[0-9]+|wait"
	none.Name, none.ArgsPattern = "none", ""
	missing.Name, missing.Path = "missing", "/nonexistent/program"
	folder.Name, folder.Path = "folder", os.TempDir()
	r := newRunner(t, narrow, none, missing, folder)
	for name, c := range map[string]struct {
		entry   string
		args    []string
		memory  int64
		want    string
		noRetry bool
	}{
		"unknown entry":   {"absent", nil, 0, `process "absent": the agent's configuration has no entry of this name in "processes"`, false},
		"pattern":         {"narrow", []string{"--day=1", "--day=1;rm"}, 0, `process "narrow": argument 2 does not match the entry's args_pattern "--day=[0-9]+|wait"`, true},
		"part of pattern": {"narrow", []string{"wait\n"}, 0, `process "narrow": argument 1 does not match the entry's args_pattern "--day=[0-9]+|wait"`, true},
		"no arguments":    {"none", []string{""}, 0, `process "none": the entry allows no arguments: it has no args_pattern`, true},
		"no file":         {"missing", nil, 0, `process "missing": the executable file cannot be read: stat /nonexistent/program: no such file or directory`, false},
		"a directory":     {"folder", nil, 0, `process "folder": ` + os.TempDir() + ` is a directory`, false},
		"memory":          {"none", nil, 5, `process "none": invalid memory limit 5: want 0 or at least 1048576 bytes`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAttempt(c.args...)
			a.Action.Process.Entry, a.Action.Process.MaxMemory = c.entry, c.memory
			a.Begin = func(context.Context) (time.Time, error) {
				t.Error("Begin was called")
				return time.Time{}, nil
			}
			res := r.Run(t.Context(), a)
			require.Equal(t, targets.Failed, res.Outcome)
			require.False(t, res.Sent)
			require.Equal(t, targets.ClassConfig, res.Error.Class)
			require.Equal(t, c.want, res.Error.Text)
			require.Equal(t, c.noRetry, res.NoRetry)
		})
	}
	res := r.Run(t.Context(), targets.ActionAttempt{Action: &action.Definition{}})
	require.Equal(t, targets.Failed, res.Outcome)
}

// A file that is no program is found before the start, or by it.
func TestNotExecutable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("no program"), 0o755))
	r := newRunner(t, Entry{Name: "helper", Path: path})
	res := r.Run(t.Context(), newAttempt())
	require.Equal(t, targets.Failed, res.Outcome)
	require.False(t, res.Sent)
	require.Contains(t, res.Summary, "exec format error")
	requireEmpty(t, r.workDir)
}

func TestNotBegun(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	for name, begin := range map[string]func(context.Context) (time.Time, error){
		"refused": func(context.Context) (time.Time, error) { return time.Now().Add(time.Hour), errors.New("not held") },
		"too late": func(context.Context) (time.Time, error) {
			return time.Now().Add(-time.Second), nil
		},
	} {
		a := newAttempt("args", "x")
		a.Begin = begin
		res := r.Run(t.Context(), a)
		require.Equal(t, targets.NotSent, res.Outcome, name)
		require.False(t, res.Sent, name)
		require.Empty(t, texts(res, targets.KindOutput), name)
	}
	for cause, want := range map[error]targets.Outcome{
		targets.ErrStopRequested: targets.Canceled, targets.ErrTimeout: targets.TimedOut, errors.New("lease lost"): targets.NotSent,
	} {
		for _, early := range []bool{true, false} {
			ctx, cancel := context.WithCancelCause(t.Context())
			a := newAttempt("args", "x")
			a.Begin = func(context.Context) (time.Time, error) {
				cancel(cause)
				return time.Now().Add(time.Minute), nil
			}
			if early {
				cancel(cause)
			}
			res := r.Run(ctx, a)
			require.Equal(t, want, res.Outcome, cause)
			require.False(t, res.Sent)
			cancel(nil)
		}
	}
	requireEmpty(t, r.workDir)
}

// The process that starts after the agent's right has ended is killed, and its outcome is unknown.
func TestLateStart(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	a := newAttempt("ignore")
	const lease = 40 * time.Millisecond
	// A thread that takes long to start: the wait is in the runner's own start.
	r.host.beforeStart = func() { <-time.After(2 * lease) }
	a.Begin = func(context.Context) (time.Time, error) { return time.Now().Add(lease), nil }
	res := r.Run(t.Context(), a)
	require.Equal(t, targets.Unknown, res.Outcome, res)
	require.True(t, res.Sent)
	require.ErrorIs(t, res.Err, errLate)
}

// runUntil runs an attempt, and ends its context when the output contains the text.
func runUntil(t *testing.T, r *Runner, a targets.ActionAttempt, text string, cause error) targets.Result {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r.watch = func(p []byte) {
		if strings.Contains(string(p), text) {
			cancel(cause)
		}
	}
	return r.Run(ctx, a)
}

func TestEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part  string
		cause error
		want  targets.Outcome
		exit  string
	}{
		"stop":              {"wait", targets.ErrStopRequested, targets.Canceled, "SIGTERM"},
		"stop, ignored":     {"ignore", targets.ErrStopRequested, targets.Canceled, "SIGKILL"},
		"stop, obeyed":      {"obey", targets.ErrStopRequested, targets.Canceled, "exit code 0"},
		"time limit":        {"ignore", targets.ErrTimeout, targets.TimedOut, "SIGKILL"},
		"deadline":          {"wait", context.DeadlineExceeded, targets.TimedOut, "SIGTERM"},
		"lease lost":        {"ignore", errors.New("lease lost"), targets.Unknown, "SIGKILL"},
		"agent stops":       {"obey", context.Canceled, targets.Unknown, "exit code 0"},
		"stop, no cgroup":   {"ignore", targets.ErrStopRequested, targets.Canceled, "SIGKILL"},
		"obeyed, no cgroup": {"obey", targets.ErrTimeout, targets.TimedOut, "exit code 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, helperEntry(t))
			r.grace, r.hurry = 5*time.Second, 5*time.Second
			if c.part == "ignore" {
				r.grace, r.hurry = 50*time.Millisecond, 50*time.Millisecond
			}
			if strings.HasSuffix(name, "no cgroup") {
				withoutCgroup(r)
			}
			res := runUntil(t, r, newAttempt(c.part), "ready", c.cause)
			require.Equal(t, c.want, res.Outcome, res)
			require.True(t, res.Sent)
			require.ErrorIs(t, res.Err, c.cause)
			require.Contains(t, texts(res, targets.KindExit)[0], c.exit)
			require.Equal(t, c.part == "obey", strings.Contains(output(res), "cleaned up"))
			requireEmpty(t, r.workDir)
		})
	}
}

// The test is not parallel: the order is that in which the agent reads the two streams.
func TestOutputOrder(t *testing.T) {
	r := newRunner(t, helperEntry(t))
	res := r.Run(t.Context(), newAttempt("both"))
	require.Equal(t, targets.Succeeded, res.Outcome)
	var got []string
	for _, m := range res.Messages {
		got = append(got, string(m.Kind)+" "+m.Text)
	}
	require.Equal(t, []string{
		"Output out 0", "ErrorOutput err 0", "Output out 1", "ErrorOutput err 1", "Output out 2", "ErrorOutput err 2",
	}, got[:6])
}

func TestFlood(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	const flood = 3 << 20
	res := r.Run(t.Context(), newAttempt("flood", strconv.Itoa(flood)))
	require.Equal(t, targets.Succeeded, res.Outcome)
	require.LessOrEqual(t, len(output(res)), 2*keptBytes)
	require.Greater(t, len(output(res)), 2*keptBytes-2*blockBytes)
	require.Contains(t, strings.Join(texts(res, targets.KindAgent), " "), "of the standard output are left out here.")
	require.Positive(t, res.MessagesDropped)

	a := newAttempt("flood", strconv.Itoa(flood))
	a.Action.Process.OutputLimit = 1000
	res = r.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome)
	require.Len(t, output(res), 999)
	require.Contains(t, texts(res, targets.KindAgent), fmt.Sprintf("The output exceeded the limit of 1000 bytes: %s at its end are left out.",
		size(flood/100*100-1000)))

	a.Action.Process.OutputHalt = true
	res = r.Run(t.Context(), a)
	require.Equal(t, targets.Failed, res.Outcome)
	require.Equal(t, "The output exceeded the limit of 1000 bytes.", res.Summary)
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	a := newAttempt("args", "one", "s3cret", "two")
	a.Action.Secrets = []string{"s3cret", ""}
	res := r.Run(t.Context(), a)
	require.Equal(t, "one|***|two", output(res))
}

func TestPolledMemory(t *testing.T) {
	t.Parallel()
	for _, cgroup := range []bool{true, false} {
		e := helperEntry(t)
		e.MemoryLimit, e.MaxMemory = MemoryPoll, 1<<30
		r := newRunner(t, e)
		if !cgroup {
			withoutCgroup(r)
		}
		if r.host.memory || r.host.systemd != "" {
			t.Skip("the kernel limits memory here, which TestCase120 tests; this test is for polling")
		}
		require.Equal(t, []Method{{Entry: "helper", Tree: r.host.treeMethod(), Memory: "1 GiB by polling", Exposed: r.Methods()[0].Exposed}}, r.Methods())
		a := newAttempt("allocate", strconv.Itoa(256<<20))
		a.Action.Process.MaxMemory = 100 << 20
		res := r.Run(t.Context(), a)
		require.Equal(t, targets.Failed, res.Outcome, res)
		require.Contains(t, res.Summary, "Out of memory: the process and those that it had started used ")
		require.Contains(t, res.Summary, ", more than the limit of 100 MiB.")
		require.Equal(t, "Memory is limited to 100 MiB by polling.", res.Messages[0].Text)
	}
}

// Where no kernel mechanism limits memory, the entry decides.
func TestMemoryWays(t *testing.T) {
	t.Parallel()
	e := helperEntry(t)
	e.MaxMemory = 64 << 20
	r := withoutCgroup(newRunner(t, e))
	methods := r.Methods()
	require.True(t, methods[0].Refused)
	require.Contains(t, methods[0].Memory, `set Cgroup, or the entry's memory_limit to "address-space" or "poll"`)
	res := r.Run(t.Context(), newAttempt("args", "x"))
	require.Equal(t, targets.Failed, res.Outcome)
	require.Equal(t, targets.ClassConfig, res.Error.Class)
	require.False(t, res.Sent)

	e.MemoryLimit = MemoryAddressSpace
	e.Path, e.Args, e.ArgsPattern = "/bin/sh", []string{"-c", "ulimit -v; exec head -c 200000000 /dev/zero | tail -n 1 >/dev/null"}, ""
	r = withoutCgroup(newRunner(t, e))
	res = r.Run(t.Context(), newAttempt())
	require.Equal(t, "65536", output(res), "the limit, in KiB, holds from the first instruction")
	require.Equal(t, "Memory is limited to 64 MiB by the address space of each process.", res.Messages[0].Text)
}

func TestMaxProcesses(t *testing.T) {
	t.Parallel()
	for _, cgroup := range []bool{true, false} {
		e := helperEntry(t)
		e.MaxProcesses = 2
		r := newRunner(t, e)
		if !cgroup {
			withoutCgroup(r)
		}
		if r.host.pids {
			t.Skip("the kernel limits the number of processes here; this test is for machines where the agent counts them")
		}
		res := r.Run(t.Context(), newAttempt("fork", "setsid", "setsid", "stay"))
		require.Equal(t, targets.Failed, res.Outcome, res)
		require.Equal(t, "The process and those that it had started were 3, more than max_processes 2.", res.Summary)
	}
}

// Where the kernel limits memory, a process over its limit fails, and the message says so.
func TestCase120(t *testing.T) {
	t.Parallel()
	e := helperEntry(t)
	e.MaxMemory = 64 << 20
	r := newRunner(t, e)
	if _, err := r.host.memoryWay(MemoryRefuse); err != nil {
		t.Skip("needs a delegated cgroup v2 with the controller memory, or systemd: " + err.Error())
	}
	res := r.Run(t.Context(), newAttempt("allocate", strconv.Itoa(256<<20)))
	require.Equal(t, targets.Failed, res.Outcome, res)
	require.Contains(t, res.Summary, "ut of memory: the limit is 64 MiB")
	if r.host.memory {
		require.Contains(t, res.Summary, "and the peak was ")
	}
}

func TestNoNewPrivileges(t *testing.T) {
	t.Parallel()
	e := helperEntry(t)
	free := e
	free.Name, free.NewPrivileges = "free", true
	r := newRunner(t, e, free)
	a := newAttempt("gain")
	require.Contains(t, output(r.Run(t.Context(), a)), "NoNewPrivs:\t1")
	a.Action.Process.Entry = "free"
	require.Contains(t, output(r.Run(t.Context(), a)), "NoNewPrivs:\t0")
	require.Contains(t, readFile("/proc/self", "status"), "NoNewPrivs:\t0", "the agent keeps its own")
}

// Many attempts at once end, and leave nothing.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRunner(t, helperEntry(t))
	var begun atomic.Int32
	results := make(chan targets.Result)
	const n = 20
	for range n {
		go func() {
			a := newAttempt("fork", "setsid")
			a.Begin = func(context.Context) (time.Time, error) {
				begun.Add(1)
				return time.Now().Add(time.Minute), nil
			}
			results <- r.Run(t.Context(), a)
		}()
	}
	for range n {
		res := <-results
		require.Equal(t, targets.Succeeded, res.Outcome, res)
		requireChildrenEnd(t, output(res), 1)
	}
	require.Equal(t, int32(n), begun.Load())
	requireEmpty(t, r.workDir)
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := Entry{Name: "ok", Path: "/bin/true"}
	require.NoError(t, Config{Entries: []Entry{good}}.Validate())
	err := Config{
		Cgroup: "x", WorkDir: "y", Names: Names{WorkDir: "agent.dir", Entries: "processes"},
		Entries: []Entry{good, good, {
			Name: "a b", Path: "sh", Args: []string{"\x00"}, ArgsPattern: "(", User: "no such user", Dir: "z",
			Env: map[string]string{"": "", "A=B": "", "JOBAGENT_DSN": "", "jobagent_x": "", "OK": "\x00"}, MaxMemory: 5, MaxProcesses: -1,
			MemoryLimit: "soft",
		}},
	}.Validate()
	require.Error(t, err)
	paths := map[string]int{}
	for line := range strings.Lines(err.Error()) {
		path, _, _ := strings.Cut(line, ": ")
		paths[path]++
	}
	require.Equal(t, map[string]int{
		"Cgroup": 1, "agent.dir": 1, "processes[1].name": 1, "processes[2].name": 1, "processes[2].path": 1, "processes[2].args[0]": 1,
		"processes[2].args_pattern": 1, "processes[2].user": 1, "processes[2].dir": 1, "processes[2].env": 4, "processes[2].env.OK": 1,
		"processes[2].max_memory": 1, "processes[2].max_processes": 1, "processes[2].memory_limit": 1,
	}, paths, slices.Collect(maps.Keys(paths)))
	_, err = NewRunner(Config{WorkDir: "y"})
	require.ErrorContains(t, err, "WorkDir: invalid directory")
	_, err = NewRunner(Config{Cgroup: t.TempDir()})
	require.ErrorContains(t, err, "Cgroup: no process can be started in a child of")
}
