package session

import (
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
)

// Transaction is the session's transaction: an explicit one (level over 0) or that of a single
// statement.
//
// BEGIN TRANSACTION only increments the level. The first statement that writes or requests locks
// enlists its databases: it acquires the writer lock of each database and begins a SQLite
// transaction. From then on the session locks every database that it uses, in shared mode for
// reads, so that no other session can write to a database after SQLite has taken its snapshot.
// Earlier reads see the data that is committed when they run, as under READ_COMMITTED_SNAPSHOT.
// Under SNAPSHOT reads take no locks, and a write can fail because another session has written
// since: error 3960.
type Transaction struct {
	level   int    // @@TRANCOUNT
	id      uint64 // descriptor; CURRENT_TRANSACTION_ID
	name    string // name of the outermost BEGIN TRANSACTION
	started time.Time
	doomed  bool // XACT_STATE() = -1
	// unseen is set for the transaction of a single statement with triggers: the client is not told
	// of its end.
	unseen bool
	// implicit is set if SET IMPLICIT_TRANSACTIONS began the transaction.
	implicit bool
	// batch is set if the transaction has to end with the request that has begun it.
	batch bool

	begun     bool         // the SQLite transaction is open
	exclusive map[int]bool // databases whose writer locks are held exclusively
	shared    map[int]bool // databases whose writer locks are held in shared mode
	// snapshot is set if the SQLite transaction began with a read under SNAPSHOT. Databases without
	// an exclusive lock are then read as of that time.
	snapshot bool
	catalog  *catalog.Snapshot // definitions at the begin of a snapshot transaction
	// sharedBy has a flag of each unit that took shared locks; the flag tells that transactions of
	// the unit write after such a lock.
	sharedBy   []*atomic.Bool
	savepoints []savepoint
	drafts     map[int]*catalog.Database // changed, uncommitted definitions by database ID
	temps      TempTables                // temporary tables at the begin of the SQLite transaction
	owner      *lock.Owner
	nested     int // number of open SQLite savepoints of statements

	// sharing is the database whose writer lock the transaction holds in such a way that it can be
	// parked, or 0. lasts is set if the transaction may last longer than the request.
	sharing int
	lasts   bool
	parked  bool // its changes are in the record of the connection, and not in SQLite
}

// Level returns @@TRANCOUNT.
func (t *Transaction) Level() int { return t.level }

// Open reports whether BEGIN TRANSACTION, or a statement with triggers, has begun the transaction.
func (t *Transaction) Open() bool { return t.level > 0 }

// Begun reports whether the SQLite transaction is open. It also is during an atomic statement
// without an open transaction.
func (t *Transaction) Begun() bool { return t.begun }

// Doomed reports whether the transaction can only be rolled back: XACT_STATE() is -1.
func (t *Transaction) Doomed() bool { return t.level > 0 && t.doomed }

// Doom makes the transaction one that can only be rolled back.
func (t *Transaction) Doom() { t.doomed = true }

// Nest begins another level of the open transaction.
func (t *Transaction) Nest() { t.level++ }

// Unnest ends an inner level of the open transaction.
func (t *Transaction) Unnest() { t.level-- }

// ID returns the descriptor of the transaction, which is CURRENT_TRANSACTION_ID().
func (t *Transaction) ID() uint64 { return t.id }

// Name returns the name of the outermost BEGIN TRANSACTION.
func (t *Transaction) Name() string { return t.name }

// Unseen reports whether the transaction is that of a single statement with triggers: the client is
// not told of its end.
func (t *Transaction) Unseen() bool { return t.unseen }

// Implicit reports whether SET IMPLICIT_TRANSACTIONS has begun the transaction.
func (t *Transaction) Implicit() bool { return t.implicit }

// SetImplicit notes that SET IMPLICIT_TRANSACTIONS has begun the transaction.
func (t *Transaction) SetImplicit() { t.implicit = true }

// EndsWithRequest reports whether the transaction has to end with the request that has begun it.
func (t *Transaction) EndsWithRequest() bool { return t.level > 0 && t.batch }

// EndWithRequest makes the transaction one that has to end with the running request.
func (t *Transaction) EndWithRequest() { t.batch = true }

// Locked reports whether the transaction holds the writer lock of a database exclusively.
func (t *Transaction) Locked(database int) bool { return t.exclusive[database] }

// ReadsSnapshot reports whether the SQLite transaction began with a read under SNAPSHOT.
func (t *Transaction) ReadsSnapshot() bool { return t.snapshot }

// Owner returns the owner of the locks of the transaction.
func (t *Transaction) Owner() *lock.Owner { return t.owner }

// mayShare reports whether a transaction that begins to write to a database can be parked later.
func (t *Transaction) mayShare(id int) bool {
	return !t.begun && len(t.exclusive) == 0 && len(t.shared) == 0 && !t.snapshot && len(t.drafts) == 0 &&
		id > catalog.DatabaseMSDB
}

// Parked reports whether the transaction is parked.
func (t *Transaction) Parked() bool { return t.parked }

// Lasts notes that the transaction may last longer than the request.
func (t *Transaction) Lasts() { t.lasts = true }
