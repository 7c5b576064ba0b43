package lock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Resource names what is locked.
type Resource struct {
	Database  int    // database id
	Principal int    // of an application lock: @DbPrincipal
	Name      string // of an application lock, compared byte by byte; it may be empty
	App       bool   // an application lock; the writer lock of the database otherwise
}

// Writer is the writer lock of a database.
func Writer(database int) Resource { return Resource{Database: database} }

// Owner holds locks and waits for them: a session, or the transaction of a session. One Owner waits for one
// lock at a time. Owners of one session do not stand in each other's way.
type Owner struct {
	session *Session
	held    map[Resource]*holding // under Manager.mu
	name    string
}

// Session groups the owners that one client waits with; deadlock detection looks at sessions, because a
// session that waits gives back none of its locks.
type Session struct {
	SPID     int
	priority int      // SET DEADLOCK_PRIORITY, -10 to 10; under Manager.mu
	owners   []*Owner // under Manager.mu
	waiting  *request // under Manager.mu
}

// holding is what an owner has of a resource; application locks are counted.
type holding struct {
	mode  Mode
	count int
}

// request is an owner that waits.
type request struct {
	owner *Owner
	res   Resource
	mode  Mode          // wanted in the end: the join with what is held
	ready chan struct{} // made when it has to wait
	since time.Time     // set with ready
	err   error         // when ready is closed: nil means granted
}

// state is a resource that somebody holds or waits for.
type state struct {
	holders map[*Owner]*holding
	queue   []*request // in order of arrival, strengthenings first
}

// LongWait is how long a session waits before [Manager.OnLongWait] is told.
const LongWait = 5 * time.Second

// Manager is the set of all locks of an instance. The zero Manager is ready for use.
type Manager struct {
	// OnLongWait is told once of a wait that has lasted LongWait, by the goroutine that waits; nil for nobody. It is set before the
	// first Lock.
	OnLongWait func(w Wait)

	mu  sync.Mutex
	res map[Resource]*state
}

// NewSession registers a client by its session id.
func NewSession(spid int) *Session { return &Session{SPID: spid} }

// NewOwner makes an owner for a session; name ("SESSION" or "TRANSACTION") is shown by [Manager.Locks].
func (m *Manager) NewOwner(s *Session, name string) *Owner {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := &Owner{session: s, name: name, held: map[Resource]*holding{}}
	s.owners = append(s.owners, o)
	return o
}

// SetPriority is SET DEADLOCK_PRIORITY: LOW is -5, NORMAL 0, HIGH 5.
func (m *Manager) SetPriority(s *Session, priority int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.priority = priority
}

// Forever is the time-out of a Lock that waits as long as it takes.
const Forever time.Duration = -1

// Lock takes a lock, or strengthens one that the owner has; taking it n times needs n calls of Unlock. timeout
// bounds the wait: Forever (SET LOCK_TIMEOUT -1), or 0 for not waiting at all. waited tells whether somebody
// else had it (sp_getapplock returns 1 then).
//
// Errors: 1222 after the time-out, 1205 for the victim of a deadlock, or the cause of ctx. Nothing changes
// for the owner then.
func (m *Manager) Lock(ctx context.Context, o *Owner, r Resource, mode Mode, timeout time.Duration) (waited bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	m.mu.Lock()
	st := m.state(r)
	req := &request{owner: o, res: r, mode: mode}
	if h := o.held[r]; h != nil {
		req.mode = join(h.mode, mode)
	}
	if m.grantable(st, req, len(st.queue)) {
		m.grant(st, req)
		m.mu.Unlock()
		return false, nil
	}
	if timeout == 0 {
		m.tidy(r, st)
		m.mu.Unlock()
		return false, mserr.LockTimeout()
	}
	m.enqueue(st, req)
	m.breakDeadlock(req)
	m.mu.Unlock()
	return true, m.wait(ctx, req, timeout)
}

// wait blocks until the request is decided.
func (m *Manager) wait(ctx context.Context, req *request, timeout time.Duration) error {
	var expired, long <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	if m.OnLongWait != nil {
		t := time.NewTimer(LongWait)
		defer t.Stop()
		long = t.C
	}
	for {
		select {
		case <-req.ready:
		case <-long:
			long = nil
			if w, ok := m.Waiting(req.owner.session); ok {
				m.OnLongWait(w)
			}
			continue
		case <-expired:
			m.abandon(req, mserr.LockTimeout())
		case <-ctx.Done():
			m.abandon(req, context.Cause(ctx))
		}
		<-req.ready
		return req.err
	}
}

// Wait is a session's wait for a lock.
type Wait struct {
	SPID     int
	Resource Resource
	Mode     Mode
	Since    time.Time
	Blocker  int // the session with the lowest id among those in the way
}

// Waiting is the wait of a session; ok is false when it does not wait.
func (m *Manager) Waiting(s *Session) (w Wait, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req := s.waiting
	if req == nil {
		return Wait{}, false
	}
	w = Wait{SPID: s.SPID, Resource: req.res, Mode: req.mode, Since: req.since}
	if b := m.blockers(req); len(b) > 0 {
		w.Blocker = b[0].SPID
	}
	return w, true
}

// abandon ends a wait with an error, unless it was decided in the meantime.
func (m *Manager) abandon(req *request, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse(req, err)
}

// refuse ends a wait with an error; m.mu is held.
func (m *Manager) refuse(req *request, err error) {
	if req.owner.session.waiting != req {
		return
	}
	st := m.res[req.res]
	st.queue = slices.DeleteFunc(st.queue, func(q *request) bool { return q == req })
	req.owner.session.waiting = nil
	req.err = err
	close(req.ready)
	m.advance(req.res, st)
}

// state finds or makes the state of a resource.
func (m *Manager) state(r Resource) *state {
	if m.res == nil {
		m.res = map[Resource]*state{}
	}
	st := m.res[r]
	if st == nil {
		st = &state{holders: map[*Owner]*holding{}}
		m.res[r] = st
	}
	return st
}

// grantable reports whether a request is compatible with all holders of other sessions, and does not pass
// any of the first ahead waiters. Who strengthens a lock passes everybody.
func (m *Manager) grantable(st *state, req *request, ahead int) bool {
	for o, h := range st.holders {
		if o.session != req.owner.session && !Compatible(h.mode, req.mode) {
			return false
		}
	}
	return ahead == 0 || st.holders[req.owner] != nil
}

// grant gives the lock.
func (m *Manager) grant(st *state, req *request) {
	h := st.holders[req.owner]
	if h == nil {
		h = &holding{}
		st.holders[req.owner] = h
		req.owner.held[req.res] = h
	}
	h.mode = req.mode
	h.count++
}

// enqueue makes the request wait: a strengthening behind other strengthenings, others at the end.
func (m *Manager) enqueue(st *state, req *request) {
	at := len(st.queue)
	if st.holders[req.owner] != nil {
		at = 0
		for at < len(st.queue) && st.holders[st.queue[at].owner] != nil {
			at++
		}
	}
	st.queue = slices.Insert(st.queue, at, req)
	req.ready, req.since = make(chan struct{}), time.Now()
	req.owner.session.waiting = req
}

// advance grants to the head of the queue as long as that is possible, and forgets a resource that nobody uses.
func (m *Manager) advance(r Resource, st *state) {
	for len(st.queue) > 0 && m.grantable(st, st.queue[0], 0) {
		req := st.queue[0]
		st.queue = st.queue[1:]
		m.grant(st, req)
		req.owner.session.waiting = nil
		close(req.ready)
	}
	m.tidy(r, st)
}

// tidy forgets a resource that nobody holds or waits for.
func (m *Manager) tidy(r Resource, st *state) {
	if len(st.holders) == 0 && len(st.queue) == 0 {
		delete(m.res, r)
	}
}

// ErrNotHeld is returned by Unlock.
var ErrNotHeld = errors.New("lock is not held")

// Unlock gives back one of the owner's locks on a resource; the mode stays until the last one is given back.
func (m *Manager) Unlock(o *Owner, r Resource) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := o.held[r]
	if h == nil {
		return ErrNotHeld
	}
	h.count--
	if h.count == 0 {
		m.drop(o, r)
	}
	return nil
}

// drop takes a resource from an owner.
func (m *Manager) drop(o *Owner, r Resource) {
	st := m.res[r]
	delete(st.holders, o)
	delete(o.held, r)
	m.advance(r, st)
}

// ReleaseAll gives back everything that an owner holds, as at the end of a transaction.
func (m *Manager) ReleaseAll(o *Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for r := range o.held {
		m.drop(o, r)
	}
}

// Close ends a session: all its owners give everything back.
func (m *Manager) Close(s *Session) {
	m.mu.Lock()
	owners := slices.Clone(s.owners)
	m.mu.Unlock()
	for _, o := range owners {
		m.ReleaseAll(o)
	}
}

// Held is the mode in which an owner has a resource, None if it has not.
func (m *Manager) Held(o *Owner, r Resource) Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := o.held[r]; h != nil {
		return h.mode
	}
	return None
}

// Holders are the sessions that have a resource, by session id.
func (m *Manager) Holders(r Resource) []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.res[r]
	if st == nil {
		return nil
	}
	var out []int
	for o := range st.holders {
		out = append(out, o.session.SPID)
	}
	slices.Sort(out)
	return out
}

// Test reports whether Lock would succeed at once (APPLOCK_TEST).
func (m *Manager) Test(o *Owner, r Resource, mode Mode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.res[r]
	if st == nil {
		return true
	}
	req := &request{owner: o, res: r, mode: mode}
	if h := o.held[r]; h != nil {
		req.mode = join(h.mode, mode)
	}
	return m.grantable(st, req, len(st.queue))
}

// Info is a lock that is held or waited for (sys.dm_tran_locks).
type Info struct {
	Resource Resource
	Mode     Mode
	Waiting  bool
	SPID     int
	Owner    string // the name given to NewOwner
}

// Locks lists all locks: by resource, holders before waiters.
func (m *Manager) Locks() []Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Info
	for r, st := range m.res {
		for o, h := range st.holders {
			out = append(out, Info{r, h.mode, false, o.session.SPID, o.name})
		}
		for _, q := range st.queue {
			out = append(out, Info{r, q.mode, true, q.owner.session.SPID, q.owner.name})
		}
	}
	waits := func(i Info) int {
		if i.Waiting {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Resource.Database, b.Resource.Database), cmp.Compare(a.Resource.Name, b.Resource.Name),
			cmp.Compare(a.Resource.Principal, b.Resource.Principal), cmp.Compare(waits(a), waits(b)), cmp.Compare(a.SPID, b.SPID))
	})
	return out
}
