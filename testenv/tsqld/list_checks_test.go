package tsqld

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// errStopped is the cause with which a listServer cancels a request.
var errStopped = errors.New("stopped")

// listServer runs batches in sessions without a connection, and observes the checks of their
// cancellation. It is not safe for concurrent use.
type listServer struct {
	*exec.Instance
	t *testing.T

	run    *listRun // the running batch
	runs   int      // batches so far
	thread int      // that runs it
	last   time.Duration
	stop   int // the check at which to cancel, from 1; 0: never
	delay  time.Duration
	cancel context.CancelCauseFunc
	asked  atomic.Int64 // when cancel was called, in the processor time of the thread; 0: not yet
	since  atomic.Int64 // the last check, in Unix nanoseconds; 0 while no batch runs
}

// listRun is what a batch needed.
type listRun struct {
	number        int32 // of its first error
	err           error // of the request
	steps, checks int
	spent         time.Duration // of the processor
	gap           time.Duration // the longest between two checks
	gapAt         int           // the check before the longest gap
	end           time.Duration // from the cancellation to the end of the request
	closed        time.Duration // to the end of the session
	where         string        // functions that ran in the longest gap
	used          int64         // the most memory on the accounts, in bytes
	heap          int64         // by how much the heap grew, garbage included, in bytes
}

// newListServer starts a server with the database of listSeeds.
func newListServer(t *testing.T, memory int64) *listServer {
	t.Helper()
	s := &listServer{t: t}
	inst, err := exec.New(session.Config{SAPassword: "secret", MaxMemory: memory, OnError: func(err error) { t.Log(err) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close()) })
	s.Instance = inst
	inst.Pool().OnCheck = s.check
	sa := s.session("sa", "secret")
	for _, batch := range append([]string{"CREATE LOGIN bob WITH PASSWORD = 'Secret-0'"}, listSchema...) {
		sink := &listSink{}
		require.NoError(t, sa.Batch(t.Context(), batch, sink))
		require.Nil(t, sink.first, batch)
	}
	require.NoError(t, sa.Close())
	return s
}

// session opens a session.
func (s *listServer) session(user, password string) *exec.Session {
	session, err := s.NewSession(s.t.Context(), session.Login{User: user, Password: password})
	require.NoError(s.t, err)
	return session
}

// check observes a check of cancellation.
func (s *listServer) check(steps int) {
	r := s.run
	if r == nil {
		return
	}
	now := threadTime(s.thread)
	s.since.Store(time.Now().UnixNano())
	if gap := now - s.last; gap > r.gap {
		r.gap, r.gapAt = gap, r.checks
	}
	s.last = now
	r.used = max(r.used, s.Pool().Used())
	r.checks++
	r.steps += steps
	if r.checks == s.stop {
		s.ask(s.delay)
	}
}

// ask cancels the batch after a delay.
func (s *listServer) ask(delay time.Duration) {
	cancel := s.cancel
	ask := func() {
		s.asked.CompareAndSwap(0, int64(threadTime(s.thread)))
		cancel(errStopped)
	}
	if delay == 0 {
		ask()
	} else {
		time.AfterFunc(delay, ask)
	}
}

// batch runs a text in a new session after listBegin, and closes the session. It cancels the batch
// at a check and a delay, or if the batch takes longer than most.
func (s *listServer) batch(text string, stop int, delay, most time.Duration) *listRun {
	runtime.LockOSThread()
	s.thread = thread()
	defer runtime.UnlockOSThread()
	session := s.session("bob", "Secret-0")
	sink := &listSink{}
	require.NoError(s.t, session.Batch(s.t.Context(), listBegin, sink))
	require.Nil(s.t, sink.first)
	ctx, cancel := context.WithCancelCause(s.t.Context())
	defer cancel(nil)
	s.runs++
	text = fmt.Sprintf("/* %d */ %s", s.runs, text) // no cache has the text
	r := &listRun{}
	s.stop, s.delay, s.cancel = stop, delay, cancel
	s.asked.Store(0)
	limit := time.AfterFunc(most, func() {
		s.asked.CompareAndSwap(0, int64(threadTime(s.thread)))
		cancel(errStopped)
	})
	watched := s.watch(r)
	start := threadTime(s.thread)
	s.last, s.run = start, r
	r.err = session.Batch(ctx, text, sink)
	s.run = nil
	end := threadTime(s.thread)
	watched()
	limit.Stop()
	if sink.first != nil {
		r.number = sink.first.Number
	}
	r.spent = end - start
	if asked := s.asked.Load(); asked != 0 {
		r.end = max(0, end-time.Duration(asked))
	}
	require.NoError(s.t, session.Close())
	r.closed = threadTime(s.thread) - end
	session.ReleaseMemory()
	return r
}

// frames are the functions of this server, or of SQLite, in a stack.
var frames = regexp.MustCompile(`(?m)^(?:github\.com/jobagent/jobagent/testenv/tsqld/|modernc\.org/)([^\s]+)\(`)

// watch records what runs in long gaps, and the growth of the heap, until the function that it
// returns is called.
func (s *listServer) watch(r *listRun) (stop func()) {
	const long = 60 * time.Millisecond
	before, _ := memoryNow()
	quit, done := make(chan struct{}), make(chan struct{})
	s.since.Store(time.Now().UnixNano())
	go func() {
		defer close(done)
		tick := time.NewTicker(long / 12)
		defer tick.Stop()
		longest, buf := long, make([]byte, 1<<20)
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			heap, _ := memoryNow()
			r.heap = max(r.heap, heap-before)
			gap := time.Since(time.Unix(0, s.since.Load()))
			if gap < longest {
				continue
			}
			longest = gap + gap/2
			for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
				if strings.Contains(g, "(*listServer).batch") {
					var names []string
					for _, m := range frames.FindAllStringSubmatch(g, 8) {
						names = append(names, m[1])
					}
					r.where = strings.Join(names, " < ")
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// listSink takes the output of a batch and remembers its first error.
type listSink struct{ first *mserr.Error }

// Message implements [answer.Sink].
func (s *listSink) Message(m *mserr.Error) error {
	if m.Class > 10 && s.first == nil {
		s.first = m
	}
	return nil
}

// Columns implements [answer.Sink].
func (s *listSink) Columns([]types.Column) error { return nil }

// Row implements [answer.Sink].
func (s *listSink) Row([]types.Value) error { return nil }

// Done implements [answer.Sink].
func (s *listSink) Done(answer.Done) error { return nil }

// ReturnStatus implements [answer.Sink].
func (s *listSink) ReturnStatus(int32) error { return nil }

// ReturnValue implements [answer.Sink].
func (s *listSink) ReturnValue(int, string, types.Type, types.Value) error { return nil }

// EnvChange implements [answer.Sink].
func (s *listSink) EnvChange(answer.EnvChange) error { return nil }

// fewElements is from which number of elements on lists are long enough for times to be measured.
const fewElements = 10_000

// Limits of TestLongListsStop.
const (
	// listStop is how long a batch, and its session, may take to end.
	listStop = 200 * time.Millisecond
	// listGrowth is how many times the steps may grow with four times as many elements, and
	// listTimes the processor time, which includes a part of the collection of garbage.
	listGrowth = 6
	listTimes  = 10
	// listSteps is how many steps do not count as growth.
	listSteps = 100_000
	// listTime is how long a batch with many elements may run before it is canceled, and
	// listShortTime one with few. The latter end within 0.1 s of processor time, but for the
	// products of many tables, which never end.
	listTime      = 5 * time.Second
	listShortTime = time.Second
)

// listProducts matches the names of statements with two lists whose product is the size of what
// the statement means: each grouping set has a row with each item, the sets of two items of a
// GROUP BY are combined, up to 4,096 of them (error 10703), and so are the items of a set in each
// set of a ROLLUP. A REPLACE by the value itself returns a text that is as long as the square of
// the value. A comparison in XQuery compares every two nodes.
var listProducts = regexp.MustCompile(`\b(Select\.Items|GroupBy\.Items|GroupItem\.Sub) GroupItem\.Sub$|REPLACE\(@x,N'[^']*',@x\)|comparisons in XQuery$`)

// TestLongListsStop runs the statements of TestLongLists, nested ones, and long values. What they
// cost must not grow with the square of their length. A cancellation between any two checks must
// end them at once: the test cancels in the middle of the checks, and in the longest gap between
// two. With -v, it prints a table.
func TestLongListsStop(t *testing.T) {
	n, full, memory, most := *listElements, *listElements >= fewElements, int64(attackMemory), listTime
	if full {
		memory = meter.DefaultLimit
	} else {
		most = listShortTime
		n /= 3 // steps show squares of small numbers, too
	}
	s := newListServer(t, memory)
	type row struct {
		name  string
		bytes int
		short *listRun
		long  *listRun
		end   time.Duration
	}
	var rows []row
	for l := range allLong(t, n, *listPairs) {
		if !regexp.MustCompile(*listOnly).MatchString(l.name) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			text := l.text(n)
			short := s.batch(l.text((n+3)/4), 0, 0, most)
			long := s.batch(text, 0, 0, most)
			r := row{name: l.name, bytes: len(text), short: short, long: long}
			require.NotEqual(t, int32(8630), long.number, "%.300s", text)
			growth := listGrowth
			if listProducts.MatchString(l.name) {
				growth *= listGrowth
			}
			if strings.HasSuffix(l.name, "GroupBy.Items GroupItem.Sub") {
				growth *= listGrowth // each combined set has the items of both
			}
			if grown := long.steps - listSteps; short.err == nil && grown > growth*short.steps {
				t.Errorf("%.100s: %d steps with %d elements, %d with a quarter of them", text, long.steps, n, short.steps)
			}
			if long.checks > 2 {
				stopped := s.batch(text, long.checks/2, 0, most)
				if stopped.err != nil || stopped.checks > long.checks/2 { // otherwise, parts of it were in a cache
					require.ErrorIs(t, stopped.err, errStopped, "%.300s", text)
				}
				require.LessOrEqual(t, stopped.checks, long.checks/2+8, "%.300s", text)
				r.end = max(r.end, stopped.end+stopped.closed)
			}
			if full {
				if long.spent > listStop && short.err == nil && long.spent > listTimes*short.spent {
					t.Errorf("%s: %v with %d elements, %v with a quarter of them", l.name, long.spent, n, short.spent)
				}
				if long.gap > listStop/4 {
					stopped := s.batch(text, long.gapAt, long.gap/20, most)
					r.end = max(r.end, stopped.end+stopped.closed)
					t.Logf("canceled in the gap: end %v, close %v, %s", stopped.end, stopped.closed, stopped.where)
				}
				if r.end > listStop {
					t.Errorf("%s: ended after %v; gap of %v in %s", l.name, r.end, long.gap, long.where)
				}
				if long.closed > listStop {
					t.Errorf("%s: its session ended after %v", l.name, long.closed)
				}
			}
			rows = append(rows, r)
			t.Logf("%6d ms alone, %5d ms with a quarter, gap %4d ms, end %4d ms, close %4d ms, %4d MB counted, %4d MB of heap, %9d steps, %5d checks, %8d bytes, error %5d: %s",
				long.spent.Milliseconds(), short.spent.Milliseconds(), long.gap.Milliseconds(), r.end.Milliseconds(), long.closed.Milliseconds(),
				long.used>>20, long.heap>>20, long.steps, long.checks, r.bytes, long.number, long.where)
		})
	}
	var worst struct {
		spent, end, closed time.Duration
		used, heap         int64
		failed             int
	}
	for _, r := range rows {
		worst.spent, worst.end, worst.closed = max(worst.spent, r.long.spent), max(worst.end, r.end), max(worst.closed, r.long.closed)
		worst.used, worst.heap = max(worst.used, r.long.used), max(worst.heap, r.long.heap)
		if r.long.number != 0 {
			worst.failed++
		}
	}
	t.Logf("%d statements, %d with an error; at most: %v alone, %v to the end, %v to close, %d MB counted, %d MB of heap",
		len(rows), worst.failed, worst.spent, worst.end, worst.closed, worst.used>>20, worst.heap>>20)
}
