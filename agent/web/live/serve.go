package live

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/jobagent/jobagent/controldb"
)

const (
	// writeTime bounds the time to write what waits for a viewer; a viewer that takes longer is
	// disconnected, and its browser connects again.
	writeTime = 30 * time.Second
	// reconnect is how long browsers wait before they connect again, as the field retry.
	reconnect = "retry: 3000\n\n"
)

// Stream is one stream of a viewer.
type Stream struct {
	// Base is the path of the control database's pages; see page.Request.
	Base string
	// Store calls the control database.
	Store *controldb.Store
	// Operator says that the viewer has the role operator, or a role that includes it.
	Operator bool
	// Topic is the name of the topic, such as "run/0f8fad5b-…".
	Topic string
	// Caller and Session identify the viewer and the viewer's session, for the limits.
	Caller, Session string
	// Ended is done when the session ends; nil: never.
	Ended context.Context
}

// Serve answers a request with the events of a topic, until the viewer leaves, the session ends or
// the hub is closed. The caller has checked the session and the viewer's role.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, s Stream) {
	v, err := h.join(s)
	switch {
	case errors.Is(err, ErrUnknownTopic):
		http.Error(w, "There is no topic of this name.", http.StatusNotFound)
		return
	case err != nil:
		w.Header().Set("Retry-After", "30")
		http.Error(w, "No more live updates are possible now: "+err.Error()+".", http.StatusServiceUnavailable)
		return
	}
	defer h.leave(v)
	out := &writer{w: w, control: http.NewResponseController(w)}
	if err := out.begin(); err != nil {
		return
	}
	h.stream(r.Context(), out, v, s.Ended)
}

// stream writes frames until something ends. An error of a write means that the viewer has left.
func (h *Hub) stream(ctx context.Context, out *writer, v *viewer, session context.Context) {
	if session == nil {
		session = context.Background()
	}
	beat := time.NewTimer(h.cfg.Heartbeat)
	defer beat.Stop()
	for {
		var frames [][]byte
		select {
		case <-ctx.Done():
			return
		case <-h.ctx.Done():
			_ = out.write([][]byte{frame(Event{Name: EventEnd, Data: []byte(`{"reason":"stop"}`)})})
			return
		case <-session.Done():
			_ = out.write([][]byte{frame(Event{Name: EventEnd, Data: []byte(`{"reason":"session"}`)})})
			return
		case <-v.ready:
			frames = v.take()
		case <-beat.C:
			frames = [][]byte{frame(Event{Name: EventBeat, Data: []byte("{}")})}
		}
		if len(frames) == 0 {
			continue
		}
		if out.write(frames) != nil {
			return
		}
		beat.Reset(h.cfg.Heartbeat)
	}
}

// writer writes to a viewer. It has time limits of its own, because those of the server would end
// the stream.
type writer struct {
	w       io.Writer
	control *http.ResponseController
}

// begin sends the header of the answer.
func (o *writer) begin() error {
	w := o.w.(http.ResponseWriter)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx passes events on at once
	// Without this, the server's limit of time for a request would cancel its context. A writer
	// without limits, as in tests, has nothing to lift.
	if err := o.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return o.write([][]byte{[]byte(reconnect)})
}

// write writes frames and sends them.
func (o *writer) write(frames [][]byte) error {
	if err := o.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	for _, f := range frames {
		if _, err := o.w.Write(f); err != nil {
			return err
		}
	}
	return o.control.Flush()
}
