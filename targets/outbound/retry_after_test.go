package outbound

import (
	"net/http"
	"testing"
	"time"
)

// FuzzRetryAfter: the wait is never negative and never longer than maxRetryAfter.
func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"", "0", "120", "-1", "1.5", "99999999999999999999", "Wed, 21 Oct 2015 07:28:00 GMT", " 5 ", "0x10", "１"} {
		f.Add(text, "Wed, 21 Oct 2015 07:27:00 GMT")
		f.Add(text, "")
	}
	now := time.Date(2015, 10, 21, 7, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text, date string) {
		h := http.Header{"Retry-After": {text}, "Date": {date}}
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			if wait := RetryAfter(status, h, now); wait < 0 || wait > maxRetryAfter {
				t.Errorf("%q: %v", text, wait)
			}
		}
		if wait := RetryAfter(http.StatusInternalServerError, h, now); wait != 0 {
			t.Errorf("%q: %v after another status", text, wait)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2015, 10, 21, 7, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text, date string
		want       time.Duration
	}{
		{"120", "", 2 * time.Minute},
		{" 120 ", "", 2 * time.Minute},
		{"0", "", 0},
		{"", "", 0},
		{"-5", "", 0},
		{"5s", "", 0},
		{"1.5", "", 0},
		{"2147483647", "", maxRetryAfter},
		{"99999999999999999999", "", 0},
		{"Wed, 21 Oct 2015 07:28:00 GMT", "", 28 * time.Minute},
		{"Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:27:00 GMT", time.Minute}, // by the server's clock
		{"Wednesday, 21-Oct-15 07:28:00 GMT", "", 28 * time.Minute},
		{"Wed, 21 Oct 2015 06:28:00 GMT", "", 0},
		{"Wed, 21 Oct 2015", "", 0},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.text)
		h.Set("Date", c.date)
		if got := RetryAfter(http.StatusTooManyRequests, h, now); got != c.want {
			t.Errorf("%q, %q: got %v, want %v", c.text, c.date, got, c.want)
		}
	}
}
