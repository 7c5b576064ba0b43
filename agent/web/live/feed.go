package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
)

// Names of the events that the hub makes.
const (
	// EventStale says that there is no news: {"age": milliseconds since the last read}; without age
	// nothing was ever read. It ends with EventFresh.
	EventStale = "stale"
	EventFresh = "fresh"
	// EventBeat is sent when there was nothing else to send.
	EventBeat = "beat"
	// EventEnd is the last event: {"reason": "session" or "stop"}.
	EventEnd = "end"
)

const (
	// slowest is the factor between the shortest and the longest time between reads.
	slowest = 10
	// firstRetry and lastRetry bound the wait after an error.
	firstRetry, lastRetry = time.Second, 30 * time.Second
)

// feed reads one topic of a control database for its viewers.
type feed struct {
	hub    *Hub
	key    feedKey
	topic  Topic
	source Source
	store  *controldb.Store
	ctx    context.Context
	stop   context.CancelCauseFunc
	poked  chan struct{} // something was done here
	joined chan struct{} // a viewer needs a snapshot

	mu      sync.Mutex
	viewers map[*viewer]struct{}

	// The rest belongs to the goroutine.
	ready    bool      // the source has been read
	read     time.Time // of the last read without an error
	snapshot [][]byte  // the frames of the source's snapshot; nil: to be made
	wait     time.Duration
	failures int // since the last read without an error
}

func newFeed(h *Hub, key feedKey, t Topic, source Source, store *controldb.Store) *feed {
	f := &feed{
		hub: h, key: key, topic: t, source: source, store: store, wait: t.Interval,
		poked: make(chan struct{}, 1), joined: make(chan struct{}, 1), viewers: map[*viewer]struct{}{},
	}
	f.ctx, f.stop = context.WithCancelCause(withRendering(h.ctx, h.cfg.Render, key.base))
	return f
}

// add adds a viewer, which gets a snapshot first.
func (f *feed) add(v *viewer) {
	f.mu.Lock()
	f.viewers[v] = struct{}{}
	f.mu.Unlock()
	signal(f.joined)
}

// remove removes a viewer, and returns how many are left.
func (f *feed) remove(v *viewer) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.viewers, v)
	return len(f.viewers)
}

// run reads the topic until the last viewer has left.
func (f *feed) run() {
	timer := time.NewTimer(f.next())
	defer timer.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-f.joined:
			f.greet()
			continue
		case <-f.poked:
			f.wait = f.topic.Interval
		case <-timer.C:
		}
		timer.Reset(f.next())
	}
}

// next reads the topic, tells the viewers, and returns the time to the following read.
func (f *feed) next() time.Duration {
	events, err := f.readSource()
	switch {
	case f.ctx.Err() != nil:
		return 0
	case err != nil:
		return f.failed(err)
	}
	recovered := f.failures > 0
	f.failures, f.read = 0, time.Now()
	if recovered {
		f.hub.cfg.Log.Info("live topic can be read again", zap.String("topic", f.key.topic), zap.String("base", f.key.base))
	}
	if len(events) > 0 || !f.ready {
		f.snapshot = nil
		f.wait = f.topic.Interval
	} else {
		f.wait = min(f.wait*3/2, slowest*f.topic.Interval)
	}
	f.ready = true
	frames := encode(events)
	if recovered {
		frames = append(frames, fresh)
	}
	f.broadcast(frames)
	f.greet()
	return f.wait
}

// readSource calls the source. A panic is an error of this topic, not of the front.
func (f *feed) readSource() (events []Event, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(reader(f.ctx, f.topic), f.hub.cfg.ReadTime)
	defer cancel()
	return f.source.Next(ctx, f.store)
}

// failed tells the viewers that there is no news, and returns the time to the next try.
func (f *feed) failed(err error) time.Duration {
	f.failures++
	if f.failures == 1 {
		f.hub.cfg.Log.Warn("live topic cannot be read", zap.String("topic", f.key.topic), zap.String("base", f.key.base), zap.Error(err))
		f.broadcast([][]byte{f.stale()})
	}
	f.greet()
	wait := min(firstRetry<<min(f.failures-1, 10), lastRetry)
	return wait + rand.N(wait/4) // topics do not all return at the same time
}

// stale returns the frame that says since when there is no news.
func (f *feed) stale() []byte {
	data := []byte("{}")
	if f.ready {
		data = fmt.Appendf(nil, `{"age":%d}`, time.Since(f.read).Milliseconds())
	}
	return frame(Event{Name: EventStale, Data: data})
}

// broadcast gives frames to all viewers that have their snapshot.
func (f *feed) broadcast(frames [][]byte) {
	if len(frames) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for v := range f.viewers {
		v.push(frames)
	}
}

// greet gives a snapshot to the viewers that need one. While nothing was read, they only learn that
// there is no news.
func (f *feed) greet() {
	if !f.ready && f.failures == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for v := range f.viewers {
		switch {
		case !v.needsSnapshot():
		case !f.ready:
			v.notice(f.stale())
		default:
			if f.snapshot == nil {
				f.snapshot = encode(f.source.Snapshot())
				if f.snapshot == nil {
					f.snapshot = [][]byte{} // made, and empty
				}
			}
			status := fresh
			if f.failures > 0 {
				status = f.stale()
			}
			v.reset(append(f.snapshot[:len(f.snapshot):len(f.snapshot)], status))
		}
	}
}

// fresh is the frame that says that there is news.
var fresh = frame(Event{Name: EventFresh, Data: []byte("{}")})

// encode returns the frames of events.
func encode(events []Event) [][]byte {
	var frames [][]byte
	for _, e := range events {
		frames = append(frames, frame(e))
	}
	return frames
}

// frame encodes an event as
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation says.
func frame(e Event) []byte {
	b := make([]byte, 0, len(e.Name)+len(e.Data)+16)
	b = append(append(b, "event: "...), e.Name...)
	for line := range bytes.Lines(e.Data) {
		b = append(append(b, "\ndata: "...), bytes.TrimRight(line, "\r\n")...)
	}
	return append(b, "\n\n"...)
}

// JSON returns an event whose data is the JSON of v.
func JSON(name string, v any) (Event, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Event{}, fmt.Errorf("encode event %s: %w", name, err)
	}
	return Event{Name: name, Data: data}, nil
}
