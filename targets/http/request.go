package http

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	nethttp "net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets/outbound"
)

// Limits of a request. jobs/action checks definitions by the same limits; an expanded definition is
// checked again here.
const (
	maxURL         = 2048
	maxHeaders     = 50
	maxHeaderBytes = 8 << 10
	maxBody        = 256 << 10
	maxRedirects   = 5
)

// plan is a checked definition.
type plan struct {
	http        *action.HTTP
	url         *url.URL
	auth        *outbound.Auth
	bodyMatches *regexp.Regexp // nil for no condition
	bodyFailsOn *regexp.Regexp
}

// prepare checks the definition and reads the secrets. Nothing is sent.
func (t *attempt) prepare() error {
	if t.Action == nil || t.Action.HTTP == nil {
		return errors.New("the action has no HTTP request")
	}
	t.mask.Add(t.Action.Secrets...)
	if t.CallbackURL != "" { // who has the token can report
		t.mask.Add(t.CallbackURL, path.Base(t.CallbackURL))
	}
	h := t.Action.HTTP
	t.plan.http = h
	text := h.Endpoint(t.Number)
	if len(text) > maxURL {
		return fmt.Errorf("invalid URL: %d bytes, want at most %d", len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("invalid URL: want an absolute http or https URL") // the error repeats the URL
	}
	if err := t.checkURL(u); err != nil {
		return fmt.Errorf("invalid URL: %w", err)
	}
	if u.Scheme == "http" && !h.AllowHTTP {
		return errors.New("invalid URL: the scheme is http; want https, or allow_http true")
	}
	t.plan.url = u
	if err := checkRequest(h); err != nil {
		return err
	}
	if t.plan.bodyMatches, err = compile("body_matches", h.Success.BodyMatches); err != nil {
		return err
	}
	if t.plan.bodyFailsOn, err = compile("body_fails_on", h.Success.BodyFailsOn); err != nil {
		return err
	}
	if err := t.runner.network.Check(hostPort(u)); err != nil {
		return err
	}
	t.plan.auth, err = t.runner.network.Authentication(t.Credential, h.Auth, h.AllowHTTP, u, t.mask)
	t.plan.auth.SetTenant(t.Tenant)
	return err
}

// compile compiles an expression of the success rule; nil for an empty text.
func compile(name, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("invalid %s: %w", name, err)
	}
	return expression, nil
}

// checkURL checks the URL of a request, of the definition or of a redirect.
func (t *attempt) checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the scheme is %q, want https or http", u.Scheme)
	case u.Host == "" || u.Hostname() == "":
		return errors.New("the host is missing")
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }):
		return errors.New("the host is not in ASCII; want its form that begins with xn--")
	case u.User != nil:
		return errors.New("user and password are not permitted in a URL; use a credential")
	case u.Fragment != "":
		return errors.New("a fragment is not permitted")
	default:
		return nil
	}
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// checkRequest checks method, headers and body after the expansion of templates, which may have
// inserted anything.
func checkRequest(h *action.HTTP) error {
	if !outbound.IsToken(h.Method) {
		return fmt.Errorf("invalid method %q: want a token such as POST", h.Method)
	}
	if h.Method == nethttp.MethodConnect {
		return errors.New("invalid method CONNECT: it opens a tunnel")
	}
	if len(h.Body) > maxBody {
		return fmt.Errorf("invalid body: %d bytes, want at most %d", len(h.Body), maxBody)
	}
	if len(h.Body) > 0 && (h.Method == nethttp.MethodGet || h.Method == nethttp.MethodHead) {
		return fmt.Errorf("a %s request has no body", h.Method)
	}
	if h.FollowRedirects < 0 || h.FollowRedirects > maxRedirects {
		return fmt.Errorf("invalid follow_redirects %d: want 0 to %d", h.FollowRedirects, maxRedirects)
	}
	if len(h.Headers) > maxHeaders {
		return fmt.Errorf("%d headers: want at most %d", len(h.Headers), maxHeaders)
	}
	size := 0
	for _, f := range h.Headers {
		size += len(f.Name) + len(f.Value)
		switch {
		case !outbound.IsToken(f.Name):
			return fmt.Errorf("invalid header name %q", f.Name)
		case isReserved(f.Name):
			return fmt.Errorf("invalid header %q: the agent sets it", f.Name)
		case strings.ContainsFunc(f.Value, isForbidden):
			return fmt.Errorf("invalid value of header %q: a line break or another control character", f.Name)
		}
	}
	if size > maxHeaderBytes {
		return fmt.Errorf("headers of %d bytes: want at most %d", size, maxHeaderBytes)
	}
	return nil
}

// isForbidden reports whether a character may not stand in the value of a header.
func isForbidden(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isReserved reports whether only the agent sets a header.
func isReserved(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains([]string{"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer",
		"traceparent", "tracestate", "idempotency-key"}, name) {
		return true
	}
	return strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, "x-sap-")
}

// request returns a request without what authenticates it.
func (t *attempt) request(ctx context.Context, method string, target *url.URL, body []byte) *nethttp.Request {
	r := (&nethttp.Request{
		Method: method, URL: target, Host: target.Host, Header: make(nethttp.Header, len(t.plan.http.Headers)+8),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: true,
	}).WithContext(ctx)
	if len(body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	// Another origin gets the headers that hold nothing confidential, and none that identify the
	// run.
	foreign := !sameOrigin(target, t.plan.url)
	hasBody := len(body) > 0
	for _, f := range t.plan.http.Headers {
		switch {
		case foreign && !isPublic(f.Name), foreign && t.mask.Contains(f.Value):
		case !hasBody && len(t.plan.http.Body) > 0 && strings.EqualFold(f.Name, "Content-Type"):
			// A redirect dropped the body.
		default:
			r.Header.Add(f.Name, f.Value)
		}
	}
	if hasBody && t.plan.http.BodyJSON && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if !foreign {
		t.identify(r.Header)
	}
	own := t.presetOf() == action.PresetSAP || t.presetOf() == action.PresetAzure
	if own || r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "jobagent/"+cmp.Or(t.runner.cfg.Version, "dev"))
	}
	return r
}

// show adds a message with a request. net/http adds the headers of the connection when it writes
// the request.
func (t *attempt) show(r *nethttp.Request, body []byte) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\nHost: %s", r.Method, r.URL.RequestURI(), r.Host)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			fmt.Fprintf(&b, "\n%s: %s", name, t.mask.String(value))
		}
	}
	if len(body) > 0 {
		text, binary := bodyText(t.mask.String(string(body)))
		if binary {
			text = fmt.Sprintf("(%d bytes that are not UTF-8)", len(body))
		}
		b.WriteString("\n\n" + text)
	}
	t.remark("%s", b.String())
}

// isPublic reports whether a header of the definition may be sent to another origin after a
// redirect.
func isPublic(name string) bool {
	return slices.Contains([]string{"accept", "accept-language", "content-type", "content-language", "user-agent"},
		strings.ToLower(name))
}

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(hostPort(a), hostPort(b))
}

// timeSAP is the form of times in the headers of SAP.
const timeSAP = "2006-01-02 15:04:05"

// timeScheduler is the form of times in the headers of Azure Scheduler, without a zone.
const timeScheduler = "2006-01-02T15:04:05"

// identify sets the headers that identify the run.
func (t *attempt) identify(h nethttp.Header) {
	h.Set("Idempotency-Key", `"`+t.Key.String()+`"`)
	if t.TraceParent != "" {
		h.Set("Traceparent", t.TraceParent)
	}
	due := t.DueAt.UTC()
	switch t.presetOf() {
	case action.PresetSAP:
		h.Set("X-Sap-Job-Id", cmp.Or(t.SAPJobID, t.JobName))
		h.Set("X-Sap-Job-Run-Id", t.JobExecutionID.String())
		if t.ScheduleID != "" {
			h.Set("X-Sap-Job-Schedule-Id", t.ScheduleID)
		}
		h.Set("X-Sap-Run-At", due.Format(timeSAP))
		if t.SchedulerHost != "" {
			h.Set("X-Sap-Scheduler-Host", t.SchedulerHost)
		}
		if h.Get("Accept") == "" {
			h.Set("Accept", "application/json")
		}
	case action.PresetAzure:
		run := t.JobExecutionID
		collection, job, found := strings.Cut(t.JobName, "/")
		if !found {
			collection, job = "", t.JobName
		}
		h.Set("X-Ms-Scheduler-Jobid", job)
		if collection != "" {
			h.Set("X-Ms-Scheduler-Jobcollectionid", collection)
		}
		h.Set("X-Ms-Scheduler-Expected-Execution-Time", due.Format(timeScheduler))
		h.Set("X-Ms-Execution-Tag", hex.EncodeToString(run[:]))
		h.Set("X-Ms-Client-Request-Id", attemptID(t.Key, t.Number).String())
	}
}

// attemptID returns an id of one attempt: a name-based UUID of the key and the number.
func attemptID(key uuid.UUID, number int) uuid.UUID {
	return uuid.NewSHA1(key, binary.BigEndian.AppendUint32(nil, uint32(number)))
}
