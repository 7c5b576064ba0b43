package rest

import "net/http"

// Limits bounds the requests of one caller. The zero value means no limit.
type Limits struct{}

// limiter counts the requests of callers.
type limiter struct{}

func newLimiter(Limits) *limiter { return &limiter{} }

// take counts a request, and sets the headers about what is left.
func (l *limiter) take(http.Header, *Request) error { return nil }
