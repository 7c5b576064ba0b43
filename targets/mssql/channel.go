package mssql

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// channel is a network connection to a server that carries the driver's TDS as its encryption says. The driver has its own encryption disabled: it writes a
// PRELOGIN without encryption, and reads an answer without. The channel changes both, and does between them what they are about
// (MS-TDS 2.2.6.5, https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/60f56408-0188-4cd5-8b90-25c6f2423868; 3.2.5.2):
//
//	driver                       channel                                        server
//	  PRELOGIN (not supported) ─▶  strict: TLS handshake                      ◀─▶
//	                               PRELOGIN (on, strict, or not supported)     ─▶
//	                            ◀─ PRELOGIN's answer, checked                  ◀─
//	                               true: TLS handshake in PRELOGIN packets    ◀─▶
//	  answer (not supported)   ◀─
//	  LOGIN7, all that follows ◀─▶ inside TLS, unless disable was written     ◀─▶
//
// So what reads and writes between the driver and the channel sees plain text, and no byte of a login is sent before the server has proved who it is.
// Everything up to PRELOGIN's answer happens in the goroutine that logs in; afterwards one goroutine may read while another writes. A deadline
// ends each of these steps, as the connection's own does.
type channel struct {
	net.Conn   // to the server; its deadlines are the channel's
	encryption *Encryption
	server     string // as it was dialed: host:port

	stage    channelStage
	inside   net.Conn // what carries TDS: the TLS connection when there is one, else Conn
	prelogin []byte   // the driver's, as far as it has come
	answer   []byte   // what is left of the answer for the driver

	version tdsVersion // what strict changes in the login
}

// channelStage is how far a channel has come.
type channelStage int

const (
	stagePrelogin channelStage = iota // the driver's PRELOGIN is to come
	stageAnswer                       // the server's answer is to come
	stageOpen                         // both pass through
	stageFailed
)

// newChannel makes the channel over a connection that was dialed as server (host:port). Nothing is sent yet.
func newChannel(conn net.Conn, e *Encryption, server string) *channel {
	return &channel{Conn: conn, encryption: e, server: server, inside: conn}
}

// Write takes the driver's PRELOGIN, or sends p.
func (c *channel) Write(p []byte) (int, error) {
	if c.stage == stageOpen && !c.version.login {
		return c.inside.Write(p)
	}
	switch c.stage {
	case stagePrelogin:
		return c.begin(p)
	case stageOpen:
		return c.inside.Write(c.version.request(p))
	default:
		return 0, c.fail(errDriverOutOfOrder)
	}
}

// Read gives the driver the answer to PRELOGIN, and then what the server sends.
func (c *channel) Read(p []byte) (int, error) {
	if c.stage == stageOpen && len(c.answer) == 0 && !c.version.reply {
		return c.inside.Read(p)
	}
	switch {
	case c.stage == stageAnswer:
		if err := c.negotiate(); err != nil {
			return 0, err
		}
	case c.stage != stageOpen:
		return 0, c.fail(errDriverOutOfOrder)
	case len(c.answer) == 0:
		var err error
		if c.answer, err = c.version.message(c.inside); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// Close closes the connection without a word, as Microsoft's clients do: TDS needs no closing alert, and a server that has stopped reading would be
// waited for.
func (c *channel) Close() error { return c.Conn.Close() }

// fail ends the channel: nothing is sent any more.
func (c *channel) fail(err error) error {
	c.stage = stageFailed
	return &EncryptionError{Server: c.server, Err: err, text: fmt.Sprintf("connect to %s: %v", c.server, err)}
}

// refuse ends the channel because of what the server is or says in a step of the negotiation. An error of the network stays what it is.
func (c *channel) refuse(step string, err error) error {
	c.stage = stageFailed
	if isNetworkError(err) {
		if c.encryption.mode == encryptStrict {
			step += " (encrypt=strict takes SQL Server 2022 or later, or Azure)"
		}
		return fmt.Errorf("%s: %w", step, err)
	}
	return c.encryption.refusal(c.server, err)
}

// The steps of the negotiation.
const (
	stepPrelogin  = "read the answer to PRELOGIN"
	stepHandshake = "TLS handshake"
)

// isNetworkError says whether the connection ended or was ended; else the other side has said something wrong.
func isNetworkError(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") { // alerts of TLS
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// begin takes a part of the driver's PRELOGIN, and sends it when it is whole.
func (c *channel) begin(p []byte) (int, error) {
	c.prelogin = append(c.prelogin, p...)
	payload, whole, err := splitMessage(c.prelogin, packetPrelogin)
	if err != nil {
		return 0, c.fail(errDriverOutOfOrder)
	}
	if !whole {
		return len(p), nil
	}
	options, err := readPrelogin(payload)
	if err != nil {
		return 0, c.fail(errDriverOutOfOrder)
	}
	ask := byte(encryptOn)
	switch c.encryption.mode {
	case encryptDisable:
		ask = encryptNotSupported
	case encryptStrict:
		ask = encryptStrictly
		c.version = tdsVersion{login: true, reply: true}
		secured := tls.Client(c.Conn, c.encryption.tlsConfig(c.host()))
		if err := secured.Handshake(); err != nil {
			return 0, c.refuse(stepHandshake, err)
		}
		c.inside = secured
	}
	options.set(optionEncryption, ask)
	if _, err := c.inside.Write(options.packet(packetPrelogin)); err != nil {
		return 0, err
	}
	c.prelogin, c.stage = nil, stageAnswer
	return len(p), nil
}

// host is the name that was dialed.
func (c *channel) host() string {
	host, _, err := net.SplitHostPort(c.server)
	if err != nil {
		return c.server
	}
	return host
}

// negotiate reads the server's answer to PRELOGIN, does the TLS handshake that it announces, and prepares the answer for the driver.
func (c *channel) negotiate() error {
	payload, err := readMessage(c.inside, packetReply)
	if err != nil {
		return c.refuse(stepPrelogin, err)
	}
	options, err := readPrelogin(payload)
	if err != nil {
		return c.refuse(stepPrelogin, err)
	}
	said, ok := options.get(optionEncryption)
	if !ok || len(said) != 1 {
		return c.refuse(stepPrelogin, errPreloginAnswer)
	}
	switch c.encryption.mode {
	case encryptDisable:
		if said[0] != encryptNotSupported {
			return c.refuse(stepPrelogin, errMustEncrypt)
		}
	case encryptTrue:
		if said[0] != encryptOn && said[0] != encryptRequired {
			return c.refuse(stepPrelogin, errNoEncryption)
		}
		carrier := &handshakeCarrier{Conn: c.Conn, wrapped: true}
		secured := tls.Client(carrier, c.encryption.tlsConfig(c.host()))
		err := secured.Handshake()
		if flushErr := carrier.flush(); err == nil { // our last words, or the alert that says why
			err = flushErr
		}
		if err != nil {
			return c.refuse(stepHandshake, err)
		}
		carrier.wrapped = false
		c.inside = secured
	}
	options.set(optionEncryption, encryptNotSupported)
	c.answer, c.stage = options.packet(packetReply), stageOpen
	return nil
}

// handshakeCarrier is a connection that carries a TLS handshake in the payload of PRELOGIN packets, while wrapped.
type handshakeCarrier struct {
	net.Conn
	wrapped bool
	out     []byte // to be sent before the next read
	rest    int    // bytes of the current packet that are to come
}

// Read returns a part of one packet's payload.
func (h *handshakeCarrier) Read(p []byte) (int, error) {
	if !h.wrapped {
		return h.Conn.Read(p)
	}
	if err := h.flush(); err != nil {
		return 0, err
	}
	for h.rest == 0 {
		var head [packetHead]byte
		if _, err := io.ReadFull(h.Conn, head[:]); err != nil {
			return 0, err
		}
		// Older servers answer with the type of a reply.
		size := int(binary.BigEndian.Uint16(head[2:]))
		if head[0] != packetPrelogin && head[0] != packetReply || size < packetHead {
			return 0, fmt.Errorf("a packet of type %#02x and %d bytes is no part of it", head[0], size)
		}
		h.rest = size - packetHead
	}
	n, err := h.Conn.Read(p[:min(len(p), h.rest)])
	h.rest -= n
	return n, err
}

// Write keeps p for the next packet: a flight of the handshake is one message.
func (h *handshakeCarrier) Write(p []byte) (int, error) {
	if !h.wrapped {
		return h.Conn.Write(p)
	}
	h.out = append(h.out, p...)
	return len(p), nil
}

// flush sends what was kept, as one message.
func (h *handshakeCarrier) flush() error {
	if len(h.out) == 0 {
		return nil
	}
	message := appendMessage(nil, packetPrelogin, h.out)
	h.out = h.out[:0]
	_, err := h.Conn.Write(message)
	return err
}
