package metrics

import (
	"cmp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests are the metrics of the front; nil collects nothing.
type Requests struct {
	requests *family[restKey, prometheus.Counter]
	took     *family[operationKey, prometheus.Observer]

	mu          sync.Mutex
	connections func() int // nil: the front has no listener
}

// restKey and operationKey are the labels of a request.
type (
	operationKey struct{ surface, operation string }
	restKey      struct {
		operationKey
		status string
	}
)

func newRequests(r registrar) *Requests {
	requests := r.counters("jobagent_rest_requests_total", "Requests that the front has answered, by API, operation and class of the status.", labelSurface, labelOperation, labelStatus)
	took := r.histograms("jobagent_rest_request_duration_seconds", "Time to answer a request. Streams are not counted.", calls, labelSurface, labelOperation)
	return &Requests{
		requests: newFamily(func(k restKey) prometheus.Counter {
			return requests.WithLabelValues(k.surface, k.operation, k.status)
		}),
		took: newFamily(func(k operationKey) prometheus.Observer { return took.WithLabelValues(k.surface, k.operation) }),
	}
}

// Answered records the answer to a request. surface is empty outside of the APIs, and operation for
// an unknown path. Both are from the program, never from the request.
func (q *Requests) Answered(surface, operation string, status int, elapsed time.Duration) {
	if q == nil {
		return
	}
	k := operationKey{cmp.Or(surface, none), cmp.Or(operation, none)}
	q.requests.get(restKey{k, statusClass(status)}).Inc()
	seconds(q.took.get(k), elapsed)
}

// Connections reads the number of the front's open connections whenever Prometheus asks.
func (q *Requests) Connections(read func() int) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.connections = read
}

// open returns the number of open connections, and whether the front has a listener.
func (q *Requests) open() (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.connections == nil {
		return 0, false
	}
	return q.connections(), true
}

// Web are the metrics of the dashboard; nil collects nothing.
type Web struct {
	ok, refused prometheus.Counter

	mu      sync.Mutex
	streams func() int // nil: there is no dashboard
}

func newWeb(r registrar) *Web {
	signIns := r.counters("jobagent_web_sign_ins_total", "Attempts to sign in to the dashboard, by result: ok or refused.", labelResult)
	return &Web{ok: signIns.WithLabelValues("ok"), refused: signIns.WithLabelValues("refused")}
}

// Streams reads the number of open streams of events whenever Prometheus asks.
func (w *Web) Streams(read func() int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams = read
}

// open returns the number of open streams, and whether there is a dashboard.
func (w *Web) open() (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams == nil {
		return 0, false
	}
	return w.streams(), true
}

// SignedIn records an attempt to sign in.
func (w *Web) SignedIn(ok bool) {
	switch {
	case w == nil:
	case ok:
		w.ok.Inc()
	default:
		w.refused.Inc()
	}
}
