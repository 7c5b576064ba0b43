package metrics

import (
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobagent/jobagent/jobs/action"
)

// Kinds of tasks beside the types of commands.
const (
	CommandResolve = "Resolve" // resolves a target group
	CommandUpkeep  = "Upkeep"  // the agent's own work on the control database
)

// Causes of the end of a core.
const (
	CauseDrift     = "drift"
	CauseTermLost  = "term_lost"
	CauseNoTerm    = "no_term" // no term could be started
	CauseSchema    = "schema"
	CauseUnhandled = "other" // a panic, for example
)

// agentVectors are the metrics of all agents of a process.
type agentVectors struct {
	tasks, retries, terms, restarts, claimed, cancels, passes, firings, requests, cacheReads *prometheus.CounterVec
	work, claim, delivery, pass, lease, lag                                                  *prometheus.HistogramVec
	advanced                                                                                 *prometheus.GaugeVec
}

func newAgentVectors(r registrar) agentVectors {
	return agentVectors{
		tasks:   r.counters("jobagent_tasks_total", "Tasks that workers have ended, by type of command and outcome of the attempt.", labelDatabase, labelCommand, labelOutcome),
		work:    r.histograms("jobagent_task_duration_seconds", "Time for which a worker carried out a task.", work, labelDatabase, labelCommand),
		retries: r.counters("jobagent_task_retries_total", "Tasks begun that are not the first attempt.", labelDatabase, labelCommand),
		claim:   r.histograms("jobagent_claim_latency_seconds", "Time from the claim of a task until a worker took it.", waits, labelDatabase),
		delivery: r.histograms("jobagent_delivery_latency_seconds",
			"Time from the end of a task until the control database acknowledged its outcome.", waits, labelDatabase),
		claimed:  r.counters("jobagent_tasks_claimed_total", "Tasks that passes have claimed.", labelDatabase),
		cancels:  r.counters("jobagent_cancel_signals_total", "Signals to cancel a task that passes have returned. A signal is repeated until its task ends.", labelDatabase),
		passes:   r.counters("jobagent_passes_total", "Passes, by result: advanced, skipped (another session advanced executions) or failed.", labelDatabase, labelResult),
		pass:     r.histograms("jobagent_pass_duration_seconds", "Duration of a pass.", calls, labelDatabase),
		advanced: r.gauges("jobagent_advance_age_seconds", "Time since a pass of any agent advanced executions, when this agent made its last pass.", labelDatabase),
		lease:    r.histograms("jobagent_lease_margin_seconds", "Time left before this process would have given up its term, when the term was renewed.", margins, labelDatabase),
		terms:    r.counters("jobagent_term_starts_total", "Terms that were started.", labelDatabase),
		restarts: r.counters("jobagent_core_restarts_total", "Ends of a core before the agent was stopped, by cause.", labelDatabase, labelCause),
		firings:  r.counters("jobagent_schedule_firings_total", "Due instants of schedules that this agent has handled, by result.", labelDatabase, labelResult),
		lag:      r.histograms("jobagent_schedule_lag_seconds", "Time from a due instant to the creation of its run. Backfills are not counted.", lags, labelDatabase),
		requests: r.counters("jobagent_action_requests_total",
			"Attempts of actions, by class of the error (none: no error) and status of the answer (none: no answer with a status).", labelDatabase, labelCommand, labelClass, labelStatus),
		cacheReads: r.counters("jobagent_cache_reads_total", "Reads of a cache of the agent, by result: hit or miss.", labelDatabase, labelCache, labelResult),
	}
}

// Agent are the metrics of the agents of a control database in this process. Its methods are called
// once for each event; with a nil Agent they do nothing.
type Agent struct {
	tasks    *family[taskKey, prometheus.Counter]
	requests *family[requestKey, prometheus.Counter]
	firings  *family[string, prometheus.Counter]
	byType   *family[string, commandMetrics]

	claim, delivery, pass, lease, lag                        prometheus.Observer
	terms, claimed, cancels, advanced, skipped, failedPasses prometheus.Counter
	advanceAge                                               prometheus.Gauge
	restarts                                                 *family[string, prometheus.Counter]
	caches                                                   *family[string, *Cache]
	// refused says that the control schema does not support the agent, since the latest attempt.
	refused atomic.Bool

	mu    sync.Mutex
	cores map[*core]struct{}
}

// taskKey and requestKey are the labels of a task and of an action.
type (
	taskKey    struct{ command, outcome string }
	requestKey struct{ command, class, status string }
)

// commandMetrics are the metrics of a type of command.
type commandMetrics struct {
	work       prometheus.Observer
	retries    prometheus.Counter
	exemplarAt *atomic.Int64 // Unix time of the last exemplar, in nanoseconds
}

// outcomes are those of attempts of scripts. Metrics with the others appear when they occur.
var outcomes = []string{"Succeeded", "Failed", "TimedOut", "Canceled", "Unknown", "NotSent"}

func newAgent(v agentVectors, name string) *Agent {
	a := &Agent{
		claim: v.claim.WithLabelValues(name), delivery: v.delivery.WithLabelValues(name), pass: v.pass.WithLabelValues(name),
		lease: v.lease.WithLabelValues(name), lag: v.lag.WithLabelValues(name), terms: v.terms.WithLabelValues(name),
		claimed: v.claimed.WithLabelValues(name), cancels: v.cancels.WithLabelValues(name),
		advanced: v.passes.WithLabelValues(name, "advanced"), skipped: v.passes.WithLabelValues(name, "skipped"),
		failedPasses: v.passes.WithLabelValues(name, "failed"), advanceAge: v.advanced.WithLabelValues(name),
		tasks: newFamily(func(k taskKey) prometheus.Counter { return v.tasks.WithLabelValues(name, k.command, k.outcome) }),
		requests: newFamily(func(k requestKey) prometheus.Counter {
			return v.requests.WithLabelValues(name, k.command, k.class, k.status)
		}),
		firings:  newFamily(func(result string) prometheus.Counter { return v.firings.WithLabelValues(name, result) }),
		restarts: newFamily(func(cause string) prometheus.Counter { return v.restarts.WithLabelValues(name, cause) }),
		byType: newFamily(func(command string) commandMetrics {
			return commandMetrics{v.work.WithLabelValues(name, command), v.retries.WithLabelValues(name, command), new(atomic.Int64)}
		}),
		caches: newFamily(func(cache string) *Cache {
			return &Cache{v.cacheReads.WithLabelValues(name, cache, "hit"), v.cacheReads.WithLabelValues(name, cache, "miss")}
		}),
		cores: map[*core]struct{}{},
	}
	// With these from the start, the first event of a kind is an increase.
	for _, outcome := range outcomes {
		a.tasks.get(taskKey{string(action.TypeTSQL), outcome})
	}
	a.byType.get(string(action.TypeTSQL))
	for _, cause := range []string{CauseDrift, CauseTermLost, CauseNoTerm, CauseSchema, CauseUnhandled} {
		a.restarts.get(cause)
	}
	return a
}

// TaskTaken records that a worker has taken a task some time after its claim. attempt counts from
// 1.
func (a *Agent) TaskTaken(command string, attempt int, waited time.Duration) {
	if a == nil {
		return
	}
	seconds(a.claim, waited)
	if attempt > 1 {
		a.byType.get(command).retries.Inc()
	}
}

// TaskEnded records that a worker has ended a task of a run after some time.
func (a *Agent) TaskEnded(command, outcome string, worked time.Duration, run [16]byte) {
	if a == nil {
		return
	}
	a.tasks.get(taskKey{command, outcome}).Inc()
	m := a.byType.get(command)
	now := time.Now().UnixNano()
	last := m.exemplarAt.Load()
	if now-last < int64(exemplarEvery) || !m.exemplarAt.CompareAndSwap(last, now) {
		seconds(m.work, worked)
		return
	}
	// A run's trace ID is its job_execution_id.
	m.work.(prometheus.ExemplarObserver).ObserveWithExemplar(worked.Seconds(), prometheus.Labels{"trace_id": hex.EncodeToString(run[:])})
}

// exemplarEvery is the least time between two exemplars of a type of command: they allocate.
const exemplarEvery = time.Second

// Delivered records that the control database has acknowledged the outcome of a task that ended
// some time ago.
func (a *Agent) Delivered(waited time.Duration) {
	if a != nil {
		seconds(a.delivery, waited)
	}
}

// Pass is what a pass has returned.
type Pass struct {
	Elapsed time.Duration
	Tasks   int
	Cancels int
	// Skipped says that another session held the lock of passes. AdvancedAgo is then the time since
	// executions were advanced.
	Skipped     bool
	AdvancedAgo time.Duration
}

// PassAnswered records a pass.
func (a *Agent) PassAnswered(p Pass) {
	if a == nil {
		return
	}
	seconds(a.pass, p.Elapsed)
	a.claimed.Add(float64(p.Tasks))
	a.cancels.Add(float64(p.Cancels))
	a.advanceAge.Set(p.AdvancedAgo.Seconds())
	if p.Skipped {
		a.skipped.Inc()
	} else {
		a.advanced.Inc()
	}
}

// PassFailed records a pass without answer.
func (a *Agent) PassFailed(elapsed time.Duration) {
	if a == nil {
		return
	}
	seconds(a.pass, elapsed)
	a.failedPasses.Inc()
}

// TermStarted records the start of a term.
func (a *Agent) TermStarted() {
	if a != nil {
		a.terms.Inc()
		a.refused.Store(false)
	}
}

// TermRenewed records that the term was renewed when so much was left of the trust in it.
func (a *Agent) TermRenewed(left time.Duration) {
	if a != nil {
		seconds(a.lease, left)
	}
}

// CoreFailed records that a core ended before the agent was stopped.
func (a *Agent) CoreFailed(cause string) {
	if a != nil {
		a.restarts.get(cause).Inc()
		a.refused.Store(cause == CauseSchema)
	}
}

// InstantHandled records what has become of a due instant.
func (a *Agent) InstantHandled(result string) {
	if a != nil {
		a.firings.get(result).Inc()
	}
}

// RunStarted records that the run of a due instant was created some time after the instant.
func (a *Agent) RunStarted(lag time.Duration) {
	if a != nil {
		seconds(a.lag, max(0, lag))
	}
}

// ActionEnded records an attempt of an action. class is empty without an error, and status is 0 if
// no answer had one.
func (a *Agent) ActionEnded(command, class string, status int) {
	if a == nil {
		return
	}
	if class == "" {
		class = none
	}
	a.requests.get(requestKey{command, class, statusClass(status)}).Inc()
}

// none is the value of a label for which there is nothing.
const none = "none"

// statusClass returns the class of a status, as in 2xx.
func statusClass(status int) string {
	if class := status / 100; class >= 1 && class <= 5 {
		return [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}[class-1]
	}
	return none
}

// Cache returns the metrics of a cache of the agent.
func (a *Agent) Cache(name string) *Cache {
	if a == nil {
		return nil
	}
	return a.caches.get(name)
}

// Cache are the metrics of a cache; nil collects nothing.
type Cache struct{ hits, misses prometheus.Counter }

// Read records a read of the cache.
func (c *Cache) Read(hit bool) {
	switch {
	case c == nil:
	case hit:
		c.hits.Inc()
	default:
		c.misses.Inc()
	}
}

// State is what an agent holds at one moment.
type State struct {
	// Queued are tasks that wait for a worker, Busy those that workers carry out, and Held all that
	// the term holds. Outbox are outcomes that wait for the control database.
	Queued, Busy, Held, Outbox int
	// Workers is the number of workers. Floor is how many of a shared budget the agent always has;
	// Lent is how many it has beyond that.
	Workers, Floor, Lent int
	// LeaseLeft is the time before the process gives the term up unless it is renewed.
	LeaseLeft time.Duration
	// CacheBytes are the sizes of the caches, by name.
	CacheBytes map[string]int
}

// core reads the state of a running core.
type core struct{ read func() State }

// Watch reads the state of a running core whenever Prometheus asks, until stop is called.
func (a *Agent) Watch(read func() State) (stop func()) {
	if a == nil {
		return func() {}
	}
	c := &core{read}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cores[c] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.cores, c)
	}
}

// state returns the sum of the states of all cores, and their number. LeaseLeft is the least.
func (a *Agent) state() (sum State, n int) {
	if a == nil {
		return sum, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	sum.CacheBytes = map[string]int{}
	for c := range a.cores {
		s := c.read()
		sum.Queued += s.Queued
		sum.Busy += s.Busy
		sum.Held += s.Held
		sum.Outbox += s.Outbox
		sum.Workers += s.Workers
		sum.Floor += s.Floor
		sum.Lent += s.Lent
		for name, bytes := range s.CacheBytes {
			sum.CacheBytes[name] += bytes
		}
		if n == 0 || s.LeaseLeft < sum.LeaseLeft {
			sum.LeaseLeft = s.LeaseLeft
		}
		n++
	}
	return sum, n
}
