package http

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	nethttp "net/http"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// Limits of an answer. The sizes of a compressed body count after decompression.
const (
	keptBody    = 64 << 10
	drainedBody = 1 << 20
	keptHeader  = 1 << 10 // of one value
	keptStatus  = 200     // of the status line
)

// usualHeaders are the headers of an answer that are always kept.
var usualHeaders = []string{"Content-Type", "Location", "Retry-After", "Traceparent", "X-Request-Id"}

// secretHeaders are never kept.
var secretHeaders = []string{"Authentication-Info", "Authorization", "Cookie", "Proxy-Authenticate",
	"Proxy-Authentication-Info", "Proxy-Authorization", "Set-Cookie", "Set-Cookie2", "Www-Authenticate"}

// answered returns the result of an attempt that was answered. The status decides, even if the body
// breaks.
func (t *attempt) answered(ctx context.Context, r *round) targets.Result {
	status := r.resp.StatusCode
	timer := time.AfterFunc(bodyTimeout, func() { r.cancel(errSlowBody) })
	body, err := t.readBody(r.resp)
	timer.Stop()
	r.end(t)
	clean := t.masked(body)
	t.keep(r.resp, clean)
	switch {
	case err != nil && ctx.Err() != nil:
		t.remark("The body was cut: %v.", context.Cause(ctx))
	case err != nil && errors.Is(context.Cause(r.ctx), errSlowBody):
		t.remark("The body was cut: it did not end in %s.", bodyTimeout)
	case err != nil:
		t.remark("The body was cut: %v.", err)
	}
	return t.judge(r, status, clean)
}

// readBody returns the part of the body that is kept, and a little more, so that a secret that
// stands across the cut is known. The error says that the rest could not be read.
func (t *attempt) readBody(resp *nethttp.Response) ([]byte, error) {
	if resp.StatusCode < nethttp.StatusOK { // 101: the rest of the connection is not a body
		return nil, nil
	}
	limit := keptBody + 1 + min(t.mask.Longest(), keptBody)
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)))
	if err == nil {
		_, err = io.CopyN(io.Discard, resp.Body, drainedBody)
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	return body, err
}

// masked returns the body without secrets. Everything after it, kept texts and decisions, sees the
// body in this form only: the outcome of a pattern that sees a secret tells the secret.
func (t *attempt) masked(body []byte) string {
	longest := min(t.mask.Longest(), keptBody)
	text := t.mask.String(string(body))
	if len(body) == keptBody+1+longest {
		// The body goes on. Its end may be a part of a secret, which the mask does not recognize.
		// Secrets before it are shorter in text, so that the end may stand within the kept part.
		text = text[:len(text)-min(len(text), longest)]
	}
	return text
}

// keep adds the messages of an answer.
func (t *attempt) keep(resp *nethttp.Response, body string) {
	var b strings.Builder
	b.WriteString(printable(t.mask.String(resp.Proto+" "+resp.Status), keptStatus))
	names := slices.Clone(usualHeaders)
	for _, name := range t.plan.http.CaptureHeaders {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !slices.Contains(names, name) && !slices.Contains(secretHeaders, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		for _, value := range resp.Header.Values(name) {
			value = signature.ReplaceAllString(t.mask.String(value), "${1}***")
			b.WriteString("\n" + name + ": " + printable(value, keptHeader))
		}
	}
	t.messages = append(t.messages, targets.Message{
		Kind: targets.KindResponse, Number: int32(resp.StatusCode), Text: b.String(),
	})
	if len(body) == 0 {
		return
	}
	text, binary := bodyText(body)
	t.messages = append(t.messages, targets.Message{Kind: targets.KindBody, Text: text})
	if binary {
		t.remark("The body is not UTF-8: it is kept as base64.")
	}
}

// signature matches the signature of a shared access signature in a URL.
var signature = regexp.MustCompile(`(?i)([?&]sig=)[^&\s]+`)

// bodyText returns a masked body as it is kept, and whether it is base64.
func bodyText(masked string) (text string, binary bool) {
	cut := len(masked) > keptBody
	if cut {
		masked = masked[:keptBody]
	}
	complete := masked
	if cut {
		complete = trimPartialRune(masked)
	}
	// A NUL ends the text in some clients.
	if utf8.ValidString(complete) && !strings.ContainsRune(complete, 0) {
		if cut {
			complete += "…"
		}
		return complete, false
	}
	return base64.StdEncoding.EncodeToString([]byte(masked)), true
}

// trimPartialRune removes the bytes of an incomplete character at the end.
func trimPartialRune(text string) string {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// printable returns a text of a server in one line of at most limit bytes.
func printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimSpace(wording.Clip(text, limit, wording.Bytes))
}

// judge returns the result by the status, and by the body where the definition says so.
func (t *attempt) judge(r *round, status int, body string) targets.Result {
	answer := fmt.Sprintf("%s %s answered %s.", r.method, place(r.url), statusText(status))
	fault := ""
	if t.succeeds(status) {
		fault = t.bodyFault(body)
	} else {
		fault = "The status does not count as success."
		if location := r.resp.Header.Get("Location"); location != "" && status >= 300 && status < 400 {
			fault = "The redirect to " + signature.ReplaceAllString(printable(t.mask.String(location), keptHeader), "${1}***") +
				" was not followed."
		}
	}
	if fault == "" {
		if t.waits(status) {
			return targets.Result{Outcome: targets.Accepted, Summary: answer + " A report is awaited."}
		}
		return targets.Result{Outcome: targets.Succeeded, Summary: answer}
	}
	err := &StatusError{Status: status, Text: answer + " " + fault}
	return targets.Result{
		Outcome: targets.Failed, Summary: err.Text, Err: err,
		Error:      targets.ErrorDetail{Number: int32(status), Text: err.Text, Class: classOf(status)},
		NoRetry:    !t.succeeds(status) && !isRetried(status),
		RetryAfter: outbound.RetryAfter(status, r.resp.Header, time.Now()),
	}
}

// StatusError means that an answer did not count as success.
type StatusError struct {
	Status int
	Text   string
}

// Error implements error.
func (e *StatusError) Error() string { return e.Text }

// statusText returns the number of a status with its standard text. The server's own text is in the
// message of the answer only.
func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + nethttp.StatusText(status))
}

// succeeds reports whether a status counts as success.
func (t *attempt) succeeds(status int) bool {
	switch t.presetOf() {
	case "":
		return slices.ContainsFunc(t.plan.http.Success.Ranges, func(r action.StatusRange) bool {
			return status >= r.From && status <= r.To
		})
	case action.PresetSAP:
		return status >= 200 && status <= 399
	default:
		return status >= 200 && status <= 299
	}
}

// waits reports whether a report from outside ends the action after a success.
func (t *attempt) waits(status int) bool {
	c := t.Action.Callback
	return c != nil && (!c.StatusAccepted || status == nethttp.StatusAccepted)
}

// bodyFault returns why the kept part of a masked body is not one of a success; empty if it is.
func (t *attempt) bodyFault(body string) string {
	body = body[:min(len(body), keptBody)]
	switch {
	case t.plan.bodyFailsOn != nil && t.plan.bodyFailsOn.MatchString(body):
		return "The body matches body_fails_on."
	case t.plan.bodyMatches != nil && !t.plan.bodyMatches.MatchString(body):
		return "The body does not match body_matches."
	default:
		return ""
	}
}

// classOf returns the class of a status that is not a success.
func classOf(status int) targets.Class {
	switch status {
	case nethttp.StatusUnauthorized, nethttp.StatusForbidden, nethttp.StatusProxyAuthRequired:
		return targets.ClassAuth
	case nethttp.StatusRequestTimeout, nethttp.StatusGatewayTimeout:
		return targets.ClassTimeout
	default:
		if isRetried(status) {
			return targets.ClassTransient
		}
		return targets.ClassPermanent
	}
}

// isRetried reports whether another attempt may help after a status.
func isRetried(status int) bool {
	switch status {
	case nethttp.StatusRequestTimeout, nethttp.StatusTooEarly, nethttp.StatusTooManyRequests:
		return true
	case nethttp.StatusNotImplemented, nethttp.StatusHTTPVersionNotSupported:
		return false
	default:
		return status >= 500
	}
}
