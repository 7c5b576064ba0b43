//go:build unix

package bounds

import (
	"syscall"
	"time"
)

// processorTime returns the time that this process has spent on processors: other programs do not
// change it.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
