package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb/caller"
)

var (
	// ErrUnknownTopic means that no topic has this name.
	ErrUnknownTopic = errors.New("unknown topic")
	// ErrTooManyStreams means that the front, the caller or the session has as many streams as it
	// may have.
	ErrTooManyStreams = errors.New("too many streams")
	// ErrClosed means that the front stops.
	ErrClosed = errors.New("the front stops")
)

// maxTopic bounds the name of a topic, in bytes. Names of a job and of its schedule have at most
// 128 characters each, which are at most 512 bytes in base64.
const maxTopic = 2048

// Config configures a [Hub].
type Config struct {
	Topics []Topic
	// Render renders the blocks of [Fragments].
	Render Renderer
	// Streams bounds the open streams of the front. CallerStreams bounds those of one caller, in
	// all sessions, so that a person or a token cannot take all. SessionStreams bounds those of one
	// session: each tab has one. Defaults: 2,000, 500 and 20.
	Streams, CallerStreams, SessionStreams int
	// Heartbeat is the longest time without an event; default: 4 s. Pages say that the server does
	// not answer after a bit more than twice this time (events.js).
	Heartbeat time.Duration
	// ReadTime bounds one read of a topic; default: 30 s.
	ReadTime time.Duration
	Log      *zap.Logger
}

// Renderer renders a block, which is a named template of a set, for pages below base, such as
// /ui/main. What it renders is the same for all viewers, so it shows no actions.
type Renderer func(w io.Writer, set, block, base string, data any) error

// Hub reads topics for all viewers of a front. A topic of a control database is read by one
// goroutine, which ends when its last viewer leaves. A Hub is safe for concurrent use.
type Hub struct {
	cfg  Config
	ctx  context.Context // of all feeds
	stop context.CancelCauseFunc
	wg   sync.WaitGroup // of the feeds' goroutines

	mu       sync.Mutex
	feeds    map[feedKey]*feed
	sessions map[string]int // open streams by session
	callers  map[string]int // open streams by caller
	streams  int
}

// feedKey names a topic of a control database.
type feedKey struct{ base, topic string }

// NewHub returns a hub. The caller calls Close.
func NewHub(cfg Config) *Hub {
	cfg.Streams = cmp.Or(cfg.Streams, 2000)
	cfg.CallerStreams = cmp.Or(cfg.CallerStreams, 500)
	cfg.SessionStreams = cmp.Or(cfg.SessionStreams, 20)
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, 4*time.Second)
	cfg.ReadTime = cmp.Or(cfg.ReadTime, 30*time.Second)
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	ctx, stop := context.WithCancelCause(context.Background())
	return &Hub{cfg: cfg, ctx: ctx, stop: stop, feeds: map[feedKey]*feed{}, sessions: map[string]int{}, callers: map[string]int{}}
}

// Close ends all streams and waits for the reads under way. It must be called before the HTTP
// server's Shutdown, which waits for streams.
func (h *Hub) Close() {
	h.mu.Lock() // no feed starts after this
	h.stop(ErrClosed)
	h.mu.Unlock()
	h.wg.Wait()
}

// Poke reads the topics of a control database at once, if they have viewers: something has been
// done here. base is as in [Stream].
func (h *Hub) Poke(base string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, f := range h.feeds {
		if key.base == base {
			signal(f.poked)
		}
	}
}

// Streams returns the number of open streams.
func (h *Hub) Streams() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams
}

// find returns the topic of a name, and the name's {id}.
func (h *Hub) find(name string) (Topic, string, error) {
	if len(name) <= maxTopic {
		for _, t := range h.cfg.Topics {
			prefix, parameter := strings.CutSuffix(t.Pattern, "{id}")
			id, ok := strings.CutPrefix(name, prefix)
			if ok && parameter && id != "" && !strings.Contains(id, "/") || !parameter && name == t.Pattern {
				return t, id, nil
			}
		}
	}
	return Topic{}, "", ErrUnknownTopic
}

// join adds a viewer to a topic. The caller calls leave.
func (h *Hub) join(s Stream) (*viewer, error) {
	topic, id, err := h.find(s.Topic)
	if err != nil {
		return nil, err
	}
	if topic.Operators && !s.Operator {
		return nil, ErrUnknownTopic
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ctx.Err() != nil:
		return nil, ErrClosed
	case h.streams >= h.cfg.Streams:
		return nil, fmt.Errorf("%w: the front has %d", ErrTooManyStreams, h.streams)
	case h.callers[s.Caller] >= h.cfg.CallerStreams:
		return nil, fmt.Errorf("%w: the caller has %d", ErrTooManyStreams, h.callers[s.Caller])
	case h.sessions[s.Session] >= h.cfg.SessionStreams:
		return nil, fmt.Errorf("%w: the session has %d", ErrTooManyStreams, h.sessions[s.Session])
	}
	key := feedKey{s.Base, s.Topic}
	f := h.feeds[key]
	if f == nil {
		source, err := topic.Open(id)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnknownTopic, err)
		}
		f = newFeed(h, key, topic, source, s.Store)
		h.feeds[key] = f
		h.wg.Go(f.run)
	}
	h.streams++
	h.callers[s.Caller]++
	h.sessions[s.Session]++
	v := newViewer(f, s.Caller, s.Session)
	f.add(v)
	return v, nil
}

// leave removes a viewer. The feed of the last viewer ends.
func (h *Hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
	if h.callers[v.caller]--; h.callers[v.caller] == 0 {
		delete(h.callers, v.caller)
	}
	if h.sessions[v.session]--; h.sessions[v.session] == 0 {
		delete(h.sessions, v.session)
	}
	if v.feed.remove(v) == 0 {
		delete(h.feeds, v.feed.key)
		v.feed.stop(nil)
	}
}

// signal makes a channel of capacity 1 ready.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reader is the caller of all reads of a topic.
func reader(ctx context.Context, t Topic) context.Context {
	role := "jobs_reader"
	if t.Operators {
		role = "jobs_operator"
	}
	return caller.With(ctx, caller.Caller{Role: role, Name: "dashboard", Door: caller.DoorWeb})
}
