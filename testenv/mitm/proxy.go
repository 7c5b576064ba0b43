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

// Mode is what a [Proxy] does with connections.
type Mode string

// The modes.
const (
	// Pass changes nothing.
	Pass Mode = "pass"
	// End terminates TLS with the proxy's own certificate, whether TLS begins within PRELOGIN or
	// before it, and uses an unencrypted connection to the server. It forwards unencrypted traffic
	// of the client.
	End Mode = "end TLS"
	// LoginOnly is End, but tells the client to encrypt the login only. The traffic after the login
	// is unencrypted.
	LoginOnly Mode = "login only"
	// Deny tells each side that the other side does not support encryption.
	Deny Mode = "deny encryption"
	// Lie tells the server that the client does not support encryption, and the client that the
	// server requests it.
	Lie Mode = "lie"
	// Insist tells the server that the client does not support encryption, and tells every client
	// that encryption is required.
	Insist Mode = "insist"
	// Silent removes the encryption option from the server's answer to PRELOGIN.
	Silent Mode = "silent"
	// FlipRequest forwards the handshake, and changes one byte of the first TLS record of data from
	// the client.
	FlipRequest Mode = "flip a request"
	// FlipAnswer forwards the handshake, and changes one byte of the first TLS record of data from
	// the server.
	FlipAnswer Mode = "flip an answer"
)

// Modes returns all modes.
func Modes() []Mode {
	return []Mode{Pass, End, LoginOnly, Deny, Lie, Insist, Silent, FlipRequest, FlipAnswer}
}

// Dialer connects to the server behind a proxy.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Proxy listens on a loopback port and applies its mode to every connection. It is safe for
// concurrent use.
type Proxy struct {
	mode        Mode
	server      Dialer
	certificate *tls.Certificate

	listener net.Listener
	mu       sync.Mutex
	wire     bytes.Buffer // all bytes from and to clients
	plain    bytes.Buffer // all decrypted bytes
	names    []string     // of the handshakes' SNI
	dials    int
	open     map[net.Conn]struct{}
	closed   bool
	wg       sync.WaitGroup // the accepting goroutine, and one for each connection
}

// New starts a proxy for a server. Only [End] and [LoginOnly] need a certificate. The caller must
// close the proxy.
func New(mode Mode, server Dialer, certificate *tls.Certificate) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{mode: mode, server: server, certificate: certificate, listener: listener, open: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Address returns the proxy's host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Pin returns the SHA-256 of the proxy's certificate in hexadecimal digits.
func (p *Proxy) Pin() string {
	sum := sha256.Sum256(p.certificate.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// Close closes the proxy and its connections, and waits for its goroutines.
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

// Connections returns the number of accepted connections.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// Names returns the server names of the TLS handshakes (SNI) that the proxy terminated.
func (p *Proxy) Names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.names...)
}

// OnWire reports whether a secret has passed between client and proxy without encryption, in one of
// the forms of [Shows].
func (p *Proxy) OnWire(secret string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Shows(p.wire.Bytes(), secret)
}

// Saw reports whether a secret has passed the proxy without encryption, or inside a TLS connection
// that the proxy terminated.
func (p *Proxy) Saw(secret string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Shows(p.wire.Bytes(), secret) || Shows(p.plain.Bytes(), secret)
}

// Shows reports whether b contains a secret as UTF-8, as UTF-16, or obfuscated as in LOGIN7 (MS-TDS
// 2.2.6.4: the halves of each byte swapped, XOR 0xA5).
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
			_ = p.serve(conn) // after an error, the client's connection ends
		})
	}
}

// add registers a connection for Close. It returns false, and closes the connection, if the proxy
// is closed.
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
	_ = c.Close() // it may be closed already
}

// recorder is a writer into one of the proxy's buffers.
type recorder struct {
	p   *Proxy
	buf *bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (r recorder) Write(b []byte) (int, error) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.buf.Write(b)
}

// recorded is a connection whose bytes are recorded.
type recorded struct {
	net.Conn
	in  *bufio.Reader // reads Conn
	rec recorder
}

// Read implements net.Conn and records the bytes that it returns.
func (c *recorded) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	_, _ = c.rec.Write(b[:n]) // recorder.Write never fails
	return n, err
}

// Write implements net.Conn and records the bytes that it sends.
func (c *recorded) Write(b []byte) (int, error) {
	_, _ = c.rec.Write(b) // recorder.Write never fails
	return c.Conn.Write(b)
}

// serve serves one connection.
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
			return relay(client, server, nil, nil) // TLS precedes PRELOGIN
		}
		return p.cheat(client, server)
	}
}

// cheat changes the encryption options of PRELOGIN.
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

// end terminates TLS with the client, and connects to the server without TLS.
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
	cfg.MaxVersion = tls.VersionTLS12 // TDS 7 has no TLS 1.3
	carrier := &carrier{Conn: client, wrapped: true}
	secured := tls.Server(carrier, cfg)
	if err := secured.Handshake(); err != nil {
		_ = carrier.flush() // sends the alert, if any
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

// reading returns a terminated connection whose decrypted bytes are recorded.
func (p *Proxy) reading(c net.Conn) net.Conn {
	return &recorded{c, bufio.NewReader(c), recorder{p, &p.plain}}
}

// relay copies in both directions until one side ends. request and answer may change the bytes in
// place; both may be nil.
func relay(client, server net.Conn, request, answer func([]byte)) error {
	var back sync.WaitGroup
	back.Go(func() {
		_ = copyChanged(client, server, answer) // an error of either side ends the connection
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

// flipper returns a function that changes one bit of the first TLS record of application data.
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
