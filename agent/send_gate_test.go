package agent

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
)

// runGate runs a gate whose calls take a second, until the test ends. It returns the sizes of the
// calls.
func runGate(t *testing.T, answer func(n int) ([]controldb.Refusal, error)) (*sendGate, *[]int) {
	t.Helper()
	var sizes []int
	g := newSendGate(newTrust(time.Now(), time.Minute), func(ctx context.Context, list []callbacks.Send) ([]controldb.Refusal, error) {
		sizes = append(sizes, len(list))
		sleep(ctx, time.Second, nil)
		return answer(len(list))
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.run(ctx, func() {}) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return g, &sizes
}

func TestSendGateCollectsRequestsWhileACallIsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, sizes := runGate(t, func(int) ([]controldb.Refusal, error) { return nil, nil })
		started := time.Now()
		answers := make(chan time.Duration, 2500)
		ask := func(i int) {
			before, err := g.begin(t.Context(), callbacks.Send{Task: controldb.TaskID(i)})
			if err == nil && before.Equal(started.Add(50*time.Second)) { // a minute less the margin
				answers <- time.Since(started)
			}
		}
		go ask(0)
		synctest.Wait()
		for i := range 2400 {
			go ask(i)
		}
		synctest.Wait()
		<-time.After(10 * time.Second)
		synctest.Wait()
		require.Equal(t, []int{1, 1000, 1000, 400}, *sizes)
		require.Len(t, answers, 2401)
		require.Equal(t, time.Second, <-answers, "a request that finds the gate idle waits for its call only")
	})
}

func TestSendGateAnswersEachRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := runGate(t, func(int) ([]controldb.Refusal, error) {
			return []controldb.Refusal{{Task: 1, Reason: "the term does not hold the task"}}, nil
		})
		_, err := g.begin(t.Context(), callbacks.Send{Task: 1})
		require.ErrorContains(t, err, "the term does not hold the task")
		_, err = g.begin(t.Context(), callbacks.Send{Task: 2})
		require.NoError(t, err)
	})
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		g, sizes := runGate(t, func(int) ([]controldb.Refusal, error) { return nil, lost })
		_, err := g.begin(t.Context(), callbacks.Send{Task: 1})
		require.ErrorIs(t, err, lost)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ErrTermLost)
		started := time.Now()
		_, err = g.begin(ctx, callbacks.Send{Task: 2})
		require.ErrorIs(t, err, ErrTermLost, "a worker whose task has ended does not wait for the call")
		require.Zero(t, time.Since(started))
		<-time.After(10 * time.Second)
		require.Equal(t, []int{1, 1}, *sizes)
	})
}

// A process that was suspended during the call learns from the instant that it may not send: the
// end of the trust when the call began, not when it returned.
func TestSendGateBoundsTheInstantByTheTrustBeforeTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trust := newTrust(time.Now(), time.Minute)
		before := trust.end()
		g := newSendGate(trust, func(context.Context, []callbacks.Send) ([]controldb.Refusal, error) {
			<-time.After(2 * time.Minute)
			trust.extend(time.Now(), time.Minute)
			return nil, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.run(ctx, func() {}) }() // ends with ctx
		got, err := g.begin(t.Context(), callbacks.Send{Task: 1})
		require.NoError(t, err)
		require.Equal(t, before, got)
		require.False(t, time.Now().Before(got))
		cancel()
		require.NoError(t, <-ended)
	})
}

// A request whose data the control database refuses fails alone, and not those that happen to be in
// its call. After another error, nothing is asked for again.
func TestSendGateAnswersARefusedRequestAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		failed int // requests of eight
		calls  int
	}{
		"Refused": {mssqldb.Error{Number: 547, Class: 16}, 1, 7},
		"Other":   {mssqldb.Error{Number: 40501, Class: 20}, 8, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				g := newSendGate(newTrust(time.Now(), time.Minute), func(_ context.Context, list []callbacks.Send) ([]controldb.Refusal, error) {
					calls++
					if slices.ContainsFunc(list, func(s callbacks.Send) bool { return s.Task == 5 }) {
						return nil, tc.err
					}
					return nil, nil
				})
				answers := make(chan error, 8)
				for id := range 8 {
					go func() {
						_, err := g.begin(t.Context(), callbacks.Send{Task: controldb.TaskID(id)})
						answers <- err
					}()
				}
				synctest.Wait()
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- g.run(ctx, func() {}) }()
				failed := 0
				for range 8 {
					if err := <-answers; err != nil {
						require.ErrorAs(t, err, new(mssqldb.Error))
						failed++
					}
				}
				require.Equal(t, tc.failed, failed)
				require.Equal(t, tc.calls, calls)
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}
