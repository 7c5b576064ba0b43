package tds

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// RPC is one remote procedure call of an RPC message (MS-TDS 2.2.6.6).
type RPC struct {
	Proc       string // also the name of a procedure that was called by number
	Options    uint16 // bit 0 recompile, bit 1 no metadata, bit 2 reuse metadata; hints
	Params     []Param
	NoExecNext bool // the following separator forbids the execution of the next call
}

// Param is a parameter of a call. Its fields are those of exec.Param, in the same order, so that
// one converts to the other.
type Param struct {
	Name     string // with its '@'; "" for a parameter by position
	Type     types.Type
	Value    types.Value
	Output   bool
	Default  bool // the parameter's default is requested; Value is nil
	TypeName string
	// Columns and Rows are set for a table-valued parameter. A column whose values the client
	// leaves to the server is marked Identity, and its values are nil.
	Columns []types.Column
	Rows    [][]types.Value
}

// wellKnown are the procedures that clients can call by number.
var wellKnown = [...]string{
	1: "sp_cursor", 2: "sp_cursoropen", 3: "sp_cursorprepare", 4: "sp_cursorexecute", 5: "sp_cursorprepexec",
	6: "sp_cursorunprepare", 7: "sp_cursorfetch", 8: "sp_cursoroption", 9: "sp_cursorclose", 10: "sp_executesql",
	11: "sp_prepare", 12: "sp_execute", 13: "sp_prepexec", 14: "sp_prepexecrpc", 15: "sp_unprepare",
}

// Status bits of a parameter.
const (
	paramByRef     = 0x01
	paramDefault   = 0x02
	paramEncrypted = 0x08
)

// Separators between the calls of one message.
const (
	rpcBatch71  = 0x80
	rpcBatch72  = 0xFF
	rpcNoExec72 = 0xFE
)

// maxParams is the largest number of parameters of a call, including those of sp_executesql itself.
const maxParams = 2100

// procByNumber replaces the length of the name if a number follows.
const procByNumber = 0xFFFF

// ReadRPC reads the payload of an RPC message, which has one or several calls.
func ReadRPC(b []byte, v Version) (Headers, []RPC, error) {
	d := newDecoder("rpc", b)
	h := readHeaders(d, v)
	var calls []RPC
	for {
		call := RPC{}
		if n := d.u16(); n == procByNumber {
			id := int(d.u16())
			if id == 0 || id >= len(wellKnown) {
				d.failf("procedure number %d", id)
			} else {
				call.Proc = wellKnown[id]
			}
		} else {
			call.Proc = d.ucs2(int(n))
		}
		call.Options = d.u16()
		more := false
		for !more && d.left() > 0 {
			next := d.peek()
			switch {
			case v.since72() && next >= rpcNoExec72, !v.since72() && next == rpcBatch71:
				call.NoExecNext = d.u8() == rpcNoExec72
				more = true
			default:
				if len(call.Params) == maxParams {
					return h, nil, mserr.TooManyParameters(maxParams)
				}
				call.Params = append(call.Params, readParam(d, len(call.Params)+1))
			}
		}
		if d.err != nil {
			return h, nil, d.err
		}
		calls = append(calls, call)
		if !more || d.left() == 0 { // a separator may also end the message
			return h, calls, nil
		}
	}
}

// readParam reads one parameter; number is its position, from 1.
func readParam(d *decoder, number int) Param {
	p := Param{Name: d.bVarchar()}
	status := d.u8()
	p.Output, p.Default = status&paramByRef != 0, status&paramDefault != 0
	if status&paramEncrypted != 0 {
		d.failf("encrypted parameters (Always Encrypted) are not supported by tsqld")
		return p
	}
	if d.peek() == tokTVP {
		d.u8()
		readTVP(d, &p, number)
		return p
	}
	ti := readTypeInfo(d, formParam)
	p.Type = ti.typ
	if d.err == nil {
		p.Value = readValue(d, ti, formParam)
		d.locate(func(e *LengthError) error { return mserr.ParameterLength(number, p.Name, e.Token) },
			func(e *ValueError) error { return mserr.ParameterValue(number, p.Name, e.Type) })
	}
	if p.Default {
		p.Value = nil
	}
	return p
}

// Tokens inside a table-valued parameter (MS-TDS 2.2.5.5.5).
const (
	tvpEnd         = 0x00
	tvpRow         = 0x01
	tvpOrderUnique = 0x10
	tvpColumnOrder = 0x11

	tvpNull        = 0xFFFF // number of columns of a NULL table
	tvpDefault     = 0x0200 // column flag: the server provides the values
	maxTVPColumns  = 1024
	columnNullable = 0x0001
)

// readTVP reads a table-valued parameter after its type token. A NULL table has neither columns nor
// rows.
func readTVP(d *decoder, p *Param, number int) {
	d.bVarchar() // database: must be empty
	schema := d.bVarchar()
	p.TypeName = d.bVarchar()
	if schema != "" {
		p.TypeName = schema + "." + p.TypeName
	}
	n := int(d.u16())
	if n == tvpNull {
		n = 0
	} else if n == 0 || n > maxTVPColumns {
		d.failf("table-valued parameter with %d columns", n)
	}
	infos := make([]typeInfo, 0, min(n, maxTVPColumns))
	omitted := make([]bool, 0, min(n, maxTVPColumns))
	for range n {
		if d.err != nil {
			return
		}
		d.u32() // user type
		flags := d.u16()
		ti := readTypeInfo(d, formParam)
		name := d.bVarchar()
		infos = append(infos, ti)
		omitted = append(omitted, flags&tvpDefault != 0)
		p.Columns = append(p.Columns, types.Column{Name: name, Type: ti.typ, Nullable: flags&columnNullable != 0, Identity: flags&tvpDefault != 0})
	}
	for d.err == nil {
		switch token := d.u8(); token {
		case tvpEnd:
			p.Rows = readTVPRows(d, infos, omitted, func(row, column int) {
				d.locate(func(e *LengthError) error { return mserr.TableParameterLength(number, p.Name, row, column, e.Token) },
					func(e *ValueError) error { return mserr.TableParameterValue(number, p.Name, row, column, e.Type) })
			})
			return
		case tvpOrderUnique, tvpColumnOrder:
			width := 2 // ordinal of a column
			if token == tvpOrderUnique {
				width = 3 // and flags
			}
			d.take(width * int(d.u16()))
		default:
			d.failf("token %#02x in the metadata of a table-valued parameter", token)
		}
	}
}

// readTVPRows reads the rows up to the end of the parameter. It calls locate with the position of
// each value, from 1.
func readTVPRows(d *decoder, infos []typeInfo, omitted []bool, locate func(row, column int)) [][]types.Value {
	var rows [][]types.Value
	for d.err == nil {
		switch token := d.u8(); token {
		case tvpEnd:
			return rows
		case tvpRow:
			row := make([]types.Value, len(infos))
			for i, ti := range infos {
				if !omitted[i] && d.err == nil {
					row[i] = readValue(d, ti, formParam)
					locate(len(rows)+1, i+1)
				}
			}
			rows = append(rows, row)
		default:
			d.failf("token %#02x in the rows of a table-valued parameter", token)
		}
	}
	return nil
}
