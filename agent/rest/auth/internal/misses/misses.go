// Package misses slows down the guessing of passwords and secrets.
package misses

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	// Window is the time in which failures are counted.
	Window = time.Minute
	// MaxPerUser is how many failures an address may have for one user in a window, and
	// MaxPerAddress for all users together.
	MaxPerUser, MaxPerAddress = 10, 60
	// maxEntries bounds the memory of a Counter.
	maxEntries = 20_000
)

// Counter counts failures by network address and user. An address that has used up its failures
// waits for the next window. Others are not affected: nobody can lock out another one's address. It
// is safe for concurrent use; the zero value is ready.
type Counter struct {
	mu        sync.Mutex
	since     time.Time // when the current window began
	users     map[key]int
	addresses map[netip.Prefix]int
}

type key struct {
	from netip.Prefix
	user string
}

// origin returns the network that an address is counted for: an IPv4 address, or the 64 bits of an
// IPv6 network, whose hosts choose their addresses themselves.
func origin(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// Wait returns how long the sender of a request, host:port, has to wait; 0 means not at all.
func (c *Counter) Wait(remote, user string, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(now)
	from := origin(remote)
	if c.users[key{from, cut(user)}] < MaxPerUser && c.addresses[from] < MaxPerAddress {
		return 0
	}
	return max(c.since.Add(Window).Sub(now), time.Second)
}

// Add counts a failure.
func (c *Counter) Add(remote, user string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(now)
	from := origin(remote)
	if k := (key{from, cut(user)}); c.users[k] > 0 || len(c.users) < maxEntries {
		c.users[k]++
	}
	if c.addresses[from] > 0 || len(c.addresses) < maxEntries {
		c.addresses[from]++
	}
}

// cut bounds the memory that the name of a user takes.
func cut(user string) string {
	if len(user) > 128 {
		user = strings.Clone(user[:128])
	}
	return user
}

// turn begins a new window when the current one has passed. c.mu must be held.
func (c *Counter) turn(now time.Time) {
	if c.users == nil || now.Sub(c.since) >= Window {
		c.since, c.users, c.addresses = now, map[key]int{}, map[netip.Prefix]int{}
	}
}
