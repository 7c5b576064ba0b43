package tdsclient

import (
	"encoding/binary"
	"unicode/utf16"

	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// AppendHeaders appends ALL_HEADERS with a transaction descriptor.
func AppendHeaders(b []byte, h tds.Headers, v tds.Version) []byte {
	if !v.Multiple() { // before TDS 7.2
		return b
	}
	b = binary.LittleEndian.AppendUint32(b, 22)
	b = binary.LittleEndian.AppendUint32(b, 18)
	b = binary.LittleEndian.AppendUint16(b, 2) // transaction descriptor
	b = binary.LittleEndian.AppendUint64(b, h.Descriptor)
	return binary.LittleEndian.AppendUint32(b, max(h.Outstanding, 1))
}

// AppendBatch appends the payload of an SQLBatch message.
func AppendBatch(b []byte, r *tds.Batch, v tds.Version) []byte {
	return appendUTF16(AppendHeaders(b, r.Headers, v), r.Text)
}

// appendTranName appends the name of a transaction: UTF-16 after its length in bytes (B_VARBYTE).
func appendTranName(b []byte, s string) []byte {
	return appendUTF16(append(b, byte(2*len(utf16.Encode([]rune(s))))), s)
}

// AppendTransaction appends the payload of a transaction manager request.
func AppendTransaction(b []byte, r *tds.Transaction, v tds.Version) []byte {
	b = AppendHeaders(b, r.Headers, v)
	b = binary.LittleEndian.AppendUint16(b, uint16(r.Request))
	switch r.Request {
	case tds.TranBegin:
		b = appendTranName(append(b, r.Isolation), r.Name)
	case tds.TranCommit, tds.TranRollback:
		b = appendTranName(b, r.Name)
		if r.BeginAfter {
			b = appendTranName(append(b, 1, r.NewIsolation), r.NewName)
		} else {
			b = append(b, 0)
		}
	case tds.TranSave:
		b = appendTranName(b, r.Name)
	}
	return b
}

// Bytes of RPC messages and table-valued parameters (MS-TDS 2.2.6.6, 2.2.5.5.5.3).
const (
	rpcBatch71     = 0x80
	rpcBatch72     = 0xFF
	rpcNoExec72    = 0xFE
	paramByRef     = 0x01
	paramDefault   = 0x02
	columnNullable = 0x0001
	tvpToken       = 0xF3
	tvpDefault     = 0x0200
	tvpRow         = 0x01
	tvpEnd         = 0x00
)

// AppendRPC appends the payload of an RPC message. Table-valued parameters must have columns. The
// error is a [*tds.ValueError].
func AppendRPC(b []byte, h tds.Headers, calls []tds.RPC, v tds.Version) ([]byte, error) {
	b = AppendHeaders(b, h, v)
	for i, call := range calls {
		if i > 0 {
			switch {
			case !v.Multiple():
				b = append(b, rpcBatch71)
			case calls[i-1].NoExecNext:
				b = append(b, rpcNoExec72)
			default:
				b = append(b, rpcBatch72)
			}
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(len(utf16.Encode([]rune(call.Proc)))))
		b = appendUTF16(b, call.Proc)
		b = binary.LittleEndian.AppendUint16(b, call.Options)
		for _, p := range call.Params {
			var err error
			if b, err = appendParam(b, p, v); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// appendParam appends one parameter.
func appendParam(b []byte, p tds.Param, v tds.Version) ([]byte, error) {
	b = appendBVarchar(b, p.Name)
	var status byte
	if p.Output {
		status |= paramByRef
	}
	if p.Default {
		status |= paramDefault
	}
	b = append(b, status)
	if p.TypeName != "" {
		return appendTVP(b, p, v)
	}
	b, err := tds.AppendType(b, p.Type, v)
	if err != nil {
		return nil, err
	}
	return tds.AppendValue(b, p.Type, p.Value, v)
}

// appendTVP appends a table-valued parameter; its TypeName is sent without a schema.
func appendTVP(b []byte, p tds.Param, v tds.Version) ([]byte, error) {
	b = append(b, tvpToken, 0, 0)
	b = appendBVarchar(b, p.TypeName)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.Columns)))
	for _, c := range p.Columns {
		var flags uint16
		if c.Nullable {
			flags |= columnNullable
		}
		if c.Identity {
			flags |= tvpDefault
		}
		b = binary.LittleEndian.AppendUint16(append(b, 0, 0, 0, 0), flags)
		var err error
		if b, err = tds.AppendType(b, c.Type, v); err != nil {
			return nil, err
		}
		b = append(b, 0)
	}
	b = append(b, tvpEnd)
	for _, row := range p.Rows {
		b = append(b, tvpRow)
		for i, c := range p.Columns {
			if c.Identity {
				continue
			}
			var err error
			if b, err = tds.AppendValue(b, c.Type, row[i], v); err != nil {
				return nil, err
			}
		}
	}
	return append(b, tvpEnd), nil
}

// AppendBulk appends the payload of a whole bulk load. Its columns may not be text, ntext or image.
// The error is a [*tds.ValueError].
func AppendBulk(b []byte, cols []types.Column, rows [][]types.Value, v tds.Version) ([]byte, error) {
	enc, err := tds.NewRowEncoder(cols, v)
	if err != nil {
		return nil, err
	}
	b = enc.AppendColMetadata(b)
	for _, row := range rows {
		if b, err = enc.AppendRow(b, row); err != nil {
			return nil, err
		}
	}
	return tds.AppendDone(b, tds.DoneBatch, 0, 0, 0, v), nil
}
