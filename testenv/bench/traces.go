package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/telemetry/tracing/export"
)

// exportTraces makes the agent export traces to a receiver in this process, which drops them.
func (s *installation) exportTraces(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for traces: %w", err)
	}
	sink := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the exporter repeats what the sink does not take
	})}
	ended := make(chan error, 1)
	go func() { ended <- sink.Serve(listener) }() // ends with the sink
	s.closers = append(s.closers, func() error {
		err := sink.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	})
	traces, err := export.New(ctx, export.Config{Endpoint: "http://" + listener.Addr().String()}, zap.NewNop())
	if err != nil {
		return err
	}
	s.tools.Traces = traces
	s.closers = append(s.closers, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err := traces.Close(ctx)
		if c := traces.Counts(); c.Dropped+c.Failed > 0 {
			err = errors.Join(err, fmt.Errorf("%d of %d spans were lost", c.Dropped+c.Failed, c.Exported+c.Dropped+c.Failed))
		}
		return err
	})
	return nil
}
