package rest

import (
	"bufio"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// versionForm is the form of the api-versions that the log shows.
var versionForm = regexp.MustCompile(`^[0-9A-Za-z.-]{1,32}$`)

// logRequest logs a request in one line. The line has no path, since paths may hold secrets,
// and no body, no token and no query value but api-version.
func (e *exchange) logRequest() {
	r := e.request
	fields := make([]zap.Field, 0, 14)
	fields = append(fields, zap.String("method", printable(r.HTTP.Method)))
	if r.Mount != nil {
		fields = append(fields, zap.String("surface", r.Mount.Surface.Name()))
	}
	if r.Operation != nil {
		fields = append(fields, zap.String("operation", r.Operation.ID))
	}
	fields = append(fields,
		zap.String("route", e.route), zap.Int("status", e.status),
		zap.Float64("ms", float64(time.Since(e.started).Microseconds())/1000),
		zap.Stringer("request_id", r.RequestID), zap.Stringer("correlation_id", r.CorrelationID),
		zap.String("address", r.HTTP.RemoteAddr),
	)
	if r.ClientRequestID != uuid.Nil {
		fields = append(fields, zap.Stringer("client_request_id", r.ClientRequestID))
	}
	if r.Principal.ID != "" {
		fields = append(fields, zap.String("principal", r.Principal.ID))
	}
	if v, ok := r.Query.Get("api-version"); ok && versionForm.MatchString(v) {
		fields = append(fields, zap.String("api_version", v))
	}
	level := zap.InfoLevel
	if e.err != nil {
		fields = append(fields, zap.Error(e.err))
		level = zap.WarnLevel
		if e.status >= http.StatusInternalServerError && e.status != http.StatusServiceUnavailable {
			level = zap.ErrorLevel
		}
	}
	e.server.log.Log(level, "request", fields...)
}

// pass lets a handler outside of the surfaces answer.
func (e *exchange) pass(h http.Handler, path string) {
	r := e.request.HTTP
	if path != r.URL.EscapedPath() {
		// The public URL's path was removed; a handler sees what follows it.
		clone := r.Clone(r.Context())
		clone.URL.Path, clone.URL.RawPath = unescaped(path), path
		r = clone
	}
	h.ServeHTTP(&watched{ResponseWriter: e.w, status: &e.status}, r)
	if e.status == 0 {
		e.status = http.StatusOK
	}
}

// watched notes the status of an answer.
type watched struct {
	http.ResponseWriter
	status *int
}

// WriteHeader implements http.ResponseWriter.
func (w *watched) WriteHeader(status int) {
	*w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController the writer.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack is refused, so that the log has every answer.
func (w *watched) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}
