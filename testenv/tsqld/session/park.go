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

// Parking parks the transaction of a session, and resumes it. Meanwhile, its rows have locks.
type Parking struct {
	s    *Temporaries
	mu   sync.Mutex // guards idle, and the transaction while idle is set
	idle bool       // the goroutine of the session does not use the transaction
	// claims are the locks of rows that the transaction has read, in case that it is parked.
	claims map[lock.Resource]lock.Mode
}

// mostRecorded limits the recorded changes of a transaction that meets no parked one.
const mostRecorded = 20_000

// RowLocked is the error of a statement that has met a row or key that another transaction has
// changed. The caller undoes the statement, calls [Parking.AwaitRow], and runs it again.
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

// lockSharing acquires the writer lock of a database for a transaction that can be parked. Idle
// holders of the lock are parked.
func (p *Parking) lockSharing(ctx context.Context, id int, timeout time.Duration) error {
	_, err := p.s.Server.Locks.LockAsking(ctx, p.s.Tran.owner, lock.Writer(id), lock.Exclusive, timeout, func() {
		for _, spid := range p.s.Server.Locks.Holders(lock.Writer(id)) {
			if o := p.s.Server.SessionByID(spid); o != nil && spid != p.s.id {
				o.Parking.parkIdle(id)
			}
		}
	})
	return err
}

// parkIdle parks the session's transaction if the session is idle and the transaction holds the
// writer lock of a database. Other sessions call it.
func (p *Parking) parkIdle(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle && p.s.Tran.sharing == id && !p.s.Tran.parked {
		p.park()
	}
}

// rest makes the session idle: others may park its transaction. It parks the transaction at once if
// another session waits for the writer lock.
func (p *Parking) rest() {
	if p.s.Tran.sharing == 0 || !p.s.Tran.begun || p.s.Conn.Recorded() == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = true
	if !p.s.Tran.parked && p.s.Server.Locks.Awaited(lock.Writer(p.s.Tran.sharing)) {
		p.park()
	}
}

// Wake ends the effect of the end of the last request: no other session may park the transaction.
func (p *Parking) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = false
}

// park puts the transaction aside, and reports whether it did. The caller is the session's
// goroutine, or holds s.parking.mu while the session is idle.
func (p *Parking) park() bool {
	id := p.s.Tran.sharing
	d := p.s.DatabaseByID(id)
	if id == 0 || d == nil || !p.s.Conn.CanPark() || !p.s.Server.Locks.GrantIfFree(p.s.Tran.owner, lock.Parked(id), lock.IntentExclusive) {
		return false
	}
	r := p.s.Conn.Recorded()
	for i := range r.Changes() {
		for _, k := range p.keysOf(d, &r.Changes()[i], true) {
			p.s.Server.Locks.Grant(p.s.Tran.owner, k.Resource, k.Mode)
		}
	}
	for k, mode := range p.claims {
		p.s.Server.Locks.Grant(p.s.Tran.owner, k, mode)
	}
	p.s.Tran.parked = true
	err := p.s.preserveTableVars(p.s.Conn.Park)
	p.s.Server.forgetVersions(p.s.Tran.exclusive)
	if err != nil { // Resume will fail and end the transaction
		p.s.Server.Report(fmt.Errorf("park a transaction: %w", err))
	}
	p.s.Server.setParked(p, id, r)
	return p.s.Server.Locks.Unlock(p.s.Tran.owner, lock.Writer(id)) == nil
}

// parkedTransaction is a parked transaction as other sessions see it.
type parkedTransaction struct {
	database int
	record   *store.Record
}

// setParked adds a parked transaction of a session; without a record it removes it.
func (i *Server) setParked(p *Parking, id int, r *store.Record) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r == nil {
		delete(i.parked, p)
		return
	}
	i.parked[p] = parkedTransaction{id, r}
}

// parkedWith returns the owners and the records of the other parked transactions that have changed
// one of the given tables of a database.
func (p *Parking) parkedWith(id int, tables []*catalog.Table) (owners []*Parking, records []*store.Record) {
	names := map[string]bool{}
	for _, t := range tables {
		names[t.SQLName] = true
	}
	p.s.Server.mu.Lock()
	defer p.s.Server.mu.Unlock()
	for o, t := range p.s.Server.parked {
		if o != p && t.database == id && slices.ContainsFunc(t.record.Changes(), func(ch store.RowChange) bool { return names[ch.Table] }) {
			owners, records = append(owners, o), append(records, t.record)
		}
	}
	return owners, records
}

// Resume repeats the changes of the parked transaction. An error other than the end of ctx means
// that the transaction is lost: it can only be rolled back.
func (p *Parking) Resume(ctx context.Context) error {
	if !p.s.Tran.parked {
		return nil
	}
	id := p.s.Tran.sharing
	if err := p.lockSharing(ctx, id, lock.Forever); err != nil {
		if ctx.Err() == nil {
			p.lose()
		}
		return err
	}
	p.s.Server.setParked(p, id, nil)
	if err := p.s.Conn.Resume(context.WithoutCancel(ctx), p.repeater(id)); err != nil {
		p.s.Server.Report(fmt.Errorf("repeat the changes of a parked transaction: %w", err))
		p.lose()
		return mserr.Deadlock(p.s.id, "lock")
	}
	p.s.Tran.parked = false
	p.s.Conn.SetCheck(p.rowCheck(id))
	return nil
}

// lose makes a parked transaction one that can only be rolled back.
func (p *Parking) lose() {
	p.s.Server.setParked(p, 0, nil)
	p.s.Conn.StopRecord()
	p.s.Tran.parked, p.s.Tran.doomed = false, p.s.Tran.level > 0
}

// repeater returns what repeating changes of a database needs to know.
func (p *Parking) repeater(id int) store.Repeater {
	d := p.s.DatabaseByID(id)
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
		Other: func(ctx context.Context, ch *store.RowChange) error { return p.repeatOther(ctx, d, ch) },
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
func (p *Parking) repeatOther(ctx context.Context, d *catalog.Database, ch *store.RowChange) error {
	if ch.Op == store.RowDeleted || len(ch.New) == 0 {
		return fmt.Errorf("session: no change of %s can be repeated", ch.Table)
	}
	if ch.Table == catalog.MetaTable && ch.New[0] == catalog.MetaRowVersion {
		v := p.s.Server.versionsOf(d.ID)
		v.mu.Lock()
		defer v.mu.Unlock()
		return p.s.Counters.reserveVersions(ctx, v, d.ID)
	}
	object, _ := ch.New[0].(int64)
	switch ch.Table {
	case catalog.IdentityTable:
		t := d.TableByID(int32(object))
		if t == nil {
			return nil
		}
		c, err := p.s.Counters.Identity(ctx, d.ID, t)
		if err == nil && c.Used {
			err = p.s.Counters.StoreIdentity(ctx, d.ID, t, c.Last)
		}
		return err
	case catalog.SequenceTable:
		c, err := p.s.Counters.sequence(ctx, d, int32(object))
		if err != nil {
			return err
		}
		return p.s.Counters.storeSequence(ctx, d, int32(object), c.value())
	}
	return fmt.Errorf("session: no change of %s can be repeated", ch.Table)
}

// beginRecord records the changes of the transaction if it may last longer than the request, or if
// it may meet rows that other sessions hold.
func (p *Parking) beginRecord() {
	id := p.s.Tran.sharing
	check := p.rowCheck(id)
	if id == 0 || check == nil && (p.s.Tran.level == 0 || !p.s.Tran.lasts) {
		return
	}
	p.s.Conn.Record(id, mostRecorded, check)
}

// rowCheck returns a function that finds out whether another session holds a row that is about to
// be changed, or nil if no other session holds a row of the database. While this session has the
// writer lock, none can.
func (p *Parking) rowCheck(id int) func(ch *store.RowChange) error {
	if id == 0 || !p.s.Server.Locks.HasRows(p.s.Tran.owner, id) {
		return nil
	}
	d := p.s.DatabaseByID(id)
	return func(ch *store.RowChange) error {
		for _, k := range p.keysOf(d, ch, false) {
			if p.s.Server.Locks.Conflicts(p.s.Tran.owner, k.Resource, k.Mode) {
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
func (p *Parking) TryRows(ctx context.Context, tables []*catalog.Table, run func() error) error {
	id := p.s.Tran.sharing
	if !p.s.Conn.Checking() {
		return nil
	}
	owners, records := p.parkedWith(id, tables)
	if len(records) == 0 {
		return nil
	}
	check, rep := p.rowCheck(id), p.repeater(id)
	rep.Other = func(context.Context, *store.RowChange) error { return nil } // no row that the statement reads
	defer p.s.Server.forgetVersions(p.s.Tran.exclusive)
	return p.s.Conn.Try(ctx, records, rep, run, func(ch *store.RowChange, owner int, row int64) error {
		if owner >= 0 {
			if t := recordedTable(p.s.DatabaseByID(id), ch.Table); t != nil && t.RowIDColumn() == nil {
				return &RowLocked{ownRow(id, t, owners[owner].s.id, row), lock.Exclusive}
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

// Unclaimed reports whether [Parking.Claim] is true for all rows of a database and has no effect.
// Without a transaction in SQLite, it is: the statement reads committed rows.
func (p *Parking) Unclaimed(id int, claim string) bool {
	return !p.s.Tran.begun || !p.s.Server.Locks.HasRows(p.s.Tran.owner, id) && (claim == claimNone || !p.needsRows(id))
}

// needsRows reports whether the transaction needs locks of rows of a database.
func (p *Parking) needsRows(id int) bool { return p.s.Tran.sharing == id && p.s.Conn.Recorded() != nil }

// Claim reports whether no other session has locked a row in a mode that a claim is incompatible
// with. It locks the row until the end of the transaction, if the claim asks for it.
func (p *Parking) Claim(id int, object int32, claim string, row int64) bool {
	d := p.s.DatabaseByID(id)
	if d == nil || d.TableByID(object) == nil {
		return true
	}
	r, mode := rowKey(id, d.TableByID(object), row), claimModes[claim]
	if p.s.Server.Locks.Conflicts(p.s.Tran.owner, r, mode) {
		return false
	}
	if claim != claimNone && p.needsRows(id) {
		if p.claims == nil {
			p.claims = map[lock.Resource]lock.Mode{}
		}
		p.claims[r] = max(p.claims[r], mode)
	}
	return true
}

// AwaitRow waits until another session releases a row or key. An open transaction is parked
// meanwhile. The errors are those of [lock.Manager.Lock]; after 1205 the transaction is lost.
func (p *Parking) AwaitRow(ctx context.Context, e *RowLocked) error {
	if p.s.Tran.begun && !p.park() {
		return mserr.Deadlock(p.s.id, "lock")
	}
	_, err := p.s.Server.Locks.Lock(ctx, p.s.Tran.owner, e.Resource, e.Mode, p.s.LockTimeout())
	switch {
	case !p.s.Tran.parked, ctx.Err() != nil:
	case errors.Is(err, mserr.Deadlock(0, "")):
		p.lose()
	default:
		if rerr := p.Resume(ctx); rerr != nil {
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
func (p *Parking) Strengthen(ctx context.Context) error {
	id := p.s.Tran.sharing
	if id == 0 {
		return nil
	}
	owner, res := p.s.Tran.owner, lock.Parked(id)
	if !p.s.Server.Locks.GrantIfFree(owner, res, lock.Shared) {
		if !p.park() {
			return mserr.Deadlock(p.s.id, "lock")
		}
		_, err := p.s.Server.Locks.Lock(ctx, owner, res, lock.Shared, p.s.LockTimeout())
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case errors.Is(err, mserr.Deadlock(0, "")):
			p.lose()
			return err
		}
		if rerr := p.Resume(ctx); rerr != nil || err != nil {
			return errors.Join(rerr, err)
		}
	}
	p.s.Tran.sharing = 0
	p.s.Conn.StopRecord()
	return nil
}

// Resting calls wait, which waits for something outside the database, and lets other sessions write
// meanwhile.
func (p *Parking) Resting(ctx context.Context, wait func() error) error {
	p.rest()
	err := wait()
	p.Wake()
	if p.s.Tran.parked && ctx.Err() == nil {
		if rerr := p.Resume(ctx); rerr != nil {
			return rerr
		}
	}
	return err
}
