package tsqld

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// thread returns the calling thread.
func thread() int { return syscall.Gettid() }

// threadTime returns the processor time of a thread of this process.
func threadTime(thread int) time.Duration {
	const scheduled, perThread = 2, 4 // CPUCLOCK_SCHED and CPUCLOCK_PERTHREAD_MASK of Linux
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^thread<<3|scheduled|perThread), &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
