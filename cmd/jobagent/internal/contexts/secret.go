package contexts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref"
)

// service is the name of the entries in the keyring.
const service = "jobagent"

// DefaultKeyringLimit is how long a keyring may take to answer. A locked one asks a person for its
// password meanwhile.
const DefaultKeyringLimit = 30 * time.Second

// noticeAfter is the time after which a person is told what the command waits for.
const noticeAfter = 2 * time.Second

// Secrets reads the passwords of contexts. It holds none.
type Secrets struct {
	// Limit is how long the keyring may take to answer; 0 means DefaultKeyringLimit.
	Limit time.Duration
	// Prompt asks a person for the password of a context; nil means that nobody can be asked.
	Prompt func(ctx context.Context, c Context) (string, error)
	// Notice tells that the keyring has not answered yet; nil means that nobody is told.
	Notice func()
}

// ErrNoKeyring means that this machine, or this session, has no keyring that answers.
var ErrNoKeyring = errors.New("no keyring answers here")

// Password returns the password of a context; empty if it has none.
func (s Secrets) Password(ctx context.Context, c Context) (string, error) {
	switch {
	case c.Password == "":
		return "", nil
	case c.Password == RefPrompt:
		if s.Prompt == nil {
			return "", exit.Usagef("context %s asks for the password of %s: this needs a terminal", c.Name, c.User)
		}
		return s.Prompt(ctx, c)
	case strings.HasPrefix(c.Password, refKeyring):
		password, err := s.ask(ctx, func() (string, error) {
			return keyring.Get(service, strings.TrimPrefix(c.Password, refKeyring))
		})
		if errors.Is(err, keyring.ErrNotFound) {
			return "", exit.Usagef("the keyring has no password for context %s: jobagent context update %s --password-ref keyring stores it again", c.Name, c.Name)
		}
		if err != nil {
			return "", exit.Usagef("password of context %s: %w", c.Name, err)
		}
		return password, nil
	}
	password, err := secretref.Read(c.Password)
	if err != nil {
		return "", exit.Usagef("password of context %s: %w", c.Name, err)
	}
	return password, nil
}

// Store keeps a password in the keyring under a name of its own, and returns the reference to it.
func (s Secrets) Store(ctx context.Context, name, password string) (ref string, err error) {
	// Two files may have contexts of the same name, and a context that is renamed keeps its entry.
	entry := name + "-" + strings.ToLower(rand.Text()[:8])
	if _, err := s.ask(ctx, func() (string, error) { return "", keyring.Set(service, entry, password) }); err != nil {
		return "", err
	}
	return refKeyring + entry, nil
}

// Forget removes the password of a context from the keyring, if it is there.
func (s Secrets) Forget(ctx context.Context, c Context) error {
	entry, ok := strings.CutPrefix(c.Password, refKeyring)
	if !ok {
		return nil
	}
	_, err := s.ask(ctx, func() (string, error) { return "", keyring.Delete(service, entry) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// ask calls the keyring. The keyring may be a program on a desktop that does not answer, and
// go-keyring has no way to stop a call, so a call that takes too long is left alone.
func (s Secrets) ask(ctx context.Context, call func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	limit := s.Limit
	if limit == 0 {
		limit = DefaultKeyringLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w within %s", ErrNoKeyring, limit))
	defer cancel()
	answered := make(chan answer, 1)
	go func() { // ends with the answer or with the process
		text, err := call()
		answered <- answer{text, err}
	}()
	notice := time.NewTimer(noticeAfter)
	defer notice.Stop()
	for {
		select {
		case a := <-answered:
			if a.err != nil && !errors.Is(a.err, keyring.ErrNotFound) {
				return "", fmt.Errorf("%w: %w", ErrNoKeyring, a.err)
			}
			return a.text, a.err
		case <-notice.C:
			if s.Notice != nil {
				s.Notice()
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
