// Package web is the dashboard: pages for people, served at /ui/. This package has the server and
// the frame of all pages; the pages are sets, in packages of their own.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/controldb/caller"
)

// Surface is the name of the dashboard for the Authorizer.
const Surface = "web"

// Path is the path of the dashboard.
const Path = "/ui/"

// CallbackPath is the path to which issuers send people back.
const CallbackPath = Path + "callback"

const (
	// requestTime bounds the time of a page.
	requestTime = 30 * time.Second
	// maxForm bounds the body of a form, in bytes. Parameters of a job have at most 8,000
	// characters each.
	maxForm = 1 << 20
)

// Config configures a [Server].
type Config struct {
	Sets       []page.Set
	Directory  *rest.Directory
	Sessions   *session.Sessions
	Authorizer rest.Authorizer
	// PublicURL is the front's address as browsers see it. Its path is a prefix of all paths.
	PublicURL string
	// SignInHelp says on the page to sign in where a token is to be had; empty: the command that
	// makes tokens.
	SignInHelp string
	// SignedIn is called after each attempt to sign in; may be nil.
	SignedIn func(ok bool)
	Log      *zap.Logger
	// Now replaces the clock in tests.
	Now func() time.Time
}

// Server serves the dashboard below [Path]. The caller has removed the prefix of a reverse proxy
// from the path. It is an http.Handler.
type Server struct {
	cfg     Config
	prefix  string // of the public URL; empty, or with a slash before and none behind
	sets    map[string]*set
	mux     *http.ServeMux
	static  *static
	entries []place
	origins *http.CrossOriginProtection
	lost    losses
	hub     *live.Hub

	operations operations
}

// place is a control database with its name in paths.
type place struct {
	name  string
	entry *rest.Entry
	pause *pauseReader
}

// reserved are the names below /ui/ that are not control databases.
var reserved = []string{"static", "login", "logout", "callback", "session"}

// New returns a server, or an error about sets that contradict each other. The caller calls Close.
func New(cfg Config) (*Server, error) {
	u, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("invalid public URL: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.SignedIn == nil {
		cfg.SignedIn = func(bool) {}
	}
	s := &Server{
		cfg: cfg, prefix: strings.TrimSuffix(u.EscapedPath(), "/"), sets: map[string]*set{}, mux: http.NewServeMux(),
		entries: places(cfg.Directory), origins: http.NewCrossOriginProtection(),
	}
	if u.Host != "" {
		// A reverse proxy may send another Host.
		if err := s.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("invalid public URL: %w", err)
		}
	}
	if s.static, err = newStatic(cfg.Sets); err != nil {
		return nil, err
	}
	frame, err := s.newSet(page.Set{Name: frameName, Files: files})
	if err != nil {
		return nil, err
	}
	s.sets[frameName] = frame
	var topics []live.Topic
	for _, one := range cfg.Sets {
		if one.Name == "" || s.sets[one.Name] != nil {
			return nil, fmt.Errorf("invalid name %q of a set of pages: want one that no other set has", one.Name)
		}
		if s.sets[one.Name], err = s.newSet(one); err != nil {
			return nil, fmt.Errorf("set %s: %w", one.Name, err)
		}
		if err := s.register(s.sets[one.Name]); err != nil {
			return nil, fmt.Errorf("set %s: %w", one.Name, err)
		}
		topics = append(topics, one.Topics...)
	}
	s.hub = live.NewHub(live.Config{Topics: topics, Render: s.RenderBlock, Log: cfg.Log})
	return s, nil
}

// Streams returns the number of open streams of events.
func (s *Server) Streams() int { return s.hub.Streams() }

// places names the control databases: by the entry's name, or as server~name where two entries have
// it, and always as server~name for names that would be something else in a path.
func places(d *rest.Directory) []place {
	var list []place
	count := map[string]int{}
	for _, e := range d.Entries() {
		count[strings.ToLower(e.Name)]++
	}
	taken := map[string]int{}
	for _, e := range d.Entries() {
		name := e.Name
		if count[strings.ToLower(name)] > 1 || slices.Contains(reserved, strings.ToLower(name)) || strings.Contains(name, "~") || strings.Trim(name, ".") == "" {
			name = e.Server + "~" + e.Name
		}
		key := strings.ToLower(name)
		if taken[key]++; taken[key] > 1 { // servers of the same name in two resource groups
			name = fmt.Sprintf("%s~%d", name, taken[key])
		}
		list = append(list, place{name: name, entry: e, pause: &pauseReader{}})
	}
	return list
}

// register adds the pages and actions of a set to the routes. The standard library panics about
// patterns that contradict each other.
func (s *Server) register(one *set) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	pattern := func(method, path string) string {
		if path == "/" {
			path = "/{$}"
		}
		return method + " " + Path + "{database}" + path
	}
	for _, p := range one.Pages {
		s.mux.HandleFunc(pattern("GET", p.Path), s.at(p.Role, func(ctx context.Context, w http.ResponseWriter, v *visit) error {
			return s.showPage(ctx, w, v, one, p)
		}))
	}
	for _, a := range one.Actions {
		s.mux.HandleFunc(pattern("GET", a.Path), s.at(a.Role, func(ctx context.Context, w http.ResponseWriter, v *visit) error {
			return s.confirm(ctx, w, v, a)
		}))
		s.mux.HandleFunc(pattern("POST", a.Path), s.at(a.Role, func(ctx context.Context, w http.ResponseWriter, v *visit) error {
			return s.act(ctx, w, v, a)
		}))
	}
	return nil
}

// visit is a request of somebody who has signed in.
type visit struct {
	*page.Request
	session *session.Session
	place   place
	// notice says what is wrong with a form as a whole.
	notice string
}

// noPage returns the problem of a page that a control database does not have.
func (v *visit) noPage() *problem {
	p := notFound("There is no page at this address.")
	p.visit = v
	return p
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.recover(w)
	setHeaders(w.Header())
	path := r.URL.EscapedPath()
	if !clean(path) {
		s.fail(w, r, nil, notFound("There is no page at this address."))
		return
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, Path), "/")
	switch {
	case first == "static":
		s.static.serve(w, r, rest)
	case first == "login" && rest == "", first == "callback" && rest == "", first == "logout" && rest == "", first == "session" && rest == "":
		s.serveSession(w, r, first)
	default:
		s.serveDatabase(w, r, first, rest)
	}
}

// clean reports whether a path can be split into segments: the standard library would redirect
// others, past the prefix of a reverse proxy.
func clean(path string) bool {
	if !strings.HasPrefix(path, Path) || strings.Contains(path, "//") {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(segment); err != nil || plain == "." || plain == ".." {
			return false
		}
	}
	return true
}

// setHeaders sets the headers of all answers. Styles and scripts come from this server only, and
// nothing is inline.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
		"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// serveDatabase answers a request for a page of a control database, or for the first one.
func (s *Server) serveDatabase(w http.ResponseWriter, r *http.Request, database, rest string) {
	if safe := r.Method == http.MethodGet || r.Method == http.MethodHead; !safe {
		if err := s.origins.Check(r); err != nil {
			s.fail(w, r, nil, forged())
			return
		}
	}
	one := s.cfg.Sessions.Find(w, r)
	if one == nil {
		s.askToSignIn(w, r)
		return
	}
	if database == "" {
		s.first(w, r, one)
		return
	}
	name, err := url.PathUnescape(database)
	at := -1
	if err == nil {
		at = slices.IndexFunc(s.entries, func(p place) bool { return strings.EqualFold(p.name, name) })
	}
	v := s.visit(r, one, at)
	if v == nil {
		s.fail(w, r, one, notFound("There is no control database of this name, or you may not see it."))
		return
	}
	switch {
	case rest == "" && !strings.HasSuffix(r.URL.EscapedPath(), "/"):
		http.Redirect(w, r, v.Base+"/", http.StatusFound)
		return
	case rest == "events":
		s.events(w, v)
		return
	case strings.HasSuffix(rest, "/"):
		s.fail(w, r, one, v.noPage())
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	if _, pattern := s.mux.Handler(r); pattern == "" {
		if allow := s.allowed(r); len(allow) > 0 {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			p := methodNotAllowed()
			p.visit = v
			s.fail(w, r, one, p)
			return
		}
		s.fail(w, r, one, v.noPage())
		return
	}
	s.mux.ServeHTTP(w, r) // sets the parameters of the path
}

// allowed returns the methods that a path takes.
func (s *Server) allowed(r *http.Request) (methods []string) {
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := s.mux.Handler(other); pattern != "" {
			methods = append(methods, m)
		}
	}
	return methods
}

type visitKey struct{}

// visit returns the visit of a person at a control database, or nil if it does not exist for this
// person.
func (s *Server) visit(r *http.Request, one *session.Session, at int) *visit {
	if at < 0 {
		return nil
	}
	p := s.entries[at]
	role := s.role(one, p.entry)
	if role == rest.RoleNone {
		return nil
	}
	return &visit{
		place: p, session: one,
		Request: &page.Request{
			HTTP: r, Entry: p.entry, Store: p.entry.Store, Viewer: one.Principal, Role: role, Base: s.base(p.name), Now: s.cfg.Now(),
		},
	}
}

// base returns the path of the pages of a control database.
func (s *Server) base(name string) string { return s.prefix + Path + url.PathEscape(name) }

// role returns a person's role at a control database. A grant of a job agent does not count here:
// pages show all of the database.
func (s *Server) role(one *session.Session, e *rest.Entry) rest.Role {
	return s.cfg.Authorizer.Role(one.Principal, Surface, rest.Scope{
		Subscription: e.Subscription, ResourceGroup: e.ResourceGroup, Server: e.Server,
	})
}

// visible returns the control databases that a person may see.
func (s *Server) visible(one *session.Session) (list []place) {
	for _, p := range s.entries {
		if s.role(one, p.entry) > rest.RoleNone {
			list = append(list, p)
		}
	}
	return list
}

// first leads to the first control database that the person may see.
func (s *Server) first(w http.ResponseWriter, r *http.Request, one *session.Session) {
	list := s.visible(one)
	if len(list) == 0 {
		s.fail(w, r, one, &problem{
			status: http.StatusForbidden, title: "No control database",
			text: "You have signed in as " + one.Principal.Name + ", and have no role at any control database of this front. " +
				"An administrator can add a grant for " + one.Principal.ID + " to the configuration.",
		})
		return
	}
	http.Redirect(w, r, s.base(list[0].name)+"/", http.StatusFound)
}

// at returns the handler of a page or an action.
func (s *Server) at(role rest.Role, handle func(context.Context, http.ResponseWriter, *visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := r.Context().Value(visitKey{}).(*visit)
		v.HTTP = r
		if !v.May(role) {
			s.fail(w, r, v.session, &problem{
				status: http.StatusForbidden, title: "Not permitted", visit: v,
				text: fmt.Sprintf("This page needs the role %s at the control database %s. You have the role %s.", role, v.Entry.Name, v.Role),
			})
			return
		}
		ctx := r.Context()
		if r.Method == http.MethodPost { // what has begun is not abandoned when the browser goes away
			ctx = context.WithoutCancel(ctx)
		}
		ctx, cancel := context.WithTimeout(s.calling(ctx, v), requestTime)
		defer cancel()
		if err := handle(ctx, w, v); err != nil {
			if r.Context().Err() != nil && r.Method != http.MethodPost {
				return // the browser has gone; that says nothing about the control database
			}
			s.fail(w, r, v.session, s.problemOf(err, v))
			return
		}
		s.lost.found(v.Entry)
	}
}

// calling returns a context whose calls run as the database user of the viewer's role.
func (s *Server) calling(ctx context.Context, v *visit) context.Context {
	who := v.Viewer.Caller(v.Role, v.HTTP.RemoteAddr)
	who.Door, who.CorrelationID = caller.DoorWeb, uuid.New()
	return caller.With(ctx, who)
}

// recover answers a request whose handling panicked.
func (s *Server) recover(w http.ResponseWriter) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // a panic's value, compared as net/http does
		panic(p)
	}
	s.cfg.Log.Error("a page panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError) // too late if the answer has begun
	_, _ = io.WriteString(w, "Internal error. The log of the front says more.\n")
}

// events answers a request for live updates. The stream ends with the session.
func (s *Server) events(w http.ResponseWriter, v *visit) {
	if v.HTTP.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "Want GET.", http.StatusMethodNotAllowed)
		return
	}
	ended, cancel := s.cfg.Sessions.Watch(v.HTTP.Context(), v.session, func() bool { return s.role(v.session, v.Entry) >= v.Role })
	defer cancel()
	s.hub.Serve(w, v.HTTP, live.Stream{
		Base: v.Base, Store: v.Store, Operator: v.May(rest.RoleOperator), Topic: v.Query("topic"), Caller: v.session.Principal.ID,
		Session: v.session.ID, Ended: ended,
	})
}

// Close ends all streams of live updates. It must be called before the HTTP server's Shutdown,
// which waits for them.
func (s *Server) Close() { s.hub.Close() }

var errNoTemplate = errors.New("the page lacks a template")
