package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
)

// StoredCredentials reads the credentials that are stored in the control database, and opens their
// passwords with the agent's private keys. Passwords are not kept in clear. It is safe for
// concurrent use.
type StoredCredentials struct {
	store *controldb.Store
	keys  []string
	log   *zap.Logger

	mu     sync.Mutex
	sealed map[string]credentialEntry // by name in lower case
}

// credentialEntry is a credential that was read, or the error that there is none.
type credentialEntry struct {
	credential controldb.SealedCredential
	err        error
	read       time.Time
}

// NewStoredCredentials returns the stored credentials of a control database. keys are references to
// private keys, which are read at each use.
func NewStoredCredentials(store *controldb.Store, keys []string, log *zap.Logger) *StoredCredentials {
	return &StoredCredentials{store: store.WithCallLimit(callLimit), keys: keys, log: log, sealed: map[string]credentialEntry{}}
}

// Login returns user and password of a stored credential; found is false if there is none of this
// name. A change reaches logins after [sealedFor].
func (c *StoredCredentials) Login(name string) (user, password string, found bool, err error) {
	// A login has no context: it may be one of a pool, which outlives the attempt that needs it.
	// The store limits the call.
	ctx := context.Background()
	stored, err := c.read(ctx, name)
	if errors.Is(err, controldb.ErrCredentialNotFound) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, err
	}
	password, keys, err := open(stored.Secret, c.keys)
	if err != nil {
		return "", "", true, fmt.Errorf("the password is stored sealed: %w", err)
	}
	n, err := Reseal(ctx, c.store, stored.Secret, keys)
	if err != nil {
		c.log.Warn("could not seal a password for a further key", zap.String(keySecret, name), zap.Error(err))
	}
	if n > 0 || err != nil {
		c.once(name)
	}
	return stored.Username, password, true, nil
}

// read returns a credential that was read at most sealedFor ago.
func (c *StoredCredentials) read(ctx context.Context, name string) (controldb.SealedCredential, error) {
	key := strings.ToLower(name)
	c.mu.Lock()
	e, ok := c.sealed[key]
	c.mu.Unlock()
	if ok && time.Since(e.read) < sealedFor {
		return e.credential, e.err
	}
	stored, err := c.store.SealedCredential(ctx, name)
	if err != nil && !errors.Is(err, controldb.ErrCredentialNotFound) {
		return stored, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed[key] = credentialEntry{stored, err, time.Now()}
	return stored, err
}

// once forgets the missing keys of a credential, so that they are looked at once per read.
func (c *StoredCredentials) once(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.sealed[strings.ToLower(name)]; ok {
		e.credential.Secret.Missing = nil
		c.sealed[strings.ToLower(name)] = e
	}
}
