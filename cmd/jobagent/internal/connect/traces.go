package connect

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/agent/telemetry/tracing/export"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

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
