package service

import (
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"
)

// Supervisor tells systemd how the process is (sd_notify(3)), if systemd has started it with
// Type=notify. Elsewhere it does nothing. Its methods may be called concurrently.
type Supervisor struct {
	log *zap.Logger
	// every is the least time between messages for the watchdog; 0: the unit has no WatchdogSec.
	every time.Duration

	mu    sync.Mutex
	ready bool      // READY=1 has been sent
	next  time.Time // when the next message for the watchdog is due
}

// Supervise returns the supervisor of this process. Call Stopping when the process begins to stop.
func Supervise(log *zap.Logger) *Supervisor {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not served: the variable WATCHDOG_USEC or WATCHDOG_PID is invalid", zap.Error(err))
	}
	return &Supervisor{log: log, every: limit / 4}
}

// Alive says that the process works. The first call says that the start is complete. Later calls
// reach systemd at most four times in WatchdogSec, so that Alive may be called often.
func (s *Supervisor) Alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var states []string
	if !s.ready {
		states, s.ready = append(states, daemon.SdNotifyReady), true
	}
	if now := time.Now(); s.every > 0 && !now.Before(s.next) {
		states, s.next = append(states, daemon.SdNotifyWatchdog), now.Add(s.every)
	}
	if len(states) > 0 {
		s.send(strings.Join(states, "\n"))
	}
}

// Stopping says that the process has begun to stop.
func (s *Supervisor) Stopping() {
	s.send(daemon.SdNotifyStopping)
}

// send sends assignments, one on each line. A failure is logged: systemd then ends a start that is
// never complete, or a process whose watchdog expires.
func (s *Supervisor) send(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("could not notify systemd", zap.Error(err))
	}
}
