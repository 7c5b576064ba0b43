package tds_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	. "github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

func TestPacketsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, size := range []int{MinPacketSize, DefaultPacketSize, MaxPacketSize} {
		for _, n := range []int{0, 1, size - HeaderSize, size - HeaderSize + 1, 3 * (size - HeaderSize), 100_000} {
			var wire bytes.Buffer
			w := NewMessageWriter(&wire, size)
			w.SetSPID(51)
			w.Begin(PacketReply)
			want := bytes.Repeat([]byte{7, 8, 9}, n/3+1)[:n]
			for piece := want; len(piece) > 0; {
				k := min(len(piece), 1000)
				_, err := w.Write(piece[:k])
				require.NoError(t, err)
				piece = piece[k:]
			}
			require.NoError(t, w.End())
			packets := bytes.NewReader(wire.Bytes())
			count := 0
			for {
				h, _, err := ReadPacket(packets)
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				require.Equal(t, uint8(count+1), h.ID)
				require.Equal(t, uint16(51), h.SPID)
				count++
			}
			require.Equal(t, max(1, (n+size-HeaderSize-1)/(size-HeaderSize)), count, "no packet without need")
			h, got, err := ReadMessage(&wire, 200_000)
			require.NoError(t, err)
			require.Equal(t, PacketReply, h.Type)
			require.Equal(t, want, append([]byte{}, got...))
			require.Zero(t, wire.Len())
		}
	}
}

func TestFlushSendsAPartOfAMessage(t *testing.T) {
	t.Parallel()
	var wire bytes.Buffer
	w := NewMessageWriter(&wire, 512)
	w.Begin(PacketReply)
	require.NoError(t, w.Flush())
	require.Zero(t, wire.Len(), "nothing to send")
	_, err := w.Write([]byte("ab"))
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.Equal(t, []byte{4, 0, 0, 10, 0, 0, 1, 0, 'a', 'b'}, wire.Bytes())
	require.NoError(t, w.End())
	_, got, err := ReadMessage(&wire, 10)
	require.NoError(t, err)
	require.Equal(t, "ab", string(got))
}

func TestReadPacketRefuses(t *testing.T) {
	t.Parallel()
	var bad *FormatError
	_, _, err := ReadPacket(bytes.NewReader([]byte{1, 1, 0, 7, 0, 0, 0, 0}))
	require.ErrorAs(t, err, &bad)
	_, _, err = ReadPacket(bytes.NewReader([]byte{1, 1, 0xFF, 0xFF, 0, 0, 0, 0}))
	require.ErrorAs(t, err, &bad)
	_, _, err = ReadPacket(bytes.NewReader([]byte{1, 1, 0, 9, 0, 0, 0, 0}))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	two := append(AppendPacket(nil, Header{Type: 1}, []byte("x")), AppendPacket(nil, Header{Type: 3, Status: StatusEOM}, nil)...)
	_, _, err = ReadMessage(bytes.NewReader(two), 10)
	require.ErrorAs(t, err, &bad)
	_, _, err = ReadMessage(bytes.NewReader(append(two[:9:9], AppendPacket(nil, Header{Type: 1, Status: StatusEOM}, make([]byte, 10))...)), 10)
	require.ErrorAs(t, err, &bad)
}

func TestClampPacketSize(t *testing.T) {
	t.Parallel()
	require.Equal(t, 4096, ClampPacketSize(0, false))
	require.Equal(t, 512, ClampPacketSize(1, false))
	require.Equal(t, 32767, ClampPacketSize(99999, false))
	require.Equal(t, 16383, ClampPacketSize(32767, true))
}

func TestPreloginRoundTrips(t *testing.T) {
	t.Parallel()
	want := &Prelogin{Version: [6]byte{16, 0, 3, 232}, Encryption: EncryptOn, Instance: "ab", ThreadID: 7, MARS: true}
	got, err := ReadPrelogin(AppendPrelogin(nil, want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	for asked, answer := range map[Encryption]Encryption{
		EncryptOff: EncryptOff, EncryptOn: EncryptOn, EncryptRequired: EncryptOn, EncryptNotSupported: EncryptNotSupported,
	} {
		require.Equal(t, answer, asked.Answer(false))
	}
}

// fullLogin has every field set.
func fullLogin(v Version) *Login {
	l := &Login{Asked: v, PacketSize: 8000, ProgVer: 7, PID: 9, Flags1: 0xA0, Flags2: 2, TypeFlags: 0x20,
		TimeZone: -60, LCID: 1033, Host: "host", User: "sä", Password: "p@ß😀", App: "app", Server: "srv", Library: "lib",
		Language: "us_english", Database: "db", ClientID: [6]byte{1, 2, 3, 4, 5, 6}, SSPI: []byte{9}, AttachFile: "f"}
	if v.Multiple() {
		l.NewPassword = "new"
		l.Features = []Feature{{ID: FeatureUTF8, Data: []byte{}}, {ID: FeatureSessionRecovery, Data: []byte{1, 2}}}
	}
	return l
}

func TestLoginRoundTrips(t *testing.T) {
	t.Parallel()
	for _, v := range []Version{Version71, Version71A, Version72, Version73A, Version73B, Version74, Version80} {
		want := fullLogin(v)
		got, err := ReadLogin(tdsclient.AppendLogin(nil, want))
		require.NoError(t, err)
		want.Version = v
		if v.Multiple() {
			want.Flags3 = Login7ChangePassword | Login7Extension
		}
		require.Equal(t, want, got)
		require.False(t, got.Integrated())
	}
}

func TestOldVersionsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := ReadLogin(tdsclient.AppendLogin(nil, fullLogin(Version70)))
	require.ErrorIs(t, err, ErrVersion)
	got, err := ReadLogin(tdsclient.AppendLogin(nil, fullLogin(0x75000000)))
	require.NoError(t, err)
	require.Equal(t, Version74, got.Version, "a newer client gets what the server knows")
}

func TestPasswordsDoNotPrint(t *testing.T) {
	t.Parallel()
	l := fullLogin(Version74)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		s := fmt.Sprintf(verb, l) + fmt.Sprintf(verb, l.Password)
		require.NotContains(t, s, "p@ß")
		require.NotContains(t, s, fmt.Sprintf("%x", "p@ß"))
	}
}

func TestBatchRoundTrips(t *testing.T) {
	t.Parallel()
	for _, v := range []Version{Version71, Version74} {
		want := &Batch{Text: "SELECT N'日😀'"}
		if v.Multiple() {
			want.Headers = Headers{Descriptor: 1 << 40, HasTran: true, Outstanding: 1}
		}
		got, err := ReadBatch(tdsclient.AppendBatch(nil, want, v), v)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestTransactionsRoundTrip(t *testing.T) {
	t.Parallel()
	h := Headers{Descriptor: 5, HasTran: true, Outstanding: 1}
	for _, want := range []*Transaction{
		{Headers: h, Request: TranBegin, Isolation: 5, Name: "t"},
		{Headers: h, Request: TranCommit, Name: "t"},
		{Headers: h, Request: TranRollback, BeginAfter: true, NewIsolation: 2, NewName: "u"},
		{Headers: h, Request: TranSave, Name: "s"},
		{Headers: h, Request: TranPromote},
	} {
		got, err := ReadTransaction(tdsclient.AppendTransaction(nil, want, Version74), Version74)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestRPCsRoundTrip(t *testing.T) {
	t.Parallel()
	call := RPC{Proc: "dbo.p"}
	for i, s := range Samples() {
		call.Params = append(call.Params, Param{Name: fmt.Sprintf("@p%d", i), Type: s.T, Value: s.V, Output: i%2 == 0})
	}
	call.Params = append(call.Params, Param{Type: types.Type{ID: types.Int}, Default: true})
	table := Param{Name: "@t", TypeName: "list", Columns: []types.Column{
		{Type: types.Type{ID: types.Int}, Nullable: true},
		{Type: types.Type{ID: types.BigInt}, Identity: true},
		{Type: types.Type{ID: types.NVarChar, Length: types.Max}, Nullable: true},
	}, Rows: [][]types.Value{{int64(1), nil, "x"}, {nil, nil, nil}}}
	for _, v := range []Version{Version73A, Version74} {
		want := []RPC{call, {Proc: "q", Options: 1, Params: []Param{table}}, {Proc: "r"}}
		b, err := tdsclient.AppendRPC(nil, Headers{Descriptor: 3}, want, v)
		require.NoError(t, err)
		h, got, err := ReadRPC(b, v)
		require.NoError(t, err)
		require.Equal(t, Headers{Descriptor: 3, HasTran: true, Outstanding: 1}, h)
		require.Equal(t, want, got)
	}
}

func TestRPCByNumber(t *testing.T) {
	t.Parallel()
	b := tdsclient.AppendHeaders(nil, Headers{}, Version74)
	_, calls, err := ReadRPC(append(b, 0xFF, 0xFF, 10, 0, 0, 0), Version74)
	require.NoError(t, err)
	require.Equal(t, []RPC{{Proc: "sp_executesql"}}, calls)
	_, _, err = ReadRPC(append(b, 0xFF, 0xFF, 16, 0, 0, 0), Version74)
	require.ErrorContains(t, err, "procedure number 16")
	_, calls, err = ReadRPC([]byte{1, 0, 'a', 0, 0, 0, RpcBatch71, 1, 0, 'b', 0, 0, 0}, Version71)
	require.NoError(t, err)
	require.Len(t, calls, 2)
}

func TestBulkLoadsRoundTripInPieces(t *testing.T) {
	t.Parallel()
	var cols []types.Column
	var row, nulls []types.Value
	for i, s := range Samples() {
		cols = append(cols, types.Column{Name: fmt.Sprintf("c%d", i), Type: s.T, Nullable: true})
		row, nulls = append(row, s.V), append(nulls, nil)
	}
	for _, v := range []Version{Version73A, Version74} {
		b, err := tdsclient.AppendBulk(nil, cols, [][]types.Value{row, nulls, row}, v)
		require.NoError(t, err)
		for _, piece := range []int{1000, len(b)} {
			rest := b
			r, err := NewBulkReader(func() ([]byte, error) {
				if len(rest) == 0 {
					return nil, io.EOF
				}
				k := min(piece, len(rest))
				p := rest[:k]
				rest = rest[k:]
				return p, nil
			}, v)
			require.NoError(t, err)
			require.Equal(t, cols, r.Columns())
			for _, want := range [][]types.Value{row, nulls, row} {
				got, err := r.Next()
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			_, err = r.Next()
			require.Equal(t, io.EOF, err)
			_, err = r.Next()
			require.Equal(t, io.EOF, err)
		}
	}
}

func TestTextColumnsOfBulkLoads(t *testing.T) {
	t.Parallel()
	// In the form of real clients: the table's name follows the type.
	b := []byte{TokenColMetadata, 1, 0, 0, 0, 0, 0, 9, 0, TokText, 0xFF, 0xFF, 0xFF, 0x7F, 9, 4, 0xD0, 0, 0x34, 1, 0, 't', 0, 1, 'c', 0}
	b = append(b, TokenRow, 16)
	b = append(b, make([]byte, 24)...)
	b = append(b, 2, 0, 0, 0, 'h', 'i', TokenRow, 0, TokenDone)
	b = append(b, make([]byte, 12)...)
	sent := false
	r, err := NewBulkReader(func() ([]byte, error) {
		if sent {
			return nil, io.EOF
		}
		sent = true
		return b, nil
	}, Version74)
	require.NoError(t, err)
	got, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, []types.Value{"hi"}, got)
	got, err = r.Next()
	require.NoError(t, err)
	require.Equal(t, []types.Value{nil}, got)
	_, err = r.Next()
	require.Equal(t, io.EOF, err)
}

func TestMalformedMessages(t *testing.T) {
	t.Parallel()
	good, err := tdsclient.AppendRPC(nil, Headers{}, []RPC{{Proc: "p", Params: []Param{{Name: "@a", Type: types.Type{ID: types.VarChar, Length: 5}, Value: "abc"}}}}, Version74)
	require.NoError(t, err)
	var bad *FormatError
	for n := range good {
		if n < len(good)-1 { // a call without parameters is a whole message too
			_, _, err := ReadRPC(good[:n], Version74)
			if err != nil {
				require.ErrorAs(t, err, &bad, "cut at %d", n)
			}
		}
	}
	_, err = ReadBatch([]byte{0xFF, 0xFF, 0xFF, 0xFF}, Version74)
	require.ErrorAs(t, err, &bad)
	login := tdsclient.AppendLogin(nil, fullLogin(Version74))
	for n := range login {
		_, err := ReadLogin(login[:n])
		require.Error(t, err)
		require.False(t, strings.Contains(err.Error(), "p@ß"))
	}
}

func FuzzReadPrelogin(f *testing.F) {
	f.Add(AppendPrelogin(nil, &Prelogin{Encryption: EncryptOn, Instance: "x"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadPrelogin(b)
		if err == nil {
			_, err = ReadPrelogin(AppendPrelogin(nil, p))
			require.NoError(t, err)
		}
	})
}

func FuzzReadLogin(f *testing.F) {
	f.Add(tdsclient.AppendLogin(nil, fullLogin(Version71)))
	f.Add(tdsclient.AppendLogin(nil, fullLogin(Version74)))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = ReadLogin(b) })
}

func FuzzReadBatch(f *testing.F) {
	f.Add(tdsclient.AppendBatch(nil, &Batch{Text: "SELECT 1"}, Version74))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = ReadBatch(b, Version74)
		_, _ = ReadTransaction(b, Version74)
	})
}

func FuzzReadRPC(f *testing.F) {
	for _, s := range Samples() {
		b, err := tdsclient.AppendRPC(nil, Headers{}, []RPC{{Proc: "p", Params: []Param{{Name: "@a", Type: s.T, Value: s.V}}}}, Version74)
		if err == nil && len(b) < 1000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _ = ReadRPC(b, Version74)
		_, _, _ = ReadRPC(b, Version71)
	})
}

func FuzzBulkReader(f *testing.F) {
	b, err := tdsclient.AppendBulk(nil, []types.Column{{Name: "a", Type: types.Type{ID: types.Int}, Nullable: true}, {Name: "b", Type: types.Type{ID: types.NVarChar, Length: 5}, Nullable: true}},
		[][]types.Value{{int64(1), "x"}, {nil, nil}}, Version74)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		sent := false
		r, err := NewBulkReader(func() ([]byte, error) {
			if sent {
				return nil, io.EOF
			}
			sent = true
			return b, nil
		}, Version74)
		for err == nil {
			_, err = r.Next()
		}
	})
}

func FuzzReadPacket(f *testing.F) {
	f.Add(AppendPacket(nil, Header{Type: PacketBatch, Status: StatusEOM}, []byte("abc")))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _, _ = ReadMessage(bytes.NewReader(b), 1<<16) })
}

// TestDecodeUTF16 puts a character of each kind at each position among others, because the decoder
// handles several characters at a time.
func TestDecodeUTF16(t *testing.T) {
	for n := range 11 {
		for at := range n + 1 {
			for _, c := range []string{"", "\x00", "\x7f", "\u0080", "é", "Ā", "\uff61", "日", "\U0001F600"} {
				text := strings.Repeat("a", at) + c + strings.Repeat("~", n-at)
				b := AppendUTF16(nil, text)
				require.Equal(t, text, DecodeUTF16(b))
				require.Equal(t, text, DecodeUTF16(append(b, 'x')), "an odd last byte is dropped")
			}
		}
	}
	require.Equal(t, "a\ufffdb", DecodeUTF16([]byte{'a', 0, 0, 0xD8, 'b', 0}))
}
