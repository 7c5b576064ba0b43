package service

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/eventlog"
)

// pending is how often the service tells the service control manager that it is ending, and hint is
// how long it may take until it tells so again.
const (
	pending = 2 * time.Second
	hint    = 5 * pending
)

// Run runs the program as a service, if the service control manager has started this process.
// Otherwise ok is false, and nothing ran.
func Run(program Program) (code int, ok bool) {
	if is, err := svc.IsWindowsService(); err != nil || !is {
		return 0, false
	}
	var out io.Writer = io.Discard
	if log, err := eventlog.Open(Source); err == nil {
		defer func() { _ = log.Close() }()
		out = &events{log: log}
	}
	h := &handler{program: program, log: out}
	if err := svc.Run(Source, h); err != nil { // the name is ignored: the process has one service
		_, _ = fmt.Fprintln(out, "error: the service control manager:", err)
		return 1, true
	}
	return h.code, true
}

// handler is the service. It implements svc.Handler.
type handler struct {
	program Program
	log     io.Writer
	code    int // of the program, once Execute has returned
}

// Execute implements svc.Handler: it runs the program until the program ends. A stop, and the
// system's shutdown, end the program's context; the program then has its grace period.
func (h *handler) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (specific bool, code uint32) {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	ended := make(chan int)
	go func() { ended <- h.program(ctx, h.log) }() // Execute waits for it
	now := svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptPreShutdown, ProcessId: uint32(os.Getpid())}
	status <- now
	ticker := time.NewTicker(pending)
	defer ticker.Stop()
	for {
		select {
		case h.code = <-ended:
			// A code other than 0 is a failure: the recovery options of the service apply.
			return true, uint32(h.code)
		case r := <-requests:
			switch r.Cmd {
			case svc.Interrogate:
				status <- now
			case svc.Stop, svc.PreShutdown:
				now.State, now.Accepts, now.WaitHint = svc.StopPending, 0, uint32(hint.Milliseconds())
				status <- now
				stop(ErrStopped)
			}
		case <-ticker.C:
			if now.State == svc.StopPending {
				now.CheckPoint++
				status <- now
			}
		}
	}
}
