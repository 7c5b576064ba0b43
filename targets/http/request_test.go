package http_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

// secretFile writes a secret to a file and returns the reference to it.
func secretFile(t *testing.T, secret string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(secret), 0o600))
	return "file:" + path
}

// received are the requests that a site has read.
type received struct {
	mu       sync.Mutex
	requests []*nethttp.Request
	bodies   []string
}

// handler returns a handler that keeps the request and answers with the next text; the last one is
// repeated.
func (r *received) handler(answers ...string) handler {
	return func(c net.Conn) {
		request, body, err := readRequest(c)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.requests, r.bodies = append(r.requests, request), append(r.bodies, body)
		text := answers[min(len(r.requests), len(answers))-1]
		r.mu.Unlock()
		_, _ = c.Write([]byte(text))
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	var got received
	s := pipeSite(t, outbound.Config{}, got.handler(status(200, "")))
	d := post(s.origin + "/a%2Fb/x?k=v&a=1")
	d.HTTP.Headers = []action.Field{{Name: "X-A", Value: "1"}, {Name: "x-a", Value: "2"}}
	require.Equal(t, targets.Succeeded, try(t, s, attemptOf(d)).Outcome)
	s.served.Wait()
	r := got.requests[0]
	require.Equal(t, "POST", r.Method)
	require.Equal(t, "/a%2Fb/x?k=v&a=1", r.RequestURI)
	require.Equal(t, "h.example", r.Host)
	require.Equal(t, "HTTP/1.1", r.Proto)
	require.Equal(t, `{"a": 1}`, got.bodies[0])
	require.Equal(t, []string{"1", "2"}, r.Header.Values("X-A"))
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	require.Equal(t, `"`+key.String()+`"`, r.Header.Get("Idempotency-Key"))
	require.Equal(t, "jobagent/1.2.3", r.Header.Get("User-Agent"))
	require.Equal(t, traceParent, r.Header.Get("Traceparent"))
	require.Equal(t, "close", r.Header.Get("Connection"))
	require.Empty(t, r.Header.Get("Authorization"))
	for name := range r.Header {
		require.NotContains(t, name, "X-Sap")
		require.NotContains(t, name, "X-Ms")
	}
}

// Case 66, as far as the runner knows the values: the headers of SAP's service.
func TestCase66SAPHeaders(t *testing.T) {
	t.Parallel()
	var got received
	s := pipeSite(t, outbound.Config{}, got.handler(status(200, "done")))
	d := post(s.origin)
	d.HTTP.Success.Preset = action.PresetSAP
	d.HTTP.Headers = []action.Field{{Name: "User-Agent", Value: "other"}}
	a := attemptOf(d)
	result := try(t, s, a)
	require.Equal(t, targets.Succeeded, result.Outcome)
	a.ScheduleID = "7"
	require.Equal(t, targets.Succeeded, try(t, s, a).Outcome)
	s.served.Wait()
	require.Empty(t, got.requests[0].Header.Values("x-sap-job-schedule-id"))
	h := got.requests[1].Header
	require.Equal(t, "7", h.Get("x-sap-job-schedule-id"))
	require.Equal(t, "nightly", h.Get("x-sap-job-id"))
	require.Equal(t, runID.String(), h.Get("x-sap-job-run-id"))
	require.Equal(t, "2020-08-03 18:06:17", h.Get("x-sap-run-at"))
	require.Equal(t, "https://front.example", h.Get("x-sap-scheduler-host"))
	require.Equal(t, "application/json", h.Get("Accept"))
	require.Equal(t, []string{"jobagent/1.2.3"}, h.Values("User-Agent"))
}

// The headers of Azure Scheduler.
func TestSchedulerHeaders(t *testing.T) {
	t.Parallel()
	var got received
	s := pipeSite(t, outbound.Config{}, got.handler(status(202, "")))
	d := post(s.origin)
	d.HTTP.Success.Preset = action.PresetAzure
	d.HTTP.Headers = []action.Field{{Name: "x-ms-scheduler-jobid", Value: "other"}}
	a := attemptOf(d)
	a.JobName = "jc1/h1"
	for a.Number = 1; a.Number <= 2; a.Number++ {
		require.Equal(t, targets.Succeeded, try(t, s, a).Outcome)
	}
	s.served.Wait()
	first, second := got.requests[0].Header, got.requests[1].Header
	require.Equal(t, []string{"h1"}, first.Values("x-ms-scheduler-jobid"))
	require.Equal(t, "jc1", first.Get("x-ms-scheduler-jobcollectionid"))
	require.Equal(t, "2020-08-03T18:06:17", first.Get("x-ms-scheduler-expected-execution-time"))
	require.Equal(t, strings.ReplaceAll(runID.String(), "-", ""), first.Get("x-ms-execution-tag"))
	require.Equal(t, first.Get("x-ms-execution-tag"), second.Get("x-ms-execution-tag"))
	require.NotEqual(t, first.Get("x-ms-client-request-id"), second.Get("x-ms-client-request-id"))
}

// Case 58: the answer 200 is a success with its status, and its body is the text of the run.
func TestCase58Answer(t *testing.T) {
	t.Parallel()
	s := pipeSite(t, outbound.Config{}, answer(status(200, "all sold")))
	d := post(s.origin)
	d.HTTP.Success.Preset = action.PresetSAP
	d.Callback = &action.Callback{StatusAccepted: true}
	result := try(t, s, attemptOf(d))
	s.served.Wait()
	require.Equal(t, targets.Succeeded, result.Outcome, "200 is final, although 202 waits for a report")
	require.Equal(t, targets.KindResponse, result.Messages[0].Kind)
	require.EqualValues(t, 200, result.Messages[0].Number)
	require.Equal(t, []string{"all sold"}, texts(result, targets.KindBody))
}

// Case 58: a redirect is a success in SAP's mode, and its place is not called.
func TestCase58RedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var got received
	s := pipeSite(t, outbound.Config{}, got.handler(status(302, "", "Location: http://h.example/other?sig=abc")))
	d := post(s.origin)
	d.HTTP.Success.Preset = action.PresetSAP
	result := try(t, s, attemptOf(d))
	require.Equal(t, targets.Succeeded, result.Outcome)
	require.Contains(t, texts(result, targets.KindResponse)[0], "Location: http://h.example/other?sig=***")
	d.HTTP.Success.Preset = ""
	result = try(t, s, attemptOf(d))
	require.Equal(t, targets.Failed, result.Outcome)
	require.Contains(t, result.Summary, "The redirect to http://h.example/other?sig=*** was not followed.")
	s.served.Wait()
	require.Len(t, got.requests, 2)
}

// Case 62: one call, although the request has an idempotency key.
func TestCase62ClosedConnectionIsOneCall(t *testing.T) {
	t.Parallel()
	var got received
	s := tcpSite(t, outbound.Config{}, got.handler(""))
	d := post(s.origin)
	d.HTTP.Success.Preset = action.PresetSAP
	d.Callback = &action.Callback{StatusAccepted: true}
	result := try(t, s, attemptOf(d))
	require.Equal(t, targets.Unknown, result.Outcome)
	require.Regexp(t, `^Request Error: Code:-ECONNRESET, Message:-`, result.Summary)
	require.Len(t, got.requests, 1)
	require.NotEmpty(t, got.requests[0].Header.Get("Idempotency-Key"))
}

// Case 106: the second hop passes the same guard.
func TestCase106RedirectToMetadata(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"http://169.254.169.254/", "http://127.0.0.1/", "http://[::ffff:10.0.0.1]/", "http://h.example:22/"} {
		s := pipeSite(t, outbound.Config{}, answer(status(302, "", "Location: "+place)))
		d := post(s.origin)
		d.HTTP.FollowRedirects = 3
		result := try(t, s, attemptOf(d))
		require.Equal(t, targets.Failed, result.Outcome)
		require.True(t, result.NoRetry)
		require.Equal(t, targets.ClassConfig, result.Error.Class)
		var refused *outbound.RefusedError
		require.ErrorAs(t, result.Err, &refused)
		require.Contains(t, result.Summary, refused.Host)
		require.Equal(t, 1, s.connections(), "the place is not dialed")
		s.served.Wait()
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	// hops answers each path with the text after it.
	hops := func(got *received, answers map[string]string) handler {
		return func(c net.Conn) {
			request, body, err := readRequest(c)
			if err != nil {
				return
			}
			got.mu.Lock()
			got.requests, got.bodies = append(got.requests, request), append(got.bodies, body)
			got.mu.Unlock()
			_, _ = c.Write([]byte(answers[request.URL.Path]))
		}
	}
	token := secretFile(t, "hunter2-token")
	run := func(t *testing.T, follow int, answers map[string]string) (*received, targets.Result) {
		t.Helper()
		var got received
		s := pipeSite(t, outbound.Config{Credentials: []outbound.Credential{{
			Name: "c", Kind: outbound.KindBearer, Hosts: []string{"*"}, Secret: token, AllowHTTP: true,
		}}}, hops(&got, answers))
		d := post(s.origin + "/a")
		d.HTTP.FollowRedirects = follow
		d.HTTP.Headers = []action.Field{{Name: "X-Functions-Key", Value: "k"}, {Name: "Cookie", Value: "c=1"}, {Name: "Accept", Value: "text/plain"}}
		a := attemptOf(d)
		a.Credential = "C"
		result := try(t, s, a)
		s.served.Wait()
		return &got, result
	}
	to := func(code int, place string) string { return status(code, "", "Location: "+place, "Set-Cookie: a=b") }

	for code, keeps := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		got, result := run(t, 1, map[string]string{"/a": to(code, "b?x=1"), "/b": status(200, "")})
		require.Equal(t, targets.Succeeded, result.Outcome)
		second := got.requests[1]
		require.Equal(t, "/b?x=1", second.RequestURI)
		require.Empty(t, second.Header.Get("Set-Cookie"))
		require.Equal(t, "Bearer hunter2-token", second.Header.Get("Authorization"), "the same origin")
		require.Equal(t, got.requests[0].Header.Get("Idempotency-Key"), second.Header.Get("Idempotency-Key"))
		require.Equal(t, "c=1", second.Header.Get("Cookie"), "no cookie jar")
		if keeps {
			require.Equal(t, "POST", second.Method)
			require.Equal(t, got.bodies[0], got.bodies[1])
		} else {
			require.Equal(t, "GET", second.Method)
			require.Empty(t, got.bodies[1])
			require.Empty(t, second.Header.Get("Content-Type"))
		}
	}

	for _, place := range []string{"http://other.example/b", "http://h.example:8080/b", "//other.example/b"} {
		got, result := run(t, 5, map[string]string{"/a": to(307, place), "/b": status(200, "")})
		require.Equal(t, targets.Succeeded, result.Outcome)
		second := got.requests[1]
		require.Equal(t, "text/plain", second.Header.Get("Accept"))
		for _, name := range []string{"Authorization", "Cookie", "X-Functions-Key", "Idempotency-Key", "Traceparent"} {
			require.NotEmpty(t, got.requests[0].Header.Get(name), name)
			require.Empty(t, second.Header.Get(name), name)
		}
	}

	for name, answers := range map[string]map[string]string{
		"too many":         {"/a": to(307, "/b"), "/b": to(307, "/c"), "/c": to(307, "/d")},
		"in a circle":      {"/a": to(307, "/a")},
		"other scheme":     {"/a": to(307, "file:///etc/passwd")},
		"invalid":          {"/a": to(307, "http://[/")},
		"with a user":      {"/a": to(307, "http://u:p@h.example/")},
		"host is missing":  {"/a": to(307, "http:///x")},
		"unknown name":     {"/a": to(307, "http://missing.example/")},
		"connection fault": {"/a": to(307, "/b")},
	} {
		_, result := run(t, 2, answers)
		want := targets.Failed
		if name == "connection fault" {
			want = targets.Unknown
		}
		require.Equal(t, want, result.Outcome, name)
		require.Equal(t, name != "unknown name" && name != "connection fault", result.NoRetry, name)
		require.True(t, result.Sent, name)
	}
}

// A request with a bound secret follows redirects to covered hosts only, although headers and
// credentials would not be sent to another origin: the endpoint knows the secret, and so does the
// place that it names.
func TestRedirectsWithBoundSecrets(t *testing.T) {
	t.Parallel()
	for place, followed := range map[string]bool{
		"/b": true, "http://H.EXAMPLE./b": true, "http://a.covered.example/b": true,
		"http://other.example/b": false, "//other.example/b": false, "http://h.example.other.example/": false, "http://h.example:8080/b": false,
		"http://other.example/hunter2": false, "http://hunter2.other.example/": false, "process:x": false,
	} {
		var got received
		s := pipeSite(t, outbound.Config{}, got.handler(status(307, "", "Location: "+place), status(200, "")))
		d := post(s.origin + "/a?key=hunter2")
		d.HTTP.FollowRedirects = 2
		d.Secrets = []string{"hunter2"}
		d.Bound = []action.BoundSecret{{Name: "api", Hosts: []string{"h.example:80", "*.covered.example"}}}
		result := try(t, s, attemptOf(d))
		s.served.Wait()
		if followed {
			require.Equal(t, targets.Succeeded, result.Outcome, "%s: %s", place, result.Summary)
			require.Len(t, got.requests, 2, place)
			continue
		}
		require.Equal(t, targets.Failed, result.Outcome, place)
		require.True(t, result.NoRetry, place)
		require.Len(t, got.requests, 1, place)
		require.Equal(t, 1, s.connections(), place)
		require.NotContains(t, result.Summary+result.Error.Text, "hunter2", place)
		if place != "process:x" {
			require.Contains(t, result.Summary, `secret "api": it may not be sent to `, place)
			require.Contains(t, result.Summary, "its hosts are h.example:80, *.covered.example", place)
		}
	}
}

func TestRedirectFromTLS(t *testing.T) {
	t.Parallel()
	pair, ca := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		s := pipeSite(t, outbound.Config{CA: ca}, overTLS(pair, answer(status(302, "", "Location: http://example.com/x"))))
		d := post("https://example.com/")
		d.HTTP.FollowRedirects = 3
		result := try(t, s, attemptOf(d))
		require.Equal(t, targets.Failed, result.Outcome)
		require.True(t, result.NoRetry)
		require.Contains(t, result.Summary, "from https to http")
		require.Equal(t, 1, s.connections())
		s.served.Wait()
	})
}

func TestEndpointsInTurn(t *testing.T) {
	t.Parallel()
	var got received
	s := pipeSite(t, outbound.Config{}, got.handler(status(503, "")))
	d := post("")
	d.HTTP.Endpoints = []string{"http://a.example/", "http://b.example/", "http://c.example/"}
	a := attemptOf(d)
	for a.Number = 1; a.Number <= 4; a.Number++ {
		require.Equal(t, targets.Failed, try(t, s, a).Outcome)
	}
	s.served.Wait()
	var hosts []string
	for _, r := range got.requests {
		hosts = append(hosts, r.Host)
		require.Equal(t, `"`+key.String()+`"`, r.Header.Get("Idempotency-Key"))
	}
	require.Equal(t, []string{"a.example", "b.example", "c.example", "a.example"}, hosts)
}

// Case 110: the signature is of the attempt, the id of the step, and each secret signs.
func TestCase110StandardWebhooks(t *testing.T) {
	t.Parallel()
	var keys, refs []string
	for i, letter := range []string{"a", "b"} {
		keys = append(keys, "whsec_"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 24+i))))
		refs = append(refs, secretFile(t, keys[i]))
	}
	for _, inline := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var got received
			s := pipeSite(t, outbound.Config{Credentials: []outbound.Credential{{
				Name: "hook", Kind: outbound.KindStandardWebhooks, Hosts: []string{"h.example"}, Keys: refs,
			}}}, got.handler(status(500, ""), status(500, ""), status(200, "")))
			d := post(s.origin)
			a := attemptOf(d)
			if inline {
				d.HTTP.Auth = &action.Auth{Kind: "standard-webhooks", Keys: keys}
			} else {
				a.Credential = "hook"
			}
			for a.Number = 1; a.Number <= 3; a.Number++ {
				require.Equal(t, a.Number == 3, try(t, s, a).Outcome == targets.Succeeded)
				time.Sleep(time.Second)
			}
			s.served.Wait()
			signatures := map[string]bool{}
			for i, r := range got.requests {
				require.Equal(t, key.String(), r.Header.Get("webhook-id"))
				require.Equal(t, `"`+key.String()+`"`, r.Header.Get("Idempotency-Key"))
				list := strings.Fields(r.Header.Get("webhook-signature"))
				require.Len(t, list, 2)
				signatures[list[0]] = true
				require.False(t, signatures[r.Header.Get("webhook-timestamp")])
				signatures[r.Header.Get("webhook-timestamp")] = true
				for _, key := range keys {
					hook, err := standardwebhooks.NewWebhook(key)
					require.NoError(t, err)
					require.NoError(t, hook.Verify([]byte(got.bodies[i]), r.Header))
					require.Error(t, hook.Verify([]byte(got.bodies[i]+" "), r.Header))
				}
			}
			require.Len(t, signatures, 6)
		})
	}
}

// Secrets do not leave the attempt, in whatever form the endpoint repeats them.
func TestAnswersAreMasked(t *testing.T) {
	t.Parallel()
	const secret = `pass "word"/+1`
	forms := secret + " " + base64.StdEncoding.EncodeToString([]byte("user:"+secret)) + " pass+%22word%22%2F%2B1 " +
		`pass \"word\"/+1 ` + base64.StdEncoding.EncodeToString([]byte(secret))
	var got received
	s := pipeSite(t, outbound.Config{}, got.handler(
		status(500, strings.Repeat("a", 64<<10-6)+forms, "X-Request-Id: "+secret, "Location: /?p=pass+%22word%22%2F%2B1",
			"Set-Cookie: session", "WWW-Authenticate: Basic realm="+secret, "X-Kept: "+secret),
		"HTTP/1.1 "+secret+"\r\n\r\n"))
	d := post(s.origin + "/" + "pass%20%22word%22%2F+1")
	d.Secrets = []string{secret}
	d.HTTP.Auth = &action.Auth{Kind: "basic", Username: "user", Password: secret}
	d.HTTP.CaptureHeaders = []string{"x-kept", "set-cookie", "WWW-Authenticate"}
	for range 2 {
		result := try(t, s, attemptOf(d))
		all := result.Summary + result.Error.Text + result.Err.Error()
		for _, m := range result.Messages {
			all += "\n" + m.Text
		}
		for _, form := range append(strings.Fields(forms), "word", "session", "realm") {
			if form != "pass" {
				require.NotContains(t, all, form)
			}
		}
		require.NotContains(t, all, "pass", "the part before the cut")
		require.Contains(t, all, "***")
	}
	s.served.Wait()
	require.Equal(t, "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+secret)), got.requests[0].Header.Get("Authorization"))
}

// A person who tries an action sees what was sent, without secrets.
func TestShowRequests(t *testing.T) {
	t.Parallel()
	s := pipeSite(t, outbound.Config{}, answer(status(200, "")))
	d := post(s.origin + "/x?sig=hunter2")
	d.Secrets = []string{"hunter2"}
	d.HTTP.Auth = &action.Auth{Kind: "basic", Username: "u", Password: "pass"}
	result := http.NewRunner(s.network, http.Config{Version: "1", ShowRequests: true}).Run(t.Context(), attemptOf(d))
	require.Equal(t, targets.Succeeded, result.Outcome)
	shown := texts(result, targets.KindAgent)
	require.Len(t, shown, 1)
	require.Equal(t, `POST /x?sig=*** HTTP/1.1
Host: h.example
Authorization: Basic ***
Content-Type: application/json
Idempotency-Key: "`+key.String()+`"
Traceparent: `+traceParent+`
User-Agent: jobagent/1

{"a": 1}`, shown[0])
	s.served.Wait()
}

// The token of a callback is a secret, also alone.
func TestCallbackTokenIsMasked(t *testing.T) {
	t.Parallel()
	s := pipeSite(t, outbound.Config{}, answer(status(202, "I call https://front.example/callbacks/abcdefgh, or abcdefgh")))
	d := post(s.origin)
	d.Callback = &action.Callback{}
	a := attemptOf(d)
	a.CallbackURL = "https://front.example/callbacks/abcdefgh"
	result := try(t, s, a)
	require.Equal(t, targets.Accepted, result.Outcome)
	require.Equal(t, []string{"I call ***, or ***"}, texts(result, targets.KindBody))
	s.served.Wait()
}

func TestBodyConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, matches, failsOn string
		outcome                targets.Outcome
	}{
		{"all OK", "OK", "", targets.Succeeded},
		{"all ko", "OK", "", targets.Failed},
		{"", "OK", "", targets.Failed},
		{"error: 1", "", "error", targets.Failed},
		{"OK, error: 1", "OK", "error", targets.Failed},
		{strings.Repeat("a", 64<<10) + "OK", "OK", "", targets.Failed},
	} {
		s := pipeSite(t, outbound.Config{}, answer(status(200, c.body)))
		d := post(s.origin)
		d.HTTP.Success = action.Success{
			Ranges: []action.StatusRange{{From: 100, To: 150}, {From: 200, To: 200}}, BodyMatches: c.matches, BodyFailsOn: c.failsOn,
		}
		result := try(t, s, attemptOf(d))
		require.Equal(t, c.outcome, result.Outcome, c)
		require.False(t, result.NoRetry)
		s.served.Wait()
	}
	s := pipeSite(t, outbound.Config{}, answer(status(201, "")))
	d := post(s.origin)
	d.HTTP.Success = action.Success{Ranges: []action.StatusRange{{From: 200, To: 200}}}
	require.Equal(t, targets.Failed, try(t, s, attemptOf(d)).Outcome)
	s.served.Wait()
}

func TestBodyThatIsNotText(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"\xff\x00":                         "/wA=",
		"a\x00":                            "YQA=",
		strings.Repeat("ä", 40<<10):        strings.Repeat("ä", 32<<10) + "…",
		"a" + strings.Repeat("ä", 40<<10):  "a" + strings.Repeat("ä", 32<<10-1) + "…",
		strings.Repeat("a", 64<<10):        strings.Repeat("a", 64<<10),
		strings.Repeat("a", 64<<10) + "bc": strings.Repeat("a", 64<<10) + "…",
	} {
		s := pipeSite(t, outbound.Config{}, answer(status(200, body)))
		result := try(t, s, attemptOf(post(s.origin)))
		require.True(t, texts(result, targets.KindBody)[0] == want)
		require.Equal(t, want == "/wA=" || want == "YQA=", len(texts(result, targets.KindAgent)) == 1)
		s.served.Wait()
	}
}

// A method without a body in its answer, and an answer without a body.
func TestHead(t *testing.T) {
	t.Parallel()
	s := pipeSite(t, outbound.Config{}, answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"))
	d := post(s.origin)
	d.HTTP.Method, d.HTTP.Body = "HEAD", nil
	result := try(t, s, attemptOf(d))
	require.Equal(t, targets.Succeeded, result.Outcome)
	require.Empty(t, texts(result, targets.KindBody))
	require.Empty(t, texts(result, targets.KindAgent))
	s.served.Wait()
}

// The server answers before it has read the request.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	s := tcpSite(t, outbound.Config{}, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 100))
		_, _ = c.Write([]byte(status(413, "")))
		wait(c, 50*time.Millisecond)
	})
	d := post(s.origin)
	d.HTTP.Body = make([]byte, 200<<10)
	result := try(t, s, attemptOf(d))
	require.Contains(t, []targets.Outcome{targets.Failed, targets.Unknown}, result.Outcome)
}

// Case 112: a token that the endpoint rejects is fetched anew once, and the request repeated once
// within the attempt. An issuer on a refused address makes the attempt fail.
func TestCase112RejectedToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rejected int
		outcome  targets.Outcome
	}{{0, targets.Succeeded}, {1, targets.Succeeded}, {2, targets.Failed}} {
		fetched, begun := 0, 0
		var got received
		answers := append(slices.Repeat([]string{status(401, "", "WWW-Authenticate: Bearer")}, c.rejected), status(200, ""))
		s := pipeSite(t, outbound.Config{
			Credentials: []outbound.Credential{{Name: "mi", Kind: outbound.KindManagedIdentity, Hosts: []string{"*"}, Scope: "s", AllowHTTP: true}},
			Azure: func(context.Context, outbound.AzureRequest) (outbound.AzureToken, error) {
				fetched++
				return outbound.AzureToken{Token: fmt.Sprint("token", fetched), Expires: time.Now().Add(time.Hour)}, nil
			},
		}, got.handler(answers...))
		a := attemptOf(post(s.origin))
		a.Credential = "mi"
		a.Begin = func(context.Context) (time.Time, error) {
			begun++
			return time.Now().Add(time.Minute), nil
		}
		result := try(t, s, a)
		s.served.Wait()
		require.Equal(t, c.outcome, result.Outcome)
		requests := min(c.rejected, 1) + 1
		require.Equal(t, requests, fetched)
		require.Len(t, got.requests, requests)
		require.Equal(t, 1, begun)
		for i, r := range got.requests {
			require.Equal(t, fmt.Sprint("Bearer token", i+1), r.Header.Get("Authorization"))
			require.Equal(t, got.bodies[0], got.bodies[i])
		}
		require.Equal(t, c.outcome == targets.Failed, result.NoRetry)
	}

	s := pipeSite(t, outbound.Config{}, answer(status(200, "")))
	d := post(s.origin)
	d.HTTP.Auth = &action.Auth{Kind: "oauth2-client-credentials", TokenURL: "https://168.63.129.16/", ClientID: "c", ClientSecret: "p"}
	result := try(t, s, attemptOf(d))
	require.Equal(t, targets.Failed, result.Outcome)
	require.True(t, result.NoRetry)
	require.False(t, result.Sent)
	require.Contains(t, result.Summary, "168.63.129.16")
	require.Zero(t, s.connections(), "neither the issuer nor the endpoint is dialed")
}

// An issuer that refuses or is away: nothing was sent, and only a refusal is final.
func TestIssuerFails(t *testing.T) {
	t.Parallel()
	for text, final := range map[string]bool{
		status(400, `{"error": "invalid_client"}`, "Content-Type: application/json"): true,
		status(401, ""): true, status(403, ""): true, status(500, ""): false, "": false,
	} {
		s := pipeSite(t, outbound.Config{}, answer(text))
		d := post(s.origin)
		d.HTTP.Auth = &action.Auth{Kind: "oauth2-client-credentials", TokenURL: "http://issuer.example/", ClientID: "c", ClientSecret: "hunter2"}
		a := attemptOf(d)
		a.Begin = func(context.Context) (time.Time, error) {
			t.Error("the request for a token does not begin the attempt")
			return time.Time{}, errBegin
		}
		result := try(t, s, a)
		s.served.Wait()
		require.Equal(t, targets.Failed, result.Outcome)
		require.False(t, result.Sent)
		require.Equal(t, final, result.NoRetry, result.Summary)
		require.NotContains(t, result.Summary, "hunter2")
		require.Equal(t, final, result.Error.Class == targets.ClassAuth)
		require.Equal(t, 1, s.connections())
	}
}
