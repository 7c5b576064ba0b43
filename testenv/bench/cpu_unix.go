//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuSeconds returns the processor's time that this process has used. It includes the clients and
// an embedded server, and depends little on what else the machine does.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
