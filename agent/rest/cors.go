package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// exposed are the headers that scripts of other origins may read.
const exposed = "Location, Azure-AsyncOperation, Retry-After, ETag, WWW-Authenticate, x-ms-request-id, x-ms-correlation-request-id, " +
	"x-ms-routing-request-id, x-ms-client-request-id, x-ms-error-code, x-ms-failure-cause, " +
	"x-ms-ratelimit-remaining-subscription-reads, x-ms-ratelimit-remaining-subscription-writes, " +
	"x-ms-ratelimit-remaining-subscription-deletes, x-ms-ratelimit-remaining-subscription-resource-requests, " +
	"x-ms-ratelimit-burst-remaining-scheduler-reads, x-ms-ratelimit-burst-remaining-scheduler-writes"

// cors sets the headers for an allowed origin. It returns true after it has answered a preflight
// request. Credentials of the browser are not allowed: callers send a token.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.cfg.CORSOrigins) == 0 {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(s.cfg.CORSOrigins, "*") && !slices.Contains(s.cfg.CORSOrigins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", exposed)
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || method == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, PUT, POST, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", allowedHeaders(r.Header.Get("Access-Control-Request-Headers")))
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// allowedHeaders returns which of the headers that a script wants to send it may send.
func allowedHeaders(wanted string) string {
	var list []string
	for name := range strings.SplitSeq(wanted, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case slices.Contains([]string{"authorization", "content-type", "accept", "accept-language", "if-match", "if-none-match", "idempotency-key"}, name),
			strings.HasPrefix(name, "x-ms-"):
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// unescaped returns a path for URL.Path.
func unescaped(path string) string {
	if text, err := url.PathUnescape(path); err == nil {
		return text
	}
	return path
}
