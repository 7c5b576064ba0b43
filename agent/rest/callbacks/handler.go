package callbacks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/callback"
	"github.com/jobagent/jobagent/agent/rest/internal/misses"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
)

const (
	// maxCalls is how many calls to the control database are made at a time. Further requests wait.
	// One network has at most maxCalls/2 of them, and fewCalls more, which it shares with all other
	// networks that have sent manyMisses unknown tokens within a minute or two: these wait for each
	// other, and a valid token is never refused because of others' guesses.
	maxCalls, fewCalls = 16, 2
	manyMisses         = 60
	// callTime bounds a request's wait for its call, and the call.
	callTime = 10 * time.Second
)

// answer is the body of every answer but a success. All failures have the same members.
type answer struct {
	Code    int    `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// handler answers POST <prefix>/callbacks/<token>.
type handler struct {
	stores []*controldb.Store
	prefix string // of the public URL: "" or "/path", then "/callbacks/"
	calls  *misses.Gate
	log    *zap.Logger
}

func newHandler(stores []*controldb.Store, publicPath string, log *zap.Logger) *handler {
	return &handler{
		stores: stores, prefix: strings.TrimSuffix(publicPath, "/") + callback.PathPrefix,
		calls: misses.NewGate(maxCalls, fewCalls, maxCalls/2, manyMisses), log: log,
	}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("request panicked", zap.Any("error", p), zap.ByteString("stack", debug.Stack()))
			fail(w, http.StatusInternalServerError, "Internal error.")
		}
	}()
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	token, ok := strings.CutPrefix(r.URL.Path, h.prefix)
	if !ok {
		fail(w, http.StatusNotFound, "No such resource.")
		return
	}
	if r.Method != http.MethodPost {
		header.Set("Allow", http.MethodPost)
		fail(w, http.StatusMethodNotAllowed, "Report with POST.")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			fail(w, http.StatusRequestEntityTooLarge, "Request Too Large")
			return
		}
		fail(w, http.StatusBadRequest, "The body could not be read.")
		return
	}
	success, message, err := parseReport(body)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	err = dberror.ErrCallbackNotFound
	if callback.IsToken(token) {
		err = h.report(r, token, callbacks.Report{Success: success, Message: message, By: reporter(r.RemoteAddr)})
	}
	h.answer(w, err)
}

// report hands a report to the control database. A bounded number of calls is under way; further
// requests wait.
func (h *handler) report(r *http.Request, token string, report callbacks.Report) (err error) {
	ctx, cancel := context.WithTimeout(r.Context(), callTime)
	defer cancel()
	leave, err := h.calls.Enter(ctx, r.RemoteAddr)
	if err != nil {
		return err
	}
	defer func() { leave(errors.Is(err, dberror.ErrCallbackNotFound)) }()
	var failed error
	for _, store := range h.stores {
		err := callbacks.On(store).Report(ctx, callbacks.HashToken(token), report)
		switch {
		case errors.Is(err, dberror.ErrCallbackNotFound):
		case err == nil, errors.Is(err, dberror.ErrCallbackEnded):
			return err
		default:
			failed = err // another database may have the token
		}
	}
	if failed != nil {
		return failed
	}
	return dberror.ErrCallbackNotFound
}

// reporter names the sender of a request for the column received_by.
func reporter(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return "callback"
	}
	return "callback from " + host
}

// answer answers a request whose report was accepted, or refused with err.
func (h *handler) answer(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		_, _ = io.WriteString(w, `{"success":true}`+"\n") // the client may be gone
	case errors.Is(err, dberror.ErrCallbackNotFound):
		fail(w, http.StatusNotFound, "No callback has this token.")
	case errors.Is(err, dberror.ErrCallbackEnded):
		fail(w, http.StatusBadRequest, "Error while updating run log: Run is already completed")
	default:
		h.log.Warn("a report could not be recorded", zap.Error(err))
		w.Header().Set("Retry-After", "5")
		fail(w, http.StatusServiceUnavailable, "The report was not recorded. Send it again.")
	}
}

// fail writes the answer to a request that changed nothing.
func fail(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer{Code: code, Type: http.StatusText(code), Message: message}) // the client may be gone
}

// PathPrefix begins the paths of callbacks below the public URL.
const PathPrefix = callback.PathPrefix

// NewHandler returns the handler of callbacks for a front, at /callbacks/. A token is looked up in
// one control database after the other.
func NewHandler(stores []*controldb.Store, log *zap.Logger) http.Handler {
	return newHandler(stores, "", log.With(zap.String("service", "callbacks")))
}
