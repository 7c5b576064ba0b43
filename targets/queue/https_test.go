package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// storageKey is a key of a storage account: base64.
const storageKey = "c3RvcmFnZS1hY2NvdW50LWtleS1vZi10aGUtdGVzdHM="

// storedMessage is what a queue has of a message.
type storedMessage struct {
	text, query string
	header      http.Header
}

// storageService behaves like a Storage queue as far as a sender sees it: it verifies the
// signature, parses the document and answers. The account's path is /account.
type storageService struct {
	mu       sync.Mutex
	messages []storedMessage
	requests int
}

// stored returns the messages.
func (s *storageService) stored() []storedMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages
}

func (s *storageService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	refuse := func(status int, code, text string) {
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("x-ms-request-id", "service-request")
		w.Header().Set("x-ms-error-code", code)
		w.WriteHeader(status)
		fmt.Fprintf(w, "\uFEFF<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>%s\nRequestId:x</Message></Error>", code, text)
	}
	q := r.URL.Query()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if r.Method != http.MethodPost || len(parts) != 3 || parts[2] != "messages" {
		refuse(http.StatusBadRequest, "InvalidUri", "bad")
		return
	}
	sig := storageSignature(storageKey, q.Get("sp"), "", q.Get("se"), "/queue/account/"+parts[1], "", "", "", q.Get("sv"))
	until, err := time.Parse(time.RFC3339, q.Get("se"))
	if q.Get("sig") != sig || err != nil || time.Now().After(until) || !strings.Contains(q.Get("sp"), "a") {
		refuse(http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request. "+r.URL.RawQuery)
		return
	}
	var document struct {
		XMLName xml.Name `xml:"QueueMessage"`
		Text    string   `xml:"MessageText"`
	}
	if err := xml.NewDecoder(r.Body).Decode(&document); err != nil {
		refuse(http.StatusBadRequest, "InvalidXmlDocument", err.Error())
		return
	}
	if len(document.Text) > 65536 {
		refuse(http.StatusRequestEntityTooLarge, "RequestBodyTooLarge", "too large")
		return
	}
	s.messages = append(s.messages, storedMessage{document.Text, r.URL.RawQuery, r.Header.Clone()})
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, recordedAnswer)
}

// token returns a token for a queue of the service.
func (s *storageService) token(queue string) string {
	return storageToken("account", queue, storageKey, "a", time.Now().Add(time.Hour))
}

func TestStorageMessageArrives(t *testing.T) {
	q := &storageService{}
	s := serve(t, q.ServeHTTP, nil)
	const text = "<a>&\r\n\tGrüße \"x\" 'y' ]]>"
	for number := 1; number <= 2; number++ {
		res := run(t, s.network, withStorage(action.StorageQueue{
			Account: s.URL + "/account", Queue: "jobs", Message: text, SASToken: "?" + q.token("jobs"), TimeToLive: -1,
			VisibilityTimeout: time.Minute,
		}), func(a *targets.ActionAttempt) { a.Number = number })
		require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
		require.True(t, res.Sent)
		require.Equal(t, "The message is on the queue.", res.Summary)
		response := messageOf(t, res, targets.KindResponse)
		require.EqualValues(t, http.StatusCreated, response.Number)
		require.Equal(t, "HTTP/1.1 201 Created\nContent-Type: application/xml\nMessageId: 5974b586-0df3-4e2d-ad0c-18e3892bfca2\n"+
			"InsertionTime: Fri, 09 Oct 2026 21:04:30 GMT\nExpirationTime: Fri, 16 Oct 2026 21:04:30 GMT\n"+
			"TimeNextVisible: Fri, 09 Oct 2026 23:29:20 GMT", response.Text)
		require.NotContains(t, texts(res), "YzQ4Yzg1", "the pop receipt is not kept")
	}
	stored := q.stored()
	require.Len(t, stored, 2)
	for _, m := range stored {
		require.Equal(t, text, m.text, "the text arrives unchanged")
		require.Equal(t, "application/xml", m.header.Get("Content-Type"))
		require.Equal(t, storageVersion, m.header.Get("x-ms-version"))
		require.Equal(t, "jobagent/test", m.header.Get("User-Agent"))
		require.NotEmpty(t, m.header.Get("x-ms-date"))
		values, err := url.ParseQuery(m.query)
		require.NoError(t, err)
		require.Equal(t, []string{"-1", "60"}, []string{values.Get("messagettl"), values.Get("visibilitytimeout")})
	}
	require.NotEqual(t, stored[0].header.Get("x-ms-client-request-id"), stored[1].header.Get("x-ms-client-request-id"))
}

// A token for another queue, or an expired one, is refused. The service's answer repeats the
// request's query, and the signature in it is masked.
func TestStorageRefusedTokenIsMasked(t *testing.T) {
	q := &storageService{}
	s := serve(t, q.ServeHTTP, nil)
	for name, token := range map[string]string{
		"other queue": q.token("other"),
		"expired":     storageToken("account", "jobs", storageKey, "a", time.Now().Add(-time.Minute)),
		"unescaped":   strings.NewReplacer("%2B", "+", "%2F", "/", "%3D", "=").Replace(q.token("other")),
	} {
		res := run(t, s.network, withStorage(action.StorageQueue{Account: s.URL + "/account", Queue: "jobs", Message: "m", SASToken: token}, token), nil)
		require.Equal(t, targets.Failed, res.Outcome, name)
		require.Equal(t, targets.ClassAuth, res.Error.Class)
		require.False(t, res.NoRetry, "a permission may be given between two attempts")
		require.Contains(t, res.Summary, "AuthenticationFailed")
		require.Contains(t, res.Summary, "valid until")
		requireNoSignature(t, res, token)
	}
	require.Empty(t, q.stored())
}

// requireNoSignature requires that no text contains a token's signature in any form.
func requireNoSignature(t *testing.T, res targets.Result, token string) {
	t.Helper()
	s, err := parseStorageSAS(token)
	require.NoError(t, err)
	all := texts(res)
	for _, secret := range s.secrets {
		require.NotContains(t, all, secret)
		require.NotContains(t, all, url.QueryEscape(secret))
	}
}

// answerWith returns a handler that answers every request.
func answerWith(status int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// The table of answers of a Storage queue.
func TestStorageAnswers(t *testing.T) {
	fault := func(code string) string {
		return "<Error><Code>" + code + "</Code><Message>why " + code + "</Message></Error>"
	}
	for _, test := range []struct {
		status  int
		body    string
		outcome targets.Outcome
		noRetry bool
		class   targets.Class
		part    string
	}{
		{201, recordedAnswer, targets.Succeeded, false, "", ""},
		{201, "<html>", targets.Succeeded, false, "", ""},
		{200, recordedAnswer, targets.Unknown, false, targets.ClassPermanent, "want 201"},
		{204, "", targets.Unknown, false, targets.ClassPermanent, "want 201"},
		{307, "", targets.Failed, true, targets.ClassPermanent, "307"},
		{400, fault("InvalidQueryParameterValue"), targets.Failed, true, targets.ClassPermanent, "InvalidQueryParameterValue: why InvalidQueryParameterValue"},
		{401, "", targets.Failed, true, targets.ClassAuth, "401"},
		{403, fault("AuthenticationFailed"), targets.Failed, false, targets.ClassAuth, "AuthenticationFailed"},
		{404, fault("QueueNotFound"), targets.Failed, false, targets.ClassPermanent, "QueueNotFound"},
		{408, "", targets.Failed, false, targets.ClassTimeout, "408"},
		{409, fault("QueueBeingDeleted"), targets.Failed, true, targets.ClassPermanent, "QueueBeingDeleted"},
		{413, fault("RequestBodyTooLarge"), targets.Failed, true, targets.ClassPermanent, "RequestBodyTooLarge"},
		{429, "", targets.Failed, false, targets.ClassTransient, "429"},
		{500, fault("OperationTimedOut"), targets.Failed, false, targets.ClassTransient, "OperationTimedOut"},
		{501, "", targets.Failed, true, targets.ClassTransient, "501"},
		{502, "<html>Bad Gateway</html>", targets.Failed, false, targets.ClassTransient, "502"},
		{503, fault("ServerBusy"), targets.Failed, false, targets.ClassTransient, "ServerBusy"},
		{504, "", targets.Failed, false, targets.ClassTimeout, "504"},
	} {
		t.Run(fmt.Sprint(test.status, " ", len(test.body)), func(t *testing.T) {
			s := serve(t, answerWith(test.status, map[string]string{"Location": "http://169.254.169.254/"}, test.body), nil)
			res := run(t, s.network, withStorage(action.StorageQueue{Account: s.URL + "/account", Queue: "jobs", Message: "m", SASToken: "sig=YWJj"}), nil)
			require.Equal(t, test.outcome, res.Outcome, texts(res))
			require.Equal(t, test.noRetry, res.NoRetry)
			require.Equal(t, test.class, res.Error.Class)
			require.Contains(t, res.Summary, test.part)
			require.True(t, res.Sent)
			require.EqualValues(t, test.status, messageOf(t, res, targets.KindResponse).Number)
		})
	}
}

// An answer may say how long to wait.
func TestRetryAfter(t *testing.T) {
	s := serve(t, answerWith(503, map[string]string{"Retry-After": "7"}, ""), nil)
	res := run(t, s.network, storageTo(s.URL), nil)
	require.Equal(t, 7*time.Second, res.RetryAfter)
}

// storageTo returns a message with a token that is not verified.
func storageTo(account string) *action.Definition {
	return withStorage(action.StorageQueue{Account: account, Queue: "jobs", Message: "m", SASToken: "sig=YWJj", AllowHTTP: true})
}

// A lost answer leaves the outcome unknown; the request is sent once.
func TestLostAnswers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"the connection is closed": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c, _, _ := http.NewResponseController(w).Hijack()
			_ = c.Close()
		},
		"the answer is not HTTP": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
			_ = c.Close()
		},
		"the header is endless": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(c, "HTTP/1.1 201 Created\r\n"+strings.Repeat("X-A: "+strings.Repeat("x", 1000)+"\r\n", 200))
			_ = c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests := make(chan struct{}, 10)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) { requests <- struct{}{}; handler(w, r) }, nil)
			for _, d := range []*action.Definition{storageTo(s.URL), busTo(s.host)} {
				res := run(t, s.network, d, nil)
				require.Equal(t, targets.Unknown, res.Outcome, texts(res))
				require.True(t, res.Sent)
				require.Contains(t, res.Summary, "the message may have arrived")
				require.Len(t, requests, 1)
				<-requests
			}
		})
	}
}

// busTo returns a message to Service Bus with a key that is not verified.
func busTo(host string) *action.Definition {
	return withServiceBus(action.ServiceBus{Namespace: host, Entity: "orders", Message: "m", KeyName: "send", Key: "the-key"})
}

// A service that has read the request and says nothing is no failure. The message was sent as a
// whole.
func TestNoAnswer(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-end }, nil)
	defer close(end)
	for _, d := range []*action.Definition{storageTo(s.URL), busTo(s.host)} {
		a := theAttempt()
		a.Action = d
		a.Action.Callback = &action.Callback{}
		res := NewRunner(Config{Network: s.network, AnswerTimeout: 100 * time.Millisecond}).Run(t.Context(), a)
		require.Equal(t, targets.NoAnswer, res.Outcome, texts(res))
		require.Equal(t, targets.ClassTimeout, res.Error.Class)
		require.Contains(t, res.Summary, "no answer in time within 100ms")
	}
}

// The status decides, whatever happens to the body.
func TestBodiesOfAnswers(t *testing.T) {
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, err := zip.Write(make([]byte, 10<<20))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	for name, handler := range map[string]http.HandlerFunc{
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "<QueueMessagesList>")
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		},
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "identity", r.Header.Get("Accept-Encoding"))
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(bomb.Bytes())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, handler, nil)
			res := run(t, s.network, storageTo(s.URL), nil)
			require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
			require.Contains(t, messageOf(t, res, targets.KindResponse).Text, "MessageId: not known")
			require.Less(t, len(texts(res)), 20_000)
		})
	}
}

// What fails before the message leaves has no effect.
func TestNothingSent(t *testing.T) {
	requests := 0
	s := serve(t, func(http.ResponseWriter, *http.Request) { requests++ }, nil)
	_, otherRoot := certificate(t)
	closed := closedAddress(t)
	stopped := func(cause error) func(*targets.ActionAttempt) {
		return func(a *targets.ActionAttempt) {
			a.Begin = func(context.Context) (time.Time, error) { return time.Time{}, cause }
		}
	}
	for _, test := range []struct {
		name    string
		network *outbound.Network
		address string
		change  func(*targets.ActionAttempt)
		outcome targets.Outcome
		noRetry bool
		class   targets.Class
		part    string
	}{
		{"nothing listens", s.network, closed, nil, targets.Failed, false, targets.ClassLostConnection, "connect"},
		{"no such host", s.network, "queue.invalid:443", nil, targets.Failed, false, targets.ClassConfig, ""},
		{"a refused address", newNetwork(t, otherRoot, func(c *outbound.Config) { c.Allow = nil }), s.host, nil, targets.Failed, true,
			targets.ClassConfig, "loopback"},
		{"a refused port", s.network, "127.0.0.1:22", nil, targets.Failed, true, targets.ClassConfig, "port 22"},
		{"Begin refuses", s.network, s.host, stopped(errors.New("the term is gone")), targets.NotSent, false, targets.ClassStopped, "the term is gone"},
		{"the lease has ended", s.network, s.host, func(a *targets.ActionAttempt) {
			a.Begin = func(context.Context) (time.Time, error) { return time.Now().Add(-time.Millisecond), nil }
		}, targets.NotSent, false, targets.ClassStopped, "lease"},
	} {
		t.Run(test.name, func(t *testing.T) {
			amqp := busTo(test.address)
			amqp.ServiceBus.AMQP = true
			definitions := []*action.Definition{storageTo("https://" + test.address), busTo(test.address), amqp}
			if test.change != nil {
				definitions = definitions[:2] // the server speaks no AMQP
			}
			for _, d := range definitions {
				res := run(t, test.network, d, test.change)
				require.Equal(t, test.outcome, res.Outcome, texts(res))
				require.False(t, res.Sent)
				require.Equal(t, test.noRetry, res.NoRetry)
				require.Equal(t, test.class, res.Error.Class)
				require.Contains(t, res.Summary, test.part)
			}
		})
	}
	require.Zero(t, requests)
}

// A certificate that is not trusted is the same in another attempt.
func TestUntrustedCertificate(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {}, nil)
	network, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
	require.NoError(t, err)
	amqp := busTo(s.host)
	amqp.ServiceBus.AMQP = true
	for _, d := range []*action.Definition{storageTo(s.URL), busTo(s.host), amqp} {
		res := run(t, network, d, nil)
		require.Equal(t, targets.Failed, res.Outcome, texts(res))
		require.True(t, res.NoRetry)
		require.Equal(t, targets.ClassConfig, res.Error.Class)
		require.False(t, res.Sent)
	}
}

// The contract of a runner: the cause of the context and what was sent decide.
func TestInterrupted(t *testing.T) {
	for _, test := range []struct {
		name  string
		cause error
		sent  bool
		want  targets.Outcome
	}{
		{"stop before", targets.ErrStopRequested, false, targets.Canceled},
		{"limit before", targets.ErrTimeout, false, targets.TimedOut},
		{"interruption before", errors.New("the agent stops"), false, targets.NotSent},
		{"stop after", targets.ErrStopRequested, true, targets.Unknown},
		{"limit after", targets.ErrTimeout, true, targets.TimedOut},
		{"deadline after", context.DeadlineExceeded, true, targets.TimedOut},
		{"interruption after", errors.New("the agent stops"), true, targets.Unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			requests := make(chan struct{}, 10)
			s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				requests <- struct{}{}
				cancel(test.cause)
				<-r.Context().Done()
			}, nil)
			a := theAttempt()
			a.Action = storageTo(s.URL)
			a.Begin = func(context.Context) (time.Time, error) {
				if !test.sent {
					cancel(test.cause)
				}
				return time.Now().Add(time.Minute), nil
			}
			res := NewRunner(Config{Network: s.network}).Run(ctx, a)
			require.Equal(t, test.want, res.Outcome, texts(res))
			require.Equal(t, test.sent, res.Sent)
			require.Len(t, requests, map[bool]int{true: 1}[test.sent])
			require.Equal(t, test.cause.Error(), res.Error.Text)
			require.Equal(t, map[bool]targets.Class{true: targets.ClassTimeout, false: targets.ClassStopped}[test.want == targets.TimedOut],
				res.Error.Class)
		})
	}
}

// Each fault of a definition ends the attempt before anything is dialed, and no attempt follows.
func TestFaultsOfDefinitions(t *testing.T) {
	n, err := outbound.New(outbound.Config{})
	require.NoError(t, err)
	never := func(a *targets.ActionAttempt) {
		a.Begin = func(context.Context) (time.Time, error) { t.Error("Begin was called"); return time.Time{}, nil }
	}
	for part, d := range map[string]*action.Definition{
		"definition of the action is missing": nil,
		"invalid type":                        {Type: action.TypeHTTP},
		"invalid queue name":                  withStorage(action.StorageQueue{Account: "contoso", Queue: "Q", SASToken: "sig=a"}),
		"base64":                              withStorage(action.StorageQueue{Account: "contoso", Queue: "jobs", Message: "\x00", SASToken: "sig=a"}),
		"no signature":                        withStorage(action.StorageQueue{Account: "contoso", Queue: "jobs", SASToken: "sv=1"}),
		"want sas_token":                      withStorage(action.StorageQueue{Account: "contoso", Queue: "jobs"}),
		"invalid namespace":                   withServiceBus(action.ServiceBus{Namespace: "a/b", Entity: "q", KeyName: "k", Key: "s"}),
		"invalid queue or topic":              withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "a?b", KeyName: "k", Key: "s"}),
		"name of the key":                     withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", Key: "s"}),
		"want a key":                          withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", AMQP: true}),
		"differ": withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", KeyName: "k", Key: "s",
			Broker: action.BrokerProperties{SessionID: "a", PartitionKey: "b"}}),
		"set transport to amqp": withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", KeyName: "k", Key: "s",
			Properties: []action.Property{{Name: "a b", Value: ""}}}),
		"occurs once": withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", KeyName: "k", Key: "s", AMQP: true,
			Properties: []action.Property{{Name: "a", Value: ""}, {Name: "a", Value: ""}}}),
		"invalid type []int": withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", KeyName: "k", Key: "s", AMQP: true,
			Properties: []action.Property{{Name: "a", Value: []int{}}}}),
		"content_type": withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", KeyName: "k", Key: "s", ContentType: "a\r\nb"}),
		"at most 1048576": withServiceBus(action.ServiceBus{Namespace: "contoso", Entity: "q", KeyName: "k", Key: "s",
			Message: strings.Repeat("x", maxServiceBusBody+1)}),
	} {
		res := run(t, n, d, never)
		require.Equal(t, targets.Failed, res.Outcome, part)
		require.True(t, res.NoRetry, part)
		require.False(t, res.Sent)
		require.Contains(t, res.Summary, part)
		require.Equal(t, targets.ClassPermanent, res.Error.Class)
	}
}

// busMessage is what Service Bus has of a message.
type busMessage struct {
	body   string
	header http.Header
	path   string
}

// busService behaves like Service Bus over HTTPS as far as a sender sees it. The name of the key is
// send.
type busService struct {
	key string

	mu       sync.Mutex
	messages []busMessage
}

func (s *busService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := verifyServiceBusSAS(r.Header.Get("Authorization"), "https://"+r.Host+r.URL.Path, "send", s.key, time.Now()); err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "<Error><Code>401</Code><Detail>%v: %s</Detail></Error>", err, r.Header.Get("Authorization"))
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.messages = append(s.messages, busMessage{string(body), r.Header.Clone(), r.URL.String()})
	w.WriteHeader(http.StatusCreated)
}

func TestServiceBusMessageArrives(t *testing.T) {
	b := &busService{key: "not base64: the text is the key ü"}
	s := serve(t, b.ServeHTTP, nil)
	d := withServiceBus(action.ServiceBus{
		Namespace: s.host, Entity: "orders/High", Message: "Grüße\x00", ContentType: "application/json", KeyName: "send", Key: b.key,
		Properties: []action.Property{{Name: "tenantId", Value: "t 1"}, {Name: "count", Value: int64(3)}},
		Broker:     action.BrokerProperties{Label: "ü", TimeToLive: 10 * time.Second},
	}, b.key)
	for number := 1; number <= 2; number++ {
		res := run(t, s.network, d, func(a *targets.ActionAttempt) { a.Number = number })
		require.Equal(t, targets.Succeeded, res.Outcome, texts(res))
		response := messageOf(t, res, targets.KindResponse)
		require.EqualValues(t, http.StatusCreated, response.Number)
		require.Contains(t, response.Text, "MessageId: "+theAttempt().Key.String())
	}
	require.Len(t, b.messages, 2)
	for _, m := range b.messages {
		require.Equal(t, "Grüße\x00", m.body)
		require.Equal(t, "/orders/High/messages?timeout=60", m.path)
		require.Equal(t, "application/json", m.header.Get("Content-Type"))
		require.Equal(t, "NoRetry", m.header.Get("x-ms-retrypolicy"))
		require.Equal(t, `"t 1"`, m.header.Get("tenantId"))
		require.Equal(t, "3", m.header.Get("count"))
		var broker map[string]any
		require.NoError(t, json.Unmarshal([]byte(m.header.Get("BrokerProperties")), &broker))
		require.Equal(t, map[string]any{"Label": "ü", "MessageId": theAttempt().Key.String(), "TimeToLive": 10.0}, broker,
			"the MessageId is the same in all attempts")
	}
	d.ServiceBus.Broker.MessageID = "given"
	res := run(t, s.network, d, nil)
	require.Contains(t, messageOf(t, res, targets.KindResponse).Text, "MessageId: given")
	require.Contains(t, b.messages[2].header.Get("BrokerProperties"), `"MessageId":"given"`)
}

// The answer repeats the signature, which is masked.
func TestServiceBusWrongKeyIsMasked(t *testing.T) {
	b := &busService{key: "right"}
	s := serve(t, b.ServeHTTP, nil)
	d := busTo(s.host)
	d.ServiceBus.Key = "wrong-key-text"
	res := run(t, s.network, d, nil)
	require.Equal(t, targets.Failed, res.Outcome)
	require.Equal(t, targets.ClassAuth, res.Error.Class)
	require.True(t, res.NoRetry)
	require.Contains(t, res.Summary, "invalid signature: ***")
	require.NotContains(t, texts(res), "wrong-key-text")
	require.NotContains(t, texts(res), "sig=")
	require.Empty(t, b.messages)
}

// The table of answers of Service Bus.
func TestServiceBusAnswers(t *testing.T) {
	for _, test := range []struct {
		status  int
		outcome targets.Outcome
		noRetry bool
		class   targets.Class
	}{
		{201, targets.Succeeded, false, ""},
		{200, targets.Unknown, false, targets.ClassPermanent},
		{400, targets.Failed, true, targets.ClassPermanent},
		{401, targets.Failed, true, targets.ClassAuth},
		{403, targets.Failed, false, targets.ClassAuth},
		{404, targets.Failed, true, targets.ClassPermanent},
		{410, targets.Failed, true, targets.ClassPermanent},
		{413, targets.Failed, true, targets.ClassPermanent},
		{429, targets.Failed, false, targets.ClassTransient},
		{500, targets.Failed, false, targets.ClassTransient},
		{503, targets.Failed, false, targets.ClassTransient},
	} {
		s := serve(t, answerWith(test.status, nil, "<Error><Code>1</Code><Detail>the reason</Detail></Error>"), nil)
		res := run(t, s.network, busTo(s.host), nil)
		require.Equal(t, test.outcome, res.Outcome, test.status)
		require.Equal(t, test.noRetry, res.NoRetry, test.status)
		require.Equal(t, test.class, res.Error.Class, test.status)
		if test.outcome == targets.Failed {
			require.Contains(t, res.Summary, fmt.Sprint(test.status))
			require.Contains(t, res.Summary, "the reason")
		}
	}
}

// A message that a consumer reports on waits for the report.
func TestCallback(t *testing.T) {
	s := serve(t, answerWith(201, nil, recordedAnswer), nil)
	d := storageTo(s.URL)
	d.Callback = &action.Callback{}
	require.Equal(t, targets.Accepted, run(t, s.network, d, nil).Outcome)
	d.Callback.StatusAccepted = true
	require.Equal(t, targets.Succeeded, run(t, s.network, d, nil).Outcome, "201 is not 202")
}

// Plain http is for emulators.
func TestPlainHTTPNeedsPermission(t *testing.T) {
	d := storageTo("http://" + closedAddress(t))
	d.StorageQueue.AllowHTTP = false
	n, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
	require.NoError(t, err)
	res := run(t, n, d, nil)
	require.Contains(t, res.Summary, "allow_http")
	require.True(t, res.NoRetry)
}

// A person who tries an action sees what was sent, without secrets.
func TestShowRequests(t *testing.T) {
	s := serve(t, answerWith(201, nil, recordedAnswer), nil)
	amqp := busTo(closedAddress(t))
	amqp.ServiceBus.AMQP = true
	for want, d := range map[string]*action.Definition{
		"POST /jobs/messages?*** HTTP/1.1\nHost: " + s.host + "\nAccept-Encoding: identity\nContent-Type: application/xml\nUser-Agent: jobagent/1\n" +
			"X-Ms-Client-Request-Id: " + clientRequestID(theAttempt()).String() + "\nX-Ms-Date: ": storageTo(s.URL),
		"POST /orders/messages?timeout=60 HTTP/1.1\nHost: " + s.host + "\nAccept-Encoding: identity\nAuthorization: ***\n" +
			"BrokerProperties: {\"MessageId\":\"" + theAttempt().Key.String() + "\"}\nUser-Agent: jobagent/1\nX-Ms-Retrypolicy: NoRetry\n\nm": busTo(s.host),
		"AMQP to " + amqp.ServiceBus.Namespace + "/orders\nMessageId: " + theAttempt().Key.String(): amqp,
	} {
		a := theAttempt()
		a.Action = d
		res := NewRunner(Config{Network: s.network, UserAgent: "jobagent/1", ShowRequests: true}).Run(t.Context(), a)
		shown := messageOf(t, res, targets.KindAgent).Text
		require.True(t, strings.HasPrefix(shown, want), shown)
		require.NotContains(t, shown, "sig=")
		for _, m := range run(t, s.network, d, nil).Messages {
			require.NotEqual(t, targets.KindAgent, m.Kind, "nothing is shown without the option")
		}
	}
}
