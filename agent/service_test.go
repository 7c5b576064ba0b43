package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// journal records the order of events. It is safe for concurrent use.
type journal struct {
	mu     sync.Mutex
	events []string
}

func (j *journal) add(event string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

// scripted is a service that ends as a test demands.
type scripted struct {
	label   string
	journal *journal
	fail    error         // run returns it after the time `after`
	panics  any           // run panics with it instead
	after   time.Duration // 0: runs until stopped
	unready bool          // never calls ready
	late    error         // run returns it when it is stopped
}

func (s *scripted) name() string { return s.label }

func (s *scripted) run(ctx context.Context, ready func()) error {
	s.journal.add("start " + s.label)
	defer s.journal.add("stop " + s.label)
	if !s.unready {
		ready()
	}
	if s.after == 0 {
		<-ctx.Done()
		return s.late
	}
	if !sleep(ctx, s.after, nil) {
		return nil
	}
	if s.panics != nil {
		panic(s.panics)
	}
	return s.fail
}

func TestSuperviseStartsInOrderAndStopsInReverse(t *testing.T) {
	t.Parallel()
	inOrder := []string{"start a", "start b", "start c", "stop c", "stop b", "stop a"}
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		b      scripted
		late   error // of a
		cancel time.Duration
		took   time.Duration
		want   []string
		check  func(t *testing.T, err error)
	}{
		"ContextEnds": {cancel: 24 * time.Hour, took: 24 * time.Hour, want: inOrder, check: func(t *testing.T, err error) { require.NoError(t, err) }},
		"ServiceFails": {b: scripted{after: time.Hour, fail: broken}, cancel: 24 * time.Hour, took: time.Hour,
			want:  []string{"start a", "start b", "start c", "stop b", "stop c", "stop a"},
			check: func(t *testing.T, err error) { require.ErrorIs(t, err, broken) }},
		"ServicePanics": {b: scripted{after: time.Hour, panics: "boom"}, cancel: 24 * time.Hour, took: time.Hour,
			want:  []string{"start a", "start b", "start c", "stop b", "stop c", "stop a"},
			check: func(t *testing.T, err error) { require.ErrorContains(t, err, "b: panic: boom") }},
		"ServiceEndsEarly": {b: scripted{after: time.Hour}, cancel: 24 * time.Hour, took: time.Hour,
			want:  []string{"start a", "start b", "start c", "stop b", "stop c", "stop a"},
			check: func(t *testing.T, err error) { require.ErrorContains(t, err, "returned before it was stopped") }},
		"TwoFail": {b: scripted{after: time.Hour, fail: broken}, late: errors.New("late"), cancel: 24 * time.Hour, took: time.Hour,
			want: []string{"start a", "start b", "start c", "stop b", "stop c", "stop a"},
			check: func(t *testing.T, err error) {
				require.ErrorIs(t, err, broken)
				require.ErrorContains(t, err, "a: late")
			}},
		"NeverReady": {b: scripted{unready: true}, cancel: time.Hour, took: time.Hour,
			want:  []string{"start a", "start b", "stop b", "stop a"},
			check: func(t *testing.T, err error) { require.NoError(t, err) }},
		"FailsBeforeReady": {b: scripted{unready: true, after: time.Second, fail: broken}, cancel: time.Hour, took: time.Second,
			want:  []string{"start a", "start b", "stop b", "stop a"},
			check: func(t *testing.T, err error) { require.ErrorIs(t, err, broken) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				b := tc.b
				b.label, b.journal = "b", j
				ctx, cancel := context.WithTimeout(t.Context(), tc.cancel)
				defer cancel()
				started := time.Now()
				err := supervise(ctx, &scripted{label: "a", journal: j, late: tc.late}, &b, &scripted{label: "c", journal: j})
				tc.check(t, err)
				require.Equal(t, tc.took, time.Since(started))
				require.Equal(t, tc.want, j.all())
			})
		})
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		started := time.Now()
		wake := make(chan struct{}, 1)
		require.True(t, sleep(ctx, time.Second, wake))
		require.Equal(t, time.Second, time.Since(started))
		wake <- struct{}{}
		for range 20 {
			require.True(t, sleep(ctx, 0, wake))
			require.Len(t, wake, 1, "no wait, so the request stays")
		}
		require.True(t, sleep(ctx, time.Hour, wake))
		require.Equal(t, time.Second, time.Since(started))
		require.False(t, sleep(ctx, time.Hour, wake))
		require.Equal(t, time.Minute, time.Since(started))
		require.False(t, sleep(ctx, 0, nil))
	})
}
