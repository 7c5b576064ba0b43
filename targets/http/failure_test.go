package http_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

// The first row of the failure table: nothing is dialed.
func TestDefinitionAtFault(t *testing.T) {
	t.Parallel()
	s := pipeSite(t, outbound.Config{}, answer(status(200, "")))
	header := func(name, value string) func(*action.HTTP) {
		return func(h *action.HTTP) { h.Headers = []action.Field{{Name: name, Value: value}} }
	}
	for name, change := range map[string]func(h *action.HTTP){
		"line break in a header":   header("X-A", "1\r\nX-B: 2"),
		"line feed in a header":    header("X-A", "1\n"),
		"NUL in a header":          header("X-A", "\x00"),
		"name with a line break":   header("X-A: 1\r\nX-B", "2"),
		"empty name":               header("", "2"),
		"our header":               header("idempotency-key", "2"),
		"framing header":           header("Transfer-Encoding", "chunked"),
		"proxy header":             header("Proxy-Authorization", "x"),
		"webhook header":           header("webhook-id", "x"),
		"SAP header":               header("x-sap-job-id", "x"),
		"headers too long":         header("X-A", strings.Repeat("a", 9000)),
		"too many headers":         func(h *action.HTTP) { h.Headers = make([]action.Field, 51) },
		"method with a line break": func(h *action.HTTP) { h.Method = "GET / HTTP/1.1\r\n" },
		"tunnel":                   func(h *action.HTTP) { h.Method = "CONNECT" },
		"body of GET":              func(h *action.HTTP) { h.Method = "GET" },
		"body too long":            func(h *action.HTTP) { h.Body = make([]byte, 256<<10+1) },
		"relative URL":             func(h *action.HTTP) { h.URL = "/x" },
		"other scheme":             func(h *action.HTTP) { h.URL = "file:///etc/passwd" },
		"URL with a user":          func(h *action.HTTP) { h.URL = "http://u:p@h.example/" },
		"URL with a fragment":      func(h *action.HTTP) { h.URL = "http://h.example/#f" },
		"URL too long":             func(h *action.HTTP) { h.URL = "http://h.example/" + strings.Repeat("a", 2048) },
		"URL with a line break":    func(h *action.HTTP) { h.URL = "http://h.example/\r\nX: y" },
		"URL with a bad port":      func(h *action.HTTP) { h.URL = "http://h.example:99999/" },
		"plain http":               func(h *action.HTTP) { h.AllowHTTP = false },
		"body_matches":             func(h *action.HTTP) { h.Success.BodyMatches = "(" },
		"redirects":                func(h *action.HTTP) { h.FollowRedirects = 6 },
		"unknown kind of auth":     func(h *action.HTTP) { h.Auth = &action.Auth{Kind: "magic"} },
		"refused port":             func(h *action.HTTP) { h.URL = "http://h.example:22/" },
		"refused address":          func(h *action.HTTP) { h.URL = "http://127.0.0.1/" },
		"refused address, IPv6":    func(h *action.HTTP) { h.URL = "http://[::ffff:10.0.0.1]/" },
		"refused address, NAT64":   func(h *action.HTTP) { h.URL = "http://[64:ff9b::7f00:1]/" },
		"Azure's wire server":      func(h *action.HTTP) { h.URL = "http://168.63.129.16/" },
	} {
		t.Run(name, func(t *testing.T) {
			d := post(s.origin)
			change(d.HTTP)
			a := attemptOf(d)
			a.Begin = func(context.Context) (time.Time, error) {
				t.Error("a faulty action may not begin")
				return time.Time{}, errBegin
			}
			result := try(t, s, a)
			require.Equal(t, targets.Failed, result.Outcome)
			require.True(t, result.NoRetry)
			require.False(t, result.Sent)
		})
	}
	a := attemptOf(post(s.origin))
	a.Action.HTTP = nil
	require.True(t, try(t, s, a).NoRetry)
	a = attemptOf(post(s.origin))
	a.Credential = "missing"
	result := try(t, s, a)
	require.True(t, result.NoRetry)
	require.Equal(t, targets.ClassConfig, result.Error.Class)
	require.Zero(t, s.connections())
}

func TestNameService(t *testing.T) {
	t.Parallel()
	s := pipeSite(t, outbound.Config{}, nil)
	result := try(t, s, attemptOf(post("http://missing.example/")))
	require.Equal(t, targets.Failed, result.Outcome)
	require.False(t, result.Sent)
	require.False(t, result.NoRetry)
	require.Equal(t, targets.ClassConfig, result.Error.Class, "an unknown name")
}

// Case 60: an unknown host has the text of SAP's service, and no status.
func TestCase60UnknownHost(t *testing.T) {
	t.Parallel()
	s := pipeSite(t, outbound.Config{}, nil)
	d := post("http://missing.example/")
	d.HTTP.Success.Preset = action.PresetSAP
	result := try(t, s, attemptOf(d))
	require.Equal(t, targets.Failed, result.Outcome)
	require.Regexp(t, `^Request Error: Code:-ENOTFOUND, Message:-.*missing\.example.*no such host`, result.Summary)
	require.False(t, result.Sent)
	require.Zero(t, result.Error.Number, "httpStatus is null")
	require.Empty(t, texts(result, targets.KindResponse), "httpStatus is null")
}

// A dial that fails, or that does not end, is retried; nothing was sent.
func TestConnect(t *testing.T) {
	t.Parallel()
	s := tcpSite(t, outbound.Config{}, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	result := try(t, s, attemptOf(post("http://"+listener.Addr().String())))
	require.Equal(t, targets.Failed, result.Outcome)
	require.False(t, result.Sent)
	require.False(t, result.NoRetry)
	require.Equal(t, targets.ClassLostConnection, result.Error.Class)

	synctest.Test(t, func(t *testing.T) {
		network, err := outbound.New(outbound.Config{
			Resolver: everyName{},
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		require.NoError(t, err)
		d := post("http://h.example/")
		d.HTTP.ResponseTimeout = time.Minute
		started := time.Now()
		result := try(t, &site{network: network}, attemptOf(d))
		require.Equal(t, outbound.ConnectTimeout, time.Since(started))
		require.Equal(t, targets.Failed, result.Outcome)
		require.False(t, result.NoRetry)
		require.Equal(t, targets.ClassTimeout, result.Error.Class)

		// The time-out of the answer counts from the dial.
		d.HTTP.ResponseTimeout = 2 * time.Second
		started = time.Now()
		result = try(t, &site{network: network}, attemptOf(d))
		require.Equal(t, 2*time.Second, time.Since(started))
		require.Equal(t, targets.Failed, result.Outcome)
		require.Equal(t, targets.ClassTimeout, result.Error.Class)
		require.False(t, result.NoRetry)
	})
}

// certificate is a certificate for example.com, and the file of its authority.
func certificate(t *testing.T) (pair tls.Certificate, ca string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, text, 0o600))
	return server.TLS.Certificates[0], "file:" + ca
}

// overTLS returns a handler that serves TLS.
func overTLS(pair tls.Certificate, h handler) handler {
	return func(c net.Conn) {
		secured := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{pair}})
		if secured.Handshake() == nil {
			h(secured)
		}
		_ = secured.Close()
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	pair, ca := certificate(t)
	sum := sha256.Sum256(pair.Leaf.RawSubjectPublicKeyInfo)
	pin := strings.ToUpper(hex.EncodeToString(sum[:]))
	for _, c := range []struct {
		name    string
		cfg     outbound.Config
		handler handler
		host    string
		outcome targets.Outcome
		noRetry bool
		class   targets.Class
	}{
		{"trusted", outbound.Config{CA: ca}, overTLS(pair, answer(status(200, ""))), "example.com",
			targets.Succeeded, false, ""},
		{"insecure", outbound.Config{Servers: []outbound.Server{{Match: "*.net", TLS: "insecure"}}},
			overTLS(pair, answer(status(200, ""))), "h.net", targets.Succeeded, false, ""},
		{"untrusted", outbound.Config{}, overTLS(pair, answer(status(200, ""))), "example.com",
			targets.Failed, true, targets.ClassConfig},
		{"other name", outbound.Config{CA: ca}, overTLS(pair, answer(status(200, ""))), "h.net",
			targets.Failed, true, targets.ClassConfig},
		{"pinned", outbound.Config{Servers: []outbound.Server{{Match: "h.net:443", CertificateSHA256: []string{pin}}}},
			overTLS(pair, answer(status(200, ""))), "h.net", targets.Succeeded, false, ""},
		{"other pin", outbound.Config{Servers: []outbound.Server{{Match: "*", CertificateSHA256: []string{strings.Repeat("ab", 32)}}}},
			overTLS(pair, answer(status(200, ""))), "example.com", targets.Failed, true, ""},
		{"no TLS", outbound.Config{}, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}, "example.com", targets.Failed, true, ""},
		{"closed", outbound.Config{}, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }, "example.com",
			targets.Failed, false, targets.ClassLostConnection},
		{"silent", outbound.Config{}, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "example.com",
			targets.Failed, false, targets.ClassTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// The certificate of the test is valid in the year of synctest's clock.
				s := pipeSite(t, c.cfg, c.handler)
				d := post("https://" + c.host + "/")
				d.HTTP.ResponseTimeout = time.Minute
				started := time.Now()
				result := try(t, s, attemptOf(d))
				s.served.Wait()
				require.Equal(t, c.outcome, result.Outcome, result.Summary)
				require.Equal(t, c.noRetry, result.NoRetry, result.Summary)
				if c.class != "" {
					require.Equal(t, c.class, result.Error.Class)
				}
				if c.outcome == targets.Failed {
					require.False(t, result.Sent, "the bytes of TLS do not count")
				}
				if c.class == targets.ClassTimeout {
					require.Equal(t, outbound.HandshakeTimeout, time.Since(started))
				}
			})
		})
	}
}

// What the server does after it has read the whole request, with the outcome.
func TestAfterTheRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		handler handler
		class   targets.Class
	}{
		{"closes", answer(""), targets.ClassLostConnection},
		{"half a status line", answer("HTTP/1.1 20"), targets.ClassLostConnection},
		{"half a header", answer("HTTP/1.1 200 OK\r\nContent-Le"), targets.ClassLostConnection},
		{"garbage", answer("SSH-2.0-OpenSSH_9\r\n\r\n"), targets.ClassLostConnection},
		{"bad status", answer("HTTP/1.1 2x0 OK\r\n\r\n"), targets.ClassLostConnection},
		{"bad length", answer("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), targets.ClassLostConnection},
		{"two lengths", answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), targets.ClassLostConnection},
		{"header without a colon", answer("HTTP/1.1 200 OK\r\nabc\r\n\r\n"), targets.ClassLostConnection},
		{"huge header", answer("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 100<<10)), targets.ClassLostConnection},
		{"many headers", answer("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 30<<10)), targets.ClassLostConnection},
		{"endless 1xx", answer(strings.Repeat("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", 30<<10)), targets.ClassLostConnection},
		{"HTTP/2", answer("\x00\x00\x12\x04\x00\x00\x00\x00\x00\r\n\r\n"), targets.ClassLostConnection},
		{"is silent", func(c net.Conn) {
			_, _, _ = readRequest(c)
			_, _ = io.Copy(io.Discard, c)
		}, targets.ClassTimeout},
		{"drips headers", func(c net.Conn) {
			_, _, _ = readRequest(c)
			text := "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 10000)
			for i := range text {
				if _, err := io.WriteString(c, text[i:i+1]); err != nil {
					return
				}
				wait(c, 20*time.Millisecond)
			}
		}, targets.ClassTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			overBoth(t, c.handler, func(t *testing.T, s *site) {
				d := post(s.origin + "/x")
				if c.class == targets.ClassTimeout {
					d.HTTP.ResponseTimeout = time.Second
				}
				result := try(t, s, attemptOf(d))
				require.Equal(t, targets.Unknown, result.Outcome, result.Summary)
				require.False(t, result.NoRetry)
				require.Equal(t, c.class, result.Error.Class)
				require.Contains(t, result.Summary, "the request was sent")
				require.Equal(t, 1, s.connections())

				d.Callback = &action.Callback{}
				result = try(t, s, attemptOf(d))
				if c.class == targets.ClassTimeout {
					require.Equal(t, targets.NoAnswer, result.Outcome)
				} else {
					require.Equal(t, targets.Unknown, result.Outcome)
				}
			})
		})
	}
}

// wait lets time pass, or returns when the peer closes the connection.
func wait(c net.Conn, d time.Duration) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	_, _ = c.Read(make([]byte, 1))
}

// What the server does after the headers. The status decides.
func TestAfterTheHeaders(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, err := io.Copy(zip, io.LimitReader(zeros{}, 64<<20))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	require.Less(t, bomb.Len(), 100<<10)
	for _, c := range []struct {
		name, text, body, remark string
		slow                     bool
	}{
		{name: "shorter than its length", text: "Content-Length: 100\r\n\r\nabc", body: "abc", remark: "unexpected EOF"},
		{name: "longer than its length", text: "Content-Length: 3\r\n\r\nabcdef", body: "abc"},
		{name: "without a length", text: "\r\nabc", body: "abc"},
		{name: "chunks that break", text: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", body: "abc", remark: "unexpected EOF"},
		{name: "malformed chunks", text: "Transfer-Encoding: chunked\r\n\r\n3\r\nabcZZ\r\n", body: "abc", remark: "malformed chunk"},
		{name: "chunk of a wrong length", text: "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", remark: "chunk length"},
		{name: "unknown coding of the transfer", text: "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{name: "not gzip", text: "Content-Encoding: gzip\r\n\r\n" + strings.Repeat("a", 99), remark: "gzip"},
		{name: "bomb", text: "Content-Encoding: gzip\r\n\r\n" + bomb.String(), body: strings.Repeat("z", 64<<10) + "…"},
		{name: "endless", text: "\r\n" + strings.Repeat("a", 3<<20), body: strings.Repeat("a", 64<<10) + "…"},
		{name: "never ends", text: "\r\nabc", body: "abc", remark: "did not end in 10s", slow: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, code := range []string{"200 OK", "500 Internal Server Error"} {
				h := func(c2 net.Conn) {
					if _, _, err := readRequest(c2); err != nil {
						return
					}
					_, _ = io.WriteString(c2, "HTTP/1.1 "+code+"\r\n"+c.text)
					if c.slow {
						_, _ = io.Copy(io.Discard, c2)
					}
				}
				test := func(t *testing.T, s *site) {
					result := try(t, s, attemptOf(post(s.origin)))
					want := targets.Succeeded
					if code != "200 OK" {
						want = targets.Failed
					}
					require.Equal(t, want, result.Outcome)
					require.True(t, result.Sent)
					if c.body == "" {
						require.Empty(t, texts(result, targets.KindBody))
					} else {
						require.Equal(t, []string{c.body}, texts(result, targets.KindBody))
					}
					remarks := strings.Join(texts(result, targets.KindAgent), "\n")
					require.Contains(t, remarks, c.remark)
					if c.remark == "" {
						require.Empty(t, remarks)
					}
					require.LessOrEqual(t, s.connections(), 1)
				}
				synctest.Test(t, func(t *testing.T) {
					s := pipeSite(t, outbound.Config{}, h)
					test(t, s)
					s.served.Wait()
				})
				if !c.slow {
					test(t, tcpSite(t, outbound.Config{}, h))
				}
			}
		})
	}
}

// zeros is an endless text of the letter z.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'z'
	}
	return len(p), nil
}

// The table of statuses, with the retry that follows.
func TestStatuses(t *testing.T) {
	t.Parallel()
	sap := &action.Callback{StatusAccepted: true}
	for _, c := range []struct {
		status   int
		preset   action.Preset
		callback *action.Callback
		outcome  targets.Outcome
		noRetry  bool
		class    targets.Class
	}{
		{200, "", nil, targets.Succeeded, false, ""},
		{204, "", nil, targets.Succeeded, false, ""},
		{299, "", nil, targets.Succeeded, false, ""},
		{202, "", nil, targets.Succeeded, false, ""},
		{202, action.PresetAzure, nil, targets.Succeeded, false, ""},
		{200, "", &action.Callback{}, targets.Accepted, false, ""},
		{202, action.PresetWebhook, sap, targets.Accepted, false, ""},
		{500, "", &action.Callback{}, targets.Failed, false, targets.ClassTransient},
		{200, action.PresetSAP, sap, targets.Succeeded, false, ""},
		{302, action.PresetSAP, sap, targets.Succeeded, false, ""},
		{399, action.PresetSAP, sap, targets.Succeeded, false, ""},
		{202, action.PresetSAP, sap, targets.Accepted, false, ""},
		{101, action.PresetSAP, sap, targets.Failed, true, targets.ClassPermanent},
		{302, "", nil, targets.Failed, true, targets.ClassPermanent},
		{302, action.PresetAzure, nil, targets.Failed, true, targets.ClassPermanent},
		{400, "", nil, targets.Failed, true, targets.ClassPermanent},
		{401, "", nil, targets.Failed, true, targets.ClassAuth},
		{403, "", nil, targets.Failed, true, targets.ClassAuth},
		{404, action.PresetSAP, sap, targets.Failed, true, targets.ClassPermanent},
		{408, "", nil, targets.Failed, false, targets.ClassTimeout},
		{410, "", nil, targets.Failed, true, targets.ClassPermanent},
		{425, "", nil, targets.Failed, false, targets.ClassTransient},
		{429, "", nil, targets.Failed, false, targets.ClassTransient},
		{500, "", nil, targets.Failed, false, targets.ClassTransient},
		{501, "", nil, targets.Failed, true, targets.ClassPermanent},
		{502, "", nil, targets.Failed, false, targets.ClassTransient},
		{503, "", nil, targets.Failed, false, targets.ClassTransient},
		{504, "", nil, targets.Failed, false, targets.ClassTimeout},
		{505, "", nil, targets.Failed, true, targets.ClassPermanent},
	} {
		text := status(c.status, "")
		if c.status == 101 {
			text = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
		}
		s := pipeSite(t, outbound.Config{}, answer(text))
		d := post(s.origin + "/x?secret=1")
		d.HTTP.Success.Preset = c.preset
		d.Callback = c.callback
		result := try(t, s, attemptOf(d))
		require.Equal(t, c.outcome, result.Outcome, "%d %s", c.status, c.preset)
		require.Equal(t, c.noRetry, result.NoRetry, "%d %s", c.status, c.preset)
		require.Equal(t, c.class, result.Error.Class, "%d %s", c.status, c.preset)
		require.True(t, result.Sent)
		require.Contains(t, result.Summary, "POST http://h.example/x answered "+text[9:12])
		require.Equal(t, 1, s.connections())
		if c.outcome == targets.Failed {
			var refused *http.StatusError
			require.ErrorAs(t, result.Err, &refused)
			require.Equal(t, c.status, refused.Status)
			require.EqualValues(t, c.status, result.Error.Number)
		}
		s.served.Wait()
	}
}

// The contract of a runner: the cause decides what an attempt that ended early becomes.
func TestInterruption(t *testing.T) {
	t.Parallel()
	errLeave := errors.New("the agent stops")
	silent := func(c net.Conn) {
		_, _, _ = readRequest(c)
		_, _ = io.Copy(io.Discard, c)
	}
	for _, c := range []struct {
		cause          error
		unsent, inside targets.Outcome
	}{
		{targets.ErrStopRequested, targets.Canceled, targets.Unknown},
		{targets.ErrTimeout, targets.TimedOut, targets.TimedOut},
		{context.DeadlineExceeded, targets.TimedOut, targets.TimedOut},
		{errLeave, targets.NotSent, targets.Unknown},
	} {
		t.Run(c.cause.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := pipeSite(t, outbound.Config{}, silent)
				ended, end := context.WithCancelCause(t.Context())
				end(c.cause)
				result := tryIn(t, ended, s, attemptOf(post(s.origin)))
				require.Equal(t, c.unsent, result.Outcome, "before the attempt")
				require.Zero(t, s.connections())

				// While begin waits for the control database.
				during, stop := context.WithCancelCause(t.Context())
				a := attemptOf(post(s.origin))
				a.Begin = func(ctx context.Context) (time.Time, error) {
					stop(c.cause)
					<-ctx.Done()
					return time.Now().Add(time.Hour), nil
				}
				result = tryIn(t, during, s, a)
				require.Equal(t, c.unsent, result.Outcome, "while the attempt begins")
				require.False(t, result.Sent)

				inside, leave := context.WithCancelCause(t.Context())
				time.AfterFunc(500*time.Millisecond, func() { leave(c.cause) })
				result = tryIn(t, inside, s, attemptOf(post(s.origin)))
				require.Equal(t, c.inside, result.Outcome, "after the request")
				require.True(t, result.Sent)
				require.ErrorIs(t, result.Err, c.cause)
				s.served.Wait()
			})
		})
	}
	// While the body comes, the status has decided.
	synctest.Test(t, func(t *testing.T) {
		s := pipeSite(t, outbound.Config{}, func(c net.Conn) {
			_, _, _ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nabc")
			_, _ = io.Copy(io.Discard, c)
		})
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(targets.ErrStopRequested) })
		result := tryIn(t, ctx, s, attemptOf(post(s.origin)))
		require.Equal(t, targets.Succeeded, result.Outcome)
		require.Contains(t, texts(result, targets.KindAgent)[0], "stop requested")
		s.served.Wait()
	})
}

// lateContext is a context that ends a moment after its deadline has passed, as contexts do on a
// busy machine.
type lateContext struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (c lateContext) Deadline() (deadline time.Time, ok bool) { return c.deadline, true }

// An attempt whose deadline has passed is TimedOut, even if something in it noticed the deadline
// before the context ended.
func TestDeadlineIsNoticedEarly(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]targets.Outcome{"dial": targets.TimedOut, "begin": targets.TimedOut, "stopped": targets.Canceled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				deadline := time.Now().Add(time.Second)
				noticed := func() error {
					<-time.After(time.Until(deadline))
					return os.ErrDeadlineExceeded
				}
				s := pipeSite(t, outbound.Config{}, func(c net.Conn) { _, _, _ = readRequest(c) })
				a := attemptOf(post(s.origin))
				cause := targets.ErrTimeout
				switch name {
				case "begin":
					a.Begin = func(context.Context) (time.Time, error) { return time.Time{}, noticed() }
				case "stopped":
					cause = targets.ErrStopRequested
					fallthrough
				case "dial":
					cfg := outbound.Config{Resolver: everyName{}, Dialer: func(context.Context, string, string) (net.Conn, error) {
						return nil, noticed()
					}}
					var err error
					s.network, err = outbound.New(cfg)
					require.NoError(t, err)
				}
				ctx, end := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Until(deadline)+time.Millisecond, func() { end(cause) })
				result := tryIn(t, lateContext{ctx, deadline}, s, a)
				require.Equal(t, want, result.Outcome, result.Summary)
				require.False(t, result.Sent)
				s.served.Wait()
			})
		})
	}
}

// Begin is called once, before the first byte, and its refusal sends nothing.
func TestBegin(t *testing.T) {
	t.Parallel()
	overBoth(t, answer(status(200, "")), func(t *testing.T, s *site) {
		a := attemptOf(post(s.origin))
		begun := 0
		a.Begin = func(context.Context) (time.Time, error) {
			begun++
			if s.origin == "http://h.example" && s.connections() != 1 { // over TCP, the server may accept later
				t.Error("the connection is not ready")
			}
			return time.Now().Add(time.Second), nil
		}
		require.Equal(t, targets.Succeeded, try(t, s, a).Outcome)
		require.Equal(t, 1, begun)

		a.Begin = func(context.Context) (time.Time, error) { return time.Time{}, errBegin }
		result := try(t, s, a)
		require.Equal(t, targets.NotSent, result.Outcome)
		require.ErrorIs(t, result.Err, errBegin)

		// An agent that was frozen between the answer of begin and the first byte does not send.
		a.Begin = func(context.Context) (time.Time, error) { return time.Now().Add(-time.Millisecond), nil }
		result = try(t, s, a)
		require.Equal(t, targets.NotSent, result.Outcome)
		require.ErrorIs(t, result.Err, outbound.ErrLeaseEnded)
	})
}

// eofConn reports the end of its first read.
type eofConn struct {
	net.Conn
	once *sync.Once
	read chan struct{}
}

func (c eofConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.once.Do(func() { close(c.read) })
	return n, err
}

// The refusal of Begin is the reason of an attempt, even if the connection breaks at the same time.
// Which of the two net/http returns is random.
func TestBeginRefusesOnABrokenConnection(t *testing.T) {
	t.Parallel()
	for range 50 {
		ours, theirs := net.Pipe()
		read := make(chan struct{})
		network, err := outbound.New(outbound.Config{Resolver: everyName{},
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				return eofConn{Conn: ours, once: new(sync.Once), read: read}, nil
			}})
		require.NoError(t, err)
		a := attemptOf(post("http://h.example"))
		a.Begin = func(context.Context) (time.Time, error) {
			_ = theirs.Close()
			<-read
			return time.Time{}, errBegin
		}
		result := http.NewRunner(network, http.Config{}).Run(t.Context(), a)
		require.Equal(t, targets.NotSent, result.Outcome, result.Summary)
		require.ErrorIs(t, result.Err, errBegin)
	}
}

// What a server sends before the request is no answer: nothing began, so that nothing can have
// succeeded or been accepted.
func TestAnswerBeforeTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := pipeSite(t, outbound.Config{}, func(c net.Conn) {
			time.Sleep(100 * time.Millisecond)
			_, _ = io.WriteString(c, status(202, ""))
		})
		d := post(s.origin)
		d.Callback = &action.Callback{}
		a := attemptOf(d)
		a.Begin = func(ctx context.Context) (time.Time, error) {
			<-ctx.Done() // the control database is slow
			return time.Time{}, ctx.Err()
		}
		result := try(t, s, a)
		s.served.Wait()
		require.Equal(t, targets.Failed, result.Outcome)
		require.False(t, result.Sent)
		require.False(t, result.NoRetry)
		require.Contains(t, result.Summary, "before the request was sent")
	})
}

// The connection breaks after each number of bytes of the request. The attempt is Unknown iff a
// byte went out, and the server sees at most one request.
func TestBreakAtEachByte(t *testing.T) {
	t.Parallel()
	length := 0
	measure := pipeSite(t, outbound.Config{}, func(c net.Conn) {
		counted := &countingConn{Conn: c}
		_, _, _ = readRequest(counted)
		length = int(counted.read.Load())
		_, _ = io.WriteString(c, status(200, ""))
	})
	require.Equal(t, targets.Succeeded, try(t, measure, attemptOf(post("http://h.example/x"))).Outcome)
	measure.served.Wait()
	require.Greater(t, length, 200)
	for offset := 0; offset <= length; offset++ {
		synctest.Test(t, func(t *testing.T) {
			var whole atomic.Int32
			s := pipeSite(t, outbound.Config{}, func(c net.Conn) {
				n, _ := io.ReadFull(c, make([]byte, offset))
				if n == length {
					whole.Add(1)
				}
			})
			result := try(t, s, attemptOf(post("http://h.example/x")))
			s.served.Wait()
			if offset == 0 {
				require.Equal(t, targets.Failed, result.Outcome, "offset 0")
				require.False(t, result.Sent)
				require.False(t, result.NoRetry)
			} else {
				require.Equal(t, targets.Unknown, result.Outcome, "offset %d", offset)
				require.True(t, result.Sent)
			}
			require.Equal(t, 1, s.connections())
			require.LessOrEqual(t, whole.Load(), int32(1))
		})
	}
}

// countingConn counts the bytes that were read.
type countingConn struct {
	net.Conn
	read atomic.Int64
}

// Read implements net.Conn.
func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// A connection that is reset by the operating system at any moment leads to one request at most.
func TestResetConnections(t *testing.T) {
	t.Parallel()
	var executed atomic.Int32
	s := tcpSite(t, outbound.Config{}, func(c net.Conn) {
		if _, _, err := readRequest(c); err == nil {
			executed.Add(1)
		}
		_ = c.(*net.TCPConn).SetLinger(0) // close with RST
	})
	const attempts = 50
	for range attempts {
		require.Equal(t, targets.Unknown, try(t, s, attemptOf(post(s.origin))).Outcome)
	}
	require.Equal(t, attempts, s.connections())
	require.LessOrEqual(t, executed.Load(), int32(attempts))
}

// A client certificate is presented to the host of the credential, and to no other host.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	pair, ca := certificate(t)
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for _, c := range []struct {
		place string
		want  int
	}{{"https://example.com/", 1}, {"https://www.example.com/", 0}} {
		synctest.Test(t, func(t *testing.T) {
			var presented []int
			s := pipeSite(t, outbound.Config{CA: ca, Servers: []outbound.Server{{Match: "*", TLS: "insecure"}}}, func(c2 net.Conn) {
				secured := tls.Server(c2, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert})
				text := status(200, "")
				if len(presented) == 0 {
					text = status(307, "", "Location: "+c.place)
				}
				if _, _, err := readRequest(secured); err == nil {
					presented = append(presented, len(secured.ConnectionState().PeerCertificates))
					_, _ = io.WriteString(secured, text)
				}
				_ = secured.Close()
			})
			d := post("https://example.com/first")
			d.HTTP.FollowRedirects = 1
			d.HTTP.Auth = &action.Auth{Kind: "client-certificate", Certificate: bundle}
			result := try(t, s, attemptOf(d))
			s.served.Wait()
			require.Equal(t, targets.Succeeded, result.Outcome, result.Summary)
			require.Equal(t, []int{1, c.want}, presented)
		})
	}
	s := pipeSite(t, outbound.Config{}, nil)
	for text, plain := range map[string]bool{"hunter2": false, bundle[:200]: false, bundle: true} {
		d := post("https://example.com/")
		if plain {
			d = post("http://example.com/")
		}
		d.HTTP.Auth = &action.Auth{Kind: "client-certificate", Certificate: text}
		result := try(t, s, attemptOf(d))
		require.Equal(t, targets.Failed, result.Outcome)
		require.True(t, result.NoRetry)
		require.NotContains(t, result.Summary, "hunter2")
	}
	require.Zero(t, s.connections())
}
