package web

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/agent/web/session"
)

// maxSignIn bounds the body of the form to sign in, in bytes.
const maxSignIn = 8 << 10

// serveSession answers requests about sessions.
func (s *Server) serveSession(w http.ResponseWriter, r *http.Request, name string) {
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case name == "session" && get:
		s.tellSession(w, r)
	case name == "login" && get && r.URL.Query().Has("provider"):
		s.startLogin(w, r)
	case name == "login" && r.Method == http.MethodGet && r.URL.Query().Has(linkParameter):
		s.signInByLink(w, r)
	case name == "login" && get:
		s.showSignIn(w, r, "", http.StatusOK)
	case name == "callback" && get:
		s.finishLogin(w, r)
	case name == "login" && r.Method == http.MethodPost && r.URL.Query().Has(ticketParameter):
		s.signInByTicket(w, r)
	case name == "login" && r.Method == http.MethodPost:
		s.signIn(w, r)
	case name == "logout" && r.Method == http.MethodPost:
		s.signOut(w, r)
	case name == "logout" && get: // a link from elsewhere must not sign anybody out
		http.Redirect(w, r, s.prefix+Path, http.StatusFound)
	default:
		w.Header().Set("Allow", "GET, POST")
		s.fail(w, r, nil, methodNotAllowed())
	}
}

// tellSession says whether a session goes on. Scripts ask while a person uses a page, so that the
// session of somebody who reads for long does not end.
func (s *Server) tellSession(w http.ResponseWriter, r *http.Request) {
	one := s.cfg.Sessions.Find(w, r)
	if one == nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"ends":` + strconv.Quote(one.Ends.UTC().Format(time.RFC3339)) + `}`)) // the client may have gone
}

// askToSignIn answers a request without a session. A form that was sent is lost: it says so.
func (s *Server) askToSignIn(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		s.showSignIn(w, r, "Your session has ended. Nothing was done. Sign in, and send the form again.", http.StatusUnauthorized)
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"), r.Header.Get("Sec-Fetch-Dest") == "empty":
		http.Error(w, "The session has ended.", http.StatusUnauthorized)
	default:
		to := s.prefix + r.URL.RequestURI()
		http.Redirect(w, r, s.prefix+Path+"login?to="+url.QueryEscape(to), http.StatusFound)
	}
}

// showSignIn shows the page to sign in. problem says why signing in failed.
func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request, problem string, status int) {
	to := ""
	if r.Method == http.MethodPost {
		to = r.PostFormValue("to")
	} else {
		to = r.URL.Query().Get("to")
	}
	f := s.frame(r, nil, nil)
	f.View = &page.View{Title: "Sign in"}
	err := s.body(f, "login.html", map[string]any{
		"Problem": problem, "To": s.cfg.Sessions.Own(to), "Action": s.prefix + Path + "login", "Providers": s.cfg.Sessions.Logins(), "Tickets": s.cfg.Sessions.Negotiates(), "Help": s.cfg.SignInHelp,
	})
	if err == nil {
		err = s.write(w, f, s.sets[frameName], status)
	}
	if err != nil {
		s.cfg.Log.Error("the page to sign in could not be made", zap.Error(err))
		http.Error(w, "Internal error.", http.StatusInternalServerError)
	}
}

// signIn exchanges a static token for a session.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if !s.parseSignIn(w, r) {
		return
	}
	p, err := s.cfg.Sessions.SignIn(strings.TrimSpace(r.PostForm.Get("token")))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.begin(w, r, p, r.PostForm.Get("to"))
}

// parseSignIn reads the form to sign in. It answers the request and returns false if that fails.
func (s *Server) parseSignIn(w http.ResponseWriter, r *http.Request) bool {
	if err := s.origins.Check(r); err != nil { // else another site could sign somebody in as itself
		s.fail(w, r, nil, forged())
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, nil, formProblem(err))
		return false
	}
	return true
}

// ticketParameter is the query parameter of the form to sign in with a Kerberos ticket. Only this
// form asks for a ticket, because some browsers ask people for a password if they have none.
const ticketParameter = "ticket"

// signInByTicket begins the session of a person whose browser sends a Kerberos ticket. The first
// request has none: the answer asks for one, and the browser sends the form again.
func (s *Server) signInByTicket(w http.ResponseWriter, r *http.Request) {
	if !s.parseSignIn(w, r) {
		return
	}
	p, proof, err := s.cfg.Sessions.SignInByTicket(r)
	var known *rest.Error
	switch {
	case err == nil:
		if proof != "" {
			w.Header().Set("WWW-Authenticate", proof)
		}
		s.begin(w, r, p, r.PostForm.Get("to"))
	case r.Header.Get("Authorization") == "" && errors.As(err, &known) && known.Status == http.StatusUnauthorized:
		maps.Copy(w.Header(), known.Header)
		s.showSignIn(w, r, "Your browser sent no Kerberos ticket. Log in to the domain, and allow the browser to send tickets to this server.", known.Status)
	default:
		s.refuse(w, r, err)
	}
}

// linkParameter is the query parameter with the secret of a link to sign in.
const linkParameter = "link"

// LinkPath returns the path of a link to sign in, below the front's address.
func LinkPath(secret string) string {
	return Path + "login?" + url.Values{linkParameter: {secret}}.Encode()
}

// signInByLink exchanges a link for a session. Browsers that only look ahead do not use it up.
func (s *Server) signInByLink(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		http.Error(w, "Open the link.", http.StatusServiceUnavailable)
		return
	}
	p, err := s.cfg.Sessions.SignInByLink(r.RemoteAddr, r.URL.Query().Get(linkParameter))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.begin(w, r, p, "")
}

// refuse shows the page to sign in again, with the reason.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	s.cfg.SignedIn(false)
	var known *rest.Error
	if !errors.As(err, &known) {
		s.cfg.Log.Warn("signing in failed", zap.String("address", r.RemoteAddr), zap.Error(err))
		s.showSignIn(w, r, "Signing in failed. The log of the front says why.", http.StatusBadGateway)
		return
	}
	if known.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((known.RetryAfter+time.Second-1)/time.Second)))
	}
	s.cfg.Log.Info("signing in was refused", zap.String("address", r.RemoteAddr), zap.String("reason", known.Message))
	s.showSignIn(w, r, known.Message, known.Status)
}

// startLogin sends a person to an issuer.
func (s *Server) startLogin(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	address, err := s.cfg.Sessions.StartLogin(w, r, query.Get("provider"), query.Get("to"))
	switch {
	case errors.Is(err, session.ErrNoIssuer):
		s.fail(w, r, nil, notFound("There is no such issuer."))
	case err != nil:
		s.refuse(w, r, err)
	default:
		http.Redirect(w, r, address, http.StatusFound)
	}
}

// finishLogin begins the session of a person who comes back from an issuer.
func (s *Server) finishLogin(w http.ResponseWriter, r *http.Request) {
	p, to, err := s.cfg.Sessions.FinishLogin(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.begin(w, r, p, to)
}

// begin begins the session of a person who has signed in, and leads to a page.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, p rest.Principal, to string) {
	if err := s.cfg.Sessions.Begin(w, p); err != nil {
		s.fail(w, r, nil, &problem{status: http.StatusInternalServerError, title: "Internal error", text: "The session could not begin. The log of the front says more.", cause: err})
		return
	}
	s.cfg.SignedIn(true)
	s.cfg.Log.Info("signed in", zap.String("principal", p.ID), zap.String("address", r.RemoteAddr))
	http.Redirect(w, r, s.cfg.Sessions.Own(to), http.StatusSeeOther)
}

// signOut ends a session. Browsers do not send the cookie with a form of another site, but would
// remove it if the answer said so.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if s.origins.Check(r) != nil {
		s.fail(w, r, nil, forged())
		return
	}
	one := s.cfg.Sessions.Find(w, r)
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, one, formProblem(err))
		return
	}
	if one != nil && one.Forged(r.PostForm.Get(fieldCSRF)) {
		s.fail(w, r, one, forged())
		return
	}
	s.cfg.Sessions.End(w, one)
	http.Redirect(w, r, s.prefix+Path+"login", http.StatusSeeOther)
}

// formProblem returns the problem of a form that cannot be read.
func formProblem(err error) *problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &problem{status: http.StatusRequestEntityTooLarge, title: "Form too large", text: "The form is larger than this page takes. Nothing was done."}
	}
	return &problem{status: http.StatusBadRequest, title: "Invalid form", text: "The form could not be read. Nothing was done."}
}
