package mssql

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// channel is a network connection that carries the driver's TDS encrypted as configured. The
// driver's own encryption is disabled: the driver writes a PRELOGIN that offers no encryption, and
// reads an answer that offers none. The channel changes both messages and does the TLS handshake
// between them (MS-TDS 2.2.6.5,
// https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/60f56408-0188-4cd5-8b90-25c6f2423868;
// 3.2.5.2):
//
//	driver                       channel                                        server
//	  PRELOGIN (not supported) ─▶  strict: TLS handshake                      ◀─▶
//	                               PRELOGIN (on, strict, or not supported)     ─▶
//	                            ◀─ PRELOGIN's answer, checked                  ◀─
//	                               true: TLS handshake in PRELOGIN packets    ◀─▶
//	  answer (not supported)   ◀─
//	  LOGIN7, all that follows ◀─▶ inside TLS, unless encrypt=disable         ◀─▶
//
// Code between the driver and the channel therefore sees plain text, and no byte of a login is sent
// before the server's identity is verified. The goroutine that logs in does everything up to the
// answer to PRELOGIN. Afterwards one goroutine may read while another writes. A deadline ends each
// of these steps, as that of the connection does.
type channel struct {
	net.Conn   // to the server; its deadlines are those of the channel
	encryption *Encryption
	server     string // as it was dialed: host:port

	stage    channelStage
	inside   net.Conn // carries TDS: the TLS connection if there is one, otherwise Conn
	prelogin []byte   // of the driver, as far as it has been written
	answer   []byte   // the rest of an answer that the driver has not read yet

	version tdsVersion // changes of the login for strict
}

// channelStage is the stage of the negotiation.
type channelStage int

const (
	stagePrelogin channelStage = iota // waits for PRELOGIN of the driver
	stageAnswer                       // waits for the answer of the server
	stageOpen                         // passes everything through
	stageFailed
)

// newChannel returns the channel over a connection to server (host:port). It sends nothing.
func newChannel(conn net.Conn, e *Encryption, server string) *channel {
	return &channel{Conn: conn, encryption: e, server: server, inside: conn}
}

// Write collects PRELOGIN of the driver; after the negotiation it sends p.
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

// Read returns the answer to PRELOGIN, and after it the data of the server.
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

// Close closes the connection without a closing alert, as Microsoft's clients do. TDS messages
// carry their length, and sending an alert would block on a server that has stopped reading.
func (c *channel) Close() error { return c.Conn.Close() }

// fail ends the channel because the driver has violated the order of messages.
func (c *channel) fail(err error) error {
	c.stage = stageFailed
	return &EncryptionError{Server: c.server, Err: err, text: fmt.Sprintf("connect to %s: %v", c.server, err)}
}

// refuse ends the channel because of the server's answer in a step of the negotiation. It returns a
// network error unchanged.
func (c *channel) refuse(step string, err error) error {
	c.stage = stageFailed
	if isNetworkError(err) {
		if c.encryption.mode == encryptStrict {
			step += " (encrypt=strict requires SQL Server 2022 or later, or Azure)"
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

// isNetworkError reports whether err means that the connection ended, not that an answer was
// invalid.
func isNetworkError(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") { // TLS alerts
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// begin collects PRELOGIN of the driver, and sends it when it is complete.
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

// host returns the name that was dialed.
func (c *channel) host() string {
	host, _, err := net.SplitHostPort(c.server)
	if err != nil {
		return c.server
	}
	return host
}

// negotiate reads the server's answer to PRELOGIN, does the TLS handshake that the answer
// announces, and prepares the answer for the driver.
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
		if flushErr := carrier.flush(); err == nil { // the last flight, or the alert with the reason
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

// handshakeCarrier carries a TLS handshake in the payload of PRELOGIN packets while wrapped is set.
type handshakeCarrier struct {
	net.Conn
	wrapped bool
	out     []byte // to be sent before the next read
	rest    int    // unread bytes of the current packet
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
		// Older servers send the handshake in packets of the type reply.
		size := int(binary.BigEndian.Uint16(head[2:]))
		if head[0] != packetPrelogin && head[0] != packetReply || size < packetHead {
			return 0, fmt.Errorf("invalid packet of type %#02x and %d bytes in the handshake", head[0], size)
		}
		h.rest = size - packetHead
	}
	n, err := h.Conn.Read(p[:min(len(p), h.rest)])
	h.rest -= n
	return n, err
}

// Write keeps p for the next flush: a flight of the handshake is one message.
func (h *handshakeCarrier) Write(p []byte) (int, error) {
	if !h.wrapped {
		return h.Conn.Write(p)
	}
	h.out = append(h.out, p...)
	return len(p), nil
}

// flush sends the kept bytes as one message.
func (h *handshakeCarrier) flush() error {
	if len(h.out) == 0 {
		return nil
	}
	packets := message(packetPrelogin, h.out)
	h.out = h.out[:0]
	_, err := h.Conn.Write(packets)
	return err
}
