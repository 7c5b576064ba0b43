package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// service is one long-running part of the agent.
type service interface {
	// name identifies the service in logs and errors.
	name() string

	// run works until ctx is done, then returns nil. It returns an error only if the service cannot
	// go on. It calls ready once, when the services started after it may rely on it.
	//
	// run returns only after every goroutine that it started has returned.
	run(ctx context.Context, ready func()) error
}

// supervise starts services one after the other, each once the one before it is ready, and stops them
// in reverse order when ctx is done or one of them returns. It returns the errors of the services, joined,
// or nil after a clean stop.
func supervise(ctx context.Context, services ...service) error {
	type running struct {
		cancel context.CancelCauseFunc
		done   chan struct{}
	}
	var (
		first  error
		ended  = make(chan error, len(services)) // one slot each: a send never blocks
		up     []running
		broken bool // a service returned, cleanly or not, before it was told to
	)
start:
	for _, s := range services {
		// Not derived from ctx's cancellation: the reverse order below decides who stops when.
		sctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		r := running{cancel: cancel, done: make(chan struct{})}
		up = append(up, r)
		ready := make(chan struct{})
		go func() {
			defer close(r.done)
			ended <- runService(sctx, s, func() { close(ready) })
		}()
		select {
		case <-ready:
		case first = <-ended:
			broken = true
			break start
		case <-ctx.Done():
			break start
		}
	}
	if !broken && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first = <-ended:
			broken = true
		}
	}
	for i := len(up) - 1; i >= 0; i-- {
		up[i].cancel(ErrStopping)
		<-up[i].done
	}
	for waiting := len(up); waiting > 0; waiting-- {
		select {
		case err := <-ended:
			first = errors.Join(first, err)
		default:
		}
	}
	return first
}

// runService turns a panic into an error, so that one service cannot take the process down before the
// others have stopped in order. A service that returns nil before its ctx is done has broken its promise.
func runService(ctx context.Context, s service, ready func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", s.name(), p, debug.Stack())
		}
	}()
	if err := s.run(ctx, ready); err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("%s: ended without being told to", s.name())
	}
	return nil
}

// sleep waits for d, or less if ctx ends or wake has a value (nil: never). It returns false once ctx is done.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-t.C:
	}
	return ctx.Err() == nil
}
