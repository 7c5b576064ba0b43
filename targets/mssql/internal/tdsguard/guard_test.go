package tdsguard

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/hostile"
)

// packets splits a message into packets with payloads of size bytes.
func packets(message []byte, size int) []byte {
	var b []byte
	for first := true; first || len(message) > 0; first = false {
		n := min(size, len(message))
		status := byte(0)
		if n == len(message) {
			status = 1
		}
		b = append(b, 4, status, byte((n+8)>>8), byte(n+8), 1, 0x34, 1, 0)
		b = append(b, message[:n]...)
		message = message[n:]
	}
	return b
}

// payloads returns the payloads of a stream's packets.
func payloads(t *testing.T, stream []byte) []byte {
	t.Helper()
	var b []byte
	for len(stream) > 0 {
		n := int(binary.BigEndian.Uint16(stream[2:]))
		require.Greater(t, n, headerSize, "no empty packet comes through")
		b = append(b, stream[headerSize:n]...)
		stream = stream[n:]
	}
	return b
}

// lasts counts the packets that are marked as the last of an answer.
func lasts(stream []byte) (n int) {
	for len(stream) > 0 {
		n += int(stream[1])
		stream = stream[binary.BigEndian.Uint16(stream[2:]):]
	}
	return n
}

// session returns a guard after its login.
func session(r io.Reader, limits Limits, rows Rows, a *Account) *Guard {
	g := New(r, limits, rows, a)
	g.phase.Store(phaseSession)
	return g
}

// everything returns an answer with values of each kind.
func everything() (message, rowsTakenOut []byte) {
	le := binary.LittleEndian
	u16 := func(b []byte, n int) []byte { return le.AppendUint16(b, uint16(n)) }
	column := func(b []byte, typ byte, extra ...byte) []byte {
		b = append(b, 0, 0, 0, 0, 1, 0, typ)
		return append(append(b, extra...), 1, 'c', 0)
	}
	m := u16([]byte{tokenColMetadata}, 16)
	m = column(m, typeInt4)
	m = column(m, typeIntN, 8)
	m = column(m, typeBigVarChar, 20, 0, 9, 4, 0, 0, 0x34)
	m = column(m, typeNVarChar, 0xFF, 0xFF, 9, 4, 0, 0, 0x34)
	m = column(m, typeDecimalN, 17, 38, 4)
	m = column(m, typeDateTimeOffset, 7)
	m = column(m, typeDateN)
	m = column(m, typeGUID, 16)
	m = column(m, typeXML, 1, 1, 'd', 0, 1, 's', 0, 2, 0, 'x', 0, 'y', 0)
	m = column(m, typeUDT, 0xFF, 0xFF, 1, 'd', 0, 1, 's', 0, 1, 't', 0, 1, 0, 'a', 0)
	m = column(m, typeImage, 0xFF, 0xFF, 0xFF, 0x7F, 1, 2, 0, 't', 0, 't', 0)
	m = column(m, typeVariant, 0x49, 0x1F, 0, 0)
	m = column(m, typeVariant, 0x49, 0x1F, 0, 0)
	m = column(m, typeBigBinary, 4, 0)
	m = column(m, typeBitN, 1)
	m = column(m, typeNText, 0xFF, 0xFF, 0xFF, 0x7F, 9, 4, 0, 0, 0x34, 0)
	order := []byte{tokenOrder, 2, 0, 1, 0}
	var rows []byte
	for range 3 {
		rows = append(rows, tokenRow, 1, 0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 3, 0, 'a', 'b', 'c')
		rows = append(rows, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 4, 0, 0, 0, 'a', 0, 'b', 0, 2, 0, 0, 0, 'c', 0,
			0, 0, 0, 0)
		rows = append(rows, 5, 1, 1, 0, 0, 0, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3, 1, 2, 3, 16)
		rows = append(rows, make([]byte, 16)...)
		rows = append(rows, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF) // NULL
		rows = append(rows, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 7, 7, 0, 0, 0, 0)
		rows = append(append(append(rows, 16), make([]byte, 24)...), 3, 0, 0, 0, 1, 2, 3)
		rows = append(rows, 6, 0, 0, 0, typeInt4, 0, 1, 2, 3, 4)
		rows = append(rows, 11, 0, 0, 0, typeNVarChar, 7, 9, 4, 0, 0, 0x34, 8, 0, 'x', 0)
		rows = append(rows, 4, 0, 1, 2, 3, 4, 0, 0)
		rows = append(rows, tokenNBCRow, 0xFE, 0xFF, 9, 0, 0, 0)
	}
	end := hostile.Done(0x10, 6)
	return bytes.Join([][]byte{m, order, rows, end}, nil), bytes.Join([][]byte{stub[:], order, end}, nil)
}

// An answer passes unchanged, however it is split into packets and reads. With NoRows its rows are
// removed, and nothing else is changed.
func TestAnswersComeThrough(t *testing.T) {
	t.Parallel()
	message, without := everything()
	for _, size := range []int{1, 2, 3, 7, 50, 511, 4088} {
		stream := packets(message, size)
		for name, source := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r },
			"bytes": iotest.OneByteReader, "halves": iotest.HalfReader} {
			for _, rows := range []Rows{AllRows, OwnRows, KeptRows} {
				g := session(source(bytes.NewReader(stream)), Limits{}, rows, nil)
				got, err := io.ReadAll(g)
				require.NoError(t, err, "%d %s %d", size, name, rows)
				require.Equal(t, stream, got)
				require.Equal(t, 0x0134, g.SPID())
			}
			got, err := io.ReadAll(session(source(bytes.NewReader(stream)), Limits{}, NoRows, nil))
			require.NoError(t, err, "%d %s", size, name)
			require.Equal(t, without, payloads(t, got))
		}
	}
}

// A result set may have other columns than the previous one in the same packet. Its own columns
// cannot change.
func TestColumnsOfTheNextResultSet(t *testing.T) {
	t.Parallel()
	first := bytes.Join([][]byte{hostile.Ints(3), {tokenRow, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}}, nil)
	second := bytes.Join([][]byte{hostile.Ints(1), hostile.IntRow(1), hostile.Done(0x10, 1)}, nil)
	stream := packets(bytes.Join([][]byte{first, hostile.Done(0x11, 1), second}, nil), 4088)
	got, err := io.ReadAll(session(bytes.NewReader(stream), Limits{}, KeptRows, nil))
	require.NoError(t, err)
	require.Equal(t, stream, got)
	_, err = io.ReadAll(session(bytes.NewReader(packets(append(first, second...), 4088)), Limits{}, KeptRows, nil))
	require.ErrorContains(t, err, "COLMETADATA of 1 columns in the middle of a result set of 3")
}

// SetRows(NoRows) drops rows from the next one on.
func TestRowsAreLeftOutFromTheMiddle(t *testing.T) {
	t.Parallel()
	first := bytes.Join([][]byte{hostile.Ints(1), hostile.IntRow(1)}, nil)
	second := bytes.Join([][]byte{hostile.IntRow(2), hostile.Done(0x10, 2)}, nil)
	stream := packets(bytes.Join([][]byte{first, second}, nil), len(first))
	g := session(bytes.NewReader(stream), Limits{}, KeptRows, nil)
	got := make([]byte, headerSize+len(first))
	_, err := io.ReadFull(g, got)
	require.NoError(t, err)
	g.SetRows(NoRows)
	rest, err := io.ReadAll(g)
	require.NoError(t, err)
	require.Equal(t, bytes.Join([][]byte{first, hostile.Done(0x10, 2)}, nil), payloads(t, append(got, rest...)))
}

// Of many errors without a DONE only those within the bounds reach the driver.
func TestTooManyErrors(t *testing.T) {
	t.Parallel()
	one := hostile.Message(50000, 16, "no")
	message := append(bytes.Repeat(one, keptErrors+7), hostile.Done(2, 0)...)
	g := session(bytes.NewReader(packets(message, 4088)), Limits{}, NoRows, nil)
	got, err := io.ReadAll(g)
	require.NoError(t, err)
	require.Equal(t, append(bytes.Repeat(one, keptErrors), hostile.Done(2, 0)...), payloads(t, got))
	require.Equal(t, 7, g.DroppedErrors())
}

// A request during an answer means that the driver has lost its position.
func TestStrayedDriver(t *testing.T) {
	t.Parallel()
	half := []byte{4, 0, 0, 8 + 13, 0, 0, 1, 0}
	half = append(half, hostile.Done(1, 0)...)
	g := session(bytes.NewReader(append(half, half...)), Limits{}, NoRows, nil)
	_, err := io.ReadFull(g, make([]byte, len(half)))
	require.NoError(t, err)
	g.Wrote([]byte{packetAttention, 1, 0, 8, 0, 0, 1, 0})
	_, err = io.ReadFull(g, make([]byte, len(half)))
	require.NoError(t, err, "an attention goes with an answer")
	g.Wrote([]byte{1, 1, 0, 8, 0, 0, 1, 0})
	_, err = io.ReadAll(g)
	require.ErrorContains(t, err, "an answer was not read to its end")
}

// After the beginning of the driver's own TLS the stream passes unread.
func TestTransparent(t *testing.T) {
	t.Parallel()
	answer := []byte{4, 1, 0, 8 + 7, 0, 0, 1, 0, 1, 0, 6, 0, 1, 0xFF, 1}
	stream := append(answer, 0x12, 1, 0, 9, 0, 0, 0, 0, 7, 0x17, 3, 3)
	g := New(bytes.NewReader(stream), Limits{}, NoRows, nil)
	g.Wrote([]byte{packetPrelogin, 1, 0, 8, 0, 0, 1, 0})
	got, err := io.ReadAll(g)
	require.NoError(t, err)
	require.Equal(t, stream, got)
}

// The driver reads the answer to PRELOGIN to its end, and the first byte of an option without a
// check.
func TestPrelogin(t *testing.T) {
	t.Parallel()
	good := []byte{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 2}
	for name, tc := range map[string]struct {
		stream []byte
		says   string
	}{
		"good":          {packets(good, 100), ""},
		"empty":         {[]byte{4, 1, 0, 8, 0, 0, 1, 0}, "a packet of 8 bytes"},
		"two packets":   {packets(good, 10), "of more than 10 bytes"},
		"long":          {packets(make([]byte, 5000), 5000), "of more than 4096 bytes"},
		"no end":        {packets(make([]byte, 40), 40), "without an end of its options"},
		"outside":       {packets([]byte{1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0}, 40), "lies outside of it"},
		"no encryption": {packets([]byte{1, 0, 6, 0, 0, 0xFF, 0}, 40), "an encryption of 0 bytes"},
		"HTTP":          {[]byte("HTTP/1.1 400 Bad Request"), "a packet of type 0x48"},
		"half a packet": {packets(good, 100)[:12], "unexpected EOF"},
	} {
		g := New(bytes.NewReader(tc.stream), Limits{}, NoRows, nil)
		g.Wrote([]byte{packetPrelogin, 1, 0, 8, 0, 0, 1, 0})
		_, err := io.ReadAll(g)
		if tc.says == "" {
			require.NoError(t, err, name)
			require.False(t, g.transparent)
			continue
		}
		require.ErrorContains(t, err, tc.says, name)
	}
}

// The driver stops reading an answer at its first error. It gets the end of the answer, and no
// token that would block it.
func TestAnswerEndsAtItsFirstError(t *testing.T) {
	t.Parallel()
	said := hostile.Message(50000, 16, "no")
	first := bytes.Join([][]byte{said, hostile.Done(1|2, 0)}, nil)
	rest := bytes.Join([][]byte{hostile.Done(1, 0), hostile.Ints(1), hostile.IntRow(1), hostile.Done(1|0x10, 1)}, nil)
	message := bytes.Join([][]byte{first, bytes.Repeat(rest, 20), hostile.Done(0x10, 7)}, nil)
	ended := bytes.Join([][]byte{said, hostile.Done(0x10, 7)}, nil)
	for _, size := range []int{1, 5, 100, 4088} {
		for rows, want := range map[Rows][]byte{OwnRows: ended, AllRows: ended, KeptRows: message} {
			requireAnswer(t, message, want, size, rows)
		}
	}
}

// requireAnswer sends a message and another answer, and requires that the message becomes want.
func requireAnswer(t *testing.T, message, want []byte, size int, rows Rows) {
	t.Helper()
	again := bytes.Join([][]byte{packets(message, size), packets(hostile.Done(0, 0), 100)}, nil)
	got, err := io.ReadAll(session(bytes.NewReader(again), Limits{}, rows, nil))
	require.NoError(t, err)
	require.Equal(t, append(want[:len(want):len(want)], hostile.Done(0, 0)...), payloads(t, got), "%d %d", size, rows)
	require.Equal(t, 2, lasts(got), "the driver reads no further than to a last packet")
}

// An error may end a transaction. The server's ENVCHANGE about that reaches the driver wherever it
// is, and before the end of the answer.
func TestEndOfTransactionAfterAnError(t *testing.T) {
	t.Parallel()
	said, rolledBack := hostile.Message(8134, 16, "zero"), []byte{tokenEnvChange, 11, 0, envRollback, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0}
	failed, last := hostile.Done(1|2, 0), hostile.Done(2, 0)
	want := bytes.Join([][]byte{said, rolledBack, last}, nil)
	for name, message := range map[string][][]byte{
		"before DONE":          {said, rolledBack, last},
		"behind DONE":          {said, failed, rolledBack, last},
		"between result sets":  {said, failed, hostile.Ints(1), hostile.IntRow(1), rolledBack, hostile.Done(1|0x10, 1), last},
		"behind a second DONE": {said, failed, said, failed, rolledBack, last},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 7, 20, 4088} {
				requireAnswer(t, bytes.Join(message, nil), want, size, AllRows)
				requireAnswer(t, bytes.Join(message, nil), want, size, OwnRows)
			}
		})
	}
	// A DONE that reports an error without an ERROR token.
	message := bytes.Join([][]byte{failed, said, rolledBack, last}, nil)
	requireAnswer(t, message, bytes.Join([][]byte{failed, rolledBack, last}, nil), 5, AllRows)
}
