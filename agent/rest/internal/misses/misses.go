// Package misses slows down the guessing of passwords and secrets. A [Counter] refuses guesses; a
// [Gate] bounds what they cost. Secrets of 256 random bits need no Counter: nobody guesses them,
// and whoever has one must not be refused because of others.
package misses

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/jobagent/jobagent/agent/rest/internal/listen"
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
// waits for the next window; other addresses do not. After one success of a user from an address,
// this user is refused there only for failures of the same user. A Counter is safe for concurrent
// use; the zero value is ready.
type Counter struct {
	mu        sync.Mutex
	since     time.Time // when the current window began
	users     map[key]int
	addresses map[netip.Prefix]int
	right     map[key]struct{} // users with a success, of all windows
}

type key struct {
	from netip.Prefix
	user string
}

// Wait returns how long the sender of a request, host:port, has to wait; 0 means not at all.
func (c *Counter) Wait(remote, user string, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(now)
	from := listen.Network(remote)
	k := key{from, cut(user)}
	_, right := c.right[k]
	if c.users[k] < MaxPerUser && (right || c.addresses[from] < MaxPerAddress) {
		return 0
	}
	return max(c.since.Add(Window).Sub(now), time.Second)
}

// Add counts a failure.
func (c *Counter) Add(remote, user string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(now)
	from := listen.Network(remote)
	if k := (key{from, cut(user)}); c.users[k] > 0 || len(c.users) < maxEntries {
		c.users[k]++
	}
	if c.addresses[from] > 0 || len(c.addresses) < maxEntries {
		c.addresses[from]++
	}
}

// Right records a success of a user from an address.
func (c *Counter) Right(remote, user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.right == nil {
		c.right = map[key]struct{}{}
	}
	k := key{listen.Network(remote), cut(user)}
	if _, known := c.right[k]; !known && len(c.right) < maxEntries {
		k.user = strings.Clone(k.user) // not the request that it is part of
		c.right[k] = struct{}{}
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
