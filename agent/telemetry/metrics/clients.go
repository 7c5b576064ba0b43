package metrics

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// Clients of a control database.
const (
	ClientAgent = "agent"
	ClientFront = "front"
)

// mostErrors bounds the number of different errors of a client that have a metric of their own.
const mostErrors = 100

// clientVectors are the metrics of all clients of control databases.
type clientVectors struct {
	calls           *prometheus.HistogramVec
	errors, retries *prometheus.CounterVec
}

func newClientVectors(r registrar) clientVectors {
	return clientVectors{
		calls:   r.histograms("jobagent_controldb_call_duration_seconds", "Duration of a call of the control database, by procedure; reads of views have a name of their own.", calls, labelDatabase, labelClient, labelCall),
		errors:  r.counters("jobagent_controldb_errors_total", "Calls of the control database that failed, by number of the error, or by kind if it has none.", labelDatabase, labelClient, labelError),
		retries: r.counters("jobagent_controldb_retries_total", "Calls of the control database that were repeated after a deadlock.", labelDatabase, labelClient),
	}
}

// Client are the metrics of one client of a control database. It implements controldb.Observer.
type Client struct {
	name    string
	calls   *family[string, prometheus.Observer]
	errors  *family[string, prometheus.Counter]
	retries prometheus.Counter

	mu    sync.Mutex
	pools map[*controldb.Store]struct{}
}

// Client returns the metrics of a client of the control database.
func (d *Database) Client(name string) *Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.clients[name]
	if c == nil {
		v := d.metrics.clients
		c = &Client{
			name:    name,
			calls:   newFamily(func(call string) prometheus.Observer { return v.calls.WithLabelValues(d.name, name, call) }),
			errors:  newFamily(func(text string) prometheus.Counter { return v.errors.WithLabelValues(d.name, name, text) }),
			retries: v.retries.WithLabelValues(d.name, name),
			pools:   map[*controldb.Store]struct{}{},
		}
		c.errors.most, c.errors.other = mostErrors, "other"
		d.clients[name] = c
	}
	return c
}

// Observe returns a store on the same connections whose calls are counted for a client, until stop
// is called. A nil Database returns the store itself.
func (d *Database) Observe(store *controldb.Store, client string) (observed *controldb.Store, stop func()) {
	if d == nil {
		return store, func() {}
	}
	c := d.Client(client)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pools[store] = struct{}{}
	return store.WithObserver(c), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pools, store)
	}
}

// Called implements controldb.Observer.
func (c *Client) Called(name string, elapsed time.Duration, err error) {
	seconds(c.calls.get(name), elapsed)
	if err != nil {
		c.errors.get(errorText(err)).Inc()
	}
}

// Retried implements controldb.Observer.
func (c *Client) Retried() { c.retries.Inc() }

// errorText returns the number of an error, or its kind.
func errorText(err error) string {
	number := dberror.NumberOf(err)
	switch {
	case number != 0:
		return strconv.Itoa(int(number))
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, dberror.ErrUnreachable):
		return "unreachable"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "other"
}

// stats returns the sum of the statistics of the client's pools.
func (c *Client) stats() (sum sql.DBStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for store := range c.pools {
		s := store.PoolStats()
		sum.MaxOpenConnections += s.MaxOpenConnections
		sum.InUse += s.InUse
		sum.Idle += s.Idle
		sum.WaitCount += s.WaitCount
		sum.WaitDuration += s.WaitDuration
		sum.MaxIdleClosed += s.MaxIdleClosed
		sum.MaxIdleTimeClosed += s.MaxIdleTimeClosed
		sum.MaxLifetimeClosed += s.MaxLifetimeClosed
	}
	return sum
}
