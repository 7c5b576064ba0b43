package connect

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/scrape"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/agent/telemetry/tracing/export"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Metrics returns the metrics of this process, which it makes once; nil if they are turned off.
func (c *Connections) Metrics() (*metrics.Metrics, error) {
	file, err := c.settings.Config()
	if err != nil {
		return nil, err
	}
	if err := file.Metrics.Check(); err != nil {
		return nil, exit.Usage(err)
	}
	if c.metrics == nil && !file.Metrics.Off {
		c.metrics = metrics.New(metrics.Build{Version: buildinfo.Version()})
	}
	return c.metrics, nil
}

// DatabaseMetrics returns the metrics of the control database of a connection string.
func (c *Connections) DatabaseMetrics(dsn string) (*metrics.Database, error) {
	m, err := c.Metrics()
	if m == nil || err != nil {
		return nil, err
	}
	parsed, err := mssql.ParseDSN(dsn)
	if err != nil {
		return nil, exit.Usage(err)
	}
	return m.Database(parsed.Params.Database), nil
}

// OnDial returns a function that counts connections; nil if d is nil.
func OnDial(d *metrics.Dials) func(time.Duration, targets.Class) {
	if d == nil {
		return nil
	}
	return func(elapsed time.Duration, class targets.Class) { d.Dialed(elapsed, string(class)) }
}

// ServeMetrics serves metrics on the address that the configuration has for them, if any, until
// stop is called. A failure after the start is logged only: the work goes on.
func (c *Connections) ServeMetrics(ctx context.Context, log *zap.Logger) (stop func(), err error) {
	m, err := c.Metrics()
	if err != nil {
		return nil, err
	}
	file, err := c.settings.Config()
	if err != nil {
		return nil, err
	}
	if m == nil || file.Metrics.Listen == "" {
		return func() {}, nil
	}
	cfg, err := file.Metrics.Server()
	if err != nil {
		return nil, exit.Usage(err)
	}
	server, err := scrape.Open(ctx, cfg, m, log)
	if err != nil {
		return nil, exit.With(exit.ListenCode(err), err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { // ends with ctx; stop waits for it
		defer close(ended)
		if err := server.Serve(ctx); err != nil {
			log.Error("metrics are no longer served", zap.Error(err))
		}
	}()
	return func() {
		cancel()
		<-ended
	}, nil
}

// traceFlush is how long a process that stops waits for the receiver of its last spans.
const traceFlush = 5 * time.Second

// OpenTraces starts the export of traces that the configuration and OTEL_* ask for; the recorder is
// nil if there is none. The function ends the export after the agent has stopped.
func (c *Connections) OpenTraces(ctx context.Context, version string, log *zap.Logger) (*tracing.Recorder, func(), error) {
	file, err := c.settings.Config()
	if err != nil {
		return nil, nil, err
	}
	cfg, err := file.Tracing.Recorder()
	if err != nil {
		return nil, nil, err
	}
	cfg.Version, cfg.Instance = version, uuid.NewString()
	traces, err := export.New(ctx, cfg, log.With(zap.String("service", "traces")))
	if err != nil {
		return nil, nil, exit.Usage(err)
	}
	return traces, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
		defer cancel()
		if err := traces.Close(ctx); err != nil {
			log.Warn("the export of traces did not end cleanly", zap.Error(err))
		}
	}, nil
}
