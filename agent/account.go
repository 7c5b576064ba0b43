package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/accounts"
	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb/account"
)

// runAccount follows the state of the job agent (account) of the control database until ctx is
// done: it carries out operations on the job agent, and runs cores while the job agent is Ready. If
// the job agent is disabled, running scripts get the grace period, as at a stop.
func (h *Hosting) runAccount(ctx context.Context) {
	reconciler, err := accounts.NewReconciler(h.store, h.log)
	if err != nil {
		h.log.Error("operations on the job agent are left to other processes", zap.Error(err))
		h.runCores(ctx)
		return
	}
	var cores *runningCores // nil: no cores run
	defer func() { cores.stop() }()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 15 * time.Second}
	for {
		account, err := reconciler.Step(ctx)
		pause := accounts.Pause(account)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			// The state is unknown, so running cores continue.
			pause = retry.Next()
			if cores == nil {
				h.log.Warn("could not read the job agent", zap.Error(err), zap.Duration(keyRetryIn, pause))
			}
		default:
			retry.Reset()
			switch serves := h.serves(account); {
			case serves && cores == nil:
				cores = h.startCores(ctx)
			case !serves && cores != nil:
				h.log.Info("stopping: the job agent is not Ready", zap.String(keyState, string(account.State)))
				cores.cancel()
			}
		}
		if cores == nil {
			h.cfg.Alive()
		}
		if !sleep(ctx, pause, cores.end()) {
			return
		}
		select {
		case <-cores.end(): // the control database has refused a term, or they were stopped
			cores.cancel()
			cores = nil
			if !sleep(ctx, h.cfg.PollIdle, nil) { // without the wait, this loop would not pause
				return
			}
		default:
		}
	}
}

// serves reports whether the agent runs cores for the job agent a.
func (h *Hosting) serves(a account.JobAgent) bool {
	if a.State == account.AgentNone {
		return !h.cfg.AccountRequired
	}
	return a.State.Served()
}

// runningCores are the cores that run while the job agent is Ready. A nil value has no cores.
type runningCores struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when they have ended
}

// startCores runs cores until they are stopped, ctx is done, or the control database refuses a
// term.
func (h *Hosting) startCores(ctx context.Context) *runningCores {
	ctx, cancel := context.WithCancel(ctx)
	c := &runningCores{cancel: cancel, ended: make(chan struct{})}
	go func() { // ends with ctx; stop waits for it
		defer close(c.ended)
		h.runCores(ctx)
	}()
	return c
}

// stop stops the cores and waits for them.
func (c *runningCores) stop() {
	if c == nil {
		return
	}
	c.cancel()
	<-c.ended
}

// end returns a channel that is closed when the cores have ended; without cores, it is nil.
func (c *runningCores) end() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.ended
}
