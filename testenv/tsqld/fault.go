package tsqld

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
)

// PointKind is the place of a [Point].
type PointKind uint8

// The places.
const (
	// BeforeLogin: the client has sent its login, and nothing has been checked.
	BeforeLogin PointKind = iota + 1
	// BeforeStatement: a request has arrived completely, and nothing of it has been executed.
	BeforeStatement
	// AfterCommitBeforeReply: a request has ended without an open transaction, so its changes are
	// durable, and the end of the answer has not been sent. A fault here reveals clients that
	// execute twice.
	AfterCommitBeforeReply
	// MidRow: a row is about to be sent.
	MidRow
	// OnAttention: the client cancels the running request. Any error makes the request
	// unresponsive: it continues, the attention is never acknowledged, and the request does not end
	// with the connection either; only KILL ends it. SQL Server has such requests where it waits
	// for something outside of its control: extended procedures, linked servers, stuck I/O.
	OnAttention
	// BeforeCommit: the changes of a session or of the server itself are about to become durable.
	// The point's other fields are not set. Any error acts as a full disk: the transaction is
	// rolled back (1105).
	BeforeCommit
)

// String returns the name of the place.
func (k PointKind) String() string {
	switch k {
	case BeforeLogin:
		return "before login"
	case BeforeStatement:
		return "before statement"
	case AfterCommitBeforeReply:
		return "after commit, before reply"
	case MidRow:
		return "mid-row"
	case OnAttention:
		return "on attention"
	case BeforeCommit:
		return "before commit"
	default:
		return "unknown point"
	}
}

// Point describes where, and in which request, a fault may happen.
//
// If Config.Fault returns nil, nothing happens. A *mserr.Error is sent to the client: at
// BeforeLogin the login fails with it, and at BeforeStatement the request; elsewhere the answer
// ends there. The connection ends if the error's class is 20 or more. [ErrClose] and every other
// error close the connection without an answer. To stall the request, wait for Context and return
// its cause.
type Point struct {
	Kind    PointKind
	Context context.Context // of the request, or of the connection before there is one
	User    string
	App     string     // application name that the client gave
	Request string     // text of a batch, name of a called procedure, or name of a transaction manager request
	Call    *exec.Call // set if the request is a call; must not be changed
	Row     int64      // the number of rows that the request has sent
}

// fault calls Config.Fault.
func (c *conn) fault(ctx context.Context, kind PointKind, r *request, row int64) error {
	f := c.srv.cfg.Fault
	if f == nil {
		return nil
	}
	p := Point{Kind: kind, Context: ctx, User: c.login.User, App: c.login.App, Row: row}
	if r != nil {
		p.Request, p.Call = r.text, r.call
	}
	return f(p)
}
