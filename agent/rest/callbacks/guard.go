package callbacks

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// maxMisses is how many requests with an unknown token an address may make in missWindow.
	maxMisses  = 60
	missWindow = time.Minute
	// maxAddresses bounds the memory of a misses.
	maxAddresses = 10_000
)

// misses counts requests with unknown tokens by address. An address that has used them up waits for
// the next window, so that guessing costs the control database little. It is safe for concurrent
// use.
type misses struct {
	mu      sync.Mutex
	since   time.Time // when the current window began
	counted map[netip.Prefix]int
}

// exceeded reports whether an address has used up its misses, and how long it has to wait.
func (m *misses) exceeded(from netip.Prefix, now time.Time) (wait time.Duration, exceeded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn(now)
	if m.counted[from] < maxMisses {
		return 0, false
	}
	return m.since.Add(missWindow).Sub(now), true
}

// add counts a miss.
func (m *misses) add(from netip.Prefix, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn(now)
	if _, known := m.counted[from]; known || len(m.counted) < maxAddresses {
		m.counted[from]++
	}
}

// turn begins a new window when the current one has passed. m.mu must be held.
func (m *misses) turn(now time.Time) {
	if m.counted == nil || now.Sub(m.since) >= missWindow {
		m.since, m.counted = now, map[netip.Prefix]int{}
	}
}
