package tsqld

import (
	"context"
	"errors"
	"sync"
)

// attentions are the attentions of a connection, and the request that the next one cancels.
type attentions struct {
	arrived chan struct{} // from the reading goroutine: an attention has arrived

	mu           sync.Mutex              // guards what follows
	pending      bool                    // an attention has arrived and is not acknowledged
	cancel       context.CancelCauseFunc // nil while no request runs
	running      *request                // nil while no request runs or before it is decoded
	unresponsive bool                    // only KILL can end the running request; see [OnAttention]
}

// arrive cancels the running request, unless isUnresponsive returns true for it, and wakes the
// executing goroutine. It runs in the reading goroutine.
func (a *attentions) arrive(isUnresponsive func(*request) bool) {
	a.mu.Lock()
	r := a.running
	a.mu.Unlock()
	unresponsive := r != nil && isUnresponsive(r)
	a.mu.Lock()
	if unresponsive && a.running == r {
		a.unresponsive = true
		a.mu.Unlock()
		return
	}
	a.pending = true
	if a.cancel != nil {
		a.cancel(ErrAttention)
	}
	a.mu.Unlock()
	select {
	case a.arrived <- struct{}{}:
	default:
	}
}

// isPending reports whether an attention has arrived and is not acknowledged.
func (a *attentions) isPending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending
}

// begin makes the context of a request of a connection. The context is canceled from the start if
// an attention is pending. With detached, it outlives the client if [OnAttention] makes the request
// unresponsive.
func (a *attentions) begin(of context.Context, detached bool) (context.Context, context.CancelCauseFunc) {
	var ctx context.Context
	var cancel context.CancelCauseFunc
	if detached {
		ctx, cancel = a.detach(of)
	} else {
		ctx, cancel = context.WithCancelCause(of)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel = cancel
	if a.pending {
		cancel(ErrAttention)
	}
	return ctx, cancel
}

// detach makes a context that the end of the client does not cancel while the request is
// unresponsive.
func (a *attentions) detach(of context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(of))
	stop := context.AfterFunc(of, func() {
		a.mu.Lock()
		unresponsive := a.unresponsive
		a.mu.Unlock()
		if cause := context.Cause(of); !unresponsive || !errors.Is(cause, ErrClientGone) {
			cancel(cause)
		}
	})
	return ctx, func(cause error) {
		stop()
		cancel(cause)
	}
}

// run records the running request.
func (a *attentions) run(r *request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running = r
}

// end ends the registration of the running request. It reports whether an attention is pending,
// which the caller must acknowledge.
func (a *attentions) end() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel, a.running, a.unresponsive = nil, nil, false
	waiting := a.pending
	a.pending = false
	return waiting
}
