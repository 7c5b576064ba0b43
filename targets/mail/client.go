package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// client is a client of the library for one message.
type client struct {
	*gomail.Client
	server Server
	smtp   *smtp.Client
	// dialer is called by the library; it keeps the connection.
	dialer gomail.DialContextFunc
}

func (s *Sender) client(server Server) (*client, error) {
	address := server.Address()
	host, _, err := net.SplitHostPort(address)
	if err != nil || server.Host == "" {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("the mail server %q", server.Host), Err: errors.New("want a host name or an address")}
	}
	if !slices.Contains([]Security{"", STARTTLS, TLS, None}, server.Security) {
		return nil, &targets.ConfigError{Subject: "the mail server", Err: fmt.Errorf("invalid security %q: want starttls, tls or none", server.Security)}
	}
	if server.Security == None && server.Password != "" {
		return nil, &targets.ConfigError{Subject: "the mail server", Err: errors.New("a password is sent with starttls or tls only")}
	}
	c := &client{server: server}
	options := []gomail.Option{
		gomail.WithTimeout(dialTimeout),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.dialer(ctx, network, address)
		}),
		gomail.WithTLSPolicy(gomail.NoTLS), gomail.WithoutNoop(),
	}
	if server.Security == "" || server.Security == STARTTLS {
		var config *tls.Config
		if config, err = s.network.TLSConfig(address); err != nil {
			return nil, err
		}
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory), gomail.WithTLSConfig(config))
	}
	if server.Security == TLS {
		options = append(options, gomail.WithSSL()) // the dialer has made the connection with TLS
	}
	if server.Username != "" {
		options = append(options, gomail.WithOpportunisticSMTPAuth(
			gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin),
			gomail.WithUsername(server.Username), gomail.WithPassword(server.Password))
	}
	if c.Client, err = gomail.NewClient(host, options...); err != nil {
		return nil, &targets.ConfigError{Subject: "the mail server", Err: err}
	}
	return c, nil
}

// dial connects, and logs in if the server has a user. The end of ctx closes the connection,
// because the library waits for answers without a context; the caller calls stop afterwards.
func (c *client) dial(ctx context.Context, network *outbound.Network) (conn net.Conn, stop func() bool, err error) {
	stop = func() bool { return false }
	c.dialer = func(dialing context.Context, _, _ string) (net.Conn, error) {
		made, err := network.For(nil, nil).Dial(dialing, c.server.Address())
		if err != nil {
			return nil, err
		}
		stop = context.AfterFunc(ctx, func() { _ = made.Close() })
		conn = made
		if c.server.Security != TLS {
			return made, nil
		}
		config, err := network.TLSConfig(c.server.Address())
		if err != nil {
			return nil, err
		}
		secured := tls.Client(made, config) // the library looks for this type
		if err := secured.HandshakeContext(dialing); err != nil {
			return nil, &outbound.PhaseError{Phase: "TLS handshake", Err: err}
		}
		conn = secured
		return secured, nil
	}
	if c.smtp, err = c.DialToSMTPClientWithContext(ctx); err != nil {
		stop()
		if conn != nil {
			_ = conn.Close()
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, fmt.Errorf("connect to the mail server: %w", err)
	}
	return conn, stop, nil
}

// close ends the session.
func (c *client) close() { _ = c.CloseWithSMTPClient(c.smtp) }
