package queue

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"

	"github.com/jobagent/jobagent/testenv/npm"
)

// peer is the AMQP peer of testdata/amqp_peer.js.
type peer struct {
	*nodeProcess
	network *outbound.Network
	host    string
}

// startPeer starts the peer, or skips the test.
func startPeer(t *testing.T, change func(*outbound.Config)) *peer {
	t.Helper()
	modules := npm.Modules(t, "rhea")
	pair, root := certificate(t)
	key, chain := writePair(t, pair)
	p := startNode(t, modules, "testdata/amqp_peer.js", key, chain)
	return &peer{p, newNetwork(t, root, change), net.JoinHostPort("127.0.0.1", p.line(t, "listening "))}
}

// message returns a definition for an entity of the peer.
func (p *peer) message(entity string) *action.Definition {
	return withServiceBus(action.ServiceBus{Namespace: p.host, Entity: entity, Message: "hi", AMQP: true, KeyName: "send", Key: "the-key"}, "the-key")
}

// received returns the messages that the peer received for an entity.
func (p *peer) received(entity string) []string { return p.all(`{"address":"` + entity + `"`) }

// settle waits until the peer has printed everything that it received before.
func (p *peer) settle(t *testing.T) {
	t.Helper()
	last := len(p.received("accepted"))
	res := run(t, p.network, p.message("accepted"), nil)
	require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
	p.waitFor(`{"address":"accepted"`, last+1)
}

func TestAMQPAccepted(t *testing.T) {
	p := startPeer(t, nil)
	d := p.message("accepted")
	d.ServiceBus.Message = "Grüße"
	d.ServiceBus.ContentType = "text/plain"
	d.ServiceBus.Properties = []action.Property{{Name: "a b", Value: "ü\""}, {Name: "n", Value: int64(5)}, {Name: "f", Value: 0.5}, {Name: "b", Value: true}}
	d.ServiceBus.Broker = action.BrokerProperties{
		CorrelationID: "c", ForcePersistence: true, Label: "l", PartitionKey: "s", ReplyTo: "r", ReplyToSessionID: "rs",
		ScheduledEnqueueTime: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), SessionID: "s", TimeToLive: 90 * time.Second, To: "t", ViaPartitionKey: "v",
	}
	res := run(t, p.network, d, nil)
	require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
	require.True(t, res.Sent)
	require.Equal(t, "accepted\nMessageId: "+theAttempt().Key.String(), messageOf(t, res, targets.KindResponse).Text)

	var got map[string]any
	p.waitFor(`"address":"accepted"`, 1)
	require.NoError(t, json.Unmarshal([]byte(p.received("accepted")[0]), &got))
	scheduled := got["message_annotations"].(map[string]any)["x-opt-scheduled-enqueue-time"]
	require.Equal(t, map[string]any{
		"address": "accepted", "body": "Grüße", "content_type": "text/plain", "message_id": theAttempt().Key.String(), "correlation_id": "c",
		"durable": true, "subject": "l", "reply_to": "r", "reply_to_group_id": "rs", "group_id": "s", "to": "t", "ttl": 90000.0,
		"application_properties": map[string]any{"a b": "ü\"", "n": 5.0, "f": 0.5, "b": true},
		"message_annotations": map[string]any{
			"x-opt-partition-key": "s", "x-opt-via-partition-key": "v", "x-opt-scheduled-enqueue-time": scheduled,
		},
	}, got)
	require.Contains(t, []any{float64(1893553445000), "2030-01-02T03:04:05.000Z"}, scheduled)
}

// The token is a shared access signature for the queue and its management.
func TestAMQPToken(t *testing.T) {
	p := startPeer(t, nil)
	p.settle(t)
	lines := p.all(`{"cbs":`)
	require.Len(t, lines, 2)
	for i, audience := range []string{"/accepted", "/accepted/$management"} {
		var put struct{ CBS, Type, Token string }
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &put))
		require.Equal(t, "servicebus.windows.net:sastoken", put.Type)
		require.Equal(t, "amqps://"+p.host+audience, put.CBS)
		require.NoError(t, verifyServiceBusSAS(put.Token, put.CBS, "send", "the-key", time.Now()))
	}
}

// A token of Microsoft Entra ID is taken before the connection, and is not shown.
func TestAMQPEntraToken(t *testing.T) {
	asked := 0
	p := startPeer(t, func(c *outbound.Config) {
		c.Credentials = []outbound.Credential{{Name: "mi", Kind: outbound.KindManagedIdentity, Hosts: []string{"*"}}}
		c.Azure = func(_ context.Context, r outbound.AzureRequest) (outbound.AzureToken, error) {
			asked++
			require.Equal(t, serviceBusScope, r.Scope)
			return outbound.AzureToken{Token: "entra.token.text", Expires: time.Now().Add(time.Hour)}, nil
		}
	})
	d := p.message("accepted")
	d.ServiceBus.KeyName, d.ServiceBus.Key = "", ""
	res := run(t, p.network, d, func(a *targets.ActionAttempt) { a.Credential = "MI" })
	require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
	require.Equal(t, 1, asked)
	p.waitFor(`"address":"accepted"`, 1)
	require.Len(t, p.all(`"type":"jwt","token":"entra.token.text"`), 2)
}

// The table of outcomes. Each message is sent once at most.
func TestAMQPOutcomes(t *testing.T) {
	p := startPeer(t, nil)
	tests := []struct {
		entity   string
		outcome  targets.Outcome
		received int
		noRetry  bool
		part     string
	}{
		{"rejected", targets.Failed, 1, true, "amqp:decode-error: the body is no good"},
		{"full", targets.Failed, 1, false, "amqp:resource-limit-exceeded: the queue is full"},
		{"busy", targets.Failed, 1, false, "com.microsoft:server-busy: try again later"},
		{"released", targets.Failed, 1, false, "released"},
		{"modified", targets.Failed, 1, false, "modified"},
		{"missing", targets.Failed, 0, true, "amqp:not-found: no such queue"},
		{"forbidden", targets.Failed, 0, true, "amqp:unauthorized-access: the claim Send is missing"},
		{"denied", targets.Failed, 0, true, "the token is not valid"},
		{"cut", targets.Unknown, 1, false, "the message may have arrived: the connection was lost"},
		{"detached", targets.Unknown, 1, false, "the message may have arrived"},
	}
	for _, test := range tests {
		t.Run(test.entity, func(t *testing.T) {
			res := run(t, p.network, p.message(test.entity), nil)
			require.Equal(t, test.outcome, res.Outcome, texts(res))
			require.Equal(t, test.received > 0, res.Sent)
			require.Equal(t, test.noRetry, res.NoRetry)
			require.Contains(t, res.Summary, test.part)
			require.NotContains(t, texts(res), "the-key")
		})
	}
	p.settle(t)
	for _, test := range tests {
		require.Len(t, p.received(test.entity), test.received, test.entity)
	}
}

// Case 118: a peer that takes the transfer and cuts the connection leaves the outcome unknown, and
// the next attempt has the same MessageId. A refused dial is a failure of which nothing was sent.
func TestCase118AMQPPeerCutsTheConnection(t *testing.T) {
	p := startPeer(t, nil)
	for number := 1; number <= 2; number++ {
		res := run(t, p.network, p.message("cut"), func(a *targets.ActionAttempt) { a.Number = number })
		require.Equal(t, targets.Unknown, res.Outcome, texts(res))
		require.True(t, res.Sent)
		require.False(t, res.NoRetry)
	}
	p.settle(t)
	lines := p.received("cut")
	require.Len(t, lines, 2)
	for _, line := range lines {
		require.Contains(t, line, `"message_id":"`+theAttempt().Key.String()+`"`)
	}

	d := p.message("accepted")
	d.ServiceBus.Namespace = closedAddress(t)
	res := run(t, p.network, d, nil)
	require.Equal(t, targets.Failed, res.Outcome, texts(res))
	require.False(t, res.Sent)
	require.Equal(t, targets.ClassLostConnection, res.Error.Class)
	require.False(t, res.NoRetry)
}

// Begin is called when the link is open, and its refusal keeps the message back.
func TestAMQPFence(t *testing.T) {
	p := startPeer(t, nil)
	for name, begin := range map[string]func(context.Context) (time.Time, error){
		"refused":     func(context.Context) (time.Time, error) { return time.Time{}, errors.New("the term is gone") },
		"lease ended": func(context.Context) (time.Time, error) { return time.Now().Add(-time.Second), nil },
	} {
		t.Run(name, func(t *testing.T) {
			links := len(p.all(`{"cbs":`)) // of attempts whose links were open
			res := run(t, p.network, p.message("accepted"), func(a *targets.ActionAttempt) {
				a.Begin = func(ctx context.Context) (time.Time, error) {
					p.waitFor(`{"cbs":`, links+2) // the link is open
					return begin(ctx)
				}
			})
			require.Equal(t, targets.NotSent, res.Outcome, texts(res))
			require.False(t, res.Sent)
		})
	}
	p.settle(t)
	require.Len(t, p.received("accepted"), 1, "the message of settle")
	// Begin is not called for a link that is refused.
	res := run(t, p.network, p.message("missing"), func(a *targets.ActionAttempt) {
		a.Begin = func(context.Context) (time.Time, error) {
			t.Error("Begin before the link is open")
			return time.Time{}, nil
		}
	})
	require.Equal(t, targets.Failed, res.Outcome)
}

// The contract of a runner: the cause of the context and what was sent decide.
func TestAMQPInterrupted(t *testing.T) {
	p := startPeer(t, nil)
	for _, test := range []struct {
		name   string
		entity string
		cause  error
		want   targets.Outcome
	}{
		{"stop while waiting for the answer", "silent", targets.ErrStopRequested, targets.Unknown},
		{"limit while waiting for the answer", "silent", targets.ErrTimeout, targets.TimedOut},
		{"interruption while waiting for the answer", "silent", errors.New("the agent stops"), targets.Unknown},
		{"stop while waiting for credit", "stopped", targets.ErrStopRequested, targets.Canceled},
		{"limit while waiting for credit", "stopped", targets.ErrTimeout, targets.TimedOut},
		{"interruption while waiting for credit", "stopped", errors.New("the agent stops"), targets.NotSent},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(p.received("silent"))
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			a := theAttempt()
			a.Action = p.message(test.entity)
			a.Begin = func(context.Context) (time.Time, error) {
				go func() {
					if test.entity == "silent" {
						p.waitFor(`{"address":"silent"`, before+1)
					}
					cancel(test.cause)
				}()
				return time.Now().Add(time.Minute), nil
			}
			res := NewRunner(Config{Network: p.network}).Run(ctx, a)
			require.Equal(t, test.want, res.Outcome, texts(res))
			require.Equal(t, test.entity == "silent", res.Sent)
		})
	}
}

// A peer that never settles the message leaves it without an answer: the whole message was sent.
func TestAMQPNoAnswer(t *testing.T) {
	t.Parallel()
	p := startPeer(t, nil)
	a := theAttempt()
	a.Action = p.message("silent")
	a.Action.Callback = &action.Callback{}
	a.Action.ServiceBus.Message = strings.Repeat("x", 200_000) // several transfers
	// The time also covers the login and the link, which take long on a busy machine.
	res := NewRunner(Config{Network: p.network, AnswerTimeout: 4 * time.Second}).Run(t.Context(), a)
	require.Equal(t, targets.NoAnswer, res.Outcome, texts(res))
	require.True(t, res.Sent)
	require.Equal(t, targets.ClassTimeout, res.Error.Class)

	a.Action = p.message("stopped")
	res = NewRunner(Config{Network: p.network, AnswerTimeout: 500 * time.Millisecond}).Run(t.Context(), a)
	require.Equal(t, targets.Failed, res.Outcome, texts(res))
	require.False(t, res.Sent)
	require.Equal(t, targets.ClassTimeout, res.Error.Class)
}

// Attempts side by side do not disturb each other: each message arrives once.
func TestAMQPAttemptsSideBySide(t *testing.T) {
	p := startPeer(t, nil)
	const n = 12
	runner := NewRunner(Config{Network: p.network})
	outcomes := make([]targets.Outcome, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			a := theAttempt()
			a.Key[0] = byte(i)
			a.Action = p.message([]string{"accepted", "cut", "busy"}[i%3])
			outcomes[i] = runner.Run(t.Context(), a).Outcome
		})
	}
	running.Wait()
	for i := range n {
		require.Equal(t, []targets.Outcome{targets.Succeeded, targets.Unknown, targets.Failed}[i%3], outcomes[i])
		key := theAttempt().Key
		key[0] = byte(i)
		p.waitFor(key.String(), 1)
		require.Len(t, p.all(`"message_id":"`+key.String()), 1)
	}
}
