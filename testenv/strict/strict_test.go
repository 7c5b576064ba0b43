package strict

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packets splits a payload into packets of a server.
func packets(payload []byte, size int) [][]byte {
	var list [][]byte
	for id := byte(1); ; id++ {
		n := min(size-headerSize, len(payload))
		status := byte(0)
		if n == len(payload) {
			status = statusEOM
		}
		p := []byte{packetReply, status, 0, 0, 0, 77, id, 0}
		binary.BigEndian.PutUint16(p[2:], uint16(headerSize+n))
		list = append(list, append(p, payload[:n]...))
		if payload = payload[n:]; len(payload) == 0 {
			return list
		}
	}
}

// commandSelect is the command of a SELECT in the DONE token.
const commandSelect = 0xC1

// Parts of answers to a client of TDS 7.4.
var (
	loginAck = []byte{tokenLoginAck, 12, 0, 1, 0x74, 0, 0, 4, 1, 'S', 0, 16, 0, 3, 0xE8}
	done     = []byte{tokenDone, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	oneRow   = []byte{tokenDone, doneCount, 0, commandSelect, 0, 1, 0, 0, 0, 0, 0, 0, 0}
	inProc   = []byte{tokenDoneInProc, doneMore, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	doneProc = []byte{tokenDoneProc, 0, 0, 0xE0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	status   = []byte{tokenReturnStatus, 0, 0, 0, 0}
	problem  = []byte{tokenError, 16, 0, 1, 0, 0, 0, 1, 16, 0, 0, 1, 's', 0, 0, 1, 0, 0, 0}
)

// join joins parts.
func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// meta is COLMETADATA of one column "c".
func meta(flags byte, typeInfo ...byte) []byte {
	return join([]byte{tokenColMetadata, 1, 0, 0, 0, 0, 0, flags, 0}, typeInfo, []byte{1, 'c', 0})
}

// row is a ROW.
func row(value ...byte) []byte { return append([]byte{tokenRow}, value...) }

// read reads a login and an answer, and returns the deviation.
func read(payload []byte, size int) (d *Deviation) {
	defer func() {
		if v := recover(); v != nil {
			d = v.(*Deviation)
		}
	}()
	r := NewReader()
	for _, message := range [][]byte{join(loginAck, done), payload} {
		for _, p := range packets(message, size) {
			r.Server(p)
		}
	}
	return nil
}

func TestAnswersThatAreRight(t *testing.T) {
	collation := []byte{9, 4, 0xD0, 0, 52}
	long := make([]byte, 3000)
	for name, payload := range map[string][]byte{
		"nothing":   done,
		"row":       join(meta(8, typeInt4), row(1, 0, 0, 0), oneRow),
		"null":      join(meta(9, typeIntN, 4), row(0), oneRow),
		"bits":      join(meta(9, typeIntN, 4), []byte{tokenNBCRow, 1}, oneRow),
		"decimal":   join(meta(8, typeDecimalN, 17, 9, 2), row(5, 1, 1, 0, 0, 0), oneRow),
		"variant":   join(meta(9, typeVariant, 0x49, 0x1F, 0, 0), row(join([]byte{21, 0, 0, 0, typeDecimalN, 2, 5, 0, 1}, make([]byte, 16))...), oneRow),
		"call":      join(meta(8, typeInt4), row(1, 0, 0, 0), []byte{tokenDoneInProc, doneMore, 0, commandSelect}, inProc[4:], status, doneProc),
		"error":     join(problem, []byte{tokenDone, doneError}, done[2:]),
		"max":       join(meta(9, join([]byte{typeNVarChar, 0xFF, 0xFF}, collation)...), row(join([]byte{0xB8, 11, 0, 0, 0, 0, 0, 0, 0xB8, 11, 0, 0}, long, []byte{0, 0, 0, 0})...), oneRow),
		"in chunks": join(meta(9, join([]byte{typeVarChar, 0xFF, 0xFF}, collation)...), row(0xFE, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 'a', 2, 0, 0, 0, 'b', 'c', 0, 0, 0, 0), oneRow),
		"char":      join(meta(8, join([]byte{typeChar, 2, 0}, collation)...), row(2, 0, 'a', ' '), oneRow),
	} {
		for _, size := range []int{512, 4096} {
			require.Nil(t, read(payload, size), "%s", name)
		}
	}
}

// TestDeviations checks that the reader finds deviations.
func TestDeviations(t *testing.T) {
	collation := []byte{9, 4, 0xD0, 0, 52}
	for _, c := range []struct {
		payload []byte
		want    string
	}{
		{join(meta(8, typeIntN, 4), row(4, 1, 0, 0, 0), oneRow), "which has a length, for a column that is not nullable"},
		{join(meta(9, typeInt4), row(1, 0, 0, 0), oneRow), "which has no NULL"},
		{join(meta(8, join([]byte{typeVarChar, 2, 0}, collation)...), row(0xFF, 0xFF), oneRow), "announced as not nullable"},
		{join(meta(8, typeDecimalN, 17, 9, 2), []byte{tokenNBCRow, 1}, oneRow), "announced as not nullable"},
		{join(meta(9, typeDecimalN, 5, 9, 2), row(0), oneRow), "17 are due"},
		{join(meta(9, typeDecimalN, 17, 2, 0), row(5, 1, 100, 0, 0, 0), oneRow), "more than 2 digits"},
		{join(meta(9, typeDecimalN, 17, 20, 0), row(5, 2, 1, 0, 0, 0), oneRow), "sign 2"},
		{join(meta(9, typeVariant, 0x49, 0x1F, 0, 0), row(9, 0, 0, 0, typeDecimalN, 2, 5, 0, 1, 1, 0, 0, 0), oneRow), "17 are due"},
		{join(meta(9, typeVariant, 0x49, 0x1F, 0, 0), row(6, 0, 0, 0, typeIntN, 0, 1, 0, 0, 0), oneRow), "type 0x26 in a sql_variant"},
		{join(meta(8, join([]byte{typeChar, 2, 0}, collation)...), row(1, 0, 'a'), oneRow), "cannot have the value"},
		{join(meta(8, join([]byte{typeVarChar, 1, 0}, collation)...), row(2, 0, 'a', 'b'), oneRow), "2 bytes, where 1 are announced"},
		{join(meta(9, join([]byte{typeNVarChar, 3, 0}, collation)...), oneRow), "type 0xe7 of 3 bytes"},
		{join(meta(9, join([]byte{typeVarChar, 0xFF, 0xFF}, collation)...), row(2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0, 0), oneRow), "chunks of 1 bytes, where 2"},
		{join(meta(9, typeBitN, 1), row(1, 2), oneRow), "cannot have the value"},
		{join(meta(9, typeTime, 0), row(3, 0x80, 0x51, 1), oneRow), "cannot have the value"},
		{join(meta(0x48, typeInt4), row(1, 0, 0, 0), oneRow), "flags 0x0048"},
		{join(meta(8, typeInt4), row(1, 0, 0, 0), row(1, 0, 0, 0), oneRow), "a count of 1 after 2 rows"},
		{join(meta(8, typeInt4), row(1, 0, 0, 0), done), "without a command"},
		{join(meta(8, typeInt4), meta(8, typeInt4), oneRow), "a result set inside of another"},
		{join(row(1), oneRow), "a row outside of a result set"},
		{join(meta(8, typeInt4), row(1, 0)), "the message ends inside the token"},
		{join(done, done), "a token after the final DONE"},
		{meta(8, typeInt4), "without a final DONE"},
		{join(inProc, done), "which DONEPROC must follow"},
		{join(status, done), "before its DONEPROC"},
		{join(problem, done), "no error bit after an ERROR"},
		{join([]byte{tokenDone, doneError}, done[2:]), "error bit without an ERROR"},
		{join([]byte{tokenDone, doneAttention}, done[2:]), "an acknowledgment without an attention"},
		{join([]byte{tokenReturnValue, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, typeInt4, 1, 0, 0, 0}, done), "which has no NULL"},
		{join([]byte{tokenEnvChange, 3, 0, 18, 0, 0}, done), "an acknowledgment without a reset"},
		{join([]byte{tokenEnvChange, 11, 0, 9, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0}, done), "transaction 0x1 ends"},
		{join([]byte{tokenEnvChange, 6, 0, 1, 1, 'a', 0, 0, 0}, done), "covers 1 more"},
		{join([]byte{tokenTabName, 4, 0, 1, 1, 0, 't', 0}, done), "does not follow COLMETADATA"},
		{join(meta(8, typeInt4), []byte{tokenColInfo, 3, 0, 1, 1, 8}, oneRow), "of table 1 of 0"},
		{join(loginAck, done), "a second LOGINACK"},
		{join([]byte{0x77}, done), "not a token of a server"},
	} {
		d := read(c.payload, 4096)
		require.NotNil(t, d, c.want)
		require.Contains(t, d.Error(), c.want)
	}
	require.Contains(t, read(join(meta(9, typeIntN, 4), []byte(strings.Repeat("\xD1\x00", 3000)), done), 5000).Error(), "packet of 5000 bytes")
	r := NewReader()
	p := packets(done, 512)[0]
	p[6] = 2
	require.Panics(t, func() { r.Server(p) }, "packets count from 1")
}
