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

// Limits against password guessing; see [lockout].
const (
	failuresBeforeLock        = 5               // of a login from an address, before the pair is locked out
	failuresBeforeAddressLock = 50              // of an address, over all logins, before the address is locked out
	failuresBeforeDelay       = 50              // of a login, over all addresses, before its checks are delayed
	firstLock                 = time.Second     // doubles with each further failure
	longestLock               = 5 * time.Minute // of a login from an address
	longestAddressLock        = time.Minute     // of an address
	firstDelay                = 100 * time.Millisecond
	longestDelay              = 2 * time.Second  // of an answer; each failure doubles the delay, from firstDelay on
	forgetAfter               = 15 * time.Minute // after the last failure of a login from an address
	forgiveInterval           = 30 * time.Second // one failure of an address, or of a login, expires each interval
	maxEntries                = 10000            // of each of the three tables
	knownFor                  = 7 * 24 * time.Hour
)

// lockout counts failed logins, and decides which logins are delayed or refused. It has three
// counts:
//
//   - of a login from an address: after failuresBeforeLock failures the login is locked out from
//     that address, for longer with each further failure. The same login, sa included, can still
//     log in from every other address.
//   - of an address, over all logins: the address is locked out in the same way, which ends guesses
//     at many logins. Logins that have logged in from the address before are exempt, so that an
//     attacker behind the same address cannot lock them out.
//   - of a login, over all addresses: checks of its password are delayed, never refused.
//
// A locked-out attempt is refused before the password is checked, whether the login exists or not,
// and does not count as a failure. Clients on loopback are told apart by their users where the
// system tells them ([clientKey]), not by their addresses. A lockout is safe for concurrent use; a
// nil lockout permits every attempt.
type lockout struct {
	mu        sync.Mutex
	pairs     map[pair]*failureCount
	addresses map[string]*failureCount
	logins    map[string]*failureCount
}

// pair is a login from an address.
type pair struct{ address, login string }

// failureCount counts the failures of a pair, an address or a login.
type failureCount struct {
	failures int
	last     time.Time // time of the last change of failures, or of the last success
	until    time.Time // end of the lockout
	known    bool      // the pair has logged in
}

// newLockout makes a lockout without failures.
func newLockout() *lockout {
	return &lockout{
		pairs:     map[pair]*failureCount{},
		addresses: map[string]*failureCount{},
		logins:    map[string]*failureCount{},
	}
}

// loopbackKey is the key of all loopback addresses.
const loopbackKey = "loopback"

// addressKey is the key of an address in the counts. An IPv6 address counts as its /64 network,
// which usually belongs to one machine. All loopback addresses have one key.
func addressKey(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.Network()
	}
	ip := at.Addr().Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return loopbackKey
	case ip.Is6():
		network, _ := ip.Prefix(64)
		return network.String()
	}
	return ip.String()
}

// check reports, before a password is checked, whether the login is locked out from the client's
// address; client is its [clientKey]. If it is not, wait is the delay of the check.
func (b *lockout) check(client, login string) (locked bool, wait time.Duration) {
	if b == nil {
		return
	}
	p := pair{client, catalog.Fold(login)}
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

// failed counts a failed login. delay is the delay of its answer. lock is how long the login is
// locked out from the address, 0 if it is not.
func (b *lockout) failed(client, login string) (delay, lock time.Duration) {
	if b == nil {
		return
	}
	p := pair{client, catalog.Fold(login)}
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
		t.until = now.Add(delay + lock) // the lockout begins when the client has the answer
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

// succeeded clears the failures of a login from an address. The counts of the address and of the
// login stay: otherwise the owner of one login could clear the guesses at others by logging in.
func (b *lockout) succeeded(client, login string) {
	if b == nil {
		return
	}
	p := pair{client, catalog.Fold(login)}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	t := entry(b.pairs, p, now)
	*t = failureCount{last: now, known: true}
}

// forgive removes the failures that have expired, and returns how many are left.
func (t *failureCount) forgive(now time.Time) int {
	n := int(now.Sub(t.last) / forgiveInterval)
	if t.last = t.last.Add(time.Duration(n) * forgiveInterval); n >= t.failures {
		t.failures = 0
	} else {
		t.failures -= n
	}
	return t.failures
}

// stale reports whether a count no longer has any effect.
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

// entry finds or makes the count of a key. A full table loses its stale counts, and if that is not
// enough, the counts that are unchanged for longest. Counts of pairs that have logged in are
// removed last.
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
	// Login is the name as the client sent it, at most 128 characters. It may hold anything, even a
	// mistyped password.
	Login   string
	Address net.Addr // of the client; nil when only Suppressed is set
	Reason  string   // the reason, which the client does not see
	// Locked is how long the login, or the address, is locked out; 0 if it is not.
	Locked time.Duration
	// Suppressed is how many failures before this one were not reported, because there were too
	// many.
	Suppressed int
}

// Limits of the reports of failed logins: a burst, and after it one report each reportEvery. The
// number of suppressed failures is reported at most reportRest later.
const (
	reportBurst = 20
	reportEvery = 5 * time.Second
	reportRest  = time.Minute
)

// failureReporter passes failed logins to a function, at a limited rate.
type failureReporter struct {
	tell func(LoginFailure)

	mu         sync.Mutex
	spent      int       // the part of reportBurst in use
	since      time.Time // the last update of spent
	suppressed int
	rest       *time.Timer // timer that calls flush; nil while there are no suppressed failures
	closed     bool
	running    sync.WaitGroup // one for the timer
}

// report reports a failure, or counts it as suppressed.
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

// take resets the number of suppressed failures and returns it; the caller reports it. It stops the
// timer. r.mu must be held.
func (r *failureReporter) take() int {
	n := r.suppressed
	r.suppressed = 0
	if r.rest != nil && r.rest.Stop() {
		r.rest = nil
		r.running.Done()
	}
	return n
}

// flush reports the number of suppressed failures. The timer calls it.
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

// close reports the number of suppressed failures and stops further reports.
func (r *failureReporter) close() {
	r.mu.Lock()
	r.closed = true
	if n := r.take(); n > 0 {
		r.tell(LoginFailure{Reason: "too many failures to report each", Suppressed: n})
	}
	r.mu.Unlock()
	r.running.Wait()
}
