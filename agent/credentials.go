package agent

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/secrets"
)

// StoredCredentials reads the credentials that are stored in the control database, and opens their
// passwords with the agent's private keys. Passwords are not kept in clear. It is safe for
// concurrent use.
type StoredCredentials struct {
	store *controldb.Store
	keys  []string
	log   *zap.Logger

	sealed sealedCache[secrets.Credential]
}

// NewStoredCredentials returns the stored credentials of a control database. keys are references to
// private keys, which are read at each use.
func NewStoredCredentials(store *controldb.Store, keys []string, log *zap.Logger) *StoredCredentials {
	return &StoredCredentials{store: store.WithCallLimit(callLimit), keys: keys, log: log}
}

// Login returns the user and password of a stored credential; found is false if there is none of
// this name. A changed credential is used for tasks that are claimed later, and for all logins
// after [sealedFor].
func (c *StoredCredentials) Login(name string) (user, password string, found bool, err error) {
	// A login has no context, because it may be a login of a pool, which outlives the attempt that
	// needs it. The store limits the call.
	ctx := context.Background()
	stored, err := c.read(ctx, name)
	if errors.Is(err, dberror.ErrCredentialNotFound) {
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

// Expire makes the next logins read the credentials again. It is for [Tools].OnClaim.
func (c *StoredCredentials) Expire() { c.sealed.expire() }

// read returns a credential of the cache.
func (c *StoredCredentials) read(ctx context.Context, name string) (secrets.Credential, error) {
	return c.sealed.read(ctx, name,
		func() (secrets.Credential, error) { return secrets.On(c.store).Credential(ctx, name) },
		func(err error) bool { return errors.Is(err, dberror.ErrCredentialNotFound) })
}

// once clears the missing keys of a cached credential, so that they are examined once for each
// read.
func (c *StoredCredentials) once(name string) {
	c.sealed.change(name, func(stored *secrets.Credential) { stored.Secret.Missing = nil })
}
