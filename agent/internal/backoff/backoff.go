// Package backoff computes delays after repeated errors.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Exponential doubles a delay from Min to Max with each call of Next. Half of the delay is fixed
// and half is random ("equal jitter"), so that agents which lost the same server do not retry in
// step. The zero value is not usable. Exponential is not safe for concurrent use.
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

// Reset makes the next delay the smallest again. Call it after a success.
func (b *Exponential) Reset() { b.failures = 0 }

// Jittered returns d plus or minus up to a tenth, so that the loops of several agents do not run in
// step.
func Jittered(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}
