package tracing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
)

// Recorder takes spans and exports them in batches. A nil Recorder is off: it takes nothing. Safe
// for concurrent use.
//
// Concurrency: queue is the only way from the callers to the loop, the one goroutine that
// NewRecorder starts. Close ends it.
type Recorder struct {
	exporter sdktrace.SpanExporter
	resource *resource.Resource
	ratio    float64
	sizes    Sizes
	log      *zap.Logger

	queue chan pending
	// room has a value when a batch has left the queue. Size 1.
	room chan struct{}
	// stop ends the loop after it has exported the queue. exporting ends with the time that Close
	// grants.
	stop      chan struct{}
	stopped   chan struct{}
	exporting context.Context
	abandon   context.CancelFunc
	closing   sync.Once

	exported, dropped, failed atomic.Int64
}

// pending is what the queue holds: it becomes spans on the exporting goroutine, so that a worker
// does not wait for the conversion.
type pending func() []span

// Counts counts spans since the start.
type Counts struct {
	// Exported were accepted by the receiver.
	Exported int64
	// Dropped found the queue full. One may stand for an attempt with its parts.
	Dropped int64
	// Failed were given up after the receiver had refused them or had not answered.
	Failed int64
}

// Counts returns the counts of a recorder; zeros for nil.
func (r *Recorder) Counts() Counts {
	if r == nil {
		return Counts{}
	}
	return Counts{Exported: r.exported.Load(), Dropped: r.dropped.Load(), Failed: r.failed.Load()}
}

// Sizes are sizes and times of the export. The queue counts what callers add; a batch counts spans.
type Sizes struct {
	Queue, Batch   int
	Delay, Timeout time.Duration
}

// NewRecorder starts a recorder. The ratio is the share of runs that are recorded. The caller
// closes it; the exporter is closed with it.
func NewRecorder(exporter sdktrace.SpanExporter, res *resource.Resource, ratio float64, s Sizes, log *zap.Logger) *Recorder {
	r := &Recorder{
		exporter: exporter, resource: res, ratio: ratio, sizes: s, log: log,
		queue: make(chan pending, s.Queue), room: make(chan struct{}, 1),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	r.exporting, r.abandon = context.WithCancel(context.Background())
	go r.loop() // Close waits for it
	return r
}

// add queues spans. It never waits: a full queue drops them.
func (r *Recorder) add(p pending) {
	select {
	case r.queue <- p:
	default:
		r.dropped.Add(1)
	}
}

// Wait waits until the queue is at most half full. Readers that can read again later call it, so
// that they leave the queue to those that cannot.
func (r *Recorder) Wait(ctx context.Context) error {
	for len(r.queue) > cap(r.queue)/2 {
		select {
		case <-r.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.stop:
			return errors.New("the recorder is closed")
		}
	}
	return nil
}

// loop exports until stop is closed.
func (r *Recorder) loop() {
	defer close(r.stopped)
	timer := time.NewTimer(r.sizes.Delay)
	defer timer.Stop()
	batch := make([]sdktrace.ReadOnlySpan, 0, r.sizes.Batch)
	take := func(p pending) {
		for _, s := range p() {
			batch = append(batch, s.readOnly(r.resource))
		}
		if len(batch) >= r.sizes.Batch {
			batch = r.export(batch)
		}
	}
	for {
		select {
		case p := <-r.queue:
			take(p)
		case <-timer.C:
			batch = r.export(batch)
			timer.Reset(r.sizes.Delay)
		case <-r.stop:
			for {
				select {
				case p := <-r.queue:
					take(p)
				default:
					r.export(batch)
					return
				}
			}
		}
	}
}

// export exports a batch and returns an empty one. A failure is counted and logged; runs do not
// notice it.
func (r *Recorder) export(batch []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	if len(batch) > 0 {
		ctx, cancel := context.WithTimeout(r.exporting, r.sizes.Timeout)
		err := r.exporter.ExportSpans(ctx, batch)
		cancel()
		if err != nil {
			if r.failed.Add(int64(len(batch))) == int64(len(batch)) {
				r.log.Warn("spans could not be exported; later failures are only counted",
					zap.Error(err), zap.Int("spans", len(batch)))
			}
		} else {
			r.exported.Add(int64(len(batch)))
		}
	}
	select {
	case r.room <- struct{}{}:
	default:
	}
	clear(batch)
	return batch[:0]
}

// Close exports what is queued, until ctx ends, and ends the recorder. Spans that are added later
// are dropped.
func (r *Recorder) Close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	var err error
	r.closing.Do(func() {
		close(r.stop)
		give := context.AfterFunc(ctx, r.abandon)
		<-r.stopped
		give()
		r.abandon()
		err = r.exporter.Shutdown(context.WithoutCancel(ctx))
		if c := r.Counts(); c.Dropped+c.Failed > 0 {
			r.log.Warn("spans were lost", zap.Int64("exported", c.Exported), zap.Int64("dropped", c.Dropped), zap.Int64("failed", c.Failed))
		}
	})
	if err != nil {
		return fmt.Errorf("close the exporter of traces: %w", err)
	}
	return nil
}
