package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Protect keeps this process's memory, environment and open files from the processes that it starts
// and from other processes of its user: no ptrace, no /proc/PID/environ, no core file, and no
// inherited file descriptor that a child inherits in turn. missing describes in a sentence what
// this system does not protect; it is empty if everything is protected.
func Protect() (missing string, err error) {
	// Files that the parent left open, such as --config <(…), stay usable here and are closed by an
	// exec. 0, 1 and 2 are set for each process.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		// A kernel before 5.11, or a filter of system calls.
		missing = fmt.Sprintf("processes inherit file descriptors that the agent was started with (close_range: %v)", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return missing, fmt.Errorf("forbid core files: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return missing, fmt.Errorf("keep other processes from reading this one: %w", err)
	}
	return missing, nil
}
