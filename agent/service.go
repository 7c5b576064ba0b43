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

	// run works until ctx is done, and then returns nil. It returns an error only if the service
	// cannot continue. It calls ready once, when later services may depend on this one.
	//
	// run returns only after every goroutine that it started has returned.
	run(ctx context.Context, ready func()) error
}

// supervise starts services in order, each after the previous one is ready. When ctx is done or a
// service returns, supervise stops the services in reverse order. It returns the joined errors of
// the services, or nil after a clean stop.
func supervise(ctx context.Context, services ...service) error {
	type running struct {
		cancel context.CancelCauseFunc
		done   chan struct{}
	}
	var (
		first  error
		ended  = make(chan error, len(services)) // one slot each: a send never blocks
		up     []running
		broken bool // a service returned before it was stopped, with or without an error
	)
start:
	for _, s := range services {
		// The service's context does not end with ctx, because services stop one after the other,
		// below.
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

// runService runs a service and turns a panic into an error, so that the other services can stop in
// order. It is an error for a service to return nil before its ctx is done.
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
		return fmt.Errorf("%s: returned before it was stopped", s.name())
	}
	return nil
}

// sleep waits for d, or until ctx is done or wake has a value. A nil wake has none. sleep returns
// false if ctx is done.
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
