// Package session signs people in at the dashboard, and knows them again. A session is in a cookie
// that only the fronts can read: see [Sessions].
package session

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/jobs/wording"
)

const (
	// defaultIdle ends a session that is not used, and defaultLifetime each session.
	defaultIdle     = time.Hour
	defaultLifetime = 12 * time.Hour
	// renewAfter is the age of a cookie that is replaced by one with a later time of use.
	renewAfter = time.Minute
	// checkEvery is the default of Config.Check.
	checkEvery = 15 * time.Second
	// maxCookie bounds a cookie in bytes; browsers keep 4,096 with the name and the attributes.
	maxCookie = 3800
)

// Authenticator knows the callers of the front. Package auth implements it.
type Authenticator interface {
	// SignIn returns the caller of a static token, which a person has typed in. Errors are of type
	// *rest.Error.
	SignIn(token string) (rest.Principal, error)
	// EnterSignIn waits until an issuer's answer to a sender, host:port, may be exchanged. leave is
	// told whether that failed. The error is of type *rest.Error.
	EnterSignIn(ctx context.Context, remote string) (leave func(failed bool), err error)
	// Negotiates reports whether people can sign in with Kerberos tickets, and Negotiate returns
	// the caller of a request with a ticket, and the header WWW-Authenticate that proves the front
	// to the browser. Errors are of type *rest.Error; their headers ask for a ticket.
	Negotiates() bool
	Negotiate(r *http.Request) (p rest.Principal, proof string, err error)
	// Current returns nil while a caller may go on: its static token is known and has not expired.
	Current(p rest.Principal) error
	// Known returns a caller without the groups and roles that no grant names.
	Known(p rest.Principal) rest.Principal
}

// Config configures [Sessions].
type Config struct {
	Authenticator Authenticator
	// Logins are the issuers at which people sign in, and CallbackURL is the address to which they
	// send people back.
	Logins      []*auth.Login
	CallbackURL string
	// Key seals cookies; fronts that serve the same people have the same key. Empty means a random
	// key: then sessions end with the process. A key has at least 32 bytes.
	Key []byte
	// Path is the path of the dashboard as browsers see it, such as /ui/.
	Path string
	// Secure says that browsers reach the front by TLS.
	Secure bool
	// Idle and Lifetime bound sessions; 0 means 1 h and 12 h.
	Idle, Lifetime time.Duration
	// Check is the time between checks of sessions with open streams; 0 means 15 s.
	Check time.Duration
	Log   *zap.Logger
	// Now replaces the clock in tests.
	Now func() time.Time
}

// Sessions makes sessions and finds them again. The front stores none: a session is a sealed
// cookie (AES-256-GCM) with the caller and the times of the session. At each request, and every
// 15 s while a stream is open, the caller's token and grants are checked again. It is safe for
// concurrent use.
type Sessions struct {
	cfg  Config
	aead cipher.AEAD

	mu    sync.Mutex
	ended map[string]time.Time       // sessions that were signed out here, until when their cookies last
	seen  map[string]*seen           // sessions with open streams here
	links map[[sha256.Size]byte]link // by the hash of their secrets
}

// seen says when a session with open streams was used last.
type seen struct {
	streams int
	used    time.Time
}

// Session is the session of a person.
type Session struct {
	// ID identifies the session in limits. It is not secret.
	ID        string
	Principal rest.Principal
	// CSRF is the token of the session's forms.
	CSRF string
	// Ends is when the session ends at the latest.
	Ends time.Time

	used time.Time
}

// New returns Sessions.
func New(cfg Config) (*Sessions, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Idle == 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.Lifetime == 0 {
		cfg.Lifetime = defaultLifetime
	}
	if cfg.Check == 0 {
		cfg.Check = checkEvery
	}
	if cfg.Idle < 0 || cfg.Lifetime < 0 {
		return nil, errors.New("invalid times of sessions: want times above 0")
	}
	key := cfg.Key
	switch {
	case len(key) == 0:
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	case len(key) < 32:
		return nil, errors.New("invalid key of sessions: want at least 32 bytes")
	}
	sum := sha256.Sum256(append([]byte("jobagent dashboard session\x00"), key...))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, fmt.Errorf("key of sessions: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("key of sessions: %w", err)
	}
	return &Sessions{cfg: cfg, aead: aead, ended: map[string]time.Time{}, seen: map[string]*seen{}, links: map[[sha256.Size]byte]link{}}, nil
}

// The names of cookies. Browsers accept a name with __Host- only from the host itself, by TLS and
// for all paths, so that no neighbour can plant one.
const (
	sessionCookie = "jobagent-session"
	noticeCookie  = "jobagent-notice"
	signInCookie  = "jobagent-sign-in"
)

func (s *Sessions) name(cookie string) string {
	if s.cfg.Secure {
		return "__Host-" + cookie
	}
	return cookie
}

// sealed is what the session's cookie holds.
type sealed struct {
	ID     string   `json:"i"`
	Caller string   `json:"p"`
	Name   string   `json:"n,omitempty"`
	Groups []string `json:"g,omitempty"`
	Tenant string   `json:"t,omitempty"`
	CSRF   string   `json:"c"`
	Begun  int64    `json:"b"` // Unix seconds
	Used   int64    `json:"u"`
}

// seal returns a value of a cookie that only open can read. The name is part of what is sealed, so
// that no cookie serves as another one.
func (s *Sessions) seal(cookie string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal a cookie: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(cookie))), nil
}

// open reads what seal has sealed, and reports whether it could.
func (s *Sessions) open(r *http.Request, cookie string, v any) bool {
	c, err := r.Cookie(s.name(cookie))
	if err != nil || len(c.Value) > 2*maxCookie {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return false
	}
	text, err := s.aead.Open(nil, nil, b, []byte(cookie))
	return err == nil && json.Unmarshal(text, v) == nil
}

// set sets a cookie. age 0 means as long as the browser runs; below 0 removes it.
func (s *Sessions) set(w http.ResponseWriter, cookie, value string, age time.Duration) {
	c := &http.Cookie{
		Name: s.name(cookie), Value: value, Path: "/", HttpOnly: true, Secure: s.cfg.Secure, SameSite: http.SameSiteLaxMode,
	}
	switch {
	case age < 0:
		c.MaxAge = -1
	case age > 0:
		c.MaxAge = int(age / time.Second)
	}
	http.SetCookie(w, c)
}

// Begin begins a session, and sets its cookie.
func (s *Sessions) Begin(w http.ResponseWriter, p rest.Principal) error {
	p = s.cfg.Authenticator.Known(p)
	now := s.cfg.Now()
	return s.write(w, sealed{
		ID: rand.Text(), Caller: p.ID, Name: p.Name, Groups: p.Groups, Tenant: p.Tenant, CSRF: rand.Text(), Begun: now.Unix(), Used: now.Unix(),
	})
}

// write sets the session's cookie.
func (s *Sessions) write(w http.ResponseWriter, in sealed) error {
	value, err := s.seal(sessionCookie, in)
	if err != nil {
		return err
	}
	if len(value) > maxCookie {
		return fmt.Errorf("the session of %s is too long for a cookie: the grants name %d of its groups", in.Caller, len(in.Groups))
	}
	s.set(w, sessionCookie, value, 0)
	return nil
}

// Find returns the session of a request, and nil if there is none. It notes that the session is
// used.
func (s *Sessions) Find(w http.ResponseWriter, r *http.Request) *Session {
	var in sealed
	if !s.open(r, sessionCookie, &in) || !s.valid(in) {
		return nil
	}
	now := s.cfg.Now()
	s.use(in.ID, now)
	if now.Sub(time.Unix(in.Used, 0)) >= renewAfter {
		in.Used = now.Unix()
		if err := s.write(w, in); err != nil {
			s.cfg.Log.Warn("a session could not be renewed", zap.Error(err))
		}
	}
	return &Session{
		ID: in.ID, Principal: in.principal(), CSRF: in.CSRF, Ends: time.Unix(in.Begun, 0).Add(s.cfg.Lifetime), used: time.Unix(in.Used, 0),
	}
}

// principal returns the caller.
func (in sealed) principal() rest.Principal {
	return rest.Principal{ID: in.Caller, Name: in.Name, Groups: in.Groups, Tenant: in.Tenant}
}

// valid reports whether a session goes on.
func (s *Sessions) valid(in sealed) bool {
	now := s.cfg.Now()
	begun, used := time.Unix(in.Begun, 0), time.Unix(in.Used, 0)
	if !now.Before(begun.Add(s.cfg.Lifetime)) || !now.Before(used.Add(s.cfg.Idle)) || s.signedOut(in.ID) {
		return false
	}
	return s.cfg.Authenticator.Current(in.principal()) == nil
}

// signedOut reports whether a session was signed out at this front.
func (s *Sessions) signedOut(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := s.ended[id]
	return ended
}

// maxEnded bounds the memory of ended sessions. Beyond it, the oldest entries are forgotten; their
// cookies were removed from their browsers all the same.
const maxEnded = 20_000

// End ends a session, and removes its cookie.
func (s *Sessions) End(w http.ResponseWriter, one *Session) {
	s.set(w, sessionCookie, "", -1)
	if one == nil {
		return
	}
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest, id := time.Time{}, ""
	for other, until := range s.ended {
		if !now.Before(until) {
			delete(s.ended, other)
		} else if id == "" || until.Before(oldest) {
			oldest, id = until, other
		}
	}
	if len(s.ended) >= maxEnded {
		delete(s.ended, id)
	}
	s.ended[one.ID] = one.Ends
}

// use notes that a session is used, for its open streams.
func (s *Sessions) use(id string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.seen[id]; one != nil {
		one.used = now
	}
}

// Watch returns a context that ends when the session does, or when may returns false: the person
// has lost the role. It is checked every 15 s. The caller calls the function in the end.
func (s *Sessions) Watch(ctx context.Context, one *Session, may func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	entry := s.seen[one.ID]
	if entry == nil {
		entry = &seen{used: one.used}
		s.seen[one.ID] = entry
	}
	entry.streams++
	s.mu.Unlock()
	go s.watch(ctx, cancel, one, may) // ends with ctx
	return ctx, sync.OnceFunc(func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		if entry.streams--; entry.streams == 0 {
			delete(s.seen, one.ID)
		}
	})
}

// watch checks a session until it ends.
func (s *Sessions) watch(ctx context.Context, end context.CancelFunc, one *Session, may func() bool) {
	ticker := time.NewTicker(s.cfg.Check)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.goesOn(one) || !may() {
			end()
			return
		}
	}
}

// goesOn reports whether a session with an open stream goes on.
func (s *Sessions) goesOn(one *Session) bool {
	now, used := s.cfg.Now(), one.used
	s.mu.Lock()
	if entry := s.seen[one.ID]; entry != nil {
		used = entry.used
	}
	s.mu.Unlock()
	return now.Before(one.Ends) && now.Before(used.Add(s.cfg.Idle)) && !s.signedOut(one.ID) && s.cfg.Authenticator.Current(one.Principal) == nil
}

// Forged reports whether a form does not have the session's CSRF token.
func (one *Session) Forged(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(one.CSRF)) != 1
}

// notice is what a page says once.
type notice struct {
	Text string `json:"t"`
	ID   string `json:"i"` // of the session
}

// maxNotice bounds a notice in bytes.
const maxNotice = 1500

// Notify keeps a text that the next page of the session shows.
func (s *Sessions) Notify(w http.ResponseWriter, one *Session, text string) {
	text = wording.Clip(text, maxNotice, wording.Bytes)
	value, err := s.seal(noticeCookie, notice{Text: text, ID: one.ID})
	if err != nil {
		s.cfg.Log.Warn("a notice could not be kept", zap.Error(err))
		return
	}
	s.set(w, noticeCookie, value, time.Minute)
}

// Notice returns the text that the page shows once; empty if there is none.
func (s *Sessions) Notice(w http.ResponseWriter, r *http.Request, one *Session) string {
	if _, err := r.Cookie(s.name(noticeCookie)); err != nil {
		return ""
	}
	s.set(w, noticeCookie, "", -1)
	var n notice
	if !s.open(r, noticeCookie, &n) || n.ID != one.ID {
		return ""
	}
	return n.Text
}

// Own returns a path of the dashboard to which a person may be sent after signing in, and the
// dashboard's first page for anything else: another host, another scheme, a path outside.
func (s *Sessions) Own(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, s.cfg.Path) ||
		strings.ContainsAny(path, "\\\r\n\t") || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "/../") || strings.HasSuffix(u.Path, "/..") ||
		len(path) > 2000 {
		return s.cfg.Path
	}
	return path
}

// Negotiates reports whether people can sign in with Kerberos tickets.
func (s *Sessions) Negotiates() bool { return s.cfg.Authenticator.Negotiates() }

// SignInByTicket returns the caller of a request with a Kerberos ticket; see
// [Authenticator].Negotiate.
func (s *Sessions) SignInByTicket(r *http.Request) (p rest.Principal, proof string, err error) {
	return s.cfg.Authenticator.Negotiate(r)
}

// SignIn returns the caller of a static token that a person has typed in.
func (s *Sessions) SignIn(token string) (rest.Principal, error) {
	return s.cfg.Authenticator.SignIn(token)
}
