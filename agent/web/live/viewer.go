package live

import "sync"

// maxPending bounds the frames that wait for a viewer, in bytes; a snapshot is not counted, since
// all viewers share it.
const maxPending = 256 << 10

// viewer is one stream. Frames that it cannot take are dropped, and it gets a snapshot when it has
// written the ones before.
type viewer struct {
	feed    *feed
	caller  string
	session string
	ready   chan struct{} // frames wait, or a snapshot is needed

	mu      sync.Mutex
	pending [][]byte
	size    int  // of pending
	fresh   bool // has no snapshot; only a snapshot is of use
	told    bool // has got the notice that nothing can be read
	asked   bool // a fresh viewer has asked for its snapshot
}

func newViewer(f *feed, caller, session string) *viewer {
	return &viewer{feed: f, caller: caller, session: session, ready: make(chan struct{}, 1), fresh: true, asked: true}
}

// push adds frames for a viewer that has a snapshot.
func (v *viewer) push(frames [][]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fresh {
		return
	}
	for _, f := range frames {
		v.size += len(f)
	}
	v.pending = append(v.pending, frames...)
	if v.size > maxPending {
		v.pending, v.size, v.fresh = nil, 0, true
	}
	signal(v.ready)
}

// needsSnapshot reports whether a viewer waits for a snapshot.
func (v *viewer) needsSnapshot() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fresh && v.asked
}

// reset gives a viewer its snapshot.
func (v *viewer) reset(frames [][]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending, v.size, v.fresh, v.asked, v.told = append(v.pending, frames...), 0, false, false, false
	signal(v.ready)
}

// notice gives a viewer without a snapshot a frame, once.
func (v *viewer) notice(frame []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.told {
		return
	}
	v.told = true
	v.pending = append(v.pending, frame)
	signal(v.ready)
}

// take returns the frames that wait. A viewer that lost frames asks for a snapshot when it comes
// for more, so a slow one gets snapshots only as fast as it reads them.
func (v *viewer) take() [][]byte {
	v.mu.Lock()
	frames := v.pending
	v.pending, v.size = nil, 0
	ask := v.fresh && !v.asked
	v.asked = v.asked || ask
	v.mu.Unlock()
	if ask {
		signal(v.feed.joined)
	}
	return frames
}
