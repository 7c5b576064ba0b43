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

// Resource identifies a lockable resource.
type Resource struct {
	Database  int    // database ID
	Principal int    // @DbPrincipal of an application lock
	Name      string // name of an application lock, compared byte by byte; may be empty
	Kind      Kind
	// Object, Index and Name identify a row or key: the table, the unique index or 0 for a row, and
	// the values or the rowid in a form of their own.
	Object int32
	Index  int
}

// Kind is the kind of a resource.
type Kind uint8

// The kinds of resources.
const (
	WriterKind Kind = iota // the writer lock of a database
	AppKind                // an application lock
	ParkedKind             // the presence of parked transactions in a database
	RowKind                // a row or key
)

// Writer returns the resource of a database's writer lock.
func Writer(database int) Resource { return Resource{Database: database} }

// Parked returns the resource that parked transactions of a database hold in mode IntentExclusive,
// and that those hold in mode Shared which no transaction may be parked beside.
func Parked(database int) Resource { return Resource{Database: database, Kind: ParkedKind} }

// Row returns the resource of a row (index 0) or of a key of a unique index.
func Row(database int, object int32, index int, name string) Resource {
	return Resource{Database: database, Kind: RowKind, Object: object, Index: index, Name: name}
}

// Owner holds locks and waits for locks. It is a session or the transaction of a session. An Owner
// waits for one lock at a time. The owners of one client never block each other.
type Owner struct {
	client *Client
	held   map[Resource]*holding // under Manager.mu
	name   string
}

// Client groups the owners of one client session. Deadlock detection works on clients, because a
// client that waits releases none of its owners' locks.
type Client struct {
	SPID     int
	priority int      // SET DEADLOCK_PRIORITY, -10 to 10; under Manager.mu
	owners   []*Owner // under Manager.mu
	waiting  *request // under Manager.mu
}

// holding is an owner's lock on a resource. Locks are counted: each Lock needs its own Unlock.
type holding struct {
	mode  Mode
	count int
}

// request is a lock request of an owner, waiting or about to be granted.
type request struct {
	owner *Owner
	res   Resource
	mode  Mode          // requested mode joined with the mode that the owner already holds
	ready chan struct{} // closed when the wait ends; nil if the request never waited
	since time.Time     // start of the wait; set together with ready
	err   error         // valid once ready is closed; nil means granted
}

// state is the state of a resource that has holders or waiters.
type state struct {
	holders map[*Owner]*holding
	queue   []*request // in order of arrival, conversions first
}

// LongWait is the duration of a wait after which [Manager.OnLongWait] is called.
const LongWait = 5 * time.Second

// Manager is the set of all locks of an instance. The zero Manager is ready for use.
type Manager struct {
	// OnLongWait is called once for each wait that has lasted LongWait, by the waiting goroutine.
	// It may be nil and must be set before the first Lock.
	OnLongWait func(w Wait)

	mu   sync.Mutex
	res  map[Resource]*state
	rows map[int]map[*Client]int // number of held resources of RowKind by database
}

// NewClient returns the client with the given session ID.
func NewClient(spid int) *Client { return &Client{SPID: spid} }

// NewOwner adds an owner to a client. [Manager.Locks] reports the name, "SESSION" or "TRANSACTION".
func (m *Manager) NewOwner(c *Client, name string) *Owner {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := &Owner{client: c, name: name, held: map[Resource]*holding{}}
	c.owners = append(c.owners, o)
	return o
}

// SetPriority implements SET DEADLOCK_PRIORITY: LOW is -5, NORMAL is 0, HIGH is 5.
func (m *Manager) SetPriority(c *Client, priority int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.priority = priority
}

// Forever is the timeout of a Lock call that waits without a limit.
const Forever time.Duration = -1

// Lock acquires a lock, or converts the owner's lock to a stronger mode. n calls of Lock need n
// calls of Unlock. timeout bounds the wait: Forever (SET LOCK_TIMEOUT -1) has no bound, 0 never
// waits. waited reports whether the lock was not granted at once; sp_getapplock then returns 1.
//
// Errors: 1222 after the timeout, 1205 for the victim of a deadlock, or the cause of ctx. After an
// error the owner holds the same locks as before.
func (m *Manager) Lock(
	ctx context.Context, o *Owner, r Resource, mode Mode, timeout time.Duration,
) (waited bool, err error) {
	return m.LockAsking(ctx, o, r, mode, timeout, nil)
}

// LockAsking is Lock for a resource whose holders may be asked to release it. ask is called before
// a request is refused, and when it has begun to wait. Nil asks nobody.
func (m *Manager) LockAsking(
	ctx context.Context, o *Owner, r Resource, mode Mode, timeout time.Duration, ask func(),
) (waited bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if timeout == 0 && ask != nil && !m.Test(o, r, mode) {
		ask()
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
		m.forgetIfUnused(r, st)
		m.mu.Unlock()
		return false, mserr.LockTimeout()
	}
	m.enqueue(st, req)
	m.breakDeadlock(req)
	m.mu.Unlock()
	if ask != nil {
		ask()
	}
	return true, m.wait(ctx, req, timeout)
}

// wait blocks until the request is granted or refused.
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
			if w, ok := m.Waiting(req.owner.client); ok {
				m.OnLongWait(w)
			}
			continue
		case <-expired:
			m.cancelWait(req, mserr.LockTimeout())
		case <-ctx.Done():
			m.cancelWait(req, context.Cause(ctx))
		}
		<-req.ready
		return req.err
	}
}

// Wait describes a client's wait for a lock.
type Wait struct {
	SPID     int
	Resource Resource
	Mode     Mode
	Since    time.Time
	Blocker  int // lowest session ID among the blocking sessions
}

// Waiting returns a client's current wait; ok is false if the client does not wait.
func (m *Manager) Waiting(c *Client) (w Wait, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req := c.waiting
	if req == nil {
		return Wait{}, false
	}
	w = Wait{SPID: c.SPID, Resource: req.res, Mode: req.mode, Since: req.since}
	if b := m.blockers(req); len(b) > 0 {
		w.Blocker = b[0].SPID
	}
	return w, true
}

// cancelWait ends a wait with an error, unless the request was granted or refused in the meantime.
func (m *Manager) cancelWait(req *request, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse(req, err)
}

// refuse ends a wait with an error. m.mu must be held.
func (m *Manager) refuse(req *request, err error) {
	if req.owner.client.waiting != req {
		return
	}
	st := m.res[req.res]
	st.queue = slices.DeleteFunc(st.queue, func(q *request) bool { return q == req })
	req.owner.client.waiting = nil
	req.err = err
	close(req.ready)
	m.advance(req.res, st)
}

// state returns the state of a resource, creating it if necessary. m.mu must be held.
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

// grantable reports whether a request with ahead waiters in front of it can be granted now. It must
// be compatible with all holders of other clients, and no waiter may be in front of it, unless it
// converts a lock that the owner already holds: conversions overtake the queue.
func (m *Manager) grantable(st *state, req *request, ahead int) bool {
	for o, h := range st.holders {
		if o.client != req.owner.client && !Compatible(h.mode, req.mode) {
			return false
		}
	}
	return ahead == 0 || st.holders[req.owner] != nil
}

// grant makes the owner of a request a holder of the resource.
func (m *Manager) grant(st *state, req *request) {
	h := st.holders[req.owner]
	if h == nil {
		h = &holding{}
		st.holders[req.owner] = h
		req.owner.held[req.res] = h
		if req.res.Kind == RowKind {
			m.countRow(req.res.Database, req.owner.client, 1)
		}
	}
	h.mode = req.mode
	h.count++
}

// enqueue makes the request wait: a conversion behind the other conversions, any other request at
// the end of the queue.
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
	req.owner.client.waiting = req
}

// advance grants requests from the head of the queue as long as possible, then forgets the resource
// if it is unused.
func (m *Manager) advance(r Resource, st *state) {
	for len(st.queue) > 0 && m.grantable(st, st.queue[0], 0) {
		req := st.queue[0]
		st.queue = st.queue[1:]
		m.grant(st, req)
		req.owner.client.waiting = nil
		close(req.ready)
	}
	m.forgetIfUnused(r, st)
}

// forgetIfUnused removes a resource without holders and waiters from the table of resources.
func (m *Manager) forgetIfUnused(r Resource, st *state) {
	if len(st.holders) == 0 && len(st.queue) == 0 {
		delete(m.res, r)
	}
}

// ErrNotHeld is the error of Unlock if the owner does not hold the resource.
var ErrNotHeld = errors.New("lock is not held")

// Unlock releases one of the owner's locks on a resource. The mode stays as it is until the last
// one is released.
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

// drop removes an owner from the holders of a resource. m.mu must be held.
func (m *Manager) drop(o *Owner, r Resource) {
	st := m.res[r]
	delete(st.holders, o)
	delete(o.held, r)
	if r.Kind == RowKind {
		m.countRow(r.Database, o.client, -1)
	}
	m.advance(r, st)
}

// ReleaseAll releases all locks of an owner, as at the end of a transaction.
func (m *Manager) ReleaseAll(o *Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for r := range o.held {
		m.drop(o, r)
	}
}

// Close releases all locks of all owners of a client.
func (m *Manager) Close(c *Client) {
	m.mu.Lock()
	owners := slices.Clone(c.owners)
	m.mu.Unlock()
	for _, o := range owners {
		m.ReleaseAll(o)
	}
}

// Holds reports whether an owner holds any lock.
func (m *Manager) Holds(o *Owner) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(o.held) > 0
}

// Held returns the mode in which an owner holds a resource, or None.
func (m *Manager) Held(o *Owner, r Resource) Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := o.held[r]; h != nil {
		return h.mode
	}
	return None
}

// Holders returns the session IDs of the clients that hold a resource, in ascending order.
func (m *Manager) Holders(r Resource) []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.res[r]
	if st == nil {
		return nil
	}
	var out []int
	for o := range st.holders {
		out = append(out, o.client.SPID)
	}
	slices.Sort(out)
	return out
}

// Test reports whether Lock would succeed without a wait (APPLOCK_TEST).
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

// Info describes one held or requested lock (sys.dm_tran_locks).
type Info struct {
	Resource Resource
	Mode     Mode
	Waiting  bool
	SPID     int
	Owner    string // the name given to NewOwner
}

// Locks lists all locks, ordered by resource, holders before waiters.
func (m *Manager) Locks() []Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Info
	for r, st := range m.res {
		for o, h := range st.holders {
			out = append(out, Info{r, h.mode, false, o.client.SPID, o.name})
		}
		for _, q := range st.queue {
			out = append(out, Info{r, q.mode, true, q.owner.client.SPID, q.owner.name})
		}
	}
	waiting := func(i Info) int {
		if i.Waiting {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b Info) int {
		return cmp.Or(
			cmp.Compare(a.Resource.Database, b.Resource.Database),
			cmp.Compare(a.Resource.Name, b.Resource.Name),
			cmp.Compare(a.Resource.Principal, b.Resource.Principal),
			cmp.Compare(a.Resource.Kind, b.Resource.Kind),
			cmp.Compare(a.Resource.Object, b.Resource.Object),
			cmp.Compare(a.Resource.Index, b.Resource.Index),
			cmp.Compare(waiting(a), waiting(b)),
			cmp.Compare(a.SPID, b.SPID))
	})
	return out
}
