package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/internal/callback"
	receiving "github.com/jobagent/jobagent/agent/rest/callbacks"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// receiver is a receiver of callbacks in memory.
type receiver struct {
	conns  chan net.Conn
	client *http.Client
}

// newReceiver starts a receiver over a store. It is stopped when the test ends.
func newReceiver(t *testing.T, store *controldb.Store) *receiver {
	t.Helper()
	r := &receiver{conns: make(chan net.Conn)}
	l := pipeListener{conns: r.conns, closed: make(chan struct{}), once: new(sync.Once)}
	served := receiving.On(l, "https://agent.example.com/jobs", store, zaptest.NewLogger(t))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(ctx) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	r.client = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			select {
			case r.conns <- server:
				return client, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}}
	return r
}

// pipeListener accepts connections from a channel.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   *sync.Once
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8443} }

// post reports to the URL of a callback and returns the status and the body of the answer.
func (r *receiver) post(t testing.TB, callback, body string) (int, string) {
	t.Helper()
	res, err := r.client.Post(strings.Replace(callback, "https://", "http://", 1), "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

// asyncCommand is an action that ends by a callback; its body is the callback's URL.
const asyncCommand = `{"url": "http://api.example.com/work", "allow_http": true, "callback": {"timeout_seconds": 600}, "body": "$(callback_url)"}`

// accepted answers 202.
func accepted(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }

// waiting waits until the run's target waits for a callback, and returns the callback's URL.
func (f *actionFixture) waiting(t *testing.T, id uuid.UUID) string {
	t.Helper()
	f.until(t, id, time.Minute, func([]executions.Execution) bool { return f.waits(t, id) })
	requests := f.endpoint.Requests()
	return requests[len(requests)-1].Body
}

// waits reports whether the run's only target waits for a callback.
func (f *actionFixture) waits(t *testing.T, id uuid.UUID) bool {
	t.Helper()
	list, err := callbacks.On(f.Store).OfRun(t.Context(), id)
	require.NoError(t, err)
	return len(list) > 0 && list[len(list)-1].State == callbacks.CallbackWaiting
}

func TestCallbackEndsTheAction(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		stop := f.startAgent(t, agent.Config{})
		f.addAction(t, "work", "", asyncCommand, retries(2, 1))
		id := f.Start(t, "work")
		callback := f.waiting(t, id)
		require.True(t, strings.HasPrefix(callback, "https://agent.example.com/jobs/callbacks/"), callback)

		status, body := r.post(t, callback[:len(callback)-4]+"AAAA", `{"success": true}`)
		require.Equal(t, http.StatusNotFound, status)
		_, malformed := r.post(t, callback+"x", `{"success": true}`)
		require.Equal(t, body, malformed, "a token that cannot be one has the same answer as an unknown one")
		for text, want := range map[string]int{
			`{"message": "m"}`: 400, `{"success": "maybe"}`: 400, `not JSON`: 400,
			fmt.Sprintf(`{"success": true, "message": %q}`, strings.Repeat("x", 110_000)): 413,
		} {
			status, _ = r.post(t, callback, text)
			require.Equal(t, want, status)
		}
		require.True(t, f.waits(t, id))

		stop() // reports are taken while no agent runs
		status, body = r.post(t, callback, `{"success": true, "message": {"rows": 3}}`)
		require.Equal(t, http.StatusOK, status, body)
		status, _ = r.post(t, callback, `{"success": true, "message": {"rows":3}}`)
		require.Equal(t, http.StatusOK, status, "the same report again changes nothing (S-38)")
		status, body = r.post(t, callback, `{"success": false, "message": "late"}`)
		require.Equal(t, http.StatusBadRequest, status)
		var failure struct {
			Code    int
			Message string
		}
		require.NoError(t, json.Unmarshal([]byte(body), &failure))
		require.Equal(t, http.StatusBadRequest, failure.Code)

		f.startAgent(t, agent.Config{})
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, `{"rows":3}`)
		require.Len(t, f.endpoint.Requests(), 1)
	})
}

// A report of failure is retried by the policy, with a new token and the same key. The token of the
// earlier attempt is worth nothing any more.
func TestCallbackOfFailureIsRetried(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		f.startAgent(t, agent.Config{})
		f.addAction(t, "work", "", asyncCommand, retries(1, 1))
		id := f.Start(t, "work")
		first := f.waiting(t, id)
		status, _ := r.post(t, first, `{"success": false, "message": "no disk"}`)
		require.Equal(t, http.StatusOK, status)
		f.until(t, id, time.Minute, func([]executions.Execution) bool { return len(f.endpoint.Requests()) == 2 })
		second := f.waiting(t, id)
		require.NotEqual(t, first, second)
		status, _ = r.post(t, first, `{"success": true}`)
		require.Equal(t, http.StatusBadRequest, status, "the token of another attempt")
		require.True(t, f.waits(t, id))
		status, _ = r.post(t, second, `{"success": false, "message": "no disk again"}`)
		require.Equal(t, http.StatusOK, status)
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, "no disk again")
		requests := f.endpoint.Requests()
		require.Equal(t, requests[0].Header.Get("Idempotency-Key"), requests[1].Header.Get("Idempotency-Key"))
	})
}

// Case 76: the report comes before the answer, and decides whatever the answer is.
func TestCase76(t *testing.T) {
	for _, success := range []bool{true, false} {
		t.Run(fmt.Sprint(success), func(t *testing.T) {
			var r *receiver
			actionBubble(t, 0, func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				status, text := r.post(t, string(body), fmt.Sprintf(`{"success": %t, "message": "m"}`, success))
				if status != http.StatusOK {
					t.Errorf("%d %s", status, text)
				}
				w.WriteHeader(http.StatusOK)
			}, func(t *testing.T, f *actionFixture) {
				r = newReceiver(t, f.Store)
				f.startAgent(t, agent.Config{})
				f.addAction(t, "work", "", asyncCommand, retries(0, 1))
				rows := f.ended(t, f.Start(t, "work"), time.Minute)
				want := jobs.Succeeded
				if !success {
					want = jobs.Failed
				}
				require.Equal(t, want, rows[0].Lifecycle, rows[2].LastMessage)
				require.Contains(t, rows[2].LastMessage, "m")
			})
		})
	}
}

// Case 78: two contradicting reports at the same moment. One is accepted.
func TestCase78(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		f.startAgent(t, agent.Config{})
		f.addAction(t, "work", "", asyncCommand, retries(0, 1))
		id := f.Start(t, "work")
		callback := f.waiting(t, id)
		statuses := make([]int, 2)
		var reports sync.WaitGroup
		for i := range statuses {
			reports.Go(func() { statuses[i], _ = r.post(t, callback, fmt.Sprintf(`{"success": %t}`, i == 0)) })
		}
		reports.Wait()
		require.ElementsMatch(t, []int{http.StatusOK, http.StatusBadRequest}, statuses)
		rows := f.ended(t, id, time.Minute)
		want := jobs.Succeeded
		if statuses[1] == http.StatusOK {
			want = jobs.Failed
		}
		require.Equal(t, want, rows[0].Lifecycle)
	})
}

// Case 82: a report after the deadline is refused, and kept.
func TestCase82(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		f.startAgent(t, slowPolling)
		f.addAction(t, "work", "", asyncCommand, retries(5, 1))
		id := f.Start(t, "work")
		callback := f.waiting(t, id)
		accepted := time.Now()
		rows := f.ended(t, id, time.Hour)
		require.Equal(t, jobs.TimedOut, rows[0].Lifecycle)
		require.InDelta(t, 600, time.Since(accepted).Seconds(), 10)
		status, _ := r.post(t, callback, `{"success": true, "message": "too late"}`)
		require.Equal(t, http.StatusBadRequest, status)
		list, err := callbacks.On(f.Store).OfRun(t.Context(), id)
		require.NoError(t, err)
		require.Contains(t, list[0].Late, "too late")
		require.Len(t, f.endpoint.Requests(), 1, "no call is repeated")
	})
}

// Case 86: the deadline passes while no agent runs. The next agent ends the wait at its first pass.
func TestCase86(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		stop := f.startAgent(t, agent.Config{})
		f.addAction(t, "work", "", asyncCommand, retries(5, 1))
		id := f.Start(t, "work")
		f.waiting(t, id)
		stop()
		<-time.After(time.Hour)
		require.True(t, f.waits(t, id))
		f.startAgent(t, agent.Config{})
		started := time.Now()
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.TimedOut, rows[0].Lifecycle)
		require.Less(t, time.Since(started), 2*time.Second)
		require.Len(t, f.endpoint.Requests(), 1)
	})
}

// Case 84: a report needs success, and a message of another JSON type is kept as JSON text.
func TestCase84(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		f.startAgent(t, agent.Config{})
		f.addAction(t, "work", "", asyncCommand, retries(0, 1))
		id := f.Start(t, "work")
		callback := f.waiting(t, id)
		status, body := r.post(t, callback, `{"message": {"n": 1}}`)
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, body, "success is missing")
		require.True(t, f.waits(t, id))
		status, body = r.post(t, callback, `{"success": true, "message": {"n": 1}}`)
		require.Equal(t, http.StatusOK, status, body)
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, `{"n":1}`)
	})
}

// A stop request ends the wait without an agent's request, and later reports are refused.
func TestStopEndsTheWaitForACallback(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		f.startAgent(t, agent.Config{})
		f.addAction(t, "work", "", asyncCommand)
		id := f.Start(t, "work")
		callback := f.waiting(t, id)
		require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Canceled, rows[0].Lifecycle)
		status, _ := r.post(t, callback, `{"success": true}`)
		require.Equal(t, http.StatusBadRequest, status)
	})
}

// Case 90: the agent ends after the request was written. With Await, the next agent does not call
// again, and a report ends the run.
func TestCase90(t *testing.T) {
	testenv.Long(t)
	actionBubble(t, 0, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		stop := f.startAgent(t, agent.Config{Grace: -1})
		f.addAction(t, "work", "", asyncCommand, retries(5, 1))
		await := "Await"
		_, err := catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "work", OnUnknownOutcome: &await})
		require.NoError(t, err)
		id := f.Start(t, "work")
		f.until(t, id, time.Minute, func([]executions.Execution) bool { return len(f.endpoint.Requests()) == 1 })
		stop()
		f.startAgent(t, agent.Config{})
		callback := f.waiting(t, id)
		<-time.After(5 * time.Minute)
		require.Len(t, f.endpoint.Requests(), 1)
		status, _ := r.post(t, callback, `{"success": true, "message": "done after all"}`)
		require.Equal(t, http.StatusOK, status)
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, "done after all")
	})
}

// Guesses, however many, cost a bounded number of calls at a time, and no valid report is refused
// because of them.
func TestGuessesHurtNoReport(t *testing.T) {
	actionBubble(t, 0, accepted, func(t *testing.T, f *actionFixture) {
		r := newReceiver(t, f.Store)
		stop := f.startAgent(t, agent.Config{})
		f.addAction(t, "work", "", asyncCommand, retries(2, 1))
		report := f.waiting(t, f.Start(t, "work"))
		stop()
		const receiver = "https://agent.example.com/jobs/callbacks/"
		for range 100 {
			status, _ := r.post(t, receiver+"guess", `{"success": true}`)
			require.Equal(t, http.StatusNotFound, status)
			status, _ = r.post(t, receiver+callback.NewToken(), `{"success": true}`)
			require.Equal(t, http.StatusNotFound, status)
		}
		status, answer := r.post(t, report, `{"success": true}`)
		require.Equal(t, http.StatusOK, status, answer)
		status, _ = r.post(t, "https://agent.example.com/other", `{}`)
		require.Equal(t, http.StatusNotFound, status)
		res, err := r.client.Get("http://agent.example.com/jobs/callbacks/x")
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
		require.Equal(t, http.MethodPost, res.Header.Get("Allow"))
	})
}
