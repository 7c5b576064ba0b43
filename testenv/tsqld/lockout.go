package tsqld

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// How password guessing is slowed down; see [brake].
const (
	failuresBeforeLock        = 5               // of a login from an address, before it is locked out from there
	failuresBeforeAddressLock = 50              // of an address, whatever the logins, before it is locked out
	failuresBeforeDelay       = 50              // of a login, from wherever, before its checks are slowed down
	firstLock                 = time.Second     // doubles with each further failure
	longestLock               = 5 * time.Minute // of a login from an address
	longestAddressLock        = time.Minute     // of an address
	firstDelay                = 100 * time.Millisecond
	longestDelay              = 2 * time.Second  // of an answer; doubles from firstDelay on with each failure
	forgetAfter               = 15 * time.Minute // failures of a login from an address are forgotten when none was added for so long
	forgiveInterval           = 30 * time.Second // a failure of an address, or of a login, is forgiven so often
	maxEntries                = 10000            // of each of the three tables
	knownFor                  = 7 * 24 * time.Hour
)

// brake counts failed logins, and says who has to wait and who is locked out. There are three counts:
//
//   - a login from an address: after freeFailures the login is locked out from that address, for longer with each further failure. A
//     login that was locked out from one address can log in from all others, the login sa included.
//   - an address, whatever the logins: locked out in the same way, which ends guesses at many logins. Logins that have
//     logged in from there before are spared, so that somebody who shares the address cannot lock them out in this way.
//   - a login, from wherever: checks of its password are slowed down, never refused.
//
// Who is locked out is refused before the password is looked at, whether the login exists or not, and such an
// attempt does not count. The loopback addresses are one address like any other. A brake is safe for concurrent use; a nil one
// lets everybody try.
type lockout struct {
	mu        sync.Mutex
	pairs     map[pair]*failureCount
	addresses map[string]*failureCount
	logins    map[string]*failureCount
}

// pair is a login from an address.
type pair struct{ address, login string }

// tally is what a brake knows of a pair, an address or a login.
type failureCount struct {
	failures int
	last     time.Time // when failures changed, or of the last success
	until    time.Time // locked out until then
	known    bool      // the pair has logged in
}

// newBrake makes a brake that knows of no failure.
func newLockout() *lockout {
	return &lockout{pairs: map[pair]*failureCount{}, addresses: map[string]*failureCount{}, logins: map[string]*failureCount{}}
}

// addressKey is what an address counts as: a network of /64 for IPv6, which one machine has to itself; all loopback addresses are one.
func addressKey(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.Network()
	}
	ip := at.Addr().Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return "loopback"
	case ip.Is6():
		network, _ := ip.Prefix(64) // 64 bits are always there
		return network.String()
	}
	return ip.String()
}

// check says before a password is looked at whether the login is locked out from the address, and if it is not, how long its
// check has to wait.
func (b *lockout) check(address net.Addr, login string) (locked bool, wait time.Duration) {
	if b == nil {
		return
	}
	p := pair{addressKey(address), catalog.Fold(login)}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.pairs[p]
	if t != nil && now.Before(t.until) {
		return true, 0
	}
	if t != nil && t.known {
		return false, 0
	}
	if a := b.addresses[p.address]; a != nil && now.Before(a.until) {
		return true, 0
	}
	if l := b.logins[p.login]; l != nil && l.forgive(now) > failuresBeforeDelay {
		return false, longestDelay
	}
	return false, 0
}

// failed counts a failed login. delay is how long its answer has to wait, lock for how long the login is locked out from the
// address, 0 if it is not.
func (b *lockout) failed(address net.Addr, login string) (delay, lock time.Duration) {
	if b == nil {
		return
	}
	p := pair{addressKey(address), catalog.Fold(login)}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := entry(b.pairs, p, now)
	if now.Sub(t.last) > forgetAfter {
		t.failures = 0
	}
	t.failures, t.last = t.failures+1, now
	delay = doubled(firstDelay, t.failures-1, longestDelay)
	if t.failures >= failuresBeforeLock {
		lock = doubled(firstLock, t.failures-failuresBeforeLock, longestLock)
		t.until = now.Add(delay + lock) // it begins when the client has the answer
	}
	a := entry(b.addresses, p.address, now)
	if a.forgive(now); a.failures >= failuresBeforeAddressLock {
		shut := doubled(firstLock, a.failures-failuresBeforeAddressLock, longestAddressLock)
		a.until = now.Add(delay + shut)
		lock = max(lock, shut)
	}
	a.failures++
	l := entry(b.logins, p.login, now)
	l.forgive(now)
	l.failures = min(l.failures+1, 2*failuresBeforeDelay)
	return delay, lock
}

// succeeded forgets the failures of a login from an address; those of the address and of the login stay, since whoever has a login
// could wipe out guesses at others with it.
func (b *lockout) succeeded(address net.Addr, login string) {
	if b == nil {
		return
	}
	p := pair{addressKey(address), catalog.Fold(login)}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := entry(b.pairs, p, now)
	*t = failureCount{last: now, known: true}
}

// forgive takes away the failures that time has made up for, and returns how many are left.
func (t *failureCount) forgive(now time.Time) int {
	n := int(now.Sub(t.last) / forgiveInterval)
	if t.last = t.last.Add(time.Duration(n) * forgiveInterval); n >= t.failures {
		t.failures = 0
	} else {
		t.failures -= n
	}
	return t.failures
}

// stale reports a tally that says nothing any more.
func (t *failureCount) stale(now time.Time) bool {
	age := now.Sub(t.last)
	if t.known {
		return age > knownFor
	}
	return age > max(forgetAfter, time.Duration(t.failures)*forgiveInterval) && now.After(t.until)
}

// doubled is d doubled n times, at most limit.
func doubled(d time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 0 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}

// entry finds or makes the tally of a key. Of too many tallies those that are stale go, and if that is not enough those
// that have not changed for longest; those of logins that have logged in go last.
func entry[K comparable](table map[K]*failureCount, key K, now time.Time) *failureCount {
	if t := table[key]; t != nil {
		return t
	}
	if len(table) >= maxEntries {
		type row struct {
			key K
			*failureCount
		}
		var rows []row
		for k, t := range table {
			if t.stale(now) {
				delete(table, k)
			} else {
				rows = append(rows, row{k, t})
			}
		}
		slices.SortFunc(rows, func(x, y row) int {
			if x.known != y.known {
				if x.known {
					return 1
				}
				return -1
			}
			return cmp.Compare(x.last.UnixNano(), y.last.UnixNano())
		})
		for _, r := range rows[:max(0, len(table)-maxEntries*3/4)] {
			delete(table, r.key)
		}
	}
	t := &failureCount{last: now}
	table[key] = t
	return t
}

// LoginFailure is a login that was refused. It holds no password.
type LoginFailure struct {
	// Login is the name as the client sent it, of at most 128 characters. It may hold anything, also what was meant
	// to be the password.
	Login   string
	Address net.Addr // of the client; nil when only Suppressed is set
	Reason  string   // why; the client is not told
	// Locked is for how long the login, or the address, is locked out; 0 if it is not.
	Locked time.Duration
	// Suppressed is how many failures were not reported before this one, because there were too many.
	Suppressed int
}

// How many failed logins are reported: a burst, and one each reportEvery. The number of the others is reported
// after reportRest at the latest.
const (
	reportBurst = 20
	reportEvery = 5 * time.Second
	reportRest  = time.Minute
)

// reporter hands failed logins to the server's owner, not too many of them.
type failureReporter struct {
	tell func(LoginFailure)

	mu         sync.Mutex
	spent      int       // of reportBurst
	since      time.Time // when spent was last brought up to date
	suppressed int
	rest       *time.Timer // reports the number of suppressed ones; nil while there are none
	closed     bool
	running    sync.WaitGroup // one for rest
}

// report reports a failure, or counts it.
func (r *failureReporter) report(f LoginFailure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	now := time.Now()
	if n := int(now.Sub(r.since) / reportEvery); n > 0 {
		r.spent, r.since = max(0, r.spent-n), now
	}
	if r.spent >= reportBurst {
		r.suppressed++
		if r.rest == nil {
			r.running.Add(1)
			r.rest = time.AfterFunc(reportRest, r.flush)
		}
		return
	}
	r.spent++
	f.Suppressed = r.take()
	r.tell(f)
}

// take returns the number of suppressed failures, which will be reported, and stops the timer that would do so. r.mu must be held.
func (r *failureReporter) take() int {
	n := r.suppressed
	r.suppressed = 0
	if r.rest != nil && r.rest.Stop() {
		r.rest = nil
		r.running.Done()
	}
	return n
}

// flush reports the number of suppressed failures. It runs as r.rest.
func (r *failureReporter) flush() {
	defer r.running.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = nil
	if n := r.suppressed; n > 0 {
		r.suppressed = 0
		r.tell(LoginFailure{Reason: "too many failures to report each", Suppressed: n})
	}
}

// close reports what was suppressed and ends the reports.
func (r *failureReporter) close() {
	r.mu.Lock()
	r.closed = true
	if n := r.take(); n > 0 {
		r.tell(LoginFailure{Reason: "too many failures to report each", Suppressed: n})
	}
	r.mu.Unlock()
	r.running.Wait()
}
