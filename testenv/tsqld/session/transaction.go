package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Transactions begins and ends transactions, and makes changes part of them.
type Transactions struct {
	Temporaries
	Parking Parking
}

// savepoint is the state that SAVE TRANSACTION saves. The state is nil until the SQLite transaction
// begins.
type savepoint struct {
	name   string
	drafts map[int]*catalog.Database
	temps  TempTables
	nested int // open SQLite savepoints of statements
}

// sqlName returns the name of the i-th savepoint in SQLite.
func sqlName(i int) string { return fmt.Sprintf("save%d", i) }

// statementSavepoint is the prefix of the SQLite savepoints that make single statements atomic.
const statementSavepoint = "statement"

// StartTransaction begins a transaction at level 1.
func (s *Transactions) StartTransaction(name string) {
	s.Server.mu.Lock()
	s.Server.nextTran++
	s.Tran.id = s.Server.nextTran
	s.Server.mu.Unlock()
	s.Tran.level, s.Tran.name, s.Tran.doomed, s.Tran.started = 1, name, false, s.Server.Now()
}

// WithOwnTransaction calls fn, which executes a statement with triggers, inside a transaction: "a
// trigger operates as if there were an outstanding transaction in effect when the trigger is fired"
// (documentation of ROLLBACK TRANSACTION). begun reports that a trigger has begun a transaction
// that stays open, of which the client has to be told.
func (s *Transactions) WithOwnTransaction(fn func() error) (begun bool, err error) {
	if s.Tran.level > 0 || s.Tran.begun {
		return false, fn()
	}
	s.StartTransaction("")
	s.Tran.unseen = true
	id := s.Tran.id
	err = fn()
	switch {
	case s.Tran.id != id:
		return false, err
	case err != nil:
		return false, errors.Join(err, s.RollbackWork())
	case s.Tran.level > 1:
		s.Tran.level--
		s.Tran.unseen = false
		return true, nil
	}
	return false, s.CommitWork()
}

// Scope is what a statement reads or changes in one SQLite transaction, and how.
type Scope struct {
	Databases []int
	Past      []int // databases for which the statement does not wait: it fails with [ErrSkipped]
	Several   bool  // the statement is more than one SQLite statement
	// Rows is set if the statement needs locks of rows at most, so that its transaction can be
	// parked: it changes only rows of recordable tables of one database, or table variables. It
	// fails with a [RowLocked] if another session has a lock of such a row; the changes are then
	// undone.
	Rows bool
}

// ErrSkipped is the error of a READPAST statement that would have to wait for a writer lock: see
// [Transactions.lockPast].
var ErrSkipped = errors.New("statement would wait for another session")

// Enlist makes databases part of the SQLite transaction. It begins the transaction if necessary.
func (s *Transactions) Enlist(ctx context.Context, sc Scope) error {
	ids, share := sc.Databases, sc.Rows && (s.Options.Isolation == syntax.ReadCommitted || s.Options.Isolation == syntax.ReadUncommitted)
	if s.Tran.sharing != 0 && !(share && (len(ids) == 0 || slices.Equal(ids, []int{s.Tran.sharing}))) {
		if err := s.Parking.Strengthen(ctx); err != nil {
			return err
		}
	}
	share = share && len(ids) == 1 && s.Tran.mayShare(ids[0])
	if !s.Tran.begun && len(ids) > 1 {
		ids = slices.Sorted(slices.Values(ids)) // a fixed order causes fewer deadlocks
	}
	for _, id := range ids {
		if s.Tran.exclusive[id] {
			continue
		}
		acquire := s.lockWithin
		if slices.Contains(sc.Past, id) {
			acquire = s.lockPast
		}
		if err := acquire(ctx, id, s.LockTimeout(), share); err != nil {
			return err
		}
	}
	return s.beginWork(ctx, ids)
}

// beginWork attaches databases and begins the SQLite transaction, if it is not open.
func (s *Transactions) beginWork(ctx context.Context, ids []int) error {
	if err := s.Conn.Use(ctx, ids...); err != nil {
		return err
	}
	if s.Tran.begun {
		return nil
	}
	if err := s.Conn.Begin(ctx); err != nil {
		return err
	}
	s.Tran.begun, s.Tran.temps = true, s.temps
	s.Parking.beginRecord()
	for i := range s.Tran.savepoints {
		s.Tran.savepoints[i].temps = s.temps
		if err := s.Conn.Savepoint(ctx, sqlName(i)); err != nil {
			return err
		}
	}
	return nil
}

// LockWriter acquires the writer lock of a database for the transaction.
func (s *Transactions) LockWriter(ctx context.Context, id int) error {
	return s.lockWithin(ctx, id, s.LockTimeout(), false)
}

// pastGrace is the time for which READPAST waits for a session that executes a statement. In SQL
// Server two such sessions find different rows at the same time. Here the second session would find
// no rows at all, although the first one usually finishes soon.
const pastGrace = 50 * time.Millisecond

// lockPast is LockWriter for READPAST. It returns ErrSkipped if LockWriter would wait for a session
// with an idle transaction, or longer than pastGrace. A session that holds locks does not wait at
// all, and so never becomes the victim of a deadlock.
func (s *Transactions) lockPast(ctx context.Context, id int, _ time.Duration, share bool) error {
	var grace time.Duration
	if len(s.Tran.exclusive) == 0 && s.Options.LockTimeout != 0 && s.Server.busy(s.Server.Locks.Holders(lock.Writer(id))) {
		grace = pastGrace
	}
	err := s.lockWithin(ctx, id, grace, share)
	if e := (*mserr.Error)(nil); errors.As(err, &e) && (e.Number == 1222 || e.Number == 1205) {
		return ErrSkipped
	}
	return err
}

// lockWithin acquires the writer lock of a database for the transaction within a timeout. share
// tells whether the transaction can be parked later; otherwise there must be no parked transaction.
func (s *Transactions) lockWithin(ctx context.Context, id int, timeout time.Duration, share bool) error {
	if share {
		if err := s.Parking.lockSharing(ctx, id, timeout); err != nil {
			return err
		}
		s.Tran.sharing = id
	} else if err := s.lockAlone(ctx, id, lock.Exclusive, timeout); err != nil {
		return err
	}
	if s.Tran.exclusive == nil {
		s.Tran.exclusive = map[int]bool{}
	}
	s.Tran.exclusive[id] = true
	if s.Tran.shared[id] {
		for _, writes := range s.Tran.sharedBy {
			writes.Store(true)
		}
	}
	return nil
}

// lockAlone acquires the writer lock of a database in a mode and keeps others from being parked
// there.
func (s *Transactions) lockAlone(ctx context.Context, id int, mode lock.Mode, timeout time.Duration) error {
	locks, parked := &s.Server.Locks, lock.Parked(id)
	held := locks.Held(s.Tran.owner, parked) != lock.None
	if !held {
		if _, err := locks.Lock(ctx, s.Tran.owner, parked, lock.Shared, timeout); err != nil {
			return err
		}
	}
	_, err := locks.Lock(ctx, s.Tran.owner, lock.Writer(id), mode, timeout)
	if err != nil && !held {
		err = errors.Join(err, locks.Unlock(s.Tran.owner, parked))
	}
	return err
}

// LockShared acquires the writer locks of databases in shared mode for the transaction. Data that
// was read stays unchanged, and other sessions can read, too. A write converts the lock to
// exclusive mode. Two transactions that convert the same lock deadlock; writes is the flag of the
// unit that reads: if its transactions have written after a shared lock, the unit acquires
// exclusive locks from then on.
func (s *Transactions) LockShared(ctx context.Context, ids []int, writes *atomic.Bool) error {
	if writes.Load() {
		return s.Enlist(ctx, Scope{Databases: ids})
	}
	if s.Tran.sharing != 0 && (s.Options.Isolation >= syntax.RepeatableRead || slices.ContainsFunc(ids, func(id int) bool { return id != s.Tran.sharing })) {
		if err := s.Parking.Strengthen(ctx); err != nil {
			return err
		}
	}
	before := len(s.Tran.shared)
	for _, id := range ids {
		if s.Tran.exclusive[id] || s.Tran.shared[id] {
			continue
		}
		if err := s.lockAlone(ctx, id, lock.Shared, s.LockTimeout()); err != nil {
			return err
		}
		if s.Tran.shared == nil {
			s.Tran.shared = map[int]bool{}
		}
		s.Tran.shared[id] = true
	}
	if len(s.Tran.shared) > before && !slices.Contains(s.Tran.sharedBy, writes) {
		s.Tran.sharedBy = append(s.Tran.sharedBy, writes)
	}
	return s.Conn.Use(ctx, ids...)
}

// SnapshotAllowed returns an error for data of a database without ALLOW_SNAPSHOT_ISOLATION under
// SNAPSHOT. System databases always allow it.
func (s *Transactions) SnapshotAllowed(ids []int) error {
	if s.Options.Isolation != syntax.Snapshot {
		return nil
	}
	for _, id := range ids {
		if d := s.DatabaseByID(id); d != nil && d.ID > catalog.DatabaseMSDB && !d.Options.AllowSnapshotIsolation {
			return mserr.SnapshotNotAllowed(d.Name)
		}
	}
	return nil
}

// ReadPastAllowed returns error 650 if a statement reads databases WITH (READPAST), unless the
// session's isolation level is READ COMMITTED or REPEATABLE READ. Other hints beside READPAST do
// not permit it (https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table#readpast).
func (s *Transactions) ReadPastAllowed(ids []int) error {
	if len(ids) > 0 && s.Options.Isolation != syntax.ReadCommitted && s.Options.Isolation != syntax.RepeatableRead {
		return mserr.ReadPastLevel()
	}
	return nil
}

// Atomic calls fn as one atomic statement that writes to databases. Without an open transaction it
// uses a transaction of its own.
func (s *Transactions) Atomic(ctx context.Context, sc Scope, fn func() error) error {
	if s.Tran.level > 0 && s.Tran.doomed {
		return mserr.Uncommittable()
	}
	own := s.Tran.level == 0 && !s.Tran.begun
	if err := s.Enlist(ctx, sc); err != nil {
		if own {
			return errors.Join(err, s.RollbackWork())
		}
		return err
	}
	if own {
		s.Conn.SetInterruptWrites(true)
		err := fn()
		s.Conn.SetInterruptWrites(false)
		if err != nil {
			return errors.Join(err, s.RollbackWork())
		}
		return s.CommitWork()
	}
	if !sc.Several && !s.Conn.Checking() {
		return s.checkTransaction(fn())
	}
	id := s.Tran.id
	depth, saved := s.Tran.nested, len(s.Tran.savepoints)
	save := fmt.Sprintf("%s%d", statementSavepoint, depth)
	if err := s.Conn.Savepoint(ctx, save); err != nil {
		return err
	}
	s.Tran.nested++
	drafts, temps := maps.Clone(s.Tran.drafts), s.temps
	err := fn()
	if s.Tran.id != id || s.Tran.nested != depth+1 {
		return err // a trigger has ended the transaction, or rolled back to a savepoint before the statement
	}
	s.Tran.nested--
	if len(s.Tran.savepoints) > saved { // a trigger's savepoints end with its statement
		s.Tran.savepoints = s.Tran.savepoints[:saved]
	}
	if err == nil {
		return s.Conn.ReleaseSavepoint(save)
	}
	if !s.Conn.InTransaction() {
		return s.checkTransaction(err)
	}
	s.Tran.drafts, s.temps = drafts, temps
	s.Server.forgetVersions(s.Tran.exclusive)
	return errors.Join(err, s.preserveTableVars(func() error {
		return s.Conn.RollbackTo(save)
	}), s.Conn.ReleaseSavepoint(save))
}

// checkTransaction dooms the transaction if SQLite has rolled it back by itself, as it does when
// the disk is full.
func (s *Transactions) checkTransaction(err error) error {
	if err == nil || !s.Tran.begun || s.Conn.InTransaction() {
		return err
	}
	if s.Tran.level > 0 {
		s.Tran.doomed = true
	}
	return err
}

// LocalChange calls do, which changes temporary tables, or table variables only (Rows), atomically
// and as part of the open transaction.
func (s *Transactions) LocalChange(ctx context.Context, sc Scope, do func() error) error {
	if s.Tran.level > 0 || s.Tran.begun {
		if s.Tran.doomed {
			return mserr.Uncommittable()
		}
		return s.Atomic(ctx, sc, do)
	}
	return s.LocalTransaction(ctx, sc.Several, do)
}

// LocalTransaction calls do in a SQLite transaction of its own, unless one is open.
func (s *Transactions) LocalTransaction(ctx context.Context, several bool, do func() error) error {
	if !several || s.Conn.InTransaction() {
		return do()
	}
	if err := s.Conn.Begin(ctx); err != nil {
		return err
	}
	if err := do(); err != nil {
		return errors.Join(err, s.Conn.Rollback())
	}
	return s.Conn.Commit()
}

// CommitWork commits the SQLite transaction and publishes the definitions that it changed.
func (s *Transactions) CommitWork() error {
	if s.Tran.begun {
		if err := s.Conn.Commit(); err != nil {
			return errors.Join(err, s.RollbackWork())
		}
	}
	var err error
	if len(s.Tran.drafts) > 0 {
		err = s.Server.Catalog.Publish(slices.Collect(maps.Values(s.Tran.drafts))...)
	}
	s.EndTransaction()
	return err
}

// RollbackWork rolls the SQLite transaction back and discards changed definitions.
func (s *Transactions) RollbackWork() error {
	var err error
	if s.Tran.begun {
		s.temps = s.Tran.temps
		err = s.preserveTableVars(s.Conn.Rollback)
		s.Server.forgetVersions(s.Tran.exclusive)
	}
	s.EndTransaction()
	return err
}

// EndTransaction releases the locks of the transaction and resets its state.
func (s *Transactions) EndTransaction() {
	if s.Tran.parked {
		s.Server.setParked(&s.Parking, 0, nil)
	}
	s.Conn.StopRecord()
	s.Server.Locks.ReleaseAll(s.Tran.owner)
	s.Counters.Keep()
	s.Parking.claims = nil
	s.Tran = Transaction{owner: s.Tran.owner}
}

// rollbackOpen rolls back the open transaction when the session closes.
func (s *Transactions) rollbackOpen() error {
	if s.Tran.level > 0 || s.Tran.begun {
		return s.RollbackWork()
	}
	return nil
}

// SetSavepoint executes SAVE TRANSACTION.
func (s *Transactions) SetSavepoint(ctx context.Context, name string) error {
	if s.Tran.level == 0 {
		return mserr.SaveWithoutTransaction()
	}
	if s.Tran.doomed {
		return mserr.Uncommittable()
	}
	sp := savepoint{name: name, drafts: maps.Clone(s.Tran.drafts), temps: s.temps, nested: s.Tran.nested}
	s.Tran.savepoints = append(s.Tran.savepoints, sp)
	if s.Tran.begun {
		return s.Conn.Savepoint(ctx, sqlName(len(s.Tran.savepoints)-1))
	}
	return nil
}

// RollbackTo executes ROLLBACK TRANSACTION savepoint.
func (s *Transactions) RollbackTo(name string) error {
	i := len(s.Tran.savepoints) - 1
	for i >= 0 && !catalog.EqualNames(s.Tran.savepoints[i].name, name) {
		i--
	}
	if i < 0 {
		return mserr.UnknownSavepoint(name)
	}
	if s.Tran.doomed {
		return mserr.UncommittableSavepoint()
	}
	sp := s.Tran.savepoints[i]
	s.Tran.savepoints = s.Tran.savepoints[:i+1]
	s.Tran.nested = sp.nested
	if !s.Tran.begun {
		return nil
	}
	s.Tran.drafts, s.temps = maps.Clone(sp.drafts), sp.temps
	s.Server.forgetVersions(s.Tran.exclusive)
	return s.preserveTableVars(func() error { return s.Conn.RollbackTo(sqlName(i)) })
}

// HasSavepoint reports whether there is a savepoint with a name.
func (s *Transactions) HasSavepoint(name string) bool {
	return slices.ContainsFunc(s.Tran.savepoints, func(sp savepoint) bool { return catalog.EqualNames(sp.name, name) })
}

// Edit changes definitions of a database inside the open SQLite transaction. fn gets the current
// version of the database.
func (s *Transactions) Edit(ctx context.Context, d *catalog.Database, fn func(e *catalog.Edit) error) error {
	now := s.DatabaseByID(d.ID)
	if now == nil {
		return mserr.NoDatabase(d.Name)
	}
	e := now.Edit(s.Datetime())
	if err := fn(e); err != nil {
		return err
	}
	changed, err := e.Apply(ctx, s.Conn)
	if err != nil {
		return err
	}
	if s.Tran.drafts == nil {
		s.Tran.drafts = map[int]*catalog.Database{}
	}
	s.Tran.drafts[d.ID] = changed
	return nil
}

// Alter calls fn as a statement that changes definitions of a database. fn runs with the writer
// lock held and gets the current version of the database.
func (s *Transactions) Alter(ctx context.Context, d *catalog.Database, fn func(d *catalog.Database, e *catalog.Edit) error) error {
	if d.Options.ReadOnly {
		return mserr.ReadOnlyDatabase(d.Name)
	}
	return s.Atomic(ctx, Scope{Databases: []int{d.ID}, Several: true}, func() error {
		return s.Edit(ctx, d, func(e *catalog.Edit) error { return fn(e.Database(), e) })
	})
}

// BeginSnapshot begins the SQLite transaction of a read under SNAPSHOT, if it is not open.
func (s *Transactions) BeginSnapshot(ctx context.Context, ids []int) error {
	if !s.Tran.snapshot {
		s.Tran.snapshot, s.Tran.catalog = true, s.Server.Catalog.Snapshot()
	}
	return s.beginWork(ctx, ids)
}

// SnapshotOutdated reports whether definitions have changed since the snapshot of the transaction.
func (s *Transactions) SnapshotOutdated() bool {
	return s.Tran.snapshot && s.Server.Catalog.Snapshot() != s.Tran.catalog
}
