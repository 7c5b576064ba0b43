package tds

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// shortType is a TYPE_INFO with two bytes of size.
func shortType(token byte, size uint16) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{token}, size)
	if token != tokBigVarBin && token != tokBigBinary {
		b = append(b, 0x09, 0x04, 0xD0, 0x00, 0x34)
	}
	return b
}

// counted is a value with its length in two bytes.
func counted(value string) []byte {
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(value))), value...)
}

// fits are values as clients send them, and the decoded values: nil for a length that the type does
// not allow.
var fits = []struct {
	name  string
	info  []byte
	value []byte
	want  types.Value
}{
	{"char is padded", shortType(tokBigChar, 5), counted("ab"), "ab   "},
	{"nchar is padded", shortType(tokNChar, 10), counted("a\x00b\x00"), "ab   "},
	{"binary is padded", shortType(tokBigBinary, 4), counted("\x01"), []byte{1, 0, 0, 0}},
	{"old char is padded", []byte{tokChar, 3}, []byte{1, 'a'}, "a  "},
	{"varchar is not", shortType(tokBigVarChar, 5), counted("ab"), "ab"},
	{"char too long", shortType(tokBigChar, 3), counted("abcdef"), nil},
	{"varchar too long", shortType(tokBigVarChar, 3), counted("abcdef"), nil},
	{"nvarchar too long", shortType(tokNVarChar, 2), counted("a\x00b\x00"), nil},
	{"nvarchar of odd length", shortType(tokNVarChar, 20), counted("a\x00b"), nil},
	{"binary too long", shortType(tokBigBinary, 2), counted("abc"), nil},
	{"varbinary too long", shortType(tokBigVarBin, 2), counted("abc"), nil},
	{"int with eight bytes", []byte{tokIntN, 4}, []byte{8, 0, 0, 0, 0, 1, 0, 0, 0}, nil},
	{"bit with two bytes", []byte{tokBitN, 1}, []byte{2, 1, 1}, nil},
	{"real with eight bytes", []byte{tokFloatN, 4}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
	{"smallmoney with eight bytes", []byte{tokMoneyN, 4}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
	{"smalldatetime with eight bytes", []byte{tokDateTimeN, 4}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
	{"decimal with more bytes than needed", []byte{tokDecimalN, 5, 5, 0}, append([]byte{17, 1, 7}, make([]byte, 15)...), int64(7)},
	{"xml without its mark", []byte{tokXML, 0},
		append(append(binary.LittleEndian.AppendUint64(nil, 6), 6, 0, 0, 0), "\xFF\xFEb\x00a\x00\x00\x00\x00\x00"...), "ba"},
}

// number is the number of SQL Server's error in err.
func number(t *testing.T, err error) int32 {
	t.Helper()
	var m *mserr.Error
	require.ErrorAs(t, err, &m)
	return m.Number
}

func TestValuesOfParametersFitTheirTypes(t *testing.T) {
	for _, f := range fits {
		b := appendHeaders(nil, Headers{}, Version74)
		b = appendUSVarchar(b, "p", procByNumber-1)
		b = append(b, 0, 0) // options
		b = append(appendBVarchar(b, "@a"), 0)
		b = append(append(b, f.info...), f.value...)
		_, calls, err := ReadRPC(b, Version74)
		if f.want == nil {
			require.Equal(t, int32(8016), number(t, err), f.name)
			require.ErrorContains(t, err, `Parameter 1 ("@a")`, f.name)
			continue
		}
		require.NoError(t, err, f.name)
		require.Equal(t, f.want, calls[0].Params[0].Value, f.name)
	}
}

func TestValuesOfTableParametersFitTheirTypes(t *testing.T) {
	for _, f := range fits {
		b := appendHeaders(nil, Headers{}, Version74)
		b = appendUSVarchar(b, "p", procByNumber-1)
		b = append(b, 0, 0)
		b = append(appendBVarchar(b, "@t"), 0, tokTVP, 0, 0)
		b = append(appendBVarchar(b, "tt"), 1, 0)
		b = append(append(append(b, 0, 0, 0, 0, 1, 0), f.info...), 0, tvpEnd)
		b = append(append(append(b, tvpRow), f.value...), tvpEnd)
		_, calls, err := ReadRPC(b, Version74)
		if f.want == nil {
			require.Equal(t, int32(8037), number(t, err), f.name)
			require.ErrorContains(t, err, `Table-valued parameter 1 ("@t"), row 1, column 1`, f.name)
			continue
		}
		require.NoError(t, err, f.name)
		require.Equal(t, f.want, calls[0].Params[0].Rows[0][0], f.name)
	}
}

func TestValuesOfBulkLoadsFitTheirTypes(t *testing.T) {
	for _, f := range fits {
		b := append([]byte{tokenColMetadata, 1, 0, 0, 0, 0, 0, 1, 0}, f.info...)
		b = append(append(appendBVarchar(b, "a"), tokenRow), f.value...)
		b = append(b, tokenDone, 0, 0, 0, 0, 0, 0, 0, 0) // four bytes of row count, as SqlClient sends them
		sent := false
		r, err := NewBulkReader(func() ([]byte, error) {
			if sent {
				return nil, io.EOF
			}
			sent = true
			return b, nil
		}, Version74)
		require.NoError(t, err, f.name)
		row, err := r.Next()
		if f.want == nil {
			require.Equal(t, int32(4815), number(t, err), f.name)
			require.ErrorContains(t, err, "colid 1", f.name)
			continue
		}
		require.NoError(t, err, f.name)
		require.Equal(t, []types.Value{f.want}, row, f.name)
		_, err = r.Next()
		require.ErrorIs(t, err, io.EOF, f.name)
	}
}

func TestNumberOfParameters(t *testing.T) {
	for _, n := range []int{2100, 2101} {
		call := RPC{Proc: "p", Params: make([]Param, n)}
		for i := range call.Params {
			call.Params[i] = Param{Type: types.Type{ID: types.Int}}
		}
		b, err := AppendRPC(nil, Headers{}, []RPC{call}, Version74)
		require.NoError(t, err)
		_, _, err = ReadRPC(b, Version74)
		if n <= 2100 {
			require.NoError(t, err)
		} else {
			require.Equal(t, int32(8003), number(t, err))
		}
	}
}
