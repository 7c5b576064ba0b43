package alerts_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent/alerts"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	actionhttp "github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/endpoint"
)

// receiver is an endpoint that keeps what it has received.
type receiver struct {
	*endpoint.Endpoint
	// URL is its address.
	URL string

	mu       sync.Mutex
	received []received
	// answer decides the status; nil: 200.
	answer func(n int) int
	// arrived gets a value for each request, before its answer.
	arrived chan struct{}
}

// received is one request.
type received struct {
	id   string
	body map[string]any
}

// newReceiver starts an endpoint.
func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{URL: "http://hook.example.com", arrived: make(chan struct{}, 100)}
	r.Endpoint = endpoint.New(t, func(w http.ResponseWriter, q *http.Request) {
		text, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		one := received{id: q.Header.Get("Webhook-Id")}
		_ = json.Unmarshal(text, &one.body) // an empty body stays nil
		r.mu.Lock()
		r.received = append(r.received, one)
		n, answer := len(r.received), r.answer
		r.mu.Unlock()
		r.arrived <- struct{}{}
		status := http.StatusOK
		if answer != nil {
			status = answer(n)
		}
		w.WriteHeader(status)
	})
	return r
}

// all returns what was received.
func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.received...)
}

// fixture is a control database with a channel to an endpoint.
type fixture struct {
	store *controldb.Store
	env   *testenv.Env
	name  string
	*receiver
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{env: testenv.Embedded(t, testenv.Options{}), receiver: newReceiver(t)}
	f.store, f.name = f.env.Control(t)
	require.NoError(t, alerting.On(f.store).AddChannel(t.Context(), "hook", "Http", `{"url": "`+f.URL+`/", "allow_http": true}`, true))
	return f
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(t, newFixture(t)) })
}

// service returns a service that calls the endpoint.
func (f *fixture) service(t *testing.T) *alerts.Service {
	t.Helper()
	network, err := outbound.New(f.Config())
	require.NoError(t, err)
	return alerts.New(alerts.Config{
		Store:   f.store,
		Runners: map[action.Type]targets.ActionRunner{action.TypeHTTP: actionhttp.NewRunner(network, actionhttp.Config{Version: "test"})},
		Pages:   "https://front.example/ui/main", Name: "test", Log: zaptest.NewLogger(t),
	})
}

// run runs a service until the test ends, or stop is called.
func run(t *testing.T, s *alerts.Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { // ends with ctx
		defer close(ended)
		s.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// nobody adds a rule whose condition is met at once: a job waits, and there is no agent.
func (f *fixture) nobody(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	zero := 0
	require.NoError(t, alerting.On(f.store).AddRule(ctx, "nobody", model.AlertNoAgent, alerting.Change{Seconds: &zero, Channels: &[]string{"hook"}}))
	_, err := catalog.On(f.store).AddJob(ctx, model.JobSpec{Name: "j"})
	require.NoError(t, err)
	_, err = catalog.On(f.store).AddJobStep(ctx, model.StepSpec{JobName: "j", Command: new(`{"method": "POST", "url": "https://h/"}`), CommandType: new("Http")})
	require.NoError(t, err)
	_, err = executions.On(f.store).StartJob(ctx, "j", uuid.New())
	require.NoError(t, err)
}

// alert returns the only alert.
func (f *fixture) alert(t *testing.T) alerting.Alert {
	t.Helper()
	list, err := alerting.On(f.store).Alerts(t.Context(), alerting.Filter{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// delivery waits until a delivery has a state.
func (f *fixture) delivery(t *testing.T, state string) (d alerting.Delivery) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := alerting.On(f.store).Deliveries(t.Context(), alerting.DeliveryFilter{Limit: 1})
		if err != nil || len(list) == 0 {
			return false
		}
		d = list[0]
		return d.State == state
	}, 15*time.Second, 20*time.Millisecond)
	return d
}

// An alert is delivered once, however many processes evaluate and deliver, and with the same ID as
// the database has.
func TestDeliversOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fixture) {
		f.nobody(t)
		for range 3 {
			run(t, f.service(t))
		}
		d := f.delivery(t, "Delivered")
		all := f.all()
		require.Len(t, all, 1)
		require.Equal(t, "test", d.DeliveredBy)
		body := all[0].body
		require.Equal(t, d.NotificationID.String(), body["notification_id"])
		require.Equal(t, "alert.raised", body["type"])
		require.Equal(t, "No agent works, and work waits", body["title"])
		require.Equal(t, "https://front.example/ui/main/alerts", body["link"])
		require.Equal(t, alerting.AlertOpen, f.alert(t).State)
	})
}

// Nothing is sent about an alert after its acknowledgement, even if a process has claimed it
// before.
func TestNotAfterAcknowledgement(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fixture) {
		f.nobody(t)
		ctx := t.Context()
		s := f.service(t)
		_, err := alerting.On(f.store).Evaluate(ctx, 0)
		require.NoError(t, err)
		asked := time.Now()
		work, err := alerting.On(f.store).ClaimDeliveries(ctx, alerting.Claim{Holder: s.Holder(), Types: s.Types(), Max: 10, Lease: alerts.Lease})
		require.NoError(t, err)
		require.Len(t, work, 1)
		require.NoError(t, alerting.On(f.store).Acknowledge(ctx, f.alert(t).ID, "mine"))
		s.Attempt(ctx, work[0], asked)
		require.Empty(t, f.all())
		d := f.delivery(t, "Canceled")
		require.Equal(t, "Not sent: the alert was acknowledged.", d.LastError)
		run(t, s)
		time.Sleep(30 * time.Second) // virtual time: several evaluations and looks for deliveries
		require.False(t, f.alert(t).AcknowledgedAt.IsZero())
		require.Empty(t, f.all())
	})
}

// A process ends between the send and the record: another one delivers again, with the same ID, so
// that the receiver can drop the repetition.
func TestDeliveredAgainAfterCrash(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fixture) {
		f.nobody(t)
		ctx := t.Context()
		dead := f.service(t)
		_, err := alerting.On(f.store).Evaluate(ctx, 0)
		require.NoError(t, err)
		work, err := alerting.On(f.store).ClaimDeliveries(ctx, alerting.Claim{Holder: dead.Holder(), Types: dead.Types(), Max: 10, Lease: time.Second})
		require.NoError(t, err)
		require.Len(t, work, 1)
		begun, err := dead.Send(ctx, work[0], func(ctx context.Context) (time.Time, error) {
			permitted, err := alerting.On(f.store).BeginDelivery(ctx, work[0].ID, dead.Holder())
			require.True(t, permitted)
			return time.Now().Add(time.Minute), err
		})
		require.NoError(t, err)
		require.True(t, begun)
		run(t, f.service(t)) // the result was not recorded
		d := f.delivery(t, "Delivered")
		require.Equal(t, 2, d.Attempts)
		all := f.all()
		require.Len(t, all, 2)
		require.Equal(t, all[0].body, all[1].body)
		require.Equal(t, d.NotificationID.String(), all[0].body["notification_id"])
	})
}

// Answers of receivers: an error is tried again, 410 is not.
func TestAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fixture) {
		f.answer = func(n int) int {
			if n == 1 {
				return http.StatusInternalServerError
			}
			return http.StatusGone
		}
		tests, err := alerting.On(f.store).Test(t.Context(), "hook", "")
		require.NoError(t, err)
		require.Len(t, tests, 1)
		run(t, f.service(t))
		d := f.delivery(t, "Failed")
		require.Equal(t, 2, d.Attempts)
		require.Contains(t, d.LastError, "410")
		require.GreaterOrEqual(t, time.Since(d.CreatedAt), 4*time.Second, "the wait after the first failure")
	})
}

// A receiver that hangs holds up neither evaluations nor other deliveries, and the process stops at
// once.
func TestReceiverHangs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fixture) {
		hang := make(chan struct{})
		t.Cleanup(func() { close(hang) })
		f.answer = func(n int) int {
			if n == 1 {
				<-hang
			}
			return http.StatusOK
		}
		_, err := alerting.On(f.store).Test(t.Context(), "hook", "")
		require.NoError(t, err)
		stop := run(t, f.service(t))
		<-f.arrived
		f.nobody(t)
		f.delivery(t, "Delivered")
		began := time.Now()
		stop()
		require.Less(t, time.Since(began), 10*time.Second)
	})
}

// The address of a webhook is a secret as a whole: it leads only to the hosts of the secret, by TLS
// unless the channel permits plain HTTP, and no error shows it.
func TestWebhookAddresses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fixture) {
		s := f.service(t)
		plain, permitted := `{"url": "$(secret.HOOK)"}`, `{"url": "$(secret.HOOK)", "allow_http": true}`
		for name, c := range map[string]struct {
			definition string
			address    action.Value
			want       string
		}{
			"another host":  {permitted, action.Secret(f.URL+"/services/hidden", "hooks.slack.com"), "may not be sent to"},
			"plain HTTP":    {plain, action.Secret(f.URL + "/services/hidden"), "https"},
			"no URL":        {permitted, action.Secret("hidden"), ""},
			"another way":   {permitted, action.Secret("file:///services/hidden"), ""},
			"a login":       {permitted, action.Secret(strings.Replace(f.URL, "://", "://u:hidden@", 1)), ""},
			"a private one": {permitted, action.Secret("http://10.0.0.1/services/hidden"), ""},
			"two lines":     {permitted, action.Secret(f.URL + "/services/hidden\r\nX-Evil: 1"), ""},
		} {
			s.SetSecret(func(context.Context, string) (action.Value, error) { return c.address, nil })
			for _, channelType := range []string{"Slack", "Teams"} {
				begun, err := s.Send(t.Context(), alerting.Work{ChannelType: channelType, Definition: c.definition, Kind: "Test", Title: "t"},
					func(context.Context) (time.Time, error) { return time.Now().Add(time.Minute), nil })
				require.Error(t, err, name)
				require.ErrorContains(t, err, c.want, name)
				require.NotContains(t, err.Error(), "hidden", name)
				require.False(t, begun, name)
			}
		}
		require.Empty(t, f.all())
	})
}

// Without secrets, channels that need some are left to other processes.
func TestSecretsAreLeftToOthers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, alerting.On(f.store).AddChannel(ctx, "slack", "Slack", `{"url": "$(secret.HOOK)", "allow_http": true}`, true))
		_, err := alerting.On(f.store).Test(ctx, "slack", "")
		require.NoError(t, err)
		s := f.service(t)
		work, err := alerting.On(f.store).ClaimDeliveries(ctx, alerting.Claim{Holder: s.Holder(), Types: s.Types(), Max: 10, Lease: alerts.Lease})
		require.NoError(t, err)
		require.Empty(t, work)
		s.SetSecret(func(_ context.Context, name string) (action.Value, error) {
			require.Equal(t, "HOOK", name)
			return action.Secret(f.URL + "/services/T0/secret"), nil
		})
		run(t, s)
		f.delivery(t, "Delivered")
		all := f.all()
		require.Len(t, all, 1)
		require.Contains(t, all[0].body["text"], "Test of an alert channel")
		require.NotEmpty(t, all[0].body["blocks"])
	})
}
