package sysviews

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Env is the input for the rows of system tables.
type Env struct {
	Server    string // name of the instance
	Started   int64  // start of the instance, a datetime
	Snapshot  *catalog.Snapshot
	Database  *catalog.Database // database of the view, in the session's own version
	Principal int               // principal of the session in Database, for metadata visibility
	SeeAll    bool              // the session is a sysadmin, or dbo of Database
	SeeLogins bool              // the session sees all logins
	// SeeSessions is set if the session has VIEW SERVER STATE, or since SQL Server 2022 VIEW SERVER
	// PERFORMANCE STATE.
	SeeSessions bool
	Login       *catalog.Login // of the session
	Conn        *store.Conn
	// Sessions returns all sessions of the instance, the session itself first, and Locks the locks.
	// Only the views that show them call these functions.
	Sessions  func() []SessionRow
	Locks     func() []LockInfo
	Messages  []catalog.Message         // of sp_addmessage, by number
	Settings  map[int64]catalog.Setting // options with values other than the defaults, by configuration_id
	Temporary []catalog.TempTable       // temporary tables of the session, if Database is tempdb with them
	// Path returns the path of a database's file.
	Path func(database int) string
	// Shape returns the columns of a system view. The compiler computes them.
	Shape func(v *SystemView) ([]types.Column, error)
}

// rowSource returns the SQLite table with the rows of a table.
func (env *Env) rowSource(t *catalog.Table) string {
	if t.Temporary {
		return store.LocalTable(t.SQLName)
	}
	return env.Database.SQLName() + "." + t.SQLName
}

// lastIdentity returns the last identity value of a temporary table.
func (env *Env) lastIdentity(t *catalog.Table) types.Value {
	for _, temp := range env.Temporary {
		if temp.Table.ObjectID == t.ObjectID {
			return temp.Identity
		}
	}
	return nil
}

// SessionRow is a session as shown in sys.dm_exec_sessions, _requests and _connections. Times are
// datetime values.
type SessionRow struct {
	ID               int
	LoginTime        int64
	Host             string
	Program          string
	Library          string // name of the client library
	PID              int    // of the client process
	Version          int64  // TDS version
	Login            string
	OriginalLogin    string
	SID              []byte
	Status           string // running, sleeping
	DatabaseID       int
	OpenTransactions int
	Options          SessionOptions
	RowCount         int64
	LastRequestStart int64
	LastRequestEnd   int64 // 0 while a request runs
	Address          string
	PacketSize       int
	Encrypted        bool
	ConnectionID     []byte // stored form of a uniqueidentifier
	// The current request; Command is "" without one.
	Command       string // SELECT, EXECUTE...
	BlockedBy     int
	WaitType      string
	WaitTime      int64 // milliseconds
	WaitResource  string
	Elapsed       int64  // milliseconds
	Text          string // text of the current batch or of sp_executesql
	TransactionID int64
	// TransactionName and TransactionStart, a datetime, describe the open transaction.
	TransactionName  string
	TransactionStart int64
}

// SessionOptions are the SET options of a session that the views show.
type SessionOptions struct {
	Isolation        int // 1 to 5
	LockTimeout      int64
	DeadlockPriority int
	TextSize         int64
	DateFirst        int
	Language         string
	DateFormat       string
	ContextInfo      []byte // nil if not set
	QuotedIdentifier bool
	ArithAbort       bool
	AnsiNullDefault  bool
	AnsiWarnings     bool
	AnsiPadding      bool
	AnsiNulls        bool
	ConcatNull       bool
	CursorClose      bool // CURSOR_CLOSE_ON_COMMIT
	Implicit         bool // IMPLICIT_TRANSACTIONS
}

// LockInfo is a lock as shown in sys.dm_tran_locks.
type LockInfo struct {
	DatabaseID  int
	App         bool   // true for an application lock, false for a database's writer lock
	Application string // name of an application lock
	Principal   int
	Object      int32  // table of a row or key, otherwise 0
	Row         uint64 // hash of the row or key
	Heap        bool   // it is a row, not a key
	Mode        string // S, X...
	Waiting     bool
	SessionID   int
	Owner       string // SESSION or TRANSACTION
}
