package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// host holds the methods of Windows to end and to limit trees of processes: job objects. A child of
// a process in a job object is in the job object, too, and cannot leave it. The kernel kills the
// processes of a job object when its last handle is closed, so a dead agent leaves none.
type host struct{}

func newHost(config Config) (*host, error) {
	if config.Cgroup != "" {
		return nil, errors.New("this operating system has no cgroups")
	}
	return &host{}, nil
}

func (h *host) treeMethod() string { return string(byJob) }

func (h *host) memoryWay(MemoryLimit) (way, error) { return byJob, nil }

// exposed returns the reason why a process of the entry can use the agent's files; empty if it
// cannot.
func (h *host) exposed(e *entry) string {
	if e.user.isOther() || e.AgentFiles {
		return ""
	}
	return "this operating system offers no way to hide them"
}

// endLeftovers finds nothing, because the kernel has ended the processes of a dead agent.
func (h *host) endLeftovers(string) (int, error) { return 0, nil }

// tree is the processes of one attempt.
type tree struct {
	job windows.Handle
	pid int

	mu     sync.Mutex
	closed bool
}

func (h *host) newTree(_ string, _ int, limits limits) (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	t := &tree{job: job}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if limits.memory > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(limits.memory)
	}
	if limits.processes > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(limits.processes)
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (h *host) start(cmd *exec.Cmd, t *tree, _ *entry) *running {
	// The first thread is suspended until the process is in the job object.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true,
	}
	p := &running{started: make(chan error, 1), ended: make(chan ending, 1)}
	go func() {
		err := t.startInJob(cmd)
		p.started <- err
		if err != nil {
			return
		}
		cmd.Wait() //nolint:errcheck // the state says how the process ended
		left := t.active()
		t.kill()
		deadline := time.Now().Add(2 * time.Second)
		for t.active() > 0 && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond) // a killed process ends soon, without a notification
		}
		p.ended <- ending{state: cmd.ProcessState, left: left, complete: t.active() == 0}
	}()
	return p
}

// startInJob starts the process, puts it into the job object, and lets it run.
func (t *tree) startInJob(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	t.pid = cmd.Process.Pid
	var assignErr error
	err := cmd.Process.WithHandle(func(handle uintptr) {
		assignErr = windows.AssignProcessToJobObject(t.job, windows.Handle(handle))
	})
	if err = errors.Join(err, assignErr); err == nil {
		err = resume(uint32(t.pid))
	}
	if err != nil {
		cmd.Process.Kill() //nolint:errcheck // the error above is returned
		cmd.Wait()         //nolint:errcheck // as above
		return fmt.Errorf("put the process into a job object: %w", err)
	}
	return nil
}

// resume lets the only thread of a suspended process run.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(thread)
		_, err = windows.ResumeThread(thread)
		return err
	}
	return fmt.Errorf("find the thread of the process: %w", err)
}

// interrupt requests the process group to end.
func (t *tree) interrupt() error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.pid))
}

// killedCode is the exit code of killed processes.
const killedCode = 1

func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		windows.TerminateJobObject(t.job, killedCode) //nolint:errcheck // active reports the rest
	}
}

// active returns the number of processes in the job object.
func (t *tree) active() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var info jobAccounting
	if t.closed || windows.QueryInformationJobObject(t.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil) != nil {
		return 0
	}
	return int(info.ActiveProcesses)
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	TotalUserTime, TotalKernelTime, ThisPeriodUserTime, ThisPeriodKernelTime  int64
	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TerminatedProcesses uint32
}

func (t *tree) polled(limits) bool { return false }

func (t *tree) measure(limits) string { return "" }

// outOfMemory returns a sentence if a failed process has used all of its memory. Windows does not
// kill such a process: its request for memory fails.
func (t *tree) outOfMemory(limits limits, exit *ExitError) string {
	if limits.memory == 0 || exit.Code == 0 {
		return ""
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	// A refused request is not counted, so the peak is a little below the limit.
	if err != nil || int64(info.PeakJobMemoryUsed) < limits.memory-limits.memory/16 {
		return ""
	}
	return fmt.Sprintf("the process failed with exit code %d, probably because it was out of memory: the limit is %s, and the peak was %s",
		exit.Code, size(limits.memory), size(int64(info.PeakJobMemoryUsed)))
}

func (t *tree) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return windows.CloseHandle(t.job)
}

// identity is the user of a process; Windows supports only the agent's own.
type identity struct{}

func lookupIdentity(string) (*identity, error) {
	return nil, errors.New("processes of another user are not supported on Windows")
}

func (i *identity) own(string) error { return nil }

func (i *identity) isOther() bool { return false }

// sweeps reports whether the directories of dead agents can be identified.
const sweeps = false

// lockDirectory does nothing, because Windows does not remove a directory that is in use.
func lockDirectory(string) (*os.File, error) { return os.Open(os.DevNull) }

// platformEnvironment returns the variables that every process needs to start.
func platformEnvironment(string) map[string]string {
	root := os.Getenv("SystemRoot")
	return map[string]string{"SystemRoot": root, "PATH": root + `\System32;` + root}
}

func describeExit(state *os.ProcessState) *ExitError {
	return &ExitError{Code: state.ExitCode(), Hint: hint(state.ExitCode())}
}
