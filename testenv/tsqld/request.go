package tsqld

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// request is a decoded message.
type request struct {
	text string     // what [Point.Request] shows
	call *exec.Call // set for a remote procedure call
	tran *tds.Headers
	rpc  bool
	run  func(ctx context.Context, s *sink) error
}

// handle executes a message and answers it. A non-nil error ends the connection.
func (c *conn) handle(m *message) error {
	ctx, cancel := c.attentions.begin(c.ctx, c.srv.cfg.Fault != nil)
	defer cancel(nil)
	defer m.drop(c.meter)
	s := &sink{c: c, ctx: ctx}
	c.beginReply()
	err := c.group.enter(ctx, c)
	if err != nil {
		return c.answer(ctx, m, s, err)
	}
	s.states = c.states
	if err = c.execute(ctx, m, s); err == nil {
		err = c.beforeReply(s)
	}
	err = c.answer(ctx, m, s, err)
	// Not deferred: after a panic no other request may use the session.
	return errors.Join(err, c.group.leave(c))
}

// answer ends the answer to a message. err is the error of its execution. A non-nil result ends the
// connection.
func (c *conn) answer(ctx context.Context, m *message, s *sink, err error) error {
	if m.stream != nil {
		m.drain() // a bulk load is answered after its last packet
	}
	attention := c.attentions.end()
	switch {
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case errors.Is(err, ErrClose), errors.Is(err, ErrClientGone):
		return err
	case errors.Is(err, errIgnored):
		return s.finish(tds.DoneError)
	case errors.Is(err, errPendingReset): // its message is no error, but ends the connection
		return errors.Join(fmt.Errorf("%w: %w", errFatal, err), s.finish(0))
	case attention:
		// SQL Server sends two messages: the answer as far as it got, and the acknowledgment.
		var cut tds.DoneStatus
		if s.discarding || err != nil || ctx.Err() != nil {
			cut = tds.DoneError
		}
		if err := s.finish(cut); err != nil {
			return err
		}
		return c.acknowledge()
	case err == nil, errors.Is(err, errRequestCut):
		return s.finish(0)
	}
	// The error ends the connection. Tell the client why.
	if !s.fatal {
		text := mserr.SessionKilled()
		if bad := (*tds.FormatError)(nil); errors.As(err, &bad) {
			text = mserr.New(4002, fatalClass, "The incoming tabular data stream (TDS) protocol stream is incorrect. %s", bad.What)
		} else if !errors.Is(err, session.ErrKilled) {
			c.srv.report(err)
		}
		if merr := s.Message(text); merr != nil {
			return merr
		}
	}
	if ferr := s.finish(tds.DoneError | tds.DoneFatal); ferr != nil {
		return ferr
	}
	if errors.Is(err, errFatal) {
		return err
	}
	return fmt.Errorf("%w: %w", errFatal, err)
}

// beforeReply calls the fault that loses an answer after a commit.
func (c *conn) beforeReply(s *sink) error {
	if s.req == nil || c.session.Descriptor() != 0 {
		return nil
	}
	return s.fault(AfterCommitBeforeReply)
}

// decodedSize estimates the memory of a decoded message, as a multiple of the message's size.
const decodedSize = 2

// maxBulkText is the longest INSERT BULK statement in bytes, far longer than one with 1,024
// columns.
const maxBulkText = 1 << 20

// execute runs a message. If it returns nil, errors of the request have been sent.
func (c *conn) execute(ctx context.Context, m *message, s *sink) error {
	if m.status&tds.StatusIgnore != 0 {
		return errIgnored
	}
	if m.refused != nil {
		return refuseRequest(m.refused, s)
	}
	if n := len(m.payload); n > uncounted {
		if err := c.meter.Take(decodedSize * n); err != nil {
			return refuseRequest(err, s)
		}
	}
	r, err := decode(c, m)
	if err != nil {
		return refuseRequest(err, s)
	}
	if m.typ == tds.PacketBatch {
		m.drop(c.meter) // the batch's text is a copy
	}
	s.req, s.rpc = r, r.rpc
	c.attentions.run(r)
	if ctx.Err() != nil { // an attention arrived before the request started
		return nil
	}
	reset := m.status&(tds.StatusReset|tds.StatusResetKeepingTran) != 0
	if reset {
		if c.group.othersPending(c) {
			return errors.Join(errPendingReset, s.Message(mserr.ResetWithPendingRequests()))
		}
		err := c.session.Reset(ctx, s, m.status&tds.StatusResetKeepingTran != 0)
		if text := (*mserr.Error)(nil); errors.As(err, &text) {
			return errors.Join(err, s.Message(text))
		}
		if err != nil {
			return err
		}
		if !s.reset {
			if err := s.EnvChange(answer.EnvChange{Kind: answer.EnvResetAck}); err != nil {
				return err
			}
		}
		c.bulk = ""
	}
	if c.group.orphans(c) {
		return s.Message(mserr.InvalidDescriptor())
	}
	// The client may name the transaction that the reset has just ended.
	if !reset && r.tran != nil && r.tran.HasTran && r.tran.Descriptor != c.session.Descriptor() {
		return s.Message(mserr.InvalidDescriptor())
	}
	c.group.begin(c)
	if err := s.fault(BeforeStatement); err != nil {
		return err
	}
	return r.run(ctx, s)
}

// refuseRequest answers a message that cannot be run. A value outside its type's range is an error
// of the request only. A message that violates the protocol ends the connection.
func refuseRequest(err error, s *sink) error {
	var bad *tds.ValueError
	var m *mserr.Error
	switch {
	case errors.As(err, &m):
		return s.Message(m)
	case errors.As(err, &bad):
		return s.Message(mserr.New(8023, 16, "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. "+
			"The supplied value is not a valid instance of data type %s: %s.", bad.Type, bad.Why))
	default:
		return err
	}
}

// decode decodes a message.
func decode(c *conn, m *message) (*request, error) {
	switch m.typ {
	case tds.PacketBatch:
		return decodeBatch(c, m)
	case tds.PacketRPC:
		return decodeRPC(c, m)
	case tds.PacketTransaction:
		return decodeTransaction(c, m)
	case tds.PacketBulkLoad:
		return decodeBulk(c, m)
	default:
		return nil, &tds.FormatError{What: fmt.Sprintf("message of type %#02x after the login", byte(m.typ))}
	}
}

// decodeBatch decodes a batch. It keeps the text, because the text may be the INSERT BULK statement
// for the rows in the next message.
func decodeBatch(c *conn, m *message) (*request, error) {
	b, err := tds.ReadBatch(m.payload, c.version)
	if err != nil {
		return nil, err
	}
	if b.Notification {
		return nil, mserr.NotSupported("a query notification")
	}
	r := &request{text: b.Text, tran: &b.Headers}
	r.run = func(ctx context.Context, s *sink) error {
		if c.bulk = ""; len(b.Text) <= maxBulkText {
			c.bulk = b.Text
		}
		return c.session.Batch(ctx, b.Text, s)
	}
	return r, nil
}

// decodeRPC decodes an RPC message. Its calls run one after another, even after a failed one.
func decodeRPC(c *conn, m *message) (*request, error) {
	headers, rpcs, err := tds.ReadRPC(m.payload, c.version)
	if err != nil {
		return nil, err
	}
	calls := make([]exec.Call, len(rpcs))
	for i, rpc := range rpcs {
		if i > 0 && rpcs[i-1].NoExecNext {
			return nil, mserr.NotSupported("a batch of calls with the no-execution flag")
		}
		calls[i] = exec.Call{Proc: rpc.Proc, Params: make([]exec.Param, len(rpc.Params))}
		for k, p := range rpc.Params {
			calls[i].Params[k] = exec.Param(p)
		}
	}
	r := &request{text: calls[0].Proc, call: &calls[0], tran: &headers, rpc: true}
	r.run = func(ctx context.Context, s *sink) error {
		for i := range calls {
			s.ended = false
			if err := c.session.Call(ctx, calls[i], s); err != nil {
				return err
			}
			if err := s.endCall(); err != nil {
				return err
			}
		}
		return nil
	}
	return r, nil
}

// decodeTransaction decodes a transaction manager request.
func decodeTransaction(c *conn, m *message) (*request, error) {
	t, err := tds.ReadTransaction(m.payload, c.version)
	if err != nil {
		return nil, err
	}
	r := &request{text: t.Request.String(), tran: &t.Headers}
	end := func(ctx context.Context, s *sink, how func() error) error {
		if err := how(); err != nil || !t.BeginAfter {
			return err
		}
		if s.errorSent {
			return nil
		}
		return c.session.Begin(ctx, exec.Isolation(t.NewIsolation), t.NewName, s)
	}
	switch t.Request {
	case tds.TranBegin:
		r.run = func(ctx context.Context, s *sink) error {
			if c.group.othersPending(c) || c.group != nil && t.Outstanding > 1 {
				return s.Message(mserr.OtherRequestsRunning())
			}
			return c.session.Begin(ctx, exec.Isolation(t.Isolation), t.Name, s)
		}
	case tds.TranCommit:
		r.run = func(ctx context.Context, s *sink) error {
			return end(ctx, s, func() error { return c.session.Commit(ctx, s) })
		}
	case tds.TranRollback:
		r.run = func(ctx context.Context, s *sink) error {
			return end(ctx, s, func() error { return c.session.Rollback(ctx, t.Name, s) })
		}
	case tds.TranSave:
		r.run = func(ctx context.Context, s *sink) error { return c.session.Save(ctx, t.Name, s) }
	default:
		return nil, mserr.NotSupported("the transaction manager request %s (%d)", t.Request, t.Request)
	}
	return r, nil
}

// decodeBulk prepares a bulk load. Its columns and rows are read while it runs.
func decodeBulk(c *conn, m *message) (*request, error) {
	statement := c.bulk
	c.bulk = ""
	r := &request{text: statement}
	r.run = func(ctx context.Context, s *sink) error {
		if statement == "" {
			return s.Message(mserr.New(4002, 16, "The incoming tabular data stream (TDS) protocol stream is incorrect. Rows came without INSERT BULK."))
		}
		rows, err := tds.NewBulkReader(m.next, c.version)
		if err != nil {
			return err
		}
		err = c.session.Bulk(ctx, exec.BulkLoad{Statement: statement, Columns: rows.Columns(), Next: rows.Next}, s)
		if bad := (*tds.ValueError)(nil); errors.As(err, &bad) {
			return refuseRequest(err, s) // an error of one row; the stream itself follows the protocol
		}
		return err
	}
	return r, nil
}
