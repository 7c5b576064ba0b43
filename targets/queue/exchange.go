package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

const (
	// maxAnswer bounds the part of an answer's body that is read.
	maxAnswer = 64 << 10
	// bodyTimeout bounds the reading of an answer's body.
	bodyTimeout = 10 * time.Second
)

// answer is the answer to a request.
type answer struct {
	proto  string
	status int
	reason string
	header http.Header
	body   []byte
	// broken is the error that ended the body early; nil for none.
	broken error
}

// exchange sends a request and reads the answer. A request that an answer of 401 refuses is sent
// once more if a token was used, with a new one: the service has not taken the message.
func (t *attempt) exchange(ctx context.Context, auth *outbound.Auth, newRequest func(ctx context.Context) (*http.Request, error)) (*answer, error) {
	for repeated := false; ; repeated = true {
		r, err := newRequest(ctx)
		if err != nil {
			return nil, err
		}
		r.Header.Set("User-Agent", t.cfg.UserAgent)
		// A compressed answer could be larger than it seems.
		r.Header.Set("Accept-Encoding", "identity")
		got, err := t.roundTrip(ctx, auth, r)
		if err == nil && !repeated && got.status == http.StatusUnauthorized && auth.Rejected() {
			continue
		}
		return got, err
	}
}

// roundTrip sends one request and reads the answer.
func (t *attempt) roundTrip(ctx context.Context, auth *outbound.Auth, r *http.Request) (*answer, error) {
	ctx, cancel := context.WithCancelCause(outbound.WithFence(ctx, t.fence, auth))
	defer cancel(nil)
	limit := time.AfterFunc(t.cfg.AnswerTimeout+outbound.ConnectTimeout+outbound.HandshakeTimeout, func() { cancel(errNoAnswer) })
	defer limit.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { limit.Reset(t.cfg.AnswerTimeout) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.wroteWhole()
			}
		},
	})
	resp, err := t.cfg.Network.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errNoAnswer) {
			err = fmt.Errorf("%w within %v", errNoAnswer, t.cfg.AnswerTimeout)
		}
		return nil, err
	}
	limit.Reset(bodyTimeout)
	defer resp.Body.Close()
	got := &answer{proto: resp.Proto, status: resp.StatusCode, reason: resp.Status, header: resp.Header}
	got.body, got.broken = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	t.keep(got)
	return got, nil
}

// keptHeaders are the headers of an answer that are kept.
var keptHeaders = []string{"Content-Type", "Retry-After", "Location", "x-ms-request-id", "x-ms-error-code", "x-request-id"}

// keep adds the status and the kept headers of an answer to the messages of the attempt.
func (t *attempt) keep(got *answer) {
	lines := []string{oneLine(got.proto+" "+got.reason, 200)}
	for _, name := range keptHeaders {
		if value := got.header.Get(name); value != "" {
			lines = append(lines, name+": "+oneLine(value, 500))
		}
	}
	t.messages = append(t.messages, targets.Message{
		Kind: targets.KindResponse, Number: int32(got.status), Text: strings.Join(lines, "\n"),
	})
}

// keepBody adds the body of an answer to the messages, if it is text.
func (t *attempt) keepBody(got *answer) {
	if len(got.body) > 0 && utf8.Valid(got.body) {
		t.messages = append(t.messages, targets.Message{Kind: targets.KindBody, Text: string(got.body)})
	}
}

// remark adds a line to the kept answer.
func (t *attempt) remark(name, value string) {
	if n := len(t.messages); n > 0 && value != "" {
		t.messages[n-1].Text += "\n" + name + ": " + value
	}
}

// wroteWhole records that the whole request was written.
func (t *attempt) wroteWhole() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole = true
}

// isWhole reports whether the whole request was written.
func (t *attempt) isWhole() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.whole
}

// newPost returns a request that the caller authorizes.
func newPost(u *url.URL, body []byte) *http.Request {
	return &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// authorize adds to a request what a credential sends: a token for the scope, unless the credential
// has a scope of its own. A shared access signature is added elsewhere; auth may be nil.
func authorize(ctx context.Context, auth *outbound.Auth, r *http.Request, scope string) error {
	if auth == nil {
		return nil
	}
	switch auth.Kind() {
	case outbound.KindOAuth2, outbound.KindManagedIdentity, outbound.KindAzureDefault:
		token, err := auth.Token(ctx, scope)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	case outbound.KindBearer:
		r.Header.Set("Authorization", "Bearer "+auth.Secret())
	}
	return nil
}

// retryAfter returns the wait that an answer of 429 or 503 asks for; 0 for none. now is the agent's
// clock, with which a date is compared.
func retryAfter(got *answer, now time.Time) time.Duration {
	if got.status != http.StatusTooManyRequests && got.status != http.StatusServiceUnavailable {
		return 0
	}
	text := strings.TrimSpace(got.header.Get("Retry-After"))
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// statusClass returns the class of an answer's status.
func statusClass(status int) targets.Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return targets.ClassAuth
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return targets.ClassTimeout
	case status == http.StatusTooManyRequests, status >= 500:
		return targets.ClassTransient
	default:
		return targets.ClassPermanent
	}
}

// statusRetried reports whether a request with such an answer may succeed in another attempt,
// whatever the service is.
func statusRetried(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// refused returns the error of an answer that is not 201. detail is what the service said.
func refused(got *answer, service, detail string, retried bool) error {
	text := fmt.Sprintf("%s answered with status %s", service, oneLine(got.reason, 200))
	if detail != "" {
		text += ": " + detail
	}
	err := &answered{failure: failure{text: text, class: statusClass(got.status), noRetry: !retried}, retryAfter: retryAfter(got, time.Now())}
	if got.status < 300 {
		// Not the service's: 201 is its only answer to a message that it has taken.
		err.unknown = true
		err.text = fmt.Sprintf("%s, want 201: something between the agent and the service answered", text)
	}
	return err
}
