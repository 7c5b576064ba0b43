package mail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	gomail "github.com/wneessen/go-mail"

	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// Security is how a connection to a server is protected.
type Security string

// The securities. A connection without TLS carries no password.
const (
	STARTTLS Security = "starttls" // mandatory; the default
	TLS      Security = "tls"      // from the first byte
	None     Security = "none"
)

// Server is an SMTP server.
type Server struct {
	Host string
	// Port is 587 by default, 465 for TLS and 25 for None.
	Port     int
	Security Security
	// Username and Password are empty for a server without authentication.
	Username, Password string
}

// Address returns host:port.
func (s Server) Address() string {
	port := s.Port
	if port == 0 {
		port = map[Security]int{TLS: 465, None: 25}[s.Security]
		if port == 0 {
			port = 587
		}
	}
	return net.JoinHostPort(s.Host, strconv.Itoa(port))
}

// Message is an e-mail. Its texts may hold anything: control characters in a header become spaces.
type Message struct {
	// ID makes the Message-ID, which is the same for all attempts.
	ID   uuid.UUID
	From string
	To   []string
	// Subject is cut to 200 characters.
	Subject string
	Text    string
	HTML    string // empty: none
	Date    time.Time
	// References is the ID of the message to which this one belongs; zero for none.
	References uuid.UUID
}

// dialTimeout bounds each wait for an answer. The context bounds all of them together.
const dialTimeout = 15 * time.Second

// maxSubject bounds a subject, in characters.
const maxSubject = 200

// Sender sends e-mail. Safe for concurrent use.
type Sender struct{ network *outbound.Network }

// NewSender returns a sender that dials through the network.
func NewSender(network *outbound.Network) *Sender { return &Sender{network: network} }

// Send sends a message to all of its recipients or, if the server refuses one of them, to none.
// begin is called when the server has accepted the connection and the login, right before the
// message; nothing is sent if it returns an error, which Send returns. The error of a server does
// not hold the password.
func (s *Sender) Send(ctx context.Context, server Server, m Message, begin func(ctx context.Context) (time.Time, error)) error {
	msg, err := m.build()
	if err != nil {
		return err
	}
	client, err := s.client(server)
	if err != nil {
		return err
	}
	conn, stop, err := client.dial(ctx, s.network)
	if err != nil {
		return s.masked(server, err)
	}
	defer stop()
	defer client.close()
	if begin != nil {
		before, err := begin(ctx)
		if err != nil {
			return err
		}
		if err := conn.SetDeadline(before); err != nil {
			return fmt.Errorf("bound the time of the message: %w", err)
		}
	}
	err = client.SendWithSMTPClient(client.smtp, msg)
	if msg.IsDelivered() {
		return nil // an error after the acceptance of the message changes nothing
	}
	if ctx.Err() != nil {
		return fmt.Errorf("send the message: %w", context.Cause(ctx))
	}
	return s.masked(server, err)
}

// masked returns an error without the password of the server.
func (s *Sender) masked(server Server, err error) error {
	if err == nil || server.Password == "" {
		return err
	}
	mask := outbound.NewMask()
	mask.Add(server.Password)
	return mask.Err(err)
}

// build returns the message of the library.
func (m Message) build() (*gomail.Msg, error) {
	msg := gomail.NewMsg()
	from, err := Address(m.From)
	if err != nil {
		return nil, &targets.ConfigError{Subject: "the sender of an e-mail", Err: err}
	}
	msg.FromMailAddress(from)
	var to []*mail.Address
	for _, text := range m.To {
		a, err := Address(text)
		if err != nil {
			return nil, &targets.ConfigError{Subject: "a recipient of an e-mail", Err: err}
		}
		to = append(to, a)
	}
	if len(to) == 0 {
		return nil, &targets.ConfigError{Subject: "an e-mail", Err: errors.New("it has no recipients")}
	}
	msg.ToMailAddress(to...)
	msg.Subject(header(m.Subject, maxSubject))
	msg.SetDateWithValue(m.Date)
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	msg.SetMessageIDWithValue(m.ID.String() + "@" + domain)
	if m.References != uuid.Nil {
		reference := "<" + m.References.String() + "@" + domain + ">"
		msg.SetGenHeaderPreformatted(gomail.HeaderReferences, reference)
		msg.SetGenHeaderPreformatted(gomail.HeaderInReplyTo, reference)
	}
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no automatic answers
	msg.SetUserAgent("jobagent")
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return msg, nil
}

// Address parses an address such as a@b.example or "A <a@b.example>". It refuses several addresses,
// control characters, and quoted names that SMTP commands would have to quote again.
func Address(text string) (*mail.Address, error) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return nil, fmt.Errorf("invalid address %q: it contains a control character", text)
	}
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsAny(a.Address, " <>\"") { // would end the address in SMTP commands
		return nil, fmt.Errorf("invalid address %q: want name@domain, or \"Name <name@domain>\"", text)
	}
	return a, nil
}

// header returns a text that is safe in a header: one line, without control and bidirectional
// formatting characters, and cut.
func header(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
	return wording.Clip(text, most, wording.Characters)
}
