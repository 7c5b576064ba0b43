// Package backoff computes how long to wait after repeated errors.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Exponential doubles a delay from Min to Max with each call of Next, and takes a random part of it
// ("equal jitter": half fixed, half random), so that agents which lost the same server do not come
// back to it in step. The zero value is not usable; it is not safe for concurrent use.
type Exponential struct {
	Min, Max time.Duration
	failures int
}

// Next returns the delay before the next try.
func (b *Exponential) Next() time.Duration {
	d := b.Max
	if b.failures < 30 && b.Min<<b.failures < b.Max {
		d = b.Min << b.failures
	}
	b.failures++
	return d/2 + rand.N(d/2+1)
}

// Reset makes the next delay the smallest again; called after a success.
func (b *Exponential) Reset() { b.failures = 0 }

// Failures is how often Next was called since the last Reset.
func (b *Exponential) Failures() int { return b.failures }

// Jittered returns d, give or take a tenth, so that the loops of several agents drift apart.
func Jittered(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}
