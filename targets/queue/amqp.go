package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

const (
	// amqpPort is the port of AMQP over TLS.
	amqpPort = "5671"
	// closeTimeout bounds the closing of a connection whose message was answered.
	closeTimeout = time.Second
	// maxAMQPTTL is the longest time to live that a message's header can hold: milliseconds in 32
	// bits. The client library cuts a longer one without an error.
	maxAMQPTTL = math.MaxUint32 * time.Millisecond
)

// sendAMQP sends a message by AMQP 1.0. The link is open before the attempt begins to send, so that
// everything that can fail before the message leaves fails without effect.
func (t *attempt) sendAMQP(ctx context.Context, b *action.ServiceBus) error {
	host, broker, err := t.checkServiceBus(b)
	if err != nil {
		return err
	}
	message, err := amqpMessage(b, broker)
	if err != nil {
		return err
	}
	resource := &url.URL{Scheme: "amqps", Host: host, Path: "/" + b.Entity}
	auth, signature, err := t.serviceBusAuthorization(b, resource)
	if err != nil {
		return err
	}
	if t.cfg.ShowRequests {
		t.showText(fmt.Sprintf("AMQP to %s/%s\nMessageId: %s\nBrokerProperties: %s\n\n%s",
			host, b.Entity, broker.MessageID, brokerProperties(broker), b.Message))
	}
	return t.fenced(ctx, func(ctx context.Context, fence *outbound.Fence) error {
		line := &amqpLine{attempt: t, fence: fence, auth: auth, signature: signature, host: host, address: host}
		if resource.Port() == "" {
			line.address = net.JoinHostPort(resource.Hostname(), amqpPort)
		}
		return line.send(ctx, b.Entity, message)
	})
}

// send opens the link and sends the message.
func (l *amqpLine) send(ctx context.Context, entity string, message *azservicebus.AMQPAnnotatedMessage) error {
	client, err := l.client(ctx)
	if err != nil {
		return err
	}
	defer l.end(client)
	ctx, cancel := withoutDeadline(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(l.cfg.AnswerTimeout, func() { cancel(errNoAnswer) })
	defer limit.Stop()
	sender, err := client.NewSender(entity, nil)
	if err != nil {
		return l.explain(ctx, err)
	}
	// The library opens the connection and the link when it is first asked for something.
	if _, err := sender.NewMessageBatch(ctx, nil); err != nil {
		return l.explain(ctx, err)
	}
	if err := l.fence.Begin(); err != nil {
		return err
	}
	w := l.wire.Load()
	w.arm()
	err = sender.SendAMQPAnnotatedMessage(ctx, message, nil)
	got := w.delivery()
	if l.whole = got.whole; got.sent {
		l.fence.MarkSent()
	}
	return l.outcome(ctx, got, err, message.Properties.MessageID)
}

// withoutDeadline returns a context that ends with ctx and has no deadline. The library gives a
// deadline to the connection, whose error would come before the context says why it ended.
func withoutDeadline(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return inner, func(cause error) {
		stop()
		cancel(cause)
	}
}

// outcome returns the error of a message by what is known of it. err is the library's.
func (l *amqpLine) outcome(ctx context.Context, d delivery, err error, id any) error {
	if d.state != 0 {
		text := stateName(d.state)
		if d.state == stateAccepted {
			l.summary = "Service Bus has the message."
			text += fmt.Sprintf("\nMessageId: %v", id)
		}
		l.messages = append(l.messages, targets.Message{Kind: targets.KindResponse, Text: text})
	}
	switch {
	case d.state == stateAccepted:
		return nil
	case d.state == stateRejected && d.reason.name == "":
		return refusal(targets.ClassPermanent, true, "Service Bus rejected the message without a reason")
	case d.state == stateRejected:
		return l.conditionError(d.reason)
	case d.state != 0:
		text := "Service Bus gave the message back: its state is " + stateName(d.state)
		return refusal(targets.ClassTransient, false, text)
	case err == nil:
		return errors.New("the message was sent, and Service Bus did not say that it has it")
	case ctx.Err() == nil && refusing[d.reason.name]:
		return l.conditionError(d.reason)
	default:
		return l.explain(ctx, err)
	}
}

// stateName returns the name of a delivery state.
func stateName(state byte) string {
	switch state {
	case stateAccepted:
		return "accepted"
	case stateRejected:
		return "rejected"
	case stateReleased:
		return "released"
	default:
		return "modified"
	}
}

// Conditions of AMQP and of Service Bus
// (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-troubleshoot).
const (
	condNotFound     = "amqp:not-found"
	condUnauthorized = "amqp:unauthorized-access"
	condNotAllowed   = "amqp:not-allowed"
	condLimit        = "amqp:resource-limit-exceeded"
	condInternal     = "amqp:internal-error"
	condTooLarge     = "amqp:link:message-size-exceeded"
	condDetached     = "amqp:link:detach-forced"
	condForced       = "amqp:connection:forced"
	condBusy         = "com.microsoft:server-busy"
	condTimeout      = "com.microsoft:timeout"
	condDisabled     = "com.microsoft:entity-disabled"
)

// refusing are the conditions that say that Service Bus has not taken the message, whether they
// settle it or end its link. Any other end of a link leaves the message's fate open.
var refusing = map[string]bool{
	condNotFound: true, condUnauthorized: true, condNotAllowed: true, condTooLarge: true, condLimit: true,
	condBusy: true, condDisabled: true,
}

// conditionError returns the error of a condition with which the peer refused a link or a message.
func (l *amqpLine) conditionError(reason condition) error {
	class, retried := targets.ClassPermanent, false
	switch reason.name {
	case condLimit, condBusy, condInternal, condDetached, condForced:
		class, retried = targets.ClassTransient, true
	case condTimeout:
		class, retried = targets.ClassTimeout, true
	case condUnauthorized:
		class = targets.ClassAuth
	}
	return refusal(class, !retried, "Service Bus refused it: "+l.printable(reason.String()))
}

// String returns the condition with its description.
func (c condition) String() string {
	return strings.TrimSuffix(c.name+": "+c.description, ": ")
}

// amqpMessage returns the message with its properties. The text is one data section.
func amqpMessage(b *action.ServiceBus, broker action.BrokerProperties) (*azservicebus.AMQPAnnotatedMessage, error) {
	m := &azservicebus.AMQPAnnotatedMessage{
		Body:               azservicebus.AMQPAnnotatedMessageBody{Data: [][]byte{[]byte(b.Message)}},
		MessageAnnotations: map[any]any{},
		Properties:         &azservicebus.AMQPAnnotatedMessageProperties{MessageID: broker.MessageID},
	}
	if broker.ForcePersistence || broker.TimeToLive > 0 {
		m.Header = &azservicebus.AMQPAnnotatedMessageHeader{
			Durable: broker.ForcePersistence, TTL: min(broker.TimeToLive, maxAMQPTTL), Priority: 4, // AMQP's default
		}
	}
	for _, text := range []struct {
		value string
		field **string
	}{
		{b.ContentType, &m.Properties.ContentType},
		{broker.Label, &m.Properties.Subject},
		{broker.To, &m.Properties.To},
		{broker.ReplyTo, &m.Properties.ReplyTo},
		{broker.SessionID, &m.Properties.GroupID},
		{broker.ReplyToSessionID, &m.Properties.ReplyToGroupID},
	} {
		if text.value != "" {
			*text.field = &text.value
		}
	}
	if broker.CorrelationID != "" {
		m.Properties.CorrelationID = broker.CorrelationID
	}
	for name, value := range map[string]string{
		"x-opt-partition-key": broker.PartitionKey, "x-opt-via-partition-key": broker.ViaPartitionKey,
	} {
		if value != "" {
			m.MessageAnnotations[name] = value
		}
	}
	if !broker.ScheduledEnqueueTime.IsZero() {
		m.MessageAnnotations["x-opt-scheduled-enqueue-time"] = broker.ScheduledEnqueueTime.UTC()
	}
	if broker.TimeToLive > maxAMQPTTL {
		// Service Bus takes the difference of these two instants, whatever the agent's clock says.
		creation := time.Now().UTC()
		expiry := creation.Add(broker.TimeToLive)
		m.Properties.CreationTime, m.Properties.AbsoluteExpiryTime = &creation, &expiry
	}
	for _, p := range b.Properties {
		switch value := p.Value.(type) {
		case string, bool, int64, float64:
			if _, twice := m.ApplicationProperties[p.Name]; twice || p.Name == "" {
				return nil, faultf("invalid property %q: want a name that is not empty and occurs once", p.Name)
			}
			if m.ApplicationProperties == nil {
				m.ApplicationProperties = make(map[string]any, len(b.Properties))
			}
			m.ApplicationProperties[p.Name] = value
		default:
			return nil, faultf("invalid type %T of property %q: want string, bool, int64 or float64", p.Value, p.Name)
		}
	}
	return m, nil
}

// amqpLine is the one connection of an attempt by AMQP.
type amqpLine struct {
	*attempt
	fence *outbound.Fence
	// auth is nil if signature authorizes the message.
	auth      *outbound.Auth
	signature string
	host      string // of the namespace; with a port if the definition has one
	address   string // host:port

	dialed  atomic.Bool
	wire    atomic.Pointer[wire]
	failure atomic.Pointer[error] // of the dial
}

// errOneConnection means that the client library wanted to connect again after the connection had
// failed.
var errOneConnection = errors.New("an attempt has one connection")

// client returns the library's client, which has not dialed yet. Tokens are taken before that, so
// that their errors are told from those of the service.
func (l *amqpLine) client(ctx context.Context) (*azservicebus.Client, error) {
	options := &azservicebus.ClientOptions{
		ApplicationID: l.cfg.UserAgent,
		RetryOptions:  azservicebus.RetryOptions{MaxRetries: -1},
		// The library's hook for WebSockets: it runs AMQP over any connection that it is given.
		NewWebSocketConn: func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			return l.dial(ctx)
		},
	}
	if l.signature != "" {
		connection := "Endpoint=sb://" + l.host + "/;SharedAccessSignature=" + l.signature
		return azservicebus.NewClientFromConnectionString(connection, options)
	}
	token := l.auth.Secret()
	if l.auth.Kind() != outbound.KindBearer {
		var err error
		if token, err = l.auth.Token(ctx, serviceBusScope); err != nil {
			return nil, err
		}
	}
	return azservicebus.NewClient(l.host, oneToken(token), options)
}

// oneToken is a credential that has one token, which outlives the attempt.
type oneToken string

// GetToken implements azcore.TokenCredential.
func (t oneToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(sasLifetime)}, nil
}

// String returns no part of the token.
func (oneToken) String() string { return "***" }

// dial makes the attempt's connection. The library dials again after some errors, and would send
// the message a second time.
func (l *amqpLine) dial(ctx context.Context) (net.Conn, error) {
	if !l.dialed.CompareAndSwap(false, true) {
		return nil, errOneConnection
	}
	conn, err := l.cfg.Network.For(nil, l.auth).DialTLS(ctx, l.address)
	if err != nil {
		l.failure.Store(&err)
		return nil, err
	}
	w := newWire(conn, l.fence.Begin)
	l.wire.Store(w)
	return w, nil
}

// end closes the connection, and then what the library keeps.
func (l *amqpLine) end(client *azservicebus.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	w := l.wire.Load()
	if w == nil {
		_ = client.Close(ctx)
		return
	}
	// A peer that answered is told that the connection ends, for a moment.
	wait := closeTimeout
	if w.delivery().state == 0 {
		wait = 0
	}
	stop := time.AfterFunc(wait, func() { _ = w.Close() })
	_ = client.Close(ctx)
	stop.Stop()
	_ = w.Close()
}

// explain returns the error of a link or message that was not settled: that of the dial, of a
// condition, or of the token.
func (l *amqpLine) explain(ctx context.Context, err error) error {
	var known *azservicebus.Error
	var d delivery
	if w := l.wire.Load(); w != nil {
		d = w.delivery()
	}
	switch dialed := l.failure.Load(); {
	case dialed != nil:
		return *dialed
	case isFence(err):
		return err
	case ctx.Err() != nil:
		if cause := context.Cause(ctx); !errors.Is(cause, errNoAnswer) {
			return cause
		}
		return fmt.Errorf("%w within %v", errNoAnswer, l.cfg.AnswerTimeout)
	case d.reason.name != "" && !d.sent:
		return l.conditionError(d.reason)
	case d.reason.name != "":
		return l.lost("the link was closed: "+d.reason.String(), err)
	case errors.As(err, &known) && known.Code == azservicebus.CodeUnauthorizedAccess:
		return refusal(targets.ClassAuth, true, "Service Bus refused the token: "+l.withoutCode(known))
	case errors.As(err, &known) && known.Code == azservicebus.CodeNotFound:
		return refusal(targets.ClassPermanent, true, "Service Bus refused it: "+l.withoutCode(known))
	case errors.Is(err, azservicebus.ErrMessageTooLarge):
		return refusal(targets.ClassPermanent, true, "the message is larger than the link allows")
	default:
		return l.lost("the connection was lost: "+err.Error(), err)
	}
}

// lost returns the error of a connection or link that ended without an answer.
func (l *amqpLine) lost(text string, err error) error {
	return &failure{text: l.printable(text), class: targets.ClassLostConnection, err: err}
}

// withoutCode returns the text of an error without the library's code at its start.
func (l *amqpLine) withoutCode(err *azservicebus.Error) string {
	return l.printable(strings.TrimPrefix(err.Error(), "("+string(err.Code)+"): "))
}
