package rest

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bounds the requests of each caller. The zero value means no limit.
type Limits struct {
	Reads, Writes, Deletes Limit
}

// Limit is a token bucket: Burst requests at once, and PerHour in the long run. The zero value
// means no limit.
type Limit struct {
	PerHour float64
	Burst   float64
}

// DefaultLimits are those of Azure Resource Manager.
func DefaultLimits() Limits {
	return Limits{
		Reads: Limit{PerHour: 12_000, Burst: 720}, Writes: Limit{PerHour: 1_200, Burst: 180}, Deletes: Limit{PerHour: 15_000, Burst: 15_000},
	}
}

// mostCallers is the number of callers beyond which those with full buckets are forgotten.
const mostCallers = 10_000

// The kinds of requests that are limited.
const (
	kindRead = iota
	kindWrite
	kindDelete
	kinds
)

// limiter counts the requests of callers.
type limiter struct {
	limits [kinds]Limit

	mu      sync.Mutex
	callers map[string]*[kinds]bucket
}

func newLimiter(l Limits) *limiter {
	return &limiter{limits: [kinds]Limit{l.Reads, l.Writes, l.Deletes}, callers: map[string]*[kinds]bucket{}}
}

// bucket holds what a caller has left: of the burst, and of the hour. The rest of the hour is for
// headers only: it fills as fast as the burst, and has a higher limit.
type bucket struct{ burst, hour *rate.Limiter }

// newBucket returns a full bucket.
func newBucket(l Limit) bucket {
	perSecond := rate.Limit(l.PerHour / time.Hour.Seconds())
	return bucket{burst: rate.NewLimiter(perSecond, int(l.Burst)), hour: rate.NewLimiter(perSecond, int(l.PerHour))}
}

// kindOf returns the kind of a request.
func kindOf(method string) int {
	switch method {
	case http.MethodGet, http.MethodHead:
		return kindRead
	case http.MethodDelete:
		return kindDelete
	default:
		return kindWrite
	}
}

// take counts a request, and sets the headers about what is left. It returns an error if nothing is
// left.
func (l *limiter) take(header http.Header, r *Request) error {
	kind := kindOf(r.HTTP.Method)
	limit := l.limits[kind]
	if limit.PerHour <= 0 || r.Principal.ID == "" {
		return nil
	}
	rest, wait := l.spend(r.Principal.ID, kind, r.received)
	if wait > 0 {
		return &Error{
			Status: http.StatusTooManyRequests, Code: CodeTooManyRequests, RetryAfter: wait,
			Message: fmt.Sprintf("The caller has made too many requests: at most %.0f at once, and %.0f an hour. Try again later.",
				limit.Burst, limit.PerHour),
		}
	}
	setLimitHeaders(header, r, kind, limit, rest)
	return nil
}

// spend takes one request from a caller's bucket. If it is empty, spend returns how long to wait.
func (l *limiter) spend(caller string, kind int, now time.Time) (rest left, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	buckets := l.callers[caller]
	if buckets == nil {
		if len(l.callers) >= mostCallers {
			l.forget(now)
		}
		buckets = new([kinds]bucket)
		for kind, limit := range l.limits {
			buckets[kind] = newBucket(limit)
		}
		l.callers[caller] = buckets
	}
	b := buckets[kind]
	if !b.burst.AllowN(now, 1) {
		return left{}, max(time.Second, time.Duration((1-b.burst.TokensAt(now))/float64(b.burst.Limit())*float64(time.Second)))
	}
	b.hour.AllowN(now, 1)
	return left{burst: b.burst.TokensAt(now), hour: b.hour.TokensAt(now)}, 0
}

// left is what a caller has left after a request.
type left struct{ burst, hour float64 }

// forget forgets the callers whose buckets are full. l.mu must be held.
func (l *limiter) forget(now time.Time) {
	for caller, buckets := range l.callers {
		full := true
		for _, b := range buckets {
			full = full && b.burst.TokensAt(now) >= float64(b.burst.Burst())
		}
		if full {
			delete(l.callers, caller)
		}
	}
}

// setLimitHeaders sets the headers about what is left. Those of Azure Scheduler differ.
func setLimitHeaders(header http.Header, r *Request, kind int, limit Limit, rest left) {
	const prefix = "X-Ms-Ratelimit-Remaining-Subscription-"
	set := func(name string, value float64) { header.Set(name, strconv.Itoa(int(math.Floor(value)))) }
	scheduler := r.Mount.Surface.Name() == "scheduler"
	switch kind {
	case kindRead:
		set(prefix+"Reads", rest.hour)
		if scheduler {
			set("X-Ms-Ratelimit-Burst-Remaining-Scheduler-Reads", rest.burst)
		}
	case kindDelete:
		set(prefix+"Deletes", rest.hour)
	case kindWrite:
		if !scheduler {
			set(prefix+"Writes", rest.hour)
			return
		}
		// Azure showed a share of 300 for collections and of 600 for jobs.
		share := 300.0
		if strings.Contains(r.Operation.Path, "/jobs") {
			share = 600
		}
		set(prefix+"Resource-Requests", rest.hour/limit.PerHour*share)
		set("X-Ms-Ratelimit-Burst-Remaining-Scheduler-Writes", rest.burst)
	}
}
