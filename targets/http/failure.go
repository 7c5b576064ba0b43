package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// refused returns the result of an attempt that cannot be made as it is defined or configured.
func (t *attempt) refused(err error) targets.Result {
	class := targets.ClassPermanent
	if c, ok := targets.ClassifyCause(err); ok {
		class = c.Class
	}
	return targets.Result{
		Outcome: targets.Failed, Summary: t.errorText("EINVAL", err.Error()), Err: err, NoRetry: true,
		Error: targets.ErrorDetail{Text: t.errorText("EINVAL", err.Error()), Class: class},
	}
}

// interrupted returns the result of an attempt whose context ended before an answer.
func (t *attempt) interrupted(cause error) targets.Result {
	end := "before anything was sent."
	if t.sent {
		end = "after the request was sent, before an answer: its effect is unknown."
	}
	result := targets.Result{Err: cause, Error: targets.ErrorDetail{Text: cause.Error(), Class: targets.ClassStopped}}
	switch {
	case errors.Is(cause, targets.ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		result.Outcome, result.Error.Class, result.OutcomeUnknown = targets.TimedOut, targets.ClassTimeout, t.sent
		result.Summary = "The step's time limit passed " + end
	case errors.Is(cause, targets.ErrStopRequested) && !t.sent:
		result.Outcome, result.Summary = targets.Canceled, "The run was stopped "+end
	case errors.Is(cause, targets.ErrStopRequested):
		result.Outcome, result.Summary = targets.Unknown, "The run was stopped "+end
	case !t.sent:
		result.Outcome = targets.NotSent
		result.Summary = fmt.Sprintf("The agent gave the attempt up (%v) %s", cause, end)
	default:
		result.Outcome = targets.Unknown
		result.Summary = fmt.Sprintf("The agent gave the attempt up (%v) %s", cause, end)
	}
	return result
}

// failure returns the result of an attempt whose last request got no answer.
func (t *attempt) failure(ctx context.Context, r *round) targets.Result {
	noAnswer := errors.Is(context.Cause(r.ctx), errNoAnswer)
	r.end(t)
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done() // a connection or Begin may notice the deadline a moment before the context does
	}
	var fence *outbound.FenceError
	switch {
	case ctx.Err() != nil:
		return t.interrupted(context.Cause(ctx))
	case !r.sent && errors.As(r.err, &fence):
		return t.interrupted(fence)
	case !r.sent && r.fence.Refusal() != nil:
		return t.interrupted(r.fence.Refusal())
	case !r.sent:
		return t.notReached(r)
	}
	text := "the connection broke while the request was sent"
	code := codeOf(r.err)
	outcome := targets.Unknown
	switch {
	case noAnswer && r.wrote.Load():
		text, code = "the request was sent, and no answer came in time", "ETIMEDOUT"
		if t.Action.Callback != nil {
			outcome = targets.NoAnswer
		}
	case noAnswer:
		text, code = "the request could not be sent in time", "ETIMEDOUT"
	case r.wrote.Load():
		text = "the request was sent, but no answer could be read: " + answerText(r.err)
	default:
		text += ": " + plainText(r.err)
	}
	err := &SentError{Text: fmt.Sprintf("%s %s: %s", r.method, place(r.url), text), Err: r.err}
	class := targets.ClassifyNetwork(r.err).Class
	switch {
	case noAnswer:
		class = targets.ClassTimeout
	case class == targets.ClassPermanent:
		class = targets.ClassLostConnection
	}
	return targets.Result{
		Outcome: outcome, Summary: t.errorText(code, err.Text) + effectUnknown(outcome), Err: err,
		Error: targets.ErrorDetail{Text: t.errorText(code, err.Text), Class: class},
	}
}

// effectUnknown returns the end of the summary of a request without an answer.
func effectUnknown(outcome targets.Outcome) string {
	if outcome == targets.NoAnswer {
		return ". A report is awaited."
	}
	return ". Its effect is unknown."
}

// SentError means that something of a request was sent, and that no answer could be read.
type SentError struct {
	Text string
	Err  error
}

// Error implements error.
func (e *SentError) Error() string { return e.Text }

// Unwrap returns the reason.
func (e *SentError) Unwrap() error { return e.Err }

// notReached returns the result of a request of which nothing was sent.
func (t *attempt) notReached(r *round) targets.Result {
	err := r.err
	if errors.Is(context.Cause(r.ctx), errNoAnswer) {
		err = errNoAnswer
	}
	var config *targets.ConfigError
	if errors.As(err, &config) {
		return t.refused(config)
	}
	var token *outbound.TokenError
	isToken := errors.As(err, &token)
	classification := targets.ClassifyNetwork(err)
	noRetry := isCertificateFault(err) || isToken && token.Final()
	switch {
	case isToken && token.Final():
		classification.Class = targets.ClassAuth
	case isToken && classification.Class == targets.ClassPermanent:
		classification.Class = targets.ClassTransient
	case errors.Is(err, errNoAnswer):
		classification.Class = targets.ClassTimeout
	case classification.Class == targets.ClassPermanent && noRetry:
		classification.Class = targets.ClassConfig // a protocol that does not fit
	case classification.Class == targets.ClassPermanent:
		classification.Class = targets.ClassLostConnection
	}
	text := fmt.Sprintf("%s %s: %s", r.method, place(r.url), plainText(err))
	return targets.Result{
		Outcome: targets.Failed, Summary: t.errorText(codeOf(err), text), Err: err, NoRetry: noRetry,
		Error: targets.ErrorDetail{Text: t.errorText(codeOf(err), text), Class: classification.Class},
	}
}

// plainText returns the text of an error without the prefixes of net/http.
func plainText(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "net/http: "), "http: ")
}

// answerText returns the text of an error in reading an answer. It repeats nothing of the answer,
// which may hold a part of a secret that the mask does not recognize.
func answerText(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.As(err, &network), errors.Is(err, io.ErrClosedPipe):
		return plainText(err)
	case strings.Contains(err.Error(), "exceeded"):
		return fmt.Sprintf("its headers exceed %d KiB", outbound.MaxHeaderBytes>>10)
	default:
		return "it is not valid HTTP/1.1"
	}
}

// errorText returns the text of an error in the form of the definition's preset. SAP's clients read
// the form of SAP's service.
func (t *attempt) errorText(code, text string) string {
	if t.plan.http != nil && t.presetOf() == action.PresetSAP {
		return "Request Error: Code:-" + code + ", Message:-" + text
	}
	return text
}

// isCertificateFault reports whether TLS failed for a reason that another attempt does not change:
// the server's certificate, or a protocol that one side refuses.
func isCertificateFault(err error) bool {
	var (
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		pin      outbound.PinError
		record   tls.RecordHeaderError
		alert    tls.AlertError
	)
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &invalid) ||
		errors.As(err, &pin) || errors.As(err, &record) || errors.As(err, &alert) || isRemoteAlert(err) ||
		strings.Contains(err.Error(), "tls: ")
}

// isRemoteAlert reports whether the peer ended TLS with an alert, such as "bad certificate".
func isRemoteAlert(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "remote error"
}

// codeOf returns the code of an error in the words of Node.js, which SAP's service uses.
func codeOf(err error) string {
	var dns *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "ENOTFOUND"
	case errors.As(err, &dns):
		return "EAI_AGAIN"
	case isCertificateFault(err):
		return "CERT"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "ECONNREFUSED"
	case errors.Is(err, syscall.EHOSTUNREACH):
		return "EHOSTUNREACH"
	case errors.Is(err, syscall.ENETUNREACH):
		return "ENETUNREACH"
	case errors.Is(err, errNoAnswer), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "ETIMEDOUT"
	case errors.Is(err, syscall.EPIPE):
		return "EPIPE"
	default:
		return "ECONNRESET"
	}
}
