package metrics

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Descriptions of the metrics whose values are read when Prometheus asks.
var (
	descQueued  = describe("jobagent_queue_tasks", "Claimed tasks that wait for a worker.", labelDatabase)
	descBusy    = describe("jobagent_workers_busy", "Workers that carry out a task.", labelDatabase)
	descWorkers = describe("jobagent_workers", "Workers.", labelDatabase)
	descFloor   = describe("jobagent_workers_floor", "Workers of the process's budget that the agent always has.", labelDatabase)
	descLent    = describe("jobagent_workers_lent", "Workers beyond its floor that the agent has of the process's budget.", labelDatabase)
	descHeld    = describe("jobagent_tasks_held", "Tasks that the term holds.", labelDatabase)
	descOutbox  = describe("jobagent_outbox_outcomes", "Outcomes that wait for the control database.", labelDatabase)
	descLease   = describe("jobagent_lease_left_seconds", "Time before this process gives its term up unless it is renewed.", labelDatabase)
	descTerms   = describe("jobagent_terms_active", "Terms under which agents of this process work now.", labelDatabase)
	descCache   = describe("jobagent_cache_bytes", "Approximate size of a cache of the agent.", labelDatabase, labelCache)

	descActive = describe("jobagent_active_runs", "Runs of the control database that have not ended, by lifecycle.", labelDatabase, labelLifecycle)
	descPaused = describe("jobagent_control_database_paused", "1 while the control database is paused, so that nothing starts; else 0.", labelDatabase)
	descEnded  = describe("jobagent_runs_total", "Runs of the control database that have ended since this process began to count, by lifecycle. Each process counts all runs.", labelDatabase, labelLifecycle)
	descSkips  = describe("jobagent_schedule_skips_total", "Due instants of the control database's schedules that were not run, by cause, since this process began to count. Each process counts all of them.", labelDatabase, labelCause)

	descReads = describe("jobagent_runs_reads_total", "Reads of the numbers of runs and skips from the control database, by result: ok or failed.", labelDatabase, labelResult)

	descConns    = describe("jobagent_controldb_connections", "Open connections to the control database, by state: idle or in_use.", labelDatabase, labelClient, labelState)
	descMaxConns = describe("jobagent_controldb_connections_limit", "Most connections to the control database.", labelDatabase, labelClient)
	descWaits    = describe("jobagent_controldb_connection_waits_total", "Calls that have waited for a connection.", labelDatabase, labelClient)
	descWaited   = describe("jobagent_controldb_connection_wait_seconds_total", "Time for which calls have waited for a connection.", labelDatabase, labelClient)
	descClosed   = describe("jobagent_controldb_connections_closed_total", "Connections that were closed because enough were idle, or for too long.", labelDatabase, labelClient)

	descRest    = describe("jobagent_rest_connections", "Open connections to the front.")
	descStreams = describe("jobagent_web_streams", "Streams of events that browsers have open.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// atScrape reads the values of metrics when Prometheus asks.
type atScrape struct{ metrics *Metrics }

// Describe implements prometheus.Collector.
func (*atScrape) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descQueued, descBusy, descWorkers, descFloor, descLent, descHeld, descOutbox, descLease, descTerms, descCache,
		descActive, descPaused, descEnded, descSkips, descReads, descConns, descMaxConns, descWaits, descWaited, descClosed, descRest, descStreams,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A control database that does not answer does not delay
// the others.
func (c *atScrape) Collect(to chan<- prometheus.Metric) {
	var all sync.WaitGroup
	for _, d := range c.metrics.all() {
		d.collectAgent(to)
		d.collectPools(to)
		all.Go(func() { d.collectRuns(to) })
	}
	if n, ok := c.metrics.rest.open(); ok {
		to <- gauge(descRest, float64(n))
	}
	if n, ok := c.metrics.web.open(); ok {
		to <- gauge(descStreams, float64(n))
	}
	all.Wait()
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func counter(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

// collectAgent collects the state of the agent, if one works.
func (d *Database) collectAgent(to chan<- prometheus.Metric) {
	d.mu.Lock()
	agent := d.agent
	d.mu.Unlock()
	s, cores := agent.state()
	to <- gauge(descTerms, float64(cores), d.name)
	if cores == 0 {
		return
	}
	for _, one := range []struct {
		desc  *prometheus.Desc
		value float64
	}{
		{descQueued, float64(s.Queued)}, {descBusy, float64(s.Busy)}, {descWorkers, float64(s.Workers)}, {descFloor, float64(s.Floor)},
		{descLent, float64(s.Lent)}, {descHeld, float64(s.Held)}, {descOutbox, float64(s.Outbox)}, {descLease, s.LeaseLeft.Seconds()},
	} {
		to <- gauge(one.desc, one.value, d.name)
	}
	for cache, bytes := range s.CacheBytes {
		to <- gauge(descCache, float64(bytes), d.name, cache)
	}
}

// collectPools collects the connections to the control database.
func (d *Database) collectPools(to chan<- prometheus.Metric) {
	d.mu.Lock()
	clients := make([]*Client, 0, len(d.clients))
	for _, c := range d.clients {
		clients = append(clients, c)
	}
	d.mu.Unlock()
	for _, c := range clients {
		s := c.stats()
		to <- gauge(descConns, float64(s.Idle), d.name, c.name, "idle")
		to <- gauge(descConns, float64(s.InUse), d.name, c.name, "in_use")
		to <- gauge(descMaxConns, float64(s.MaxOpenConnections), d.name, c.name)
		to <- counter(descWaits, float64(s.WaitCount), d.name, c.name)
		to <- counter(descWaited, s.WaitDuration.Seconds(), d.name, c.name)
		to <- counter(descClosed, float64(s.MaxIdleClosed+s.MaxIdleTimeClosed+s.MaxLifetimeClosed), d.name, c.name)
	}
}

// collectRuns collects the numbers of runs and skips.
func (d *Database) collectRuns(to chan<- prometheus.Metric) {
	n, counts := d.runs.numbers(context.Background())
	if !counts {
		return
	}
	to <- counter(descReads, float64(n.ok), d.name, "ok")
	to <- counter(descReads, float64(n.failed), d.name, "failed")
	if !n.known {
		return
	}
	to <- gauge(descPaused, n.paused, d.name)
	for lifecycle, n := range n.active {
		to <- gauge(descActive, float64(n), d.name, lifecycle)
	}
	for lifecycle, n := range n.ended {
		to <- counter(descEnded, float64(n), d.name, lifecycle)
	}
	for cause, n := range n.skips {
		to <- counter(descSkips, float64(n), d.name, cause)
	}
}
