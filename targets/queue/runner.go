package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// DefaultAnswerTimeout is how long an answer may take after the connection is made.
const DefaultAnswerTimeout = 60 * time.Second

// Config configures a Runner.
type Config struct {
	// Network is required: connections and credentials.
	Network *outbound.Network
	// UserAgent is the value of the header User-Agent; empty means jobagent.
	UserAgent string
	// Region is the element Region of Azure Scheduler's envelope; it may be empty.
	Region string
	// AnswerTimeout bounds the time from the connection to the answer; 0 means
	// DefaultAnswerTimeout.
	AnswerTimeout time.Duration
	// ShowRequests adds a message of the kind Agent with each request, masked, for a person who
	// tries an action.
	ShowRequests bool
	// Limits bound the texts of messages that are kept.
	Limits targets.Limits
}

// Runner puts messages on queues. Safe for concurrent use.
type Runner struct {
	cfg Config
}

var _ targets.ActionRunner = (*Runner)(nil)

// NewRunner returns a runner for actions of the types StorageQueue, ServiceBusQueue and
// ServiceBusTopic.
func NewRunner(cfg Config) *Runner {
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "jobagent")
	cfg.AnswerTimeout = cmp.Or(cfg.AnswerTimeout, DefaultAnswerTimeout)
	cfg.Limits = cfg.Limits.WithDefaults()
	return &Runner{cfg: cfg}
}

// Run makes one attempt. It leaves no connection and no goroutine behind. The outcome is Succeeded
// only if the service said that it has the message.
func (r *Runner) Run(ctx context.Context, a targets.ActionAttempt) targets.Result {
	start := time.Now()
	t := &attempt{ActionAttempt: a, cfg: r.cfg, mask: outbound.NewMask()}
	if a.Action != nil {
		t.mask.Add(a.Action.Secrets...)
	}
	err := t.run(ctx)
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done() // a connection may notice the deadline a moment before the context does
	}
	res := t.result(ctx, err)
	res.Elapsed = time.Since(start)
	return res
}

// attempt is a running ActionAttempt.
type attempt struct {
	targets.ActionAttempt
	cfg  Config
	mask *outbound.Mask

	// begin guards the results of Begin, which every request of the attempt needs.
	begin   sync.Once
	before  time.Time
	refusal error

	// sent says whether a byte of the last request may have left, whole whether all did, and ever
	// whether one of any request did.
	sent, whole, ever bool
	// summary tells what is known of a message that the service has.
	summary  string
	messages []targets.Message
}

// fenced calls fn with a fence of its own. A request that was answered does not count as sent for
// the next one.
func (t *attempt) fenced(ctx context.Context, fn func(ctx context.Context, fence *outbound.Fence) error) error {
	ctx, cancel := context.WithCancel(ctx)
	fence := outbound.NewFence(ctx, t.permission)
	t.sent, t.whole = false, false
	err := fn(ctx, fence)
	cancel()
	fence.Close()
	t.sent = fence.Sent()
	t.ever = t.ever || t.sent
	return err
}

// permission is Begin of the attempt, which is called once.
func (t *attempt) permission(ctx context.Context) (before time.Time, err error) {
	t.begin.Do(func() {
		if t.Begin != nil {
			t.before, t.refusal = t.Begin(ctx)
		}
	})
	return t.before, t.refusal
}

// run sends the message. nil means that the service has it.
func (t *attempt) run(ctx context.Context) error {
	switch d := t.Action; {
	case d == nil:
		return faultf("the definition of the action is missing")
	case d.StorageQueue != nil:
		return t.putMessage(ctx, d.StorageQueue)
	case d.ServiceBus != nil && d.ServiceBus.AMQP:
		return t.sendAMQP(ctx, d.ServiceBus)
	case d.ServiceBus != nil:
		return t.sendHTTPS(ctx, d.ServiceBus)
	default:
		return faultf("invalid type %q: want %s, %s or %s", d.Type, action.TypeStorageQueue, action.TypeServiceBusQueue,
			action.TypeServiceBusTopic)
	}
}

// answered is the error of an answer that decides the outcome: the service refused the message, or
// its answer is not one of the service's.
type answered struct {
	failure
	status int // of HTTP; 0 for AMQP
	// unknown says that the answer does not tell whether the service has the message.
	unknown    bool
	retryAfter time.Duration
}

// refusal returns the error of a message that the service has not taken.
func refusal(class targets.Class, noRetry bool, text string) error {
	return &answered{failure: failure{text: text, class: class, noRetry: noRetry}}
}

// errNoAnswer is the cause that ends a request whose answer takes too long.
var errNoAnswer = errors.New("no answer in time")

// result turns the error of run into the result. ctx is the context of Run.
func (t *attempt) result(ctx context.Context, err error) targets.Result {
	res := targets.Result{Sent: t.ever, Messages: t.messages}
	var said *answered
	status := 0
	switch {
	case err == nil:
		res.Outcome, res.Summary = targets.Succeeded, t.summary
		if t.Action.Callback != nil && !t.Action.Callback.StatusAccepted {
			res.Outcome = targets.Accepted
			res.Summary += " A report is awaited."
		}
		return t.cut(res)
	case errors.As(err, &said):
		res.Outcome, res.RetryAfter, status = targets.Failed, said.retryAfter, said.status
		if said.unknown {
			res.Outcome = targets.Unknown
		}
	case ctx.Err() != nil:
		err = t.interrupted(ctx, &res)
	case !t.sent && (t.refusal != nil || isFence(err)):
		res.Outcome = targets.NotSent
		if t.refusal != nil {
			err = fmt.Errorf("the attempt may not send: %w", t.refusal)
		}
	case !t.sent:
		res.Outcome = targets.Failed
	case t.whole && errors.Is(err, errNoAnswer) && t.Action.Callback != nil:
		res.Outcome = targets.NoAnswer
	default:
		res.Outcome = targets.Unknown
	}
	class, noRetry := classify(err)
	if res.Outcome == targets.NotSent || ctx.Err() != nil && said == nil && res.Outcome != targets.TimedOut {
		class = targets.ClassStopped
	}
	res.NoRetry = noRetry && res.Outcome == targets.Failed
	res.Err = t.mask.Err(err)
	res.Error = targets.ErrorDetail{Number: int32(status), Text: res.Err.Error(), Class: class}
	res.Summary = res.Error.Text
	if res.Outcome == targets.Unknown || res.Outcome == targets.NoAnswer {
		res.Summary = "the message may have arrived: " + res.Summary
	}
	return t.cut(res)
}

// interrupted sets the outcome of an attempt whose context ended, by the contract of a runner.
func (t *attempt) interrupted(ctx context.Context, res *targets.Result) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, targets.ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		res.Outcome, res.OutcomeUnknown = targets.TimedOut, t.sent
	case t.sent:
		res.Outcome = targets.Unknown
	case errors.Is(cause, targets.ErrStopRequested):
		res.Outcome = targets.Canceled
	default:
		res.Outcome = targets.NotSent
	}
	return cause
}

// cut masks and cuts the texts of a result.
func (t *attempt) cut(res targets.Result) targets.Result {
	limit := t.cfg.Limits.TextBytes
	res.Summary = wording.Clip(t.mask.String(res.Summary), limit, wording.Bytes)
	res.Error.Text = wording.Clip(t.mask.String(res.Error.Text), limit, wording.Bytes)
	total, kept := 0, res.Messages[:0]
	for _, m := range res.Messages {
		m.Text = wording.Clip(t.mask.String(m.Text), limit, wording.Bytes)
		if total += len(m.Text); total > t.cfg.Limits.MessageBytes || len(kept) == t.cfg.Limits.Messages {
			res.MessagesDropped++
			continue
		}
		kept = append(kept, m)
	}
	res.Messages = kept
	return res
}

// isFence reports whether the fence ended an attempt.
func isFence(err error) bool {
	var fence *outbound.FenceError
	return errors.As(err, &fence)
}

// classify returns the class of an error, and whether another attempt cannot help.
func classify(err error) (class targets.Class, noRetry bool) {
	var (
		known  *failure
		said   *answered
		token  *outbound.TokenError
		config *targets.ConfigError
		phase  *outbound.PhaseError
	)
	switch {
	case errors.As(err, &said):
		return said.class, said.noRetry
	case errors.As(err, &known):
		return known.class, known.noRetry
	case errors.As(err, &config):
		return targets.ClassConfig, true
	case errors.As(err, &token) && token.Final():
		return targets.ClassAuth, true
	case errors.Is(err, errNoAnswer):
		return targets.ClassTimeout, false
	}
	if c, ok := targets.ClassifyCause(err); ok {
		return c.Class, false
	}
	class = targets.ClassifyNetwork(err).Class
	switch {
	case errors.As(err, &token) && class == targets.ClassPermanent:
		return targets.ClassTransient, false
	case errors.As(err, &phase) && phase.Phase == "TLS handshake" && !phase.TimedOut &&
		(!class.Retryable() || strings.Contains(err.Error(), "tls: ")):
		// A certificate or a protocol that does not fit is the same in another attempt.
		return targets.ClassConfig, true
	case class == targets.ClassPermanent:
		return targets.ClassLostConnection, false
	default:
		return class, false
	}
}
