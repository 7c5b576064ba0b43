package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// A parked transaction is one whose changes are not in SQLite: they are kept in a record, and the
// transaction holds locks of its rows and keys instead of the writer lock. Its session repeats them
// before it executes anything else. DESIGN.md of the server explains it.

// parking says whether other sessions may park the transaction of a session.
type parking struct {
	mu   sync.Mutex // guards idle, and the transaction while idle is set
	idle bool       // the goroutine of the session does not use the transaction
}

// mostRecorded limits the recorded changes of a transaction that meets no parked one.
const mostRecorded = 20_000

// RowLocked is the error of a statement that has met a row or key that another transaction has
// changed. The caller undoes the statement, calls [Transactions.AwaitRow], and runs it again.
type RowLocked struct {
	Resource lock.Resource
	Mode     lock.Mode
}

// Error names the row or key.
func (e *RowLocked) Error() string {
	return "locked by another transaction: " + waitResource(e.Resource)
}

// waitResource returns the resource as sys.dm_exec_requests shows it.
func waitResource(r lock.Resource) string {
	switch {
	case r.Kind == lock.AppKind:
		return fmt.Sprintf("APPLICATION: %d:%d:[%s]", r.Database, r.Principal, r.Name)
	case r.Kind == lock.RowKind:
		return fmt.Sprintf("KEY: %d:%d (%012x)", r.Database, r.Object, rowHash(r))
	}
	return fmt.Sprintf("DATABASE: %d", r.Database)
}

// DescribeLocks returns the locks of all sessions for system views.
func (i *Server) DescribeLocks() []sysviews.LockInfo {
	var out []sysviews.LockInfo
	for _, l := range i.Locks.Locks() {
		info := sysviews.LockInfo{
			DatabaseID: l.Resource.Database, App: l.Resource.Kind == lock.AppKind, Application: l.Resource.Name,
			Principal: l.Resource.Principal,
			Mode:      l.Mode.Abbreviation(), Waiting: l.Waiting, SessionID: l.SPID, Owner: l.Owner,
		}
		switch l.Resource.Kind {
		case lock.ParkedKind:
			continue
		case lock.RowKind:
			info.Object, info.Row, info.Heap = l.Resource.Object, rowHash(l.Resource), l.Resource.Index == 0
		}
		out = append(out, info)
	}
	return out
}

// rowHash returns the hash by which views show a row or key.
func rowHash(r lock.Resource) uint64 {
	hash := uint64(14695981039346656037)
	for _, c := range []byte(strconv.Itoa(r.Index) + ":" + r.Name) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return hash >> 16
}

// mayShare reports whether a transaction that begins to write to a database can be parked later.
func (s *Transactions) mayShare(id int) bool {
	t := &s.Tran
	return !t.begun && len(t.exclusive) == 0 && len(t.shared) == 0 && !t.snapshot && len(t.drafts) == 0 &&
		id > catalog.DatabaseMSDB
}

// lockSharing acquires the writer lock of a database for a transaction that can be parked. Idle
// holders of the lock are parked.
func (s *Transactions) lockSharing(ctx context.Context, id int, timeout time.Duration) error {
	_, err := s.Server.Locks.LockAsking(ctx, s.Tran.owner, lock.Writer(id), lock.Exclusive, timeout, func() {
		for _, spid := range s.Server.Locks.Holders(lock.Writer(id)) {
			if o := s.Server.SessionByID(spid); o != nil && spid != s.id {
				o.parkIdle(id)
			}
		}
	})
	return err
}

// parkIdle parks the session's transaction if the session is idle and the transaction holds the
// writer lock of a database. Other sessions call it.
func (s *Transactions) parkIdle(id int) {
	s.parking.mu.Lock()
	defer s.parking.mu.Unlock()
	if s.parking.idle && s.Tran.sharing == id && !s.Tran.parked {
		s.park()
	}
}

// rest makes the session idle: others may park its transaction. It parks the transaction at once if
// another session waits for the writer lock.
func (s *Transactions) rest() {
	if s.Tran.sharing == 0 || !s.Tran.begun || s.Conn.Recorded() == nil {
		return
	}
	s.parking.mu.Lock()
	defer s.parking.mu.Unlock()
	s.parking.idle = true
	if !s.Tran.parked && s.Server.Locks.Awaited(lock.Writer(s.Tran.sharing)) {
		s.park()
	}
}

// Wake ends the effect of the end of the last request: no other session may park the transaction.
func (s *Transactions) Wake() {
	s.parking.mu.Lock()
	defer s.parking.mu.Unlock()
	s.parking.idle = false
}

// Parked reports whether the transaction is parked.
func (t *Transaction) Parked() bool { return t.parked }

// Lasts notes that the transaction may last longer than the request.
func (t *Transaction) Lasts() { t.lasts = true }

// park puts the transaction aside, and reports whether it did. The caller is the session's
// goroutine, or holds s.parking.mu while the session is idle.
func (s *Transactions) park() bool {
	id := s.Tran.sharing
	d := s.DatabaseByID(id)
	if id == 0 || d == nil || !s.Conn.CanPark() || !s.Server.Locks.GrantIfFree(s.Tran.owner, lock.Parked(id), lock.IntentExclusive) {
		return false
	}
	r := s.Conn.Recorded()
	for i := range r.Changes() {
		for _, k := range s.keysOf(d, &r.Changes()[i], true) {
			s.Server.Locks.Grant(s.Tran.owner, k.Resource, k.Mode)
		}
	}
	for k, mode := range s.Tran.claims {
		s.Server.Locks.Grant(s.Tran.owner, k, mode)
	}
	s.Tran.parked = true
	err := s.preserveTableVars(s.Conn.Park)
	s.Server.forgetVersions(s.Tran.exclusive)
	if err != nil { // Resume will fail and end the transaction
		s.Server.Report(fmt.Errorf("park a transaction: %w", err))
	}
	s.Server.setParked(s, id, r)
	return s.Server.Locks.Unlock(s.Tran.owner, lock.Writer(id)) == nil
}

// parkedTransaction is a parked transaction as other sessions see it.
type parkedTransaction struct {
	database int
	record   *store.Record
}

// setParked adds a parked transaction of a session; without a record it removes it.
func (i *Server) setParked(s *Transactions, id int, r *store.Record) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r == nil {
		delete(i.parked, s)
		return
	}
	i.parked[s] = parkedTransaction{id, r}
}

// parkedWith returns the owners and the records of the other parked transactions that have changed
// one of the given tables of a database.
func (s *Transactions) parkedWith(id int, tables []*catalog.Table) (owners []*Transactions, records []*store.Record) {
	names := map[string]bool{}
	for _, t := range tables {
		names[t.SQLName] = true
	}
	s.Server.mu.Lock()
	defer s.Server.mu.Unlock()
	for o, p := range s.Server.parked {
		if o != s && p.database == id && slices.ContainsFunc(p.record.Changes(), func(ch store.RowChange) bool { return names[ch.Table] }) {
			owners, records = append(owners, o), append(records, p.record)
		}
	}
	return owners, records
}

// ResumeWork repeats the changes of the parked transaction. An error other than the end of ctx
// means that the transaction is lost: it can only be rolled back.
func (s *Transactions) ResumeWork(ctx context.Context) error {
	if !s.Tran.parked {
		return nil
	}
	id := s.Tran.sharing
	if err := s.lockSharing(ctx, id, lock.Forever); err != nil {
		if ctx.Err() == nil {
			s.lose()
		}
		return err
	}
	s.Server.setParked(s, id, nil)
	if err := s.Conn.Resume(context.WithoutCancel(ctx), s.repeater(id)); err != nil {
		s.Server.Report(fmt.Errorf("repeat the changes of a parked transaction: %w", err))
		s.lose()
		return mserr.Deadlock(s.id, "lock")
	}
	s.Tran.parked = false
	s.Conn.SetCheck(s.rowCheck(id))
	return nil
}

// lose makes a parked transaction one that can only be rolled back.
func (s *Transactions) lose() {
	s.Server.setParked(s, 0, nil)
	s.Conn.StopRecord()
	s.Tran.parked, s.Tran.doomed = false, s.Tran.level > 0
}

// repeater returns what repeating changes of a database needs to know.
func (s *Transactions) repeater(id int) store.Repeater {
	d := s.DatabaseByID(id)
	return store.Repeater{
		Layout: func(name string) (store.TableLayout, bool) {
			t := recordedTable(d, name)
			if t == nil {
				return store.TableLayout{}, false
			}
			l, key := store.TableLayout{Key: -1}, t.RowIDColumn()
			for _, c := range t.Columns {
				if c == key {
					l.Key = len(l.Columns)
				}
				if c.SQLName != "" {
					l.Columns = append(l.Columns, c.SQLName)
				}
			}
			return l, true
		},
		Other: func(ctx context.Context, ch *store.RowChange) error { return s.repeatOther(ctx, d, ch) },
	}
}

// recordedTable returns the table with a name in SQLite, or nil.
func recordedTable(d *catalog.Database, name string) *catalog.Table {
	id, err := strconv.ParseInt(strings.TrimPrefix(name, "t"), 10, 32)
	if err != nil || name[0] != 't' {
		return nil
	}
	return d.TableByID(int32(id))
}

// repeatOther repeats a change of one of the server's own tables. Counters are written as they are
// in memory, because other sessions have drawn values since.
func (s *Transactions) repeatOther(ctx context.Context, d *catalog.Database, ch *store.RowChange) error {
	if ch.Op == store.RowDeleted || len(ch.New) == 0 {
		return fmt.Errorf("session: no change of %s can be repeated", ch.Table)
	}
	if ch.Table == catalog.MetaTable && ch.New[0] == catalog.MetaRowVersion {
		v := s.Server.versionsOf(d.ID)
		v.mu.Lock()
		defer v.mu.Unlock()
		return s.reserveVersions(ctx, v, d.ID)
	}
	object, _ := ch.New[0].(int64)
	key := CounterKey{Database: d.ID, Object: int32(object)}
	switch ch.Table {
	case catalog.IdentityTable:
		c, err := s.CounterOf(ctx, key, IdentityLoad(d.ID))
		if t := d.TableByID(int32(object)); err == nil && t != nil && c.Used {
			err = s.StoreIdentity(ctx, d.ID, t, c.Last)
		}
		return err
	case catalog.SequenceTable:
		c, err := s.CounterOf(ctx, key, sequenceLoad(d))
		if err != nil {
			return err
		}
		return s.storeSequence(ctx, d, int32(object), c.value())
	}
	return fmt.Errorf("session: no change of %s can be repeated", ch.Table)
}

// beginRecord records the changes of the transaction if it may last longer than the request, or if
// it may meet rows that other sessions hold.
func (s *Transactions) beginRecord() {
	id := s.Tran.sharing
	check := s.rowCheck(id)
	if id == 0 || check == nil && (s.Tran.level == 0 || !s.Tran.lasts) {
		return
	}
	s.Conn.Record(id, mostRecorded, check)
}

// rowCheck returns a function that finds out whether another session holds a row that is about to
// be changed, or nil if no other session holds a row of the database. While this session has the
// writer lock, none can.
func (s *Transactions) rowCheck(id int) func(ch *store.RowChange) error {
	if id == 0 || !s.Server.Locks.HasRows(s.Tran.owner, id) {
		return nil
	}
	d := s.DatabaseByID(id)
	return func(ch *store.RowChange) error {
		for _, k := range s.keysOf(d, ch, false) {
			if s.Server.Locks.Conflicts(s.Tran.owner, k.Resource, k.Mode) {
				return &k
			}
		}
		return nil
	}
}

// TryRows returns an error if a statement would change rows that parked transactions have changed:
// run executes the statement, without effects outside SQLite, in the state with their changes.
// tables are the tables that the statement may change. The state without their changes is checked
// by the execution of the statement itself.
func (s *Transactions) TryRows(ctx context.Context, tables []*catalog.Table, run func() error) error {
	id := s.Tran.sharing
	if !s.Conn.Checking() {
		return nil
	}
	owners, records := s.parkedWith(id, tables)
	if len(records) == 0 {
		return nil
	}
	check, rep := s.rowCheck(id), s.repeater(id)
	rep.Other = func(context.Context, *store.RowChange) error { return nil } // no row that the statement reads
	defer s.Server.forgetVersions(s.Tran.exclusive)
	return s.Conn.Try(ctx, records, rep, run, func(ch *store.RowChange, owner int, row int64) error {
		if owner >= 0 {
			if t := recordedTable(s.DatabaseByID(id), ch.Table); t != nil && t.RowIDColumn() == nil {
				return &RowLocked{ownRow(id, t, owners[owner].id, row), lock.Exclusive}
			}
		}
		if check == nil {
			return nil
		}
		return check(ch)
	})
}

// claimModes are the modes of the locks that sources WITH (READPAST) ask for. "-" only skips locked
// rows: those that the statement could not change.
var claimModes = map[string]lock.Mode{claimNone: lock.Update, "S": lock.Shared, "U": lock.Update, "X": lock.Exclusive}

// claimNone is the claim of a source that asks for no lock.
const claimNone = "-"

// Unclaimed reports whether [Transactions.Claim] is true for all rows of a database and has no
// effect. Without a transaction in SQLite, it is: the statement reads committed rows.
func (s *Transactions) Unclaimed(id int, claim string) bool {
	return !s.Tran.begun || !s.Server.Locks.HasRows(s.Tran.owner, id) && (claim == claimNone || !s.claims(id))
}

// claims reports whether the transaction needs locks of rows of a database.
func (s *Transactions) claims(id int) bool { return s.Tran.sharing == id && s.Conn.Recorded() != nil }

// Claim reports whether no other session has locked a row in a mode that a claim is incompatible
// with. It locks the row until the end of the transaction, if the claim asks for it.
func (s *Transactions) Claim(id int, object int32, claim string, row int64) bool {
	d := s.DatabaseByID(id)
	if d == nil || d.TableByID(object) == nil {
		return true
	}
	r, mode := rowKey(id, d.TableByID(object), row), claimModes[claim]
	if s.Server.Locks.Conflicts(s.Tran.owner, r, mode) {
		return false
	}
	if claim != claimNone && s.claims(id) {
		if s.Tran.claims == nil {
			s.Tran.claims = map[lock.Resource]lock.Mode{}
		}
		s.Tran.claims[r] = max(s.Tran.claims[r], mode)
	}
	return true
}

// AwaitRow waits until another session releases a row or key. An open transaction is parked
// meanwhile. The errors are those of [lock.Manager.Lock]; after 1205 the transaction is lost.
func (s *Transactions) AwaitRow(ctx context.Context, e *RowLocked) error {
	if s.Tran.begun && !s.park() {
		return mserr.Deadlock(s.id, "lock")
	}
	_, err := s.Server.Locks.Lock(ctx, s.Tran.owner, e.Resource, e.Mode, s.LockTimeout())
	switch {
	case !s.Tran.parked, ctx.Err() != nil:
	case errors.Is(err, mserr.Deadlock(0, "")):
		s.lose()
	default:
		if rerr := s.ResumeWork(ctx); rerr != nil {
			return rerr
		}
	}
	return err
}

// ReleaseRows releases what AwaitRow has acquired for a statement without a transaction.
func (s *Transactions) ReleaseRows() {
	if !s.Tran.begun && s.Tran.level == 0 {
		s.EndTransaction()
	}
}

// Strengthen makes the transaction one that is not parked, because it is about to do what cannot be
// repeated. It waits for the end of all parked transactions of its database.
func (s *Transactions) Strengthen(ctx context.Context) error {
	id := s.Tran.sharing
	if id == 0 {
		return nil
	}
	owner, res := s.Tran.owner, lock.Parked(id)
	if !s.Server.Locks.GrantIfFree(owner, res, lock.Shared) {
		if !s.park() {
			return mserr.Deadlock(s.id, "lock")
		}
		_, err := s.Server.Locks.Lock(ctx, owner, res, lock.Shared, s.LockTimeout())
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case errors.Is(err, mserr.Deadlock(0, "")):
			s.lose()
			return err
		}
		if rerr := s.ResumeWork(ctx); rerr != nil || err != nil {
			return errors.Join(rerr, err)
		}
	}
	s.Tran.sharing = 0
	s.Conn.StopRecord()
	return nil
}

// Resting calls wait, which waits for something outside the database, and lets other sessions write
// meanwhile.
func (s *Transactions) Resting(ctx context.Context, wait func() error) error {
	s.rest()
	err := wait()
	s.Wake()
	if s.Tran.parked && ctx.Err() == nil {
		if rerr := s.ResumeWork(ctx); rerr != nil {
			return rerr
		}
	}
	return err
}
