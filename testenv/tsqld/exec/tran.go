package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// transaction is the session's transaction: an explicit one (level over 0) or that of a single
// statement.
//
// BEGIN TRANSACTION only increments the level. The first statement that writes or requests locks
// enlists its databases: it acquires the writer lock of each database and begins a SQLite
// transaction. From then on the session locks every database that it uses, in shared mode for
// reads, so that no other session can write to a database after SQLite has taken its snapshot.
// Earlier reads see the data that is committed when they run, as under READ_COMMITTED_SNAPSHOT.
// Under SNAPSHOT reads take no locks, and a write can fail because another session has written
// since: error 3960.
type transaction struct {
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
	// sharedBy has a flag of each unit that took shared locks; the flag tells that transactions of the
	// unit write after such a lock.
	sharedBy   []*atomic.Bool
	savepoints []savepoint
	drafts     map[int]*catalog.Database // changed, uncommitted definitions by database ID
	temps      tempTables                // temporary tables at the begin of the SQLite transaction
	owner      *lock.Owner
	nested     int // number of open SQLite savepoints of statements
}

// savepoint is the state that SAVE TRANSACTION saves. The state is nil until the SQLite transaction
// begins.
type savepoint struct {
	name   string
	drafts map[int]*catalog.Database
	temps  tempTables
	nested int // open SQLite savepoints of statements
}

// sqlName returns the name of the i-th savepoint in SQLite.
func sqlName(i int) string { return fmt.Sprintf("save%d", i) }

// statementSavepoint is the prefix of the SQLite savepoints that make single statements atomic.
const statementSavepoint = "statement"

// start begins a transaction at level 1.
func (s *core) start(name string) {
	s.inst.mu.Lock()
	s.inst.nextTran++
	s.tran.id = s.inst.nextTran
	s.inst.mu.Unlock()
	s.tran.level, s.tran.name, s.tran.doomed, s.tran.started = 1, name, false, s.inst.now()
}

// lockTimeout returns the value of SET LOCK_TIMEOUT for package lock.
func (s *core) lockTimeout() time.Duration {
	if s.opts.lockTimeout < 0 {
		return lock.Forever
	}
	return time.Duration(s.opts.lockTimeout) * time.Millisecond
}

// enlist makes databases part of the SQLite transaction. It begins the transaction if necessary.
func (s *core) enlist(ctx context.Context, ids ...int) error { return s.enlistPast(ctx, ids, nil) }

// errSkipped is the error of a READPAST statement that would have to wait for a writer lock: see
// [Session.lockPast].
var errSkipped = errors.New("statement would wait for another session")

// enlistPast is enlist for a statement that does not wait for the databases in past.
func (s *core) enlistPast(ctx context.Context, ids, past []int) error {
	if !s.tran.begun && len(ids) > 1 {
		ids = slices.Sorted(slices.Values(ids)) // a fixed order causes fewer deadlocks
	}
	for _, id := range ids {
		if s.tran.exclusive[id] {
			continue
		}
		acquire := s.lockWriter
		if slices.Contains(past, id) {
			acquire = s.lockPast
		}
		if err := acquire(ctx, id); err != nil {
			return err
		}
	}
	return s.beginWork(ctx, ids)
}

// beginWork attaches databases and begins the SQLite transaction, if it is not open.
func (s *core) beginWork(ctx context.Context, ids []int) error {
	if err := s.conn.Use(ctx, ids...); err != nil {
		return err
	}
	if s.tran.begun {
		return nil
	}
	if err := s.conn.Begin(ctx); err != nil {
		return err
	}
	s.tran.begun, s.tran.temps = true, s.temps
	for i := range s.tran.savepoints {
		s.tran.savepoints[i].temps = s.temps
		if err := s.conn.Savepoint(ctx, sqlName(i)); err != nil {
			return err
		}
	}
	return nil
}

// lockWriter acquires the writer lock of a database for the transaction.
func (s *core) lockWriter(ctx context.Context, id int) error {
	return s.lockWithin(ctx, id, s.lockTimeout())
}

// pastGrace is the time for which READPAST waits for a session that executes a statement. In SQL
// Server two such sessions find different rows at the same time. Here the second session would find
// no rows at all, although the first one usually finishes soon.
const pastGrace = 50 * time.Millisecond

// lockPast is lockWriter for READPAST. It returns errSkipped if lockWriter would wait for a session
// with an idle transaction, or longer than pastGrace. A session that holds locks does not wait at
// all, and so never becomes the victim of a deadlock.
func (s *core) lockPast(ctx context.Context, id int) error {
	var grace time.Duration
	if len(s.tran.exclusive) == 0 && s.opts.lockTimeout != 0 && s.inst.busy(s.inst.locks.Holders(lock.Writer(id))) {
		grace = pastGrace
	}
	err := s.lockWithin(ctx, id, grace)
	if e := (*mserr.Error)(nil); errors.As(err, &e) && (e.Number == 1222 || e.Number == 1205) {
		return errSkipped
	}
	return err
}

// lockWithin acquires the writer lock of a database for the transaction within a timeout.
func (s *core) lockWithin(ctx context.Context, id int, timeout time.Duration) error {
	if _, err := s.inst.locks.Lock(ctx, s.tran.owner, lock.Writer(id), lock.Exclusive, timeout); err != nil {
		return err
	}
	if s.tran.exclusive == nil {
		s.tran.exclusive = map[int]bool{}
	}
	s.tran.exclusive[id] = true
	if s.tran.shared[id] {
		for _, writes := range s.tran.sharedBy {
			writes.Store(true)
		}
	}
	return nil
}

// lockShared acquires the writer locks of databases in shared mode for the transaction. Data that
// was read stays unchanged, and other sessions can read, too. A write converts the lock to
// exclusive mode. Two transactions that convert the same lock deadlock; writes is the flag of the
// unit that reads: if its transactions have written after a shared lock, the unit acquires exclusive
// locks from then on.
func (s *core) lockShared(ctx context.Context, ids []int, writes *atomic.Bool) error {
	if writes.Load() {
		return s.enlist(ctx, ids...)
	}
	before := len(s.tran.shared)
	for _, id := range ids {
		if s.tran.exclusive[id] || s.tran.shared[id] {
			continue
		}
		if _, err := s.inst.locks.Lock(ctx, s.tran.owner, lock.Writer(id), lock.Shared, s.lockTimeout()); err != nil {
			return err
		}
		if s.tran.shared == nil {
			s.tran.shared = map[int]bool{}
		}
		s.tran.shared[id] = true
	}
	if len(s.tran.shared) > before && !slices.Contains(s.tran.sharedBy, writes) {
		s.tran.sharedBy = append(s.tran.sharedBy, writes)
	}
	return s.conn.Use(ctx, ids...)
}

// beginRead prepares a read of databases by the unit u outside a statement transaction. skip tells
// whether there is an alternative plan for errSkipped. within tells whether the read is part of a
// SQLite transaction, which it may begin: the databases must then be locked, because the
// transaction could not write after another session has written.
func (s *Session) beginRead(ctx context.Context, n *compile.Needs, u *unit, skip, within bool) error {
	var past []int
	if skip {
		past = n.ReadPast
	}
	switch {
	case n.EmptyPast, s.tran.level == 0 && !s.tran.begun:
	case !n.Locks && (s.tran.snapshot || !s.tran.begun && s.opts.isolation == syntax.Snapshot):
		if !s.tran.snapshot {
			s.tran.snapshot, s.tran.catalog = true, s.inst.catalog.Snapshot()
		}
		return s.beginWork(ctx, n.Databases)
	case n.Locks:
		return s.enlistPast(ctx, n.Databases, past)
	case within, s.tran.begun, s.opts.isolation >= syntax.RepeatableRead:
		if len(past) > 0 {
			return s.enlistPast(ctx, n.Databases, past)
		}
		return s.lockShared(ctx, n.Databases, &u.writes)
	}
	return s.conn.Use(ctx, n.Databases...)
}

// updateConflict returns error 3960 in place of SQLite's error about a write to a database that
// another session has changed since the snapshot was taken.
func (r *run) updateConflict(dml *compile.DML, err error) error {
	s := r.s
	if !s.tran.snapshot || !errors.Is(err, store.ErrBusy) {
		return err
	}
	table, id := dml.Target, dml.Database
	if id == 0 {
		table, id = dml.Into, dml.IntoDatabase
	}
	d := s.databaseByID(id)
	if d == nil || table == nil {
		return err
	}
	name := table.Name
	if schema := d.SchemaByID(table.SchemaID); schema != nil {
		name = schema.Name + "." + name
	}
	return mserr.UpdateConflict(name, d.Name)
}

// snapshotAllowed returns an error for data of a database without ALLOW_SNAPSHOT_ISOLATION under
// SNAPSHOT. System databases always allow it.
func (s *core) snapshotAllowed(ids []int) error {
	if s.opts.isolation != syntax.Snapshot {
		return nil
	}
	for _, id := range ids {
		if d := s.databaseByID(id); d != nil && d.ID > catalog.DatabaseMSDB && !d.Options.AllowSnapshotIsolation {
			return mserr.SnapshotNotAllowed(d.Name)
		}
	}
	return nil
}

// readPastAllowed returns error 650 for a statement with READPAST unless the session's isolation
// level is READ COMMITTED or REPEATABLE READ. Other hints beside READPAST do not permit it
// (https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table#readpast).
func (s *Session) readPastAllowed(n *compile.Needs) error {
	if len(n.ReadPast) > 0 && s.opts.isolation != syntax.ReadCommitted && s.opts.isolation != syntax.RepeatableRead {
		return mserr.ReadPastLevel()
	}
	return nil
}

// atomic calls fn as one atomic statement that writes to databases. Without an open transaction it
// uses a transaction of its own. several tells whether fn runs more than one SQLite statement.
func (s *core) atomic(ctx context.Context, ids []int, several bool, fn func() error) error {
	return s.atomicPast(ctx, ids, nil, several, fn)
}

// atomicPast is atomic for a statement that does not wait for the databases in past. It fails with
// errSkipped instead.
func (s *core) atomicPast(ctx context.Context, ids, past []int, several bool, fn func() error) error {
	if s.tran.level > 0 && s.tran.doomed {
		return mserr.Uncommittable()
	}
	own := s.tran.level == 0 && !s.tran.begun
	if err := s.enlistPast(ctx, ids, past); err != nil {
		if own {
			return errors.Join(err, s.rollbackWork())
		}
		return err
	}
	if own {
		s.conn.SetInterruptWrites(true)
		err := fn()
		s.conn.SetInterruptWrites(false)
		if err != nil {
			return errors.Join(err, s.rollbackWork())
		}
		return s.commitWork()
	}
	if !several {
		return s.checkTransaction(fn())
	}
	id := s.tran.id
	depth, saved := s.tran.nested, len(s.tran.savepoints)
	save := fmt.Sprintf("%s%d", statementSavepoint, depth)
	if err := s.conn.Savepoint(ctx, save); err != nil {
		return err
	}
	s.tran.nested++
	drafts, temps := maps.Clone(s.tran.drafts), s.temps
	err := fn()
	if s.tran.id != id || s.tran.nested != depth+1 {
		return err // a trigger has ended the transaction, or rolled back to a savepoint before the statement
	}
	s.tran.nested--
	if len(s.tran.savepoints) > saved { // a trigger's savepoints end with its statement
		s.tran.savepoints = s.tran.savepoints[:saved]
	}
	if err == nil {
		return s.conn.ReleaseSavepoint(save)
	}
	if !s.conn.InTransaction() {
		return s.checkTransaction(err)
	}
	s.tran.drafts, s.temps = drafts, temps
	return errors.Join(err, s.preserveTableVars(func() error {
		return s.conn.RollbackTo(save)
	}), s.conn.ReleaseSavepoint(save))
}

// checkTransaction dooms the transaction if SQLite has rolled it back by itself, as it does when
// the disk is full.
func (s *core) checkTransaction(err error) error {
	if err == nil || !s.tran.begun || s.conn.InTransaction() {
		return err
	}
	if s.tran.level > 0 {
		s.tran.doomed = true
	}
	return err
}

// commitWork commits the SQLite transaction and publishes the definitions that it changed.
func (s *core) commitWork() error {
	if s.tran.begun {
		if err := s.conn.Commit(); err != nil {
			return errors.Join(err, s.rollbackWork())
		}
	}
	var err error
	if len(s.tran.drafts) > 0 {
		err = s.inst.catalog.Publish(slices.Collect(maps.Values(s.tran.drafts))...)
	}
	s.endTransaction()
	return err
}

// rollbackWork rolls the SQLite transaction back and discards changed definitions.
func (s *core) rollbackWork() error {
	var err error
	if s.tran.begun {
		s.temps = s.tran.temps
		err = s.preserveTableVars(s.conn.Rollback)
		s.inst.forgetVersions(s.tran.exclusive)
	}
	s.endTransaction()
	return err
}

// endTransaction releases the locks of the transaction and resets its state.
func (s *core) endTransaction() {
	s.inst.locks.ReleaseAll(s.tran.owner)
	s.tran = transaction{owner: s.tran.owner}
}

// rollback executes ROLLBACK TRANSACTION: it ends the whole transaction and notifies the client.
func (s *Session) rollback(r *run) error {
	id, unseen := s.tran.id, s.tran.unseen
	err := s.rollbackWork()
	s.closeCursorsOnEnd()
	if unseen {
		return err
	}
	return errors.Join(err, sinkFailure(r.out.EnvChange(EnvChange{Kind: EnvRollbackTran, Descriptor: id})))
}

// commit ends one level of the transaction. If the outermost level cannot be committed, for example
// because the disk is full, the transaction is rolled back and the client is notified. Without the
// notification the client would go on to send the descriptor of the transaction (error 3989).
func (s *Session) commit(r *run) error {
	if s.tran.level > 1 {
		s.tran.level--
		return nil
	}
	id, unseen := s.tran.id, s.tran.unseen
	err := s.commitWork()
	s.closeCursorsOnEnd()
	if unseen {
		return err
	}
	if err != nil {
		return errors.Join(err, sinkFailure(r.out.EnvChange(EnvChange{Kind: EnvRollbackTran, Descriptor: id})))
	}
	return sinkFailure(r.out.EnvChange(EnvChange{Kind: EnvCommitTran, Descriptor: id}))
}

// notifyTransaction notifies the client of a change of the transaction.
func (r *run) notifyTransaction(kind EnvKind) error {
	return sinkFailure(r.out.EnvChange(EnvChange{Kind: kind, Descriptor: r.s.tran.id}))
}

// rollbackOpen rolls back the open transaction when the session closes.
func (s *core) rollbackOpen() error {
	if s.tran.level > 0 || s.tran.begun {
		return s.rollbackWork()
	}
	return nil
}

// begin begins a transaction, or another level of the open transaction.
func (s *Session) begin(r *run, name string) error {
	if s.tran.level > 0 {
		s.tran.level++
		return nil
	}
	s.start(name)
	return r.notifyTransaction(EnvBeginTran)
}

// save executes SAVE TRANSACTION.
func (s *core) save(ctx context.Context, name string) error {
	if s.tran.level == 0 {
		return mserr.SaveWithoutTransaction()
	}
	if s.tran.doomed {
		return mserr.Uncommittable()
	}
	sp := savepoint{name: name, drafts: maps.Clone(s.tran.drafts), temps: s.temps, nested: s.tran.nested}
	s.tran.savepoints = append(s.tran.savepoints, sp)
	if s.tran.begun {
		return s.conn.Savepoint(ctx, sqlName(len(s.tran.savepoints)-1))
	}
	return nil
}

// rollbackTo executes ROLLBACK TRANSACTION savepoint.
func (s *core) rollbackTo(name string) error {
	i := len(s.tran.savepoints) - 1
	for i >= 0 && !equalNames(s.tran.savepoints[i].name, name) {
		i--
	}
	if i < 0 {
		return mserr.UnknownSavepoint(name)
	}
	if s.tran.doomed {
		return mserr.UncommittableSavepoint()
	}
	sp := s.tran.savepoints[i]
	s.tran.savepoints = s.tran.savepoints[:i+1]
	s.tran.nested = sp.nested
	if !s.tran.begun {
		return nil
	}
	s.tran.drafts, s.temps = maps.Clone(sp.drafts), sp.temps
	return s.preserveTableVars(func() error { return s.conn.RollbackTo(sqlName(i)) })
}

// tranName evaluates the name of a transaction or savepoint. Without a name it returns "". Like SQL
// Server it truncates names to 32 characters.
func (r *run) tranName(e syntax.Expr) (string, error) {
	if e == nil {
		return "", nil
	}
	if l, ok := e.(*syntax.Literal); ok {
		return truncateName(l.Text), nil
	}
	v, err := r.value(e, types.NVarCharOf(128))
	if err != nil || v == nil {
		return "", err
	}
	return truncateName(v.(string)), nil
}

// truncateName truncates the name of a transaction.
func truncateName(s string) string {
	const limit = 32
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}

// beginTran executes BEGIN TRANSACTION.
func (r *run) beginTran(st *syntax.BeginTranStmt) error {
	if st.Distributed {
		return mserr.NotSupported("BEGIN DISTRIBUTED TRANSACTION")
	}
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	r.s.rowCount = 0
	// "When SET IMPLICIT_TRANSACTIONS is ON, a BEGIN TRANSACTION statement issues two nested
	// transactions" (documentation of SET IMPLICIT_TRANSACTIONS and of BEGIN TRANSACTION).
	if err := r.startImplicitly(); err != nil {
		return err
	}
	err = r.s.begin(r, name)
	r.scopeToBatch()
	return err
}

// startImplicitly begins a transaction under SET IMPLICIT_TRANSACTIONS ON, if none is open. The
// statement that calls it is one that begins a transaction.
func (r *run) startImplicitly() error {
	if !r.s.opts.implicitTransactions || r.s.tran.level > 0 || r.inFunction {
		return nil
	}
	if err := r.s.begin(r, ""); err != nil {
		return err
	}
	r.s.tran.implicit = true
	r.scopeToBatch()
	return nil
}

// beginImplicitly begins the transaction of a statement that begins one whatever it does. The list
// is that of "SET IMPLICIT_TRANSACTIONS (Transact-SQL)". Others begin theirs after compiling:
// SELECT if it selects from a table, and INSERT, UPDATE, DELETE and MERGE.
func (r *run) beginImplicitly(st syntax.Stmt) error {
	if !r.s.opts.implicitTransactions || r.s.tran.level > 0 {
		return nil
	}
	switch st.(type) {
	case *syntax.OpenStmt, *syntax.FetchStmt, *syntax.TruncateStmt, *syntax.AlterTableStmt:
		return r.startImplicitly()
	case *syntax.BlockStmt, *syntax.SelectStmt, *syntax.InsertStmt, *syntax.UpdateStmt, *syntax.DeleteStmt,
		*syntax.MergeStmt, *syntax.UnsupportedStmt, *syntax.DeclareStmt:
		return nil
	}
	switch verb, _, _ := strings.Cut(statementName(st), " "); verb {
	case "CREATE", "DROP", "GRANT", "REVOKE":
		return r.startImplicitly()
	}
	return nil
}

// commitTran executes COMMIT.
func (r *run) commitTran(*syntax.CommitStmt) error {
	s := r.s
	s.rowCount = 0
	switch {
	case s.tran.level == 0:
		return mserr.CommitWithoutBegin()
	case s.tran.doomed:
		return mserr.Uncommittable()
	case r.inserting && s.tran.level == 1:
		return mserr.CommitInInsertExec()
	case s.tran.level == 1:
		if err := r.soleInTransaction(endsTransaction); err != nil {
			return err
		}
	}
	return s.commit(r)
}

// rollbackTran executes ROLLBACK.
func (r *run) rollbackTran(st *syntax.RollbackStmt) error {
	s := r.s
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	s.rowCount = 0
	switch {
	case s.tran.level == 0:
		return mserr.RollbackWithoutBegin()
	case r.inserting:
		return mserr.RollbackInInsertExec()
	case name != "" && s.hasSavepoint(name):
		return s.rollbackTo(name)
	case name != "" && !equalNames(name, s.tran.name):
		return s.rollbackTo(name) // fails: there is no such savepoint
	}
	return s.rollback(r)
}

// hasSavepoint reports whether there is a savepoint with a name.
func (s *core) hasSavepoint(name string) bool {
	return slices.ContainsFunc(s.tran.savepoints, func(sp savepoint) bool { return equalNames(sp.name, name) })
}

// saveTran executes SAVE TRANSACTION.
func (r *run) saveTran(st *syntax.SaveTranStmt) error {
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	r.s.rowCount = 0
	if r.s.tran.level > 0 {
		if err := r.soleInTransaction(setsSavepoint); err != nil {
			return err
		}
	}
	return r.s.save(r.ctx, name)
}
