package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// transaction is the session's transaction, explicit (level over 0) or that of one statement.
//
// BEGIN TRANSACTION only counts. The first statement that writes, or that asks for locks, enlists its
// databases: it takes the writer lock of each and opens SQLite's transaction. From then on the lock of every
// database that the session touches is taken, in shared mode for reads, so that SQLite never finds that
// another session has written since its snapshot was taken. Reads before that see what is committed when
// they run, as under READ_COMMITTED_SNAPSHOT. Under SNAPSHOT reads take no locks, and SQLite may find just that: error 3960.
type transaction struct {
	level   int    // @@TRANCOUNT
	id      uint64 // descriptor; CURRENT_TRANSACTION_ID
	name    string // of the outermost BEGIN TRANSACTION
	started time.Time
	doomed  bool // XACT_STATE() = -1

	begun  bool         // SQLite's transaction is open
	held   map[int]bool // databases whose writer locks are held
	shared map[int]bool // databases whose writer locks are held in shared mode
	// snapshot says that SQLite's transaction began with a read under SNAPSHOT: databases that are not held are read as they were then.
	snapshot bool
	catalog  *catalog.Snapshot // the definitions when it began
	readers  []*unit           // texts that took shared locks
	saves    []savepoint
	drafts   map[int]*catalog.Database // definitions changed and not committed, by database id
	temps    tempTables                // temporary tables when SQLite's transaction began
	owner    *lock.Owner
	nested   int // SQLite savepoints of statements that are open
}

// savepoint is a SAVE TRANSACTION. What it needs to restore is nil until the SQLite transaction begins.
type savepoint struct {
	name   string
	drafts map[int]*catalog.Database
	temps  tempTables
}

// sqlName is the name of the i-th savepoint in SQLite.
func sqlName(i int) string { return fmt.Sprintf("save%d", i) }

// statementSave is the SQLite savepoint that makes one statement atomic.
const statementSave = "statement"

// start begins a transaction at level 1.
func (s *Session) start(name string) {
	s.inst.mu.Lock()
	s.inst.nextTran++
	s.tran.id = s.inst.nextTran
	s.inst.mu.Unlock()
	s.tran.level, s.tran.name, s.tran.doomed, s.tran.started = 1, name, false, s.inst.now()
}

// lockTimeout is SET LOCK_TIMEOUT as package lock wants it.
func (s *Session) lockTimeout() time.Duration {
	if s.opts.lockTimeout < 0 {
		return lock.Forever
	}
	return time.Duration(s.opts.lockTimeout) * time.Millisecond
}

// enlist makes databases part of the SQLite transaction, which it begins if necessary.
func (s *Session) enlist(ctx context.Context, ids ...int) error { return s.enlistPast(ctx, ids, nil) }

// errSkipped answers who does not want to wait for a writer lock: see [Session.lockPast].
var errSkipped = errors.New("another session writes")

// enlistPast is enlist for a statement that does not wait for some of the databases, past.
func (s *Session) enlistPast(ctx context.Context, ids, past []int) error {
	if !s.tran.begun && len(ids) > 1 {
		ids = slices.Sorted(slices.Values(ids)) // fewer deadlocks
	}
	for _, id := range ids {
		if s.tran.held[id] {
			continue
		}
		lock := s.lockWriter
		if slices.Contains(past, id) {
			lock = s.lockPast
		}
		if err := lock(ctx, id); err != nil {
			return err
		}
	}
	return s.open(ctx, ids)
}

// open opens SQLite's transaction, if it is not open, for databases.
func (s *Session) open(ctx context.Context, ids []int) error {
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
	for i := range s.tran.saves {
		s.tran.saves[i].temps = s.temps
		if err := s.conn.Savepoint(ctx, sqlName(i)); err != nil {
			return err
		}
	}
	return nil
}

// lockWriter takes the writer lock of a database for the transaction.
func (s *Session) lockWriter(ctx context.Context, id int) error {
	return s.lockWithin(ctx, id, s.lockTimeout())
}

// pastGrace is how long READPAST waits for a session that runs a statement. In SQL Server two such sessions find rows of their own at the
// same time; here the second one would find none at all, although the first one is done in a moment.
const pastGrace = 50 * time.Millisecond

// lockPast is lockWriter for READPAST: it answers errSkipped where lockWriter would wait for a session whose transaction is idle, or
// for longer than pastGrace. Who holds locks already does not wait at all, and so is not the victim of a deadlock.
func (s *Session) lockPast(ctx context.Context, id int) error {
	var grace time.Duration
	if len(s.tran.held) == 0 && s.opts.lockTimeout != 0 && s.inst.busy(s.inst.locks.Holders(lock.Writer(id))) {
		grace = pastGrace
	}
	err := s.lockWithin(ctx, id, grace)
	if e := (*mserr.Error)(nil); errors.As(err, &e) && (e.Number == 1222 || e.Number == 1205) {
		return errSkipped
	}
	return err
}

// lockWithin takes the writer lock of a database for the transaction.
func (s *Session) lockWithin(ctx context.Context, id int, timeout time.Duration) error {
	if _, err := s.inst.locks.Lock(ctx, s.tran.owner, lock.Writer(id), lock.Exclusive, timeout); err != nil {
		return err
	}
	if s.tran.held == nil {
		s.tran.held = map[int]bool{}
	}
	s.tran.held[id] = true
	if s.tran.shared[id] {
		for _, u := range s.tran.readers {
			u.writes.Store(true)
		}
	}
	return nil
}

// share takes the writer locks of databases in shared mode for the transaction: what it has read stays as it is, and others may read
// in the same way. A write strengthens the lock. Two transactions that both want that are a deadlock; so a text whose transactions have
// gone on to write takes the locks of a writer from then on.
func (s *Session) share(ctx context.Context, ids []int, u *unit) error {
	if u.writes.Load() {
		return s.enlist(ctx, ids...)
	}
	before := len(s.tran.shared)
	for _, id := range ids {
		if s.tran.held[id] || s.tran.shared[id] {
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
	if len(s.tran.shared) > before && !slices.Contains(s.tran.readers, u) {
		s.tran.readers = append(s.tran.readers, u)
	}
	return s.conn.Use(ctx, ids...)
}

// reading prepares a read of databases by the text u outside any statement transaction; skip says that there is a plan for errSkipped, and
// within that the read is part of SQLite's transaction, which it may begin: nobody may write to what that has seen, or the transaction could not.
func (s *Session) reading(ctx context.Context, n *compile.Needs, u *unit, skip, within bool) error {
	var past []int
	if skip {
		past = n.Past
	}
	switch {
	case n.Skips, s.tran.level == 0 && !s.tran.begun:
	case !n.Locks && (s.tran.snapshot || !s.tran.begun && s.opts.isolation == syntax.Snapshot):
		if !s.tran.snapshot {
			s.tran.snapshot, s.tran.catalog = true, s.inst.catalog.Snapshot()
		}
		return s.open(ctx, n.Databases)
	case n.Locks:
		return s.enlistPast(ctx, n.Databases, past)
	case within, s.tran.begun, s.opts.isolation >= syntax.RepeatableRead:
		if len(past) > 0 {
			return s.enlistPast(ctx, n.Databases, past)
		}
		return s.share(ctx, n.Databases, u)
	}
	return s.conn.Use(ctx, n.Databases...)
}

// conflict makes error 3960 of SQLite's refusal to write to a database that another session has changed since the snapshot was taken.
func (r *run) conflict(dml *compile.DML, err error) error {
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

// snapshotAllowed refuses the data of a database without ALLOW_SNAPSHOT_ISOLATION under SNAPSHOT. That of system
// databases is there always.
func (s *Session) snapshotAllowed(ids []int) error {
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

// atomic runs fn as one statement that writes to databases: all of it happens, or nothing. Outside a
// transaction it is one of its own. several says that fn runs more than one SQLite statement.
func (r *run) atomic(ids []int, several bool, fn func() error) error {
	return r.atomicPast(ids, nil, several, fn)
}

// atomicPast is atomic for a statement that does not wait for some of the databases, past, but ends with errSkipped.
func (r *run) atomicPast(ids, past []int, several bool, fn func() error) error {
	s := r.s
	if s.tran.level > 0 && s.tran.doomed {
		return mserr.Uncommittable()
	}
	if s.tran.level == 0 && s.opts.implicitTransactions {
		s.start("")
		if err := r.announce(EnvBeginTran); err != nil {
			return err
		}
	}
	own := s.tran.level == 0 && !s.tran.begun
	if err := s.enlistPast(r.ctx, ids, past); err != nil {
		if own {
			s.undo()
		}
		return err
	}
	if own {
		s.conn.SetInterruptWrites(true)
		err := fn()
		s.conn.SetInterruptWrites(false)
		if err != nil {
			return errors.Join(err, s.undo())
		}
		return s.keep()
	}
	if !several {
		return r.checkAlive(fn())
	}
	save := fmt.Sprintf("%s%d", statementSave, s.tran.nested)
	if err := s.conn.Savepoint(r.ctx, save); err != nil {
		return err
	}
	s.tran.nested++
	drafts, temps := maps.Clone(s.tran.drafts), s.temps
	err := fn()
	s.tran.nested--
	if err == nil {
		return s.conn.ReleaseSavepoint(save)
	}
	if !s.conn.InTransaction() {
		return r.checkAlive(err)
	}
	s.tran.drafts, s.temps = drafts, temps
	return errors.Join(err, s.preserve(func() error { return s.conn.RollbackTo(save) }), s.conn.ReleaseSavepoint(save))
}

// checkAlive notices that SQLite gave its transaction up by itself, which it does when the disk is full.
func (r *run) checkAlive(err error) error {
	s := r.s
	if err == nil || !s.tran.begun || s.conn.InTransaction() {
		return err
	}
	if s.tran.level > 0 {
		s.tran.doomed = true
	}
	return err
}

// keep commits SQLite's transaction and publishes the definitions that it changed.
func (s *Session) keep() error {
	if s.tran.begun {
		if err := s.conn.Commit(); err != nil {
			return errors.Join(err, s.undo())
		}
	}
	var err error
	if len(s.tran.drafts) > 0 {
		err = s.inst.catalog.Publish(slices.Collect(maps.Values(s.tran.drafts))...)
	}
	s.endTransaction()
	return err
}

// undo rolls SQLite's transaction back and forgets changed definitions.
func (s *Session) undo() error {
	var err error
	if s.tran.begun {
		s.temps = s.tran.temps
		err = s.preserve(s.conn.Rollback)
		s.inst.forgetVersions(s.tran.held)
	}
	s.endTransaction()
	return err
}

// endTransaction frees what the transaction held.
func (s *Session) endTransaction() {
	s.inst.locks.ReleaseAll(s.tran.owner)
	s.tran = transaction{owner: s.tran.owner}
}

// rollback is ROLLBACK TRANSACTION: it ends the whole transaction, and tells the client.
func (s *Session) rollback(r *run) error {
	id := s.tran.id
	err := s.undo()
	s.closeCursorsOnEnd()
	return errors.Join(err, gone(r.out.EnvChange(EnvChange{Kind: EnvRollbackTran, Descriptor: id})))
}

// commit ends one level of the transaction. When the outermost one cannot be committed, because the disk is full for example, the
// transaction is rolled back, and the client is told: it sends the transaction's descriptor with its requests otherwise (error 3989).
func (s *Session) commit(r *run) error {
	if s.tran.level > 1 {
		s.tran.level--
		return nil
	}
	id := s.tran.id
	err := s.keep()
	s.closeCursorsOnEnd()
	if err != nil {
		return errors.Join(err, gone(r.out.EnvChange(EnvChange{Kind: EnvRollbackTran, Descriptor: id})))
	}
	return gone(r.out.EnvChange(EnvChange{Kind: EnvCommitTran, Descriptor: id}))
}

// announce tells the client about the start of the transaction.
func (r *run) announce(kind EnvKind) error {
	return gone(r.out.EnvChange(EnvChange{Kind: kind, Descriptor: r.s.tran.id}))
}

// abandon ends an open transaction when the session closes.
func (s *Session) abandon() error {
	if s.tran.level > 0 || s.tran.begun {
		return s.undo()
	}
	return nil
}

// begin is BEGIN TRANSACTION.
func (s *Session) begin(r *run, name string) error {
	if s.tran.level > 0 {
		s.tran.level++
		return nil
	}
	s.start(name)
	return r.announce(EnvBeginTran)
}

// save is SAVE TRANSACTION.
func (s *Session) save(ctx context.Context, name string) error {
	if s.tran.level == 0 {
		return mserr.SaveWithoutTransaction()
	}
	if s.tran.doomed {
		return mserr.Uncommittable()
	}
	sp := savepoint{name: name, drafts: maps.Clone(s.tran.drafts), temps: s.temps}
	s.tran.saves = append(s.tran.saves, sp)
	if s.tran.begun {
		return s.conn.Savepoint(ctx, sqlName(len(s.tran.saves)-1))
	}
	return nil
}

// rollbackTo is ROLLBACK TRANSACTION savepoint.
func (s *Session) rollbackTo(name string) error {
	i := len(s.tran.saves) - 1
	for i >= 0 && !equalNames(s.tran.saves[i].name, name) {
		i--
	}
	if i < 0 {
		return mserr.UnknownSavepoint(name)
	}
	if s.tran.doomed {
		return mserr.UncommittableSavepoint()
	}
	sp := s.tran.saves[i]
	s.tran.saves = s.tran.saves[:i+1]
	if !s.tran.begun {
		return nil
	}
	s.tran.drafts, s.temps = maps.Clone(sp.drafts), sp.temps
	return s.preserve(func() error { return s.conn.RollbackTo(sqlName(i)) })
}

// tranName evaluates the name of a transaction or savepoint; "" without one. Names are cut to 32 characters,
// as SQL Server does.
func (r *run) tranName(e syntax.Expr) (string, error) {
	if e == nil {
		return "", nil
	}
	if l, ok := e.(*syntax.Literal); ok {
		return cutName(l.Text), nil
	}
	v, err := r.value(e, types.NVarCharOf(128))
	if err != nil || v == nil {
		return "", err
	}
	return cutName(v.(string)), nil
}

// cutName cuts the name of a transaction.
func cutName(s string) string {
	const limit = 32
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}

// beginTran is BEGIN TRANSACTION.
func (r *run) beginTran(st *syntax.BeginTranStmt) error {
	if st.Distributed {
		return mserr.NotSupported("BEGIN DISTRIBUTED TRANSACTION")
	}
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	r.s.rowCount = 0
	return r.s.begin(r, name)
}

// commitTran is COMMIT.
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
	}
	return s.commit(r)
}

// rollbackTran is ROLLBACK.
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
		return s.rollbackTo(name) // no such savepoint: its error
	}
	return s.rollback(r)
}

// hasSavepoint reports whether a name is that of a savepoint.
func (s *Session) hasSavepoint(name string) bool {
	return slices.ContainsFunc(s.tran.saves, func(sp savepoint) bool { return equalNames(sp.name, name) })
}

// saveTran is SAVE TRANSACTION.
func (r *run) saveTran(st *syntax.SaveTranStmt) error {
	name, err := r.tranName(st.Name)
	if err != nil {
		return err
	}
	r.s.rowCount = 0
	return r.s.save(r.ctx, name)
}

// Begin is a transaction manager request: it begins a transaction, or another level of the open one.
func (s *Session) Begin(ctx context.Context, isolation Isolation, name string, sink Sink) error {
	return s.serve(ctx, sink, "BEGIN TRANSACTION", func(r *run) error {
		if isolation != 0 {
			s.opts.isolation = syntax.Isolation(isolation)
		}
		return r.manage(s.begin(r, name))
	})
}

// Commit is a transaction manager request.
func (s *Session) Commit(ctx context.Context, sink Sink) error {
	return s.serve(ctx, sink, "COMMIT TRANSACTION", func(r *run) error {
		switch {
		case s.tran.level == 0:
			return r.manage(mserr.CommitWithoutBegin())
		case s.tran.doomed:
			return r.manage(mserr.Uncommittable())
		}
		return r.manage(s.commit(r))
	})
}

// Rollback is a transaction manager request; name is a savepoint, empty for the whole transaction.
func (s *Session) Rollback(ctx context.Context, name string, sink Sink) error {
	return s.serve(ctx, sink, "ROLLBACK TRANSACTION", func(r *run) error {
		switch {
		case s.tran.level == 0:
			return r.manage(mserr.RollbackWithoutBegin())
		case name != "" && (s.hasSavepoint(name) || !equalNames(name, s.tran.name)):
			return r.manage(s.rollbackTo(name))
		}
		return r.manage(s.rollback(r))
	})
}

// Save is a transaction manager request.
func (s *Session) Save(ctx context.Context, name string, sink Sink) error {
	return s.serve(ctx, sink, "SAVE TRANSACTION", func(r *run) error { return r.manage(s.save(ctx, name)) })
}

// manage reports an error of a transaction manager request.
func (r *run) manage(err error) error {
	if err == nil {
		return nil
	}
	m := r.message(err)
	if m == nil {
		return err
	}
	m.Line = 1
	return errors.Join(gone(r.out.Message(m)), gone(r.out.Done(Done{Error: true})))
}
