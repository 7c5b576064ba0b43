package tracing

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/targets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exporter is a receiver in memory.
type exporter struct {
	mu    sync.Mutex
	names []string
	// answer is called for each batch.
	answer func(ctx context.Context) error
	down   bool
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.answer(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range spans {
		e.names = append(e.names, s.Name())
	}
	return nil
}

func (e *exporter) Shutdown(context.Context) error { e.down = true; return nil }

func start(e *exporter, s Sizes) *Recorder {
	return NewRecorder(e, resource.Empty(), 1, s, zap.NewNop())
}

func attempt(r *Recorder, n int) {
	task := controldb.Task{Kind: controldb.TaskRun, Attempt: n, JobExecutionID: uuid.New(), TargetExecutionID: uuid.New()}
	r.Attempt(task, controldb.Outcome{Outcome: targets.Succeeded}, nil, time.Now(), time.Now())
}

// Spans are exported when a batch is full, after the delay, and at the end.
func TestRecorderExports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{answer: func(context.Context) error { return nil }}
		r := start(e, Sizes{Queue: 100, Batch: 3, Delay: time.Second, Timeout: time.Second})
		for n := range 4 {
			attempt(r, n+1)
		}
		synctest.Wait()
		require.Equal(t, Counts{Exported: 3}, r.Counts())
		time.Sleep(2 * time.Second) // virtual
		synctest.Wait()
		require.Equal(t, Counts{Exported: 4}, r.Counts())
		attempt(r, 5)
		require.NoError(t, r.Close(t.Context()))
		require.Equal(t, []string{"attempt 1", "attempt 2", "attempt 3", "attempt 4", "attempt 5"}, e.names)
		require.True(t, e.down)
		attempt(r, 6) // harmless
		require.NoError(t, r.Close(t.Context()))
	})
}

// A receiver that does not answer costs spans, never time of a worker, and ends with its limit.
func TestRecorderWithASlowReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{answer: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		r := start(e, Sizes{Queue: 10, Batch: 2, Delay: time.Second, Timeout: time.Minute})
		began := time.Now()
		for n := range 30 {
			attempt(r, n)
			synctest.Wait()
		}
		require.Zero(t, time.Since(began))
		require.EqualValues(t, 18, r.Counts().Dropped) // two are being exported, ten wait
		waiting, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Wait(waiting), context.DeadlineExceeded)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.NoError(t, r.Close(ctx))
		require.Equal(t, 4*time.Second, time.Since(began)) // the second of Wait, and the limit of Close
		require.Equal(t, Counts{Dropped: 18, Failed: 12}, r.Counts())
	})
}

// A receiver that fails for a while loses what it was sent meanwhile.
func TestRecorderGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		e := &exporter{answer: func(context.Context) error {
			if fail {
				return errors.New("refused")
			}
			return nil
		}}
		r := start(e, Sizes{Queue: 10, Batch: 1, Delay: time.Second, Timeout: time.Second})
		attempt(r, 1)
		synctest.Wait()
		fail = false
		attempt(r, 2)
		require.NoError(t, r.Close(t.Context()))
		require.Equal(t, Counts{Exported: 1, Failed: 1}, r.Counts())
	})
}

// A recorder that is off takes everything and does nothing.
func TestOff(t *testing.T) {
	var r *Recorder
	require.Zero(t, testing.AllocsPerRun(100, func() {
		r.Attempt(controldb.Task{}, controldb.Outcome{}, nil, time.Time{}, time.Time{})
		r.Ended(measure.RunSpans{}, nil)
	}))
	require.NoError(t, r.Close(t.Context()))
	require.Zero(t, r.Counts())
}
