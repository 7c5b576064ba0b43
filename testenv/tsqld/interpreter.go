package tsqld

import (
	"context"
	"net"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// interpreter executes the requests of a connection. [exec.Session] implements it; tests have a
// fake.
//
// Errors of statements go to the sink. An error that a method returns ends the connection: the
// client is gone, the context has ended, or the interpreter has sent an error of severity 20 or
// more. After an attention, every returned error is taken for the end of the canceled request.
type interpreter interface {
	Batch(ctx context.Context, text string, sink answer.Sink) error
	Call(ctx context.Context, call exec.Call, sink answer.Sink) error
	Bulk(ctx context.Context, load exec.BulkLoad, sink answer.Sink) error

	// The four transaction manager requests.
	Begin(ctx context.Context, isolation exec.Isolation, name string, sink answer.Sink) error
	Commit(ctx context.Context, sink answer.Sink) error
	Rollback(ctx context.Context, name string, sink answer.Sink) error
	Save(ctx context.Context, name string, sink answer.Sink) error

	// Reset restores the state after the login, before a request. With keepTransaction an open
	// transaction stays.
	Reset(ctx context.Context, sink answer.Sink, keepTransaction bool) error
	// Descriptor returns the descriptor of the open transaction, 0 without one.
	Descriptor() uint64
	// Database returns the name of the current database.
	Database() string
	// Collation returns the default collation of the current database.
	Collation() types.Collation
	// Close rolls back an open transaction and frees the session. It is called once, while no
	// request runs.
	Close() error
}

// login is the content of a LOGIN7 message.
type login struct {
	User, Password string
	// Windows says that User is the name in a verified Kerberos ticket, and Realm its realm.
	Windows        bool
	Foreign        bool // the realm is not the server's
	Realm          string
	Database       string // "" for the login's default database
	Language       string // "" for the login's default language
	App, Host      string
	Library        string // client library's name
	PID            int    // of the client's process
	Version        uint32 // of TDS, as the server speaks it
	PacketSize     int    // granted, in bytes
	Encrypted      bool
	Multiple       bool              // the client may run several requests at once (MARS)
	NewPassword    string            // "" to keep the password
	Recovery       *session.Recovery // the session that the login continues; nil for a new one
	ReadOnlyIntent bool
	// Local and Remote are the addresses of the connection.
	Local, Remote net.Addr
}

// engine opens sessions. The error of a failed login is a *mserr.Error, which is sent to the
// client.
type engine interface {
	open(ctx context.Context, l login) (interpreter, error)
	close() error
}

// killable is an interpreter that another session can end. OnKill sets the function that notifies
// the connection.
type killable interface{ OnKill(f func()) }

// accounted is an interpreter with a memory limit, which covers messages too.
type accounted interface {
	Meter() *meter.Meter
	ReleaseMemory() // between two requests
}

// recoverable is an interpreter whose state a client can keep, to continue the session after it has
// lost the connection.
type recoverable interface {
	States() []session.State
	InitialStates() []session.State // to which a reset returns
	Language() string
}

// identified is an interpreter with a session number (@@SPID), which the headers of its packets
// carry.
type identified interface{ SPID() int }
