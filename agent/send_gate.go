package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
)

// sendsPerCall bounds one call of begin_send.
const sendsPerCall = 1000

// sendGate asks the control database for permission to send, right before the first byte of an
// action (jobs_internal.begin_send). One call carries the requests of many workers: at most one
// call is in flight, and the requests that arrive meanwhile are in the next call. A request that
// arrives while no call is in flight is sent at once.
//
// Concurrency: mu guards waiting. No method blocks or takes another lock while it holds mu. Workers
// call begin at any time; only run, on its one goroutine, makes calls.
type sendGate struct {
	// call calls begin_send. It returns the requests that were refused.
	call  func(ctx context.Context, sends []callbacks.Send) ([]controldb.Refusal, error)
	trust *trust
	// ready has a value when requests wait. Size 1.
	ready chan struct{}

	mu      sync.Mutex
	waiting []sendRequest
}

// sendRequest is a request that waits for its answer.
type sendRequest struct {
	send callbacks.Send
	// answer receives the answer. Size 1, so that a send never blocks if the worker has stopped
	// waiting.
	answer chan error
}

func newSendGate(
	trust *trust, call func(ctx context.Context, sends []callbacks.Send) ([]controldb.Refusal, error),
) *sendGate {
	return &sendGate{call: call, trust: trust, ready: make(chan struct{}, 1)}
}

func (g *sendGate) name() string { return "sendGate" }

// begin asks for permission to send. The first byte must be sent before the returned instant, the
// end of the trust in the term as it was when the call began. So a process that was suspended
// meanwhile finds the instant passed.
func (g *sendGate) begin(ctx context.Context, send callbacks.Send) (before time.Time, err error) {
	r := sendRequest{send: send, answer: make(chan error, 1)}
	before = g.trust.end()
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	g.mu.Unlock()
	notify(g.ready)
	select {
	case err := <-r.answer:
		if err != nil {
			return time.Time{}, err
		}
		return before, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

// run makes calls until ctx is done. All workers have ended then.
func (g *sendGate) run(ctx context.Context, ready func()) error {
	ready()
	for {
		select {
		case <-g.ready:
		case <-ctx.Done():
			return nil
		}
		for batch := g.take(); len(batch) > 0; batch = g.take() {
			g.ask(ctx, batch)
		}
	}
}

// take removes the requests of the next call.
func (g *sendGate) take() []sendRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), sendsPerCall)
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if len(g.waiting) == 0 {
		g.waiting = nil // the array belongs to the batch
	}
	return batch
}

// ask makes one call and answers the requests of the batch. If the control database refuses the
// data of one of them, the others are asked for again in halves.
func (g *sendGate) ask(ctx context.Context, batch []sendRequest) {
	sends := make([]callbacks.Send, len(batch))
	for i, r := range batch {
		sends[i] = r.send
	}
	refusals, err := g.call(ctx, sends)
	if half := len(batch) / 2; half > 0 && refusesData(err) {
		g.ask(ctx, batch[:half])
		g.ask(ctx, batch[half:])
		return
	}
	refused := make(map[controldb.TaskID]error, len(refusals))
	for _, r := range refusals {
		refused[r.Task] = fmt.Errorf("the control database refused it: %s", r.Reason)
	}
	for _, r := range batch {
		if err != nil {
			r.answer <- err
			continue
		}
		r.answer <- refused[r.send.Task]
	}
}
