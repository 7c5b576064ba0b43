package question

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Options bound how many targets are asked at once, and for how long.
type Options struct {
	// Asking says how sessions are opened.
	Asking mssql.Asking
	// Parallel is how many targets have a session at once; 0 means [DefaultParallel].
	Parallel int
	// Timeout bounds the time of one target, its login included, but not what [One.Aside] takes; 0
	// means no bound.
	Timeout time.Duration
	// Ended is told when a target has ended, with its error; nil: it is not. Several targets may
	// call it at once.
	Ended func(err error)
}

// DefaultParallel is how many targets are asked at once where nothing else is said. A login costs
// the server and the client some milliseconds of work.
const DefaultParallel = 32

// ErrEnough is the error of a function that needs no more of a target, or, as the cause of its
// context, of all targets. It is not a failure.
var ErrEnough = errors.New("enough was read")

// Failure is a target that could not be asked, or whose answer is not complete.
type Failure struct {
	Target targets.Target
	Err    error
}

// One is a target that is being asked.
type One struct {
	*mssql.Session
	Target targets.Target

	clock *clock
}

// Aside runs fn, whose time does not count for the time limit of the target: it waits for something
// else, such as the reader of the rows. Calls must not overlap.
func (o *One) Aside(fn func() error) error { return o.clock.aside(fn) }

// Each opens a session on each target and runs ask with it, for at most o.Parallel targets at once
// and in the order of the list. It returns the targets that failed, in this order, after all
// sessions have ended. When ctx ends, targets whose turn has not come fail with its cause, unless
// the cause is [ErrEnough].
//
// A server that does not answer the login of several databases one after the other, and none
// successfully, is given up: its other databases fail at once.
func Each(
	ctx context.Context, servers *mssql.Servers, list []targets.Target, o Options, ask func(context.Context, *One) error,
) []Failure {
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	errs := make([]error, len(list))
	next := make(chan int)
	var unreached unreachable
	var workers sync.WaitGroup
	var panics mssql.Panics
	for range min(o.Parallel, len(list)) {
		workers.Go(func() {
			for i := range next {
				panics.Keep(func() {
					errs[i] = unreached.try(list[i].Server, func() (bool, error) { return askOne(ctx, servers, list[i], o, ask) })
					if o.Ended != nil {
						o.Ended(errs[i])
					}
				})
			}
		})
	}
	asked := 0
	for ; asked < len(list) && ctx.Err() == nil; asked++ {
		select {
		case next <- asked:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait()
	panics.Pass()
	for i := asked; i < len(list); i++ {
		errs[i] = context.Cause(ctx)
	}
	var failed []Failure
	for i, err := range errs {
		if err != nil && !errors.Is(err, ErrEnough) {
			failed = append(failed, Failure{list[i], err})
		}
	}
	return failed
}

// askOne asks one target. reached says that the server has accepted the login.
func askOne(
	ctx context.Context, servers *mssql.Servers, t targets.Target, o Options, ask func(context.Context, *One) error,
) (reached bool, err error) {
	one := &One{Target: t}
	if o.Timeout > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		one.clock = newClock(o.Timeout, func() { cancel(fmt.Errorf("no complete answer within %s: %w", o.Timeout, context.DeadlineExceeded)) })
		defer one.clock.stop()
	}
	if one.Session, err = servers.OpenSession(ctx, t, o.Asking); err != nil {
		return false, err
	}
	defer one.Session.Close()
	return true, ask(ctx, one)
}

// clock is the time limit of one target. A nil clock has no limit.
type clock struct {
	timer *time.Timer
	since time.Time
	left  time.Duration // at since
}

func newClock(limit time.Duration, end func()) *clock {
	return &clock{timer: time.AfterFunc(limit, end), since: time.Now(), left: limit}
}

func (c *clock) stop() { c.timer.Stop() }

func (c *clock) aside(fn func() error) error {
	if c == nil || !c.timer.Stop() { // the limit has passed
		return fn()
	}
	c.left -= time.Since(c.since)
	err := fn()
	c.since = time.Now()
	c.timer.Reset(max(c.left, 0))
	return err
}

// unreachable counts the logins that servers did not answer. Safe for concurrent use.
type unreachable struct {
	mu      sync.Mutex
	servers map[string]*reach
}

// reach is what is known of a server.
type reach struct {
	ever     bool // a login succeeded or was refused
	failures int  // without an answer
	err      error
}

// giveUp is the number of logins without an answer after which a server that has never answered is
// given up. Each may take the login's whole time limit.
const giveUp = 3

// try runs ask unless the server was given up.
func (u *unreachable) try(server string, ask func() (reached bool, err error)) error {
	key := targets.ServerKey(server)
	u.mu.Lock()
	if u.servers == nil {
		u.servers = map[string]*reach{}
	}
	r := u.servers[key]
	if r == nil {
		r = &reach{}
		u.servers[key] = r
	}
	known, givenUp := r.err, !r.ever && r.failures >= giveUp
	u.mu.Unlock()
	if givenUp {
		return &UnreachableError{Err: known}
	}
	reached, err := ask()
	u.mu.Lock()
	defer u.mu.Unlock()
	if reached || answered(err) {
		r.ever = true
	} else {
		r.failures++
		r.err = err
	}
	return err
}

// answered reports whether the error of a login shows that there is a server.
func answered(err error) bool {
	switch mssql.Classify(err).Class {
	case targets.ClassLostConnection, targets.ClassTimeout, targets.ClassTransient:
		return mssql.Describe(err).Number != 0
	}
	return true
}

// UnreachableError means that a target was not asked, because its server did not answer before.
type UnreachableError struct {
	// Err is the error of another database of the server.
	Err error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return "not asked, because the server did not answer before"
}

// Unwrap returns the error of the other database.
func (e *UnreachableError) Unwrap() error { return e.Err }
