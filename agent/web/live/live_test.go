package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a source whose state is a number. It changes by step at each read.
type counter struct {
	reads atomic.Int64
	mu    sync.Mutex
	value int
	step  int
	read  bool
	size  int // bytes added to each event
	err   error
}

func (c *counter) set(change func(*counter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// Next implements Source.
func (c *counter) Next(context.Context, *controldb.Store) ([]Event, error) {
	c.reads.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if first := !c.read; c.step == 0 || first {
		c.read = true
		return nil, nil
	}
	c.value += c.step
	return []Event{{Name: "delta", Data: fmt.Appendf(nil, `%d%s`, c.value, strings.Repeat(" ", c.size))}}, nil
}

// Snapshot implements Source.
func (c *counter) Snapshot() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []Event{{Name: "state", Data: fmt.Appendf(nil, "%d", c.value)}}
}

// browser is a viewer's connection: an http.ResponseWriter.
type browser struct {
	header http.Header
	status int

	mu   sync.Mutex
	text bytes.Buffer
	slow chan struct{} // not nil: each Write waits for it
}

func (b *browser) Header() http.Header { return b.header }
func (b *browser) WriteHeader(s int)   { b.status = s }
func (b *browser) Flush()              {}

func (b *browser) Write(p []byte) (int, error) {
	if b.slow != nil {
		<-b.slow
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// events returns "name data" of the events so far.
func (b *browser) events() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for one := range strings.SplitSeq(b.text.String(), "\n\n") {
		if rest, ok := strings.CutPrefix(one, "event: "); ok {
			list = append(list, strings.TrimRight(strings.Replace(rest, "\ndata: ", " ", 1), " "))
		}
	}
	return list
}

// view opens a stream of a topic; the function closes it.
func view(h *Hub, topic string, slow chan struct{}) (*browser, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &browser{header: http.Header{}, slow: slow}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Serve(b, (&http.Request{}).WithContext(ctx), Stream{Base: "/ui/main", Topic: topic, Session: topic + fmt.Sprintf("%p", b)})
	}()
	return b, func() { cancel(); <-done }
}

// hubOf returns a hub with one source for the topics "count" and "run/{id}".
func hubOf(c Source, change ...func(*Config)) *Hub {
	open := func(id string) (Source, error) {
		if id == "invalid" {
			return nil, errors.New("invalid id")
		}
		return c, nil
	}
	cfg := Config{Topics: []Topic{
		{Pattern: "count", Interval: time.Second, Open: open}, {Pattern: "run/{id}", Interval: time.Second, Open: open},
	}}
	for _, f := range change {
		f(&cfg)
	}
	return NewHub(cfg)
}

// 100 viewers of a topic cost one read per interval, and get the same events.
func TestOneReadForAllViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{step: 1}
		h := hubOf(c)
		defer h.Close()
		var viewers []*browser
		for range 100 {
			b, leave := view(h, "count", nil)
			defer leave()
			viewers = append(viewers, b)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		assert.EqualValues(t, 11, c.reads.Load(), "the first read and one a second")
		for _, b := range viewers {
			list := b.events()
			assert.Equal(t, []string{"state 0", "fresh {}", "delta 1"}, list[:3])
			assert.Equal(t, "delta 10", list[len(list)-1])
		}
		late, leave := view(h, "count", nil)
		synctest.Wait()
		assert.Equal(t, []string{"state 10", "fresh {}"}, late.events())
		assert.EqualValues(t, 11, c.reads.Load(), "a new viewer gets what was read")
		leave()
	})
}

// While nothing changes, reads become rare; after an action here the topic is read at once.
func TestAdaptiveInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		h := hubOf(c)
		defer h.Close()
		b, leave := view(h, "count", nil)
		defer leave()
		time.Sleep(time.Minute)
		before := c.reads.Load()
		time.Sleep(100 * time.Second)
		assert.EqualValues(t, 10, c.reads.Load()-before, "every 10 s")
		c.set(func(c *counter) { c.step = 1 })
		h.Poke("/ui/other")
		synctest.Wait()
		assert.NotContains(t, b.events(), "delta 1", "another control database")
		h.Poke("/ui/main")
		synctest.Wait()
		assert.Contains(t, b.events(), "delta 1")
		before = c.reads.Load()
		time.Sleep(10*time.Second + time.Millisecond)
		assert.EqualValues(t, 10, c.reads.Load()-before, "every second again")
		assert.Contains(t, b.events(), "beat {}")
	})
}

// The goroutine of a topic ends with its last viewer, and nobody reads any more.
func TestLastViewerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{step: 1}
		h := hubOf(c)
		_, leave1 := view(h, "count", nil)
		_, leave2 := view(h, "count", nil)
		time.Sleep(5 * time.Second)
		leave1()
		time.Sleep(5 * time.Second)
		leave2()
		synctest.Wait()
		before := c.reads.Load()
		time.Sleep(time.Minute)
		assert.Equal(t, before, c.reads.Load())
		assert.Zero(t, h.Streams())
		assert.Empty(t, h.feeds)
		assert.Empty(t, h.sessions)
		h.Close()
	})
}

// While the source fails, viewers know since when there is no news; reads become rare and go on.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{step: 1}
		h := hubOf(c)
		defer h.Close()
		b, leave := view(h, "count", nil)
		defer leave()
		time.Sleep(3500 * time.Millisecond) // delta 3
		c.set(func(c *counter) { c.err = errors.New("the database is away") })
		time.Sleep(time.Second)
		synctest.Wait()
		list := b.events()
		assert.Equal(t, "stale {\"age\":1000}", list[len(list)-1])
		late, leaveLate := view(h, "count", nil)
		defer leaveLate()
		synctest.Wait()
		assert.Equal(t, []string{"state 3", `stale {"age":1500}`}, late.events(), "what is known, and its age")

		before := c.reads.Load()
		time.Sleep(10 * time.Minute)
		assert.Less(t, c.reads.Load()-before, int64(30))
		c.set(func(c *counter) { c.err = nil })
		time.Sleep(40 * time.Second)
		synctest.Wait()
		assert.Contains(t, strings.Join(b.events(), "\n"), "delta 4\nfresh {}")
		assert.Equal(t, 1, strings.Count(strings.Join(b.events(), "\n"), "stale"), "said once")
	})
}

// A source that never worked: viewers know, and get the state when it works.
func TestStaleFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{step: 1, err: errors.New("the database is away")}
		h := hubOf(c)
		defer h.Close()
		b, leave := view(h, "count", nil)
		defer leave()
		time.Sleep(20 * time.Second)
		c.set(func(c *counter) { c.err = nil })
		time.Sleep(40 * time.Second)
		synctest.Wait()
		list := slices.DeleteFunc(b.events(), func(e string) bool { return e == "beat {}" })
		assert.Equal(t, []string{"stale {}", "state 0", "fresh {}", "delta 1"}, list[:4])
	})
}

// A source that panics is a topic without news; the front goes on.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hubOf(panics{})
		defer h.Close()
		b, leave := view(h, "count", nil)
		defer leave()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, "stale {}", b.events()[0])
	})
}

type panics struct{}

func (panics) Next(context.Context, *controldb.Store) ([]Event, error) { panic("index out of range") }
func (panics) Snapshot() []Event                                       { panic("index out of range") }

// A viewer that does not read costs bounded memory, and gets the state, not all that it missed.
func TestSlowViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{step: 1, size: 10_000}
		h := hubOf(c)
		defer h.Close()
		slow := make(chan struct{})
		b, leave := view(h, "count", slow)
		quick, leaveQuick := view(h, "count", nil)
		defer leaveQuick()
		slow <- struct{}{} // retry
		for range 3 {      // the state and delta 1
			slow <- struct{}{}
		}
		time.Sleep(time.Hour + time.Millisecond)
		synctest.Wait()
		var v *viewer
		for one := range h.feeds[feedKey{"/ui/main", "count"}].viewers {
			if v == nil || one.fresh {
				v = one
			}
		}
		require.True(t, v.fresh, "lost events")
		assert.Empty(t, v.pending)
		close(slow)
		synctest.Wait()
		list := b.events()
		assert.Equal(t, []string{fmt.Sprintf("state %d", c.value), "fresh {}"}, list[len(list)-2:])
		assert.Less(t, len(list), 40)
		assert.Greater(t, len(quick.events()), 3600)
		leave()
	})
}

// Limits of the front, of a caller and of a session, unknown topics, a closed hub.
func TestRefused(t *testing.T) {
	h := hubOf(&counter{}, func(c *Config) { c.Streams, c.SessionStreams = 3, 2 })
	for _, session := range []string{"a", "a", "b"} {
		v, err := h.join(Stream{Base: "/ui/main", Topic: "run/1", Session: session})
		require.NoError(t, err)
		defer h.leave(v)
	}
	ask := func(topic, session string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), Stream{Base: "/ui/main", Topic: topic, Session: session})
		return w
	}
	full := ask("count", "c")
	assert.Equal(t, http.StatusServiceUnavailable, full.Code)
	assert.NotEmpty(t, full.Header().Get("Retry-After"))
	assert.Contains(t, full.Body.String(), "the front has 3")
	h.cfg.Streams = 10
	assert.Contains(t, ask("count", "a").Body.String(), "the session has 2")
	h.cfg.CallerStreams = 3
	assert.Contains(t, ask("count", "c").Body.String(), "the caller has 3", "in other sessions")
	h.cfg.CallerStreams = 10
	for _, topic := range []string{"", "run", "run/", "run/1/2", "run/invalid", "counts", "run/" + strings.Repeat("x", maxTopic)} {
		assert.Equal(t, http.StatusNotFound, ask(topic, "c").Code, topic)
	}
	h.Close()
	assert.Equal(t, http.StatusServiceUnavailable, ask("count", "c").Code)
}

// Readers do not learn of topics of operators.
func TestTopicsOfOperators(t *testing.T) {
	h := hubOf(&counter{}, func(c *Config) { c.Topics[0].Operators = true })
	defer h.Close()
	_, err := h.join(Stream{Base: "/ui/main", Topic: "count", Session: "a"})
	require.ErrorIs(t, err, ErrUnknownTopic)
	v, err := h.join(Stream{Base: "/ui/main", Topic: "count", Session: "a", Operator: true})
	require.NoError(t, err)
	h.leave(v)
}

// Streams end with the session and with the hub, and say so.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hubOf(&counter{})
		session, end := context.WithCancel(context.Background())
		b := &browser{header: http.Header{}}
		done := make(chan struct{})
		go func() {
			h.Serve(b, &http.Request{}, Stream{Base: "/ui/main", Topic: "count", Ended: session})
			close(done)
		}()
		other, leave := view(h, "count", nil)
		defer leave()
		time.Sleep(time.Second)
		end()
		<-done
		assert.Contains(t, b.events(), `end {"reason":"session"}`)
		h.Close()
		synctest.Wait()
		assert.Contains(t, other.events(), `end {"reason":"stop"}`)
	})
}

// Only blocks that changed are sent; a new viewer gets all.
func TestFragments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := map[string]string{"a": "1", "b": "<i>\n\u2028"}
		var mu sync.Mutex
		read := func(context.Context, *controldb.Store) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			return map[string]string{"a": state["a"], "b": state["b"]}, nil
		}
		render := func(w io.Writer, set, block, base string, data any) error {
			_, err := fmt.Fprintf(w, "\n<p id=%q>%s %s %s</p>\n", block, set, base, data.(map[string]string)[block])
			return err
		}
		h := hubOf(Fragments("jobs", read, "a", "b"), func(c *Config) { c.Render = render })
		defer h.Close()
		b, leave := view(h, "count", nil)
		defer leave()
		synctest.Wait()
		assert.Len(t, b.events(), 3)
		assert.Equal(t, `fragment {"html":"\u003cp id=\"a\"\u003ejobs /ui/main 1\u003c/p\u003e","id":"a"}`, b.events()[0])
		mu.Lock()
		state["a"] = "2"
		mu.Unlock()
		time.Sleep(3 * time.Second) // less than the heartbeat
		synctest.Wait()
		assert.Len(t, b.events(), 4)
		assert.Contains(t, b.events()[3], "jobs /ui/main 2")
	})
}

// Data of several lines stays one event.
func TestFrame(t *testing.T) {
	assert.Equal(t, "event: x\ndata: a\ndata: b\n\n", string(frame(Event{Name: "x", Data: []byte("a\r\nb\n")})))
}

// 500 streams stay open beyond the server's limits of time, by HTTP/1.1 and by HTTP/2.
func TestManyStreams(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			const limit = 2 * time.Second // of a request
			c := &counter{step: 1}
			h := hubOf(c, func(cfg *Config) { cfg.Topics[0].Interval, cfg.SessionStreams = limit/10, 500 })
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.Serve(w, r, Stream{Base: "/ui/main", Topic: "count"})
			}))
			server.Config.ReadTimeout, server.Config.WriteTimeout = limit, limit
			if server.EnableHTTP2 = proto == "HTTP/2.0"; server.EnableHTTP2 {
				server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1000} // one connection, one handshake
				server.StartTLS()
			} else {
				server.Start() // 500 handshakes of TLS would take long
			}
			defer server.Close()
			defer h.Close()
			client := server.Client()
			defer client.CloseIdleConnections()
			var wg sync.WaitGroup
			var open atomic.Int64
			for i := range 500 {
				if i == 1 && server.EnableHTTP2 { // the first one's connection is for the others, too
					require.Eventually(t, func() bool { return open.Load() == 1 }, 20*time.Second, time.Millisecond)
				}
				wg.Go(func() {
					res, err := client.Get(server.URL)
					if !assert.NoError(t, err) {
						return
					}
					defer res.Body.Close()
					assert.Equal(t, proto, res.Proto)
					n := 0
					for lines := bufio.NewScanner(res.Body); lines.Scan(); {
						if strings.HasPrefix(lines.Text(), "event: delta") {
							if n++; n == 12 { // longer than the limit
								open.Add(1)
							}
						}
					}
				})
			}
			require.Eventually(t, func() bool { return open.Load() == 500 }, 20*time.Second, 10*time.Millisecond)
			assert.Equal(t, 500, h.Streams())
			h.Close()
			wg.Wait()
			require.Eventually(t, func() bool { return h.Streams() == 0 }, 5*time.Second, time.Millisecond)
		})
	}
}
