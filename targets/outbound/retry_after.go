package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds the wait that an answer asks for.
const maxRetryAfter = 366 * 24 * time.Hour

// RetryAfter returns the wait that an answer with status 429 or 503 asks for (RFC 9110, 10.2.3):
// seconds, or a date that is compared with the server's own clock if the answer tells it. A value
// that is past or unreadable is ignored.
func RetryAfter(status int, h http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if server, err := http.ParseTime(h.Get("Date")); err == nil {
		now = server
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
