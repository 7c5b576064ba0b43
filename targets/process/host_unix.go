//go:build unix && !linux

package process

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
)

// host holds the methods of this machine to end and to limit trees of processes: process groups
// only.
type host struct{}

func newHost(config Config) (*host, error) {
	if config.Cgroup != "" {
		return nil, errors.New("this operating system has no cgroups")
	}
	return &host{}, nil
}

func (h *host) treeMethod() string { return "process group" }

func (h *host) memoryWay(MemoryLimit) (way, error) {
	return byNothing, errors.New("this operating system offers no way to limit the memory of a tree of processes")
}

// exposed returns the reason why a process of the entry can use the agent's files; empty if it
// cannot.
func (h *host) exposed(e *entry) string {
	if e.user.isOther() || e.AgentFiles {
		return ""
	}
	return "give the entry a user of its own, which needs an agent of user root"
}

// endLeftovers finds nothing, because this operating system cannot identify the processes.
func (h *host) endLeftovers(string) (int, error) { return 0, nil }

// tree is the processes of one attempt.
type tree struct {
	pid    int
	mu     sync.Mutex
	reaped bool
}

func (h *host) newTree(_ string, _ int, limits limits) (*tree, error) {
	if limits.processes > 0 {
		return nil, errors.New("this operating system offers no way to limit the number of processes")
	}
	return &tree{}, nil
}

func (h *host) start(cmd *exec.Cmd, t *tree, e *entry) *running {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if e.user != nil {
		cmd.SysProcAttr.Credential = &e.user.credential
	}
	p := &running{started: make(chan error, 1), ended: make(chan ending, 1)}
	go func() {
		err := cmd.Start()
		if err == nil {
			t.pid = cmd.Process.Pid
		}
		p.started <- err
		if err != nil {
			return
		}
		cmd.Wait() //nolint:errcheck // the state says how the process ended
		t.mu.Lock()
		defer t.mu.Unlock()
		t.reaped = true
		left := 0
		// The number of a group is not given to another process while the group has members.
		if syscall.Kill(-t.pid, syscall.SIGKILL) == nil {
			left = 1 // at least
		}
		p.ended <- ending{state: cmd.ProcessState, left: left, complete: true}
	}()
	return p
}

func (t *tree) interrupt() error { return t.signal(syscall.SIGTERM) }

func (t *tree) kill() {
	t.signal(syscall.SIGKILL) //nolint:errcheck // the group may have ended
}

func (t *tree) signal(signal syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return syscall.ESRCH
	}
	return syscall.Kill(-t.pid, signal)
}

func (t *tree) polled(limits) bool { return false }

func (t *tree) measure(limits) string { return "" }

func (t *tree) outOfMemory(limits, *ExitError) string { return "" }

func (t *tree) close() error { return nil }

// signalName returns the name of a signal that commonly ends processes, or its number.
func signalName(signal syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
		syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM",
		syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ",
	}
	if name := names[signal]; name != "" {
		return name
	}
	return fmt.Sprintf("%d", signal)
}
