package tds

import "encoding/binary"

// Encryption is the value of PRELOGIN's ENCRYPTION option (MS-TDS 2.2.6.5).
type Encryption uint8

// Values of the ENCRYPTION option.
const (
	EncryptOff          Encryption = 0 // available, requested for the login only
	EncryptOn           Encryption = 1 // available, requested for the whole connection
	EncryptNotSupported Encryption = 2 // not available
	EncryptRequired     Encryption = 3 // required for the whole connection
	encryptClientCert   Encryption = 0x80
)

// Answer returns the answer of a server that supports encryption. A server that requires encryption
// answers [EncryptRequired] to a client without it, and then ends the connection (MS-TDS 2.2.6.5).
func (e Encryption) Answer(required bool) Encryption {
	switch e &^ encryptClientCert {
	case EncryptOn, EncryptRequired:
		return EncryptOn
	}
	switch {
	case required:
		return EncryptRequired
	case e&^encryptClientCert == EncryptNotSupported:
		return EncryptNotSupported
	}
	return EncryptOff
}

// Supported reports whether a client that sends e can encrypt.
func (e Encryption) Supported() bool { return e&^encryptClientCert != EncryptNotSupported }

// Tokens of PRELOGIN options.
const (
	preloginVersion    = 0x00
	preloginEncryption = 0x01
	preloginInstance   = 0x02
	preloginThreadID   = 0x03
	preloginMARS       = 0x04
	preloginEnd        = 0xFF
)

// Prelogin is a PRELOGIN message of either side.
type Prelogin struct {
	Version    [6]byte // major, minor, build (big-endian), sub-build (little-endian)
	Encryption Encryption
	Instance   string // instance that the client requests; not checked
	ThreadID   uint32 // of the client
	MARS       bool   // the client requests several requests at once, or the server grants them
}

// ReadPrelogin reads the payload of a PRELOGIN message. Unknown options are skipped.
func ReadPrelogin(b []byte) (*Prelogin, error) {
	p := &Prelogin{Encryption: EncryptNotSupported}
	for at := 0; ; at += 5 {
		if at >= len(b) {
			return nil, formatErrorf("prelogin: no terminator")
		}
		if b[at] == preloginEnd {
			return p, nil
		}
		if at+5 > len(b) {
			return nil, formatErrorf("prelogin: option cut off")
		}
		from, n := int(binary.BigEndian.Uint16(b[at+1:])), int(binary.BigEndian.Uint16(b[at+3:]))
		if from+n > len(b) {
			return nil, formatErrorf("prelogin: option %#02x with %d bytes at %d of %d", b[at], n, from, len(b))
		}
		data := b[from : from+n]
		switch b[at] {
		case preloginVersion:
			copy(p.Version[:], data)
		case preloginEncryption:
			if n < 1 {
				return nil, formatErrorf("prelogin: empty encryption option")
			}
			p.Encryption = Encryption(data[0])
		case preloginInstance:
			for i, c := range data {
				if c == 0 {
					data = data[:i]
					break
				}
			}
			p.Instance = decode1252(data)
		case preloginThreadID:
			if n >= 4 {
				p.ThreadID = binary.LittleEndian.Uint32(data)
			}
		case preloginMARS:
			p.MARS = n >= 1 && data[0] != 0
		}
	}
}

// AppendPrelogin appends the payload of a PRELOGIN message. A server has no thread id; its option
// is empty then, as in SQL Server.
func AppendPrelogin(b []byte, p *Prelogin) []byte {
	thread := []byte{}
	if p.ThreadID != 0 {
		thread = binary.LittleEndian.AppendUint32(thread, p.ThreadID)
	}
	mars := byte(0)
	if p.MARS {
		mars = 1
	}
	options := []struct {
		token byte
		data  []byte
	}{
		{preloginVersion, p.Version[:]},
		{preloginEncryption, []byte{byte(p.Encryption)}},
		{preloginInstance, append(append1252(nil, p.Instance), 0)},
		{preloginThreadID, thread},
		{preloginMARS, []byte{mars}},
	}
	at := 5*len(options) + 1
	for _, o := range options {
		b = append(b, o.token)
		b = binary.BigEndian.AppendUint16(b, uint16(at))
		b = binary.BigEndian.AppendUint16(b, uint16(len(o.data)))
		at += len(o.data)
	}
	b = append(b, preloginEnd)
	for _, o := range options {
		b = append(b, o.data...)
	}
	return b
}
