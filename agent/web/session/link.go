package session

import (
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/http"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
)

// link is what a link to sign in stands for.
type link struct {
	token string
	until time.Time
}

// NewLink returns a secret that signs one person in as the caller of a static token, once, within a
// time, and from this machine only. It is for a terminal that only the person reads: the address of
// the page is [Sessions.SignInByLink]'s. The secret is in memory only.
func (s *Sessions) NewLink(token string, lasts time.Duration) string {
	text := rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links[sha256.Sum256([]byte(text))] = link{token: token, until: s.cfg.Now().Add(lasts)}
	return text
}

// SignInByLink returns the caller of a link's token, and ends the link. remote is the sender's
// host:port. A link that was used, is too old or comes from another machine is refused with a
// *rest.Error.
func (s *Sessions) SignInByLink(remote, text string) (rest.Principal, error) {
	host, _, _ := net.SplitHostPort(remote)
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return rest.Principal{}, linkRefused("The link works on the machine of the server only. Sign in with a token.")
	}
	key := sha256.Sum256([]byte(text))
	s.mu.Lock()
	one, known := s.links[key]
	delete(s.links, key)
	s.mu.Unlock()
	if !known || !s.cfg.Now().Before(one.until) {
		return rest.Principal{}, linkRefused("The link was used already, or is too old. Sign in with a token, or start the server again for another link.")
	}
	return s.cfg.Authenticator.SignIn(one.token)
}

// linkRefused is the error of a link.
func linkRefused(message string) error {
	return &rest.Error{Status: http.StatusUnauthorized, Code: rest.CodeUnauthenticated, Message: message}
}
