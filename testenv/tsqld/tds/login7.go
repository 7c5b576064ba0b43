package tds

import (
	"encoding/binary"
	"fmt"
)

// Secret is a password. It prints as asterisks with every verb, so a [Login] can be logged.
type Secret string

// Format writes asterisks.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }

// Bits of LOGIN7's flags (MS-TDS 2.2.6.4).
const (
	login7LanguageFatal      = 0x01 // OptionFlags2
	login7IntegratedSecurity = 0x80 // OptionFlags2
	login7ChangePassword     = 0x01 // OptionFlags3
	login7Extension          = 0x10 // OptionFlags3
)

// Sizes of LOGIN7's fixed part: up to TDS 7.1, and since 7.2.
const (
	login7Size71 = 86
	login7Size72 = 94
)

// Features that a client can request (MS-TDS 2.2.6.4, FeatureExt).
const (
	FeatureSessionRecovery uint8 = 0x01
	FeatureFedAuth         uint8 = 0x02
	FeatureUTF8            uint8 = 0x0A
	featureEnd             uint8 = 0xFF
)

// Login is a LOGIN7 message. [Login.TooLong] reports a text that exceeds its maximum length.
type Login struct {
	Asked      Version // version that the client requests
	Version    Version // version that the server uses
	PacketSize int     // requested size in bytes; 0 leaves it to the server
	ProgVer    uint32  // client library's version
	PID        uint32  // client's process
	Flags1     uint8
	Flags2     uint8
	TypeFlags  uint8
	Flags3     uint8
	TimeZone   int32 // unused by servers
	LCID       uint32

	Host        string // client's machine
	User        string
	Password    Secret
	App         string
	Server      string // the client's name for the server
	Library     string // client library's name
	Language    string
	Database    string // initial database; "" for the login's default
	ClientID    [6]byte
	SSPI        []byte
	AttachFile  string
	NewPassword Secret // set if the client changes its password

	Features []Feature // in the order of the message
}

// Feature is one entry of LOGIN7's FeatureExt.
type Feature struct {
	ID   uint8
	Data []byte
}

// Maximum lengths of LOGIN7's texts in UTF-16 code units (MS-TDS 2.2.6.4: names and passwords "MUST
// specify at most 128 characters", the file 260).
const (
	longestText = 128
	longestFile = 260
)

// TooLong returns the name of a text that is longer than MS-TDS allows; "" if there is none.
func (l *Login) TooLong() string {
	for _, t := range []struct{ name, text string }{
		{"host", l.Host}, {"user", l.User}, {"password", string(l.Password)}, {"application", l.App}, {"server", l.Server},
		{"library", l.Library}, {"language", l.Language}, {"database", l.Database}, {"new password", string(l.NewPassword)},
	} {
		if utf16Len(t.text) > longestText {
			return t.name
		}
	}
	if utf16Len(l.AttachFile) > longestFile {
		return "file"
	}
	return ""
}

// Integrated reports whether the client requests authentication by SSPI.
func (l *Login) Integrated() bool { return l.Flags2&login7IntegratedSecurity != 0 }

// LanguageRequired reports whether the login must fail if the server does not know the language.
func (l *Login) LanguageRequired() bool { return l.Flags2&login7LanguageFatal != 0 }

// HasFeature reports whether the client requests the feature.
func (l *Login) HasFeature(id uint8) bool { return l.Feature(id) != nil }

// Feature returns the client's request for a feature, or nil.
func (l *Login) Feature(id uint8) *Feature {
	for i := range l.Features {
		if f := &l.Features[i]; f.ID == id {
			return f
		}
	}
	return nil
}

// ReadLogin reads the payload of a LOGIN7 message. The error for a client that is too old is
// [ErrVersion]. No error contains text from the client.
func ReadLogin(b []byte) (*Login, error) {
	if len(b) < login7Size71 {
		return nil, formatErrorf("login: %d bytes", len(b))
	}
	d := newDecoder("login", b)
	if n := d.u32(); int64(n) > int64(len(b)) {
		return nil, formatErrorf("login: %d bytes announced, %d received", n, len(b))
	}
	l := &Login{Asked: Version(d.u32())}
	version, err := l.Asked.negotiate()
	if err != nil {
		return nil, err
	}
	l.Version = version
	if packetSize := d.u32(); packetSize <= MaxPacketSize {
		l.PacketSize = int(packetSize)
	} else {
		l.PacketSize = MaxPacketSize
	}
	l.ProgVer, l.PID = d.u32(), d.u32()
	d.u32() // connection id
	l.Flags1, l.Flags2, l.TypeFlags, l.Flags3 = d.u8(), d.u8(), d.u8(), d.u8()
	l.TimeZone, l.LCID = int32(d.u32()), d.u32()

	// span reads an offset and a length, in units of the given size, and returns the bytes at the
	// offset.
	span := func(what string, unit int) []byte {
		from, n := int(d.u16()), int(d.u16())*unit
		if n == 0 {
			return nil
		}
		if from < login7Size71 || from+n > len(b) {
			d.failf("%s with %d bytes at %d of %d", what, n, from, len(b))
			return nil
		}
		return b[from : from+n]
	}
	l.Host = decodeUTF16(span("host", 2))
	l.User = decodeUTF16(span("user", 2))
	l.Password = readPassword(span("password", 2))
	l.App = decodeUTF16(span("application", 2))
	l.Server = decodeUTF16(span("server", 2))
	extension := span("extension", 1)
	l.Library = decodeUTF16(span("library", 2))
	l.Language = decodeUTF16(span("language", 2))
	l.Database = decodeUTF16(span("database", 2))
	copy(l.ClientID[:], d.take(6))
	l.SSPI = append([]byte(nil), span("sspi", 1)...)
	l.AttachFile = decodeUTF16(span("file", 2))
	if version.since72() && len(b) >= login7Size72 {
		l.NewPassword = readPassword(span("new password", 2))
	}
	if l.Flags3&login7Extension != 0 && len(extension) >= 4 {
		l.Features = readFeatures(d, b, int64(binary.LittleEndian.Uint32(extension)))
	}
	if d.err != nil {
		return nil, d.err
	}
	return l, nil
}

// readFeatures reads the FeatureExt at an offset of the message.
func readFeatures(d *decoder, b []byte, from int64) []Feature {
	if from < login7Size71 || from > int64(len(b)) {
		d.failf("features at %d of %d", from, len(b))
		return nil
	}
	var fs []Feature
	e := newDecoder("login features", b[from:])
	for {
		id := e.u8()
		if e.err != nil || id == featureEnd {
			break
		}
		n := e.u32()
		if n > maxLOB {
			e.failf("feature %#02x with %d bytes", id, n)
			break
		}
		fs = append(fs, Feature{ID: id, Data: e.bytes(int(n))})
	}
	if e.err != nil {
		d.fail(e.err)
	}
	return fs
}

// readPassword removes the obfuscation of a password: the halves of each byte are swapped after an
// XOR with 0xA5.
func readPassword(b []byte) Secret {
	plain := make([]byte, len(b))
	for i, c := range b {
		c ^= 0xA5
		plain[i] = c<<4 | c>>4
	}
	return Secret(decodeUTF16(plain))
}
