package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// Times of an attempt. The context bounds all of them together.
const (
	// defaultResponseTimeout is used when the definition has none.
	defaultResponseTimeout = 60 * time.Second
	// bodyTimeout bounds reading the body of an answer.
	bodyTimeout = 10 * time.Second
)

// Config is the configuration of a Runner.
type Config struct {
	// Version is the agent's, for the header User-Agent.
	Version string
	// ShowRequests adds a message of the kind Agent with each request, masked, for a person who
	// tries an action.
	ShowRequests bool
}

// Runner is the targets.ActionRunner of action.TypeHTTP. Safe for concurrent use.
type Runner struct {
	network *outbound.Network
	cfg     Config
}

// NewRunner returns a runner that dials through the network.
func NewRunner(network *outbound.Network, cfg Config) *Runner {
	return &Runner{network: network, cfg: cfg}
}

// Run makes one attempt; it implements targets.ActionRunner.
func (r *Runner) Run(ctx context.Context, a targets.ActionAttempt) targets.Result {
	started := time.Now()
	t := &attempt{ActionAttempt: a, runner: r, mask: outbound.NewMask(), begin: a.Begin}
	if a.Begin != nil {
		t.begin = onceBegin(a.Begin)
	}
	result := t.run(ctx)
	result.Sent = t.sent
	result.Summary = t.mask.String(result.Summary)
	result.Error.Text = t.mask.String(result.Error.Text)
	result.Err = t.mask.Err(result.Err)
	for i, m := range t.messages {
		t.messages[i].Text = t.mask.String(m.Text)
	}
	result.Messages = t.messages
	result.Phases = t.phases()
	result.Elapsed = time.Since(started)
	return result
}

// onceBegin returns a function that calls begin the first time only. Each request of an attempt has
// a fence of its own.
func onceBegin(begin func(context.Context) (time.Time, error)) func(context.Context) (time.Time, error) {
	var once sync.Once
	var before time.Time
	var err error
	return func(ctx context.Context) (time.Time, error) {
		once.Do(func() { before, err = begin(ctx) })
		return before, err
	}
}

// attempt is the state of one attempt. One goroutine uses it.
type attempt struct {
	targets.ActionAttempt
	runner   *Runner
	mask     *outbound.Mask
	begin    func(context.Context) (time.Time, error)
	plan     plan
	messages []targets.Message
	// sent says whether a byte of any request left.
	sent bool
	// requested is when the first request began; zero: none did. status is that of the last answer.
	requested time.Time
	status    int
}

// phases returns the parts of the attempt for its trace.
func (t *attempt) phases() []targets.Phase {
	if t.requested.IsZero() {
		return nil
	}
	return []targets.Phase{{
		Name: targets.PhaseRequest, Start: t.requested, End: time.Now(), Method: t.plan.http.Method, Status: t.status,
		Server: t.plan.url.Host, Failed: t.status == 0 || t.status >= 400,
	}}
}

// remark adds a message of the agent.
func (t *attempt) remark(format string, args ...any) {
	t.messages = append(t.messages, targets.Message{Kind: targets.KindAgent, Text: fmt.Sprintf(format, args...)})
}

// The causes that end one request of an attempt.
var (
	errNoAnswer  = errors.New("no answer in time")
	errSlowBody  = errors.New("the body came too slowly")
	errRoundOver = errors.New("the request has ended")
)

func (t *attempt) run(ctx context.Context) targets.Result {
	if ctx.Err() != nil {
		return t.interrupted(context.Cause(ctx))
	}
	if err := t.prepare(); err != nil {
		return t.refused(err)
	}
	target, method, body := t.plan.url, t.plan.http.Method, t.plan.http.Body
	for redirects, repeated := 0, false; ; {
		round := t.send(ctx, method, target, body)
		if round.resp != nil {
			t.status = round.resp.StatusCode
		}
		if round.resp == nil {
			return t.failure(ctx, round)
		}
		if round.resp.StatusCode == nethttp.StatusUnauthorized && !repeated &&
			t.plan.auth.Covers(target) && t.plan.auth.Rejected() {
			round.end(t)
			t.remark("The endpoint rejected the token (401): the request is repeated with a new token.")
			repeated = true
			continue
		}
		next := t.redirect(round.resp, target, redirects)
		if next == nil {
			return t.answered(ctx, round)
		}
		status := round.resp.StatusCode
		round.end(t)
		if next.err != nil {
			return t.refused(next.err)
		}
		redirects++
		t.remark("Redirected (%d) to %s.", status, place(next.url))
		if status != nethttp.StatusTemporaryRedirect && status != nethttp.StatusPermanentRedirect &&
			method != nethttp.MethodGet && method != nethttp.MethodHead {
			method, body = nethttp.MethodGet, nil
		}
		target = next.url
	}
}

// round is one request of an attempt with its answer.
type round struct {
	method string
	url    *url.URL
	fence  *outbound.Fence
	cancel context.CancelCauseFunc
	timer  *time.Timer // of the answer's headers
	// wrote says that the whole request was written.
	wrote *atomic.Bool
	ctx   context.Context

	resp *nethttp.Response // nil if err is set
	err  error
	sent bool // final after end
}

// end ends the request. Afterwards, no byte leaves, and no goroutine of the request runs.
func (r *round) end(t *attempt) {
	r.cancel(errRoundOver)
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.resp != nil {
		_ = r.resp.Body.Close()
	}
	r.fence.Close()
	r.sent = r.fence.Sent()
	t.sent = t.sent || r.sent
}

// send sends one request and waits for the headers of its answer. The caller must call end.
func (t *attempt) send(ctx context.Context, method string, target *url.URL, body []byte) *round {
	if t.requested.IsZero() {
		t.requested = time.Now()
	}
	r := &round{method: method, url: target, wrote: new(atomic.Bool)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.fence = outbound.NewFence(r.ctx, t.begin)
	var auth *outbound.Auth
	if t.plan.auth.Covers(target) {
		auth = t.plan.auth
	}
	traced := httptrace.WithClientTrace(r.ctx, &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				r.wrote.Store(true)
			}
		},
	})
	request := t.request(traced, method, target, body)
	if err := auth.Authorize(r.ctx, request, body, t.Key.String(), time.Now()); err != nil {
		r.err = err
		return r
	}
	if t.runner.cfg.ShowRequests {
		t.show(request, body)
	}
	r.timer = time.AfterFunc(cmp.Or(t.plan.http.ResponseTimeout, defaultResponseTimeout), func() { r.cancel(errNoAnswer) })
	r.resp, r.err = t.runner.network.For(r.fence, auth).RoundTrip(request)
	r.timer.Stop()
	return r
}

// next is the place that a redirect names.
type next struct {
	url *url.URL
	err error
}

// redirect returns the place of the next request, or nil if the answer is the last one.
func (t *attempt) redirect(resp *nethttp.Response, from *url.URL, redirects int) *next {
	follow := t.plan.http.FollowRedirects
	codes := []int{nethttp.StatusMovedPermanently, nethttp.StatusFound, nethttp.StatusSeeOther,
		nethttp.StatusTemporaryRedirect, nethttp.StatusPermanentRedirect}
	if follow == 0 || !slices.Contains(codes, resp.StatusCode) || resp.Header.Get("Location") == "" {
		return nil
	}
	if redirects == follow {
		return &next{err: fmt.Errorf("more redirects than follow_redirects permits (%d)", follow)}
	}
	location, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		return &next{err: errors.New("the redirect names an invalid URL")}
	}
	to := from.ResolveReference(location)
	to.Fragment, to.RawFragment = "", ""
	switch {
	case from.Scheme == "https" && to.Scheme == "http":
		return &next{err: fmt.Errorf("the redirect from https to http (%s) is not followed", place(to))}
	case to.User != nil:
		return &next{err: errors.New("the redirect names an URL with a user")}
	default:
		if err := t.checkURL(to); err != nil {
			return &next{err: fmt.Errorf("the redirect names an invalid URL: %w", err)}
		}
		if err := outbound.CheckSecretsFor(t.Action, to.String()); err != nil {
			return &next{err: fmt.Errorf("the redirect is not followed: %w", err)}
		}
	}
	return &next{url: to}
}

// place returns scheme, host and path of a URL. The query may hold secrets.
func place(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// presetOf returns the preset of the definition's success rule.
func (t *attempt) presetOf() action.Preset {
	if len(t.plan.http.Success.Ranges) > 0 {
		return ""
	}
	return cmp.Or(t.plan.http.Success.Preset, action.PresetWebhook)
}
