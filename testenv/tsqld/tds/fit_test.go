package tds_test

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	. "github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// shortType is a TYPE_INFO with two bytes of size.
func shortType(token byte, size uint16) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{token}, size)
	if token != TokBigVarBin && token != TokBigBinary {
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
	{"char is padded", shortType(TokBigChar, 5), counted("ab"), "ab   "},
	{"nchar is padded", shortType(TokNChar, 10), counted("a\x00b\x00"), "ab   "},
	{"binary is padded", shortType(TokBigBinary, 4), counted("\x01"), []byte{1, 0, 0, 0}},
	{"old char is padded", []byte{TokChar, 3}, []byte{1, 'a'}, "a  "},
	{"varchar is not", shortType(TokBigVarChar, 5), counted("ab"), "ab"},
	{"char too long", shortType(TokBigChar, 3), counted("abcdef"), nil},
	{"varchar too long", shortType(TokBigVarChar, 3), counted("abcdef"), nil},
	{"nvarchar too long", shortType(TokNVarChar, 2), counted("a\x00b\x00"), nil},
	{"nvarchar of odd length", shortType(TokNVarChar, 20), counted("a\x00b"), nil},
	{"binary too long", shortType(TokBigBinary, 2), counted("abc"), nil},
	{"varbinary too long", shortType(TokBigVarBin, 2), counted("abc"), nil},
	{"int with eight bytes", []byte{TokIntN, 4}, []byte{8, 0, 0, 0, 0, 1, 0, 0, 0}, nil},
	{"bit with two bytes", []byte{TokBitN, 1}, []byte{2, 1, 1}, nil},
	{"real with eight bytes", []byte{TokFloatN, 4}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
	{"smallmoney with eight bytes", []byte{TokMoneyN, 4}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
	{"smalldatetime with eight bytes", []byte{TokDateTimeN, 4}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
	{"decimal with more bytes than needed", []byte{TokDecimalN, 5, 5, 0}, append([]byte{17, 1, 7}, make([]byte, 15)...), int64(7)},
	{"xml without its mark", []byte{TokXML, 0},
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
		b := tdsclient.AppendHeaders(nil, Headers{}, Version74)
		b = append(b, 1, 0, 'p', 0)
		b = append(b, 0, 0) // options
		b = append(AppendBVarchar(b, "@a"), 0)
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
		b := tdsclient.AppendHeaders(nil, Headers{}, Version74)
		b = append(b, 1, 0, 'p', 0)
		b = append(b, 0, 0)
		b = append(AppendBVarchar(b, "@t"), 0, TokTVP, 0, 0)
		b = append(AppendBVarchar(b, "tt"), 1, 0)
		b = append(append(append(b, 0, 0, 0, 0, 1, 0), f.info...), 0, TvpEnd)
		b = append(append(append(b, TvpRow), f.value...), TvpEnd)
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
		b := append([]byte{TokenColMetadata, 1, 0, 0, 0, 0, 0, 1, 0}, f.info...)
		b = append(append(AppendBVarchar(b, "a"), TokenRow), f.value...)
		b = append(b, TokenDone, 0, 0, 0, 0, 0, 0, 0, 0) // four bytes of row count, as SqlClient sends them
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
		b, err := tdsclient.AppendRPC(nil, Headers{}, []RPC{call}, Version74)
		require.NoError(t, err)
		_, _, err = ReadRPC(b, Version74)
		if n <= 2100 {
			require.NoError(t, err)
		} else {
			require.Equal(t, int32(8003), number(t, err))
		}
	}
}
