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
		return nil
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
		cancel time.Duration
		want   []string
		check  func(t *testing.T, err error)
	}{
		"ContextEnds": {cancel: 24 * time.Hour, want: inOrder, check: func(t *testing.T, err error) { require.NoError(t, err) }},
		"ServiceFails": {b: scripted{after: time.Hour, fail: broken}, cancel: 24 * time.Hour,
			want:  []string{"start a", "start b", "start c", "stop b", "stop c", "stop a"},
			check: func(t *testing.T, err error) { require.ErrorIs(t, err, broken) }},
		"ServicePanics": {b: scripted{after: time.Hour, panics: "boom"}, cancel: 24 * time.Hour,
			want:  []string{"start a", "start b", "start c", "stop b", "stop c", "stop a"},
			check: func(t *testing.T, err error) { require.ErrorContains(t, err, "b: panic: boom") }},
		"ServiceEndsEarly": {b: scripted{after: time.Hour}, cancel: 24 * time.Hour,
			want:  []string{"start a", "start b", "start c", "stop b", "stop c", "stop a"},
			check: func(t *testing.T, err error) { require.ErrorContains(t, err, "returned before it was stopped") }},
		"NeverReady": {b: scripted{unready: true}, cancel: time.Hour,
			want:  []string{"start a", "start b", "stop b", "stop a"},
			check: func(t *testing.T, err error) { require.NoError(t, err) }},
		"FailsBeforeReady": {b: scripted{unready: true, after: time.Second, fail: broken}, cancel: time.Hour,
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
				err := supervise(ctx, &scripted{label: "a", journal: j}, &b, &scripted{label: "c", journal: j})
				tc.check(t, err)
				require.Equal(t, tc.want, j.all())
			})
		})
	}
}
