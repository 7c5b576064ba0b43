package strict

import (
	"sync"
	"testing"
)

// Watch returns a function for a server's Config.Record. The test fails at the first deviation of
// each connection.
func Watch(t testing.TB) func(id uint64, fromClient bool, packet []byte) {
	return WatchResults(t, nil)
}

// WatchResults is [Watch] with a function that gets the reader of each new connection and may set
// its hooks.
func WatchResults(t testing.TB, each func(*Reader)) func(id uint64, fromClient bool, packet []byte) {
	w := &watcher{t: t, each: each, readers: map[uint64]*Reader{}}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = true // a connection that outlives its test is ignored
	})
	return w.packet
}

// watcher has a reader for each connection.
type watcher struct {
	t    testing.TB
	each func(*Reader)

	mu      sync.Mutex
	ended   bool
	readers map[uint64]*Reader // nil after a deviation
}

// connectionBits are the bits of an id that name the connection. The others name its session with
// MARS.
const connectionBits = 1<<48 - 1

// packet passes a packet to the reader of its connection.
func (w *watcher) packet(id uint64, fromClient bool, packet []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, known := w.readers[id]
	if !known {
		if connection := w.readers[id&connectionBits]; connection != nil {
			r = connection.Session()
		} else {
			r = NewReader()
			if w.each != nil {
				w.each(r)
			}
		}
		w.readers[id] = r
	}
	if r == nil || w.ended {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			deviation, ok := v.(*Deviation)
			if !ok {
				panic(v)
			}
			w.readers[id] = nil
			w.t.Errorf("the server's output violates TDS: %v", deviation)
		}
	}()
	if fromClient {
		r.Client(packet)
	} else {
		r.Server(packet)
	}
}
