package tsqld

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
)

// PointKind is a place at which [Config.Fault] is asked.
type PointKind uint8

// The places.
const (
	// BeforeLogin: the client has sent its login, nothing was checked yet.
	BeforeLogin PointKind = iota + 1
	// BeforeStatement: a request has arrived whole and nothing of it was executed.
	BeforeStatement
	// AfterCommitBeforeReply: a request has ended with no transaction open, so that all it did is
	// durable, and the end of the answer was not sent. This is the one that finds double execution.
	AfterCommitBeforeReply
	// MidRow: a row is about to be sent.
	MidRow
	// OnAttention: the client wants the running request canceled. Any error makes the request deaf: it goes on, the
	// attention is never acknowledged, and the end of the connection does not end the request either; only KILL does. So
	// does SQL Server with requests that wait outside of its reach: extended procedures, linked servers, stuck I/O.
	OnAttention
	// BeforeCommit: a transaction is about to become durable, of a session or of the server itself. Nothing else of the point is
	// set. Any error stands for a full disk: the transaction is rolled back (1105).
	BeforeCommit
)

// String names the place.
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

// Point is where and for whom a fault may happen.
//
// The answer nil goes on. A *mserr.Error is sent to the client instead of going on: at BeforeLogin the
// login fails with it, at BeforeStatement the request; elsewhere the answer is cut there, and the
// connection ends when the class is 20 or more. [ErrClose] and every other error drop the connection
// without a word. To stall, wait for Context and return its cause.
type Point struct {
	Kind    PointKind
	Context context.Context // of the request, or of the connection before there is one
	User    string
	App     string     // application name that the client gave
	Request string     // a batch's text, a called procedure's name, or the name of a transaction manager request
	Call    *exec.Call // the call, when the request is one; must not be changed
	Row     int64      // rows of the request sent so far
}

// fault asks [Config.Fault].
func (c *conn) fault(ctx context.Context, kind PointKind, r *request, row int64) error {
	f := c.srv.cfg.Fault
	if f == nil {
		return nil
	}
	return f(c.point(ctx, kind, r, row))
}

// point describes where a fault may happen.
func (c *conn) point(ctx context.Context, kind PointKind, r *request, row int64) Point {
	p := Point{Kind: kind, Context: ctx, User: c.login.User, App: c.login.App, Row: row}
	if r != nil {
		p.Request, p.Call = r.text, r.call
	}
	return p
}
