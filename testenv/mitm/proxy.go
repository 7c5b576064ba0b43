package mitm

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"unicode/utf16"
)

// Mode is what a [Proxy] does to connections.
type Mode string

// The modes.
const (
	// Pass changes nothing.
	Pass Mode = "pass"
	// End ends TLS with the proxy's own certificate, whether it begins with PRELOGIN or before, and speaks to the server in clear. What a client
	// sends without encryption is passed on.
	End Mode = "end TLS"
	// LoginOnly is End, but says to the client that encryption is for the login only; what follows it is in clear.
	LoginOnly Mode = "login only"
	// Deny tells each side that the other has no encryption.
	Deny Mode = "deny encryption"
	// Lie tells the server that the client has no encryption, and the client that the server wants it.
	Lie Mode = "lie"
	// Insist tells the server that the client has no encryption, and the client, whatever it said, that there is no way without.
	Insist Mode = "insist"
	// Silent takes the option out of the server's answer to PRELOGIN.
	Silent Mode = "silent"
	// FlipRequest lets the handshake through, and changes a byte of the first thing that the client sends inside of TLS.
	FlipRequest Mode = "flip a request"
	// FlipAnswer lets the handshake through, and changes a byte of the first thing that the server sends inside of TLS.
	FlipAnswer Mode = "flip an answer"
)

// Modes returns all modes.
func Modes() []Mode {
	return []Mode{Pass, End, LoginOnly, Deny, Lie, Insist, Silent, FlipRequest, FlipAnswer}
}

// Dialer makes connections to the server that is behind a proxy.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Proxy listens on a loopback port, and does its mode to every connection. Safe for concurrent use.
type Proxy struct {
	mode        Mode
	server      Dialer
	certificate *tls.Certificate

	listener net.Listener
	mu       sync.Mutex
	wire     bytes.Buffer // all that clients sent and were sent
	plain    bytes.Buffer // all that the proxy has read inside of TLS
	names    []string     // that clients asked for in their handshakes
	dials    int
	open     map[net.Conn]struct{}
	closed   bool
	wg       sync.WaitGroup // the accepting goroutine, and those of connections
}

// New starts a proxy before a server. certificate is what [End] and [LoginOnly] show; the others need none. The caller closes it.
func New(mode Mode, server Dialer, certificate *tls.Certificate) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{mode: mode, server: server, certificate: certificate, listener: listener, open: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Address is where clients connect to: host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Pin is the SHA-256 of the proxy's own certificate, in hexadecimal digits.
func (p *Proxy) Pin() string {
	sum := sha256.Sum256(p.certificate.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// Close ends the proxy and every connection, and waits for them.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	for c := range p.open {
		err = errors.Join(err, ignoreClosed(c.Close()))
	}
	p.mu.Unlock()
	p.wg.Wait()
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Connections is how many clients came.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// Names are the server names that clients have asked for in their TLS handshakes (SNI), as far as the proxy has ended TLS.
func (p *Proxy) Names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.names...)
}

// OnWire says whether a secret has passed between client and proxy in clear: as text in UTF-8 or UTF-16, or obfuscated as in LOGIN7.
func (p *Proxy) OnWire(secret string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Shows(p.wire.Bytes(), secret)
}

// Saw is OnWire, or what the proxy has read inside of a TLS connection that it has ended.
func (p *Proxy) Saw(secret string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Shows(p.wire.Bytes(), secret) || Shows(p.plain.Bytes(), secret)
}

// Shows says whether a secret stands in b: as text in UTF-8 or UTF-16, or obfuscated as LOGIN7 has it (MS-TDS 2.2.6.4: halves of each byte swapped, XOR 0xA5).
func Shows(b []byte, secret string) bool {
	var wide []byte
	for _, u := range utf16.Encode([]rune(secret)) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	obfuscated := make([]byte, len(wide))
	for i, c := range wide {
		obfuscated[i] = (c<<4 | c>>4) ^ 0xA5
	}
	return bytes.Contains(b, []byte(secret)) || bytes.Contains(b, wide) || bytes.Contains(b, obfuscated)
}

// accept serves connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.mu.Lock()
		p.dials++
		p.mu.Unlock()
		if !p.add(conn) {
			return
		}
		p.wg.Go(func() {
			defer p.drop(conn)
			_ = p.serve(conn) // whatever the reason, the client sees its connection end
		})
	}
}

// add remembers a connection for Close; false: the proxy is closed, and so is the connection.
func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = struct{}{}
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	_ = c.Close() // again, perhaps
}

// recorder writes into one of the proxy's buffers.
type recorder struct {
	p   *Proxy
	buf *bytes.Buffer
}

func (r recorder) Write(b []byte) (int, error) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.buf.Write(b)
}

// recorded is a client's connection, all of which is recorded.
type recorded struct {
	net.Conn
	in  *bufio.Reader // of Conn
	rec recorder
}

func (c *recorded) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	_, _ = c.rec.Write(b[:n]) // never fails
	return n, err
}

func (c *recorded) Write(b []byte) (int, error) {
	_, _ = c.rec.Write(b) // never fails
	return c.Conn.Write(b)
}

// serve is one connection.
func (p *Proxy) serve(conn net.Conn) error {
	client := &recorded{conn, bufio.NewReader(conn), recorder{p, &p.wire}}
	first, err := client.in.Peek(1)
	if err != nil {
		return err
	}
	server, err := p.server.DialContext(context.Background(), "tcp", "")
	if err != nil {
		return err
	}
	if !p.add(server) {
		return net.ErrClosed
	}
	defer p.drop(server)
	strict := first[0] != typePrelogin
	switch p.mode {
	case Pass:
		return relay(client, server, nil, nil)
	case FlipRequest:
		return relay(client, server, flipper(), nil)
	case FlipAnswer:
		return relay(client, server, nil, flipper())
	case End, LoginOnly:
		return p.end(client, server, strict)
	default:
		if strict {
			return relay(client, server, nil, nil) // there is nothing to change
		}
		return p.cheat(client, server)
	}
}

// cheat changes what is said about encryption.
func (p *Proxy) cheat(client, server net.Conn) error {
	var toServer, toClient byte = notSupported, notSupported
	switch p.mode {
	case Lie:
		toClient = on
	case Insist:
		toClient = required
	case Silent:
		toServer, toClient = on, absent
	}
	if _, err := exchange(client, server, toServer, toClient); err != nil {
		return err
	}
	return relay(client, server, nil, nil)
}

// end does TLS with the client, and none with the server.
func (p *Proxy) end(client *recorded, server net.Conn, strict bool) error {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true, NextProtos: []string{"tds/8.0"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.names = append(p.names, hello.ServerName)
			return p.certificate, nil
		}}
	if strict {
		secured := tls.Server(client, cfg)
		if _, err := exchange(secured, server, notSupported, notSupported); err != nil {
			return err
		}
		return relay(p.reading(secured), server, nil, nil)
	}
	var answer byte = on
	if p.mode == LoginOnly {
		answer = off
	}
	wants, err := exchange(client, server, notSupported, answer)
	if err != nil {
		return err
	}
	if wants == notSupported {
		return relay(client, server, nil, nil)
	}
	cfg.MaxVersion = tls.VersionTLS12 // as TDS 7 has it
	carrier := &carrier{Conn: client, wrapped: true}
	secured := tls.Server(carrier, cfg)
	if err := secured.Handshake(); err != nil {
		_ = carrier.flush() // the alert, if there is one
		return err
	}
	if err := carrier.flush(); err != nil {
		return err
	}
	carrier.wrapped = false
	inside := p.reading(secured)
	if p.mode == LoginOnly {
		login, err := readMessage(inside)
		if err != nil {
			return err
		}
		if _, err := server.Write(login); err != nil {
			return err
		}
		return relay(client, server, nil, nil)
	}
	return relay(inside, server, nil, nil)
}

// reading records what is read from and written to a connection that the proxy has ended.
func (p *Proxy) reading(c net.Conn) net.Conn {
	return &recorded{c, bufio.NewReader(c), recorder{p, &p.plain}}
}

// relay copies both ways until one side ends. The functions may change what passes; nil: nothing.
func relay(client, server net.Conn, request, answer func([]byte)) error {
	var back sync.WaitGroup
	back.Go(func() {
		_ = copyChanged(client, server, answer) // whatever the reason, the connection ends
		_ = client.Close()
	})
	err := copyChanged(server, client, request)
	_ = server.Close() // ends the other direction
	back.Wait()
	return err
}

func copyChanged(to io.Writer, from io.Reader, change func([]byte)) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if change != nil {
				change(buf[:n])
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// flipper changes one bit of the first TLS record of application data.
func flipper() func([]byte) {
	done := false
	return func(b []byte) {
		const applicationData, header = 0x17, 5
		if !done && len(b) > header && b[0] == applicationData {
			done = true
			b[header+(len(b)-header)/2] ^= 1
		}
	}
}
