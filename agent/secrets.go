package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Secrets reads the secrets that actions name as $(secret.NAME): those of the agent's
// configuration, and the sealed secrets of the control database. Get is [Actions].Secret.
type Secrets struct {
	store *controldb.Store
	named map[string]NamedSecret
	keys  []string
	log   *zap.Logger
	// alerts means that the login may read only the secrets that alert channels name.
	alerts bool

	sealed sealedCache[secrets.Sealed]
}

// NamedSecret is a secret of the agent's configuration.
type NamedSecret struct {
	// Reference is env:NAME or file:PATH.
	Reference string
	// Hosts are the patterns of the hosts that may receive the secret; none means any host.
	Hosts []string
}

// NewSecrets returns the secrets of an agent. named holds the configuration's secrets by their
// names; keys are references to private keys. Both are read at each use, so that a changed file
// needs no restart. Without a store, there are no sealed secrets.
func NewSecrets(store *controldb.Store, named map[string]NamedSecret, keys []string, log *zap.Logger) *Secrets {
	if store != nil {
		store = store.WithCallLimit(callLimit)
	}
	return &Secrets{store: store, named: named, keys: keys, log: log}
}

// NewAlertSecrets is NewSecrets for a front, whose login may read only the secrets that alert
// channels name.
func NewAlertSecrets(store *controldb.Store, named map[string]NamedSecret, keys []string, log *zap.Logger) *Secrets {
	s := NewSecrets(store, named, keys, log)
	s.alerts = true
	return s
}

// Get returns the value of a secret with its hosts. The configuration takes precedence. The error
// wraps [ErrNoSecret], except if the control database did not answer.
func (s *Secrets) Get(ctx context.Context, name string) (action.Value, error) {
	if n, ok := s.named[name]; ok {
		text, err := secretref.Read(n.Reference)
		if err != nil {
			return action.Value{}, fmt.Errorf("%w: %w", ErrNoSecret, err)
		}
		return action.Secret(text, n.Hosts...), nil
	}
	if s.store == nil {
		return action.Value{}, fmt.Errorf("%w: the agent's configuration has no secret of this name", ErrNoSecret)
	}
	stored, err := s.read(ctx, name)
	if errors.Is(err, dberror.ErrSecretNotFound) {
		return action.Value{}, fmt.Errorf("%w: neither the agent's configuration nor the control database has a secret of this name "+
			"(jobagent secret set stores one)", ErrNoSecret)
	}
	if err != nil {
		return action.Value{}, err
	}
	value, keys, err := open(stored, s.keys)
	if err != nil {
		if errors.Is(err, secret.ErrBroken) {
			err = fmt.Errorf("%w; set it again with jobagent secret set", err)
		}
		return action.Value{}, fmt.Errorf("%w: %w", ErrNoSecret, err)
	}
	s.reseal(ctx, stored, keys)
	return action.Secret(value, stored.Place.Hosts...), nil
}

// open opens a sealed secret with the private keys that the references name. No clear text is
// cached.
func open(stored secrets.Sealed, references []string) (string, []secret.PrivateKey, error) {
	keys, keyErr := ReadSecretKeys(references)
	value, err := stored.Sealed.Open(stored.Place, keys)
	if errors.Is(err, secret.ErrNoKey) {
		var ids []string
		for _, k := range stored.Sealed.Keys {
			ids = append(ids, k.ID)
		}
		err = errors.Join(fmt.Errorf("the agent has no private key for any of %s; add one to secret_keys in the agent's configuration",
			strings.Join(ids, ", ")), keyErr)
	}
	return value, keys, err
}

// Expire makes the next calls of Get read the secrets again. It is for [Tools].OnClaim.
func (s *Secrets) Expire() { s.sealed.expire() }

// read returns a sealed secret of the cache.
func (s *Secrets) read(ctx context.Context, name string) (secrets.Sealed, error) {
	return s.sealed.read(ctx, name, func() (secrets.Sealed, error) {
		if !s.alerts {
			return secrets.On(s.store).Sealed(ctx, secret.OwnerOf(name), name)
		}
		stored, err := alerting.On(s.store).Secret(ctx, name)
		stored.Missing = nil // only agents seal for further keys
		return stored, err
	}, func(error) bool { return false })
}

// reseal also seals a data key for the keys whose private halves the agent has. So a new key gets
// the existing secrets. It seals for no other key, because anybody with rights on the control
// database may have added one.
func (s *Secrets) reseal(ctx context.Context, stored secrets.Sealed, keys []secret.PrivateKey) {
	n, err := Reseal(ctx, s.store, stored, keys)
	if err != nil {
		s.log.Warn("could not seal a secret for a further key",
			zap.String(keySecret, stored.Place.Name), zap.Error(err))
	}
	if n > 0 {
		s.log.Info("sealed a secret for further keys",
			zap.String(keySecret, stored.Place.Name), zap.Int(keyCount, n))
	}
	if n > 0 || err != nil {
		s.sealed.change(stored.Place.Name, func(one *secrets.Sealed) { one.Missing = nil }) // once for each read
	}
}

// Reseal seals the data key of a secret for those of its missing keys whose private halves are
// among keys, and returns their number.
func Reseal(
	ctx context.Context, store *controldb.Store, stored secrets.Sealed, keys []secret.PrivateKey,
) (int, error) {
	var recipients []secret.PublicKey
	for _, missing := range stored.Missing {
		if slices.ContainsFunc(keys, func(k secret.PrivateKey) bool { return k.Public().ID() == missing.ID() }) {
			recipients = append(recipients, missing)
		}
	}
	if len(recipients) == 0 {
		return 0, nil
	}
	sealed, err := stored.Sealed.Reseal(stored.Place, keys, recipients)
	if err != nil {
		return 0, err
	}
	if err := secrets.On(store).Reseal(ctx, stored.Place, sealed); err != nil {
		return 0, err
	}
	return len(recipients), nil
}

// ReadSecretKeys reads the private keys that references name. It returns those that could be read,
// and an error that names the others.
func ReadSecretKeys(references []string) ([]secret.PrivateKey, error) {
	var keys []secret.PrivateKey
	var errs []error
	for _, ref := range references {
		text, err := secretref.Read(ref)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		k, err := secret.ParsePrivateKey(text)
		if err != nil {
			if secretref.IsReference(ref) {
				err = fmt.Errorf("%s: %w", ref, err)
			}
			errs = append(errs, err)
			continue
		}
		keys = append(keys, k)
	}
	return keys, errors.Join(errs...)
}
