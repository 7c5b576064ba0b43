package tsqld

import (
	"context"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
)

// session is what a connection needs of the interpreter. *exec.Session is one; tests script their own.
//
// Errors of statements go through the sink. An error that a method returns ends the connection: the
// client is gone, or the interpreter met an error of severity 20 or more and has told the client, or
// the context ended. After an attention any error is taken for the end of the canceled request.
type interpreter interface {
	Batch(ctx context.Context, text string, sink exec.Sink) error
	Call(ctx context.Context, call exec.Call, sink exec.Sink) error
	Bulk(ctx context.Context, load exec.BulkLoad, sink exec.Sink) error

	// The four transaction manager requests.
	Begin(ctx context.Context, isolation exec.Isolation, name string, sink exec.Sink) error
	Commit(ctx context.Context, sink exec.Sink) error
	Rollback(ctx context.Context, name string, sink exec.Sink) error
	Save(ctx context.Context, name string, sink exec.Sink) error

	// Reset brings the session back to its state after login, before a request; keepTransaction leaves
	// an open transaction alone.
	Reset(ctx context.Context, sink exec.Sink, keepTransaction bool) error
	// Descriptor is that of the open transaction, 0 without one.
	Descriptor() uint64
	// Database is the current database.
	Database() string
	// Close rolls back what is open and frees the session. It is called once, when no request runs.
	Close() error
}

// login is what a client said of itself.
type login struct {
	User, Password string
	Database       string // empty leaves it to the login
	App, Host      string
	Library        string // client library's name
	PID            int    // of the client's process
	Version        uint32 // of TDS, as the server speaks it
	PacketSize     int    // granted, in bytes
	Encrypted      bool
	NewPassword    string // empty keeps the password
	ReadOnlyIntent bool
}

// engine makes sessions. A login that fails is a *mserr.Error for the client.
type engine interface {
	open(ctx context.Context, l login) (interpreter, error)
	close() error
}

// killable is a session that others can end. OnKill sets what tells the connection of it.
type killable interface{ OnKill(f func()) }

// accounted is a session whose memory is bounded; messages for it are a part of that.
type accounted interface{ Meter() *meter.Meter }

// identified is a session that knows its number (@@SPID), which goes into the headers of its packets.
type identified interface{ SPID() int }
