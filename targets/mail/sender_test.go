package mail

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// smtpServer is an SMTP server without TLS that keeps what it receives.
type smtpServer struct {
	port int

	mu       sync.Mutex
	messages []string
	commands []string
}

// serveSMTP starts a server. answers replaces answers by the command's first word; "hang" is none.
func serveSMTP(t *testing.T, answers map[string]string) *smtpServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	s := &smtpServer{}
	s.port, err = strconv.Atoi(port)
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.session(conn, answers) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wg.Wait()
	})
	return s
}

// session serves one client.
func (s *smtpServer) session(conn net.Conn, answers map[string]string) {
	defer conn.Close()
	say := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") }
	if answers["CONNECT"] == "hang" {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	say("220 test")
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		word := strings.ToUpper(strings.Fields(line + " x")[0])
		s.mu.Lock()
		s.commands = append(s.commands, strings.TrimSpace(line))
		s.mu.Unlock()
		switch answer, ok := answers[word]; {
		case ok && answer == "hang":
			_, _ = io.Copy(io.Discard, conn)
			return
		case ok:
			say(answer)
		case word == "EHLO":
			say("250-test\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN")
		case word == "DATA":
			say("354 go on")
			var b strings.Builder
			for {
				text, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if text == ".\r\n" {
					break
				}
				b.WriteString(text)
			}
			s.mu.Lock()
			s.messages = append(s.messages, b.String())
			s.mu.Unlock()
			say("250 accepted")
		case word == "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// sender returns a sender that may connect to this machine, and the server as its argument.
func (s *smtpServer) sender(t *testing.T, allow ...string) (*Sender, Server) {
	t.Helper()
	network, err := outbound.New(outbound.Config{Allow: allow})
	require.NoError(t, err)
	return NewSender(network), Server{Host: "127.0.0.1", Port: s.port, Security: None}
}

// hostile is a message whose texts try to break out of their places.
func hostile() Message {
	return Message{
		ID: uuid.New(), From: "Jobs <jobs@example.com>", To: []string{"ops@example.com", "b@example.com"},
		Subject: "Job 'x\r\nBcc: evil@example.com\r\n\r\nbody' \u202eended" + strings.Repeat("ä", 8000),
		Text:    "first\r\n.\r\nMAIL FROM:<evil@example.com>\n", HTML: "<p>first</p>", Date: time.Unix(1_800_000_000, 0),
	}
}

// No text adds a header, a recipient or a command.
func TestMessage(t *testing.T) {
	t.Parallel()
	server := serveSMTP(t, nil)
	sender, to := server.sender(t, outbound.LoopbackAllowed()...)
	begun := false
	m := hostile()
	require.NoError(t, sender.Send(t.Context(), to, m, func(context.Context) (time.Time, error) {
		begun = true
		require.Empty(t, server.messages)
		return time.Now().Add(time.Minute), nil
	}))
	require.True(t, begun)
	require.Len(t, server.messages, 1)
	got, err := mail.ReadMessage(strings.NewReader(server.messages[0]))
	require.NoError(t, err)
	require.Empty(t, got.Header.Get("Bcc"))
	require.Equal(t, "<"+m.ID.String()+"@example.com>", got.Header.Get("Message-Id"))
	require.Equal(t, "auto-generated", got.Header.Get("Auto-Submitted"))
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	require.NoError(t, err)
	require.NotContains(t, subject, "\n")
	require.NotContains(t, subject, "\u202e")
	require.LessOrEqual(t, len([]rune(subject)), maxSubject)
	require.Contains(t, server.messages[0], "text/html")
	var recipients []string
	for _, c := range server.commands {
		require.NotContains(t, c, "evil")
		if strings.HasPrefix(c, "RCPT") {
			recipients = append(recipients, c)
		}
	}
	require.Len(t, recipients, 2)
}

// Failures, each with nothing delivered.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]map[string]string{
		"421":               {"MAIL": "421 not now"},
		"mailbox unknown":   {"RCPT": "550 mailbox unknown"},
		"sending SMTP DATA": {"DATA": "554 no"},
		"no answer in time": {"CONNECT": "hang"},
		"not answered":      {"MAIL": "hang"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveSMTP(t, answers)
			sender, to := server.sender(t, outbound.LoopbackAllowed()...)
			late := errors.New(name)
			ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, late)
			defer cancel()
			err := sender.Send(ctx, to, hostile(), nil)
			require.ErrorContains(t, err, name)
			require.Empty(t, server.messages)
		})
	}
}

// What is not sent: an address that is not permitted, a password without TLS, a server without
// STARTTLS, and a delivery that begin refuses.
func TestNotSent(t *testing.T) {
	t.Parallel()
	server := serveSMTP(t, nil)
	guarded, to := server.sender(t)
	var config *targets.ConfigError
	require.ErrorAs(t, guarded.Send(t.Context(), to, hostile(), nil), &config, "the guard of addresses")

	sender, to := server.sender(t, outbound.LoopbackAllowed()...)
	secret := to
	secret.Username, secret.Password = "u", "hunter2"
	require.ErrorContains(t, sender.Send(t.Context(), secret, hostile(), nil), "starttls or tls only")
	secret.Security = STARTTLS
	err := sender.Send(t.Context(), secret, hostile(), nil)
	require.ErrorContains(t, err, "STARTTLS")
	require.NotContains(t, err.Error(), "hunter2")
	for _, c := range server.commands {
		require.NotContains(t, c, "AUTH")
		require.NotContains(t, c, base64.StdEncoding.EncodeToString([]byte("hunter2")))
	}
	refused := errors.New("refused")
	require.ErrorIs(t, sender.Send(t.Context(), to, hostile(), func(context.Context) (time.Time, error) { return time.Time{}, refused }), refused)
	for _, wrong := range []string{"", "a", "a@b\r\nBcc: x@y", "a@b, c@d", `"a> NOTIFY=NEVER"@b`} {
		m := hostile()
		m.To = []string{wrong}
		require.ErrorAs(t, sender.Send(t.Context(), to, m, nil), &config, wrong)
	}
	require.Empty(t, server.messages)
}
