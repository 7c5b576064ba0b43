package tsqld

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// fatalClass is the lowest severity that ends the connection.
const fatalClass = 20

// sink writes the interpreter's output as tokens. It delays each DONE until it is known whether
// more tokens follow. After an attention it discards all output except changes of the session's
// environment. A sink belongs to one request.
type sink struct {
	c   *conn
	ctx context.Context // of the request
	req *request
	rpc bool // statements end with DONEINPROC and calls with DONEPROC

	buf        []byte          // buffer for one token
	enc        *tds.RowEncoder // of the current result set
	pending    done            // the delayed DONE
	hasPending bool
	errorSent  bool // an error was sent after the last DONE
	fatal      bool // an error of severity 20 or more was sent
	ended      bool // the current call has its DONEPROC
	returned   bool // a RETURNSTATUS was sent, and its DONEPROC was not
	reset      bool // a reset was acknowledged
	// states are those of the session if the client can recover it, and the request may use it.
	states     *tds.SessionStates
	discarding bool // an attention has arrived
	rows       int64
}

// done is a DONE token, independent of the protocol version.
type done struct {
	kind    tds.DoneKind
	status  tds.DoneStatus
	command uint16
	rows    int64
}

// write sends the delayed DONE and a token.
func (s *sink) write(token []byte) error {
	if err := s.flushDone(); err != nil {
		return err
	}
	return s.raw(token)
}

// raw sends a token. An error of the connection becomes [ErrClientGone].
func (s *sink) raw(token []byte) error {
	if _, err := s.c.out.Write(token); err != nil {
		return s.clientGone(err)
	}
	return nil
}

// clientGone wraps an error of the connection.
func (s *sink) clientGone(err error) error {
	return fmt.Errorf("%w: %w", ErrClientGone, err)
}

// flushDone sends the delayed DONE, with the bit that more tokens follow.
func (s *sink) flushDone() error {
	if !s.hasPending {
		return nil
	}
	s.hasPending = false
	return s.raw(s.done(s.pending, tds.DoneMore))
}

// done encodes a DONE with further status bits into s.buf.
func (s *sink) done(d done, more tds.DoneStatus) []byte {
	s.buf = tds.AppendDone(s.buf[:0], d.kind, d.status|more, d.command, d.rows, s.c.version)
	return s.buf
}

// discards reports whether output is discarded because of an attention.
func (s *sink) discards() bool {
	if !s.discarding {
		s.discarding = s.c.attentions.isPending()
	}
	return s.discarding
}

// Columns implements [answer.Sink].
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

// Row implements [answer.Sink].
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

// Done implements [answer.Sink].
func (s *sink) Done(d answer.Done) error {
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
		s.ended, s.returned = true, false
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

// Severity 10 is sent as 0 (documentation of error severities).
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

// ReturnStatus implements [answer.Sink].
func (s *sink) ReturnStatus(code int32) error {
	if s.discards() {
		return nil
	}
	s.returned = true
	return s.write(tds.AppendReturnStatus(nil, code))
}

// ReturnValue implements [answer.Sink].
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

// EnvChange implements [answer.Sink]. It sends the change even after an attention.
func (s *sink) EnvChange(e answer.EnvChange) error {
	var b []byte
	switch e.Kind {
	case answer.EnvDatabase:
		b = tds.AppendDatabaseChange(b, e.New, e.Old)
		if e.NewCollation != e.OldCollation {
			b = tds.AppendCollationChange(b, e.NewCollation)
		}
	case answer.EnvLanguage:
		b = tds.AppendLanguageChange(b, e.New, e.Old)
	case answer.EnvBeginTran:
		b = tds.AppendTranBegun(b, e.Descriptor)
	case answer.EnvCommitTran, answer.EnvRollbackTran:
		s.c.group.endedTransaction(s.c, e.Descriptor)
		b = tds.AppendTranEnded(b, e.Descriptor, e.Kind == answer.EnvCommitTran)
	case answer.EnvResetAck:
		b = tds.AppendResetAck(b)
		s.reset = true
		if s.states != nil {
			s.states.Reset()
		}
	default:
		return s.defect(fmt.Errorf("environment change of kind %d", e.Kind))
	}
	return s.write(b)
}

// OthersInTransaction implements [answer.Companion]. The client counts the requests whose answers
// it has not read to the end.
func (s *sink) OthersInTransaction(descriptor uint64) bool {
	g := s.c.group
	return g != nil && (s.req != nil && s.req.tran != nil && s.req.tran.Outstanding > 1 || g.othersIn(s.c, descriptor))
}

// Flush sends the output so far to the client. The interpreter calls it after RAISERROR WITH
// NOWAIT.
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

// defect sends an error for output that cannot be encoded, and ends the connection. Such output is
// a defect of the server. To leave the row out would be a wrong answer.
func (s *sink) defect(err error) error {
	m := mserr.New(3624, fatalClass, "tsqld: an answer cannot be sent: %v", err)
	s.fatal = true
	if werr := s.write(tds.AppendMessage(nil, m, pipeHost, s.c.version)); werr != nil {
		return werr
	}
	return fmt.Errorf("%w: %w", errFatal, err)
}

// fault calls Config.Fault and sends the error that it returns. The request ends with the error of
// fault.
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

// errRequestCut ends a request after a fault was sent as an error. The connection continues.
var errRequestCut = errors.New("request cut by a fault")

// endCall adds the DONEPROC of a call if the interpreter has sent none.
func (s *sink) endCall() error {
	if s.ended || s.discards() {
		return nil
	}
	if err := s.flushDone(); err != nil {
		return err
	}
	s.pending, s.hasPending, s.returned = done{kind: tds.DoneProc, status: s.errorStatus(), command: uint16(answer.CommandExecute)}, true, false
	return nil
}

// errorStatus returns the error bit if an error was sent after the last DONE.
func (s *sink) errorStatus() tds.DoneStatus {
	if s.errorSent {
		s.errorSent = false
		return tds.DoneError
	}
	return 0
}

// finish sends the final DONE with further status bits, and ends the message.
func (s *sink) finish(more tds.DoneStatus) error {
	if more != 0 || s.errorSent || s.hasPending && s.pending.kind == tds.DoneInProc {
		if err := s.flushDone(); err != nil {
			return err
		}
	}
	if !s.hasPending {
		s.pending = done{kind: tds.DoneBatch, status: s.errorStatus()}
		// A RETURNSTATUS is followed by its DONEPROC, even if an attention came between them.
		switch {
		case s.rpc && more == 0 || s.returned:
			s.pending.kind = tds.DoneProc
		case more == 0:
			s.pending.command = uint16(answer.CommandBatch)
		}
	}
	s.hasPending = false
	if r, ok := s.c.session.(recoverable); ok && s.states != nil {
		if err := s.raw(s.states.AppendChanges(nil, r.States())); err != nil {
			return err
		}
	}
	if err := s.raw(s.done(s.pending, more)); err != nil {
		return err
	}
	if err := s.c.endReply(); err != nil {
		return s.clientGone(err)
	}
	return nil
}
