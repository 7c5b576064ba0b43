package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// host holds the methods of this machine to end and to limit trees of processes.
type host struct {
	// parent is the cgroup in which each attempt gets a child; empty if that is not possible.
	parent string
	// memory and pids report whether the children have these controllers.
	memory, pids bool
	// systemd is the path of systemd-run; empty if it does not work. scopes is the cgroup of its
	// scopes.
	systemd, scopes string
	// landlock is the version of Landlock; 0 if the kernel has none. hidden is Config.Hidden, and
	// workDir is the directory that contains the attempts' directories.
	landlock int
	hidden   []string
	workDir  string
	// setting is the name of Config.Cgroup in the configuration.
	setting string
	// killWait bounds the wait for the end of killed processes.
	killWait time.Duration
	// beforeStart is called right before a start. It is nil except in tests.
	beforeStart func()
}

// newHost determines which methods work on this machine.
func newHost(config Config) (*host, error) {
	h := &host{
		killWait: 2 * time.Second, landlock: landlockVersion(), hidden: config.Hidden, workDir: cmp.Or(config.WorkDir, os.TempDir()),
		setting: config.Names.orFields().Cgroup,
	}
	configured := config.Cgroup
	mount, own, err := ownCgroup("/proc/self")
	if err != nil && configured != "" {
		return nil, err
	}
	if err == nil {
		h.parent = cmp.Or(configured, own)
	}
	if configured != "" {
		// The controllers may be enabled already, or not be delegated. The result is read below.
		for _, controller := range []string{"+memory", "+pids"} {
			writeFile(configured, "cgroup.subtree_control", controller) //nolint:errcheck // see above
		}
	}
	if h.parent != "" {
		if err := tryCgroup(h.parent); err != nil {
			if configured != "" {
				return nil, fmt.Errorf("no process can be started in a child of %s: %w", configured, err)
			}
			h.parent = ""
		}
	}
	if h.parent != "" {
		enabled := strings.Fields(readFile(h.parent, "cgroup.subtree_control"))
		h.memory, h.pids = slices.Contains(enabled, "memory"), slices.Contains(enabled, "pids")
	}
	if !h.memory && mount != "" && os.Geteuid() == 0 {
		h.trySystemd(mount)
	}
	return h, nil
}

// tryCgroup starts a process that does not exist in a child cgroup. The kernel places a process
// before it looks for the file.
func tryCgroup(parent string) error {
	dir, err := os.MkdirTemp(parent, "jobagent-try-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	fd, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer fd.Close()
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		return err
	}
	missing := filepath.Join(dir, "missing")
	err = (&exec.Cmd{
		Path: missing, Args: []string{missing}, Env: []string{"PATH="},
		SysProcAttr: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(fd.Fd())},
	}).Start()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// trySystemd looks for systemd-run, and checks that systemd answers it.
func (h *host) trySystemd(mount string) {
	path, err := exec.LookPath("systemd-run")
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--scope", "--quiet", "--collect", "--slice=system.slice", "/bin/true")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	if cmd.Run() == nil {
		h.systemd, h.scopes = path, filepath.Join(mount, "system.slice")
	}
}

// treeMethod describes how trees of processes are ended.
func (h *host) treeMethod() string {
	if h.parent != "" {
		return "cgroup v2 in " + h.parent
	}
	return "process group and search for " + markerVariable
}

// memoryWay returns the method that limits memory, or the reason why there is none.
func (h *host) memoryWay(fallback MemoryLimit) (way, error) {
	switch {
	case h.memory:
		return byCgroup, nil
	case h.systemd != "":
		return bySystemd, nil
	case fallback == MemoryAddressSpace:
		return byAddressSpace, nil
	case fallback == MemoryPoll:
		return byPolling, nil
	}
	return byNothing, errors.New("the agent has no cgroup v2 with the controller memory, and systemd-run does not work; " +
		"set " + h.setting + ", or the entry's memory_limit to \"address-space\" or \"poll\"")
}

// cgroupName returns the name of the cgroup of an attempt.
func cgroupName(key string, number int) string {
	return fmt.Sprintf("jobagent-%s-%d", key, number)
}

// endLeftovers kills the processes of earlier attempts with this idempotency key, which a dead
// agent may have left.
func (h *host) endLeftovers(key string) (n int, err error) {
	var left []string
	for _, parent := range []string{h.parent, h.scopes} {
		if parent != "" {
			found, err := filepath.Glob(filepath.Join(parent, "jobagent-"+key+"-*"))
			if err != nil {
				return 0, err
			}
			left = append(left, found...)
		}
	}
	for _, dir := range left {
		n += len(members(dir))
		if err := killCgroup(dir, h.killWait); err != nil {
			return n, err
		}
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return n, err
		}
	}
	if h.parent == "" {
		found, err := killMarked(key, 0, h.killWait)
		return n + found, err
	}
	return n, nil
}

// tree is the processes of one attempt.
type tree struct {
	*host
	key    string
	number int
	cgroup string // directory; empty for none
	owned  bool   // the agent made the cgroup and removes it
	fd     *os.File
	limits limits

	pid    int // the first process, which leads the group
	killed bool

	mu     sync.Mutex
	reaped bool // another process may have this number
}

// newTree prepares an attempt.
func (h *host) newTree(key string, number int, limits limits) (*tree, error) {
	t := &tree{host: h, key: key, number: number, limits: limits}
	if limits.way == bySystemd {
		t.cgroup = filepath.Join(h.scopes, cgroupName(key, number)+".scope")
		return t, nil
	}
	if h.parent == "" {
		return t, nil
	}
	t.cgroup, t.owned = filepath.Join(h.parent, cgroupName(key, number)), true
	if err := os.Mkdir(t.cgroup, 0o755); err != nil {
		return nil, err
	}
	err := t.setLimits()
	if err == nil {
		t.fd, err = os.Open(t.cgroup)
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// setLimits writes the limits of the cgroup.
func (t *tree) setLimits() error {
	if t.limits.way == byCgroup {
		if err := writeFile(t.cgroup, "memory.max", strconv.FormatInt(t.limits.memory, 10)); err != nil {
			return err
		}
		// Without swap, the file does not exist. memory.oom.group ends the whole tree at once.
		if err := writeFile(t.cgroup, "memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := writeFile(t.cgroup, "memory.oom.group", "1"); err != nil {
			return err
		}
	}
	if t.limits.processes > 0 && t.pids {
		return writeFile(t.cgroup, "pids.max", strconv.Itoa(t.limits.processes))
	}
	return nil
}

// start starts the process. One goroutine with a thread of its own is the process's parent for its
// whole life. The kernel kills the process when that thread ends (Pdeathsig), so the thread must
// not end earlier. It ends with the goroutine.
func (h *host) start(cmd *exec.Cmd, t *tree, e *entry) *running {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if e.user != nil && t.limits.way != bySystemd {
		cmd.SysProcAttr.Credential = &e.user.credential
	}
	if t.fd != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(t.fd.Fd())
	}
	if t.limits.way == bySystemd {
		t.useSystemd(cmd, e)
	}
	cmd.SysProcAttr.Ptrace = t.limits.way == byAddressSpace
	p := &running{started: make(chan error, 1), ended: make(chan ending, 1)}
	go onOwnThread(func() {
		err := t.startLocked(cmd, e)
		p.started <- err
		if err != nil {
			return
		}
		waitZombie(t.pid)
		left, err := t.endRest()
		t.mu.Lock()
		t.reaped = true
		t.mu.Unlock()
		cmd.Wait() //nolint:errcheck // the state says how the process ended
		p.ended <- ending{state: cmd.ProcessState, left: left, complete: err == nil}
	})
	return p
}

// onOwnThread calls f on a thread that runs nothing else and ends with f. The thread is not the
// main thread, which cannot end.
func onOwnThread(f func()) {
	runtime.LockOSThread() // a thread ends with a goroutine that holds the lock
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(locked)
		f()
	}()
	<-locked
	runtime.UnlockOSThread()
}

// startLocked starts the process on the current thread.
func (t *tree) startLocked(cmd *exec.Cmd, e *entry) error {
	if !e.NewPrivileges && t.limits.way != bySystemd {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	if t.fences(e) {
		if err := t.hideFiles(e.Path, cmd.Dir, t.workDir); err != nil {
			return fmt.Errorf("hide the agent's files from the process: %w", err)
		}
	}
	if t.beforeStart != nil {
		t.beforeStart()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.pid = cmd.Process.Pid
	if !cmd.SysProcAttr.Ptrace {
		return nil
	}
	// The process is stopped before its first instruction, so the limit holds from the beginning.
	var status unix.WaitStatus
	_, err := ignoringEINTR(func() (int, error) { return unix.Wait4(t.pid, &status, 0, nil) })
	limit := unix.Rlimit{Cur: uint64(t.limits.memory), Max: uint64(t.limits.memory)}
	if err == nil {
		err = unix.Prlimit(t.pid, unix.RLIMIT_AS, &limit, nil)
	}
	if err == nil {
		err = unix.PtraceDetach(t.pid)
	}
	if err != nil {
		cmd.Process.Kill() //nolint:errcheck // the error above is returned
		cmd.Wait()         //nolint:errcheck // as above
		return fmt.Errorf("limit the address space: %w", err)
	}
	return nil
}

// useSystemd makes systemd-run start the process in a scope with limits. systemd-run becomes the
// process itself, so that the process's number, streams, directory and environment stay as they
// are.
func (t *tree) useSystemd(cmd *exec.Cmd, e *entry) {
	args := []string{t.systemd, "--scope", "--quiet", "--collect", "--slice=system.slice",
		"--unit=" + cgroupName(t.key, t.number) + ".scope",
		"--property=MemoryMax=" + strconv.FormatInt(t.limits.memory, 10), "--property=MemorySwapMax=0",
		"--property=OOMPolicy=kill"}
	if t.limits.processes > 0 {
		args = append(args, "--property=TasksMax="+strconv.Itoa(t.limits.processes))
	}
	if e.user != nil {
		args = append(args, fmt.Sprintf("--uid=%d", e.user.credential.Uid), fmt.Sprintf("--gid=%d", e.user.credential.Gid))
	}
	cmd.Args = slices.Concat(args, []string{"--", cmd.Path}, cmd.Args[1:])
	cmd.Path = t.systemd
}

// interrupt requests the group to end.
func (t *tree) interrupt() error { return t.signal(syscall.SIGTERM) }

// kill kills the tree. The end of the first process is reported afterwards.
func (t *tree) kill() {
	t.killed = true
	t.signal(syscall.SIGKILL) //nolint:errcheck // the group may have ended
	if t.cgroup != "" {
		writeFile(t.cgroup, "cgroup.kill", "1") //nolint:errcheck // endRest reports the rest
	}
}

// signal sends a signal to the first process and its group.
func (t *tree) signal(signal syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return os.ErrProcessDone
	}
	// A process can leave its group, so the first process also gets the signal by its number.
	if group, err := unix.Getpgid(t.pid); err == nil && group != t.pid {
		syscall.Kill(t.pid, signal) //nolint:errcheck // the process was not reaped
	}
	return syscall.Kill(-t.pid, signal)
}

// endRest kills the rest of the tree after the end of the first process. The first process must not
// have been reaped, so that no other process has its number.
func (t *tree) endRest() (left int, err error) {
	if t.cgroup != "" {
		return len(members(t.cgroup)), killCgroup(t.cgroup, t.killWait)
	}
	return killMarked(t.key, t.pid, t.killWait)
}

// polled reports whether measure must be called while the process runs.
func (t *tree) polled(limits limits) bool {
	return limits.way == byPolling || limits.processes > 0 && limits.way != bySystemd && !(t.owned && t.pids)
}

// measure returns the limit that the tree exceeds; empty means none.
func (t *tree) measure(limits limits) string {
	pids := t.pidsOf()
	if limits.processes > 0 && len(pids) > limits.processes {
		return fmt.Sprintf("the process and those that it had started were %d, more than max_processes %d", len(pids), limits.processes)
	}
	if limits.way != byPolling {
		return ""
	}
	var resident int64
	for _, pid := range pids {
		resident += residentBytes(pid)
	}
	if resident > limits.memory {
		return fmt.Sprintf("out of memory: the process and those that it had started used %s, more than the limit of %s",
			size(resident), size(limits.memory))
	}
	return ""
}

// pidsOf returns the processes of the tree.
func (t *tree) pidsOf() []int {
	if t.cgroup != "" {
		return members(t.cgroup)
	}
	return treeMembers(t.key, t.pid)
}

// outOfMemory returns a sentence if the kernel ended the tree because of its memory; otherwise it
// returns the empty string.
func (t *tree) outOfMemory(limits limits, exit *ExitError) string {
	if limits.way != byCgroup && limits.way != bySystemd {
		return ""
	}
	for line := range strings.Lines(readFile(t.cgroup, "memory.events")) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "oom") && strings.HasSuffix(name, "kill") && count != "0" {
			text := "out of memory: the limit is " + size(limits.memory)
			if peak, err := strconv.ParseInt(strings.TrimSpace(readFile(t.cgroup, "memory.peak")), 10, 64); err == nil {
				text += ", and the peak was " + size(peak)
			}
			return text
		}
	}
	if limits.way == bySystemd && exit.Signal == "SIGKILL" && !t.killed {
		// The scope and its counters vanish with the last process.
		return "the process was killed, probably because it was out of memory: the limit is " + size(limits.memory)
	}
	return ""
}

// close removes the cgroup.
func (t *tree) close() error {
	if t.fd != nil {
		t.fd.Close()
	}
	if !t.owned {
		return nil
	}
	if err := os.Remove(t.cgroup); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// waitZombie waits until the process has ended, without reaping it.
func waitZombie(pid int) {
	ignoringEINTR(func() (int, error) { //nolint:errcheck // Wait follows, and has the error
		return 0, unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	})
}

// ignoringEINTR repeats a call that a signal interrupted.
func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// signalName returns the name of a signal, as in SIGSEGV.
func signalName(signal syscall.Signal) string {
	return cmp.Or(unix.SignalName(signal), fmt.Sprintf("%d", signal))
}
