package sap

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/jobagent/jobagent/agent/rest"
)

// limits are numbers of requests a minute.
type limits struct{ throttle, deny int }

// The default limits (S-64).
var (
	defaultTenant = limits{throttle: 300, deny: 600}
	defaultTotal  = limits{throttle: 2000, deny: 5000}
)

const (
	// maxDelay bounds the delay of an answer by one limit.
	maxDelay = 5 * time.Second
	// maxTenants bounds the memory of a buckets.
	maxTenants = 10_000
	// reportOperation is E17, which the limit of a tenant never refuses: the application's work is
	// done, and would be unknown.
	reportOperation = "RunLogs_Update"
)

// bucket counts requests: a bucket of tokens that is filled again within a minute. It is safe for
// concurrent use.
type bucket struct {
	throttle, deny float64

	mu     sync.Mutex    // one request at a time reads and takes
	tokens *rate.Limiter // of the larger limit
}

func newBucket(l RateLimit) *bucket {
	most := max(*l.Deny, *l.Throttle)
	return &bucket{throttle: float64(*l.Throttle), deny: float64(*l.Deny), tokens: rate.NewLimiter(rate.Limit(float64(most)/60), most)}
}

// take counts a request. It returns how long the answer is delayed, or, if the request is refused,
// after what time a request is allowed again. A forced request is never refused.
func (b *bucket) take(now time.Time, force bool) (delay, wait time.Duration, allowed bool) {
	most := float64(b.tokens.Burst())
	if most == 0 {
		return 0, 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	used := most - b.tokens.TokensAt(now) + 1
	if b.deny > 0 && used > b.deny && !force {
		return 0, time.Duration((used - b.deny) / float64(b.tokens.Limit()) * float64(time.Second)), false
	}
	if used <= most+1 {
		b.tokens.ReserveN(now, 1)
	}
	if over := used - b.throttle; b.throttle > 0 && over > 0 {
		share := 1.0
		if b.deny > b.throttle {
			share = min(1, over/(b.deny-b.throttle))
		}
		delay = time.Duration(share * float64(maxDelay)).Round(time.Millisecond)
	}
	return delay, 0, true
}

// idle reports whether the bucket is full again, so that it can be forgotten.
func (b *bucket) idle(now time.Time) bool {
	return b.tokens.TokensAt(now) >= float64(b.tokens.Burst())
}

// buckets has a bucket for each tenant.
type buckets struct {
	limit RateLimit

	mu   sync.Mutex
	list map[string]*bucket
}

func newBuckets(l RateLimit) *buckets { return &buckets{limit: l, list: map[string]*bucket{}} }

func (b *buckets) of(tenant string, now time.Time) *bucket {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.list[tenant]; one != nil {
		return one
	}
	if len(b.list) >= maxTenants {
		for name, one := range b.list {
			if one.idle(now) {
				delete(b.list, name)
			}
		}
	}
	one := newBucket(b.limit)
	if len(b.list) < maxTenants {
		b.list[tenant] = one
	}
	return one
}

// throttle delays or refuses a request (S-64). The header says by how much the answer was delayed.
func (s *Surface) throttle(ctx context.Context, id string, c *call) (http.Header, error) {
	now := time.Now()
	// The tenant's limit is first: what it refuses must not use up the limit of all tenants.
	delay, wait, allowed := c.service.tenants.of(c.tenant, now).take(now, id == reportOperation)
	if !allowed {
		return nil, refused(http.StatusTooManyRequests, rest.CodeTooManyRequests, wait)
	}
	more, wait, allowed := s.total.take(now, false)
	if !allowed {
		return nil, refused(http.StatusServiceUnavailable, rest.CodeUnavailable, wait)
	}
	if delay += more; delay == 0 {
		return nil, nil
	}
	timer := time.NewTimer(min(delay, maxDelay))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.HTTP.Context().Done(): // nobody waits for the answer
	case <-ctx.Done():
	}
	return http.Header{"Throttling": {strconv.FormatInt(min(delay, maxDelay).Milliseconds(), 10)}}, nil
}

// refused returns the answer to a request beyond a limit. SAP's client waits for Retry-After, which
// must be 1 to 59 seconds (S-3).
func refused(status int, code rest.Code, wait time.Duration) error {
	seconds := min(max(math.Ceil(wait.Seconds()), 1), 59)
	return &rest.Error{Status: status, Code: code, Message: errorMessages[status], RetryAfter: time.Duration(seconds) * time.Second}
}
