package mssql

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a connection with a fixed answer. It records the written bytes.
type script struct {
	answers io.Reader
	heard   bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)       { return s.answers.Read(p) }
func (s *script) Write(p []byte) (int, error)      { return s.heard.Write(p) }
func (s *script) Close() error                     { return nil }
func (s *script) LocalAddr() net.Addr              { return nil }
func (s *script) RemoteAddr() net.Addr             { return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// driverPrelogin is the driver's PRELOGIN: version, no encryption, instance, thread, no MARS, no
// trace.
func driverPrelogin() []byte {
	return preloginOptions{
		{0, make([]byte, 6)}, {optionEncryption, []byte{encryptNotSupported}}, {2, []byte{0}}, {3, make([]byte, 4)},
		{4, []byte{0}},
	}.packet(packetPrelogin)
}

// serverPrelogin is an answer: version, encryption, and an option without data at the end.
func serverPrelogin(encryption ...byte) []byte {
	return preloginOptions{{0, []byte{16, 0, 0, 0, 0, 0}}, {optionEncryption, encryption}, {4, nil}}.packet(packetReply)
}

// The server reads the configured setting, whatever the driver wrote. The driver reads that there
// is no encryption.
func TestChannelSendsTheSetting(t *testing.T) {
	t.Parallel()
	for mode, want := range map[encryptMode]byte{encryptTrue: encryptOn, encryptDisable: encryptNotSupported} {
		for size := 1; size < 80; size += 13 { // size of the parts in which the driver writes
			s := &script{answers: bytes.NewReader(serverPrelogin(encryptNotSupported))}
			c := newChannel(s, &Encryption{mode: mode}, "h:1433")
			for rest := driverPrelogin(); len(rest) > 0; {
				n, err := c.Write(rest[:min(size, len(rest))])
				require.NoError(t, err)
				rest = rest[n:]
			}
			payload, whole, err := splitMessage(s.heard.Bytes(), packetPrelogin)
			require.NoError(t, err)
			require.True(t, whole)
			options, err := readPrelogin(payload)
			require.NoError(t, err)
			asked, ok := options.get(optionEncryption)
			require.True(t, ok)
			require.Equal(t, []byte{want}, asked)
			require.Len(t, options, 5)
			answer, err := io.ReadAll(c)
			if mode == encryptTrue {
				require.ErrorIs(t, err, errNoEncryption)
				_, err = c.Write([]byte("login"))
				require.Error(t, err)
				require.NotContains(t, s.heard.String(), "login")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, serverPrelogin(encryptNotSupported), answer)
			_, err = c.Write([]byte("login"))
			require.NoError(t, err)
			require.Contains(t, s.heard.String(), "login")
		}
	}
}

// An answer to PRELOGIN that can be read in two ways is refused.
func TestChannelRefusesAnswers(t *testing.T) {
	t.Parallel()
	packet := func(payload ...byte) []byte { return message(packetReply, payload) }
	for name, answer := range map[string][]byte{
		"nothing":            {},
		"another packet":     message(packetPrelogin, []byte{optionEnd}),
		"too small":          {packetReply, packetLast, 0, 7, 0, 0, 1, 0},
		"too long":           append([]byte{packetReply, packetLast, 0xff, 0xff, 0, 0, 1, 0}, make([]byte, 0xffff)...),
		"endless":            bytes.Repeat([]byte{packetReply, 0, 0, 9, 0, 0, 1, 0, 0}, 10000),
		"empty":              packet(),
		"no end":             packet(1, 0, 5, 0, 1),
		"no encryption":      packet(optionEnd),
		"twice":              packet(1, 0, 11, 0, 1, 1, 0, 12, 0, 1, optionEnd, encryptNotSupported, encryptOn),
		"outside":            packet(1, 0, 7, 0, 1, optionEnd, encryptNotSupported),
		"without data":       packet(1, 0, 6, 0, 0, optionEnd, encryptNotSupported),
		"two bytes":          packet(1, 0, 6, 0, 2, optionEnd, encryptNotSupported, encryptOn),
		"an option cut":      packet(1, 0, 6, 0),
		"length wraps round": packet(1, 0xff, 0xff, 0xff, 0xff, optionEnd),
	} {
		for _, mode := range []encryptMode{encryptTrue, encryptDisable} {
			s := &script{answers: bytes.NewReader(answer)}
			c := newChannel(s, &Encryption{mode: mode}, "h:1433")
			_, err := c.Write(driverPrelogin())
			require.NoError(t, err)
			s.heard.Reset()
			_, err = c.Read(make([]byte, 4096))
			require.Error(t, err, name)
			require.NotErrorIs(t, err, errNoEncryption, name)
			_, err = c.Write([]byte("login"))
			require.Error(t, err)
			_, err = c.Read(make([]byte, 4096))
			require.Error(t, err)
			require.Zero(t, s.heard.Len(), name)
		}
	}
}

// A driver that does not begin with PRELOGIN, or writes before the answer, is refused.
func TestChannelNeedsPrelogin(t *testing.T) {
	t.Parallel()
	for _, first := range [][]byte{message(packetLogin, make([]byte, 100)), {packetLogin},
		message(packetPrelogin, []byte{1, 0})} {
		s := &script{answers: bytes.NewReader(nil)}
		c := newChannel(s, &Encryption{}, "h:1433")
		_, err := c.Write(first)
		require.ErrorIs(t, err, errDriverOutOfOrder)
		require.Zero(t, s.heard.Len())
	}
	s := &script{answers: bytes.NewReader(serverPrelogin(encryptOn))}
	c := newChannel(s, &Encryption{}, "h:1433")
	_, err := c.Read(make([]byte, 10))
	require.ErrorIs(t, err, errDriverOutOfOrder)
	c = newChannel(s, &Encryption{}, "h:1433")
	_, err = c.Write(driverPrelogin())
	require.NoError(t, err)
	s.heard.Reset()
	_, err = c.Write([]byte("login"))
	require.ErrorIs(t, err, errDriverOutOfOrder)
	require.Zero(t, s.heard.Len())
}

// Without a successful handshake only the handshake is sent, whatever the server answers, unless
// encryption is disabled.
func FuzzChannel(f *testing.F) {
	f.Add(serverPrelogin(encryptNotSupported), false)
	f.Add(serverPrelogin(encryptOn), false)
	f.Add(append(serverPrelogin(encryptOn), message(packetPrelogin, []byte{0x16, 3, 3, 0, 2, 1, 1})...), false)
	f.Add(serverPrelogin(encryptRequired), true)
	f.Fuzz(func(t *testing.T, answer []byte, disable bool) {
		e := &Encryption{}
		if disable {
			e.mode = encryptDisable
		}
		s := &script{answers: bytes.NewReader(answer)}
		c := newChannel(s, e, "h:1433")
		_, err := c.Write(driverPrelogin())
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 4096))
		_, writeErr := c.Write([]byte("login"))
		if err != nil || !disable {
			require.Error(t, err)
			require.Error(t, writeErr)
			require.NotContains(t, s.heard.String(), "login")
		}
	})
}

// Only the version in the login's packet and in its answer is changed, wherever packets end.
func TestTDSVersion(t *testing.T) {
	t.Parallel()
	login := message(packetLogin, append([]byte{100, 0, 0, 0, 4, 0, 0, 0x74}, make([]byte, 92)...))
	v := tdsVersion{login: true, reply: true}
	sent := v.request(login)
	require.False(t, v.login)
	require.Equal(t, []byte{0, 0, 0, 8}, sent[12:16])
	require.Equal(t, []byte{4, 0, 0, 0x74}, login[12:16], "the driver's buffer stays as it is")
	require.Equal(t, login[16:], sent[16:])
	require.Equal(t, []byte("x"), (&tdsVersion{}).request([]byte("x")))

	token := func(kind byte, data ...byte) []byte {
		return append(binary.LittleEndian.AppendUint16([]byte{kind}, uint16(len(data))), data...)
	}
	ack := func(version ...byte) []byte {
		return token(tokenLoginAck, append([]byte{1}, append(version, 0, 16, 0, 0, 0)...)...)
	}
	head := append(token(tokenEnvChange, bytes.Repeat([]byte{tokenLoginAck}, 40)...), token(tokenInfo, 8, 0, 0, 0)...)
	answer := func(version ...byte) []byte {
		return append(append(append([]byte{}, head...), ack(version...)...), 0xae, 1, 0xff, 0xfd, 0, 0, 0, 0)
	}
	packets := func(payload []byte, size int) (b []byte) {
		for len(payload) > 0 {
			part := payload[:min(size, len(payload))]
			payload = payload[len(part):]
			p := message(packetReply, part)
			if len(payload) > 0 {
				p[1] = 0
			}
			b = append(b, p...)
		}
		return b
	}
	for size := 1; size < 80; size += 3 {
		for _, version := range [][]byte{{8, 0, 0, 0}, {0x74, 0, 0, 4}} {
			v := tdsVersion{reply: true}
			got, err := v.message(bytes.NewReader(append(packets(answer(version...), size), 99)))
			require.NoError(t, err)
			require.False(t, v.reply)
			require.Equal(t, packets(answer(0x74, 0, 0, 4), size), got)
		}
	}
	// An answer that requests a token comes first, as with Microsoft Entra ID.
	v = tdsVersion{reply: true}
	info := packets([]byte{tokenFedAuthInfo, 4, 0, 0, 0, 0, 0, 0, 0}, 100)
	got, err := v.message(bytes.NewReader(info))
	require.NoError(t, err)
	require.Equal(t, info, got)
	require.True(t, v.reply, "LOGINACK is still to come")
	// Malformed data are left to the driver.
	for _, strange := range [][]byte{{tokenFedAuthInfo, 0xff, 0xff, 0xff, 0xff}, {tokenEnvChange, 1},
		{tokenLoginAck, 9, 0, 1, 8}, {0x42}} {
		v = tdsVersion{reply: true}
		got, err := v.message(bytes.NewReader(packets(strange, 100)))
		require.NoError(t, err)
		require.Equal(t, packets(strange, 100), got)
		require.False(t, v.reply)
	}
	_, err = (&tdsVersion{}).message(bytes.NewReader(info[:10]))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
