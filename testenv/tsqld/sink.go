package tsqld

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// fatalClass is the severity from which on an error ends the connection.
const fatalClass = 20

// sink turns what the interpreter produces into tokens. The last DONE is held back until it is known
// whether more follows. After an attention everything is dropped but what changes the client's picture
// of its session. It belongs to one request.
type sink struct {
	c   *conn
	ctx context.Context // of the request
	req *request
	rpc bool // statements end with DONEINPROC, calls with DONEPROC

	buf        []byte          // scratch for one token
	enc        *tds.RowEncoder // of the current result set
	pending    done            // the DONE that was held back
	hasPending bool
	errorSent  bool // an error was sent since the last DONE
	fatal      bool // an error that ends the connection was sent
	ended      bool // the current call has its DONEPROC
	reset      bool // a reset was acknowledged
	discarding bool // an attention was seen
	rows       int64
}

// done is a DONE token without its protocol version.
type done struct {
	kind    tds.DoneKind
	status  tds.DoneStatus
	command uint16
	rows    int64
}

// write sends a token after the DONE that was held back.
func (s *sink) write(token []byte) error {
	if err := s.flushDone(); err != nil {
		return err
	}
	return s.raw(token)
}

// raw sends a token. An error of the connection is [ErrClientGone].
func (s *sink) raw(token []byte) error {
	if _, err := s.c.out.Write(token); err != nil {
		return s.clientGone(err)
	}
	return nil
}

// gone wraps an error of the connection.
func (s *sink) clientGone(err error) error {
	return fmt.Errorf("%w: %w", ErrClientGone, err)
}

// release sends the DONE that was held back, as one that is followed by more.
func (s *sink) flushDone() error {
	if !s.hasPending {
		return nil
	}
	s.hasPending = false
	return s.raw(s.done(s.pending, tds.DoneMore))
}

// done encodes a DONE with further status bits, into the scratch.
func (s *sink) done(d done, more tds.DoneStatus) []byte {
	s.buf = tds.AppendDone(s.buf[:0], d.kind, d.status|more, d.command, d.rows, s.c.version)
	return s.buf
}

// drops tells whether output is to be dropped, because the client wants no more of it.
func (s *sink) discards() bool {
	if !s.discarding {
		s.discarding = s.c.attentionPending()
	}
	return s.discarding
}

// Columns implements [exec.Sink].
func (s *sink) Columns(cols []types.Column) error {
	if s.discards() {
		return nil
	}
	enc, err := tds.NewRowEncoder(append([]types.Column(nil), cols...), s.c.version)
	if err != nil {
		return s.defect(err)
	}
	s.enc = enc
	return s.write(enc.AppendOrigins(enc.AppendColMetadata(nil)))
}

// Row implements [exec.Sink].
func (s *sink) Row(vals []types.Value) error {
	if s.discards() {
		return nil
	}
	if s.enc == nil {
		return s.defect(errors.New("row outside a result set"))
	}
	if err := s.fault(MidRow); err != nil {
		return err
	}
	b, err := s.enc.AppendRow(s.buf[:0], vals)
	if err != nil {
		return s.defect(err)
	}
	s.buf = b
	s.rows++
	return s.write(b)
}

// Done implements [exec.Sink].
func (s *sink) Done(d exec.Done) error {
	s.enc = nil
	if s.discards() {
		return nil
	}
	if err := s.flushDone(); err != nil {
		return err
	}
	s.pending = done{kind: tds.DoneBatch, command: uint16(d.Command)}
	switch {
	case d.EndProc:
		s.pending.kind = tds.DoneProc
		s.ended = true
	case d.InProc || s.rpc:
		s.pending.kind = tds.DoneInProc
	}
	if d.Count {
		s.pending.status |= tds.DoneCount
		s.pending.rows = d.Rows
	}
	if d.Error {
		s.pending.status |= tds.DoneError
		s.errorSent = false
	}
	s.hasPending = true
	return nil
}

// Message implements [exec.Sink].
func (s *sink) Message(m *mserr.Error) error {
	if s.discards() {
		return nil
	}
	if m.Class > 10 {
		s.errorSent = true
	}
	if m.Class == 10 { // documentation of error severities: 10 becomes 0 before it is returned
		c := *m
		m, c.Class = &c, 0
	}
	s.fatal = s.fatal || m.Class >= fatalClass
	return s.write(tds.AppendMessage(nil, m, pipeHost, s.c.version))
}

// ReturnStatus implements [exec.Sink].
func (s *sink) ReturnStatus(code int32) error {
	if s.discards() {
		return nil
	}
	return s.write(tds.AppendReturnStatus(nil, code))
}

// ReturnValue implements [exec.Sink].
func (s *sink) ReturnValue(ordinal int, name string, t types.Type, v types.Value) error {
	if s.discards() {
		return nil
	}
	b, err := tds.AppendReturnValue(nil, ordinal, name, t, v, s.c.version)
	if err != nil {
		return s.defect(fmt.Errorf("output parameter %s: %w", name, err))
	}
	return s.write(b)
}

// EnvChange implements [exec.Sink]. It is sent even after an attention.
func (s *sink) EnvChange(e exec.EnvChange) error {
	var b []byte
	switch e.Kind {
	case exec.EnvDatabase:
		b = tds.AppendDatabaseChange(b, e.New, e.Old)
	case exec.EnvLanguage:
		b = tds.AppendLanguageChange(b, e.New, e.Old)
	case exec.EnvBeginTran:
		b = tds.AppendTranBegun(b, e.Descriptor)
	case exec.EnvCommitTran, exec.EnvRollbackTran:
		b = tds.AppendTranEnded(b, e.Descriptor, e.Kind == exec.EnvCommitTran)
	case exec.EnvResetAck:
		b = tds.AppendResetAck(b)
		s.reset = true
	default:
		return s.defect(fmt.Errorf("environment change of kind %d", e.Kind))
	}
	return s.write(b)
}

// Flush sends what was produced so far to the client. The interpreter calls it after RAISERROR WITH NOWAIT.
func (s *sink) Flush() error {
	if s.discards() {
		return nil
	}
	if err := s.flushDone(); err != nil {
		return err
	}
	if err := s.c.out.Flush(); err != nil {
		return s.clientGone(err)
	}
	return nil
}

// defect tells the client of an answer that cannot be encoded, which is a defect of the server, and
// ends the connection: a row that is left out would be a wrong answer.
func (s *sink) defect(err error) error {
	m := mserr.New(3624, fatalClass, "tsqld: an answer cannot be sent: %v", err)
	s.fatal = true
	if werr := s.write(tds.AppendMessage(nil, m, pipeHost, s.c.version)); werr != nil {
		return werr
	}
	return fmt.Errorf("%w: %w", errFatal, err)
}

// fault asks for a fault, and sends the error that is one. The request ends with whatever comes back.
func (s *sink) fault(kind PointKind) error {
	err := s.c.fault(s.ctx, kind, s.req, s.rows)
	var m *mserr.Error
	if !errors.As(err, &m) {
		return err
	}
	if werr := s.Message(m); werr != nil {
		return werr
	}
	if m.Class >= fatalClass {
		return fmt.Errorf("%w: %w", errFatal, err)
	}
	return errRequestCut
}

// errCut ends the request at a fault that was sent as an error; the connection goes on.
var errRequestCut = errors.New("request cut by a fault")

// endCall makes sure that a call has its DONEPROC.
func (s *sink) endCall() error {
	if s.ended || s.discards() {
		return nil
	}
	if err := s.flushDone(); err != nil {
		return err
	}
	s.pending, s.hasPending = done{kind: tds.DoneProc, status: s.errorStatus(), command: uint16(exec.CommandExecute)}, true
	return nil
}

// errorStatus returns the error bit when an error was sent that no DONE has told of.
func (s *sink) errorStatus() tds.DoneStatus {
	if s.errorSent {
		s.errorSent = false
		return tds.DoneError
	}
	return 0
}

// finish sends the final DONE with further status bits and ends the message.
func (s *sink) finish(more tds.DoneStatus) error {
	if more != 0 || s.errorSent || s.hasPending && s.pending.kind == tds.DoneInProc {
		if err := s.flushDone(); err != nil {
			return err
		}
	}
	if !s.hasPending {
		s.pending = done{kind: tds.DoneBatch, status: s.errorStatus()}
		if s.rpc && more == 0 {
			s.pending.kind = tds.DoneProc
		}
	}
	s.hasPending = false
	if err := s.raw(s.done(s.pending, more)); err != nil {
		return err
	}
	if err := s.c.endReply(); err != nil {
		return s.clientGone(err)
	}
	return nil
}
