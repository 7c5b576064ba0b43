package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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
	header http.Header
	body   string // masked
	// broken is the error that ended the body early; nil for none.
	broken error
}

// exchange sends a request and reads the answer. A request that an answer of 401 refuses is sent
// once more if a token was used, with a new one: the service has not taken the message.
func (t *attempt) exchange(
	ctx context.Context, auth *outbound.Auth, newRequest func(ctx context.Context) (*http.Request, error),
) (got *answer, err error) {
	for repeated := false; ; repeated = true {
		r, err := newRequest(ctx)
		if err != nil {
			return nil, err
		}
		r.Header.Set("User-Agent", t.cfg.UserAgent)
		// A compressed answer could be larger than it seems.
		r.Header.Set("Accept-Encoding", "identity")
		if t.cfg.ShowRequests {
			t.show(r)
		}
		err = t.fenced(ctx, func(ctx context.Context, fence *outbound.Fence) error {
			got, err = t.roundTrip(ctx, t.cfg.Network.For(fence, auth), r)
			return err
		})
		if err != nil {
			return nil, err
		}
		if repeated || got.status != http.StatusUnauthorized || !auth.Rejected() {
			return got, nil
		}
	}
}

// roundTrip sends one request and reads the answer.
func (t *attempt) roundTrip(ctx context.Context, network *outbound.Dialer, r *http.Request) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole := outbound.ConnectTimeout + outbound.HandshakeTimeout + t.cfg.AnswerTimeout
	limit := time.AfterFunc(whole, func() { cancel(errNoAnswer) })
	defer limit.Stop()
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { limit.Reset(t.cfg.AnswerTimeout) },
		WroteRequest: func(info httptrace.WroteRequestInfo) { wrote.Store(info.Err == nil) },
	})
	resp, err := network.RoundTrip(r.WithContext(ctx))
	t.whole = wrote.Load()
	if err != nil {
		return nil, t.exchangeError(ctx, err)
	}
	defer resp.Body.Close()
	limit.Reset(bodyTimeout)
	got := &answer{proto: resp.Proto, status: resp.StatusCode, header: resp.Header}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+int64(t.mask.Longest())))
	text := t.mask.String(string(body)) // before the cut, which may divide a secret
	got.body, got.broken = text[:min(len(text), maxAnswer)], err
	t.keep(got)
	return got, nil
}

// exchangeError returns the error of a request that was not answered.
func (t *attempt) exchangeError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		return fmt.Errorf("%w within %v", errNoAnswer, t.cfg.AnswerTimeout)
	}
	var (
		network net.Error
		phase   *outbound.PhaseError
		config  *targets.ConfigError
		fence   *outbound.FenceError
	)
	switch {
	case errors.As(err, &phase), errors.As(err, &config), errors.As(err, &fence):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the connection was closed before the answer: %w", err)
	case errors.As(err, &network):
		return fmt.Errorf("the connection broke: %w", err)
	default:
		// net/http's text may repeat a part of the answer, which may be a part of a secret.
		return &failure{text: "the answer is not valid HTTP/1.1", class: targets.ClassLostConnection}
	}
}

// keptHeaders are the headers of an answer that are kept.
var keptHeaders = []string{"Content-Type", "Retry-After", "x-ms-request-id", "x-ms-error-code"}

// keep adds the status and the kept headers of an answer to the messages of the attempt.
func (t *attempt) keep(got *answer) {
	lines := []string{got.proto + " " + statusText(got.status)}
	for _, name := range keptHeaders {
		if value := got.header.Get(name); value != "" {
			lines = append(lines, name+": "+t.printable(value))
		}
	}
	t.messages = append(t.messages, targets.Message{
		Kind: targets.KindResponse, Number: int32(got.status), Text: strings.Join(lines, "\n"),
	})
}

// printable returns a text of a service in one line, masked before it is cut.
func (t *attempt) printable(text string) string { return oneLine(t.mask.String(text), 500) }

// show adds a message with a request. net/http adds the headers of the connection when it writes
// the request.
func (t *attempt) show(r *http.Request) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\nHost: %s", r.Method, r.URL.RequestURI(), r.Host)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "\n%s: %s", name, strings.Join(r.Header[name], ", "))
	}
	if body, err := r.GetBody(); err == nil {
		text, _ := io.ReadAll(body) // of a memory buffer
		t.showText(b.String() + "\n\n" + string(text))
	}
}

// showText adds a message with what is sent.
func (t *attempt) showText(text string) {
	t.messages = append(t.messages, targets.Message{
		Kind: targets.KindAgent, Text: strings.ToValidUTF8(t.mask.String(text), "\uFFFD"),
	})
}

// statusText returns a status with its standard text, not with the server's.
func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// keepBody adds the body of an answer to the messages, if it is text.
func (t *attempt) keepBody(got *answer) {
	body := strings.TrimPrefix(got.body, "\uFEFF")
	if body != "" && utf8.ValidString(body) && !strings.ContainsRune(body, 0) {
		t.messages = append(t.messages, targets.Message{Kind: targets.KindBody, Text: body})
	}
}

// remark adds a line to the kept answer.
func (t *attempt) remark(name, value string) {
	if n := len(t.messages); n > 0 && value != "" {
		t.messages[n-1].Text += "\n" + name + ": " + value
	}
}

// newPost returns a request that the caller authorizes.
func newPost(u *url.URL, body []byte) *http.Request {
	return &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
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
	text := fmt.Sprintf("%s answered %s", service, statusText(got.status))
	if detail != "" {
		text += ": " + detail
	}
	err := &answered{
		failure: failure{text: text, class: statusClass(got.status), noRetry: !retried},
		status:  got.status, retryAfter: outbound.RetryAfter(got.status, got.header, time.Now()),
	}
	if got.status < 300 {
		// Not the service's: 201 is its only answer to a message that it has taken.
		err.unknown = true
		err.text = fmt.Sprintf("%s, want 201: something between the agent and the service answered", text)
	}
	return err
}
