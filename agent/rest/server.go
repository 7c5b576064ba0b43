package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/dberror"
)

const (
	// maxBody bounds a body in bytes, unless a mount or an operation says otherwise.
	maxBody = 4 << 20
	// requestTime bounds the time of a request.
	requestTime = 30 * time.Second
	// retryAfter is the value of Retry-After while the control database is away.
	retryAfter = 5 * time.Second
)

// Config configures a [Server].
type Config struct {
	// Mounts are the surfaces. If the paths of two surfaces begin alike, the first one answers for
	// unknown paths below.
	Mounts []*Mount
	// Handlers answer paths outside of the surfaces.
	Handlers []Handler
	// Home is the path to which a GET of "/", and of Home without its last slash, is redirected;
	// empty means none.
	Home string
	// Authenticator and Authorizer are not needed if all operations are of RoleNone.
	Authenticator Authenticator
	Authorizer    Authorizer
	// PublicURL is the front's address as seen by clients. Its path is a prefix of all paths that
	// a reverse proxy may have removed.
	PublicURL string
	// Region is the first part of x-ms-routing-request-id.
	Region string
	// CORSOrigins are the origins whose scripts may call the front; "*" means any.
	CORSOrigins []string
	// Observer gets each request; nil: requests are not observed.
	Observer Observer
	Log      *zap.Logger
}

// Observer gets the requests of a server. It is called by many goroutines at once, and must not
// block.
type Observer interface {
	// Answered is called when a request has ended. surface is empty outside of the surfaces.
	// operation is the ID of the operation, the prefix of a handler, or empty for an unknown path.
	Answered(surface, operation string, status int, elapsed time.Duration)
}

// Mount is a surface in a server.
type Mount struct {
	Surface Surface
	// ARM says that answers have the headers of Azure Resource Manager, and that its limits apply.
	ARM bool
	// Limits bounds the requests of a caller; the zero value means no limit. Mounts with the same
	// limits count a caller's requests together.
	Limits Limits
	// MaxBody bounds bodies in bytes; 0 means 4 MiB.
	MaxBody int64
	// Timeout bounds the time of a request; 0 means 30 s.
	Timeout time.Duration

	limiter *limiter
}

// Handler answers all paths that begin with a prefix.
type Handler struct {
	// Prefix begins and ends with a slash. The log names it as the route.
	Prefix  string
	Handler http.Handler
}

// Server answers the requests of all surfaces. It is an http.Handler.
type Server struct {
	cfg        Config
	routes     *routes
	publicURL  string
	publicPath string // of publicURL; empty, or with a slash before and none behind
	log        *zap.Logger
}

// New returns a server. It returns an error if operations contradict each other.
func New(cfg Config) (*Server, error) {
	routes, err := newRoutes(cfg.Mounts)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("invalid public URL: %w", err)
	}
	for _, h := range cfg.Handlers {
		if !strings.HasPrefix(h.Prefix, "/") || !strings.HasSuffix(h.Prefix, "/") {
			return nil, fmt.Errorf("invalid prefix %q of a handler: want slashes around it", h.Prefix)
		}
	}
	limiters := map[Limits]*limiter{} // mounts with the same limits count together
	for _, m := range cfg.Mounts {
		if limiters[m.Limits] == nil {
			limiters[m.Limits] = newLimiter(m.Limits)
		}
		m.limiter = limiters[m.Limits]
		for _, op := range m.Surface.Operations() {
			if op.needsCaller() && (cfg.Authenticator == nil || cfg.Authorizer == nil) {
				return nil, fmt.Errorf("operation %s of surface %s needs authentication", op.ID, m.Surface.Name())
			}
		}
	}
	return &Server{
		cfg: cfg, routes: routes, log: cfg.Log,
		publicURL: strings.TrimSuffix(cfg.PublicURL, "/"), publicPath: strings.TrimSuffix(u.EscapedPath(), "/"),
	}, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	now := time.Now()
	e := &exchange{server: s, started: now, w: w, request: &Request{
		received: now, HTTP: h, RequestID: uuid.New(), CorrelationID: guid(h.Header.Get("x-ms-correlation-request-id")),
		ClientRequestID: guid(h.Header.Get("x-ms-client-request-id")), PublicURL: s.publicURL,
	}}
	if e.request.CorrelationID == uuid.Nil {
		e.request.CorrelationID = uuid.New()
	}
	defer e.end()
	path := h.URL.EscapedPath()
	if s.publicPath != "" && (path == s.publicPath || strings.HasPrefix(path, s.publicPath+"/")) {
		path = strings.TrimPrefix(path, s.publicPath)
	}
	if s.cors(w, h) {
		e.status, e.route = http.StatusNoContent, "CORS preflight"
		return
	}
	if home := s.cfg.Home; home != "" && (path == "" || path == "/" || path+"/" == home) && (h.Method == http.MethodGet || h.Method == http.MethodHead) {
		e.status, e.route = http.StatusFound, "/"
		http.Redirect(w, h, s.publicPath+home, http.StatusFound)
		return
	}
	for _, one := range s.cfg.Handlers {
		if strings.HasPrefix(path, one.Prefix) {
			e.route = one.Prefix
			e.pass(one.Handler, path)
			return
		}
	}
	e.answer(e.handle(path))
}

// guid parses a GUID; the result is zero if the text is not a GUID.
func guid(text string) uuid.UUID {
	if len(text) != 36 { // uuid.Parse takes more forms
		return uuid.Nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// exchange is one request and its answer.
type exchange struct {
	server  *Server
	started time.Time
	w       http.ResponseWriter
	request *Request

	route    string // for the log
	status   int    // of the answer; 0: none was written
	err      error  // that the client was not told, or that prevented the answer
	detached context.CancelFunc
}

// handle finds and carries out the operation of a request.
func (e *exchange) handle(path string) (*Response, error) {
	r, s := e.request, e.server
	m := s.routes.find(r.HTTP.Method, path)
	if m.operation == nil && r.HTTP.Method == http.MethodHead {
		m = s.routes.find(http.MethodGet, path) // the answer without its body
	}
	r.Mount, r.Operation, r.Path = m.mount, m.operation, m.path
	if m.operation == nil {
		return nil, e.unknown(m)
	}
	e.route = m.operation.Path
	var err error
	if r.Query, err = parseQuery(r.HTTP.URL.RawQuery); err != nil {
		return nil, err
	}
	if m.mount.ARM {
		if r.Query, err = r.Query.canonical(m.operation); err != nil {
			return nil, err
		}
	}
	if err := m.mount.Surface.Check(r); err != nil {
		return nil, err
	}
	r.Scope = scopeOf(m.path)
	if err := e.admit(); err != nil {
		return nil, err
	}
	if err := m.mount.limiter.take(e.w.Header(), r); err != nil {
		return nil, err
	}
	if err := e.readBody(); err != nil {
		return nil, err
	}
	return m.operation.Handle(e.context(), r)
}

// unknown returns the error about a path or a method without operation.
func (e *exchange) unknown(m match) error {
	if m.fault != "" {
		return &Error{Status: http.StatusBadRequest, Code: CodeInvalidPath, Message: m.fault}
	}
	if slices.Contains(m.allow, http.MethodGet) && !slices.Contains(m.allow, http.MethodHead) {
		m.allow = slices.Sorted(slices.Values(append(m.allow, http.MethodHead)))
	}
	if len(m.allow) > 0 {
		allow := strings.Join(m.allow, ", ")
		return &Error{
			Status: http.StatusMethodNotAllowed, Code: CodeMethodNotAllowed, Header: http.Header{"Allow": {allow}},
			Message: fmt.Sprintf("The method %s is not supported here; supported: %s.", printable(e.request.HTTP.Method), allow),
		}
	}
	return &Error{Status: http.StatusNotFound, Code: CodeUnknownPath, Message: "There is no resource of this type: the path is unknown."}
}

// printable shortens a text of the client for a message.
func printable(text string) string {
	if len(text) > 20 {
		text = text[:20]
	}
	return strings.Map(func(r rune) rune {
		if r < 'A' || r > 'z' {
			return '?'
		}
		return r
	}, text)
}

// scopeOf returns the scope that the parameters of a path name.
func scopeOf(path map[string]string) Scope {
	return Scope{
		Subscription: path["subscription"], ResourceGroup: path["resourceGroup"], Server: path["server"],
		Agent: path["agent"], Collection: path["collection"], Instance: path["instance"],
	}
}

// admit authenticates the caller, and checks the caller's role.
func (e *exchange) admit() error {
	r, s := e.request, e.server
	if !r.Operation.needsCaller() {
		return nil
	}
	var err error
	if r.Principal, err = s.cfg.Authenticator.Authenticate(r); err != nil {
		return err
	}
	if r.Proof != "" {
		e.w.Header().Set("WWW-Authenticate", r.Proof)
	}
	if r.Scope.Instance == "" {
		r.Scope.Instance = r.Principal.Instance
	}
	surface := r.Mount.Surface.Name()
	r.Role = s.cfg.Authorizer.Role(r.Principal, surface, r.Scope)
	err = r.Require(r.Operation.Role)
	if err == nil || r.Role != RoleNone {
		return err
	}
	// Callers without any role on the server do not learn what exists there.
	place := Scope{
		Subscription: r.Scope.Subscription, ResourceGroup: r.Scope.ResourceGroup, Server: r.Scope.Server, Instance: r.Scope.Instance,
	}
	if place != (Scope{}) && !s.cfg.Authorizer.Sees(r.Principal, surface, place) {
		return &Error{Status: http.StatusNotFound, Code: CodeHidden, Message: "The resource was not found."}
	}
	return err
}

// readBody reads the body. A body that is longer than allowed is refused.
func (e *exchange) readBody() error {
	r := e.request
	limit := r.Operation.MaxBody
	if limit == 0 {
		limit = r.Mount.MaxBody
	}
	if limit == 0 {
		limit = maxBody
	}
	tooLarge := &Error{
		Status: http.StatusRequestEntityTooLarge, Code: CodeBodyTooLarge,
		Message: fmt.Sprintf("The request is too large: the body may have at most %d bytes.", limit),
	}
	if r.HTTP.ContentLength > limit {
		e.w.Header().Set("Connection", "close") // the body is not read
		return tooLarge
	}
	if r.HTTP.Body == nil || r.HTTP.ContentLength == 0 {
		return nil
	}
	if err := e.checkMedia(); err != nil {
		return err
	}
	var err error
	r.Body, err = io.ReadAll(http.MaxBytesReader(e.w, r.HTTP.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge
	case err != nil:
		e.err = err
		return &Error{Status: http.StatusBadRequest, Code: CodeBodyNotRead, Message: "The body of the request could not be read to its end."}
	}
	return nil
}

// checkMedia refuses a body in a form that no operation reads. A body of the ARM surfaces without a
// Content-Type is read as JSON.
func (e *exchange) checkMedia() error {
	r := e.request
	refuse := func(header, want string) error {
		e.w.Header().Set("Connection", "close") // the body is not read
		return &Error{
			Status: http.StatusUnsupportedMediaType, Code: CodeUnsupportedMedia,
			Message: fmt.Sprintf("The header %s of the request is not supported: want %s.", header, want),
		}
	}
	if coding := r.HTTP.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return refuse("Content-Encoding", "none")
	}
	text := r.HTTP.Header.Get("Content-Type")
	if text == "" || !r.Mount.ARM || r.Operation.Body == nil {
		return nil
	}
	media, _, err := mime.ParseMediaType(text)
	if err != nil || !strings.HasSuffix(media, "/json") && !strings.HasSuffix(media, "+json") {
		return refuse("Content-Type", "application/json")
	}
	return nil
}

// context returns the context of the handler. A request that changes something is not abandoned
// when the client goes away: its outcome would be unknown.
func (e *exchange) context() context.Context {
	r := e.request
	ctx := r.HTTP.Context()
	if r.HTTP.Method != http.MethodGet && r.HTTP.Method != http.MethodHead {
		ctx = context.WithoutCancel(ctx)
	}
	limit := r.Mount.Timeout
	if limit == 0 {
		limit = requestTime
	}
	ctx, e.detached = context.WithTimeout(ctx, limit)
	if !r.Operation.needsCaller() {
		return ctx
	}
	who := r.Principal.Caller(r.Role, r.HTTP.RemoteAddr)
	who.Door, who.CorrelationID, who.TraceParent = caller.DoorREST, r.CorrelationID, traceParent(r.HTTP.Header)
	return caller.With(ctx, who)
}

// traceParent returns the header traceparent of a request (W3C Trace Context); empty if it has none
// of version 00, the only one whose form is known.
func traceParent(h http.Header) string {
	text := h.Get("Traceparent")
	if len(text) != len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") || !strings.HasPrefix(text, "00-") {
		return ""
	}
	return text
}

// answer writes the answer.
func (e *exchange) answer(response *Response, err error) {
	if err != nil {
		response = e.failure(err)
	}
	if response == nil {
		response = &Response{Status: http.StatusNoContent}
	}
	body, contentType, encodeErr := encode(response.Body)
	if encodeErr != nil {
		e.err = encodeErr
		response = e.failure(encodeErr)
		body, contentType, _ = encode(response.Body)
	}
	header := e.w.Header()
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	for name, values := range response.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	e.stamp(header)
	if e.unchanged(response) {
		header.Del("Content-Type")
		body, response.Status = nil, http.StatusNotModified
	}
	if response.Status != http.StatusNoContent && response.Status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	e.status = response.Status
	e.w.WriteHeader(response.Status)
	if len(body) > 0 && e.request.HTTP.Method != http.MethodHead {
		_, err = e.w.Write(body)
	} else {
		err = nil
	}
	if response.Sent != nil {
		if err == nil {
			err = http.NewResponseController(e.w).Flush()
		}
		if err == nil {
			err = e.request.HTTP.Context().Err() // the client has closed the connection
		}
		response.Sent(err)
	}
}

// unchanged reports whether the client has the answer to a GET already (RFC 9110, 13.1.2: tags are
// compared weakly).
func (e *exchange) unchanged(response *Response) bool {
	h := e.request.HTTP
	tag := strings.TrimPrefix(e.w.Header().Get("ETag"), "W/")
	if tag == "" || response.Status != http.StatusOK || h.Method != http.MethodGet && h.Method != http.MethodHead {
		return false
	}
	for _, line := range h.Header.Values("If-None-Match") {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

func encode(body any) (text []byte, contentType string, err error) {
	const typeJSON = "application/json; charset=utf-8"
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case []byte:
		return b, typeJSON, nil
	case json.RawMessage:
		return b, typeJSON, nil
	}
	var buffer strings.Builder
	enc := json.NewEncoder(&buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, "", fmt.Errorf("encode the answer: %w", err)
	}
	return []byte(strings.TrimSuffix(buffer.String(), "\n")), typeJSON, nil
}

// failure returns the answer to a request that failed.
func (e *exchange) failure(err error) *Response {
	r := e.request
	var known *Error
	if !errors.As(err, &known) {
		e.err = err
		if unavailable(err) {
			known = &Error{
				Status: http.StatusServiceUnavailable, Code: CodeUnavailable, RetryAfter: retryAfter,
				Message: "The control database cannot be reached. Try again later.",
			}
			if errors.Is(err, dberror.ErrNotInstalled) || errors.Is(err, dberror.ErrSchemaVersion) {
				known.Message = "The control database has no schema that this front can use. Try again later."
			}
			err = known
		}
	}
	response := e.surfaceFailure(err)
	if known != nil {
		if response.Header == nil {
			response.Header = http.Header{}
		}
		for name, values := range known.Header {
			response.Header[http.CanonicalHeaderKey(name)] = values
		}
		if known.RetryAfter > 0 {
			response.Header.Set("Retry-After", strconv.Itoa(int((known.RetryAfter+time.Second-1)/time.Second)))
		}
		if r.Mount != nil && r.Mount.ARM && known.Code == CodeUnknownPath {
			response.Header.Set("X-Ms-Failure-Cause", "gateway")
		}
	}
	return response
}

// surfaceFailure returns the surface's answer to an error, or a plain one outside of the surfaces.
func (e *exchange) surfaceFailure(err error) *Response {
	if m := e.request.Mount; m != nil {
		if response := m.Surface.Failure(e.request, err); response != nil {
			return response
		}
	}
	return ARMFailure(err)
}

// unavailable reports whether an error of controldb means that the database cannot be used now.
func unavailable(err error) bool {
	return dberror.IsTransient(err) || slices.ContainsFunc([]error{
		dberror.ErrUnreachable, dberror.ErrLoginFailed, dberror.ErrNotInstalled, dberror.ErrSchemaVersion,
		context.DeadlineExceeded, context.Canceled,
	}, func(one error) bool { return errors.Is(err, one) })
}

// end answers a request whose handling panicked, and logs the request.
func (e *exchange) end() {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler { //nolint:errorlint // a panic's value, compared as net/http does
			e.logRequest()
			panic(p)
		}
		e.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		if e.status == 0 {
			e.answerPanic()
		}
	}
	if e.detached != nil {
		e.detached()
	}
	e.logRequest()
	e.observe()
}

// observe reports the request to the observer. Streams of events are left out: they last until the
// client disconnects.
func (e *exchange) observe() {
	if e.server.cfg.Observer == nil || strings.HasPrefix(e.w.Header().Get("Content-Type"), "text/event-stream") {
		return
	}
	surface, operation := "", e.route
	if e.request.Mount != nil {
		surface = e.request.Mount.Surface.Name()
	}
	if e.request.Operation != nil {
		operation = e.request.Operation.ID
	}
	e.server.cfg.Observer.Answered(surface, operation, e.status, time.Since(e.started))
}

// answerPanic answers with status 500. The surface's Failure may be what panicked.
func (e *exchange) answerPanic() {
	err := &Error{Status: http.StatusInternalServerError, Code: CodeInternal, Message: "Internal error."}
	response := ARMFailure(err)
	func() {
		defer func() { _ = recover() }() // then the plain answer is given
		response = e.surfaceFailure(err)
	}()
	e.answer(response, nil)
}
