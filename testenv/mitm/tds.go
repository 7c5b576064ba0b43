package mitm

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// Constants of TDS packets (MS-TDS 2.2.3.1).
const (
	typePrelogin = 0x12
	headerSize   = 8
	statusLast   = 0x01
)

// Values of the encryption option of PRELOGIN (MS-TDS 2.2.6.5).
const (
	off          = 0
	on           = 1
	notSupported = 2
	required     = 3
	absent       = 0xff // not a value: removes the option
)

// readMessage reads packets up to and including the one that ends a message.
func readMessage(r io.Reader) ([]byte, error) {
	var whole []byte
	for {
		head := make([]byte, headerSize)
		if _, err := io.ReadFull(r, head); err != nil {
			return nil, err
		}
		size := int(binary.BigEndian.Uint16(head[2:]))
		if size < headerSize {
			return nil, fmt.Errorf("packet of %d bytes", size)
		}
		body := make([]byte, size-headerSize)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		whole = append(append(whole, head...), body...)
		if head[1]&statusLast != 0 {
			return whole, nil
		}
	}
}

// exchange forwards PRELOGIN and its answer with changed encryption options. It returns the option
// that the client sent.
func exchange(client, server net.Conn, toServer, toClient byte) (wants byte, err error) {
	ask, err := readMessage(client)
	if err != nil {
		return 0, err
	}
	if wants, err = setEncryption(ask, toServer); err != nil {
		return 0, err
	}
	if _, err := server.Write(ask); err != nil {
		return 0, err
	}
	answer, err := readMessage(server)
	if err != nil {
		return 0, err
	}
	if wants != notSupported || toClient == absent || toClient == required {
		if _, err := setEncryption(answer, toClient); err != nil {
			return 0, err
		}
	}
	_, err = client.Write(answer)
	return wants, err
}

// setEncryption changes the ENCRYPTION option of a PRELOGIN message of one packet in place, and
// returns the old value.
func setEncryption(message []byte, encryption byte) (was byte, err error) {
	payload := message[headerSize:]
	const optionEncryption, end = 0x01, 0xff
	for at := 0; at+5 <= len(payload) && payload[at] != end; at += 5 {
		if payload[at] != optionEncryption {
			continue
		}
		from := int(binary.BigEndian.Uint16(payload[at+1:]))
		if from >= len(payload) {
			break
		}
		was = payload[from]
		if encryption == absent {
			payload[at] = 0x70 // an unknown option
		} else {
			payload[from] = encryption
		}
		return was, nil
	}
	return 0, fmt.Errorf("a message of type %#02x without the option of encryption", message[0])
}

// carrier is a connection that wraps a TLS handshake in PRELOGIN packets while wrapped is true.
type carrier struct {
	net.Conn
	wrapped bool
	out     []byte
	rest    int // unread bytes of the current packet
}

// Read implements net.Conn. While wrapped, it sends the pending packet first, and strips the
// headers of packets.
func (c *carrier) Read(p []byte) (int, error) {
	if !c.wrapped {
		return c.Conn.Read(p)
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	for c.rest == 0 {
		head := make([]byte, headerSize)
		if _, err := io.ReadFull(c.Conn, head); err != nil {
			return 0, err
		}
		if head[0] != typePrelogin {
			return 0, fmt.Errorf("packet of type %#02x in the handshake", head[0])
		}
		c.rest = max(int(binary.BigEndian.Uint16(head[2:]))-headerSize, 0)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.rest)])
	c.rest -= n
	return n, err
}

// Write implements net.Conn. While wrapped, the bytes are sent by the next Read or flush, as one
// packet.
func (c *carrier) Write(p []byte) (int, error) {
	if !c.wrapped {
		return c.Conn.Write(p)
	}
	c.out = append(c.out, p...)
	return len(p), nil
}

// flush sends the written bytes as one packet.
func (c *carrier) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	size := headerSize + len(c.out)
	packet := append([]byte{typePrelogin, statusLast, byte(size >> 8), byte(size), 0, 0, 1, 0}, c.out...)
	c.out = nil
	_, err := c.Conn.Write(packet)
	return err
}
