package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/rollouts"
)

// problem is an error that a page tells.
type problem struct {
	status      int
	title, text string
	visit       *visit // nil outside of control databases
	cause       error  // for the log
	// since is when the control database was lost.
	since time.Time
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// notFound returns the problem of a page that does not exist.
func notFound(text string) *problem {
	return &problem{status: http.StatusNotFound, title: "Not found", text: text}
}

// methodNotAllowed returns the problem of a method that an address does not take.
func methodNotAllowed() *problem {
	return &problem{
		status: http.StatusMethodNotAllowed, title: "Method not allowed", text: "This address does not take requests of this method.",
	}
}

// forged returns the problem of a form that another site has sent.
func forged() *problem {
	return &problem{
		status: http.StatusForbidden, title: "Form refused",
		text: "The form was not sent from a page of this dashboard, or the session in which it was shown has ended. Nothing was done. Open the page again.",
	}
}

// problemOf returns the problem that an error of a page is.
func (s *Server) problemOf(err error, v *visit) *problem {
	var p *problem
	var known *rest.Error
	out := &problem{status: http.StatusInternalServerError, title: "Internal error", text: "The page could not be made. The log of the front says more.", cause: err}
	switch {
	case errors.As(err, &p):
		out = p
	case errors.As(err, &known):
		out = &problem{status: known.Status, title: http.StatusText(known.Status), text: known.Message}
	case away(err):
		out = &problem{
			status: http.StatusServiceUnavailable, title: "The control database cannot be reached", cause: err, since: s.lost.since(v.Entry, s.cfg.Now()),
			text: fmt.Sprintf("The control database %s %s. This page works again when it does.", v.Entry.Name, whatIsAway(err)),
		}
		if errors.Is(err, dberror.ErrNotInstalled) || errors.Is(err, dberror.ErrSchemaVersion) {
			out.title, out.text = "The control database cannot be used", fmt.Sprintf("The control database %s has no schema that this front can use: %s.", v.Entry.Name, reasonOf(err))
		}
	case missing(err) != "":
		out = notFound(missing(err))
	default:
		if status := statusOf(err); status != 0 {
			out = &problem{status: status, title: titles[status], text: reasonOf(err)}
		}
	}
	out.visit = v
	return out
}

// missing says what does not exist, and is empty for every other error.
func missing(err error) string {
	for _, one := range []error{
		dberror.ErrJobNotFound, dberror.ErrStepNotFound, dberror.ErrGroupNotFound, dberror.ErrExecutionNotFound,
		dberror.ErrScheduleNotFound, dberror.ErrCallbackNotFound, dberror.ErrAlertNotFound, dberror.ErrBackfillNotFound,
		dberror.ErrCalendarNotFound, dberror.ErrMemberNotFound, rollouts.ErrNotFound, dberror.ErrBaselineNotFound,
		dberror.ErrTargetWindowNotFound, dberror.ErrTriggerNotFound, dberror.ErrQuestionNotFound,
	} {
		if errors.Is(err, one) {
			if text := dberror.MessageOf(err); text != "" {
				return text
			}
			text := one.Error()
			return strings.ToUpper(text[:1]) + text[1:] + "."
		}
	}
	return ""
}

// titles are the titles of problems by status.
var titles = map[int]string{
	http.StatusNotFound: "Not found", http.StatusForbidden: "Not permitted", http.StatusBadRequest: "Invalid input", http.StatusConflict: "Not possible now",
}

// statusOf returns the status for an error that a procedure has thrown; 0 for every other error.
func statusOf(err error) int {
	switch dberror.KindOf(err) {
	case dberror.KindNotFound:
		return http.StatusNotFound
	case dberror.KindInvalid:
		return http.StatusBadRequest
	case dberror.KindConflict, dberror.KindStale:
		return http.StatusConflict
	}
	return 0
}

// reasonOf returns the message of an error for people: what the procedure has said, if one has.
func reasonOf(err error) string {
	if text := dberror.MessageOf(err); text != "" {
		return text
	}
	return err.Error()
}

// away reports whether an error means that the control database cannot be used now.
func away(err error) bool {
	for _, one := range []error{
		dberror.ErrUnreachable, dberror.ErrLoginFailed, dberror.ErrNotInstalled, dberror.ErrSchemaVersion,
		context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return dberror.IsTransient(err)
}

// whatIsAway says what an error that is away waits for. It has no text of the server, which may
// have names of the network.
func whatIsAway(err error) string {
	if why := dberror.UnavailableReason(err); why != "" {
		return fmt.Sprintf("does not serve requests at present (error %d: %s)", dberror.NumberOf(err), why)
	}
	return "does not answer"
}

// losses notes since when control databases cannot be reached. The zero value is ready.
type losses struct {
	mu    sync.Mutex
	times map[*rest.Entry]time.Time
}

// since returns since when an entry cannot be reached, and begins to count now.
func (l *losses) since(e *rest.Entry, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.times[e]; ok {
		return t
	}
	if l.times == nil {
		l.times = map[*rest.Entry]time.Time{}
	}
	l.times[e] = now
	return now
}

// found ends the loss of an entry.
func (l *losses) found(e *rest.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.times, e)
}

// fail answers with a page about a problem.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, one *session.Session, p *problem) {
	if p.cause != nil {
		s.cfg.Log.Warn("a page failed", zap.Error(p.cause), zap.Int("status", p.status))
	}
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") && strings.Contains(r.Header.Get("Accept"), "json") {
		http.Error(w, p.text, p.status)
		return
	}
	f := s.frame(r, one, p.visit)
	f.View = &page.View{Title: p.title, Template: "problem"}
	err := s.body(f, "problem.html", map[string]any{"Text": p.text, "Status": p.status, "Since": p.since, "Home": s.prefix + Path})
	if err == nil {
		err = s.write(w, f, s.sets[frameName], p.status)
	}
	if err != nil {
		s.cfg.Log.Error("the page of a problem could not be made", zap.Error(err))
		http.Error(w, p.text, p.status)
	}
}
