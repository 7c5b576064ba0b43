package tds

import "encoding/binary"

// Types of headers in ALL_HEADERS (MS-TDS 2.2.5.3).
const (
	headerQueryNotification = 1
	headerTransaction       = 2
)

// Headers are the ALL_HEADERS of a request. Versions before 7.2 have none; their Headers are zero.
type Headers struct {
	Descriptor   uint64 // the client's current transaction; 0 for none
	HasTran      bool   // there was a transaction descriptor header
	Outstanding  uint32 // requests of the connection that the client has not finished, this one included
	Notification bool   // the client requests a query notification
}

// readHeaders reads ALL_HEADERS.
func readHeaders(d *decoder, v Version) Headers {
	var h Headers
	if !v.since72() {
		return h
	}
	total := d.u32()
	if total < 4 || int64(total)-4 > int64(d.left()) {
		d.failf("headers of %d bytes", total)
		return h
	}
	e := newDecoder(d.what+" headers", d.take(int(total)-4))
	for e.left() > 0 {
		size, kind := e.u32(), e.u16()
		if size < 6 || int64(size)-6 > int64(e.left()) {
			e.failf("header of type %d with %d bytes", kind, size)
			break
		}
		data := e.take(int(size) - 6)
		switch kind {
		case headerTransaction:
			if len(data) != 12 {
				e.failf("transaction descriptor of %d bytes", len(data))
				break
			}
			h.Descriptor, h.HasTran = binary.LittleEndian.Uint64(data), true
			h.Outstanding = binary.LittleEndian.Uint32(data[8:])
		case headerQueryNotification:
			h.Notification = true
		}
	}
	if e.err != nil {
		d.fail(e.err)
	}
	return h
}

// Batch is an SQLBatch message (MS-TDS 2.2.6.7).
type Batch struct {
	Headers
	Text string
}

// ReadBatch reads the payload of an SQLBatch message.
func ReadBatch(b []byte, v Version) (*Batch, error) {
	d := newDecoder("batch", b)
	r := &Batch{Headers: readHeaders(d, v)}
	text := d.take(d.left())
	if len(text)%2 != 0 {
		d.failf("text of %d bytes", len(text))
	}
	if d.err != nil {
		return nil, d.err
	}
	r.Text = decodeUTF16(text)
	return r, nil
}

// TranRequest is the kind of a transaction manager request (MS-TDS 2.2.6.9).
type TranRequest uint16

// Transaction manager requests.
const (
	TranGetDTCAddress TranRequest = 0
	TranPropagate     TranRequest = 1
	TranBegin         TranRequest = 5
	TranPromote       TranRequest = 6
	TranCommit        TranRequest = 7
	TranRollback      TranRequest = 8
	TranSave          TranRequest = 9
)

// String names the request as MS-TDS does.
func (r TranRequest) String() string {
	switch r {
	case TranGetDTCAddress:
		return "TM_GET_DTC_ADDRESS"
	case TranPropagate:
		return "TM_PROPAGATE_XACT"
	case TranBegin:
		return "TM_BEGIN_XACT"
	case TranPromote:
		return "TM_PROMOTE_XACT"
	case TranCommit:
		return "TM_COMMIT_XACT"
	case TranRollback:
		return "TM_ROLLBACK_XACT"
	case TranSave:
		return "TM_SAVE_XACT"
	default:
		return "unknown transaction manager request"
	}
}

// Transaction is a transaction manager request.
type Transaction struct {
	Headers
	Request   TranRequest
	Isolation uint8  // TranBegin: 0 keeps the session's level; 1 to 5 are read uncommitted to snapshot
	Name      string // name of the transaction or savepoint; only TranSave requires it
	// After a commit or rollback, begin another transaction with NewIsolation and NewName.
	BeginAfter   bool
	NewIsolation uint8
	NewName      string
}

// ReadTransaction reads the payload of a transaction manager request. For requests about
// distributed transactions it returns only the kind.
func ReadTransaction(b []byte, v Version) (*Transaction, error) {
	d := newDecoder("transaction manager request", b)
	r := &Transaction{Headers: readHeaders(d, v), Request: TranRequest(d.u16())}
	switch r.Request {
	case TranBegin:
		r.Isolation = d.u8()
		r.Name = readTranName(d)
	case TranCommit, TranRollback:
		r.Name = readTranName(d)
		if flags := d.u8(); flags&1 != 0 {
			r.BeginAfter = true
			r.NewIsolation = d.u8()
			r.NewName = readTranName(d)
		}
	case TranSave:
		r.Name = readTranName(d)
	}
	if max(r.Isolation, r.NewIsolation) > 5 {
		d.failf("isolation level %d", max(r.Isolation, r.NewIsolation))
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// readTranName reads the name of a transaction: UTF-16 after its length in bytes (B_VARBYTE).
func readTranName(d *decoder) string {
	n := int(d.u8())
	if n%2 != 0 {
		d.failf("name of %d bytes", n)
		return ""
	}
	return d.ucs2(n / 2)
}
