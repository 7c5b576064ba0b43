package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// compared is the value of --compare: the telemetry whose cost is measured. The zero value measures
// none.
type compared struct{ metrics, tracing bool }

// addCompareFlag adds the flag --compare.
func addCompareFlag(cmd *cobra.Command, c *compared) {
	cmd.Flags().Var(c, "compare", "measure the cost of `telemetry` in place of the bare loop: metrics, tracing, or both, separated by a comma")
}

// Set implements pflag.Value.
func (c *compared) Set(text string) error {
	var set compared
	for one := range strings.SplitSeq(text, ",") {
		switch one {
		case "metrics":
			set.metrics = true
		case "tracing":
			set.tracing = true
		default:
			return fmt.Errorf("invalid telemetry %q: want metrics, tracing, or metrics,tracing", one)
		}
	}
	*c = set
	return nil
}

// String implements pflag.Value.
func (c *compared) String() string {
	var list []string
	if c.metrics {
		list = append(list, "metrics")
	}
	if c.tracing {
		list = append(list, "tracing")
	}
	return strings.Join(list, ",")
}

// Type implements pflag.Value.
func (c *compared) Type() string { return "telemetry" }

// on reports whether a cost is measured.
func (c *compared) on() bool { return c.metrics || c.tracing }

// telemetry is what can be switched on and off between measurements.
type telemetry struct {
	metrics *metrics.Metrics // nil: none
	logins  atomic.Pointer[metrics.Dials]
	traces  *tracing.Recorder // nil: none

	plain, observed *controldb.Store
	database        *metrics.Database
}

// onLogin counts a login while metrics are on.
func (t *telemetry) onLogin(elapsed time.Duration, class targets.Class) {
	t.logins.Load().Dialed(elapsed, string(class))
}

// compareWith prepares the telemetry whose cost is measured.
func (s *installation) compareWith(ctx context.Context, c compared) error {
	t := &s.telemetry
	t.plain = s.store
	if c.metrics {
		t.metrics = metrics.New(metrics.Build{Version: version})
		t.database = t.metrics.Database("bench")
		var stop func()
		t.observed, stop = t.database.Observe(s.store, metrics.ClientAgent)
		stopRuns := t.database.CountRuns(measure.On(s.store).RunCounts)
		s.closers = append(s.closers, func() error { stop(); stopRuns(); return nil })
	}
	if c.tracing {
		if err := s.exportTraces(ctx); err != nil {
			return err
		}
		t.traces = s.tools.Traces
	}
	s.turn(false, &agent.Config{})
	return nil
}

// turn switches the telemetry on or off for the calls and the agents that begin afterwards.
func (s *installation) turn(on bool, cfg *agent.Config) {
	t := &s.telemetry
	s.store, cfg.Metrics, s.tools.Traces = t.plain, nil, nil
	t.logins.Store(nil)
	if !on {
		return
	}
	s.tools.Traces = t.traces
	if t.metrics != nil {
		s.store, cfg.Metrics = t.observed, t.database.Agent()
		t.logins.Store(t.database.Targets())
	}
}

// scrape reads the metrics once, as Prometheus does every 15 s.
func (s *installation) scrape(ctx context.Context) error {
	if s.telemetry.metrics == nil {
		return nil
	}
	w := httptest.NewRecorder()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return err
	}
	s.telemetry.metrics.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return fmt.Errorf("read the metrics: status %d: %s", w.Code, w.Body)
	}
	return nil
}

// cost is what measurements with and without telemetry have shown.
type cost struct {
	rates [2][]float64 // off, on; units of work for a second
	used  [2][]float64 // off, on; seconds of the processor for a unit of work
}

// measure alternates measurements without and with telemetry. One of n units of work each returns
// its duration. The first round only warms up.
func (s *installation) measure(
	ctx context.Context, rounds, n int, work func(ctx context.Context, on bool) (time.Duration, error),
) (c cost, err error) {
	for round := range rounds + 1 {
		for i := range 2 {
			on := i != round%2 // each is the first one as often as the other
			before := cpuSeconds()
			elapsed, err := work(ctx, on)
			if err == nil && on {
				err = s.scrape(ctx)
			}
			if err != nil {
				return c, err
			}
			if round == 0 {
				continue
			}
			mode := 0
			if on {
				mode = 1
			}
			c.rates[mode] = append(c.rates[mode], float64(n)/elapsed.Seconds())
			c.used[mode] = append(c.used[mode], (cpuSeconds()-before)/float64(n))
		}
	}
	return c, nil
}

// ratios returns the quotients on/off of the measurements that belong together.
func ratios(list [2][]float64) []float64 {
	var q []float64
	for i, off := range list[0] {
		q = append(q, list[1][i]/off)
	}
	return q
}

// middle returns the median of numbers; of an even number of them, the mean of the middle two: the
// larger one would make everything look dearer. It sorts them.
func middle(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// hasUsed reports whether the processor's time of all measurements is known: some systems do not
// tell it, and a quotient of two zeros would be NaN.
func (c cost) hasUsed() bool {
	return !slices.Contains(c.used[0], 0) && !slices.Contains(c.used[1], 0)
}

// report adds the figures. The ratios are medians over rounds; that of the processor's time depends
// little on what else the machine does.
func (c cost) report(r *Report, unit string) {
	rate, used := ratios(c.rates), ratios(c.used)
	r.add("rate_off", middle(c.rates[0]), unit+"/s", "")
	r.add("rate_on", middle(c.rates[1]), unit+"/s", "")
	r.add("rate_ratio", middle(rate), "", ">= 0.97")
	if !c.hasUsed() {
		return
	}
	r.add("cpu_off", 1000*middle(c.used[0]), "ms/"+strings.TrimSuffix(unit, "s"), "")
	r.add("cpu_on", 1000*middle(c.used[1]), "ms/"+strings.TrimSuffix(unit, "s"), "")
	r.add("cpu_ratio", middle(used), "", "<= 1.03")
}

// compareFanout measures runs without and with telemetry. An agent of its own carries out each.
func (b *bench) compareFanout(ctx context.Context, s *installation, f fanout) error {
	if err := s.compareWith(ctx, f.compare); err != nil {
		return err
	}
	c, err := s.measure(ctx, f.rounds, f.targets, func(ctx context.Context, on bool) (elapsed time.Duration, err error) {
		cfg := agent.Config{MaxConcurrentTargets: f.concurrency}
		s.turn(on, &cfg)
		stop, failed, err := b.startAgent(ctx, s, cfg)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		id, err := executions.On(s.store).StartJob(ctx, fanoutJob, uuid.Nil)
		if err != nil {
			return 0, err
		}
		run, err := s.waitEnd(ctx, id, failed)
		if err == nil && run.lifecycle != jobs.Succeeded {
			err = fmt.Errorf("the run ended with %s", run.lifecycle)
		}
		return run.elapsed, err
	})
	if err != nil {
		return err
	}
	s.report.add("targets", float64(f.targets), "", "")
	s.report.add("concurrency", float64(f.concurrency), "", "")
	c.report(s.report, "targets")
	return b.Print(s.report)
}

// compareWaves measures plain runs and roll-outs of the same job.
func (b *bench) compareWaves(ctx context.Context, s *installation, f fanout) error {
	type wave struct {
		Name    string `json:"name"`
		Targets string `json:"targets"`
	}
	var plan struct {
		Waves []wave `json:"waves"`
	}
	for i := range f.waves {
		w := wave{fmt.Sprint("wave ", i+1), strconv.Itoa(f.targets / f.waves)}
		if i == f.waves-1 {
			w.Targets = "rest"
		}
		plan.Waves = append(plan.Waves, w)
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	if _, err := s.control.ExecContext(ctx, `EXECUTE jobs.sp_set_job_rollout @p1, @p2;`, fanoutJob, string(text)); err != nil {
		return fmt.Errorf("set the plan: %w", err)
	}
	stop, failed, err := b.startAgent(ctx, s, agent.Config{MaxConcurrentTargets: f.concurrency})
	if err != nil {
		return err
	}
	c, err := s.measure(ctx, f.rounds, f.targets, func(ctx context.Context, on bool) (time.Duration, error) {
		id := uuid.New()
		_, err := s.control.ExecContext(ctx, `EXECUTE jobs.sp_start_job @p1, @p2, @rollout = @p3;`, fanoutJob, mssqldb.UniqueIdentifier(id), on)
		if err != nil {
			return 0, fmt.Errorf("start the job: %w", err)
		}
		run, err := s.waitEnd(ctx, id, failed)
		if err == nil && run.lifecycle != jobs.Succeeded {
			err = fmt.Errorf("the run ended with %s", run.lifecycle)
		}
		return run.elapsed, err
	})
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	s.report.add("targets", float64(f.targets), "", "")
	s.report.add("concurrency", float64(f.concurrency), "", "")
	s.report.add("waves", float64(f.waves), "", "")
	c.report(s.report, "targets")
	return b.Print(s.report)
}

// compareControl measures the calls of agents without and with telemetry.
func (b *bench) compareControl(ctx context.Context, s *installation, c control, database string) error {
	if err := s.compareWith(ctx, c.compare); err != nil {
		return err
	}
	measured, err := s.measure(ctx, c.rounds, c.tasks, func(ctx context.Context, on bool) (time.Duration, error) {
		s.turn(on, &agent.Config{})
		return s.noopTasks(ctx, c, database)
	})
	if err != nil {
		return err
	}
	s.report.add("tasks", float64(c.tasks), "", "")
	s.report.add("batch", float64(c.batch), "", "")
	s.report.add("connections", float64(c.connections), "", "")
	measured.report(s.report, "tasks")
	return b.Print(s.report)
}
