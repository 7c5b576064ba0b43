package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The labels.
const (
	labelDatabase  = "control_database" // entry of the configuration
	labelClient    = "client"           // of a control database: agent or front
	labelCommand   = "command_type"
	labelOutcome   = "outcome"
	labelResult    = "result"
	labelCause     = "cause"
	labelLifecycle = "lifecycle"
	labelClass     = "class"
	labelStatus    = "status"
	labelCall      = "call"
	labelError     = "error"
	labelState     = "state"
	labelCache     = "cache"
	labelSurface   = "surface"
	labelOperation = "operation"
)

// Buckets of histograms, in seconds.
var (
	// waits are for times within the agent, which are short unless something is wrong.
	waits = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	// calls are for calls of the control database, and of the front.
	calls = []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	// work is for attempts, which may run for hours.
	work = []float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 14400}
	// margins are for what is left of a lease, whose default is 30 s.
	margins = []float64{.5, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 45, 60}
	// lags are for what a schedule is late.
	lags = []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}
)

// Metrics are the metrics of a process. It is safe for concurrent use; nil collects nothing.
type Metrics struct {
	registry *prometheus.Registry
	agents   agentVectors
	clients  clientVectors
	targets  targetVectors
	outbound *Dials
	rest     *Requests
	web      *Web

	mu        sync.Mutex
	databases map[string]*Database
	order     []*Database
}

// Build says what the program is.
type Build struct{ Version, Commit string }

// New returns the metrics of a process.
func New(build Build) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), databases: map[string]*Database{}}
	r := registrar{m.registry}
	m.agents, m.clients, m.targets = newAgentVectors(r), newClientVectors(r), newTargetVectors(r)
	m.outbound, m.rest, m.web = newDials(r), newRequests(r), newWeb(r)
	r.gauges("jobagent_build_info", "Always 1; the labels say what the program is.", "version", "commit").
		WithLabelValues(build.Version, build.Commit).Set(1)
	m.registry.MustRegister(&atScrape{m}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// scrapesAtOnce bounds the requests that are answered at the same time. Others get status 503.
const scrapesAtOnce = 4

// Handler answers the requests of Prometheus, in its text format or as OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce, ErrorHandling: promhttp.ContinueOnError,
	})
}

// Ready reports whether an agent of this process works: it holds a term, whose lease has time left.
// If none does, why says so without any name.
func (m *Metrics) Ready() (ready bool, why string) {
	why = "no agent of this process holds a term"
	for _, d := range m.all() {
		d.mu.Lock()
		agent := d.agent
		d.mu.Unlock()
		if s, cores := agent.state(); cores > 0 && s.LeaseLeft > 0 {
			return true, ""
		}
		if agent != nil && agent.refused.Load() {
			why = "the control schema does not support this program; its log says more"
		}
	}
	return false, why
}

// Gatherer returns the registry.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Describe sends the descriptions of all metrics.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { m.registry.Describe(to) }

// Database returns the metrics of a control database. name is that of the configuration's entry.
func (m *Metrics) Database(name string) *Database {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.databases[name]
	if d == nil {
		d = newDatabase(m, name)
		m.databases[name] = d
		m.order = append(m.order, d)
	}
	return d
}

// all returns the control databases in the order of their first use.
func (m *Metrics) all() []*Database {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.order[:len(m.order):len(m.order)]
}

// Rest returns the metrics of the front's requests.
func (m *Metrics) Rest() *Requests {
	if m == nil {
		return nil
	}
	return m.rest
}

// Web returns the metrics of the dashboard.
func (m *Metrics) Web() *Web {
	if m == nil {
		return nil
	}
	return m.web
}

// Outbound returns the metrics of the connections of actions.
func (m *Metrics) Outbound() *Dials {
	if m == nil {
		return nil
	}
	return m.outbound
}

// Database are the metrics of a control database in this process; nil collects nothing.
type Database struct {
	metrics *Metrics
	name    string
	runs    runReader

	mu      sync.Mutex
	agent   *Agent // nil: a front alone has no agent, and must not say that all is well with it
	targets *Dials // nil likewise
	clients map[string]*Client
}

func newDatabase(m *Metrics, name string) *Database {
	return &Database{metrics: m, name: name, clients: map[string]*Client{}}
}

// Agent returns the metrics of the agent of the control database. They exist from the first call
// on.
func (d *Database) Agent() *Agent {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.agent == nil {
		d.agent = newAgent(d.metrics.agents, d.name)
	}
	return d.agent
}

// Targets returns the metrics of the connections to target servers. They exist from the first call
// on.
func (d *Database) Targets() *Dials {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.targets == nil {
		d.targets = d.metrics.targets.of(d.name)
	}
	return d.targets
}

// registrar registers metrics.
type registrar struct{ registry *prometheus.Registry }

func register[C prometheus.Collector](r registrar, c C) C {
	r.registry.MustRegister(c)
	return c
}

func (r registrar) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

func (r registrar) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

func (r registrar) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// seconds adds a duration to a histogram.
func seconds(h prometheus.Observer, d time.Duration) { h.Observe(d.Seconds()) }

// family holds the metrics of a vector by key. The first use of a key makes its metric; later ones
// neither wait for each other nor allocate.
type family[K comparable, M any] struct {
	make func(K) M
	// most bounds the number of keys; further ones share the metric of other. 0: no bound.
	most  int
	other K

	mu    sync.RWMutex
	byKey map[K]M
}

func newFamily[K comparable, M any](fn func(K) M) *family[K, M] {
	return &family[K, M]{make: fn, byKey: map[K]M{}}
}

// get returns the metric of a key.
func (f *family[K, M]) get(key K) M {
	f.mu.RLock()
	m, ok := f.byKey[key]
	f.mu.RUnlock()
	if ok {
		return m
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m, ok = f.byKey[key]; ok {
		return m
	}
	if f.most > 0 && len(f.byKey) >= f.most {
		if m, ok = f.byKey[f.other]; ok {
			return m
		}
		key = f.other
	}
	m = f.make(key)
	f.byKey[key] = m
	return m
}
